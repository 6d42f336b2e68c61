//! Statuses that are no success: errors, sign-in, expired sessions, redirects.

use super::{
    peer::{Peer, request, status, target},
    server::{Seen, Server, accepted, answer, id, json, reply},
};
use http::{HeaderMap, HeaderValue, header};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use switchboard_transport::{
    Undelivered,
    http::{Asking, Authorize, BoxFuture, HttpOptions, HttpTarget, Refusal, Withheld},
};
use switchboard_wire::{Method, Revision};

const JSON: &str = "content-type: application/json\r\n";

#[tokio::test]
async fn an_error_reply_is_the_answer_whatever_the_status() {
    for status in [
        "400 Bad Request",
        "404 Not Found",
        "500 Oops",
        "403 Forbidden",
    ] {
        let server = Server::start(move |seen| {
            answer(status, JSON, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{{\"code\":-32601,\"message\":\"no\"}}}}", id(seen)))
        })
        .await;
        let mut peer = Peer::new(&server);
        peer.ask(1, Method::Discover);
        assert!(peer.message().await.0.contains("-32601"));
        peer.silence(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn an_error_without_an_id_is_the_answer_to_its_request() {
    let server = Server::start(|_| {
        answer(
            "400 Bad Request",
            JSON,
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"bad\"}}",
        )
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.ask(1, Method::Discover);
    let (text, during) = peer.message().await;
    assert!(text.contains("-32000") && during == Some(1));
    // Nothing else is said of it.
    peer.ask(2, Method::Discover);
    let (text, during) = peer.message().await;
    assert!(text.contains("-32000") && during == Some(2));
}

/// Gives a session, then says that it does not know it.
fn forgetful(seen: &Seen) -> super::server::Script {
    if seen.body.contains("initialize") {
        return answer(
            "200 OK",
            &format!("{JSON}Mcp-Session-Id: s-1\r\n"),
            &reply(seen),
        );
    }
    match seen.header("mcp-session-id") {
        Some(_) if seen.body.contains("ping") => answer(
            "404 Not Found",
            JSON,
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32001,\"message\":\"Session not found\"}}",
        ),
        _ => answer("404 Not Found", "", ""),
    }
}

#[tokio::test]
async fn a_404_with_a_session_means_it_expired() {
    let server = Server::start(forgetful).await;
    let mut peer = Peer::new(&server);
    peer.ask(1, Method::Initialize);
    peer.message().await;
    peer.link.speak(Revision::V2025_06_18);
    assert_eq!(peer.link.session().as_deref(), Some("s-1"));
    for (id, method) in [(2, Method::Ping), (3, Method::ToolsCall)] {
        peer.ask(id, method);
        let (_, why) = peer.undelivered().await;
        assert!(matches!(why, Undelivered::SessionExpired), "{why}");
    }
    assert_eq!(server.seen()[1].header("mcp-session-id"), Some("s-1"));
    assert_eq!(
        server.seen()[1].header("mcp-protocol-version"),
        Some("2025-06-18")
    );

    peer.link.forget_session();
    peer.ask(4, Method::ToolsCall);
    assert_eq!(status(&peer.undelivered().await.1).0, 404);
    assert_eq!(server.seen()[3].header("mcp-session-id"), None);

    peer.ask(5, Method::Initialize);
    peer.message().await;
    assert_eq!(
        server.seen()[4].header("mcp-protocol-version"),
        None,
        "initialize begins anew"
    );
    assert_eq!(peer.link.session().as_deref(), Some("s-1"));
}

#[tokio::test]
async fn without_credentials_the_challenge_is_reported() {
    let server = Server::start(|_| {
        answer(
            "401 Unauthorized",
            "WWW-Authenticate: Bearer resource_metadata=\"x\"\r\n",
            "",
        )
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.ask(1, Method::Discover);
    match peer.undelivered().await.1 {
        Undelivered::NeedsAuth {
            status: 401,
            challenge,
        } => {
            assert_eq!(challenge.as_deref(), Some("Bearer resource_metadata=\"x\""));
        }
        other => panic!("{other:?}"),
    }
}

/// Has a new token after each challenge.
#[derive(Default)]
struct Tokens {
    challenges: AtomicUsize,
}

impl Authorize for Tokens {
    fn headers<'a>(&'a self, _: &'a Asking<'a>) -> BoxFuture<'a, Result<HeaderMap, Withheld>> {
        Box::pin(async {
            let mut headers = HeaderMap::new();
            let token = format!("Bearer t{}", self.challenges.load(Ordering::Relaxed));
            headers.insert(header::AUTHORIZATION, HeaderValue::try_from(token).unwrap());
            headers.insert(header::ACCEPT, HeaderValue::from_static("text/html"));
            Ok(headers)
        })
    }

    fn challenged<'a>(&'a self, refusal: &'a Refusal<'a>) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            assert_eq!(refusal.status, 401);
            assert_eq!(refusal.headers[header::WWW_AUTHENTICATE], "Bearer");
            let sent = format!("Bearer t{}", self.challenges.load(Ordering::Relaxed));
            assert_eq!(refusal.credentials[header::AUTHORIZATION], sent.as_str());
            let first = refusal.times == 1;
            self.challenges.fetch_add(1, Ordering::Relaxed);
            first
        })
    }
}

#[tokio::test]
async fn a_challenge_is_answered_once_with_new_credentials() {
    for good in ["Bearer t1", "Bearer never"] {
        let server = Server::start(move |seen| match seen.header("authorization") {
            Some(token) if token == good => json(&reply(seen)),
            _ => answer(
                "401 Unauthorized",
                "WWW-Authenticate: Bearer\r\n",
                "go away",
            ),
        })
        .await;
        let target = HttpTarget {
            authorize: Some(Arc::new(Tokens::default())),
            ..target(&server.url())
        };
        let mut peer = Peer::with(target, HttpOptions::default());
        peer.ask(1, Method::ToolsCall);
        if good == "Bearer t1" {
            assert!(peer.message().await.0.contains("result"));
        } else {
            let (_, why) = peer.undelivered().await;
            assert!(
                matches!(why, Undelivered::NeedsAuth { status: 401, .. }),
                "{why}"
            );
        }
        let tokens: Vec<_> = server
            .seen()
            .iter()
            .map(|seen| seen.header("authorization").unwrap().to_owned())
            .collect();
        assert_eq!(tokens, ["Bearer t0", "Bearer t1"]);
        assert_eq!(
            server.seen()[0].header("accept"),
            Some("application/json, text/event-stream")
        );
    }
}

/// Cannot sign in.
struct NoTokens;

impl Authorize for NoTokens {
    fn headers<'a>(&'a self, _: &'a Asking<'a>) -> BoxFuture<'a, Result<HeaderMap, Withheld>> {
        Box::pin(async { Err(Withheld::Failed("not signed in".into())) })
    }

    fn challenged<'a>(&'a self, _: &'a Refusal<'a>) -> BoxFuture<'a, bool> {
        Box::pin(async { false })
    }
}

