//! The GET stream of the legacy era.

use super::{
    peer::{Heard, Peer, target},
    server::{Server, Step, answer, chunk, events, falling_silent, json, last_chunk, reply},
};
use std::time::Duration;
use switchboard_transport::http::HttpOptions;
use switchboard_wire::Revision;
use tokio::time::sleep;

const CHANGED: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";

fn gets(server: &Server) -> usize {
    server
        .seen()
        .iter()
        .filter(|seen| seen.method == "GET")
        .count()
}

#[tokio::test]
async fn a_server_without_a_stream_is_asked_once() {
    let server = Server::start(|seen| {
        if seen.method == "GET" {
            answer("405 Method Not Allowed", "", "")
        } else {
            json(&reply(seen))
        }
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.link.speak(Revision::V2025_11_25);
    peer.link.open_stream();
    server.until("the GET", |server| gets(server) == 1).await;
    sleep(Duration::from_millis(100)).await;
    peer.link.open_stream();
    peer.ping(1).await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!(gets(&server), 1);
    assert_eq!(
        server.seen()[0].header("mcp-protocol-version"),
        Some("2025-11-25")
    );
}

#[tokio::test]
async fn the_modern_era_has_no_such_stream() {
    let server = Server::start(|_| vec![events(), Step::Hang]).await;
    let peer = Peer::new(&server);
    peer.link.speak(Revision::V2026_07_28);
    peer.link.open_stream();
    sleep(Duration::from_millis(200)).await;
    assert_eq!(gets(&server), 0);
}

#[tokio::test]
async fn messages_come_outside_of_any_request_and_a_broken_stream_is_resumed() {
    let server = Server::start(|seen| match seen.header("last-event-id") {
        None => vec![
            events(),
            chunk(&format!("id: 1\nretry: 250\ndata: {CHANGED}\n\n")),
            Step::Close,
        ],
        Some("1") => vec![
            events(),
            chunk(&format!("id: 2\ndata: {CHANGED}\n\ndata: nonsense\n\n")),
            Step::Hang,
        ],
        Some(other) => panic!("unexpected id {other}"),
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.link.speak(Revision::V2025_11_25);
    peer.link.open_stream();
    peer.link.open_stream();
    for _ in 0..2 {
        assert_eq!(peer.message().await, (CHANGED.into(), None));
    }
    assert!(matches!(peer.next().await, Heard::Unreadable(_, None)));
    assert_eq!(gets(&server), 2, "two calls open one stream");
    peer.link.forget_session();
    server
        .until("the hang-up", |server| server.hung_up() == 1)
        .await;
}

#[tokio::test]
async fn a_hostile_retry_makes_no_storm() {
    for script in [
        // Comes back at once, for ever.
        vec![events(), chunk("retry: 0\n\n"), last_chunk()],
        vec![events(), chunk("retry: 0\n\n"), Step::Close],
        vec![Step::Close],
    ] {
        let server = Server::start(move |_| script.clone()).await;
        let peer = Peer::new(&server);
        peer.link.speak(Revision::V2025_11_25);
        peer.link.open_stream();
        sleep(Duration::from_millis(1500)).await;
        let dials = gets(&server);
        assert!((1..=25).contains(&dials), "{dials} dials in 1.5 s");
    }
}

#[tokio::test]
async fn an_endless_retry_is_cut_to_the_cap() {
    // Nothing to see within a test's time, but the task must not end or panic on it.
    let server = Server::start(|_| {
        vec![
            events(),
            chunk("retry: 1000000000000000000000\n\n"),
            last_chunk(),
        ]
    })
    .await;
    let peer = Peer::new(&server);
    peer.link.speak(Revision::V2025_11_25);
    peer.link.open_stream();
    sleep(Duration::from_millis(500)).await;
    assert_eq!(gets(&server), 1);
    peer.link.forget_session();
    peer.link.open_stream();
    server
        .until("a second GET", |server| gets(server) == 2)
        .await;
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_opened_again() {
    let server = Server::start(|seen| {
        if seen.header("last-event-id").is_some() {
            return vec![events(), chunk(&format!("data: {CHANGED}\n\n")), Step::Hang];
        }
        falling_silent(vec![events(), chunk("id: 5\nretry: 200\ndata: \n\n")])
    })
    .await;
    let options = HttpOptions {
        silence_floor: Duration::from_millis(150),
        ..HttpOptions::default()
    };
    let mut peer = Peer::with(target(&server.url()), options);
    peer.link.speak(Revision::V2025_11_25);
    peer.link.open_stream();
    assert_eq!(peer.message().await, (CHANGED.into(), None));
    assert_eq!(gets(&server), 2);
}

#[tokio::test]
async fn a_busy_server_is_asked_again_later() {
    let server = Server::start(|seen| {
        if seen.connection == 1 && seen.header("x").is_none() && seen.path == "/mcp" {
            let mut script = answer("503 Busy", "", "");
            script.push(Step::Close);
            return script;
        }
        vec![events(), chunk(&format!("data: {CHANGED}\n\n")), Step::Hang]
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.link.speak(Revision::V2025_11_25);
    peer.link.open_stream();
    assert_eq!(peer.message().await.0, CHANGED);
}

#[tokio::test]
async fn a_million_comments_take_no_memory() {
    let server = Server::start(|_| {
        let mut script = vec![events()];
        let comments = ": x\n".repeat(10_000);
        script.extend((0..100).map(|_| chunk(&comments)));
        script.push(chunk(&format!("data: {CHANGED}\n\n")));
        script.push(Step::Hang);
        script
    })
    .await;
    let mut peer = Peer::with(
        target(&server.url()),
        HttpOptions {
            message_cap: 1000,
            ..HttpOptions::default()
        },
    );
    peer.link.speak(Revision::V2025_11_25);
    peer.link.open_stream();
    assert_eq!(peer.message().await.0, CHANGED);
}
