//! Secrets in the arguments and addresses of entries: whatever the shape, no
//! command shows one, whether the server works or dies with its arguments on its
//! lips. What is no secret stays readable.

use serde_json::{Value, json};
use switchboard_testkit::world::World;

/// A secret that looks like one, and one that does not: there its place tells.
const DRAWN: &str = "Zx7Qd2w9Lk3Vb8Rt";
const PLAIN: &str = "wanderlust";

/// Where secrets are in arguments: `<S>` one that could be any word, `<R>` one
/// that nobody would make up.
const SHAPES: [&[&str]; 34] = [
    &["run", "-e", "X=<R>", "image"],
    &["run", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN=<S>", "image"],
    &["run", "-e", "X=<S>", "image"],
    &["--env=API_KEY=<S>"],
    &["--env", "ANY=<R>"],
    &["mcp-remote", "--header", "Authorization: Bearer <S>"],
    &["mcp-remote", "--header", "X-Odd: <R>"],
    &["mcp-remote", "--header=Authorization:Bearer <S>"],
    &["-H", "X-Api-Key: <S>"],
    &["-k", "<S>"],
    &["--token", "<S>"],
    &["--token=<S>"],
    &["--api-key=<S>"],
    &["--password", "<S>"],
    &["${TOK:-<S>}"],
    &["--url=https://host.example/${TOK:-<S>}/mcp"],
    &["Bearer <S>-${X}"],
    &["https://host.example/s/<R>/mcp"],
    &["https://me:<S>@host.example/mcp"],
    &["https://host.example/mcp?api_key=<S>"],
    &["https://host.example/mcp?x=<R>"],
    &["postgres://me:<S>@host.example/db"],
    &["sk-<R>"],
    &["ghp_<S>"],
    &["<R>"],
    &["API_KEY=<S>"],
    &["--config", "{\"apiKey\":\"<S>\"}"],
    &["-c", "TOKEN=<S> exec it --port 7"],
    &["<R>=="],
    &["--opt=<R>="],
    &["--api-key", "/<S>"],
    &["--password", "$<S>"],
    &["-HAuthorization: <S>"],
    &["--pwd=<S>"],
];

/// A server that says its arguments, and ends.
fn dying(shape: &[&str]) -> Value {
    let mut args = vec![
        "-c".to_owned(),
        "echo \"$@\" >&2; exit 3".into(),
        "x".into(),
    ];
    args.extend(filled(shape));
    json!({"command": "sh", "args": args})
}

fn filled(shape: &[&str]) -> Vec<String> {
    let fill = |word: &&str| word.replace("<S>", PLAIN).replace("<R>", DRAWN);
    shape.iter().map(fill).collect()
}

#[track_caller]
fn holds_none(what: &str, text: &str) {
    for secret in [DRAWN, PLAIN] {
        assert!(!text.contains(secret), "{secret} in {what}:\n{text}");
    }
}

#[test]
fn no_command_shows_a_secret_in_arguments() {
    let home = World::repository();
    let mut servers = serde_json::Map::new();
    for (at, shape) in SHAPES.iter().enumerate() {
        let text = filled(shape).join(" ");
        assert!(
            text.contains(DRAWN) || text.contains(PLAIN),
            "{shape:?}: {text}"
        );
        let entry = json!({"command": "no-such-program-here", "args": filled(shape)});
        servers.insert(format!("s{at}"), entry);
    }
    servers.insert(
        "remote".into(),
        json!({"type": "http", "url": format!("http://127.0.0.1:1/s/{DRAWN}/mcp"), "headers": {"Authorization": format!("Bearer {PLAIN}-${{X:-{PLAIN}}}")}}),
    );
    servers.insert(
        "helped".into(),
        json!({"type": "http", "url": "http://127.0.0.1:1/mcp", "headersHelper": format!("false --token {PLAIN}")}),
    );
    let settings = json!({ "mcpServers": servers }).to_string();
    home.write("home/.config/switchboard/settings.json", settings);
    for args in [
        &["list", "--no-connect"][..],
        &["list", "--no-connect", "--json"],
        &["--log", "trace", "list"],
        &["--log", "trace", "list", "--json"],
        &["--log", "trace", "doctor"],
        &["doctor", "--json"],
        &["--log", "trace", "tools"],
        &["--log", "trace", "call", "s0__x"],
    ] {
        let ran = home.show(args);
        holds_none(&args.join(" "), &format!("{}\n{}", ran.out, ran.err));
    }
    let listed = home.show(&["list", "--no-connect"]).ok();
    for shown in [
        "-e X=[redacted] image",
        "--token [redacted]",
        "https://host.example/s/[redacted]/mcp",
    ] {
        assert!(listed.out.contains(shown), "{shown}: {}", listed.out);
    }
    for name in servers.keys() {
        for args in [
            &["get", name][..],
            &["get", name, "--json"],
            &["explain", name],
            &["explain", name, "--json"],
        ] {
            let ran = home.show(args).ok();
            let text = format!("{}\n{}", ran.out, ran.err);
            holds_none(&args.join(" "), &text);
            assert!(
                text.contains("[redacted]") || *name == "helped",
                "{args:?}: {text}"
            );
        }
    }
    // Who asks for them gets them.
    let shown = home.show(&["get", "s10", "--show-secrets"]).ok();
    assert!(shown.out.contains(PLAIN), "{shown:?}");
}

#[test]
fn last_words_of_a_server_are_without_its_secrets() {
    let home = World::repository();
    let shapes = [
        &["docker", "run", "-e", "X=<R>"][..],
        &["--header", "Authorization: Bearer <R>"],
        &["--api-key=<R>"],
        &["https://me:<S>@host.example/mcp?api_key=<R>"],
        &["connecting with ghp_<S>"],
        &["{\"access_token\":\"<R>\"}"],
        &["<R>"],
        // Any word at all, said without anything that tells: but it is known.
        &["--api-key", "<S>"],
        &["--pass=<S>"],
    ];
    let mut servers: serde_json::Map<String, Value> = shapes
        .iter()
        .enumerate()
        .map(|(at, shape)| (format!("s{at}"), dying(shape)))
        .collect();
    let line = "echo \"sorry, $GIVEN_KEY is nobody we know; nor is ${2#--pass=}\" >&2; exit 3";
    servers.insert(
        "repeats".into(),
        json!({"command": "sh", "args": ["-c", line, "x", "--verbose", format!("--pass={PLAIN}")],
            "env": {"GIVEN_KEY": PLAIN}}),
    );
    let settings = json!({ "mcpServers": servers }).to_string();
    home.write("home/.config/switchboard/settings.json", settings);
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["--log", "trace", "list"],
        &["doctor"],
        &["doctor", "--json"],
        &["call", "s1__x"],
        &["call", "s1__x", "--json"],
        &["call", "repeats__x"],
    ] {
        let ran = home.show(args);
        let text = format!("{}\n{}", ran.out, ran.err);
        holds_none(&args.join(" "), &text);
        assert!(text.contains("last words"), "{args:?}: {text}");
    }
}

