//! What the program says when something is wrong with the configuration, or with
//! a command about it: what, where, and what to do. Whole texts, kept.

use crate::support::snapshots::Snapshots;
use std::{fs, path::Path};
use switchboard_testkit::world::World;

const OURS: &str = "home/.config/switchboard/settings.json";
const PROJECT: &str = "home/repo/.mcp.json";
const MANAGED: &str = "etc/managed-settings.json";
const MANAGED_MCP: &str = "etc/managed-mcp.json";

/// The files of a case, and what is typed.
type Case = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static [&'static [&'static str]],
);

const A: &str = r#"{"mcpServers": {"alpha": {"command": "x"}}}"#;

const CASES: &[Case] = &[
    (
        "names-and-values",
        &[],
        &[
            &["add", "a b", "x"],
            &["add", "a", "ftp://x/"],
            &["add", "a", "https://x/", "-H", "Bad Name: s3cret"],
            &["add", "a", "https://x/", "-H", "none"],
            &["add", "-e", "1=x", "a", "cmd"],
            &["add", "-H", "A: b", "a", "cmd"],
            &["add", "-e", "A=b", "a", "https://x/"],
            &["add", "a", "https://x/", "more"],
            &["add", "a", "https://x/", "--xaa"],
        ],
    ),
    (
        "add-json",
        &[],
        &[
            &["add-json", "a", "{\"command\":}"],
            &["add-json", "a", "[]"],
            &["add-json", "a", "{}"],
            &[
                "add-json",
                "a",
                "{\"command\": \"x\", \"args\": \"y\", \"timeout\": -1}",
            ],
        ],
    ),
    (
        "unknown-servers",
        &[(OURS, A)],
        &[
            &["get", "alpah"],
            &["remove", "alpah"],
            &["enable", "alpah"],
            &["disable", "nothing"],
            &["approve", "nothing"],
            &["reject", "nothing"],
            &["reject", "alpha"],
            &["add", "-s", "user", "alpha", "x"],
            &["remove", "alpha", "-s", "project"],
        ],
    ),
    (
        "files-that-cannot-be-read",
        &[(OURS, "{\n  \"mcpServers\": {\n"), (PROJECT, "[]")],
        &[
            &["list"],
            &["add", "-s", "user", "a", "x"],
            &["add", "-s", "project", "a", "x"],
            &["disable", "files"],
            &["--mcp-config", "none.json", "tools"],
            &["--mcp-config", "{\"servers\": {}}", "tools"],
        ],
    ),
    (
        "entries-that-cannot-work",
        &[(
            OURS,
            "{\"mcpServers\": {\n\"a\": {\"command\": \"x\", \"args\": [1]},\n\"b\": {\"url\": \"https://${NO_SUCH_HOST}/\"},\n\"c\": {\"type\": \"tcp\", \"url\": \"u\"}}}",
        )],
        &[
            &["list", "--no-connect"],
            &["login", "b"],
            &["call", "a__x"],
        ],
    ),
    (
        "not-approved",
        &[(PROJECT, r#"{"mcpServers": {"p": {"command": "sh"}}}"#)],
        &[
            &["call", "p__x"],
            &["approve", "p"],
            &["list", "--no-connect"],
        ],
    ),
    (
        "approvals-that-cannot-be-read",
        &[
            (PROJECT, r#"{"mcpServers": {"p": {"command": "sh"}}}"#),
            ("home/.local/share/switchboard/approvals.json", "{"),
        ],
        &[&["list", "--no-connect"], &["approve", "p", "--yes"]],
    ),
    (
        "policy",
        &[(
            MANAGED,
            "{\"allowedMcpServers\": [{\"serverName\": \"good\"}, {\"serverName\": \"bad\"}],\n\"deniedMcpServers\": [{\"serverName\": \"bad\"}]}",
        )],
        &[&["add", "bad", "x"], &["add", "other", "x"]],
    ),
    (
        "managed",
        &[(MANAGED_MCP, "{}")],
        &[&["add", "a", "x"], &["--mcp-config", A, "tools"]],
    ),
    (
        "managed-that-cannot-be-read",
        &[(
            MANAGED,
            "{\"deniedMcpServers\": [\n{\"name\": \"x\"}],\n\"env\": {\"A\": 1}}",
        )],
        &[&["tools"], &["list"]],
    ),
    (
        "settings",
        &[(
            OURS,
            "{\"tokenStore\": \"cloud\",\n\"connectors\": {\"url\": \"http://x.example/\"},\n\"permissions\": {\"deny\": \"x\"},\n\"xaaIdp\": {}}",
        )],
        &[&["list"]],
    ),
];

#[test]
fn what_is_wrong_where_and_what_to_do() {
    let mut texts = Snapshots::of("config_errors");
    for (name, files, commands) in CASES {
        let home = World::repository();
        for (file, text) in *files {
            home.write(file, text);
        }
        let mut told = String::new();
        for args in *commands {
            let ran = home.show(args);
            let typed: Vec<String> = args
                .iter()
                .map(|word| match word.contains([' ', '{', '[']) {
                    true => format!("'{word}'"),
                    false => (*word).to_owned(),
                })
                .collect();
            let code = ran.code.unwrap();
            assert!(!ran.err.contains("s3cret"), "{ran:?}");
            if code != 0 {
                let remedies = ["hint: ", ": use ", ": write ", "; "];
                let said = remedies.iter().any(|remedy| ran.err.contains(remedy));
                assert!(said, "no remedy: {args:?} {ran:?}");
            }
            let said = format!("{}{}", ran.out, ran.err);
            told += &format!("$ switchboard {}\n{}", typed.join(" "), masked(&said));
            if code != 0 {
                told += &format!("[exit {code}]\n");
            }
            told.push('\n');
        }
        texts.check(name, told.trim_end_matches('\n'));
    }
    texts.finish();
}

/// A digest is another in each folder.
fn masked(text: &str) -> String {
    let digest = regex::Regex::new(r"\b[0-9a-f]{64}\b").unwrap();
    digest.replace_all(text, "DIGEST").into_owned()
}

/// The text of a call and of the calls chained to it.
fn chain(source: &str) -> &str {
    let mut rest = source;
    loop {
        let open = rest.find('(').unwrap();
        let mut depth = 0;
        let mut text = false;
        let mut before = ' ';
        let end = rest[open..].char_indices().find_map(|(i, c)| {
            match c {
                '"' if before != '\\' => text = !text,
                '(' if !text => depth += 1,
                ')' if !text => depth -= 1,
                _ => {}
            }
            before = c;
            (depth == 0).then_some(open + i + 1)
        });
        rest = &rest[end.unwrap()..];
        if !rest.trim_start().starts_with('.') {
            return &source[..source.len() - rest.len()];
        }
    }
}

/// Every failure that these commands make says what to do: one that is added
/// without it is found here.
#[test]
fn no_failure_without_a_remedy() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for file in [
        "context.rs",
        "connectors.rs",
        "commands/add.rs",
        "commands/approve.rs",
        "commands/approve/answer.rs",
        "commands/approve/tools.rs",
        "commands/explain.rs",
        "commands/explain/tool.rs",
        "commands/get.rs",
        "commands/import.rs",
        "commands/remove.rs",
        "commands/switch.rs",
    ] {
        let source = fs::read_to_string(folder.join(file)).unwrap();
        for start in ["Failure::new(", "Failure::usage("] {
            for (at, _) in source.match_indices(start) {
                let made = chain(&source[at..]);
                let gave_up = made.contains("Code::Interrupted");
                assert!(gave_up || made.contains(".hint("), "{file}: {made}");
                seen += 1;
            }
        }
    }
    assert!(seen > 25, "{seen}");
}
