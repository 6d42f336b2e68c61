//! Connections that fail, break, go stale or are cut by us.

use super::{
    peer::{Peer, not_sent, request, target, unknown},
    server::{Server, Step, chunk, events, json, reply},
};
use std::{
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};
use switchboard_transport::{
    SendError, Undelivered, Unsent, dial::NoConnection, http::HttpOptions,
};
use switchboard_wire::Method;
use tokio::{net::TcpListener, sync::Barrier, time::sleep};

#[tokio::test]
async fn refused_and_unknown_hosts_are_not_sent() {
    let unused = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    for (url, text) in [
        (
            format!("http://127.0.0.1:{unused}/mcp"),
            "connection refused",
        ),
        (
            "http://no-such-host.invalid/mcp".into(),
            "no-such-host.invalid",
        ),
        ("ftp://127.0.0.1/mcp".into(), "http:// or https://"),
    ] {
        let mut peer = Peer::with(target(&url), HttpOptions::default());
        peer.ask(1, Method::ToolsCall);
        let (_, why) = peer.undelivered().await;
        assert!(not_sent(&why).contains(text), "{why}");
    }
}

/// What a library user decides by.
#[tokio::test]
async fn a_dial_that_fails_says_what_failed_and_why() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (unused, silence) = (gone.local_addr().unwrap(), silent.local_addr().unwrap());
    drop(gone);
    let options = HttpOptions {
        connect_timeout: Duration::from_millis(700),
        ..HttpOptions::default()
    };
    type Is = fn(&NoConnection) -> bool;
    let cases: [(String, Is, bool); 4] = [
        (
            format!("http://{unused}/mcp"),
            |why| matches!(why, NoConnection::Refused(_)),
            true,
        ),
        (
            "http://no-such-host.invalid/mcp".into(),
            |why| matches!(why, NoConnection::Resolve(_)),
            true,
        ),
        (
            format!("https://{silence}/mcp"),
            |why| matches!(why, NoConnection::TimedOut(_)),
            false,
        ),
        (
            "ftp://127.0.0.1/mcp".into(),
            |why| matches!(why, NoConnection::Scheme),
            false,
        ),
    ];
    for (url, is_it, has_cause) in cases {
        let mut peer = Peer::with(target(&url), options.clone());
        peer.ask(1, Method::ToolsCall);
        let (_, why) = peer.undelivered().await;
        let Undelivered::NotSent(Unsent::NoConnection(fault)) = &why else {
            panic!("{url}: {why:?}");
        };
        assert!(is_it(fault.why()), "{url}: {fault:?}");
        assert!(url.starts_with(fault.place()), "{url}: {fault:?}");
        assert_eq!(fault.source().is_some(), has_cause, "{url}: {fault:?}");
    }
}

#[tokio::test]
async fn tls_that_fails_or_hangs_is_named_and_not_sent() {
    // A server without TLS, and one that never says anything.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = listener.local_addr().unwrap().port();
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let garbage = plain.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = plain.accept().await {
            let _ = tokio::io::AsyncWriteExt::write_all(
                &mut stream,
                b"HTTP/1.1 400 Bad Request\r\n\r\n",
            )
            .await;
            sleep(Duration::from_secs(1)).await;
        }
    });
    for (port, text) in [(garbage, "TLS failed"), (silent, "no connection within")] {
        let options = HttpOptions {
            connect_timeout: Duration::from_millis(700),
            ..HttpOptions::default()
        };
        let mut peer = Peer::with(target(&format!("https://127.0.0.1:{port}/mcp")), options);
        peer.ask(1, Method::ToolsCall);
        let (_, why) = peer.undelivered().await;
        assert!(not_sent(&why).contains(text), "{why}");
    }
}

