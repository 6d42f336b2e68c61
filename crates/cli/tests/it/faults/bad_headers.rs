//! Bad headers over HTTP: addresses, tokens, headers that disagree with the
//! body. The next good request on the same connection is served.

use crate::support::{
    bad::{JSON, code, gateway, initialize, session, still_serves},
    wire::{self, Wire},
};
use serde_json::{Value, json};
use switchboard_testkit::world::{self, Gateway, command, echo, http, servers};
use switchboard_testkit::{LEGACY, MODERN, record, with_meta};

#[tokio::test]
async fn hosts_and_origins() {
    let gateway = gateway().await;
    let (mut wire, _) = session(&gateway, LEGACY).await;
    let hello = initialize();
    for (what, header) in [
        ("a rebound name", ("host", "evil.example")),
        (
            "a rebound name with our port",
            ("host", "evil.example:3700"),
        ),
        (
            "a name that starts like ours",
            ("host", "localhost.evil.example"),
        ),
        ("a foreign page", ("origin", "https://evil.example")),
        ("a page without an origin", ("origin", "null")),
        (
            "an origin with our name inside",
            ("origin", "http://localhost.evil.example"),
        ),
        (
            "a page of ours over another scheme",
            ("origin", "file://localhost"),
        ),
    ] {
        for (path, verb) in [
            ("/mcp/echo", "POST"),
            ("/mcp", "GET"),
            ("/healthz", "GET"),
            ("/nowhere", "GET"),
        ] {
            let answer = wire
                .send(verb, path, &[JSON, header], hello.as_bytes())
                .await;
            assert_eq!(
                (answer.status, code(&answer)),
                (403, -32600),
                "{what} {path}: {answer:?}"
            );
        }
        still_serves(&mut wire, what).await;
    }
    for origin in [
        "http://localhost",
        "http://127.0.0.1:9999",
        "http://[::1]:1",
    ] {
        let answer = wire
            .post("/mcp/echo", &[JSON, ("origin", origin)], &hello)
            .await;
        assert_eq!(answer.status, 200, "{origin}: {answer:?}");
    }
}

#[tokio::test]
async fn tokens() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("alice");
    let secret = "correct-horse-battery-staple-0123456789";
    std::fs::write(&file, secret).unwrap();
    wire::private(&file);
    let launch = world::switchboard()
        .args(["serve", "--http", "127.0.0.1:0", "--token-file"])
        .arg(&file)
        .args([
            "--strict-mcp-config",
            "--mcp-config",
            &world::config(&servers([("echo", echo(&[]))])),
        ]);
    let gateway = Gateway::launch(launch).await;
    let mut wire = Wire::new(gateway.authority()).await;
    let right = format!("Bearer {secret}");
    let almost = format!("Bearer {}", &secret[1..]);
    let longer = format!("Bearer {secret}x");
    let basic = format!("Basic {secret}");
    for wrong in [
        "", "Bearer", "Bearer ", "Bearer x", &almost, &longer, &basic, secret,
    ] {
        for (verb, path) in [
            ("POST", "/mcp/echo"),
            ("POST", "/mcp"),
            ("GET", "/mcp/echo"),
            ("DELETE", "/mcp"),
            ("POST", "/nowhere"),
        ] {
            let mut headers = vec![JSON];
            if !wrong.is_empty() {
                headers.push(("authorization", wrong));
            }
            let answer = wire
                .send(verb, path, &headers, initialize().as_bytes())
                .await;
            assert_eq!(answer.status, 401, "{wrong:?} {verb} {path}: {answer:?}");
            let challenge = answer.header("www-authenticate").unwrap_or_default();
            assert!(challenge.starts_with("Bearer"), "{answer:?}");
        }
        let good = [JSON, ("authorization", right.as_str())];
        let answer = wire.post("/mcp/echo", &good, &initialize()).await;
        assert_eq!(answer.status, 200, "after {wrong:?}: {answer:?}");
        assert!(!wire.reconnected, "after {wrong:?}");
    }
    // Whoever is on the way may have looked at the other one.
    let right = ("authorization", right.as_str());
    let session = ("mcp-session-id", "one");
    for twice in [[right, right], [right, ("authorization", "Bearer x")]] {
        let headers = [&[JSON][..], &twice[..]].concat();
        let answer = wire.post("/mcp/echo", &headers, &initialize()).await;
        assert_eq!(answer.status, 400, "{answer:?}");
    }
    let headers = [JSON, right, session, ("mcp-session-id", "two")];
    let answer = wire.post("/mcp/echo", &headers, &initialize()).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    let query = format!("/mcp/echo?access_token={secret}");
    assert_eq!(wire.post(&query, &[JSON], &initialize()).await.status, 401);
    assert_eq!(wire.send("GET", "/healthz", &[], b"").await.status, 200);
    assert!(
        !gateway.program.stderr().contains(secret),
        "the token is in the log"
    );
}

