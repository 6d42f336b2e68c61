//! Answers that are event streams.

use super::{
    peer::{Heard, Peer, target, unknown},
    server::{
        Script, Server, Step, accepted, answer, chunk, events, falling_silent, json, last_chunk,
        reply,
    },
};
use std::time::{Duration, Instant};
use switchboard_testkit::LATE;
use switchboard_transport::http::HttpOptions;
use switchboard_wire::{Method, Revision};

const PROGRESS: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}";

#[tokio::test]
async fn progress_comes_before_the_reply_and_the_connection_is_kept() {
    let server = Server::start(|seen| {
        vec![
            events(),
            chunk("id: 1\ndata: \n\n: hello\n\n"),
            chunk(&format!("event: message\ndata: {PROGRESS}\n\n")),
            Step::Wait(Duration::from_millis(50)),
            chunk(&format!("event: odd name\r\ndata: {}\r\n\r\n", reply(seen))),
            Step::Wait(Duration::from_millis(20)),
            last_chunk(),
        ]
    })
    .await;
    let mut peer = Peer::new(&server);
    for id in 1..=3 {
        peer.ask(id, Method::ToolsCall);
        let (text, during) = peer.message().await;
        assert_eq!((text.as_str(), during), (PROGRESS, Some(id)));
        let (text, during) = peer.message().await;
        assert!(text.contains("result") && during == Some(id), "{text}");
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_eq!(
        server.connections(),
        1,
        "the end of the stream came soon, so its connection is used again"
    );
}

#[tokio::test]
async fn a_stream_that_goes_on_after_the_reply_is_closed() {
    let server = Server::start(|seen| {
        vec![
            events(),
            chunk(&format!("data: {}\n\n", reply(seen))),
            Step::Hang,
        ]
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.ask(1, Method::ToolsCall);
    peer.message().await;
    server
        .until("the hang-up", |server| server.hung_up() == 1)
        .await;
}

#[tokio::test]
async fn a_reply_in_many_pieces_and_lines() {
    let server = Server::start(|seen| {
        let text = format!("data: {}\n\n", reply(seen).replace(',', ",\ndata: "));
        let mut script = vec![events()];
        script.extend(
            text.as_bytes()
                .chunks(3)
                .map(|part| chunk(std::str::from_utf8(part).unwrap())),
        );
        script.push(last_chunk());
        script
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.ask(1, Method::ToolsCall);
    assert_eq!(
        peer.message().await.0,
        "{\"jsonrpc\":\"2.0\",\n\"id\":1,\n\"result\":{}}"
    );
}

#[tokio::test]
async fn a_bad_event_is_reported_and_the_stream_goes_on() {
    let server = Server::start(|seen| {
        vec![
            events(),
            chunk("data: {oops\n\n"),
            chunk(&format!("data: {}\n\n", reply(seen))),
            last_chunk(),
        ]
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.ask(1, Method::ToolsCall);
    assert!(matches!(peer.next().await, Heard::Unreadable(_, Some(1))));
    assert!(peer.message().await.0.contains("result"));
}

#[tokio::test]
async fn a_huge_event_is_capped() {
    let server = Server::start(|_| {
        let mut script = vec![events(), chunk("data: ")];
        script.extend((0..100).map(|_| chunk(&"x".repeat(100))));
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
    peer.ask(1, Method::ToolsCall);
    assert_eq!(
        unknown(&peer.undelivered().await.1),
        "an event is larger than 1000 bytes"
    );
    server
        .until("the hang-up", |server| server.hung_up() == 1)
        .await;
}

#[tokio::test]
async fn a_stream_without_ids_that_ends_is_an_unknown_outcome() {
    let server = Server::start(|_| {
        vec![
            events(),
            chunk(&format!("data: {PROGRESS}\n\n")),
            last_chunk(),
        ]
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.link.speak(Revision::V2025_11_25);
    peer.ask(1, Method::ToolsCall);
    peer.message().await;
    assert!(
        unknown(&peer.undelivered().await.1).contains("the stream ended before the answer came")
    );
    assert_eq!(server.seen().len(), 1);
}

/// The peer has gone without a word.
#[tokio::test]
async fn a_stream_without_ids_that_falls_silent_is_an_unknown_outcome() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Server::start(|_| falling_silent(vec![events()])).await;
        let options = HttpOptions {
            lasting_silence: Duration::from_millis(300),
            ..HttpOptions::default()
        };
        let mut peer = Peer::with(target(&server.url()), options);
        peer.link.speak(revision);
        peer.ask(1, Method::ToolsCall);
        assert!(unknown(&peer.undelivered().await.1).contains("fell silent"));
        server
            .until("the hang-up", |server| server.hung_up() == 1)
            .await;
    }
}

/// Ends the stream of a POST after an id, and answers the GET.
fn resumable(
    get: impl Fn(&str) -> Script + Send + Sync,
) -> impl Fn(&super::server::Seen) -> Script + Send + Sync {
    move |seen| match seen.header("last-event-id") {
        Some(last) if seen.method == "GET" => get(last),
        _ => vec![
            events(),
            chunk(&format!(
                "id: a/1\nretry: 300\ndata: \n\nid: a/2\ndata: {PROGRESS}\n\n"
            )),
            Step::Close,
        ],
    }
}

#[tokio::test]
async fn a_lost_stream_is_resumed_where_it_ended() {
    let reply = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
    let server = Server::start(resumable(move |last| match last {
        "a/2" => vec![
            events(),
            chunk(&format!("id: a/3\ndata: {PROGRESS}\n\n")),
            last_chunk(),
        ],
        "a/3" => vec![
            events(),
            chunk(&format!("id: a/4\ndata: {reply}\n\n")),
            last_chunk(),
        ],
        _ => answer("400 Bad", "", ""),
    }))
    .await;
    let mut peer = Peer::new(&server);
    peer.link.speak(Revision::V2025_11_25);
    let begun = Instant::now();
    peer.ask(1, Method::ToolsCall);
    for _ in 0..2 {
        assert_eq!(peer.message().await, (PROGRESS.into(), Some(1)));
    }
    assert_eq!(peer.message().await, (reply.into(), Some(1)));
    let taken = begun.elapsed();
    assert!(
        taken >= Duration::from_millis(590),
        "the server asked for 300 ms each time: {taken:?}"
    );
    let seen = server.seen();
    assert_eq!(
        seen.iter()
            .map(|seen| seen.method.as_str())
            .collect::<Vec<_>>(),
        ["POST", "GET", "GET"]
    );
    assert_eq!(seen[1].header("accept"), Some("text/event-stream"));
    assert_eq!(seen[1].header("content-type"), None);
    assert_eq!(seen[1].header("mcp-protocol-version"), Some("2025-11-25"));
}

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_is_an_unknown_outcome() {
    let server = Server::start(resumable(|_| answer("405 Method Not Allowed", "", ""))).await;
    let mut peer = Peer::new(&server);
    peer.link.speak(Revision::V2025_11_25);
    peer.ask(1, Method::ToolsCall);
    peer.message().await;
    let (_, why) = peer.undelivered().await;
    assert!(unknown(&why).contains("405"), "{why}");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn the_time_limit_holds_while_resuming() {
    let server = Server::start(resumable(|_| answer("503 Busy", "", ""))).await;
    let mut peer = Peer::new(&server);
    peer.link.speak(Revision::V2025_11_25);
    let begun = Instant::now();
    peer.ask_within(1, Method::ToolsCall, Duration::from_millis(800));
    peer.message().await;
    let (_, why) = peer.undelivered().await;
    assert!(
        matches!(why, switchboard_transport::Undelivered::TimedOut(_)),
        "{why}"
    );
    assert!(begun.elapsed() < Duration::from_secs(2) + LATE);
}

#[tokio::test]
async fn the_modern_era_never_resumes() {
    let server = Server::start(resumable(|_| accepted())).await;
    let mut peer = Peer::new(&server);
    peer.link.speak(Revision::V2026_07_28);
    peer.ask(1, Method::ToolsCall);
    peer.message().await;
    unknown(&peer.undelivered().await.1);
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_large_event_is_counted() {
    let server = Server::start(|seen| {
        let big = reply(seen).replace("{}", &format!("{{\"a\":\"{}\"}}", "z".repeat(100_000)));
        vec![events(), chunk(&format!("data: {big}\n\n")), last_chunk()]
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.ask(1, Method::ToolsCall);
    let Heard::Message(message) = peer.next().await else {
        panic!("no message")
    };
    assert!(peer.budget.used() >= 100_000);
    drop(message);
    assert_eq!(peer.budget.used(), 0);
}

#[tokio::test]
async fn a_json_answer_follows_an_event_stream_on_the_same_connection() {
    let server = Server::start(|seen| {
        if super::server::id(seen).is_multiple_of(2) {
            return json(&reply(seen));
        }
        vec![
            events(),
            chunk(&format!("data: {}\n\n", reply(seen))),
            last_chunk(),
        ]
    })
    .await;
    let mut peer = Peer::new(&server);
    for id in 1..=6 {
        peer.ping(id).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.connections(), 1);
}
