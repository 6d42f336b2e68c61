//! The faces over WebSocket and HTTP+SSE at their edges: who may come in, what
//! hostile bytes do, and that others do not notice.

use futures_util::{SinkExt, StreamExt};
use http::Method;
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{config, echo, switchboard};
use switchboard_testkit::{Channel, DEADLINE, HttpClient, LEGACY, Program, dial_ws, text_of, tour};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_tungstenite::tungstenite::{Error, Message};

async fn gateway(args: &[&str]) -> (Program, String) {
    let servers = config(&json!({"e": echo(&[])}));
    let program = switchboard()
        .args(["--mcp-config", &servers, "serve", "--http", "127.0.0.1:0"])
        .args(args)
        .spawn();
    let base = program.url().await;
    (program, base)
}

fn token(program: &Program) -> String {
    let file = program
        .home()
        .join(".local/share/switchboard/tokens/default");
    format!(
        "Bearer {}",
        std::fs::read_to_string(file).expect("a token").trim()
    )
}

fn ws(base: &str, path: &str) -> String {
    format!("{}{path}", base.replace("http://", "ws://"))
}

fn status(refused: Result<impl Sized, Error>) -> u16 {
    match refused.err() {
        Some(Error::Http(response)) => response.status().as_u16(),
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[tokio::test]
async fn websocket_checks_come_before_the_upgrade() {
    let (program, base) = gateway(&[]).await;
    let bearer = token(&program);
    let url = ws(&base, "/ws");
    assert_eq!(status(dial_ws(&url, &[]).await), 401);
    assert_eq!(
        status(dial_ws(&url, &[("authorization", "Bearer no")]).await),
        401
    );
    let good = ("authorization", bearer.as_str());
    assert_eq!(
        status(dial_ws(&url, &[good, ("origin", "http://evil.example")]).await),
        403
    );
    assert_eq!(
        status(dial_ws(&url, &[good, ("host", "evil.example")]).await),
        403
    );
    assert_eq!(
        status(dial_ws(&url, &[good, ("sec-websocket-protocol", "chat")]).await),
        400
    );
    assert_eq!(
        status(dial_ws(&ws(&base, "/ws/nobody"), &[good]).await),
        404
    );
    let mut plain = HttpClient::new(&format!("{base}/ws")).header("authorization", &bearer);
    assert_eq!(plain.send(Method::GET, &[], "").await.status, 426);
    assert_eq!(plain.post("{}").await.status, 405);
    let mut client = Channel::ws(&url, &[good, ("origin", "http://localhost:1234")]).await;
    client.initialize(LEGACY).await;
    assert_eq!(
        text_of(&client.call("e__echo", json!({"nonce": "n"})).await),
        "n"
    );
}

/// Shakes hands, sends bytes as they are, and gives the code of the close frame.
async fn strike(authority: &str, bytes: &[u8], times: usize) -> Option<u16> {
    let mut socket = TcpStream::connect(authority).await.expect("it listens");
    let hello = format!(
        "GET /ws/e HTTP/1.1\r\nHost: {authority}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: mcp\r\n\r\n"
    );
    socket.write_all(hello.as_bytes()).await.expect("it reads");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.expect("an answer"));
    }
    assert!(
        head.starts_with(b"HTTP/1.1 101"),
        "{}",
        String::from_utf8_lossy(&head)
    );
    let (mut read, mut write) = socket.into_split();
    let bytes = bytes.to_vec();
    let writing = tokio::spawn(async move {
        for _ in 0..times {
            if write.write_all(&bytes).await.is_err() {
                break;
            }
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
    });
    let mut back = Vec::new();
    let mut chunk = [0u8; 4096];
    let code = loop {
        let got = tokio::time::timeout(DEADLINE, read.read(&mut chunk)).await;
        match got {
            Ok(Ok(n)) if n > 0 => back.extend_from_slice(&chunk[..n]),
            _ => break None,
        }
        if let Some(at) = back.windows(2).position(|w| w[0] == 0x88 && w[1] >= 2)
            && back.len() >= at + 4
        {
            break Some(u16::from_be_bytes([back[at + 2], back[at + 3]]));
        }
    };
    writing.abort();
    code
}

fn masked(first: u8, length: &[u8], data: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    frame.push(length[0] | 0x80);
    frame.extend_from_slice(&length[1..]);
    frame.extend_from_slice(&[0, 0, 0, 0]);
    frame.extend_from_slice(data);
    frame
}

#[tokio::test]
async fn hostile_frames_end_their_own_connection_only() {
    let (program, base) = gateway(&["--no-auth"]).await;
    let authority = base.strip_prefix("http://").expect("an address").to_owned();
    let mut canary = Channel::ws(&ws(&base, "/ws/e"), &[]).await;
    canary.initialize(LEGACY).await;
    for (name, bytes, times, code) in [
        ("unmasked", vec![0x81, 0x01, b'a'], 1, 1002),
        ("reserved bits", masked(0xf1, &[1], b"a"), 1, 1002),
        ("reserved opcode", masked(0x83, &[1], b"a"), 1, 1002),
        ("continuation of nothing", masked(0x80, &[1], b"a"), 1, 1002),
        ("fragmented ping", masked(0x09, &[0], b""), 1, 1002),
        ("no text", masked(0x81, &[2], &[0xc3, 0x28]), 1, 1007),
        (
            "two gibibytes",
            masked(0x81, &[127, 0, 0, 0, 0, 0x80, 0, 0, 0], b""),
            1,
            1009,
        ),
        (
            "endless fragments",
            [
                masked(0x01, &[1], b"{"),
                masked(0x00, &[126, 0xff, 0xff], &[b' '; 65535]).repeat(520),
            ]
            .concat(),
            1,
            1009,
        ),
    ] {
        assert_eq!(
            strike(&authority, &bytes, times).await,
            Some(code),
            "{name}"
        );
        assert_eq!(
            text_of(&canary.call("echo", json!({"nonce": name})).await),
            name
        );
    }
    assert!(
        resident(program.pid()) < 400 << 20,
        "{} bytes",
        resident(program.pid())
    );
}

/// The memory of a process and its children.
fn resident(pid: i32) -> u64 {
    let read = |pid: i32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
        text.split(' ')
            .nth(1)
            .and_then(|pages| pages.parse::<u64>().ok())
            .unwrap_or(0)
            * 4096
    };
    let children =
        std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    read(pid)
        + children
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .map(read)
            .sum::<u64>()
}

