//! Nothing is asked of a server that it did not declare.

use crate::support::scripted::{Scripted, able_to, tools};
use crate::support::served::Served;
use serde_json::{Value, json};
use switchboard_testkit::world::{Client, servers};

/// What a server that declared this may be sent.
const HARMLESS: [&str; 6] = [
    "initialize",
    "notifications/initialized",
    "notifications/cancelled",
    "server/discover",
    "ping",
    "tools/list",
];

fn scripted(era: &'static str, capabilities: &Value) -> Scripted {
    let mut lines = able_to(capabilities).to_vec();
    lines.push(tools(&["t"]));
    let list = |field: &str, item: Value| json!({field: [item], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
    let resource = list("resources", json!({"uri": "x://1", "name": "one"}));
    lines.push(json!({"method": "resources/list", "reply": resource.to_string()}));
    let prompt = list("prompts", json!({"name": "p"}));
    lines.push(json!({"method": "prompts/list", "reply": prompt.to_string()}));
    Scripted::new(era, &lines)
}

fn assert_harmless(server: &Scripted, more: &[&str], what: &str) {
    let asked = server.asked();
    assert!(!asked.is_empty(), "{what}: it was never started");
    let harmless =
        |method: &&String| !HARMLESS.contains(&&***method) && !more.contains(&&***method);
    let odd: Vec<&String> = asked.iter().filter(harmless).collect();
    assert!(odd.is_empty(), "{what}: asked {odd:?}");
}

#[tokio::test]
async fn requests_for_what_was_not_declared_do_not_leave() {
    for era in ["legacy", "modern"] {
        for modern in [false, true] {
            let bare = scripted(era, &json!({"tools": {}}));
            let gateway = Served::start(&servers([("bare", bare.stdio())])).await;
            let mut client = Client::new(&gateway, "/mcp/bare", modern).await;
            let reference = json!({"type": "ref/prompt", "name": "p"});
            for (method, params) in [
                ("resources/list", json!({})),
                ("resources/templates/list", json!({})),
                ("resources/read", json!({"uri": "x://1"})),
                ("prompts/list", json!({})),
                ("prompts/get", json!({"name": "p"})),
                (
                    "completion/complete",
                    json!({"ref": reference, "argument": {"name": "a", "value": ""}}),
                ),
                ("resources/subscribe", json!({"uri": "x://1"})),
            ] {
                let answer = client.request(method, params).await;
                assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
            }
            let tools = client.list("tools/list", "tools", "name").await;
            assert_eq!(tools, ["t"]);
            assert_harmless(
                &bare,
                &[],
                &format!("{era} server, modern client: {modern}"),
            );
        }
    }
}

#[tokio::test]
async fn nor_over_all_servers() {
    let more = ["resources/list", "resources/templates/list", "prompts/list"];
    for era in ["legacy", "modern"] {
        let able = json!({"tools": {}, "resources": {}, "prompts": {}});
        let half = scripted(era, &able);
        let gateway = Served::start(&servers([("half", half.stdio())])).await;
        let mut client = Client::new(&gateway, "/mcp", false).await;
        let subscribed = client
            .request("resources/subscribe", json!({"uri": "x://1"}))
            .await;
        assert_eq!(subscribed["error"]["code"], -32601, "{subscribed}");
        let reference = json!({"type": "ref/prompt", "name": "half__p"});
        let params = json!({"ref": reference, "argument": {"name": "a", "value": ""}});
        let completed = client.request("completion/complete", params).await;
        assert_eq!(completed["error"]["code"], -32601, "{completed}");
        // A modern client hears what it will not be told of.
        let mut client = Client::new(&gateway, "/mcp", true).await;
        let wanted = json!({"resourceSubscriptions": ["x://1"], "toolsListChanged": true});
        let mut stream = client
            .stream("subscriptions/listen", json!({"notifications": wanted}))
            .await;
        let heard = stream.message().await.expect("an acknowledgement");
        let heard = &heard["params"]["notifications"];
        assert_eq!(*heard, json!({"toolsListChanged": true}), "ours change");
        assert_harmless(&half, &more, era);
    }
}