#[test]
fn what_is_no_secret_is_shown() {
    let home = World::repository();
    let digest = "mcp/time@sha256:9c46a918633fb474bf8035e3ee90ebac6bcf2b18ccb00679ac4c179cba0ebfcf";
    let args = [
        "-y",
        "@modelcontextprotocol/server-filesystem@2025.7.1",
        "/srv/projects/archive-2025",
        "https://mcp.example.com/v1/mcp?version=2025-06-18",
        digest,
        "git+https://github.com/owner/repo@0123456789abcdef0123456789abcdef01234567",
        "--token-file",
        "/run/secrets/token",
        "--token",
        "${GITHUB_TOKEN}",
        "-e",
        "GITHUB_TOKEN",
        "-e",
        "NODE_ENV=production",
        "--model",
        "claude-3-5-sonnet-20241022",
        "--max-tokens=4096",
    ];
    let settings = json!({"mcpServers": {"plain": {"command": "npx", "args": args}}});
    home.write(
        "home/.config/switchboard/settings.json",
        settings.to_string(),
    );
    let listed = home.show(&["list", "--no-connect", "--json"]).ok();
    assert_eq!(
        listed.json()[0]["target"],
        format!(
            "npx {}",
            args.join(" ").replace(
                "https://mcp.example.com/v1/mcp?version=2025-06-18",
                "'https://mcp.example.com/v1/mcp?version=2025-06-18'"
            )
        )
    );
    let got = home.show(&["get", "plain", "--json"]).ok();
    assert_eq!(got.json()["entry"]["args"], json!(args));
}