#[tokio::test]
async fn what_is_no_message_is_answered_and_the_connection_stays() {
    let (_program, base) = gateway(&["--no-auth"]).await;
    let mut socket = dial_ws(&ws(&base, "/ws/e"), &[]).await.expect("a socket");
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for (text, code) in [
        ("no", -32700),
        ("{}", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (deep.as_str(), -32700),
    ] {
        socket
            .send(Message::text(text.to_owned()))
            .await
            .expect("it reads");
        let reply = next(&mut socket).await;
        assert_eq!(reply["error"]["code"], code, "{reply}");
    }
    socket
        .send(Message::text(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#))
        .await
        .expect("it reads");
    assert_eq!(
        next(&mut socket).await,
        json!({"jsonrpc": "2.0", "id": 1, "result": {}})
    );
}

async fn next(
    socket: &mut (impl futures_util::Stream<Item = Result<Message, Error>> + Unpin),
) -> Value {
    loop {
        let message = socket.next().await.expect("a message").expect("a message");
        if let Message::Text(text) = message {
            return serde_json::from_str(&text).expect("JSON");
        }
    }
}

#[tokio::test]
async fn batches_on_one_channel() {
    let (_program, base) = gateway(&["--no-auth"]).await;
    for kind in ["ws", "sse"] {
        let mut client = match kind {
            "ws" => Channel::ws(&ws(&base, "/ws/e"), &[]).await,
            _ => Channel::sse(&format!("{base}/sse/e"), &[]).await,
        };
        client.initialize("2025-03-26").await;
        client.send(json!([
            {"jsonrpc": "2.0", "id": "a", "method": "ping"},
            {"jsonrpc": "2.0", "method": "notifications/nothing"},
            {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "echo", "arguments": {"nonce": "x"}}},
        ]));
        let answers = client
            .next(Duration::from_secs(10))
            .await
            .expect("an answer");
        let answers = answers.as_array().expect("a batch");
        assert_eq!(answers.len(), 2, "{kind}: {answers:?}");
        let of = |id: &str| {
            answers
                .iter()
                .find(|answer| answer["id"] == id)
                .expect("an answer")
                .clone()
        };
        assert_eq!(of("a")["result"], json!({}));
        assert_eq!(text_of(&of("b")), "x");
    }
}

#[tokio::test]
async fn the_older_cancellation_is_understood() {
    let (_program, base) = gateway(&["--no-auth"]).await;
    let mut client = Channel::ws(&ws(&base, "/ws/e"), &[]).await;
    client.initialize(LEGACY).await;
    let id = client.start(
        "tools/call",
        json!({"name": "sleep", "arguments": {"ms": 60_000}}),
    );
    tour::until_one_sleeps(&mut client, |params| params).await;
    client.notify("$/cancelRequest", json!({"id": id}));
    tour::until(&mut client, "cancelled", 1).await;
}

#[tokio::test]
async fn sse_sessions_are_their_owners() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        std::process::Command::new("chmod")
            .arg("600")
            .arg(&path)
            .status()
            .expect("chmod");
        path.display().to_string()
    };
    let (one, two) = ("1".repeat(43), "2".repeat(43));
    let (a, b) = (file("alice", &one), file("bob", &two));
    let (_program, base) = gateway(&["--token-file", &a, "--token-file", &b]).await;
    let client = |path: &str, secret: &str| {
        HttpClient::new(&format!("{base}{path}"))
            .header("authorization", &format!("Bearer {secret}"))
    };
    assert_eq!(
        HttpClient::new(&format!("{base}/sse"))
            .send(Method::GET, &[], "")
            .await
            .status,
        401
    );
    let mut stream = client("/sse", &one)
        .open(Method::GET, &[("accept", "text/event-stream")], "")
        .await;
    let first = stream.next().await.expect("an endpoint");
    assert_eq!(first.name.as_deref(), Some("endpoint"));
    let endpoint = String::from_utf8(first.data.expect("data")).expect("text");
    let id = endpoint
        .strip_prefix("/messages?sessionId=")
        .expect("a session");
    assert_eq!(id.len(), 32);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(
        client(&endpoint, &two).post(ping).await.status,
        404,
        "another principal's"
    );
    assert_eq!(
        client("/messages?sessionId=00000000000000000000000000000000", &one)
            .post(ping)
            .await
            .status,
        404
    );
    assert_eq!(client("/messages", &one).post(ping).await.status, 400);
    assert_eq!(client(&endpoint, &one).post("no").await.status, 400);
    let mut form = client(&endpoint, &one).header("content-type", "text/plain");
    assert_eq!(form.post(ping).await.status, 415);
    assert_eq!(client("/sse", &one).post(ping).await.status, 405);
    let mut rebound = client(&endpoint, &one).header("origin", "http://evil.example");
    assert_eq!(rebound.post(ping).await.status, 403);
    assert_eq!(client(&endpoint, &one).post(ping).await.status, 202);
    assert_eq!(
        stream.message().await,
        Some(json!({"jsonrpc": "2.0", "id": 1, "result": {}}))
    );
    drop(stream);
    let mut last = 0;
    for _ in 0..100 {
        last = client(&endpoint, &one).post(ping).await.status.as_u16();
        if last == 404 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(last, 404, "the session ends with its stream");
}

#[tokio::test]
async fn stopping_says_goodbye() {
    let (mut program, base) = gateway(&["--no-auth"]).await;
    let mut socket = dial_ws(&ws(&base, "/ws/e"), &[]).await.expect("a socket");
    let stream = HttpClient::new(&format!("{base}/sse"))
        .open(Method::GET, &[], "")
        .await;
    program.signal(rustix::process::Signal::TERM);
    let code = loop {
        match socket.next().await {
            Some(Ok(Message::Close(frame))) => break frame.map(|frame| u16::from(frame.code)),
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(code, Some(1001));
    drop(stream);
    assert_eq!(
        program.wait(DEADLINE).await.code(),
        Some(0),
        "{}",
        program.stderr()
    );
}
