//! Answers that are one document, and what comes instead of them.

use super::{
    peer::{Heard, Peer, request, status, target, unknown},
    server::{self, Server, Step, answer, chunk, json, reply, write},
};
use http::{HeaderMap, HeaderValue, header};
use std::time::Duration;
use switchboard_testkit::DEADLINE;
use switchboard_transport::{
    About, Budget, Outgoing, Undelivered,
    http::{HttpOptions, HttpTarget},
};
use switchboard_wire::{Method, Payload, Revision};
use tokio::time::timeout;

#[tokio::test]
async fn json_answer_on_one_kept_connection() {
    let server = Server::start(|seen| json(&reply(seen))).await;
    let mut peer = Peer::new(&server);
    for id in 1..=20 {
        peer.ping(id).await;
    }
    assert_eq!(server.connections(), 1);
    let first = &server.seen()[0];
    assert_eq!(
        (first.method.as_str(), first.path.as_str()),
        ("POST", "/mcp")
    );
    assert_eq!(
        first.header("accept"),
        Some("application/json, text/event-stream")
    );
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(first.header("accept-encoding"), Some("identity"));
    assert_eq!(
        first.header("host"),
        Some(format!("127.0.0.1:{}", server.port()).as_str())
    );
    assert_eq!(first.header("mcp-protocol-version"), None);
    assert_eq!(first.header("mcp-method"), None);
    assert_eq!(
        first.body,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
    );
}

#[tokio::test]
async fn modern_headers_mirror_the_body() {
    let server = Server::start(|seen| json(&reply(seen))).await;
    let mut peer = Peer::new(&server);
    peer.link.speak(Revision::V2026_07_28);
    let about = About::Request {
        id: 1,
        method: Method::ToolsCall,
        method_name: None,
        name: Some("h\u{e9}llo".into()),
        params: vec![
            ("Region".into(), "us-west1".into()),
            ("Text".into(), "a\r\nEvil: 1".into()),
        ],
        headers: Vec::new(),
        timeout: Some(Duration::from_secs(5)),
    };
    let payload =
        Payload::from("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}".to_owned());
    peer.link.send(Outgoing { payload, about }).unwrap();
    peer.message().await;
    let seen = &server.seen()[0];
    assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(seen.header("mcp-method"), Some("tools/call"));
    assert_eq!(seen.header("mcp-name"), Some("=?base64?aMOpbGxv?="));
    assert_eq!(seen.header("mcp-param-region"), Some("us-west1"));
    assert_eq!(
        seen.header("mcp-param-text"),
        Some("=?base64?YQ0KRXZpbDogMQ==?=")
    );
    assert_eq!(seen.header("evil"), None);
}

