//! What no other module of these tests has: the rim of our own HTTP, the end of
//! the program, its log, and the limits of the system.

use crate::support::scripted::Scripted;
use rustix::process::Signal;
use serde_json::json;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use switchboard_testkit::world::{self, Gateway, World, command, echo, http, servers, until};
use switchboard_testkit::{HttpClient, LEGACY, Program, raw_exchange, text_of};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const LONG: Duration = Duration::from_secs(60);

async fn gateway() -> Gateway {
    Gateway::start(&servers([("a", echo(&[]))])).await
}

/// The status of the answer to these bytes; nothing where there is none.
async fn status(gateway: &Gateway, bytes: impl AsRef<[u8]>) -> Option<u16> {
    let answer = raw_exchange(gateway.authority(), bytes.as_ref(), Duration::from_secs(5)).await;
    let text = String::from_utf8_lossy(&answer);
    text.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
}

/// What a server writes does not become a line of its own in our log.
#[tokio::test]
async fn row_16_nothing_is_forged_in_the_log() {
    let entry = command("evil-stdio", ["--mode", "control-text"]);
    let gateway = Gateway::launch(http(&servers([("evil", entry)]))).await;
    let mut client = gateway.legacy("/mcp/evil").await;
    client.request("tools/list", json!({})).await;
    let _ = client
        .call("evil\u{1b}[2J\u{202e}\r\nname", json!({}))
        .await;
    client.call("strike", json!({})).await;
    gateway.program.signal(Signal::TERM);
    let mut program = gateway.program;
    program.wait(LONG).await;
    let log = program.stderr();
    for line in log.lines() {
        assert!(
            !line.trim_start().starts_with("{\"level\":\"error\"") && line != "forged line",
            "{line:?} in {log}"
        );
        assert!(
            !line.contains('\u{1b}') && !line.contains('\u{202e}'),
            "{line:?}"
        );
    }
}

/// Whatever a server names as its icon, nobody here goes there.
#[tokio::test]
async fn row_18_icons_are_never_fetched() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let icons = json!([{"src": format!("http://{at}/icon.svg"), "mimeType": "image/svg+xml"},
        {"src": "javascript:alert(1)"}, {"src": format!("https://{at}/huge.png")}]);
    let hello = json!({"protocolVersion": LEGACY, "capabilities": {"tools": {}},
        "serverInfo": {"name": "r", "version": "1", "icons": icons}});
    let tools =
        json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "icons": icons}]});
    let scripted = Scripted::new(
        "legacy",
        &[
            json!({"method": "initialize", "reply": hello.to_string()}),
            json!({"method": "tools/list", "reply": tools.to_string()}),
        ],
    );
    let stage = World::with(&json!({ "r": scripted.stdio() }));
    let running = stage.gateway_with(&["--no-auth"]).await;
    for path in ["/mcp", "/mcp/r"] {
        let mut client = HttpClient::new(&format!("{}{path}", running.url().await));
        client.initialize(LEGACY).await;
        let listed = client.request("tools/list", json!({})).await;
        assert!(
            listed.to_string().contains("icon.svg"),
            "it crosses: {listed}"
        );
    }
    for args in [&["list"][..], &["tools"], &["tools", "--json"], &["doctor"]] {
        stage.run(args).await;
    }
    let visited = tokio::time::timeout(Duration::from_millis(200), listener.accept()).await;
    assert!(visited.is_err(), "somebody came for an icon");
}

