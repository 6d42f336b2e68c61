//! Bad input over HTTP: each the right status and JSON-RPC error, and the next
//! good request on the same connection is served.

use crate::support::{
    bad::{JSON, code, gateway, initialize, session, still_serves},
    wire::Wire,
};
use switchboard_testkit::world;
use switchboard_testkit::{LEGACY, MODERN};

#[tokio::test]
async fn bodies_that_are_no_message() {
    let gateway = gateway().await;
    let (mut wire, id) = session(&gateway, LEGACY).await;
    let headers = [JSON, ("mcp-session-id", id.as_str())];
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let long_id = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"ping\"}}",
        "i".repeat(1 << 20)
    );
    let cases: [(&str, &str, i64); 17] = [
        ("nothing", "", -32700),
        ("not JSON", "hello", -32700),
        ("half", "{\"jsonrpc\":\"2.0\",\"id\":1", -32700),
        (
            "two messages",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} {}",
            -32700,
        ),
        ("a number", "42", -32600),
        ("null", "null", -32600),
        ("an empty object", "{}", -32600),
        (
            "another JSON-RPC",
            "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
            -32600,
        ),
        ("no jsonrpc", "{\"id\":1,\"method\":\"ping\"}", -32600),
        (
            "a method that is no text",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}",
            -32600,
        ),
        (
            "an id that is an object",
            "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
            -32600,
        ),
        (
            "an id that is null",
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
            -32600,
        ),
        ("an id of 1 MiB", &long_id, -32600),
        (
            "two methods",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"meth\\u006fd\":\"tools/call\"}",
            -32600,
        ),
        (
            "two names",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"name\":\"b\"}}",
            -32602,
        ),
        ("100,000 levels", &deep, -32700),
        (
            "params that are text",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":\"x\"}",
            -32600,
        ),
    ];
    for (what, body, expected) in cases {
        let answer = wire.post("/mcp/echo", &headers, body).await;
        assert_eq!(answer.status, 400, "{what}: {answer:?}");
        let found = code(&answer);
        let both = [-32600, -32700].contains(&found) && what == "100,000 levels";
        let params = [-32600, -32602].contains(&found) && expected == -32602;
        let fits = found == expected
            || both
            || params
            || (what == "params that are text" && found == -32602);
        assert!(fits, "{what}: {answer:?}");
        assert_eq!(answer.json()["jsonrpc"], "2.0", "{what}");
        still_serves(&mut wire, what).await;
    }
    for (what, body) in [
        (
            "invalid UTF-8",
            &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xffng\"}"[..],
        ),
        (
            "a NUL",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\0\"}",
        ),
        (
            "a lone continuation byte in a value",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\x80\"}}",
        ),
    ] {
        let answer = wire.send("POST", "/mcp/echo", &headers, body).await;
        assert_eq!(
            (answer.status, code(&answer)),
            (400, -32700),
            "{what}: {answer:?}"
        );
        still_serves(&mut wire, what).await;
    }
}

#[tokio::test]
async fn sessions_and_versions() {
    let gateway = gateway().await;
    let (mut wire, id) = session(&gateway, LEGACY).await;
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let unknown = "0123456789abcdef0123456789abcdef";
    let cases = [
        ("no session", vec![JSON], 400),
        (
            "an unknown session",
            vec![JSON, ("mcp-session-id", unknown)],
            404,
        ),
        (
            "a session that is no text",
            vec![JSON, ("mcp-session-id", "\u{e9}")],
            404,
        ),
        (
            "an unknown version",
            vec![
                JSON,
                ("mcp-session-id", &id),
                ("mcp-protocol-version", "1999-01-01"),
            ],
            400,
        ),
        (
            "a version that is none",
            vec![
                JSON,
                ("mcp-session-id", &id),
                ("mcp-protocol-version", "newest"),
            ],
            400,
        ),
    ];
    for (what, headers, status) in cases {
        let answer = wire.post("/mcp/echo", &headers, ping).await;
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        let expected = if status == 404 { -32001 } else { -32600 };
        assert_eq!(code(&answer), expected, "{what}: {answer:?}");
        assert_eq!(answer.json()["id"], 2, "{what}");
        still_serves(&mut wire, what).await;
    }
    // A session belongs to the path where it was opened.
    let own = [JSON, ("mcp-session-id", id.as_str())];
    for path in ["/mcp", "/mcp/other"] {
        let answer = wire.post(path, &own, ping).await;
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
    }
    assert_eq!(wire.post("/mcp/echo", &own, ping).await.status, 200);
    // It ends once.
    assert_eq!(
        wire.send("DELETE", "/mcp/echo", &own, b"").await.status,
        200
    );
    assert_eq!(
        wire.send("DELETE", "/mcp/echo", &own, b"").await.status,
        404
    );
    assert_eq!(wire.post("/mcp/echo", &own, ping).await.status, 404);
    still_serves(&mut wire, "DELETE").await;
}

