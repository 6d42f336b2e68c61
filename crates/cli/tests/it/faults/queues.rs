//! Messages that wait, each of them small: in what is kept for a client that may
//! come back, and in front of clients that do not read. All of them together have
//! a bound for each principal, and what can be done without gives way first.

use super::{
    crowds::written,
    shares::{LONG, MIB, Peak, Two, socket},
};
use futures_util::SinkExt;
use http::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::world::{address, echo, echo_http, servers, tries};
use switchboard_testkit::{HttpClient, text_of};
use tokio::net::TcpStream;
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};

/// What one principal's waiting messages may cost, all queues together.
const BOUND_KIB: u64 = 64 * 1024;

fn call(id: usize, name: &str, arguments: &Value) -> String {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// What has been read to its end is kept for a client that comes back, and keeps
/// nobody out.
#[tokio::test]
async fn answers_that_were_read_are_kept_only_while_there_is_room() {
    let two = Two::new(&servers([("echo", echo(&[]))])).await;
    let asked = json!({"bytes": 60_000});
    // More than half of all that there may be.
    let sessions = 6;
    for session in 0..sessions {
        let mut client = two.client("/mcp/echo", &two.alice).await.keep_alive();
        for id in 10..74 {
            // As events, so that it is kept.
            let events = [("accept", "text/event-stream")];
            let asked = call(id, "payload", &asked);
            let reply = client.send(Method::POST, &events, asked).await;
            let said = String::from_utf8_lossy(&reply.body);
            assert_eq!(reply.status, 200, "{session}, {id}: {said}");
            let answer = reply.message();
            assert_eq!(text_of(&answer).len(), 60_000, "{session}, {id}");
        }
    }
    assert!(sessions * 64 * 60_000 > 20 * MIB);
    // Nor is anybody refused now.
    let mut client = two.client("/mcp/echo", &two.alice).await;
    let answer = client.call("echo", json!({"nonce": "a"})).await;
    assert_eq!(text_of(&answer), "a");
    two.serves_bob().await;
}

/// Many small notices before each answer, all of them read.
#[tokio::test]
async fn small_notices_that_were_read_are_kept_within_bounds() {
    let server = echo_http(&[]);
    let two = Two::new(&servers([("echo", address(&server).await)])).await;
    let mut client = two.client("/mcp/echo", &two.alice).await;
    let peak = Peak::of(two.worker().await);
    let asked = json!({"level": "error", "text": "x".repeat(3_900), "times": 1_000});
    for id in 10..50 {
        let reply = client.post(call(id, "log", &asked)).await;
        assert_eq!(reply.status, 200);
        let last = reply.messages().pop().expect("an answer");
        assert_eq!(text_of(&last), "logged");
    }
    peak.stays_within(BOUND_KIB, "small notices that were read")
        .await;
    two.serves_bob().await;
}

/// Calls whose streams are open and never read.
async fn unread(modern: bool) {
    // Nearly twice the bound at least.
    let calls = tries(16, 30);
    let server = echo_http(&[]);
    let two = Two::new(&servers([("echo", address(&server).await)])).await;
    let peak = Peak::of(two.worker().await);
    let mut client = if modern {
        let url = format!("{}/mcp/echo", two.url);
        HttpClient::new(&url).header("authorization", &two.alice)
    } else {
        two.client("/mcp/echo", &two.alice).await
    };
    client.deadline = LONG;
    let arguments = json!({"level": "error", "text": "x".repeat(15_000), "times": 500});
    let meta = json!({"io.modelcontextprotocol/logLevel": "debug"});
    let mut streams = Vec::new();
    for _ in 0..calls {
        let mut params = json!({"name": "log", "arguments": arguments});
        streams.push(if modern {
            params["_meta"] = meta.clone();
            client.modern_stream("tools/call", params).await
        } else {
            client.stream("tools/call", params).await
        });
    }
    // The server gets rid of all of them.
    let deadline = Instant::now() + LONG;
    let pid = server.pid();
    while written(pid) < (calls * 500 * 15_000) as u64 {
        let so_far = written(pid);
        assert!(Instant::now() < deadline, "it has stopped at {so_far}");
        two.serves_bob().await;
    }
    peak.stays_within(BOUND_KIB, "small notices that nobody reads")
        .await;
    two.serves_bob().await;
    drop(streams);
    two.until_alice_is_served().await;
}

#[tokio::test]
async fn small_notices_that_modern_clients_do_not_read_are_bounded() {
    unread(true).await;
}

#[tokio::test]
async fn small_notices_that_legacy_clients_do_not_read_are_bounded() {
    unread(false).await;
}

/// Asks on and on, on sockets that nobody reads from, until the gateway has given one up.
async fn until_one_is_ended(sockets: &mut [WebSocketStream<TcpStream>], asked: &Value) {
    for id in 10_000.. {
        for socket in sockets.iter_mut() {
            let asked = call(id, "payload", asked);
            if socket.send(Message::text(asked)).await.is_err() {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Sockets that are never read from, and small answers for them.
#[tokio::test]
async fn small_answers_that_sockets_do_not_read_are_bounded() {
    let two = Two::new(&servers([("echo", echo(&[]))])).await;
    let peak = Peak::of(two.worker().await);
    let mut sockets = Vec::new();
    for _ in 0..12 {
        sockets.push(socket(&two).await);
    }
    let asked = json!({"bytes": 15_000});
    for socket in &mut sockets {
        for id in 10..1_010 {
            let asked = call(id, "payload", &asked);
            if socket.send(Message::text(asked)).await.is_err() {
                // It was behind when there was no more room.
                break;
            }
        }
        two.serves_bob().await;
    }
    // Either a new call of hers finds no room, or, where more answers were under way
    // by then than there is room for, one of her sockets was ended.
    let refused = tokio::select! {
        told = two.until_alice_is_refused() => Some(told),
        () = until_one_is_ended(&mut sockets, &asked) => None,
    };
    if let Some(told) = refused {
        assert!(told.contains("yours are 16777216"), "{told}");
    }
    // What waits, and the answers to all calls that were in flight when there was no
    // more room; 171 MiB were asked for.
    let most = 2 * BOUND_KIB;
    peak.stays_within(most, "small answers that nobody reads")
        .await;
    drop(sockets);
    two.until_alice_is_served().await;
}
