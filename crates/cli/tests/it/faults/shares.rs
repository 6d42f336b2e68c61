//! Two tokens, one of which takes all that it can get: of bytes, of calls, of
//! connections, of copies. It is told which limit of its own it has met, and the
//! other is served as if nobody else were there.

use futures_util::{SinkExt, StreamExt};
use http::Method;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use switchboard_testkit::world::{World, address, echo, echo_http, kib, servers, worker_of};
use switchboard_testkit::{HttpClient, LEGACY, Program, dial_ws, text_of};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};
use tokio_tungstenite::tungstenite::Message;

pub(super) const LONG: Duration = Duration::from_secs(120);
pub(super) const MIB: usize = 1 << 20;
/// Longer than any test.
const ASLEEP: u64 = 3_600_000;
/// What all messages of one of two principals may take: half of the budget, one
/// more message, and what the calls cost besides. Far below what is sent.
const BOUND_KIB: u64 = 160 * 1024;

/// A gateway that knows two tokens.
pub(super) struct Two {
    _stage: World,
    gateway: Program,
    pub(super) url: String,
    pub(super) alice: String,
    bob: String,
}

impl Two {
    pub(super) async fn new(servers: &Value) -> Self {
        let stage = World::with(servers);
        let gateway = stage.gateway().await;
        Self::of(stage, gateway).await
    }

    async fn of(stage: World, gateway: Program) -> Self {
        let alice = format!("Bearer {}", stage.token("tokens/default"));
        let bob = stage.run(&["token", "create", "bob"]).await.ok();
        let bob = format!("Bearer {}", bob.out.trim());
        let url = gateway.url().await;
        let two = Self {
            _stage: stage,
            gateway,
            url,
            alice,
            bob,
        };
        // Known from now on.
        two.client("/mcp/echo", &two.bob).await;
        two
    }

