//! Faults 5 and 13: answers that name no request, and answers and lists of a
//! wrong shape. Every client gets an answer under its own id that it can read,
//! over every transport and in both eras.

use crate::support::{
    evil::assert_blames,
    scripted::{Scripted, call, call_with, tools},
};
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{
    CARRIERS, Carrier, Client, Gateway, Served as Pair, Upstream, World, echo, servers,
};
use switchboard_testkit::{Channel, LEGACY, text_of};

const LONG: Duration = Duration::from_secs(30);
const NULL: &str = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#;
const NONE: &str =
    r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"}}"#;
const LOG: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;

/// A server whose tool `null` ends with an error that names no request: as
/// JSON with 400 and 200, and as an event.
fn nameless(era: &'static str) -> Scripted {
    let with = |tool: &str, key: &str, value: Value| {
        let mut line = call_with(tool, if tool == "none" { NONE } else { NULL });
        line[key] = value;
        line
    };
    Scripted::new(
        era,
        &[
            tools(&["bad400", "bad200", "event", "none", "ok"]),
            with("bad400", "status", 400.into()),
            with("bad200", "status", 200.into()),
            with("event", "before", json!([LOG])),
            with("none", "status", 400.into()),
            call("ok"),
        ],
    )
}

async fn ask(client: &mut Channel, modern: bool, tool: &str) -> Value {
    let params = json!({"name": tool, "arguments": {}});
    match modern {
        true => client.modern("tools/call", params).await,
        false => client.request("tools/call", params).await,
    }
}

/// Over each transport of ours and in each era of client and server.
#[tokio::test]
async fn row_5_an_error_without_an_id_ends_its_request() {
    for era in ["legacy", "modern"] {
        let scripted = nameless(era);
        for theirs in [Carrier::Http, Carrier::Stdio] {
            for ours in CARRIERS {
                for modern in [false, true] {
                    // HTTP+SSE has no modern era.
                    if modern && ours == Carrier::Sse {
                        continue;
                    }
                    let args = scripted.args(&[]);
                    let args: Vec<&str> = args.iter().map(String::as_str).collect();
                    let upstream = Upstream::of("recorder", theirs, &args).await;
                    let mut gateway = Pair::start(ours, &upstream).await;
                    let mut client = gateway.client().await;
                    if !modern {
                        client.initialize(LEGACY).await;
                    }
                    let what = format!("{era} {theirs:?} to {ours:?}, modern: {modern}");
                    for tool in ["bad400", "bad200", "event", "none"] {
                        // Waits for an answer under its own id.
                        let answer = ask(&mut client, modern, tool).await;
                        let error = &answer["error"];
                        assert_eq!(error["code"], -32000, "{what} {tool}: {answer}");
                        let text = error["message"].as_str().unwrap_or_default();
                        assert!(text.contains("not initialized"), "{what}: {answer}");
                    }
                    let answer = ask(&mut client, modern, "ok").await;
                    assert_eq!(text_of(&answer), "ok", "{what}");
                }
            }
        }
    }
}

/// The same in the aggregate, for more than calls.
#[tokio::test]
async fn row_5_an_error_without_an_id_in_the_aggregate() {
    let listed = json!({"resources": [{"uri": "x:1", "name": "one"}], "resultType": "complete",
        "ttlMs": 0, "cacheScope": "private"});
    for era in ["legacy", "modern"] {
        let scripted = Scripted::new(
            era,
            &[
                tools(&["bad"]),
                call_with("bad", NULL),
                json!({"method": "resources/list", "reply": listed.to_string()}),
                json!({"method": "resources/read", "message": NULL, "status": 400}),
            ],
        );
        let (_server, entry) = scripted.http().await;
        let gateway = Gateway::start(&servers([("r", entry), ("echo", echo(&[]))])).await;
        for modern in [false, true] {
            for (path, tool) in [("/mcp", "r__bad"), ("/mcp/r", "bad")] {
                let mut client = Client::new(&gateway, path, modern).await;
                let answer = client.try_call(tool, json!({})).await;
                assert_eq!(answer["error"]["code"], -32000, "{era} {path}: {answer}");
                assert!(answer["id"].is_number(), "{era} {path}: {answer}");
                let answer = client
                    .request("resources/read", json!({"uri": "x:1"}))
                    .await;
                assert_eq!(answer["error"]["code"], -32000, "{era} {path}: {answer}");
                assert!(answer["id"].is_number(), "{era} {path}: {answer}");
            }
        }
    }
}

