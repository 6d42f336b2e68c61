//! The misbehaving peers, directly: they behave until they strike, and strike.

use std::time::Duration;

use http::Method;
use rustix::process::Signal;
use serde_json::json;
use switchboard_testkit::{
    DEADLINE, HttpClient, LEGACY, Program, StdioClient, bin, raw_exchange, record, text_of,
};

fn stdio(mode: &str, args: &[&str]) -> StdioClient {
    let launch = Program::new(bin("evil-stdio"))
        .args(["--mode", mode])
        .args(args);
    StdioClient::new(launch.spawn())
}

async fn strike(mode: &str, args: &[&str]) -> StdioClient {
    let mut client = stdio(mode, args);
    client.initialize(LEGACY).await;
    assert_eq!(text_of(&client.call("ok", json!({})).await), "ok", "{mode}");
    let params = json!({"name": "strike", "arguments": {}, "_meta": {"progressToken": "t"}});
    client.start("tools/call", params).await;
    client
}

fn modes(listing: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(listing);
    text.lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn every_stdio_mode_serves_ok_or_is_one_of_the_start() {
    let (status, listing, _) = Program::new(bin("evil-stdio"))
        .arg("--list-modes")
        .spawn()
        .output(DEADLINE)
        .await;
    assert!(status.success());
    let never = ["crash-start", "crash-loop", "hang-start", "deaf"];
    for mode in modes(&listing) {
        if never.contains(&mode.as_str()) {
            continue;
        }
        let mut client = stdio(&mode, &["--limit", "1000", "--delay", "1"]);
        client.initialize(LEGACY).await;
        let list = client.request("tools/list", json!({})).await;
        assert!(list["result"]["tools"].is_array(), "{mode}: {list}");
        assert_eq!(text_of(&client.call("ok", json!({})).await), "ok", "{mode}");
    }
}

#[tokio::test]
async fn stdio_strikes() {
    let mut client = strike("odd-ids", &[]).await;
    for _ in 0..11 {
        assert!(client.next_raw().await.ends_with(br#""wrong"}]}}"#));
    }
    assert_eq!(text_of(&client.next().await), "right");

    let mut client = strike("duplicate-reply", &[]).await;
    assert_eq!(text_of(&client.next().await), "struck");
    assert_eq!(text_of(&client.next().await), "again");

    let mut client = strike("bad-utf8", &[]).await;
    assert!(std::str::from_utf8(&client.next_raw().await).is_err());

    let mut client = strike("deep", &[]).await;
    assert!(client.next_raw().await.len() > 200_000);

    let mut client = strike("endless-line", &["--limit", "1000000"]).await;
    assert_eq!(
        client.next_raw_within(Duration::from_millis(300)).await,
        None
    );

    let mut client = strike("progress-flood", &["--limit", "500"]).await;
    for _ in 0..500 {
        assert_eq!(client.next().await["params"]["progressToken"], "t");
    }
    assert_eq!(text_of(&client.next().await), "struck");

    let mut client = strike("crash-call", &[]).await;
    assert_eq!(client.program.wait(DEADLINE).await.code(), Some(3));

    let mut client = strike("ask-elicitation", &[]).await;
    assert_eq!(client.next().await["method"], "elicitation/create");
    client
        .send_raw(r#"{"jsonrpc":"2.0","id":"evil-1","result":{"action":"cancel"}}"#)
        .await;
    assert!(text_of(&client.next().await).contains("cancel"));
}

#[tokio::test]
async fn stdio_starts() {
    let mut client = stdio("stubborn", &[]);
    client.initialize(LEGACY).await;
    client.program.signal(Signal::INT);
    client.program.signal(Signal::TERM);
    client.close();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(client.program.ended().is_none());

    let mut client = stdio("hang-start", &[]);
    client.start("initialize", json!({})).await;
    assert_eq!(
        client.next_raw_within(Duration::from_millis(200)).await,
        None
    );

    let mut program = Program::new(bin("evil-stdio"))
        .args(["--mode", "crash-start"])
        .spawn();
    assert_eq!(program.wait(DEADLINE).await.code(), Some(1));

    let mut client = stdio("input-required", &[]);
    let asked = client.modern("tools/call", json!({"name": "strike"})).await;
    assert_eq!(asked["result"]["resultType"], "input_required");
}

fn http(mode: &str, args: &[&str]) -> Program {
    Program::new(bin("evil-http"))
        .args(["--mode", mode])
        .args(args)
        .spawn()
}

#[tokio::test]
async fn every_http_mode_serves_ok_and_strikes() {
    let (_, listing, _) = Program::new(bin("evil-http"))
        .arg("--list-modes")
        .spawn()
        .output(DEADLINE)
        .await;
    for mode in modes(&listing) {
        let server = http(&mode, &["--limit", "1000", "--delay", "1", "--after", "0"]);
        let mut client = HttpClient::new(&server.url().await);
        let result = client
            .modern("tools/call", json!({"name": "ok"}))
            .await
            .message();
        assert_eq!(text_of(&result), "ok", "{mode}");
        if mode == "none" || mode.starts_with("session") {
            continue;
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "strike", "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}).to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let reply = raw_exchange(
            client.authority(),
            request.as_bytes(),
            Duration::from_millis(300),
        )
        .await;
        let quiet = mode == "hang" || mode == "close";
        assert_eq!(
            reply.is_empty(),
            quiet,
            "{mode}: {}",
            String::from_utf8_lossy(&reply)
        );
    }
}

#[tokio::test]
async fn http_details() {
    let server = http("session-404", &["--after", "2"]);
    let mut client = HttpClient::new(&server.url().await);
    client.initialize(LEGACY).await;
    assert_eq!(text_of(&client.call("ok", json!({})).await), "ok");
    let gone = client
        .post(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#)
        .await;
    assert_eq!(gone.status, 404);
    client.headers.remove("mcp-session-id");
    client.initialize(LEGACY).await;
    let stats = client.call("stats", json!({})).await;
    assert!(text_of(&stats).contains(r#""initializes":2"#));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    let server = http("sse-line-ends", &["--record", path.to_str().unwrap()]);
    let mut client = HttpClient::new(&server.url().await);
    let reply = client.modern("tools/call", json!({"name": "strike"})).await;
    assert_eq!(text_of(&reply.message()), "struck");
    let seen = record::read(&path).unwrap();
    assert!(seen[0].starts_with(b"POST /mcp HTTP/1.1\r\n"));

    let server = http("redirect-off-origin", &["--on", "any"]);
    let second = server.wait_for_line("second origin on ").await;
    let mut client = HttpClient::new(&server.url().await);
    let reply = client.send(Method::POST, &[], "{}").await;
    assert_eq!(reply.status, 307);
    assert!(second.ends_with(reply.header("location").unwrap()));
}

#[tokio::test]
async fn fault_proxy() {
    let server = Program::new(bin("echo-server"))
        .args(["--http", "0"])
        .spawn();
    let url = server.url().await;
    let to = url
        .trim_start_matches("http://")
        .trim_end_matches("/mcp")
        .to_owned();
    let proxy = |mode: &str| {
        Program::new(bin("fault-proxy"))
            .args(["--mode", mode, "--bytes", "100", "--ms", "1", "--to", &to])
            .spawn()
    };
    for (mode, works) in [
        ("pass", true),
        ("delay", true),
        ("drip", true),
        ("cut", false),
        ("reset", false),
        ("stall", false),
    ] {
        let proxy = proxy(mode);
        let mut client = HttpClient::new(&proxy.url().await);
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"payload","arguments":{"bytes":200},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "payload"),
        ];
        let reply = client.try_send(Method::POST, &headers, body.into());
        let patience = match mode {
            "stall" => Duration::from_secs(2),
            _ => DEADLINE,
        };
        let reply = tokio::time::timeout(patience, reply).await;
        assert_eq!(matches!(reply, Ok(Ok(_))), works, "{mode}: {reply:?}");
        assert_eq!(reply.is_err(), mode == "stall");
    }
}
