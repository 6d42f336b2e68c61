//! How many processes a server has: one, whoever its clients are.

use crate::support::{scripted::Scripted, scripted::able_to, scripted::call, scripted::tools};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use switchboard_testkit::text_of;
use switchboard_testkit::world::{Client, Gateway, children, echo, servers};

#[tokio::test]
async fn clients_of_both_eras_share_a_process() {
    let entry = |era| echo(&["--era", era]);
    let gateway = Gateway::start(&servers([
        ("old", entry("legacy")),
        ("new", entry("modern")),
    ]))
    .await;
    let worker = gateway.worker().await;
    for server in ["old", "new"] {
        let mut pids = BTreeSet::new();
        for modern in [false, true, false, true] {
            for path in [format!("/mcp/{server}"), "/mcp".to_owned()] {
                let mut client = Client::new(&gateway, &path, modern).await;
                let name = match path.as_str() {
                    "/mcp" => format!("{server}__pid"),
                    _ => "pid".to_owned(),
                };
                pids.insert(client.call(&name, json!({})).await);
            }
        }
        assert_eq!(pids.len(), 1, "{server}: {pids:?}");
    }
    assert_eq!(children(worker).len(), 2);
}

/// As many processes for five clients of both eras as for one.
#[tokio::test]
async fn twenty_servers_of_one_era_are_twenty_processes() {
    let all: Map<String, Value> = (0..20)
        .map(|n| (format!("s{n}"), echo(&["--era", "legacy"])))
        .collect();
    let gateway = Gateway::start(&Value::Object(all)).await;
    let worker = gateway.worker().await;
    let mut clients = Vec::new();
    for modern in [false, true, false, true, true] {
        let mut client = Client::new(&gateway, "/mcp", modern).await;
        for n in 0..20 {
            let name = format!("s{n}__echo");
            assert_eq!(client.call(&name, json!({"nonce": "n"})).await, "n");
        }
        clients.push(client);
        assert_eq!(children(worker).len(), 20, "modern {modern}");
    }
}

/// What a shared server is told of us is the same for all, and nobody's roots are in it.
#[tokio::test]
async fn nobodys_roots_reach_a_shared_server() {
    let [hello, _] = able_to(&json!({"tools": {}}));
    let scripted = Scripted::new("legacy", &[hello, tools(&["go"]), call("go")]);
    let gateway = Gateway::start(&servers([
        ("s", scripted.stdio()),
        ("echo", echo(&["--era", "legacy"])),
    ]))
    .await;
    // A modern client, who says with each request what it can do, comes first.
    let mut client = Client::new(&gateway, "/mcp/s", true).await;
    assert_eq!(client.call("go", json!({})).await, "go");
    let greeting = scripted.told("initialize");
    let able = &greeting["params"]["capabilities"];
    assert!(able.get("roots").is_none(), "{able}");
    assert!(able.get("elicitation").is_some(), "{able}");
    // One that asks all the same is told no.
    let mut client = Client::new(&gateway, "/mcp/echo", true).await;
    let answer = client.try_call("roots", json!({})).await;
    let refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
    assert!(refused, "{answer} {}", text_of(&answer));
}

/// A program that speaks both eras may have other tools in each: nobody is shown
/// what only the other copy has.
#[tokio::test]
async fn no_tool_is_listed_that_the_clients_own_copy_does_not_have() {
    let [hello, discover] = able_to(&json!({"tools": {}}));
    // The first line that fits counts; only modern requests say their version.
    let mut modern = tools(&["new"]);
    modern["match"] = json!("io.modelcontextprotocol/protocolVersion");
    let lines = [
        hello,
        discover,
        modern,
        tools(&["old"]),
        call("new"),
        call("old"),
    ];
    let scripted = Scripted::new("both", &lines);
    let gateway = Gateway::start(&servers([("s", scripted.stdio())])).await;
    for (is_modern, own) in [(true, "new"), (false, "old"), (true, "new"), (false, "old")] {
        for (path, prefix) in [("/mcp/s", ""), ("/mcp", "s__")] {
            let mut client = Client::new(&gateway, path, is_modern).await;
            let name = format!("{prefix}{own}");
            assert_eq!(client.call(&name, json!({})).await, own);
            let answer = client.request("tools/list", json!({})).await;
            let listed = answer["result"]["tools"].as_array().unwrap();
            let listed: Vec<&str> = listed
                .iter()
                .filter_map(|tool| tool["name"].as_str())
                .collect();
            assert_eq!(listed, [name], "modern {is_modern} {path}");
        }
    }
}
