//! What traces may cost, and what they may not say.

use super::{Collector, client, named, sending};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    net::TcpListener,
    time::{Duration, Instant},
};
use switchboard_testkit::world::{World, command, echo, servers, until};
use switchboard_testkit::{HttpClient, LEGACY};

const LONG: Duration = Duration::from_secs(120);

async fn calls(client: &mut HttpClient, count: usize) -> Duration {
    let begun = Instant::now();
    for _ in 0..count {
        let answer = client.call("a__echo", json!({"nonce": "n"})).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    begun.elapsed()
}

/// A collector that is not there, and one that takes what comes and never answers.
#[tokio::test]
async fn a_collector_that_does_not_answer_makes_nobody_wait() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = (silent.local_addr().unwrap(), silent);
    for (address, protocol) in [
        ("127.0.0.1:9".to_owned(), "http/protobuf"),
        ("127.0.0.1:9".to_owned(), "grpc"),
        (silent.0.to_string(), "http/protobuf"),
        (silent.0.to_string(), "grpc"),
    ] {
        let world = World::with(&servers([("a", echo(&[]))]))
            .variable("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}"))
            .variable("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
        let (mut gateway, url) = world.serve(&["--no-auth"]).await;
        let mut client = HttpClient::new(&format!("{url}/mcp")).keep_alive();
        client.initialize(LEGACY).await;
        let first = calls(&mut client, 1).await;
        // One call for each second that sending may take would be far more.
        let rest = calls(&mut client, 300).await;
        assert!(
            rest < LONG,
            "{address} {protocol}: {first:?}, then {rest:?}"
        );
        let begun = Instant::now();
        gateway.signal(Signal::TERM);
        gateway.wait(LONG).await;
        // What is left is given up after a few seconds.
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
    drop(silent);
}

#[tokio::test]
async fn spans_come_over_grpc_too_and_say_who_we_are() {
    let world = World::with(&servers([("a", echo(&[]))]));
    let collector = Collector::start(&world).await;
    world.write_settings(&json!({
        "mcpServers": servers([("a", echo(&[]))]),
        "observe": {"traces": {"endpoint": collector.grpc, "protocol": "grpc", "ratio": 1.0}}
    }));
    let world = world.variable("OTEL_SERVICE_NAME", "the-gate").variable(
        "OTEL_RESOURCE_ATTRIBUTES",
        "deployment.environment.name=a%20test",
    );
    let (mut gateway, url) = world.serve(&["--no-auth"]).await;
    let (trace, _, parent) = client(0x51);
    let mut client = HttpClient::new(&format!("{url}/mcp"));
    client.initialize(LEGACY).await;
    let params =
        json!({"name": "a__echo", "arguments": {"nonce": "n"}, "_meta": {"traceparent": parent}});
    client.request("tools/call", params).await;
    // What is queued is sent at the end, and nobody waits for the usual time.
    gateway.signal(Signal::TERM);
    gateway.wait(LONG).await;
    let all = collector.trace(&trace, 4).await;
    assert_eq!(
        named(&all, "SERVER", "tools/call a__echo").len(),
        1,
        "{all:?}"
    );
    let text = collector.text();
    assert!(text.contains("service.name: Str(the-gate)"), "{text}");
    assert!(
        text.contains("deployment.environment.name: Str(a test)"),
        "{text}"
    );
}

#[tokio::test]
async fn a_refusal_and_a_consent_are_seen() {
    let world = World::new();
    let collector = Collector::start(&world).await;
    let world = sending(world, &collector);
    world.write_settings(&json!({
        "mcpServers": servers([("a", echo(&[]))]),
        "permissions": {"deny": ["mcp__a__sleep"], "ask": ["mcp__a__echo"]}
    }));
    let (_gateway, url) = world.serve(&["--no-auth"]).await;
    let mut http = HttpClient::new(&format!("{url}/mcp"));
    let (denied, _, parent) = client(0x52);
    let params =
        json!({"name": "a__sleep", "arguments": {"ms": 1}, "_meta": {"traceparent": parent}});
    http.modern("tools/call", params).await;
    let all = collector.trace(&denied, 2).await;
    let request = named(&all, "SERVER", "tools/call a__sleep")[0];
    assert_eq!(request.says("error.type"), "not_permitted");
    assert_eq!(request.status, "STATUS_CODE_ERROR");
    assert!(
        named(&all, "CLIENT", "tools/call a__sleep").is_empty(),
        "{all:?}"
    );
    let (asked, _, parent) = client(0x53);
    let mut params =
        json!({"name": "a__echo", "arguments": {"nonce": "n"}, "_meta": {"traceparent": parent}});
    let first = http.modern("tools/call", params.clone()).await.message();
    let result = &first["result"];
    assert_eq!(result["resultType"], "input_required", "{first}");
    let key = result["inputRequests"].as_object().unwrap().keys().next();
    let yes = json!({"action": "accept", "content": {"answer": "yes, this time"}});
    params["inputResponses"] = json!({key.unwrap(): yes});
    params["requestState"] = result["requestState"].clone();
    let second = http.modern("tools/call", params).await.message();
    assert_eq!(second["result"]["resultType"], "complete", "{second}");
    let all = collector.trace(&asked, 6).await;
    let question = named(&all, "CLIENT", "elicitation/create")[0];
    assert_eq!(question.says("switchboard.question"), "consent");
    assert_eq!(question.says("switchboard.answer"), "accept");
    assert_eq!(
        named(&all, "SERVER", "tools/call a__echo").len(),
        2,
        "{all:?}"
    );
    assert_eq!(
        named(&all, "CLIENT", "tools/call a__echo").len(),
        1,
        "{all:?}"
    );
    assert_eq!(named(&all, "INTERNAL", "waiting").len(), 1, "{all:?}");
}

/// Twenty things that nobody is to see.
fn canaries() -> Vec<String> {
    (0..20)
        .map(|n| format!("canary{n:02}-q7w8e9r0t1"))
        .collect()
}

#[tokio::test]
async fn twenty_canaries_are_in_no_trace() {
    let canary = canaries();
    let mut entry = echo(&[]);
    entry["env"] = json!({"SECRET": canary[0], "OTHER": canary[1]});
    let named_so = command("echo-server", ["--stdio", "--name", &canary[2]]);
    let world = World::with(&servers([("a", entry), ("b", named_so)]));
    let collector = Collector::start(&world).await;
    let world = sending(world, &collector)
        .variable("MY_SECRET", &canary[3])
        .variable("OTEL_EXPORTER_OTLP_HEADERS", format!("x-key={}", canary[4]));
    let (_gateway, url) = world.serve(&["--no-auth", "--log", "trace"]).await;
    let mut http = HttpClient::new(&format!("{url}/mcp"));
    http.initialize(LEGACY).await;
    for (at, name) in ["cookie", "x-secret", "baggage", "authorization"]
        .iter()
        .enumerate()
    {
        let value = format!("k={}", canary[5 + at]);
        http = http.header(name, &value);
    }
    http.call("a__echo", json!({"nonce": canary[9]})).await;
    http.call("b__echo", json!({"nonce": {"deep": canary[10]}}))
        .await;
    http.call("a__echo", json!({&canary[11]: canary[12]})).await;
    http.call("a__echo", Value::String(canary[13].clone()))
        .await;
    let meta = json!({"x": canary[14], "baggage": format!("k={}", canary[15])});
    let params = json!({"name": "a__echo", "arguments": {"nonce": "n"}, "_meta": meta});
    http.request("tools/call", params).await;
    let unreadable = json!({"traceparent": canary[16], "tracestate": canary[17]});
    let params = json!({"name": "a__echo", "arguments": {"nonce": "n"}, "_meta": unreadable});
    http.request("tools/call", params).await;
    let address = format!(
        "https://user:{}@example.com/?token={}",
        canary[18], canary[19]
    );
    http.request("resources/read", json!({"uri": address}))
        .await;
    let (trace, _, parent) = client(0x54);
    let params =
        json!({"name": "a__echo", "arguments": {"nonce": "n"}, "_meta": {"traceparent": parent}});
    http.request("tools/call", params).await;
    let all = collector.trace(&trace, 4).await;
    assert_eq!(all.len(), 4);
    let came = until(LONG, || {
        let text = collector.text();
        text.contains("Name           : resources/read")
            .then_some(text)
    });
    let text = came.await.expect("all have come");
    for canary in &canary {
        assert!(!text.contains(canary.as_str()), "{canary} in:\n{text}");
    }
}
