//! MCP Apps over all servers as one: pages lead back to their servers, pages find
//! their servers' tools, and the extension is passed on.

use crate::support::scripted::{Scripted, able_to, call};
use crate::support::served::Served;
use serde_json::{Value, json};
use switchboard_testkit::text_of;
use switchboard_testkit::world::{Client, servers};

const UI: &str = "io.modelcontextprotocol/ui";

fn complete(mut result: Value) -> String {
    for (key, value) in [("resultType", "complete"), ("cacheScope", "private")] {
        result[key] = json!(value);
    }
    result["ttlMs"] = json!(0);
    result.to_string()
}

fn tool(name: &str, meta: Value) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}, "_meta": meta})
}

/// A server with pages that it does not list.
fn scripted(era: &'static str, name: &str) -> Scripted {
    let own = format!("ui://{name}/view.html");
    let tools = json!([
        tool(
            "show",
            json!({"ui": {"resourceUri": own, "prefersBorder": true}})
        ),
        tool(
            "old",
            json!({"ui/resourceUri": "ui://shared/view.html", "x": 1})
        ),
        tool(
            &format!("refresh_{name}"),
            json!({"ui": {"visibility": ["app"]}})
        ),
        tool(&format!("plain_{name}"), json!({})),
        tool(
            "both_have_it",
            json!({"ui": {"visibility": ["model", "app"]}})
        ),
        tool(
            "for_models",
            json!({"ui": {"resourceUri": own, "visibility": ["model"]}})
        ),
    ]);
    let capabilities = json!({"tools": {}, "resources": {},
        "extensions": {UI: {"from": name}, "com.example/other": {}}});
    let mut lines = able_to(&capabilities).to_vec();
    let shown = json!({"content": [{"type": "text", "text": "shown"}],
        "_meta": {"ui": {"resourceUri": own}, "ui/resourceUri": "ui://shared/view.html"}});
    lines.push(json!({"method": "tools/list", "reply": complete(json!({"tools": tools}))}));
    lines.push(json!({"method": "tools/call", "match": "\"show\"", "reply": complete(shown)}));
    for own in ["old", "both_have_it", "for_models"] {
        lines.push(call(own));
    }
    lines.push(call(&format!("refresh_{name}")));
    lines.push(call(&format!("plain_{name}")));
    for uri in [own.as_str(), "ui://shared/view.html"] {
        let page = json!({"contents": [{"uri": uri, "mimeType": "text/html;profile=mcp-app",
            "text": format!("page of {name}")}]});
        let wanted = format!("\"{uri}\"");
        lines.push(json!({"method": "resources/read", "match": wanted, "reply": complete(page)}));
    }
    Scripted::new(era, &lines)
}

/// The tool of this name as the client sees it.
async fn listed(client: &mut Client, name: &str) -> Value {
    let result = client.result("tools/list", json!({})).await;
    let tools = result["tools"].as_array().unwrap();
    tools
        .iter()
        .find(|tool| tool["name"] == name)
        .cloned()
        .unwrap()
}

async fn page(client: &mut Client, uri: &Value) -> Value {
    let result = client.result("resources/read", json!({"uri": uri})).await;
    result["contents"][0].clone()
}

#[tokio::test]
async fn pages_lead_back_to_their_servers() {
    for era in ["legacy", "modern"] {
        let (one, two) = (scripted(era, "one"), scripted(era, "two"));
        let both = servers([("one", one.stdio()), ("two", two.stdio())]);
        let gateway = Served::start(&both).await;
        for modern in [false, true] {
            let mut client = Client::new(&gateway, "/mcp", modern).await;
            for name in ["one", "two"] {
                // What one server's tools alone name needs nothing more.
                let shown = listed(&mut client, &format!("{name}__show")).await;
                let own = &shown["_meta"]["ui"]["resourceUri"];
                assert_eq!(*own, format!("ui://{name}/view.html"));
                assert_eq!(shown["_meta"]["ui"]["prefersBorder"], true);
                let read = page(&mut client, own).await;
                assert_eq!(read["text"], format!("page of {name}"), "{read}");
                assert_eq!(read["uri"], *own);
                // What several name says whose it is.
                let old = listed(&mut client, &format!("{name}__old")).await;
                let shared = &old["_meta"]["ui/resourceUri"];
                assert_eq!(*shared, format!("ui://{name}+shared/view.html"));
                assert_eq!(old["_meta"]["x"], 1);
                let read = page(&mut client, shared).await;
                assert_eq!(read["text"], format!("page of {name}"), "{read}");
                assert_eq!(read["uri"], *shared);
                // Results likewise.
                let params = json!({"name": format!("{name}__show"), "arguments": {}});
                let called = client.result("tools/call", params).await;
                assert_eq!(called["_meta"]["ui"]["resourceUri"], *own);
                assert_eq!(called["_meta"]["ui/resourceUri"], *shared);
            }
            let params = json!({"uri": "ui://shared/view.html"});
            let unclear = client.request("resources/read", params).await;
            assert_eq!(unclear["error"]["code"], -32602, "{unclear}");
            assert_eq!(
                unclear["error"]["data"]["candidates"],
                json!(["one", "two"])
            );
        }
    }
}

#[tokio::test]
async fn a_page_calls_its_servers_tools_by_their_own_names() {
    let (one, two) = (scripted("legacy", "one"), scripted("modern", "two"));
    let plain = Scripted::new(
        "legacy",
        &[
            json!({"method": "tools/list", "reply": complete(json!({"tools": [tool("bare", json!({}))]}))}),
            call("bare"),
        ],
    );
    let all = [
        ("one", one.stdio()),
        ("plain", plain.stdio()),
        ("two", two.stdio()),
    ];
    let gateway = Served::start(&servers(all)).await;
    for modern in [false, true] {
        let mut client = Client::new(&gateway, "/mcp", modern).await;
        for name in ["refresh_one", "plain_one", "refresh_two", "plain_two"] {
            let answer = client.try_call(name, json!({})).await;
            assert_eq!(text_of(&answer), name, "{answer}");
        }
        // Two have it; it is not for pages; its server has no pages.
        for name in ["both_have_it", "for_models", "bare"] {
            let answer = client.try_call(name, json!({})).await;
            assert_eq!(answer["error"]["code"], -32602, "{name}: {answer}");
        }
        let answer = client.try_call("one__for_models", json!({})).await;
        assert_eq!(text_of(&answer), "for_models");
    }
}

#[tokio::test]
async fn the_extension_is_passed_on_both_ways() {
    let (one, two) = (scripted("legacy", "one"), scripted("modern", "two"));
    let both = servers([("one", one.stdio()), ("two", two.stdio())]);
    let gateway = Served::start(&both).await;
    let hello = gateway.client("/mcp").initialize("2025-11-25").await;
    let extensions = &hello["capabilities"]["extensions"];
    assert!(extensions[UI]["from"].is_string(), "{hello}");
    assert!(
        extensions["com.example/other"].is_null(),
        "we could not route it"
    );
    let mut client = Client::new(&gateway, "/mcp", true).await;
    let found = client.result("server/discover", json!({})).await;
    assert!(
        found["capabilities"]["extensions"][UI]["from"].is_string(),
        "{found}"
    );
    let met = one.told("initialize");
    let mime = &met["params"]["capabilities"]["extensions"][UI]["mimeTypes"][0];
    assert_eq!(*mime, "text/html;profile=mcp-app", "{met}");
}
