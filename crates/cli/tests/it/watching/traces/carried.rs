//! Which trace a request is a part of: how clients say it, and how servers are told.

use super::{Collector, client, named, sending};
use crate::support::tap::tap;
use serde_json::{Value, json};
use std::{fs, time::Duration};
use switchboard_testkit::world::{World, config, echo, echo_http, until};
use switchboard_testkit::{HttpClient, LEGACY, bin};

const LONG: Duration = Duration::from_secs(120);

/// What stands between `before` and the next quote or end of line, the last time.
fn after(text: &str, before: &str) -> Option<String> {
    let (_, rest) = text.rsplit_once(before)?;
    let end = rest.find(['"', '\r', '\n']).unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

/// A gateway in front of one server, and a client of either era at it.
struct Here {
    url: String,
    _gateway: switchboard_testkit::Program,
}

impl Here {
    async fn start(world: &World, entry: &Value) -> Self {
        let servers = config(&json!({"e": entry}));
        let args = ["--mcp-config", &servers, "serve", "--only", "e"];
        let launch = world.launch(&args).args(["--http", "127.0.0.1:0"]);
        let gateway = launch.arg("--no-auth").spawn();
        let url = format!("{}/mcp/e", gateway.url().await);
        Self {
            url,
            _gateway: gateway,
        }
    }

    async fn call(&self, modern: bool, headers: &[(&str, &str)], meta: Value) -> Value {
        let mut client = HttpClient::new(&self.url);
        if !modern {
            client.initialize(LEGACY).await;
        }
        for (name, value) in headers {
            client = client.header(name, value);
        }
        let params = json!({"name": "echo", "arguments": {"nonce": "n"}, "_meta": meta});
        let answer = match modern {
            true => client.modern("tools/call", params).await.message(),
            false => client.request("tools/call", params).await,
        };
        assert!(answer["result"].is_object(), "{answer}");
        answer
    }
}

#[tokio::test]
async fn headers_of_a_client_become_headers_of_the_server_and_meta() {
    let world = World::new();
    let collector = Collector::start(&world).await;
    let world = sending(world, &collector);
    let mut number = 0x30;
    for era in ["legacy", "modern"] {
        let server = echo_http(&["--era", era]);
        let url = server.url().await;
        let authority = url.split('/').nth(2).unwrap();
        for (modern, is_given) in [(false, false), (true, false), (false, true), (true, true)] {
            number += 1;
            let (address, seen) = tap(authority).await;
            let entry = json!({"type": "http", "url": url.replace(authority, &address)});
            let baggage_to = if is_given { json!(["e"]) } else { json!([]) };
            world.write_settings(&json!({"observe": {"traces": {"baggageTo": baggage_to}}}));
            let here = Here::start(&world, &entry).await;
            let (trace, span, parent) = client(number);
            let headers = [
                ("traceparent", &*parent),
                ("tracestate", "vendor=some"),
                ("baggage", "user=alice"),
            ];
            here.call(modern, &headers, json!({"kept": 7})).await;
            let all = collector.trace(&trace, 4).await;
            let request = named(&all, "SERVER", "tools/call echo")[0];
            assert_eq!(request.parent, span);
            let exchange = named(&all, "CLIENT", "tools/call echo")[0];
            let ours = format!("00-{trace}-{}-01", exchange.id);
            let text = seen.text();
            assert_eq!(
                after(&text, "\r\ntraceparent: ").as_ref(),
                Some(&ours),
                "{text}"
            );
            assert_eq!(
                after(&text, "\"traceparent\":\"").as_ref(),
                Some(&ours),
                "{text}"
            );
            assert!(text.contains("\r\ntracestate: vendor=some\r\n"), "{text}");
            assert!(text.contains(r#""tracestate":"vendor=some""#), "{text}");
            assert!(text.contains(r#""kept":7"#), "{text}");
            assert_eq!(
                text.contains("\r\nbaggage: user=alice\r\n"),
                is_given,
                "{text}"
            );
            assert_eq!(
                text.contains(r#""baggage":"user=alice""#),
                is_given,
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn nothing_is_touched_where_nobody_asks_for_traces() {
    let (_, _, parent) = client(0x40);
    for (variable, value) in [
        ("OTEL_SERVICE_NAME", "no address"),
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_TRACES_EXPORTER", "none"),
    ] {
        let mut world = World::new().variable(variable, value);
        if variable != "OTEL_SERVICE_NAME" {
            world = world.variable("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
        }
        for era in ["legacy", "modern"] {
            let server = echo_http(&["--era", era]);
            let url = server.url().await;
            let authority = url.split('/').nth(2).unwrap();
            let (address, seen) = tap(authority).await;
            let entry = json!({"type": "http", "url": url.replace(authority, &address)});
            let here = Here::start(&world, &entry).await;
            let headers = [("traceparent", &*parent), ("baggage", "user=alice")];
            for modern in [false, true] {
                let meta = json!({"tracestate": "=", "traceparent": "not one", "baggage": "x"});
                here.call(modern, &headers, meta).await;
                let text = seen.text();
                let untouched = r#""tracestate":"=","traceparent":"not one","baggage":"x""#;
                assert!(text.contains(untouched), "{variable}: {text}");
                assert!(!text.contains(&parent), "{variable}: {text}");
                assert!(!text.contains("alice"), "{variable}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_no_trace_is_ignored_and_a_new_one_begins() {
    let world = World::new();
    let collector = Collector::start(&world).await;
    let world = sending(world, &collector);
    let here = Here::start(&world, &echo(&["--era", "legacy"])).await;
    let (_, _, good) = client(0xab);
    for bad in ["", "x", &good.to_uppercase(), &good.replace("ab", "00")] {
        let headers = [("traceparent", bad)];
        here.call(false, &headers, json!({"traceparent": bad}))
            .await;
    }
    let enough = until(LONG, || {
        let all = super::collector::spans(&collector.text());
        let roots: Vec<_> = named(&all, "SERVER", "tools/call echo")
            .into_iter()
            .cloned()
            .collect();
        (roots.len() == 4).then_some(roots)
    });
    let roots = enough.await.expect("four traces");
    for root in &roots {
        assert_eq!(root.parent, "", "{root:?}");
        let same = roots.iter().filter(|it| it.trace == root.trace);
        assert_eq!(same.count(), 1, "{roots:?}");
    }
}

#[tokio::test]
async fn a_process_that_is_started_for_a_call_is_told_its_trace() {
    let world = World::new();
    let collector = Collector::start(&world).await;
    let world = sending(world, &collector);
    let told = world.path("home/told");
    let script = format!(
        "printf '%s|%s|%s' \"$TRACEPARENT\" \"$TRACESTATE\" \"$BAGGAGE\" >>{}; exec {} --stdio",
        told.display(),
        bin("echo-server").display()
    );
    let entry = json!({"command": "/bin/sh", "args": ["-c", script], "isolation": "session"});
    let here = Here::start(&world, &entry).await;
    let (trace, _, parent) = client(0x42);
    let meta = json!({"traceparent": parent, "tracestate": "a=1", "baggage": "user=alice"});
    here.call(true, &[], meta).await;
    let all = collector.trace(&trace, 4).await;
    let request = named(&all, "SERVER", "tools/call echo")[0];
    let text = fs::read_to_string(&told).unwrap();
    assert_eq!(text, format!("00-{trace}-{}-01|a=1|", request.id));
}

#[tokio::test]
async fn who_began_a_trace_decides_whether_it_is_recorded() {
    let world = World::new();
    let collector = Collector::start(&world).await;
    let world = sending(world, &collector);
    let server = echo_http(&["--era", "modern"]);
    let url = server.url().await;
    let authority = url.split('/').nth(2).unwrap();
    let (address, seen) = tap(authority).await;
    let entry = json!({"type": "http", "url": url.replace(authority, &address)});
    let here = Here::start(&world, &entry).await;
    let (silent, _, parent) = client(0x43);
    let parent = format!("{}00", parent.strip_suffix("01").unwrap());
    here.call(true, &[], json!({"traceparent": parent})).await;
    let passed_on = after(&seen.text(), "\r\ntraceparent: ").unwrap();
    assert!(
        passed_on.starts_with(&format!("00-{silent}-")),
        "{passed_on}"
    );
    assert!(
        passed_on.ends_with("-00") && passed_on != parent,
        "{passed_on}"
    );
    let (trace, _, parent) = client(0x44);
    here.call(true, &[], json!({"traceparent": parent})).await;
    collector.trace(&trace, 4).await;
    assert!(!collector.text().contains(&silent));
}
