//! Large answers that are passed on before their end: what comes of them, and what if their
//! rest is none.

use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use switchboard_testkit::world::{Gateway, http, servers};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::timeout,
};

const LONG: Duration = Duration::from_secs(60);
const MIB: usize = 1 << 20;

/// A server over HTTP whose tool answers as its arguments say. An answer that is held goes
/// on when there is a permit.
async fn upstream() -> (Value, Arc<Semaphore>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let permits = Arc::new(Semaphore::new(0));
    let held = permits.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, held.clone()));
        }
    });
    (json!({"type": "http", "url": url}), permits)
}

async fn serve(mut stream: TcpStream, held: Arc<Semaphore>) -> std::io::Result<()> {
    let mut rest = Vec::new();
    loop {
        let (head, body) = read_message(&mut stream, &mut rest).await?;
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let id = &message["id"];
        let result = match message["method"].as_str() {
            _ if !head.starts_with("POST") => {
                let none = b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n";
                stream.write_all(none).await?;
                continue;
            }
            _ if id.is_null() => {
                let taken = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
                stream.write_all(taken).await?;
                continue;
            }
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "large", "version": "1"}
            }),
            Some("tools/list") => {
                json!({"tools": [{"name": "large", "inputSchema": {"type": "object"}}]})
            }
            Some("tools/call") => {
                let asked = &message["params"]["arguments"];
                if !large(&mut stream, id, asked, &held).await? {
                    return Ok(());
                }
                continue;
            }
            _ => {
                let error = json!({"code": -32601, "message": "no"});
                let text = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
                plain(&mut stream, text.as_bytes()).await?;
                continue;
            }
        };
        let text = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        plain(&mut stream, text.as_bytes()).await?;
    }
}

async fn plain(stream: &mut TcpStream, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    let kind = "Content-Type: application/json";
    let head = format!("HTTP/1.1 200 OK\r\n{kind}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await
}

/// The text of an answer of about so many bytes.
fn text(id: &Value, bytes: usize, how: &str) -> Vec<u8> {
    let filling = "x\u{e9}\\n\u{1f600}plain text ".repeat(bytes / 20);
    let content = format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"{filling}\"}}]");
    let end = match how {
        "fails" => ",\"isError\":true}}".to_owned(),
        "twice" => format!("}},\"id\":{id}}}"),
        "escaped" => format!("}},\"\\u0069d\":{id}}}"),
        "error" => "},\"error\":{\"code\":1,\"message\":\"m\"}}".to_owned(),
        "last" => "}]".to_owned(),
        "short" => "}".to_owned(),
        "early" => {
            return format!("{{\"result\":{content}}},\"id\":{id},\"jsonrpc\":\"2.0\"}}").into();
        }
        _ => "}}".to_owned(),
    };
    let mut text =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{content}{end}").into_bytes();
    if how == "middle" {
        let at = text.len() - 1000;
        text[at] = 1;
    }
    if how == "latin" {
        let at = text.len() - 1000;
        text[at] = 0xff;
    }
    text
}

