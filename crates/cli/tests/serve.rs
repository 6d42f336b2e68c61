//! `serve`, `up` and `builtin`: the program as a server.

mod support;

use rustix::process::Signal;
use serde_json::json;
use std::{os::unix::fs::PermissionsExt, time::Duration};
use support::{config, echo, run, switchboard};
use switchboard_testkit::{HttpClient, StdioClient, text_of};

const SOON: Duration = Duration::from_secs(5);

#[tokio::test]
async fn one_server_is_served_under_its_own_names() {
    let servers = config(&json!({"e": echo(&[])}));
    let mut client = StdioClient::new(
        switchboard()
            .args(["--mcp-config", &servers, "serve"])
            .spawn(),
    );
    client.initialize("2025-11-25").await;
    assert_eq!(
        text_of(&client.call("echo", json!({"nonce": "n"})).await),
        "n"
    );
}

#[tokio::test]
async fn several_servers_are_served_as_one() {
    let servers = config(&json!({"a": echo(&[]), "b": echo(&[]), "broken": {"command": 1}}));
    for (names, tool) in [("short", "b__echo"), ("full", "mcp__b__echo")] {
        let args = ["--mcp-config", &servers, "serve", "--names", names];
        let mut client = StdioClient::new(switchboard().args(args).spawn());
        client.initialize("2025-11-25").await;
        assert_eq!(
            text_of(&client.call(tool, json!({"nonce": names})).await),
            names
        );
    }
    // The broken one counts: names do not depend on who is well.
    let servers = config(&json!({"a": echo(&[]), "broken": {"command": 1}}));
    let mut client = StdioClient::new(
        switchboard()
            .args(["--mcp-config", &servers, "serve"])
            .spawn(),
    );
    client.initialize("2025-11-25").await;
    assert_eq!(
        text_of(&client.call("a__echo", json!({"nonce": "n"})).await),
        "n"
    );
}

#[tokio::test]
async fn http_wants_the_token_that_was_made() {
    let servers = config(&json!({"a": echo(&[])}));
    let mut program = switchboard()
        .args(["--mcp-config", &servers, "serve", "--http", "127.0.0.1:0"])
        .spawn();
    let url = format!("{}/mcp/a", program.url().await);
    let reply = HttpClient::new(&url).modern("tools/list", json!({})).await;
    assert_eq!(reply.status, 401);
    let file = program
        .home()
        .join(".local/share/switchboard/tokens/default");
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let token = std::fs::read_to_string(&file).unwrap();
    let mut client =
        HttpClient::new(&url).header("authorization", &format!("Bearer {}", token.trim()));
    assert_eq!(client.modern("tools/list", json!({})).await.status, 200);
    program.signal(Signal::TERM);
    assert_eq!(
        program.wait(SOON).await.code(),
        Some(0),
        "{}",
        program.stderr()
    );
}

#[tokio::test]
async fn http_without_servers_or_with_open_doors() {
    let broken = config(&json!({"broken": {"command": 1}}));
    let ended = run(switchboard().args(["--mcp-config", &broken, "serve"])).await;
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let program = switchboard()
        .args(["serve", "--http", "127.0.0.1:0", "--no-auth"])
        .spawn();
    program.wait_for_line("warning: --no-auth").await;
    let reply = HttpClient::new(&format!("{}/mcp", program.url().await))
        .modern("tools/list", json!({}))
        .await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn up_is_ready_to_be_used() {
    let mut program = switchboard().args(["up", "--port", "0"]).spawn();
    let base = program.url().await;
    let mut out = program.stdout.take().unwrap();
    let mut text = String::new();
    while !text.contains("Ready.") {
        let mut buffer = [0u8; 4096];
        let read = tokio::time::timeout(SOON, tokio::io::AsyncReadExt::read(&mut out, &mut buffer));
        let n = read.await.expect("up says that it is ready").unwrap();
        assert!(n > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..n]));
    }
    assert!(text.contains("system               connected  "), "{text}");
    // What it prints can be pasted.
    let start = text.find("  {\n").unwrap();
    let end = text.find("\n  }\n").unwrap() + 4;
    let pasted: serde_json::Value = serde_json::from_str(&text[start..end]).unwrap();
    let entry = &pasted["mcpServers"]["switchboard"];
    assert!(
        entry["url"]
            .as_str()
            .unwrap()
            .starts_with(&format!("{base}/mcp/@")),
        "{entry}"
    );
    let ended = run(switchboard().args([
        "--mcp-config",
        &pasted.to_string(),
        "call",
        "system__health",
        "--json",
    ]))
    .await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        ended.json()["structuredContent"]["status"],
        "ok",
        "{ended:?}"
    );
    program.signal(Signal::INT);
    assert_eq!(
        program.wait(SOON).await.code(),
        Some(0),
        "{}",
        program.stderr()
    );
}

#[tokio::test]
async fn a_built_in_server_on_its_own() {
    let mut client = StdioClient::new(switchboard().args(["builtin", "system"]).spawn());
    client.initialize("2025-11-25").await;
    let reply = client.call("time", json!({})).await;
    assert!(text_of(&reply).contains("\"utc\""), "{reply}");
    let ended = run(switchboard().args(["builtin", "sistem"])).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("did you mean system?"), "{ended:?}");
}

#[tokio::test]
async fn generated_texts() {
    for shell in ["bash", "zsh", "fish"] {
        let ended = run(switchboard().args(["completions", shell])).await;
        assert!(
            ended.code == Some(0) && ended.out.contains("switchboard"),
            "{ended:?}"
        );
    }
    let man = run(switchboard().arg("man")).await;
    assert!(
        man.out.contains(".TH") && man.out.contains("mcp\\-config"),
        "{man:?}"
    );
    let help = run(switchboard().args(["mcp", "list", "--help"])).await;
    assert!(
        help.code == Some(0) && help.out.contains("--no-connect"),
        "{help:?}"
    );
}
