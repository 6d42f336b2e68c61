use super::ear::{Heard, Peer, reply, request, target};
use futures_util::{SinkExt, StreamExt};
use http::HeaderValue;
use std::{sync::Arc, time::Duration};
use switchboard_testkit::LATE;
use switchboard_transport::{
    Budget, Link, SendError, Undelivered,
    ws::{WsLink, WsOptions},
};
use switchboard_wire::{Method, Payload, Revision};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Message,
        handshake::server::{ErrorResponse, Request, Response},
    },
};

type Socket = WebSocketStream<TcpStream>;

/// A server that does this with its first connections; gives its address.
async fn server<F>(serve: impl Fn(Socket) -> F + Send + Sync + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/mcp?x=1", listener.local_addr().unwrap());
    let serve = Arc::new(serve);
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let serve = serve.clone();
            tokio::spawn(async move {
                #[expect(clippy::result_large_err, reason = "the library's callback")]
                let greet = |request: &Request, mut response: Response| {
                    assert_eq!(request.uri().to_string(), "/mcp?x=1");
                    assert_eq!(request.headers()["sec-websocket-protocol"], "mcp");
                    if request
                        .headers()
                        .get("authorization")
                        .is_some_and(|v| v == "bad")
                    {
                        let mut refusal = ErrorResponse::new(Some("sign in".into()));
                        *refusal.status_mut() = http::StatusCode::UNAUTHORIZED;
                        let realm = HeaderValue::from_static("Bearer realm=\"x\"");
                        refusal.headers_mut().insert("www-authenticate", realm);
                        return Err(refusal);
                    }
                    let mcp = HeaderValue::from_static("mcp");
                    response.headers_mut().insert("sec-websocket-protocol", mcp);
                    Ok(response)
                };
                if let Ok(socket) = accept_hdr_async(socket, greet).await {
                    serve(socket).await;
                }
            });
        }
    });
    url
}

/// Answers every request.
async fn answer(mut socket: Socket) {
    while let Some(Ok(message)) = socket.next().await {
        if let Message::Text(text) = message {
            socket.send(Message::text(reply(&text))).await.unwrap();
        }
    }
}

fn peer(url: &str, options: WsOptions) -> Peer {
    let target = target(url);
    Peer::new(|ear| Link::Ws(WsLink::new(target, options, Budget::default(), ear)))
}

#[tokio::test]
async fn requests_and_replies() {
    let url = server(answer).await;
    let mut peer = peer(&url, WsOptions::default());
    // Sent before the connection stands, in this order.
    peer.ask(1, Method::Ping);
    peer.ask(2, Method::Ping);
    assert!(peer.message().await.contains("\"id\":1"));
    assert!(peer.message().await.contains("\"id\":2"));
    peer.ping(3).await;
    peer.link.close().await;
    assert!(matches!(
        peer.link.send(request(4, Method::Ping)),
        Err(SendError::Closed)
    ));
}

#[tokio::test]
async fn headers_and_a_challenge() {
    let url = server(answer).await;
    let mut bad = target(&url);
    bad.headers.insert("authorization", "bad".parse().unwrap());
    let mut peer = Peer::new(|ear| {
        Link::Ws(WsLink::new(
            bad,
            WsOptions::default(),
            Budget::default(),
            ear,
        ))
    });
    peer.ask(1, Method::Ping);
    match peer.next().await {
        Heard::Undelivered(
            1,
            Undelivered::NeedsAuth {
                status: 401,
                challenge,
            },
        ) => {
            assert_eq!(challenge.as_deref(), Some("Bearer realm=\"x\""));
        }
        other => panic!("{other:?}"),
    }
    peer.closed().await;
}

#[tokio::test]
async fn nobody_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    drop(listener);
    let mut peer = peer(&url, WsOptions::default());
    peer.ask(1, Method::Ping);
    assert!(matches!(
        peer.next().await,
        Heard::Undelivered(1, Undelivered::NotSent(why)) if why.to_string().contains("connection refused")
    ));
    assert!(peer.closed().await.contains("connection refused"));
}

#[tokio::test]
async fn the_server_closes_with_a_reason() {
    let url = server(|mut socket| async move {
        let _ = socket.next().await;
        let code = tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode::Away;
        let frame = tokio_tungstenite::tungstenite::protocol::CloseFrame {
            code,
            reason: "maintenance".into(),
        };
        let _ = socket.close(Some(frame)).await;
        while let Some(Ok(_)) = socket.next().await {}
    })
    .await;
    let mut peer = peer(&url, WsOptions::default());
    peer.ask(1, Method::Ping);
    assert!(peer.closed().await.contains("1001: maintenance"));
}

#[tokio::test]
async fn a_server_that_does_not_pong_is_gone() {
    // It reads nothing at all, so that no pong is ever sent.
    let url = server(|socket| async move {
        tokio::time::sleep(Duration::from_secs(20)).await;
        drop(socket);
    })
    .await;
    let options = WsOptions {
        ping_every: Duration::from_millis(100),
        silence: Duration::from_millis(300),
        ..WsOptions::default()
    };
    let mut peer = peer(&url, options);
    let begun = std::time::Instant::now();
    assert!(peer.closed().await.contains("nothing was heard for 300ms"));
    assert!(begun.elapsed() < Duration::from_secs(2) + LATE);
}

#[tokio::test]
async fn pings_keep_a_quiet_connection() {
    let url = server(answer).await;
    let options = WsOptions {
        ping_every: Duration::from_millis(50),
        silence: Duration::from_millis(200),
        ..WsOptions::default()
    };
    let mut peer = peer(&url, options);
    tokio::time::sleep(Duration::from_millis(800)).await;
    peer.ping(1).await;
}

#[tokio::test]
async fn large_messages_both_ways_at_once() {
    let big = "x".repeat(6 * 1024 * 1024);
    let text = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"d\":\"{big}\"}}}}"
    );
    let theirs = text.clone();
    let url = server(move |mut socket| {
        let theirs = theirs.clone();
        async move {
            // Writes much before it reads anything.
            for _ in 0..3 {
                socket.feed(Message::text(theirs.clone())).await.unwrap();
            }
            socket.flush().await.unwrap();
            answer(socket).await;
        }
    })
    .await;
    let mut peer = peer(&url, WsOptions::default());
    for _ in 0..3 {
        peer.link
            .send(switchboard_transport::Outgoing {
                payload: Payload::from(text.replace("\"method\"", "\"id\":9,\"method\"")),
                about: switchboard_transport::About::Notification,
            })
            .unwrap();
    }
    for _ in 0..3 {
        assert_eq!(peer.message().await.len(), text.len());
    }
    for _ in 0..3 {
        assert!(peer.message().await.contains("\"id\":9"));
    }
}

#[tokio::test]
async fn batches_where_the_revision_has_them() {
    let url = server(|mut socket| async move {
        while let Some(Ok(Message::Text(text))) = socket.next().await {
            let batch = format!(
                "[{},{{\"jsonrpc\":\"2.0\",\"method\":\"m\"}}]",
                reply(&text)
            );
            socket.send(Message::text(batch)).await.unwrap();
        }
    })
    .await;
    let mut peer = peer(&url, WsOptions::default());
    peer.ask(1, Method::Ping);
    assert!(matches!(peer.next().await, Heard::Unreadable(_)));
    peer.link.speak(Revision::V2025_03_26);
    peer.ask(2, Method::Ping);
    assert!(peer.message().await.contains("\"id\":2"));
    assert!(peer.message().await.contains("\"m\""));
}
