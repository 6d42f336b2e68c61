//! Requests that are not for us, or that guess, are turned away before
//! anything else is looked at.

use crate::support::wire::{Answer, Wire};
use serde_json::json;
use std::time::{Duration, Instant};
use switchboard_testkit::world::{self, Gateway, World};

const UPGRADE: [(&str, &str); 4] = [
    ("connection", "upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

async fn upgrade(gateway: &Gateway, origin: &str) -> Answer {
    let mut headers = UPGRADE.to_vec();
    headers.push(("origin", origin));
    let mut wire = Wire::new(gateway.authority()).await;
    wire.send("GET", "/ws", &headers, b"").await
}

/// Where nobody shows a token, a page of another program on this machine is
/// none of ours: browsers let any page open a WebSocket.
#[tokio::test]
async fn without_tokens_a_page_of_another_port_opens_no_socket() {
    let gateway = Gateway::start(&json!({})).await;
    let port = gateway.authority().rsplit_once(':').unwrap().1;
    for ours in [gateway.url.clone(), format!("http://localhost:{port}")] {
        assert_eq!(upgrade(&gateway, &ours).await.status, 101, "{ours}");
    }
    for other in [
        "http://localhost:1".to_owned(),
        "http://127.0.0.1".to_owned(),
        "https://localhost".to_owned(),
        format!("http://evil.example:{port}"),
        "null".to_owned(),
    ] {
        let answer = upgrade(&gateway, &other).await;
        assert_eq!(answer.status, 403, "{other}: {answer:?}");
    }
    let page = "http://localhost:5173";
    let gateway = Gateway::launch(world::http(&json!({})).args(["--allow-origin", page])).await;
    assert_eq!(upgrade(&gateway, page).await.status, 101);
    assert_eq!(upgrade(&gateway, "http://localhost:5174").await.status, 403);
}

/// What only begins like an address of ours is another's.
#[tokio::test]
async fn a_host_or_origin_is_read_to_its_end() {
    let gateway = Gateway::start(&json!({})).await;
    let ask = async |name: &str, value: &str| {
        let mut wire = Wire::new(gateway.authority()).await;
        wire.send("POST", "/mcp", &[(name, value)], b"{}")
            .await
            .status
    };
    for page in ["http://localhost:1", "http://[::1]:1", "https://127.0.0.1"] {
        assert_ne!(ask("origin", page).await, 403, "{page}");
    }
    for page in [
        "http://[::1].evil.example",
        "http://[::1]@evil.example",
        "http://[::1]:evil.example",
        "http://localhost:80@evil.example",
        "http://localhost:evil.example",
        "http://localhost:80:80",
        "http://localhost:99999",
        "http://localhost:+80",
        "http://[localhost]",
    ] {
        assert_eq!(ask("origin", page).await, 403, "{page}");
    }
}

#[tokio::test]
async fn a_target_that_names_another_host_is_refused() {
    let gateway = Gateway::start(&json!({})).await;
    let ours = gateway.authority().to_owned();
    let port = ours.rsplit_once(':').unwrap().1.to_owned();
    let ask = async |target: String| {
        let mut wire = Wire::new(&ours).await;
        wire.send("GET", &target, &[], b"").await.status
    };
    assert_eq!(ask("/healthz".to_owned()).await, 200);
    assert_eq!(ask(format!("http://{ours}/healthz")).await, 200);
    for other in [
        "http://evil.example/healthz".to_owned(),
        format!("http://evil.example:{port}/healthz"),
        format!("http://localhost:{port}/healthz"),
        "http://127.0.0.1:1/healthz".to_owned(),
        format!("http://user@{ours}/healthz"),
        format!("https://{}/healthz", ours.replace(&port, "443")),
    ] {
        assert_eq!(ask(other.clone()).await, 400, "{other}");
    }
}

#[tokio::test]
async fn wrong_control_tokens_are_counted() {
    let stage = World::with(&json!({}));
    let gateway = stage.gateway().await;
    let url = gateway.url().await;
    let authority = url.strip_prefix("http://").unwrap();
    let guess = async |token: &str| {
        let mut wire = Wire::new(authority).await;
        let shown = format!("Bearer {token}");
        let begun = Instant::now();
        let answer = wire
            .send("GET", "/api/v1/servers", &[("authorization", &shown)], b"")
            .await;
        (answer.status, begun.elapsed())
    };
    // All at once, so that they fall into one window on any machine.
    let mut held_back = 0;
    let guesses = (0..40).map(async |number| guess(&format!("guess-{number}")).await);
    let all = futures_util::future::join_all(guesses);
    for (status, took) in all.await {
        assert_eq!(status, 401);
        held_back += usize::from(took >= Duration::from_millis(250));
    }
    assert!(held_back >= 20, "{held_back} of 40 were held back");
    // Who has the right one is not held up by that.
    let (status, _) = guess(&stage.token("control-token")).await;
    assert_eq!(status, 200);
}
