//! What a flow does, it does as whoever called it: their permissions, their
//! copies of servers, and they are asked what is asked.

use serde_json::{Value, json};
use switchboard_testkit::world::{World, echo};
use switchboard_testkit::{HttpClient, LEGACY, Program};

struct Rig {
    stage: World,
    gateway: Program,
}

impl Rig {
    /// A server `mail`, and a flow for each of some of its tools.
    async fn start(permissions: &Value) -> Self {
        let stage = World::with(&json!({}));
        let folder = stage.home().join("flows");
        for tool in ["count", "counted", "elicit"] {
            let manifest = json!({
                "name": tool, "description": "One step.",
                "steps": [{"id": "only", "server": "mail", "tool": tool, "arguments": {}}],
            });
            let file = folder.join(format!("{tool}.flow.json"));
            stage.write(&file, manifest.to_string());
        }
        let settings = json!({
            "permissions": permissions,
            "mcpServers": {
                "mail": echo(&["--era", "legacy"]),
                "team": {"type": "builtin", "builtin": "tools", "folder": folder},
            },
        });
        stage.write(stage.settings(), settings.to_string());
        let gateway = stage.gateway().await;
        Self { stage, gateway }
    }

    async fn client(&self, name: &str, path: &str) -> HttpClient {
        if !self
            .stage
            .home()
            .join(format!(".local/share/switchboard/tokens/{name}"))
            .exists()
        {
            self.stage.run(&["token", "create", name]).await.ok();
        }
        let token = format!("Bearer {}", self.stage.token(&format!("tokens/{name}")));
        let url = self.gateway.url().await;
        HttpClient::new(&format!("{url}{path}")).header("authorization", &token)
    }

    async fn legacy(&self, name: &str, path: &str) -> HttpClient {
        let mut client = self.client(name, path).await;
        client.initialize(LEGACY).await;
        client
    }
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

/// A principal whose calls wait for a yes makes none without it by a flow.
#[tokio::test]
async fn the_callers_mode_holds_in_a_flow() {
    let rig = Rig::start(&json!({
        "modes": {"bob": "default"},
        // The flow itself may be called: it is the step that is looked at.
        "allow": ["mcp__team__*"],
    }))
    .await;
    let call = |tool: &str| json!({"name": tool, "arguments": {}});
    let mut alice = rig.client("alice", "/mcp").await;
    let worked = alice.modern("tools/call", call("team__count")).await;
    assert_eq!(text(&worked.message()), "1", "{worked:?}");
    let mut bob = rig.client("bob", "/mcp").await;
    for tool in ["mail__count", "team__count"] {
        let asked = bob.modern("tools/call", call(tool)).await.message();
        assert_eq!(
            asked["result"]["resultType"], "input_required",
            "{tool}: {asked}"
        );
        assert!(asked.to_string().contains("count"), "{tool}: {asked}");
    }
}

/// Each has a copy of a server of its own; so have the steps of its flows.
#[tokio::test]
async fn a_step_uses_the_callers_copy_of_a_server() {
    let rig = Rig::start(&json!({})).await;
    let mut alice = rig.legacy("alice", "/mcp").await;
    let mut bob = rig.legacy("bob", "/mcp").await;
    for _ in 0..3 {
        alice.call("mail__count", json!({})).await;
    }
    alice.call("team__count", json!({})).await;
    let hers = alice.call("team__counted", json!({})).await;
    assert_eq!(text(&hers), "4", "{hers}");
    let his = bob.call("team__counted", json!({})).await;
    assert_eq!(text(&his), "0", "{his}");
}

/// What a step's server asks, the flow's caller is asked, in either era.
#[tokio::test]
async fn the_caller_is_asked_what_a_step_asks() {
    let rig = Rig::start(&json!({})).await;
    let mut alice = rig.legacy("alice", "/mcp").await;
    let call = json!({"name": "team__elicit", "arguments": {}});
    let mut stream = alice.stream("tools/call", call.clone()).await;
    let question = stream.message().await.unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.starts_with("[mail]"), "{question}");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {
        "action": "accept", "content": {"answer": "hello"},
    }});
    assert_eq!(alice.post(answer.to_string()).await.status, 202);
    let answer = stream.message().await.unwrap();
    assert!(answer["result"].to_string().contains("hello"), "{answer}");

    let mut bob = rig.client("bob", "/mcp").await;
    let asked = bob.modern("tools/call", call.clone()).await.message();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let questions = asked["result"]["inputRequests"].as_object().unwrap();
    let key = questions.keys().next().unwrap().clone();
    let mut retry = call;
    retry["requestState"] = asked["result"]["requestState"].clone();
    retry["inputResponses"] = json!({ key: {"action": "accept", "content": {"answer": "hi"}} });
    let answer = bob.modern("tools/call", retry).await.message();
    assert!(answer["result"].to_string().contains("hi"), "{answer}");
}

/// A rule that asks, asks the caller; who cannot be asked is refused.
#[tokio::test]
async fn a_rule_that_asks_asks_the_caller() {
    let rig = Rig::start(&json!({"ask": ["mcp__mail__count"]})).await;
    let mut alice = rig.legacy("alice", "/mcp").await;
    let call = json!({"name": "team__count", "arguments": {}});
    let mut stream = alice.stream("tools/call", call).await;
    let question = stream.message().await.unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    assert_eq!(alice.post(answer.to_string()).await.status, 202);
    let answer = stream.message().await.unwrap();
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let counted = alice.call("mail__counted", json!({})).await;
    assert_eq!(text(&counted), "0", "{counted}");
}