#[tokio::test]
async fn a_request_that_left_is_never_sent_again() {
    // The first request is answered; the second arrives on the kept connection,
    // which then breaks without an answer.
    let server = Server::start(|seen| {
        if super::server::id(seen) == 1 {
            json(&reply(seen))
        } else {
            vec![Step::Close]
        }
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.ping(1).await;
    peer.ask(2, Method::ToolsCall);
    let (_, why) = peer.undelivered().await;
    assert!(
        unknown(&why).contains("closed the connection before answering"),
        "{why}"
    );
    sleep(Duration::from_millis(100)).await;
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_stale_connection_is_replaced() {
    let server = Server::start(|seen| {
        let mut script = json(&reply(seen));
        script.push(Step::Close);
        script
    })
    .await;
    let mut peer = Peer::new(&server);
    for id in 1..=10 {
        peer.ping(id).await;
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.connections(), 10);
}

#[tokio::test]
async fn as_many_connections_as_were_needed_at_once_wait_a_moment_for_the_next() {
    const AT_ONCE: u64 = 40;
    let others = Arc::new(Barrier::new(AT_ONCE as usize));
    let server = Server::start(move |seen| {
        let mut script = vec![Step::Meet(others.clone())];
        script.extend(json(&reply(seen)));
        script
    })
    .await;
    let options = HttpOptions {
        idle_connections: 4,
        ..HttpOptions::default()
    };
    let mut peer = Peer::with(target(&server.url()), options);
    for round in 0..3 {
        for nth in 0..AT_ONCE {
            peer.ask(round * AT_ONCE + nth, Method::ToolsCall);
        }
        for _ in 0..AT_ONCE {
            peer.message().await;
        }
        assert_eq!(server.connections() as u64, AT_ONCE, "round {round}");
    }
    server
        .until("the end of most of them", |server| server.closed() >= 36)
        .await;
}

#[tokio::test]
async fn an_announced_keep_alive_is_respected() {
    let server = Server::start(|seen| {
        super::server::answer(
            "200 OK",
            "content-type: application/json\r\nkeep-alive: timeout=1\r\n",
            &reply(seen),
        )
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.ping(1).await;
    peer.ping(2).await;
    assert_eq!(
        server.connections(),
        2,
        "a connection that ends within a second is not used again"
    );
}

#[tokio::test]
async fn an_abandoned_request_closes_its_socket_and_says_nothing() {
    for script in [
        vec![Step::Hang],
        vec![events(), chunk(": hi\n\n"), Step::Hang],
    ] {
        let server = Server::start(move |_| script.clone()).await;
        let mut peer = Peer::new(&server);
        peer.ask(1, Method::ToolsCall);
        peer.ask(2, Method::ToolsCall);
        server
            .until("both requests", |server| server.seen().len() == 2)
            .await;
        peer.link.abandon(1);
        server
            .until("one hang-up", |server| server.hung_up() == 1)
            .await;
        peer.silence(Duration::from_millis(100)).await;
        assert_eq!(server.hung_up(), 1, "the other request goes on");
        peer.link.abandon(99);
    }
}

#[tokio::test]
async fn answers_that_are_no_http_are_an_unknown_outcome() {
    let server = Server::start(|_| {
        vec![
            super::server::write("SSH-2.0-OpenSSH_9.0\r\n\r\n"),
            Step::Hang,
        ]
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.ask(1, Method::ToolsCall);
    let (_, why) = peer.undelivered().await;
    assert!(unknown(&why).contains("not HTTP"), "{why}");
}

#[tokio::test]
async fn more_than_the_cap_in_flight_is_refused() {
    let server = Server::start(|_| vec![Step::Hang]).await;
    let peer = Peer::with(
        target(&server.url()),
        HttpOptions {
            in_flight: 3,
            ..HttpOptions::default()
        },
    );
    for id in 1..=3 {
        peer.ask(id, Method::ToolsCall);
    }
    let full = peer
        .link
        .send(request(4, Method::ToolsCall, Duration::from_secs(5)));
    assert!(matches!(full, Err(SendError::Full(_))), "{full:?}");
    peer.link.abandon(2);
    peer.ask(4, Method::ToolsCall);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_get_their_own_answers() {
    let server = Server::start(|seen| {
        let mut script = vec![Step::Wait(Duration::from_millis(
            super::server::id(seen) % 7,
        ))];
        script.extend(json(&reply(seen)));
        script
    })
    .await;
    let mut peer = Peer::new(&server);
    let begun = Instant::now();
    for round in 0..10u64 {
        for id in 1..=100 {
            peer.ask(round * 100 + id, Method::ToolsCall);
        }
        for _ in 0..100 {
            let (text, during) = peer.message().await;
            assert!(
                text.contains(&format!("\"id\":{},", during.unwrap())),
                "{text} {during:?}"
            );
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(
        server.connections() <= 130,
        "connections are kept: {}",
        server.connections()
    );
}