/// Fault 21: a header that disagrees with the body, and the server hears nothing.
#[tokio::test]
async fn headers_that_disagree() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("record").to_string_lossy().into_owned();
    let recorder = command("recorder", ["--stdio", "--record", &out]);
    let gateway = Gateway::start(&servers([("rec", recorder)])).await;
    let mut wire = Wire::new(gateway.authority()).await;
    let call = |name: &str| {
        let params = with_meta(json!({"name": name, "arguments": {}}));
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}).to_string()
    };
    let good = [
        JSON,
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", "odd"),
    ];
    wire.post("/mcp/rec", &good, &call("odd")).await;
    let before = calls(&out);
    assert_eq!(before, 1, "the good one arrived");
    let with = |name: &'static str, value: &'static str| {
        let mut headers = good.to_vec();
        headers.retain(|(other, _)| *other != name);
        headers.push((name, value));
        headers
    };
    let without = |name: &str| {
        let mut headers = good.to_vec();
        headers.retain(|(other, _)| *other != name);
        headers
    };
    let twice =
        |name: &'static str, value: &'static str| [good.to_vec(), vec![(name, value)]].concat();
    for (what, headers) in [
        ("another method", with("mcp-method", "tools/list")),
        ("no method", without("mcp-method")),
        ("two methods", twice("mcp-method", "tools/call")),
        ("another name", with("mcp-name", "even")),
        ("no name", without("mcp-name")),
        ("two names", twice("mcp-name", "odd")),
        ("a name in bad base64", with("mcp-name", "=?base64?!!?=")),
        (
            "another name in base64",
            with("mcp-name", "=?base64?ZXZlbg==?="),
        ),
        (
            "another version",
            with("mcp-protocol-version", "2025-11-25"),
        ),
        ("no version", without("mcp-protocol-version")),
        ("two versions", twice("mcp-protocol-version", MODERN)),
    ] {
        let answer = wire.post("/mcp/rec", &headers, &call("odd")).await;
        assert_eq!(
            (answer.status, code(&answer)),
            (400, -32020),
            "{what}: {answer:?}"
        );
        let answer: Value = answer.json();
        assert_eq!(answer["id"], 5, "{what}");
        assert!(!wire.reconnected, "{what}");
    }
    assert_eq!(calls(&out), before, "the server was called");
    let encoded = with("mcp-name", "=?base64?b2Rk?=");
    wire.post("/mcp/rec", &encoded, &call("odd")).await;
    assert_eq!(calls(&out), before + 1, "base64 of the right name is right");
}

fn calls(record: &str) -> usize {
    let all = record::read(record).unwrap();
    let is_call = |message: &&Vec<u8>| String::from_utf8_lossy(message).contains("\"tools/call\"");
    all.iter().filter(is_call).count()
}

/// What every modern request must carry.
#[tokio::test]
async fn modern_metadata() {
    let gateway = Gateway::launch(http(&servers([("echo", echo(&[]))]))).await;
    let mut wire = Wire::new(gateway.authority()).await;
    let meta = "io.modelcontextprotocol/";
    for (what, params, version, expected) in [
        ("no metadata", json!({}), MODERN, -32602),
        (
            "no capabilities",
            json!({"_meta": {format!("{meta}protocolVersion"): MODERN}}),
            MODERN,
            -32602,
        ),
        (
            "an unknown version",
            json!({"_meta": {format!("{meta}protocolVersion"): "2099-01-01", format!("{meta}clientCapabilities"): {}}}),
            "2099-01-01",
            -32022,
        ),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 6, "method": "tools/list", "params": params});
        let headers = [
            JSON,
            ("mcp-protocol-version", version),
            ("mcp-method", "tools/list"),
        ];
        let answer = wire.post("/mcp/echo", &headers, &body.to_string()).await;
        assert_eq!(
            (answer.status, code(&answer)),
            (400, expected),
            "{what}: {answer:?}"
        );
        if expected == -32022 {
            let supported = answer.json()["error"]["data"]["supported"].to_string();
            assert!(supported.contains(MODERN), "{answer:?}");
        }
        still_serves(&mut wire, what).await;
    }
    let body =
        json!({"jsonrpc": "2.0", "id": 6, "method": "no/such", "params": with_meta(json!({}))});
    let headers = [
        JSON,
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "no/such"),
    ];
    let answer = wire.post("/mcp/echo", &headers, &body.to_string()).await;
    assert_eq!((answer.status, code(&answer)), (404, -32601), "{answer:?}");
    still_serves(&mut wire, "an unknown method").await;
}