    fn authority(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// A legacy client that has shaken hands.
    pub(super) async fn client(&self, path: &str, token: &str) -> HttpClient {
        let mut client =
            HttpClient::new(&format!("{}{path}", self.url)).header("authorization", token);
        client.deadline = LONG;
        client.initialize(LEGACY).await;
        client
    }

    /// Whether bob gets what he asks for, in a session and without one.
    pub(super) async fn serves_bob(&self) {
        let mut client = self.client("/mcp/echo", &self.bob).await;
        let answer = client.call("echo", json!({"nonce": "b"})).await;
        assert_eq!(text_of(&answer), "b");
        let large = "x".repeat(2 * MIB);
        let answer = client.call("echo", json!({"nonce": large})).await;
        assert_eq!(text_of(&answer).len(), large.len());
        let mut client =
            HttpClient::new(&format!("{}/mcp/echo", self.url)).header("authorization", &self.bob);
        client.deadline = LONG;
        let params = json!({"name": "echo", "arguments": {"nonce": "m"}});
        let reply = client.modern("tools/call", params).await;
        assert_eq!(text_of(&reply.message()), "m");
    }

    /// Alice asks until she is told that she has too much; what she is told.
    pub(super) async fn until_alice_is_refused(&self) -> String {
        let mut client =
            HttpClient::new(&format!("{}/mcp/echo", self.url)).header("authorization", &self.alice);
        client.deadline = LONG;
        let asked = hello();
        let deadline = Instant::now() + LONG;
        loop {
            assert!(Instant::now() < deadline, "she has all that she wants");
            let reply = client.post(asked.clone()).await;
            if reply.status == 503 {
                assert!(reply.header("retry-after").is_some());
                return error(&reply.message());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// There is room for alice again.
    pub(super) async fn until_alice_is_served(&self) {
        let mut client =
            HttpClient::new(&format!("{}/mcp/echo", self.url)).header("authorization", &self.alice);
        client.deadline = LONG;
        let deadline = Instant::now() + LONG;
        while client.post(hello()).await.status != 200 {
            assert!(Instant::now() < deadline, "there is no room again");
        }
    }

    pub(super) async fn worker(&self) -> i32 {
        worker_of(self.gateway.pid()).await
    }
}

fn hello() -> String {
    let params = json!({"protocolVersion": LEGACY, "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}

/// A call that lasts, with this much in it.
fn lasting(id: usize, filling: usize) -> String {
    // By hand: to write millions of bytes as JSON takes a test's program seconds.
    let filling = "x".repeat(filling);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"sleep","arguments":{{"ms":{ASLEEP},"filling":"{filling}"}}}}}}"#
    )
}

fn error(message: &Value) -> String {
    let text = message["error"]["message"].as_str();
    text.unwrap_or_else(|| panic!("{message}")).to_owned()
}

/// Memory of its own that a process has, at its most, until the end.
pub(super) struct Peak {
    before: u64,
    over: Arc<AtomicBool>,
    looking: tokio::task::JoinHandle<u64>,
}

impl Peak {
    pub(super) fn of(process: i32) -> Self {
        let anonymous = move || kib(process, "status", "RssAnon");
        let (before, over) = (anonymous(), Arc::<AtomicBool>::default());
        let ended = over.clone();
        let looking = tokio::spawn(async move {
            let mut most = 0;
            while !ended.load(Ordering::Relaxed) {
                most = most.max(anonymous());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            most.max(anonymous())
        });
        Self {
            before,
            over,
            looking,
        }
    }

    /// Fails where it grew by more than it may.
    async fn stays_bounded(self, what: &str) {
        self.stays_within(BOUND_KIB, what).await;
    }

    /// The same with a bound of its own.
    pub(super) async fn stays_within(self, most: u64, what: &str) {
        self.over.store(true, Ordering::Relaxed);
        let grown = self.looking.await.unwrap().saturating_sub(self.before);
        eprintln!("figure: {what} cost {} MiB", grown / 1024);
        assert!(grown < most, "{what}: {} MiB", grown / 1024);
    }
}

/// A socket of alice's that has shaken hands.
pub(super) async fn socket(two: &Two) -> tokio_tungstenite::WebSocketStream<TcpStream> {
    let address = format!("ws://{}/ws/echo", two.authority());
    let headers = [("authorization", two.alice.as_str())];
    let mut socket = dial_ws(&address, &headers).await.unwrap();
    socket.send(Message::text(hello())).await.unwrap();
    let answer = tokio::time::timeout(LONG, socket.next()).await;
    assert!(
        matches!(answer, Ok(Some(Ok(Message::Text(_))))),
        "{answer:?}"
    );
    socket
}

#[tokio::test]
async fn who_fills_the_memory_for_messages_is_held_back_alone() {
    // What goes to a server over HTTP is kept until it is answered.
    let server = echo_http(&[]);
    let two = Two::new(&servers([("echo", address(&server).await)])).await;
    let peak = Peak::of(two.worker().await);
    let mut socket = socket(&two).await;
    // Half of all that there may be.
    for id in [10, 11] {
        let sent = socket.send(Message::text(lasting(id, 8 * MIB))).await;
        sent.unwrap();
    }
    let told = two.until_alice_is_refused().await;
    assert!(
        told.starts_with("too many bytes of messages: yours are 16777216"),
        "{told}"
    );
    two.serves_bob().await;
    // More of it on the socket ends the socket, which is told why.
    let (mut sink, mut stream) = socket.split();
    let sending = tokio::spawn(async move {
        for id in 12..60 {
            if let Err(fault) = sink.send(Message::text(lasting(id, 8 * MIB))).await {
                return fault.to_string();
            }
        }
        "all is sent".to_owned()
    });
    let farewell = async {
        loop {
            match stream.next().await {
                Some(Ok(Message::Close(frame))) => break frame,
                Some(Ok(_)) => {}
                _ => break None,
            }
        }
    };
    let farewell = tokio::time::timeout(LONG, farewell).await.expect("an end");
    let reason = farewell.expect("a reason").reason.to_string();
    assert!(reason.contains("yours are 16777216"), "{reason}");
    let sent = tokio::time::timeout(LONG, sending).await.expect("an end");
    assert_ne!(sent.unwrap(), "all is sent");
    peak.stays_bounded("a socket full of large calls").await;
    // What has ended makes room.
    two.until_alice_is_served().await;
}

#[tokio::test]
async fn large_calls_whose_clients_have_gone_are_bounded() {
    // What goes to a server over HTTP is kept until it is answered.
    let server = echo_http(&[]);
    let two = Two::new(&servers([("echo", address(&server).await)])).await;
    let client = two.client("/mcp/echo", &two.alice).await;
    let peak = Peak::of(two.worker().await);
    let mut calls = JoinSet::new();
    for id in 10..110 {
        let mut client = client.clone_for(&[]);
        calls.spawn(async move {
            let answer = client.open(Method::POST, &[], lasting(id, 4 * MIB)).await;
            // Who was let in goes away without its answer.
            if answer.is_events() {
                return None;
            }
            let body: Value = serde_json::from_slice(&answer.body().await).unwrap();
            Some(error(&body))
        });
    }
    let ends = calls.join_all().await;
    let refused: Vec<String> = ends.into_iter().flatten().collect();
    assert!((80..=97).contains(&refused.len()), "{}", refused.len());
    for told in &refused {
        assert!(
            told.starts_with("too many bytes of messages: yours are 16777216"),
            "{told}"
        );
    }
    two.serves_bob().await;
    peak.stays_bounded("calls of clients that have gone").await;
    // What a session has in flight ends with it.
    let mut ending = client.clone_for(&[]);
    let ended = ending.send(Method::DELETE, &[], "").await;
    assert_eq!(ended.status, 200);
    two.until_alice_is_served().await;
}

/// How a message can begin.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Post,
    Attach,
    Ws,
}

/// Begins a message of 32,000,000 bytes and sends most of them.
async fn unfinished(way: Way, authority: String, token: String) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(&authority).await.ok()?;
    let common = format!("Host: {authority}\r\nAuthorization: {token}\r\n");
    let head = match way {
        Way::Post => format!(
            "POST /mcp/echo HTTP/1.1\r\n{common}Content-Type: application/json\r\nContent-Length: 32000000\r\n\r\n"
        ),
        Way::Attach => format!(
            "GET /attach/echo HTTP/1.1\r\n{common}Upgrade: mcp-lines\r\nConnection: Upgrade\r\n\r\n"
        ),
        Way::Ws => format!(
            "GET /ws/echo HTTP/1.1\r\n{common}Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        ),
    };
    stream.write_all(head.as_bytes()).await.ok()?;
    if way != Way::Post {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.ok()?);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{way:?}");
    }
    if way == Way::Ws {
        let mut frame = vec![0x01, 0xff];
        frame.extend_from_slice(&32_000_000_u64.to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        stream.write_all(&frame).await.ok()?;
    }
    let piece = vec![b'a'; MIB];
    for _ in 0..30 {
        stream.write_all(&piece).await.ok()?;
    }
    Some(stream)
}

async fn begun(way: Way) {
    let two = Two::new(&servers([("echo", echo(&[]))])).await;
    let peak = Peak::of(two.worker().await);
    let mut sending = JoinSet::new();
    for _ in 0..15 {
        sending.spawn(unfinished(way, two.authority().into(), two.alice.clone()));
    }
    // Each is read, or refused, or held back and then refused.
    let ended = tokio::time::timeout(LONG, sending.join_all()).await;
    let _open = ended.expect("nobody waits for ever");
    two.serves_bob().await;
    peak.stays_bounded(&format!("{way:?}: messages that have begun"))
        .await;
}

#[tokio::test]
async fn bodies_that_do_not_end_are_bounded() {
    begun(Way::Post).await;
}

#[tokio::test]
async fn lines_that_do_not_end_are_bounded() {
    begun(Way::Attach).await;
}

#[tokio::test]
async fn frames_that_do_not_end_are_bounded() {
    begun(Way::Ws).await;
}

/// Answers that nobody reads count for whom they are.
#[tokio::test]
async fn answers_that_are_not_read_hold_back_whose_they_are() {
    let two = Two::new(&servers([("echo", echo(&[]))])).await;
    let peak = Peak::of(two.worker().await);
    // Attached, and never read from.
    let mut unread = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(two.authority()).await.unwrap();
        let head = format!(
            "GET /attach/echo HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\nUpgrade: mcp-lines\r\nConnection: Upgrade\r\n\r\n",
            two.authority(),
            two.alice
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(hello().as_bytes()).await.unwrap();
        for id in 10..22 {
            let params = json!({"name": "payload", "arguments": {"bytes": 2 * MIB}});
            let call =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            let line = format!("\n{call}");
            stream.write_all(line.as_bytes()).await.unwrap();
        }
        stream.write_all(b"\n").await.unwrap();
        unread.push(stream);
    }
    let told = two.until_alice_is_refused().await;
    assert!(told.contains("yours are 16777216"), "{told}");
    two.serves_bob().await;
    peak.stays_bounded("answers that are not read").await;
}

#[tokio::test]
async fn calls_in_flight_have_a_limit_for_each() {
    let two = Two::new(&servers([("echo", echo(&[]))])).await;
    let mut refused = Vec::new();
    let mut sockets = Vec::new();
    for _ in 0..3 {
        let mut socket = socket(&two).await;
        for id in 10..910 {
            let sent = socket.send(Message::text(lasting(id, 0))).await;
            sent.unwrap();
        }
        sockets.push(socket);
    }
    // 2,700 are asked for, and 2,048 are let in.
    let mut sockets = futures_util::stream::select_all(sockets);
    while refused.len() < 2_700 - 2_048 {
        let next = tokio::time::timeout(LONG, sockets.next()).await;
        let next = next.expect("an answer").expect("a socket").unwrap();
        if let Message::Text(text) = next {
            let message: Value = serde_json::from_str(&text).unwrap();
            if message.get("error").is_some() {
                refused.push(error(&message));
            }
        }
    }
    for told in &refused {
        assert!(
            told.starts_with("too many calls in flight: yours are 2048"),
            "{told}"
        );
    }
    two.serves_bob().await;
}

/// The head of an answer; all of it where that is a refusal.
async fn said(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    loop {
        answer.push(stream.read_u8().await.expect("an answer"));
        let text = String::from_utf8_lossy(&answer);
        let is_refusal = text.starts_with("HTTP/1.1 503");
        if answer.ends_with(if is_refusal { &b"}}"[..] } else { b"\n\r\n" }) {
            return text.into_owned();
        }
    }
}

/// Of 256 descriptors half are for connections, and half of those for one of two.
#[tokio::test]
async fn connections_of_any_kind_have_a_limit_for_each() {
    let stage = World::with(&servers([("echo", echo(&[]))]));
    let launch = stage.launch_within(256, &["serve", "--http", "127.0.0.1:0"]);
    let gateway = launch.spawn();
    gateway.url().await;
    let two = Two::of(stage, gateway).await;
    let mut open: Vec<TcpStream> = Vec::new();
    let told = loop {
        assert!(open.len() <= 64, "there is no end to it");
        let mut stream = TcpStream::connect(two.authority()).await.unwrap();
        let common = format!(
            "Host: {}\r\nAuthorization: {}\r\n",
            two.authority(),
            two.alice
        );
        // Some of each kind.
        let head = match open.len() % 3 {
            0 => format!(
                "GET /attach/echo HTTP/1.1\r\n{common}Upgrade: mcp-lines\r\nConnection: Upgrade\r\n\r\n"
            ),
            1 => format!(
                "GET /ws/echo HTTP/1.1\r\n{common}Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
            ),
            _ => format!("GET /plain/sse HTTP/1.1\r\n{common}Accept: text/event-stream\r\n\r\n"),
        };
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = tokio::time::timeout(LONG, said(&mut stream)).await;
        let answer = answer.expect("an answer");
        if answer.starts_with("HTTP/1.1 503") {
            break answer;
        }
        assert!(
            answer.starts_with("HTTP/1.1 101") || answer.starts_with("HTTP/1.1 200"),
            "{answer}"
        );
        open.push(stream);
    };
    assert!(
        told.contains("too many connections: yours are 64"),
        "{told}"
    );
    assert_eq!(open.len(), 64);
    two.serves_bob().await;
    // Sockets on which nothing is said end.
    for socket in [0, 1] {
        let ended = async {
            let mut rest = vec![0; 1000];
            while !matches!(open[socket].read(&mut rest).await, Ok(0) | Err(_)) {}
        };
        let ended = tokio::time::timeout(LONG, ended).await;
        assert!(ended.is_ok(), "silence has no end");
    }
}

#[tokio::test]
async fn copies_by_key_have_a_limit_for_each() {
    let mut own = echo(&[]);
    own["isolation"] = json!("session");
    let two = Two::new(&servers([("own", own), ("echo", echo(&[]))])).await;
    let url = format!("{}/mcp/own", two.url);
    // A copy that is in use gives way to no other.
    let mut calls = JoinSet::new();
    for key in 0..40 {
        let mut client = HttpClient::new(&url)
            .header("authorization", &two.alice)
            .header("switchboard-client", &format!("key-{key}"));
        client.deadline = LONG;
        let params = json!({"name": "sleep", "arguments": {"ms": ASLEEP}});
        calls.spawn(async move {
            let stream = client.modern_stream("tools/call", params).await;
            if stream.is_events() {
                return Ok(stream);
            }
            let body: Value = serde_json::from_slice(&stream.body().await).unwrap();
            Err(error(&body))
        });
    }
    let (streams, refused): (Vec<_>, Vec<_>) =
        calls.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!((streams.len(), refused.len()), (32, 8), "{refused:?}");
    for told in refused {
        let told = told.unwrap_err();
        assert!(told.contains("yours are 32"), "{told}");
    }
    let mut client = HttpClient::new(&url)
        .header("authorization", &two.bob)
        .header("switchboard-client", "key-0");
    client.deadline = LONG;
    let params = json!({"name": "echo", "arguments": {"nonce": "k"}});
    let reply = client.modern("tools/call", params).await;
    assert_eq!(text_of(&reply.message()), "k");
}