/// A body that was announced and does not come is not waited for without end.
#[tokio::test]
async fn row_30_a_body_that_does_not_come() {
    let gateway = gateway().await;
    let mut socket = TcpStream::connect(gateway.authority()).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 1000\r\n\r\n{{\"jsonrpc\"",
        gateway.authority()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let ended =
        tokio::time::timeout(Duration::from_secs(90), socket.read_to_end(&mut answer)).await;
    assert!(ended.is_ok(), "it is still open");
    let text = String::from_utf8_lossy(&answer);
    assert!(
        text.is_empty() || text.starts_with("HTTP/1.1 408"),
        "{text}"
    );
}

#[tokio::test]
async fn row_31_no_http_2_at_the_door() {
    let gateway = gateway().await;
    // The preface, settings, and then headers that are reset at once, many times.
    let mut bytes =
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00".to_vec();
    for n in 0..1000u32 {
        let id = (2 * n + 1).to_be_bytes();
        bytes.extend_from_slice(b"\x00\x00\x01\x01\x05");
        bytes.extend_from_slice(&id);
        bytes.push(0x82);
        bytes.extend_from_slice(b"\x00\x00\x04\x03\x00");
        bytes.extend_from_slice(&id);
        bytes.extend_from_slice(&[0, 0, 0, 8]);
    }
    let status = status(&gateway, &bytes).await;
    assert!(status.is_none_or(|status| status >= 400), "{status:?}");
    let mut client = gateway.legacy("/mcp/a").await;
    assert_eq!(
        text_of(&client.call("echo", json!({"nonce": "n"})).await),
        "n"
    );
}

/// Nothing is looked up for a request whose end, host or path is not clear.
#[tokio::test]
async fn row_32_requests_that_two_readers_read_differently() {
    let gateway = gateway().await;
    let host = gateway.authority().to_owned();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let length = call.len();
    let usual = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nConnection: close";
    let requests = [
        (
            "both lengths",
            format!(
                "POST /mcp HTTP/1.1\r\nHost: {host}\r\n{usual}\r\nContent-Length: {length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{call}"
            ),
        ),
        (
            "two lengths",
            format!(
                "POST /mcp HTTP/1.1\r\nHost: {host}\r\n{usual}\r\nContent-Length: {length}\r\nContent-Length: 5\r\n\r\n{call}"
            ),
        ),
        (
            "an odd encoding",
            format!(
                "POST /mcp HTTP/1.1\r\nHost: {host}\r\n{usual}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"
            ),
        ),
        (
            "two hosts",
            format!(
                "POST /mcp HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n{usual}\r\nContent-Length: {length}\r\n\r\n{call}"
            ),
        ),
        (
            "no host",
            format!("POST /mcp HTTP/1.0\r\n{usual}\r\nContent-Length: {length}\r\n\r\n{call}"),
        ),
        (
            "another host",
            format!(
                "POST /mcp HTTP/1.1\r\nHost: evil.example\r\n{usual}\r\nContent-Length: {length}\r\n\r\n{call}"
            ),
        ),
        (
            "two slashes",
            format!(
                "POST //mcp HTTP/1.1\r\nHost: {host}\r\n{usual}\r\nContent-Length: {length}\r\n\r\n{call}"
            ),
        ),
        (
            "dots",
            format!(
                "POST /mcp/%2e%2e/api/servers HTTP/1.1\r\nHost: {host}\r\n{usual}\r\nContent-Length: {length}\r\n\r\n{call}"
            ),
        ),
        (
            "a path in disguise",
            format!(
                "POST /%6dcp HTTP/1.1\r\nHost: {host}\r\n{usual}\r\nContent-Length: {length}\r\n\r\n{call}"
            ),
        ),
    ];
    for (what, bytes) in requests {
        let status = status(&gateway, bytes).await;
        assert!(
            status.is_none_or(|status| (400..500).contains(&status)),
            "{what}: {status:?}"
        );
    }
}

#[tokio::test]
async fn row_33_heads_that_are_too_large() {
    let gateway = gateway().await;
    let host = gateway.authority().to_owned();
    let many: String = (0..10_000).map(|n| format!("x-{n}: y\r\n")).collect();
    let long = "x".repeat(64 * 1024);
    let found = status(
        &gateway,
        format!("GET /mcp HTTP/1.1\r\nHost: {host}\r\n{many}\r\n"),
    )
    .await;
    assert!(matches!(found, Some(400 | 431)), "{found:?}");
    let found = status(
        &gateway,
        format!("GET /{long} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
    )
    .await;
    assert!(matches!(found, Some(400 | 404 | 414 | 431)), "{found:?}");
    let mut client = gateway.legacy("/mcp/a").await;
    assert_eq!(
        text_of(&client.call("echo", json!({"nonce": "n"})).await),
        "n"
    );
}

/// What is in flight when we are told to end is answered first.
#[tokio::test]
async fn row_50_calls_in_flight_are_answered_before_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("count");
    let gateway = gateway().await;
    let mut calls = Vec::new();
    for _ in 0..20 {
        let mut client = gateway.legacy("/mcp/a").await;
        let arguments = json!({"file": file, "delayMs": 1500});
        calls.push(tokio::spawn(async move {
            client.call("count", arguments).await
        }));
    }
    let begun = || {
        fs::read_to_string(&file)
            .unwrap_or_default()
            .lines()
            .count()
    };
    until(LONG, || (begun() == 20).then_some(()))
        .await
        .expect("all are under way");
    gateway.program.signal(Signal::TERM);
    for call in calls {
        let answer = call.await.expect("an answer");
        assert!(answer.get("result").is_some(), "{answer}");
    }
    let mut program = gateway.program;
    let ended = program.wait(LONG).await;
    assert_eq!(ended.code(), Some(0), "{}", program.stderr());
}

/// With no descriptor left those who are inside are served, and when there are
/// some again everybody is.
#[tokio::test]
async fn row_53_out_of_descriptors_and_back() {
    let config = world::config(&servers([("a", echo(&[]))]));
    let program = Program::new("/bin/sh")
        .args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_switchboard"))
        .args(["serve", "--http", "127.0.0.1:0", "--no-auth"])
        .args(["--strict-mcp-config", "--mcp-config", &config])
        .spawn();
    let url = program.url().await;
    let gateway = Gateway { program, url };
    let mut inside = gateway.client("/mcp/a").keep_alive();
    inside.initialize(LEGACY).await;
    inside.call("echo", json!({"nonce": "before"})).await;
    let mut held = Vec::new();
    for _ in 0..100 {
        held.extend(TcpStream::connect(gateway.authority()).await);
    }
    for n in 0..10 {
        let nonce = n.to_string();
        let answer = inside.call("echo", json!({"nonce": nonce})).await;
        assert_eq!(text_of(&answer), nonce, "{answer}");
    }
    drop(held);
    let mut other = gateway.client("/mcp/a");
    other.deadline = LONG;
    other.initialize(LEGACY).await;
    let answer = other.call("echo", json!({"nonce": "after"})).await;
    assert_eq!(text_of(&answer), "after", "{answer}");
}

/// The wall clock may be set; whoever waits goes by another. What waits for
/// servers and clients is in these places.
#[test]
fn row_54_no_timer_reads_the_wall_clock() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    for place in [
        "process/src",
        "transport/src",
        "host/src/upstream",
        "host/src/exchange",
        "host/src/catalog",
        "gateway/src/faces",
        "gateway/src/session",
        "switchboard/src/relay",
    ] {
        assert!(crates.join(place).exists(), "{place}");
        reading(&crates.join(place), &mut found);
    }
    // Dates that people read, and nobody waits by.
    let dates = crates.join("process/src/kept.rs");
    assert!(found.remove(&dates), "not looked at: {dates:?}");
    assert!(
        found.is_empty(),
        "is this a date, or does somebody wait by it? {found:?}"
    );
}

/// The files in a place that look at the wall clock.
fn reading(place: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        reading(&entry.path(), found);
    }
    if fs::read_to_string(place).is_ok_and(|text| text.contains("SystemTime::now")) {
        found.insert(place.to_owned());
    }
}