/// Answers; whether the connection goes on.
async fn large(
    stream: &mut TcpStream,
    id: &Value,
    asked: &Value,
    held: &Semaphore,
) -> std::io::Result<bool> {
    let bytes = asked["bytes"].as_u64().unwrap_or_default() as usize;
    let how = asked["how"].as_str().unwrap_or_default();
    let text = text(id, bytes, how);
    if asked["chunks"] == true {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
        let head = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        for piece in text.chunks(10_007) {
            let size = format!("{:x}\r\n", piece.len());
            stream.write_all(size.as_bytes()).await?;
            stream.write_all(piece).await?;
            stream.write_all(b"\r\n").await?;
        }
        stream.write_all(b"0\r\n\r\n").await?;
        return Ok(true);
    }
    if how == "unread" {
        // Whoever waits is told that nobody takes it any more.
        let written = plain(stream, &text).await;
        held.add_permits(usize::from(written.is_err()));
        return Ok(false);
    }
    if how != "held" && how != "dies" {
        plain(stream, &text).await?;
        return Ok(true);
    }
    let length = text.len();
    let kind = "Content-Type: application/json";
    let head = format!("HTTP/1.1 200 OK\r\n{kind}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let (first, rest) = text.split_at(length / 2);
    stream.write_all(first).await?;
    if how == "dies" {
        return Ok(false);
    }
    held.acquire().await.unwrap().forget();
    stream.write_all(rest).await?;
    Ok(true)
}

/// One HTTP message: its head, and its body, whose length must be said.
async fn read_message(
    stream: &mut TcpStream,
    rest: &mut Vec<u8>,
) -> std::io::Result<(String, Vec<u8>)> {
    let head = read_head(stream, rest).await?;
    let length = length_of(&head).unwrap_or_default();
    while rest.len() < length {
        if stream.read_buf(rest).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    let body = rest.drain(..length).collect();
    Ok((head, body))
}

async fn read_head(stream: &mut TcpStream, rest: &mut Vec<u8>) -> std::io::Result<String> {
    loop {
        if let Some(end) = rest.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = rest.drain(..end + 4).collect();
            return Ok(String::from_utf8_lossy(&head).into_owned());
        }
        if stream.read_buf(rest).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn length_of(head: &str) -> Option<usize> {
    header(head, "content-length")?.parse().ok()
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// A legacy client on one connection, whose bytes are looked at. It takes nothing but JSON:
/// what takes a while would be an event otherwise, which is sent whole.
struct Client {
    stream: TcpStream,
    rest: Vec<u8>,
    session: String,
    authority: String,
}

impl Client {
    async fn of(gateway: &Gateway) -> Self {
        let authority = gateway.authority().to_owned();
        let mut client = Self {
            stream: TcpStream::connect(&authority).await.unwrap(),
            rest: Vec::new(),
            session: String::new(),
            authority,
        };
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"}
        });
        client
            .post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
            .await;
        let (head, _) = read_message(&mut client.stream, &mut client.rest)
            .await
            .unwrap();
        let session = header(&head, "mcp-session-id").expect("a session");
        client.session =
            format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
        client
    }

    async fn post(&mut self, message: &Value) {
        let (body, authority, session) = (message.to_string(), &self.authority, &self.session);
        let length = body.len();
        let text = format!(
            "POST /mcp/large HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\n\
             Accept: application/json\r\n{session}Content-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    async fn call(&mut self, arguments: Value) {
        let params = json!({"name": "large", "arguments": arguments});
        let id = "a client's own";
        self.post(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
            .await;
    }

    /// The head of what comes, and its body as far as it comes.
    async fn answer(&mut self) -> (String, Result<Vec<u8>, std::io::Error>) {
        let read = async {
            let head = read_head(&mut self.stream, &mut self.rest).await.unwrap();
            let mut body = Vec::new();
            let all = async {
                if let Some(length) = length_of(&head) {
                    while self.rest.len() < length {
                        self.more().await?;
                    }
                    body = self.rest.drain(..length).collect();
                    return Ok(());
                }
                loop {
                    while !self.rest.windows(2).any(|two| two == b"\r\n") {
                        self.more().await?;
                    }
                    let end = self.rest.windows(2).position(|two| two == b"\r\n").unwrap();
                    let size = String::from_utf8_lossy(&self.rest[..end]).into_owned();
                    let size = usize::from_str_radix(&size, 16).expect("a size");
                    while self.rest.len() < end + size + 4 {
                        self.more().await?;
                    }
                    body.extend_from_slice(&self.rest[end + 2..end + 2 + size]);
                    self.rest.drain(..end + size + 4);
                    if size == 0 {
                        return Ok(());
                    }
                }
            };
            let all: std::io::Result<()> = all.await;
            (head, all.map(|()| body))
        };
        timeout(LONG, read).await.expect("an end, one or the other")
    }

    async fn more(&mut self) -> std::io::Result<()> {
        match self.stream.read_buf(&mut self.rest).await? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Whether an answer is whole and right; it is too long to be shown.
fn assert_same((head, body): (String, std::io::Result<Vec<u8>>), wanted: &[u8]) {
    let body = body.unwrap_or_else(|fault| panic!("{fault}: {head}"));
    let differs = body
        .iter()
        .zip(wanted)
        .position(|(one, other)| one != other);
    let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
    let lengths = (body.len(), wanted.len());
    assert!(body == wanted, "{lengths:?} {differs:?} {head} {shown}");
}

fn expected(bytes: usize, how: &str) -> Vec<u8> {
    text(&json!("a client's own"), bytes, how)
}

async fn start() -> (Gateway, Arc<Semaphore>) {
    let (entry, held) = upstream().await;
    (Gateway::start(&servers([("large", entry)])).await, held)
}

#[tokio::test]
async fn large_answers_are_passed_on_before_their_end() {
    let (gateway, held) = start().await;
    let mut client = Client::of(&gateway).await;
    client.call(json!({"bytes": MIB, "how": "held"})).await;
    let wanted = expected(MIB, "held");
    let begins = async {
        let head = read_head(&mut client.stream, &mut client.rest)
            .await
            .unwrap();
        while client.rest.len() < 65_536 {
            client.more().await.unwrap();
        }
        head
    };
    let head = timeout(LONG, begins)
        .await
        .expect("its beginning, before its end");
    assert_eq!(length_of(&head), Some(wanted.len()), "{head}");
    assert_eq!(header(&head, "content-type"), Some("application/json"));
    assert!(client.rest.len() < wanted.len());
    held.add_permits(1);
    while client.rest.len() < wanted.len() {
        timeout(LONG, client.more()).await.unwrap().unwrap();
    }
    assert!(client.rest == wanted, "byte for byte, but for its id");
    client.rest.clear();
    // The connection goes on, in every form.
    for (bytes, how, chunks) in [
        (MIB, "", false),
        (MIB, "fails", false),
        (MIB, "", true),
        (100_000, "fails", true),
        (100, "", true),
        (70_000, "", false),
        (MIB, "early", false),
        (MIB, "early", true),
    ] {
        client
            .call(json!({"bytes": bytes, "how": how, "chunks": chunks}))
            .await;
        let (head, body) = client.answer().await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(
            body.unwrap() == expected(bytes, how),
            "{bytes} {how} {chunks}"
        );
    }
}

/// Whoever looks at messages has them whole: nothing is passed on before.
#[tokio::test]
async fn nothing_is_passed_on_early_where_somebody_needs_it_whole() {
    let (entry, held) = upstream().await;
    let gateway = Gateway::launch(http(&servers([("large", entry)])).arg("--tap")).await;
    let mut client = Client::of(&gateway).await;
    client.call(json!({"bytes": MIB, "how": "held"})).await;
    let early = timeout(Duration::from_millis(500), client.more()).await;
    assert!(early.is_err(), "{}", String::from_utf8_lossy(&client.rest));
    held.add_permits(1);
    let (_, body) = client.answer().await;
    assert!(body.unwrap() == expected(MIB, "held"));
}

#[tokio::test]
async fn what_turns_bad_on_its_way_is_broken_off_and_never_completed() {
    let (gateway, _held) = start().await;
    for how in [
        "twice", "escaped", "error", "last", "short", "middle", "latin", "dies",
    ] {
        for bytes in [140_000, MIB] {
            for chunks in [false, true] {
                if how == "dies" && chunks {
                    continue;
                }
                let mut client = Client::of(&gateway).await;
                client
                    .call(json!({"bytes": bytes, "how": how, "chunks": chunks}))
                    .await;
                let (head, body) = client.answer().await;
                assert!(head.starts_with("HTTP/1.1 200"), "{head}");
                let fault = body.err();
                let fault = fault.unwrap_or_else(|| panic!("{how} {bytes} {chunks} is complete"));
                assert_eq!(fault.kind(), std::io::ErrorKind::UnexpectedEof, "{how}");
            }
        }
    }
    // Small ones are an error, as always, and the next call is as good as any.
    let mut client = Client::of(&gateway).await;
    client.call(json!({"bytes": 1000, "how": "twice"})).await;
    let (_, body) = client.answer().await;
    let answer: Value = serde_json::from_slice(&body.unwrap()).unwrap();
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    client.call(json!({"bytes": MIB})).await;
    assert!(client.answer().await.1.unwrap() == expected(MIB, ""));
}

#[tokio::test]
async fn clients_that_do_not_read_hold_nobody_up() {
    let (gateway, _held) = start().await;
    let mut reads = Client::of(&gateway).await;
    let mut silent = Vec::new();
    for _ in 0..3 {
        let mut client = Client::of(&gateway).await;
        client.call(json!({"bytes": 8 * MIB})).await;
        silent.push(client);
    }
    for _ in 0..3 {
        reads.call(json!({"bytes": MIB})).await;
        assert_same(reads.answer().await, &expected(MIB, ""));
    }
    // They get theirs all the same.
    assert_same(silent[0].answer().await, &expected(8 * MIB, ""));
}

/// Nobody asks for more while a client reads nothing: its server's connection is let go all
/// the same, and what the client has of its answer is never completed.
#[tokio::test]
async fn a_client_that_never_reads_has_its_answer_broken_off() {
    let (entry, ended) = upstream().await;
    let launch = http(&servers([("large", entry)]));
    let gateway = Gateway::launch(launch.env("SWITCHBOARD_TEST_UNREAD_MS", "200")).await;
    let mut silent = Client::of(&gateway).await;
    let call = json!({"bytes": 24 * MIB, "how": "unread"});
    silent.call(call).await;
    let ended = timeout(LONG, ended.acquire()).await;
    ended.expect("its server can go on").unwrap().forget();
    let (head, body) = silent.answer().await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    body.expect_err("it is not completed");
    let mut other = Client::of(&gateway).await;
    other.call(json!({"bytes": 1000})).await;
    assert_same(other.answer().await, &expected(1000, ""));
}
