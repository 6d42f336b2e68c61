//! Sessions, the order of the first messages, and the end.

use super::{
    peer::{Heard, Peer, request},
    server::{Script, Seen, Server, Step, accepted, answer, events, json, reply, write},
};
use std::time::{Duration, Instant};
use switchboard_testkit::LATE;
use switchboard_transport::{Closed, SendError};
use switchboard_wire::{Method, Revision};

fn with_session(seen: &Seen) -> Script {
    match seen.method.as_str() {
        "DELETE" => answer("200 OK", "", ""),
        _ if seen.body.contains("\"initialize\"") => answer(
            "200 OK",
            "content-type: application/json\r\nmcp-session-id: abc\r\n",
            &reply(seen),
        ),
        _ if seen.body.contains("\"id\"") => json(&reply(seen)),
        _ => accepted(),
    }
}

async fn initialized(server: &Server) -> Peer {
    let mut peer = Peer::new(server);
    peer.ask(1, Method::Initialize);
    peer.message().await;
    peer.link.speak(Revision::V2025_11_25);
    peer
}

#[tokio::test]
async fn the_session_is_ended_with_delete() {
    let server = Server::start(with_session).await;
    let mut peer = initialized(&server).await;
    peer.ping(2).await;
    peer.tell("notifications/cancelled");
    peer.link.close().await;
    assert!(matches!(peer.next().await, Heard::Closed(Closed::ByUs)));
    peer.link.close().await;
    peer.silence(Duration::from_millis(50)).await;
    let seen = server.seen();
    let methods: Vec<_> = seen.iter().map(|seen| seen.method.as_str()).collect();
    assert_eq!(
        methods,
        ["POST", "POST", "POST", "DELETE"],
        "what was said before closing still leaves"
    );
    assert_eq!(seen[3].header("mcp-session-id"), Some("abc"));
    assert_eq!(seen[3].header("mcp-protocol-version"), Some("2025-11-25"));
    let refused = peer
        .link
        .send(request(3, Method::Ping, Duration::from_secs(1)));
    assert!(matches!(refused, Err(SendError::Closed)), "{refused:?}");
}

#[tokio::test]
async fn a_server_that_ignores_delete_does_not_hold_us() {
    let server = Server::start(|seen| {
        if seen.method == "DELETE" {
            vec![Step::Hang]
        } else {
            with_session(seen)
        }
    })
    .await;
    let mut peer = initialized(&server).await;
    peer.ask(2, Method::ToolsCall);
    peer.message().await;
    let begun = Instant::now();
    peer.link.close().await;
    let taken = begun.elapsed();
    assert!(taken < Duration::from_secs(3) + LATE, "{taken:?}");
    assert!(matches!(peer.next().await, Heard::Closed(Closed::ByUs)));
}

#[tokio::test]
async fn without_a_session_or_in_the_modern_era_nothing_is_deleted() {
    let server = Server::start(with_session).await;
    let mut peer = Peer::new(&server);
    peer.ping(1).await;
    peer.link.close().await;
    let modern = initialized(&server).await;
    modern.link.speak(Revision::V2026_07_28);
    modern.link.close().await;
    assert!(server.seen().iter().all(|seen| seen.method == "POST"));
}

#[tokio::test]
async fn closing_cuts_what_is_under_way() {
    let server = Server::start(|_| vec![Step::Hang]).await;
    let mut peer = Peer::new(&server);
    peer.ask(1, Method::ToolsCall);
    server
        .until("the request", |server| server.seen().len() == 1)
        .await;
    peer.link.close().await;
    server
        .until("the hang-up", |server| server.hung_up() == 1)
        .await;
    assert!(matches!(peer.next().await, Heard::Closed(Closed::ByUs)));
}

#[tokio::test]
async fn dropping_the_link_cuts_what_is_under_way() {
    let server = Server::start(|seen| {
        if seen.method == "GET" {
            vec![events(), Step::Hang]
        } else {
            vec![Step::Hang]
        }
    })
    .await;
    let peer = Peer::new(&server);
    peer.ask(1, Method::ToolsCall);
    peer.link.open_stream();
    server
        .until("both", |server| server.seen().len() == 2)
        .await;
    drop(peer);
    server
        .until("two hang-ups", |server| server.hung_up() == 2)
        .await;
}

#[tokio::test]
async fn an_ill_formed_session_is_not_taken() {
    let server = Server::start(|seen| {
        let body = reply(seen);
        vec![write(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: a b\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))]
    })
    .await;
    let peer = initialized(&server).await;
    assert_eq!(peer.link.session(), None);
}

#[tokio::test]
async fn requests_do_not_overtake_initialized() {
    let server = Server::start(|seen| {
        let mut script = Vec::new();
        if seen.body.contains("notifications/initialized") {
            script.push(Step::Wait(Duration::from_millis(200)));
            script.extend(accepted());
        } else {
            script.extend(with_session(seen));
        }
        script
    })
    .await;
    let mut peer = initialized(&server).await;
    let begun = Instant::now();
    peer.tell("notifications/initialized");
    peer.ask(2, Method::ToolsList);
    peer.message().await;
    assert!(
        begun.elapsed() >= Duration::from_millis(200),
        "the request waited for the notification's answer"
    );
    assert!(
        begun.elapsed() < Duration::from_millis(400) + LATE,
        "not for anything else: {:?}",
        begun.elapsed()
    );
    assert!(server.seen()[1].body.contains("notifications/initialized"));
}

#[tokio::test]
async fn the_stream_comes_after_initialized_and_requests_after_the_stream() {
    let server = Server::start(|seen| {
        let mut script = vec![Step::Wait(Duration::from_millis(100))];
        match seen.method.as_str() {
            "GET" => script.extend([events(), Step::Hang]),
            _ if seen.body.contains("notifications/initialized") => script.extend(accepted()),
            _ => script.extend(with_session(seen)),
        }
        script
    })
    .await;
    let mut peer = initialized(&server).await;
    peer.tell("notifications/initialized");
    peer.link.open_stream();
    peer.ask(2, Method::ToolsList);
    peer.message().await;
    let seen = server.seen();
    assert!(seen[1].body.contains("notifications/initialized"));
    assert_eq!(seen[2].method, "GET");
    assert!(seen[3].body.contains("tools/list"));
}

#[tokio::test]
async fn a_server_that_holds_its_stream_back_delays_requests_a_moment_only() {
    let server = Server::start(|seen| match seen.method.as_str() {
        "GET" => vec![Step::Hang],
        _ => with_session(seen),
    })
    .await;
    let mut peer = initialized(&server).await;
    peer.link.open_stream();
    let begun = Instant::now();
    peer.ask(2, Method::ToolsList);
    peer.message().await;
    let waited = begun.elapsed();
    assert!(
        waited >= Duration::from_millis(450) && waited < Duration::from_secs(2) + LATE,
        "{waited:?}"
    );
    peer.ping(3).await;
    assert!(begun.elapsed() < waited + Duration::from_millis(200) + LATE);
}