#[tokio::test]
async fn configured_headers_never_replace_the_protocols() {
    let server = Server::start(|seen| json(&reply(seen))).await;
    let mut headers = HeaderMap::new();
    headers.insert("x-team", HeaderValue::from_static("red"));
    headers.insert(
        header::AUTHORIZATION,
        HeaderValue::from_static("Bearer abc"),
    );
    for ours in [
        "accept",
        "content-type",
        "content-length",
        "mcp-session-id",
        "mcp-method",
        "mcp-param-x",
        "last-event-id",
    ] {
        headers.insert(ours, HeaderValue::from_static("7"));
    }
    let target = HttpTarget {
        headers,
        ..target(&server.url())
    };
    let mut peer = Peer::with(target, HttpOptions::default());
    peer.ping(1).await;
    let seen = &server.seen()[0];
    assert_eq!(seen.header("x-team"), Some("red"));
    assert_eq!(seen.header("authorization"), Some("Bearer abc"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    for absent in [
        "mcp-session-id",
        "mcp-method",
        "mcp-param-x",
        "last-event-id",
    ] {
        assert_eq!(seen.header(absent), None, "{absent}");
    }
    assert_ne!(seen.header("content-length"), Some("7"));
}

#[tokio::test]
async fn a_payload_in_pieces_arrives_whole() {
    let server = Server::start(|seen| json(&reply(seen))).await;
    let mut peer = Peer::new(&server);
    let mut payload = Payload::default();
    let text = "x".repeat(300_000);
    for piece in [
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"",
        &text,
        "\"}}",
    ] {
        payload.push(piece.to_owned());
    }
    let expected = payload.clone().into_bytes();
    peer.link
        .send(Outgoing {
            payload,
            ..request(1, Method::Ping, Duration::from_secs(5))
        })
        .unwrap();
    peer.message().await;
    assert!(server.seen()[0].body.as_bytes() == expected);
}

#[tokio::test]
async fn each_message_of_a_batch_is_handed_over() {
    let server = Server::start(|seen| {
        let reply = reply(seen);
        json(&format!(
            "[{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}},{reply}]"
        ))
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.ask(1, Method::ToolsCall);
    assert!(peer.message().await.0.contains("notifications/message"));
    assert!(peer.message().await.0.contains("result"));
    peer.silence(Duration::from_millis(50)).await;
}

#[tokio::test]
async fn what_is_no_answer_is_said_clearly() {
    for (answer, expected, text) in [
        (
            answer(
                "200 OK",
                "content-type: text/html\r\n",
                "<html>Sign in, token=abcdef0123456789abcdef</html>",
            ),
            200,
            "text/html",
        ),
        (
            answer("200 OK", "content-type: application/json\r\n", ""),
            200,
            "empty",
        ),
        (answer("202 Accepted", "", ""), 202, "empty"),
        (
            answer("204 No Content", "content-type: application/json\r\n", ""),
            204,
            "empty",
        ),
        (
            answer("200 OK", "content-type: text/plain\r\n", "hello\u{1b}[2J"),
            200,
            "hello",
        ),
        (
            answer(
                "200 OK",
                "content-type: application/json\r\ncontent-encoding: gzip\r\n",
                "xx",
            ),
            200,
            "compressed",
        ),
        (
            answer("500 Oops", "content-type: text/html\r\n", "<h1>Oops</h1>"),
            500,
            "<h1>Oops</h1>",
        ),
        (answer("503 Busy", "", ""), 503, ""),
    ] {
        let server = Server::start(move |_| answer.clone()).await;
        let mut peer = Peer::new(&server);
        peer.ask(1, Method::ToolsCall);
        let (id, why) = peer.undelivered().await;
        let (status, shown) = status(&why);
        assert_eq!((id, status), (1, expected));
        assert!(shown.contains(text), "{shown}");
        assert!(
            !shown.contains("abcdef0123456789") && !shown.contains('\u{1b}'),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn an_unreadable_answer_ends_the_request() {
    for body in [
        "{\"jsonrpc\":",
        "[]",
        "\u{feff}x",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
    ] {
        let server = Server::start(move |_| json(body)).await;
        let mut peer = Peer::new(&server);
        peer.ask(1, Method::ToolsCall);
        assert!(
            matches!(peer.next().await, Heard::Unreadable(_, Some(1))),
            "{body}"
        );
        let (_, why) = peer.undelivered().await;
        assert!(unknown(&why).contains("cannot be read"), "{why}");
    }
}

#[tokio::test]
async fn an_answer_to_another_request_is_none() {
    let server = Server::start(|_| json("{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}")).await;
    let mut peer = Peer::new(&server);
    peer.ask(1, Method::ToolsCall);
    peer.message().await;
    assert!(unknown(&peer.undelivered().await.1).contains("no reply"));
}

#[tokio::test]
async fn too_large_is_refused_announced_or_not() {
    let big = "x".repeat(5000);
    let announced = json(&big);
    let mut chunked = vec![write(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
    )];
    chunked.extend((0..50).map(|_| chunk(&"y".repeat(100))));
    chunked.push(Step::Hang);
    for script in [announced, chunked] {
        let server = Server::start(move |_| script.clone()).await;
        let mut peer = Peer::with(
            target(&server.url()),
            HttpOptions {
                message_cap: 1000,
                ..HttpOptions::default()
            },
        );
        peer.ask(1, Method::ToolsCall);
        let (_, why) = peer.undelivered().await;
        assert_eq!(
            unknown(&why),
            "the server's answer is larger than 1000 bytes"
        );
    }
}

#[tokio::test]
async fn a_slow_answer_times_out_and_frees_the_socket() {
    let server = Server::start(|_| vec![Step::Hang]).await;
    let mut peer = Peer::new(&server);
    peer.ask_within(1, Method::ToolsCall, Duration::from_millis(150));
    let (id, why) = peer.undelivered().await;
    assert!(
        id == 1
            && matches!(why, Undelivered::TimedOut(limit) if limit == Duration::from_millis(150)),
        "{why}"
    );
    server
        .until("the hang-up", |server| server.hung_up() == 1)
        .await;
}

#[tokio::test]
async fn a_body_that_stops_half_way_is_given_up() {
    let server =
        Server::start(|_| vec![write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{\"js"), Step::Hang]).await;
    let options = HttpOptions {
        body_stall: Duration::from_millis(100),
        ..HttpOptions::default()
    };
    let mut peer = Peer::with(target(&server.url()), options);
    peer.ask(1, Method::ToolsCall);
    assert!(unknown(&peer.undelivered().await.1).contains("stood still"));
    server
        .until("the hang-up", |server| server.hung_up() == 1)
        .await;
}

#[tokio::test]
async fn large_answers_are_counted_and_wait_for_room() {
    let server = Server::start(|seen| {
        json(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"a\":\"{}\"}}}}",
            server::id(seen),
            "z".repeat(200_000)
        ))
    })
    .await;
    let mut peer = Peer::within(
        target(&server.url()),
        HttpOptions::default(),
        Budget::new(100_000),
    );
    peer.ask(1, Method::ToolsCall);
    let Heard::Message(first) = peer.next().await else {
        panic!("no message")
    };
    assert!(peer.budget.used() >= 200_000);
    peer.ask(2, Method::ToolsCall);
    peer.silence(Duration::from_millis(300)).await;
    drop(first);
    let Ok(Heard::Message(second)) = timeout(DEADLINE, peer.next()).await else {
        panic!("no second message")
    };
    assert_eq!(second.during, Some(2));
    drop(second);
    assert_eq!(peer.budget.used(), 0);
}