/// With several requests in flight on one channel nothing says whose it is: no
/// call is ended by it, and whoever looks after the server is told.
#[tokio::test]
async fn row_5_an_error_without_an_id_among_several() {
    let mut held = call("held");
    held["hold"] = true.into();
    let scripted = Scripted::new(
        "legacy",
        &[
            tools(&["held", "bad", "ok"]),
            held,
            call_with("bad", NULL),
            call("ok"),
        ],
    );
    let stage = World::with(&json!({ "r": scripted.stdio() }));
    let gateway = stage.gateway_with(&["--no-auth"]).await;
    let url = gateway.url().await;
    let mut client = Channel::ws(&format!("{}/ws/r", url.replace("http:", "ws:")), &[]).await;
    client.initialize(LEGACY).await;
    let params = |tool: &str| json!({"name": tool, "arguments": {}});
    let first = client.start("tools/call", params("held"));
    let second = client.start("tools/call", params("bad"));
    gateway
        .wait_for_line_within("an error that names no request", LONG)
        .await;
    // Both are still open; others flow.
    assert_eq!(text_of(&client.call("ok", json!({})).await), "ok");
    let listed = stage.run(&["list"]).await.ok();
    assert!(
        listed.out.contains("names no request") && listed.out.contains("Server not initialized"),
        "{listed:?}"
    );
    let doctor = stage.run(&["doctor"]).await;
    assert!(doctor.out.contains("names no request"), "{doctor:?}");
    for id in [first, second] {
        client.notify("notifications/cancelled", json!({"requestId": id}));
    }
    assert_eq!(text_of(&client.call("ok", json!({})).await), "ok");
}

