//! Permission rules with stdio clients behind a running gateway: what is denied
//! is denied there as well, and nobody gets past their own rules by attaching.

use serde_json::{Value, json};
use std::{fs, time::Duration};
use switchboard_testkit::world::{World, address, echo, echo_http, servers};
use switchboard_testkit::{HttpClient, LEGACY, StdioClient, text_of, with_meta};

const LONG: Duration = Duration::from_secs(30);
const ATTACHED: &str = "attached to the gateway";

/// A home with these servers and rules.
fn ruled(servers: &Value, permissions: &Value) -> World {
    let stage = World::with(servers);
    rule(&stage, servers, permissions);
    stage
}

fn rule(stage: &World, servers: &Value, permissions: &Value) {
    let settings = json!({"mcpServers": servers, "permissions": permissions});
    stage.write(stage.settings(), settings.to_string());
}

fn names(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array();
    let tools = tools.unwrap_or_else(|| panic!("no list: {answer}"));
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

async fn listed(client: &mut StdioClient) -> Vec<String> {
    names(&client.request("tools/list", json!({})).await)
}

#[tokio::test]
async fn what_is_denied_is_hidden_and_refused_behind_the_gateway_as_on_it() {
    let two = servers([("left", echo(&[])), ("right", echo(&[]))]);
    let denied = json!({"deny": ["mcp__left__count", "mcp__right"]});
    let stage = ruled(&two, &denied);
    let gateway = stage.gateway().await;

    let mut http = HttpClient::new(&format!("{}/mcp", gateway.url().await));
    let token = format!("Bearer {}", stage.token("tokens/default"));
    http.headers.insert("authorization".into(), token);
    http.initialize(LEGACY).await;
    let on_it = names(&http.request("tools/list", json!({})).await);
    assert!(on_it.contains(&"left__counted".to_owned()), "{on_it:?}");
    assert!(!on_it.contains(&"left__count".to_owned()), "{on_it:?}");

    for modern in [false, true] {
        let mut client = stage.client(&[]);
        if !modern {
            client.initialize(LEGACY).await;
        }
        let meant = |params: Value| if modern { with_meta(params) } else { params };
        let behind = names(&client.request("tools/list", meant(json!({}))).await);
        client.program.wait_for_line(ATTACHED).await;
        assert_eq!(behind, on_it);
        for tool in ["left__count", "left__co-unt", "right__pid"] {
            let call = meant(json!({"name": tool, "arguments": {}}));
            let answer = client.request("tools/call", call).await;
            assert_eq!(answer["error"]["code"], -32602, "{tool}: {answer}");
        }
        let counted = meant(json!({"name": "left__counted", "arguments": {}}));
        let counted = client.request("tools/call", counted).await;
        assert_eq!(text_of(&counted), "0", "it was reached");
    }

    // Another rule holds for those who are attached already.
    let mut client = stage.client(&[]);
    client.initialize(LEGACY).await;
    assert!(listed(&mut client).await.contains(&"left__pid".to_owned()));
    client.program.wait_for_line(ATTACHED).await;
    rule(&stage, &two, &json!({"deny": ["mcp__left__pid"]}));
    let gone = async {
        while listed(&mut client).await.contains(&"left__pid".to_owned()) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LONG, gone)
        .await
        .expect("it is hidden");
    let answer = client.call("left__pid", json!({})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

/// What decides at the gateway is explained, also where the rules of a folder say otherwise.
#[tokio::test]
async fn explain_says_what_a_running_gateway_decides() {
    let one = servers([("left", echo(&[]))]);
    let stage = ruled(&one, &json!({}));
    let before = stage
        .run(&["explain", "mcp__left__count", "--json"])
        .await
        .ok()
        .json();
    assert_eq!(before["tool"]["gateway"], Value::Null, "{before}");
    let args = ["--permission-mode", "read-only"];
    let gateway = stage.gateway_with(&args).await;
    let url = gateway.url().await;
    let told = stage.run(&["explain", "mcp__left__count"]).await.ok();
    assert!(
        told.out
            .contains(&format!("decided by the gateway at {url}")),
        "{told:?}"
    );
    assert!(
        told.out
            .contains("by the rules of this folder alone it would be: allowed"),
        "{told:?}"
    );
    let told = stage
        .run(&["explain", "mcp__left__count", "--json"])
        .await
        .ok()
        .json();
    let tool = &told["tool"];
    assert_eq!(tool["gateway"], url.as_str(), "{told}");
    assert_eq!(tool["decisionHere"], "allowed", "{told}");
    let decision = tool["decision"].as_str().unwrap();
    assert!(decision.starts_with("denied"), "{told}");
    let decisive = |reason: &&Value| reason["decisive"] == true;
    assert!(
        tool["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| decisive(&one)),
        "{told}"
    );
    let told = stage.run(&["explain", "left"]).await.ok();
    assert!(
        told.out.contains(&format!("the gateway at {url} has it: ")),
        "{told:?}"
    );
    // Nobody asks it who does not want to.
    let told = stage
        .run(&["--direct", "explain", "mcp__left__count"])
        .await
        .ok();
    assert!(!told.out.contains("the gateway at"), "{told:?}");
}

/// A gateway knows only its own rules: who has others does not use it.
#[tokio::test]
async fn who_has_other_rules_is_not_led_past_them() {
    let remote = echo_http(&[]);
    let one = servers([("far", address(&remote).await)]);
    let stage = ruled(&one, &json!({}));
    let _gateway = stage.gateway().await;
    let repository = stage.home().join("repository");
    fs::create_dir_all(repository.join(".git")).unwrap();
    let client = |args: &[&str]| {
        let args: Vec<&str> = ["serve"].iter().chain(args).copied().collect();
        StdioClient::new(stage.launch(&args).cwd(&repository).spawn())
    };

    let mut same = client(&[]);
    same.initialize(LEGACY).await;
    assert!(listed(&mut same).await.contains(&"far__count".to_owned()));
    same.program.wait_for_line(ATTACHED).await;

    let mut careful = client(&["--permission-mode", "read-only"]);
    careful.initialize(LEGACY).await;
    let shown = listed(&mut careful).await;
    assert!(shown.contains(&"far__echo".to_owned()), "{shown:?}");
    assert!(!shown.contains(&"far__count".to_owned()), "{shown:?}");
    assert!(!careful.program.stderr().contains(ATTACHED));

    let rules = json!({"permissions": {"deny": ["mcp__far__count"]}});
    let file = repository.join(".claude/settings.json");
    stage.write(&file, rules.to_string());
    let mut bound = client(&[]);
    bound.initialize(LEGACY).await;
    let shown = listed(&mut bound).await;
    assert!(!shown.contains(&"far__count".to_owned()), "{shown:?}");
    let answer = bound.call("far__count", json!({})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(!bound.program.stderr().contains(ATTACHED));
}