#[tokio::test]
async fn verbs_types_and_paths() {
    let gateway = gateway().await;
    let (mut wire, id) = session(&gateway, LEGACY).await;
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let own = ("mcp-session-id", id.as_str());
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "",
        "application/jsonp",
    ] {
        let answer = wire
            .post("/mcp/echo", &[("content-type", kind), own], ping)
            .await;
        assert_eq!(
            (answer.status, code(&answer)),
            (415, -32600),
            "{kind}: {answer:?}"
        );
        still_serves(&mut wire, kind).await;
    }
    let charset = ("content-type", "application/json; charset=utf-8");
    assert_eq!(
        wire.post("/mcp/echo", &[charset, own], ping).await.status,
        200
    );
    for path in [
        "/mcp/nobody",
        "/mcp/echo/more",
        "/mcpx",
        "/mcp/..%2fecho",
        "/mcp/%65cho",
        "//mcp",
    ] {
        let answer = wire.post(path, &[JSON, own], ping).await;
        assert_eq!(
            (answer.status, code(&answer)),
            (404, -32600),
            "{path}: {answer:?}"
        );
        still_serves(&mut wire, path).await;
    }
    // There the page is, which is read and nothing else.
    assert_eq!(wire.post("/", &[JSON, own], ping).await.status, 405);
    let events = ("accept", "text/event-stream");
    for (what, verb, headers, status) in [
        ("GET without a session", "GET", vec![events], 405),
        (
            "GET of an unknown session",
            "GET",
            vec![events, ("mcp-session-id", "nobody")],
            404,
        ),
        (
            "GET that takes no events",
            "GET",
            vec![("accept", "application/json"), own],
            406,
        ),
        ("DELETE without a session", "DELETE", vec![], 405),
        (
            "DELETE of an unknown session",
            "DELETE",
            vec![("mcp-session-id", "nobody")],
            404,
        ),
        ("PUT", "PUT", vec![JSON, own], 405),
        ("OPTIONS", "OPTIONS", vec![], 405),
    ] {
        let answer = wire.send(verb, "/mcp/echo", &headers, b"").await;
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        still_serves(&mut wire, what).await;
    }
    assert_eq!(wire.send("GET", "/healthz", &[], b"").await.status, 200);
}

#[tokio::test]
async fn batches() {
    let gateway = gateway().await;
    let batch =
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    for (version, allowed) in [
        ("2025-11-25", false),
        ("2025-06-18", false),
        ("2025-03-26", true),
    ] {
        let (mut wire, id) = session(&gateway, version).await;
        let headers = [
            JSON,
            ("mcp-session-id", id.as_str()),
            ("mcp-protocol-version", version),
        ];
        let answer = wire.post("/mcp/echo", &headers, batch).await;
        if allowed {
            assert_eq!(answer.status, 200, "{version}: {answer:?}");
            assert_eq!(
                answer.json().as_array().map(Vec::len),
                Some(2),
                "{answer:?}"
            );
        } else {
            assert_eq!(
                (answer.status, code(&answer)),
                (400, -32600),
                "{version}: {answer:?}"
            );
        }
        for (what, body) in [("an empty batch", "[]"), ("a batch of a batch", "[[]]")] {
            let answer = wire.post("/mcp/echo", &headers, body).await;
            let refused = answer.status == 400 || answer.json()[0]["error"]["code"] == -32600;
            assert!(refused, "{what}: {answer:?}");
        }
        still_serves(&mut wire, version).await;
    }
    let mut wire = Wire::new(gateway.authority()).await;
    let headers = [JSON, ("mcp-protocol-version", MODERN)];
    let answer = wire.post("/mcp/echo", &headers, batch).await;
    assert_eq!(
        (answer.status, code(&answer)),
        (400, -32600),
        "modern: {answer:?}"
    );
    still_serves(&mut wire, "modern").await;
}

#[tokio::test]
async fn bodies_that_are_too_large() {
    let gateway = gateway().await;
    // Announced: refused before it is read.
    let mut wire = Wire::new(gateway.authority()).await;
    let most = 33 << 20;
    let answer = wire
        .announce("/mcp/echo", &[JSON], most, b"{\"jsonrpc\":\"2.0\",")
        .await;
    assert_eq!((answer.status, code(&answer)), (413, -32600), "{answer:?}");
    wire.rest(most - 17).await;
    still_serves(&mut wire, "an announced body").await;
    // In chunks: refused when it has become too much.
    let mut wire = Wire::new(gateway.authority()).await;
    let answer = wire
        .chunks("/mcp/echo", &[JSON], &vec![b' '; 1 << 20], 40)
        .await;
    assert_eq!((answer.status, code(&answer)), (413, -32600), "{answer:?}");
    still_serves(&mut wire, "a body in chunks").await;
    // Just below the limit is legal.
    let mut wire = Wire::new(gateway.authority()).await;
    let large = format!("{}{}", initialize(), " ".repeat((32 << 20) - 1000));
    let answer = wire.post("/mcp/echo", &[JSON], &large).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    still_serves(&mut wire, "32 MiB").await;
    // Without an end the connection is not kept for ever.
    let mut wire = Wire::new(gateway.authority()).await;
    let answer = wire.announce("/mcp/echo", &[JSON], 1 << 40, b"{").await;
    assert_eq!((answer.status, code(&answer)), (413, -32600), "{answer:?}");
    assert!(wire.refuses_more_than(200 << 20).await, "it reads for ever");
    let peak = world::peak_mib(gateway.worker().await);
    assert!(peak < 200, "{peak} MiB");
}
