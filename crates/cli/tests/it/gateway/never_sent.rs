//! A call that waits for its server is not sent once nobody may have its answer, or
//! wants it: it was cancelled, its session ended, its token was revoked.

use http::Method;
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::{
    HttpClient, LEGACY,
    world::{World, shell_server},
};

/// It answers once there is a file `go`.
const WAITS: &str = "echo $$ >> pids; while [ ! -e go ]; do sleep 0.05; done";

fn call(text: &str) -> Value {
    json!({"name": "ok", "arguments": {"a": text}})
}

async fn token(home: &World, name: &str) -> String {
    let made = home.run(&["token", "create", name]).await.ok();
    format!("Bearer {}", made.out.trim())
}

#[tokio::test]
async fn what_nobody_waits_for_any_more() {
    let home = World::new();
    let folder = home.path("server");
    home.write("server/go", "");
    let mut entry = shell_server(WAITS, "", &folder);
    entry["era"] = json!("legacy");
    let settings = json!({"mcpServers": {"w": entry}}).to_string();
    home.write("home/.config/switchboard/settings.json", settings);
    let (_gateway, url) = home.serve(&[]).await;
    let (alice, bob) = (token(&home, "alice").await, token(&home, "bob").await);
    let client =
        |token: &str| HttpClient::new(&format!("{url}/mcp/w")).header("authorization", token);
    let mut sessions = Vec::new();
    for token in [&bob, &bob, &alice, &bob] {
        let mut session = client(token);
        session.initialize(LEGACY).await;
        sessions.push(session);
    }
    let mut last = sessions.pop().unwrap();
    let first = last.request("tools/call", call("FIRST")).await;
    assert!(first.get("result").is_some(), "{first}");

    // It dies, and its successor takes its time.
    std::fs::remove_file(home.path("server/go")).unwrap();
    // Each principal has its own.
    let leaders = home.read("server/pids");
    let killed = std::process::Command::new("kill")
        .arg("-9")
        .args(leaders.split_whitespace())
        .status();
    assert!(killed.unwrap().success());
    let texts = ["CANCELLED", "DELETED", "REVOKED"];
    let mut streams = Vec::new();
    for (session, text) in sessions.iter_mut().zip(texts) {
        // The head of the answer comes when it has taken longer than a plain one may.
        streams.push(session.stream("tools/call", call(text)).await);
    }
    let modern = {
        let mut client = client(&alice);
        async move { client.modern("tools/call", call("MODERN")).await }
    };
    let modern = tokio::spawn(modern);
    tokio::time::sleep(Duration::from_millis(300)).await;

    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    assert_eq!(sessions[0].post(cancel.to_string()).await.status, 202);
    assert_eq!(sessions[1].send(Method::DELETE, &[], "").await.status, 200);
    home.run(&["token", "revoke", "alice"]).await.ok();
    // Everything that was given up has ended.
    for mut stream in streams {
        while stream.next().await.is_some() {}
    }
    let modern = modern.await.unwrap();
    assert_eq!(modern.status, 401, "{:?}", modern.body);

    home.write("server/go", "");
    let after = last.request("tools/call", call("AFTER")).await;
    assert!(after.get("result").is_some(), "{after}");
    // Hers is there by now as well, if anybody waited for it to the end.
    let met = |got: &str| got.matches("\"initialize\"").count();
    for _ in 0..40 {
        if met(&home.read("server/got")) >= 2 * leaders.split_whitespace().count() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let got = home.read("server/got");
    let seen: Vec<&str> = [
        "FIRST",
        "CANCELLED",
        "DELETED",
        "REVOKED",
        "MODERN",
        "AFTER",
    ]
    .into_iter()
    .filter(|text| got.contains(text))
    .collect();
    assert_eq!(seen, ["FIRST", "AFTER"], "{got}");
}