/// Nothing that can be sent to a gateway makes it start a program.
#[tokio::test]
async fn row_92_no_route_takes_a_command() {
    let stage = World::with(&json!({"a": echo(&[])}));
    let gateway = stage.gateway().await;
    let url = gateway.url().await;
    let (client, control) = (stage.token("tokens/default"), stage.token("control-token"));
    let made = stage.home().join("made");
    let entry = json!({"name": "evil", "command": "/bin/sh", "args": ["-c", format!("touch {}", made.display())]});
    let body = json!({"mcpServers": {"evil": entry}, "name": "evil", "entry": entry}).to_string();
    for token in [&client, &control] {
        for path in [
            "servers",
            "reload",
            "v1/servers",
            "v1/servers/evil",
            "v1/add",
            "v1/proposals",
            "v1/reconnect/evil",
            "v1/reload",
            "v1/",
            "",
        ] {
            for verb in [
                ::http::Method::POST,
                ::http::Method::PUT,
                ::http::Method::PATCH,
            ] {
                let mut to = HttpClient::new(&format!("{url}/api/{path}"))
                    .header("authorization", &format!("Bearer {token}"))
                    .header("content-type", "application/json");
                let reply = to.send(verb.clone(), &[], body.clone()).await;
                let harmless = path == "v1/reload" && token == &control;
                assert!(
                    reply.status.as_u16() >= 400 || harmless,
                    "{verb} {path}: {}",
                    reply.status
                );
            }
        }
    }
    let list = stage.run(&["list"]).await.ok();
    assert!(!list.out.contains("evil"), "{list:?}");
    assert!(!made.exists());
}

/// What we say to those who are not let in, or are lost, says nothing of us.
#[tokio::test]
async fn row_96_error_pages_say_little() {
    let stage = World::with(&json!({"a": echo(&[])}));
    let gateway = stage.gateway().await;
    let url = gateway.url().await;
    let home = stage.home().display().to_string();
    let secrets = [
        stage.token("tokens/default"),
        stage.token("control-token"),
        home,
    ];
    for path in [
        "/mcp",
        "/mcp/none",
        "/api/v1/servers",
        "/api/v1/none",
        "/api/servers",
        "/none",
        "/attach",
        "/ws",
        "/sse",
        "/v1/tools",
    ] {
        for body in ["", "{", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}"] {
            let mut to = HttpClient::new(&format!("{url}{path}"));
            let reply = to.send(::http::Method::POST, &[], body.to_owned()).await;
            assert!(reply.status.as_u16() >= 400, "{path}: {}", reply.status);
            let text = String::from_utf8_lossy(&reply.body).into_owned();
            for secret in &secrets {
                assert!(!text.contains(secret.as_str()), "{path}: {text}");
            }
            for word in ["src/", ".rs:", "panicked", "backtrace"] {
                assert!(!text.contains(word), "{path}: {text}");
            }
        }
    }
}

/// Names become files and addresses: none of them leads out of its place.
#[tokio::test]
async fn row_118_names_lead_nowhere() {
    let stage = World::with(&json!({}));
    for name in [
        "../x", "a/b", ".", "..", ".lock", "*", ">", "a\nb", "", "a b",
    ] {
        let ran = stage.run(&["token", "create", "--", name]).await;
        assert_eq!(ran.code, Some(2), "{name:?}: {ran:?}");
    }
    let folder = stage.home().join(".local/share/switchboard");
    let made = fs::read_dir(folder).into_iter().flatten().flatten();
    let made: Vec<_> = made
        .map(|entry| entry.file_name())
        .filter(|name| name != "tokens")
        .collect();
    assert!(made.is_empty(), "{made:?}");
}
