//! The recorder, directly: bytes in, bytes out.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use switchboard_testkit::{HttpClient, Program, StdioClient, bin, record};

const SCRIPT: &str = concat!(
    r#"{"method":"tools/call","match":"\"odd\"","reply":"{\"big\":1e400, \"dup\":1,\"dup\":2}","before":["{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":@TOKEN@,\"progress\":1.0}}","{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}"]}"#,
    "\n",
    r#"{"method":"tools/call","kind":"error","reply":"{\"code\":-0,\"message\":\"\\ud800\"}"}"#,
    "\n"
);

fn files(name: &str) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join(name);
    std::fs::write(&script, SCRIPT).unwrap();
    let record = folder.path().join("record");
    (folder, script, record)
}

#[tokio::test]
async fn stdio() {
    let (_folder, script, record) = files("script");
    let program = Program::new(bin("recorder"))
        .args(["--stdio", "--script"])
        .arg(&script)
        .arg("--record")
        .arg(&record);
    let mut client = StdioClient::new(program.spawn());
    client.initialize("2025-06-18").await;
    let call = br#"{"jsonrpc":"2.0" , "i\u0064":1.50,"method":"tools/call","params":{"name":"odd","_meta":{"progressToken":1e2}}}"#;
    client.send_raw(call).await;
    assert_eq!(client.next_raw().await, br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1e2,"progress":1.0}}"#);
    assert_eq!(
        client.next_raw().await,
        br#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#
    );
    assert_eq!(
        client.next_raw_within(Duration::from_millis(100)).await,
        None
    );
    client.send_raw(br#"{"id":"q","result":{}}"#).await;
    assert_eq!(
        client.next_raw().await,
        br#"{"jsonrpc":"2.0","id":1.50,"result":{"big":1e400, "dup":1,"dup":2}}"#
    );
    client.send_raw(br#"{"id":2,"method":"tools/call"}"#).await;
    assert_eq!(
        client.next_raw().await,
        br#"{"jsonrpc":"2.0","id":2,"error":{"code":-0,"message":"\ud800"}}"#
    );
    let seen = record::read(&record).unwrap();
    assert_eq!(seen.len(), 5);
    assert_eq!(seen[2], call);
}

#[tokio::test]
async fn http() {
    let (_folder, script, record) = files("script");
    let program = Program::new(bin("recorder"))
        .args(["--http", "0", "--script"])
        .arg(&script)
        .arg("--record")
        .arg(&record)
        .spawn();
    let mut client = HttpClient::new(&program.url().await);
    client.initialize("2025-06-18").await;
    let call = "{\"jsonrpc\":\"2.0\",\r\n\"id\":2,\n\"method\":\"tools/call\"}";
    let reply = client.post(call).await;
    assert_eq!(
        reply.body,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-0,"message":"\ud800"}}"#
    );
    let mut stream = client.stream("tools/call", json!({"name": "odd"})).await;
    assert_eq!(
        stream.message().await.unwrap()["method"],
        "notifications/progress"
    );
    assert_eq!(stream.message().await.unwrap()["id"], "q");
    assert_eq!(client.post(r#"{"id":"q","result":{}}"#).await.status, 202);
    let last = stream.next().await.unwrap();
    assert_eq!(
        last.data.unwrap(),
        br#"{"jsonrpc":"2.0","id":1,"result":{"big":1e400, "dup":1,"dup":2}}"#
    );
    assert_eq!(record::read(&record).unwrap()[2], call.as_bytes());
    let found = client.modern("server/discover", json!({})).await.message();
    assert_eq!(found["result"]["resultType"], "complete");
}