#[tokio::test]
async fn without_a_token_nothing_is_sent() {
    let server = Server::start(|seen| json(&reply(seen))).await;
    let target = HttpTarget {
        authorize: Some(Arc::new(NoTokens)),
        ..target(&server.url())
    };
    let mut peer = Peer::with(target, HttpOptions::default());
    peer.ask(1, Method::ToolsCall);
    assert_eq!(
        super::peer::not_sent(&peer.undelivered().await.1),
        "not signed in"
    );
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed_with_the_body() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/mcp" => answer("308 Permanent Redirect", "Location: /mcp/\r\n", "moved"),
        "/mcp/" => answer("307 Temporary Redirect", "Location: /v1/mcp?x=1\r\n", ""),
        _ => json(&reply(seen)),
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.ping(1).await;
    peer.ping(2).await;
    let paths: Vec<_> = server.seen().iter().map(|seen| seen.path.clone()).collect();
    assert_eq!(
        paths,
        ["/mcp", "/mcp/", "/v1/mcp?x=1", "/mcp/", "/v1/mcp?x=1"]
    );
    assert!(
        server
            .seen()
            .iter()
            .all(|seen| seen.body.contains("ping") && seen.method == "POST")
    );
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn no_other_redirect_is_followed() {
    let elsewhere = Server::start(|_| accepted()).await;
    let off = format!("Location: {}\r\n", elsewhere.url());
    let off_by_host = format!("Location: http://localhost:{}/mcp\r\n", elsewhere.port());
    for (code, location, text) in [
        ("307 T", off.as_str(), "another origin"),
        ("308 P", off_by_host.as_str(), "another origin"),
        ("307 T", "Location: //127.0.0.1:1/\r\n", "another origin"),
        ("307 T", "Location: ftp://x/\r\n", "another origin"),
        ("307 T", "Location: /loop\r\n", "more than 5 redirects"),
        ("307 T", "", "without a Location"),
        ("302 Found", "Location: /elsewhere\r\n", "redirect"),
        ("303 See Other", off.as_str(), "redirect"),
    ] {
        let (code_, location_) = (code.to_owned(), location.to_owned());
        let server = Server::start(move |_| {
            answer(
                &code_,
                &format!("content-type: text/html\r\n{location_}"),
                "",
            )
        })
        .await;
        let mut headers = HeaderMap::new();
        headers.insert(
            header::AUTHORIZATION,
            HeaderValue::from_static("Bearer canary"),
        );
        let mut peer = Peer::with(
            HttpTarget {
                headers,
                ..target(&server.url())
            },
            HttpOptions::default(),
        );
        peer.ask(1, Method::ToolsCall);
        let (_, why) = peer.undelivered().await;
        let (_, shown) = status(&why);
        assert!(shown.contains(text), "{code} {location}: {shown}");
        assert!(server.seen().len() <= 6);
    }
    assert!(elsewhere.seen().is_empty());
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn a_notification_that_is_refused_disturbs_nothing() {
    let server = Server::start(|seen| {
        if seen.body.contains("\"id\"") {
            json(&reply(seen))
        } else {
            answer(
                "400 Bad",
                JSON,
                "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"\"}}",
            )
        }
    })
    .await;
    let mut peer = Peer::new(&server);
    peer.tell("notifications/cancelled");
    server
        .until("the notification", |server| server.seen().len() == 1)
        .await;
    peer.link
        .send(request(1, Method::Ping, Duration::from_secs(5)))
        .unwrap();
    assert!(peer.message().await.0.contains("result"));
}

/// Knows that somebody has to sign in first.
struct Shut;

impl Authorize for Shut {
    fn headers<'a>(&'a self, _: &'a Asking<'a>) -> BoxFuture<'a, Result<HeaderMap, Withheld>> {
        Box::pin(async { Err(Withheld::SignIn) })
    }

    fn challenged<'a>(&'a self, _: &'a Refusal<'a>) -> BoxFuture<'a, bool> {
        Box::pin(async { false })
    }
}

#[tokio::test]
async fn a_server_known_to_refuse_is_not_asked() {
    let server = Server::start(|seen| json(&reply(seen))).await;
    let target = HttpTarget {
        authorize: Some(Arc::new(Shut)),
        ..target(&server.url())
    };
    let mut peer = Peer::with(target, HttpOptions::default());
    peer.ask(1, Method::ToolsList);
    assert!(matches!(
        peer.undelivered().await,
        (1, Undelivered::NeedsAuth { status: 401, .. })
    ));
    assert_eq!(server.seen().len(), 0);
}