/// Results that are no objects, and errors without a code or a message.
#[tokio::test]
async fn answers_of_a_wrong_shape_are_the_servers_error() {
    let bodies = [
        ("r1", r#""result":null"#),
        ("r2", r#""result":[]"#),
        ("r3", r#""result":"text""#),
        ("r4", r#""result":7"#),
        ("e1", r#""error":"boom""#),
        ("e2", r#""error":null"#),
        ("e3", r#""error":{"message":"boom"}"#),
        ("e4", r#""error":{"code":1.5,"message":"boom"}"#),
        ("e5", r#""error":{"code":-32000}"#),
        ("e6", r#""error":{"code":"x","message":"boom"}"#),
    ];
    let names: Vec<&str> = bodies.iter().map(|(name, _)| *name).collect();
    let mut lines = vec![tools(&names)];
    lines.extend(bodies.iter().map(|(name, body)| {
        call_with(name, &format!("{{\"jsonrpc\":\"2.0\",\"id\":@ID@,{body}}}"))
    }));
    for era in ["legacy", "modern"] {
        let scripted = Scripted::new(era, &lines);
        let (_server, over_http) = scripted.http().await;
        let gateway = Gateway::start(&servers([("r", over_http), ("s", scripted.stdio())])).await;
        for modern in [false, true] {
            for server in ["r", "s"] {
                let mut one = Client::new(&gateway, &format!("/mcp/{server}"), modern).await;
                let mut all = Client::new(&gateway, "/mcp", modern).await;
                for name in &names {
                    let outward = format!("{server}__{name}");
                    for (client, tool) in [(&mut one, *name), (&mut all, outward.as_str())] {
                        let answer = client.try_call(tool, json!({})).await;
                        assert_blames(&answer, server);
                        assert!(answer["id"].is_number(), "{era} {tool}: {answer}");
                    }
                }
            }
        }
        // And on the command line.
        let config =
            serde_json::to_string(&json!({"mcpServers": {"s": scripted.stdio()}})).unwrap();
        for name in ["r1", "e1"] {
            let tool = format!("mcp__s__{name}");
            let args = [
                "--strict-mcp-config",
                "--mcp-config",
                &config,
                "call",
                &tool,
                "{}",
            ];
            let stage = World::with(&json!({}));
            let ran = stage.run(&args).await;
            assert_ne!(ran.code, Some(0), "{ran:?}");
            assert!(ran.err.contains("\"s\""), "{ran:?}");
        }
    }
}

/// Fault 13 on every face: bad items are left out and named, also of a list
/// that is passed on as it comes.
#[tokio::test]
async fn row_13_bad_items_never_cost_the_list() {
    let list = json!({
        "tools": [
            {"name": "good", "inputSchema": {"type": "object"}, "x-kept": [1.50]},
            {"name": 5, "inputSchema": {}},
            {"name": "", "inputSchema": {}},
            {"name": "text", "inputSchema": "{}"},
            {"name": "titled", "inputSchema": {}, "title": 7},
            "no object",
            null,
            {"name": "fine", "inputSchema": {"type": "object"}},
        ],
        "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
    });
    for era in ["legacy", "modern"] {
        let line = json!({"method": "tools/list", "reply": list.to_string()});
        let scripted = Scripted::new(era, &[line, call("good")]);
        let stage = World::with(&json!({ "r": scripted.stdio() }));
        let program = stage.gateway_with(&["--no-auth"]).await;
        let url = program.url().await;
        let gateway = Gateway { program, url };
        for modern in [false, true] {
            for (path, prefix) in [("/mcp", "r__"), ("/mcp/r", "")] {
                let mut client = Client::new(&gateway, path, modern).await;
                let result = client.result("tools/list", json!({})).await;
                let listed = result["tools"].as_array().unwrap();
                let mut names: Vec<&str> = listed
                    .iter()
                    .map(|tool| tool["name"].as_str().unwrap())
                    .collect();
                names.sort_unstable();
                let wanted = [format!("{prefix}fine"), format!("{prefix}good")];
                assert_eq!(names, wanted, "{era} {path}: {result}");
                assert!(listed.iter().any(|tool| tool["x-kept"] == json!([1.50])));
            }
        }
        // Whoever looks after it is told what is missing and why.
        let said = stage.run(&["list"]).await.ok().out;
        assert!(said.contains("left out: 6"), "{said}");
        assert!(said.contains("\"text\" has a \"inputSchema\""), "{said}");
    }
}

/// What is no list at all is the server's error, and no empty list.
#[tokio::test]
async fn row_13_what_is_no_list_is_named() {
    for reply in ["{\"tools\":null}", "{\"tools\":{}}", "{}"] {
        let line = json!({"method": "tools/list", "reply": reply});
        let scripted = Scripted::new("legacy", &[line]);
        let stage = World::with(&json!({ "r": scripted.stdio() }));
        let program = stage.gateway_with(&["--no-auth"]).await;
        let url = program.url().await;
        let gateway = Gateway { program, url };
        for modern in [false, true] {
            let mut one = Client::new(&gateway, "/mcp/r", modern).await;
            let answer = one.request("tools/list", json!({})).await;
            assert_blames(&answer, "r");
            assert!(answer.to_string().contains("tools"), "{answer}");
            // One server's fault is not the aggregate's.
            let mut all = Client::new(&gateway, "/mcp", modern).await;
            let answer = all.request("tools/list", json!({})).await;
            assert_eq!(answer["result"]["tools"], json!([]), "{answer}");
        }
        let said = stage.run(&["list"]).await.ok().out;
        assert!(said.contains("the result of tools/list"), "{reply}: {said}");
    }
}
