//! How servers are reached: the transport found from an address, TLS, proxies,
//! Unix sockets, user and password, IDEs.

use crate::support::tap;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use switchboard_testkit::world::{config, run, switchboard};
use switchboard_testkit::{Channel, LEGACY, Launch, Program, bin, text_of};

async fn echo(flag: &str) -> (Program, String) {
    let program = Program::new(bin("echo-server")).args([flag, "0"]).spawn();
    let url = program.url().await;
    let authority = url
        .trim_start_matches("http://")
        .trim_end_matches("/mcp")
        .to_owned();
    (program, authority)
}

fn serve(entry: &Value) -> Launch {
    let servers = config(&json!({"e": entry}));
    switchboard().args(["--mcp-config", &servers, "serve", "--only", "e"])
}

/// One call through the program to this server.
async fn works(launch: Launch) {
    let mut client = Channel::stdio(launch.spawn());
    client.initialize(LEGACY).await;
    assert_eq!(
        text_of(&client.call("echo", json!({"nonce": "n"})).await),
        "n"
    );
}

/// Why it does not work.
async fn fails(entry: &Value, env: &[(&str, &str)]) -> String {
    let servers = config(&json!({"e": entry}));
    let launch = switchboard().args(["--mcp-config", &servers, "list", "--json"]);
    let launch = env
        .iter()
        .fold(launch, |launch, (name, value)| launch.env(name, value));
    let ended = run(launch).await;
    let listed = ended.json();
    assert_eq!(listed[0]["state"], "failed", "{listed}");
    listed[0]["reason"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_transport_is_found_from_the_address() {
    let (_server, authority) = echo("--sse").await;
    let (address, seen) = tap::tap(&authority).await;
    // No type, and also one that says http: the server decides.
    for entry in [
        json!({"url": format!("http://{address}/sse")}),
        json!({"type": "http", "url": format!("http://{address}/sse")}),
    ] {
        works(serve(&entry)).await;
    }
    // What was found is what is shown.
    for (entry, shown) in [
        (json!({"url": format!("http://{address}/sse")}), "sse"),
        (
            json!({"type": "sse", "url": format!("http://{address}/sse")}),
            "sse",
        ),
    ] {
        let servers = config(&json!({"e": entry}));
        let launch = switchboard().args(["--mcp-config", &servers, "list", "--json"]);
        let listed = run(launch).await.json();
        assert_eq!(listed[0]["state"], "connected", "{listed}");
        assert_eq!(listed[0]["transport"], shown, "{listed}");
    }
    // Found once, then remembered: another client's own connection does not ask again.
    let before = seen.text().matches("POST /sse").count();
    let entry = json!({"url": format!("http://{address}/sse"), "isolation": "session"});
    let servers = config(&json!({"e": entry}));
    let gateway = switchboard()
        .args([
            "--mcp-config",
            &servers,
            "serve",
            "--http",
            "127.0.0.1:0",
            "--no-auth",
        ])
        .spawn();
    let url = format!("{}/mcp/e", gateway.url().await);
    for nonce in ["one", "two"] {
        let mut client = Channel::http(&url, &[]);
        client.initialize(LEGACY).await;
        assert_eq!(
            text_of(&client.call("echo", json!({"nonce": nonce})).await),
            nonce
        );
    }
    assert_eq!(seen.text().matches("POST /sse").count(), before + 1);
    // A server that has neither is said to have neither.
    let why = fails(&json!({"url": format!("http://{address}/nothing")}), &[]).await;
    assert!(why.contains("404"), "{why}");
}

#[tokio::test]
async fn user_and_password_and_unix_sockets() {
    let (_server, authority) = echo("--http").await;
    let (address, seen) = tap::tap(&authority).await;
    works(serve(
        &json!({"url": format!("http://user:p%40ss@{address}/mcp")}),
    ))
    .await;
    assert!(
        seen.text().contains("authorization: Basic dXNlcjpwQHNz"),
        "{}",
        seen.text()
    );
    assert!(!seen.text().contains("user:"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mcp.sock");
    let seen = tap::unix_tap(&path, &authority);
    for url in [
        format!("unix://{}", path.display()),
        format!("unix://{}:/mcp", path.display()),
    ] {
        works(serve(&json!({"url": url}))).await;
    }
    assert!(seen.text().contains("POST /mcp HTTP/1.1"));
}

#[tokio::test]
async fn self_signed_servers() {
    let folder = tempfile::tempdir().expect("a folder");
    for (flag, scheme, path) in [
        ("--http", "https", "mcp"),
        ("--sse", "https", "sse"),
        ("--ws", "wss", ""),
    ] {
        let (_server, authority) = echo(flag).await;
        let (address, ca, _) = tap::tls("127.0.0.1", &authority, folder.path()).await;
        let mut entry = json!({"url": format!("{scheme}://{address}/{path}")});
        let why = fails(&entry, &[]).await;
        assert!(why.contains("certificate is not accepted"), "{flag}: {why}");
        assert!(why.contains("NODE_EXTRA_CA_CERTS=FILE"), "{flag}: {why}");
        works(serve(&entry).env("NODE_EXTRA_CA_CERTS", &ca)).await;
        works(serve(&entry).env("SSL_CERT_FILE", &ca)).await;
        entry["tls"] = json!({"ca": "${CA}"});
        works(serve(&entry).env("CA", &ca)).await;
    }
    let why = fails(
        &json!({"url": "https://127.0.0.1:1/mcp", "tls": {"ca": "/nothing.pem"}}),
        &[],
    )
    .await;
    assert!(
        why.contains("/nothing.pem") || why.contains("refused"),
        "{why}"
    );
}

#[tokio::test]
async fn through_a_proxy_nothing_leaks() {
    const CANARY: &str = "canary-7f3a";
    let folder = tempfile::tempdir().expect("a folder");
    let (_http, http) = echo("--http").await;
    let (_sse, sse) = echo("--sse").await;
    let (_ws, ws) = echo("--ws").await;
    let (one, ca_one, inside) = tap::tls("mcp.test", &http, folder.path()).await;
    let (two, ca_two, _) = tap::tls("ws.test", &ws, folder.path()).await;
    let (three, ca_three, _) = tap::tls("sse.test", &sse, folder.path()).await;
    let (plain, arrived) = tap::tap(&http).await;
    let all = folder.path().join("all.pem");
    let text = [ca_one, ca_two, ca_three]
        .map(|file| std::fs::read_to_string(file).expect("a file"))
        .concat();
    std::fs::write(&all, text).expect("a file");
    let places = [
        ("mcp.test:443", one.as_str()),
        ("ws.test:443", two.as_str()),
        ("sse.test:443", three.as_str()),
        ("plain.test:80", plain.as_str()),
    ];
    // user:word
    let (proxy, seen) = tap::proxy("dXNlcjp3b3Jk", &places).await;
    let through = |entry: &Value, credentials: &str| {
        let proxy = format!("http://{credentials}{proxy}");
        serve(entry)
            .env("HTTPS_PROXY", &proxy)
            .env("HTTP_PROXY", &proxy)
            .env("NO_PROXY", "direct.test")
            .env("NODE_EXTRA_CA_CERTS", &all)
    };
    let headers = json!({"authorization": format!("Bearer {CANARY}")});
    for url in [
        "https://mcp.test/mcp",
        "wss://ws.test/",
        "https://sse.test/sse",
    ] {
        works(through(
            &json!({"url": url, "headers": headers}),
            "user:word@",
        ))
        .await;
    }
    let text = seen.text();
    for place in ["mcp.test:443", "ws.test:443", "sse.test:443"] {
        assert!(
            text.contains(&format!("CONNECT {place} HTTP/1.1")),
            "{text}"
        );
    }
    assert!(
        !text.contains(CANARY),
        "the proxy saw a credential of the server's"
    );
    assert!(inside.text().contains(CANARY));
    assert!(
        !inside.text().to_lowercase().contains("proxy-authorization"),
        "the server saw one of the proxy's"
    );

    // Without TLS the proxy is asked for the whole address.
    works(through(
        &json!({"url": "http://plain.test/mcp"}),
        "user:word@",
    ))
    .await;
    assert!(
        seen.text().contains("POST http://plain.test/mcp HTTP/1.1"),
        "{}",
        seen.text()
    );
    assert!(arrived.text().contains("POST /mcp HTTP/1.1"));

    // What is not for the proxy does not reach it; nor does this machine.
    let proxied = format!("http://user:word@{proxy}");
    let env = [
        ("HTTPS_PROXY", proxied.as_str()),
        ("HTTP_PROXY", &proxied),
        ("NO_PROXY", "direct.test"),
    ];
    fails(&json!({"url": "https://direct.test/mcp"}), &env).await;
    works(serve(&json!({"url": format!("http://{http}/mcp")})).env("HTTP_PROXY", &proxied)).await;
    assert!(!seen.text().contains("direct.test") && !seen.text().contains(&http));

    let unknown = format!("http://{proxy}");
    let why = fails(
        &json!({"url": "https://mcp.test/mcp"}),
        &[("HTTPS_PROXY", &unknown)],
    )
    .await;
    assert!(why.contains("HTTP 407"), "{why}");
    let why = fails(&json!({"url": "https://other.test/mcp"}), &env).await;
    assert!(
        why.contains("refuses a connection to other.test:443 (HTTP 502)"),
        "{why}"
    );
    assert!(!why.contains("word"), "{why}");
}

#[tokio::test]
async fn ides_are_found_by_their_lock_files() {
    for (flag, kind) in [("--ws", "ws"), ("--sse", "sse")] {
        let (_server, authority) = echo(flag).await;
        let (address, seen) = tap::tap(&authority).await;
        let port = address.rsplit(':').next().expect("a port").to_owned();
        let folder = tempfile::tempdir().expect("a folder");
        let (locks, project) = (folder.path().join("ide"), folder.path().join("project"));
        std::fs::create_dir_all(&locks).expect("a folder");
        std::fs::create_dir_all(&project).expect("a folder");
        let lock = json!({
            "port": port.parse::<u16>().expect("a port"), "authToken": "tok-123",
            "workspaceFolders": [project], "transport": kind,
        });
        let file = locks.join(format!("{port}.lock"));
        std::fs::write(&file, lock.to_string()).expect("a file");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("permissions");
        let entry = json!({"type": format!("{kind}-ide"), "lockFolder": locks});
        works(serve(&entry).cwd(&project)).await;
        let text = seen.text().to_lowercase();
        assert!(
            text.contains("x-claude-code-ide-authorization: tok-123"),
            "{text}"
        );
        let elsewhere = tempfile::tempdir().expect("a folder");
        let servers = config(&json!({"e": entry}));
        let launch = switchboard()
            .args(["--mcp-config", &servers, "list", "--json"])
            .cwd(elsewhere.path());
        let listed = run(launch).await.json();
        assert_eq!(listed[0]["state"], "failed", "{listed}");
        assert!(
            listed[0]["reason"]
                .as_str()
                .is_some_and(|why| why.contains("no IDE has")),
            "{listed}"
        );
    }
}

/// An entry that says all of it needs no lock file, and its token counts.
#[tokio::test]
async fn an_ide_entry_with_its_own_address_and_token() {
    for (flag, kind) in [("--ws", "ws"), ("--sse", "sse")] {
        let (_server, authority) = echo(flag).await;
        let (address, seen) = tap::tap(&authority).await;
        let folder = tempfile::tempdir().expect("a folder");
        let (scheme, path) = if kind == "ws" {
            ("ws", "ws")
        } else {
            ("http", "sse")
        };
        let entry = json!({
            "type": format!("{kind}-ide"), "lockFolder": folder.path(),
            "url": format!("{scheme}://{address}/{path}"), "authToken": "${IDE_TOKEN}",
        });
        works(serve(&entry).env("IDE_TOKEN", "own-456")).await;
        let text = seen.text().to_lowercase();
        assert!(
            text.contains("x-claude-code-ide-authorization: own-456"),
            "{text}"
        );
        // Not to another machine.
        let mut away = entry;
        away["url"] = json!(format!("{scheme}://ide.example:1/{path}"));
        let why = fails(&away, &[("IDE_TOKEN", "own-456")]).await;
        assert!(why.contains("on this machine"), "{why}");
    }
}

/// A lock file outlives an IDE that was killed; the next one further up counts.
#[tokio::test]
async fn the_lock_file_of_a_dead_ide_does_not_count() {
    let (_server, authority) = echo("--ws").await;
    let port: u16 = authority.rsplit(':').next().unwrap().parse().unwrap();
    let folder = tempfile::tempdir().expect("a folder");
    let (locks, project) = (
        folder.path().join("ide"),
        folder.path().join("project/inner"),
    );
    std::fs::create_dir_all(&locks).expect("a folder");
    std::fs::create_dir_all(&project).expect("a folder");
    let mut ended = std::process::Command::new("true")
        .spawn()
        .expect("a process");
    let dead = ended.id();
    ended.wait().expect("its end");
    let write = |name: &str, lock: &Value| {
        let file = locks.join(name);
        std::fs::write(&file, lock.to_string()).expect("a file");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("permissions");
    };
    let near = json!({"port": 1, "pid": dead, "workspaceFolders": [project], "transport": "ws"});
    write("1.lock", &near);
    let entry = json!({"type": "ws-ide", "lockFolder": locks, "cwd": project});
    let why = fails(&entry, &[]).await;
    assert!(why.contains("no IDE is running"), "{why}");
    let up = project.parent().unwrap();
    let alive = json!({"port": port, "pid": std::process::id(), "workspaceFolders": [up], "transport": "ws"});
    write("2.lock", &alive);
    works(serve(&entry)).await;
}
