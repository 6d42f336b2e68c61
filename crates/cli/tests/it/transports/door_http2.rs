//! HTTP/2 at our own door, for clients that offer it with TLS: many calls on one
//! connection, and the same checks and limits as everywhere.

use super::door_tls::serve;
use crate::support::tap::Authority;
use http::{Method, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::{Bytes, Incoming},
    client::conn::http2::{self, SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::{HttpClient, LEGACY, MODERN, Program, text_of};
use tempfile::TempDir;
use tokio::net::TcpStream;

const LIMIT: Duration = Duration::from_secs(60);

type Client = SendRequest<Full<Bytes>>;

/// A gateway with its certificate, its authority, and one connection of HTTP/2 to it.
async fn connected() -> ((Program, TempDir), Authority, u16, Client) {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    authority.certify("localhost", folder.path(), "cert.pem", "key.pem");
    let (gateway, port) = serve(folder.path(), &[]).await;
    let client = connect(&authority, port).await;
    ((gateway, folder), authority, port, client)
}

async fn connect(authority: &Authority, port: u16) -> Client {
    let near = authority.tunnel_for(&["h2"], "localhost", port).await;
    let stream = TokioIo::new(TcpStream::connect(near).await.unwrap());
    let shaken = http2::handshake(TokioExecutor::new(), stream).await;
    let (client, driver) = shaken.unwrap();
    tokio::spawn(driver);
    client
}

/// A message to `/mcp`, of either era.
fn post(authority: &str, headers: &[(&str, &str)], message: &Value) -> Request<Full<Bytes>> {
    let mut request = Request::builder()
        .method(Method::POST)
        .version(Version::HTTP_2)
        .uri(format!("https://{authority}/mcp"))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request
        .body(Full::new(Bytes::from(message.to_string())))
        .unwrap()
}

fn modern(id: u64, tool: &str, arguments: &Value) -> Request<Full<Bytes>> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "h2", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    let headers = [
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    post("localhost", &headers, &message)
}

async fn json_of(answer: Response<Incoming>) -> Value {
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&body)))
}

#[tokio::test]
async fn many_calls_of_both_eras_share_one_connection() {
    let (_gateway, authority, port, mut client) = connected().await;
    let greeting = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "h2", "version": "1"}
    }});
    let answer = client.send_request(post("localhost", &[], &greeting)).await;
    let answer = answer.unwrap();
    assert_eq!(answer.version(), Version::HTTP_2);
    let session = answer.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(json_of(answer).await["result"]["protocolVersion"], LEGACY);
    // More than may be answered at once: the rest waits for its turn.
    let mut calls = tokio::task::JoinSet::new();
    for id in 0..400u64 {
        let nonce = format!("n{id}");
        let arguments = json!({"nonce": nonce});
        let request = match id % 2 {
            0 => modern(id, "e__echo", &arguments),
            _ => {
                let params = json!({"name": "e__echo", "arguments": arguments});
                let message =
                    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
                let headers = [
                    ("mcp-session-id", session.as_str()),
                    ("mcp-protocol-version", LEGACY),
                ];
                post("localhost", &headers, &message)
            }
        };
        let mut client = client.clone();
        calls.spawn(async move {
            client.ready().await.unwrap();
            let answer = client.send_request(request).await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK);
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            let text = String::from_utf8(body.to_vec()).unwrap();
            // An answer that took a moment comes as an event.
            let data = text.lines().find_map(|line| line.strip_prefix("data: {"));
            let whole = data.map_or(text.clone(), |rest| format!("{{{rest}"));
            let answer: Value = serde_json::from_str(&whole).expect(&text);
            assert_eq!(answer["id"], id);
            assert_eq!(text_of(&answer), nonce);
        });
    }
    calls.join_all().await;
    // Who does not offer it speaks HTTP/1.1 with us, on the same port.
    let near = authority.tunnel_for(&["http/1.1"], "localhost", port).await;
    let mut plain = HttpClient::new(&format!("http://{near}/mcp"));
    plain.initialize(LEGACY).await;
    let called = plain.call("e__echo", json!({"nonce": "plain"})).await;
    assert_eq!(text_of(&called), "plain");
}

#[tokio::test]
async fn what_is_refused_elsewhere_is_refused_here() {
    let (_gateway, _authority, _port, mut client) = connected().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    // A page whose name was rebound to our address; two hosts; a head without end.
    let cases = [
        (post("evil.example", &[], &list), StatusCode::FORBIDDEN),
        (
            post("localhost", &[("origin", "https://evil.example")], &list),
            StatusCode::FORBIDDEN,
        ),
        (
            post("localhost", &[("host", "evil.example")], &list),
            StatusCode::BAD_REQUEST,
        ),
        (
            post("localhost", &[("x-long", &"x".repeat(80 * 1024))], &list),
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        ),
    ];
    for (request, expected) in cases {
        client.ready().await.unwrap();
        let answer = client.send_request(request).await.unwrap();
        assert_eq!(answer.status(), expected);
    }
    // And the connection is as good as before.
    let answer = client.send_request(modern(9, "e__echo", &json!({"nonce": "still"})));
    assert_eq!(answer.await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn a_call_whose_stream_is_reset_is_cancelled_and_others_go_on() {
    let ((gateway, _folder), _authority, _port, client) = connected().await;
    let until = Instant::now() + LIMIT;
    loop {
        let slow = modern(1, "e__sleep", &json!({"ms": 600_000}));
        let mut asking = client.clone();
        let begun = tokio::spawn(async move { asking.send_request(slow).await.map(drop) });
        let mut other = client.clone();
        let answer = other.send_request(modern(2, "e__echo", &json!({"nonce": "beside"})));
        assert_eq!(answer.await.unwrap().status(), StatusCode::OK);
        begun.abort();
        let asked = other.send_request(modern(3, "e__cancelled", &json!({})));
        let said = json_of(asked.await.unwrap()).await;
        if text_of(&said) != "0" {
            break;
        }
        // It may not have reached the server, which then has nothing to cancel.
        assert!(Instant::now() < until, "{said} {}", gateway.stderr());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_large_answer_comes_in_whole_frames_as_far_as_its_client_lets_it() {
    const MIB: usize = 1 << 20;
    /// The largest that any client takes.
    const FRAME: usize = 16 * 1024;
    let (_gateway, _authority, _port, mut client) = connected().await;
    let asked = client.send_request(modern(1, "e__payload", &json!({"bytes": MIB})));
    let answer = asked.await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/json");
    let mut body = answer.into_body();
    let (mut frames, mut bytes) = (0, 0);
    while let Some(frame) = body.frame().await {
        let piece = frame.unwrap().into_data().unwrap_or_default();
        frames += usize::from(!piece.is_empty());
        bytes += piece.len();
    }
    assert!(bytes > MIB, "{bytes}");
    // What is spliced around the text may end one of its own.
    assert!(frames <= bytes.div_ceil(FRAME) + 4, "{frames} for {bytes}");
}
