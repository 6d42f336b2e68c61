//! `serve`, `up` and `builtin`: the program as a server.

use crate::support;

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
async fn a_built_in_server_on_its_own() {
    let mut client = StdioClient::new(switchboard().args(["builtin", "system"]).spawn());
    client.initialize("2025-11-25").await;
    let reply = client.call("time", json!({})).await;
    assert!(text_of(&reply).contains("\"utc\""), "{reply}");
    for (args, code, says) in [
        (&["sistem"][..], 2, "did you mean system?"),
        (&["shell"], 2, "--enable-shell"),
        (&["tools"], 2, "--folder is missing"),
        (
            &["system", "--root", "/"],
            2,
            "--root means nothing to system",
        ),
        (&["files", "--enable-shell"], 2, "it is for shell"),
        (
            &["files", "--root", "/no/such"],
            3,
            "the root /no/such cannot be used",
        ),
    ] {
        let ended = run(switchboard().arg("builtin").args(args)).await;
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.err.contains(says), "{ended:?}");
    }
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
