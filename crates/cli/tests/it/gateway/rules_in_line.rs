//! A call that waits is decided by the rules that hold when it leaves: in line for
//! its client's turn, between two rounds with a server of the other era, and parked
//! until its client comes back.

use crate::support::scripted::{Scripted, able_to, asks, call, form, named, tools};
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{self, Gateway, World, news, to_the_end, until};
use switchboard_testkit::{HttpClient, text_of};

const LONG: Duration = Duration::from_secs(60);

/// A gateway before one server, whose rules change while it runs.
struct Ruled {
    stage: World,
    scripted: Scripted,
    gateway: Gateway,
}

impl Ruled {
    async fn start(era: &'static str, script: &[Value]) -> Self {
        let (stage, scripted) = (World::new(), Scripted::new(era, script));
        write(&stage, &scripted, &[]);
        let launch = stage.launch(&["serve", "--http", "127.0.0.1:0", "--no-auth"]);
        let gateway = Gateway::launch(launch).await;
        Self {
            stage,
            scripted,
            gateway,
        }
    }

    async fn client(&self, path: &str) -> HttpClient {
        let able = json!({"elicitation": {}});
        let mut client = world::able_to(&self.gateway, path, able).await;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        client.post(ready.to_string()).await;
        client.deadline = LONG;
        client
    }

    /// Denies a tool, and waits until that holds.
    async fn deny(&self, tool: &str) {
        // Its lists are known, and asked of nobody who takes turns.
        let mut looking = self.client("/mcp").await;
        let mut seen = async || {
            let listed = looking.request("tools/list", json!({})).await;
            listed.to_string().contains(&format!("\"r__{tool}\""))
        };
        assert!(seen().await, "it is there before");
        write(&self.stage, &self.scripted, &[&format!("mcp__r__{tool}")]);
        let gone = async { while seen().await {} };
        tokio::time::timeout(LONG, gone)
            .await
            .expect("it is denied");
    }

    /// How often the server was asked to call this tool.
    fn calls(&self, tool: &str) -> usize {
        let record = self.scripted.record();
        let calls = record.lines().filter(|line| line.contains("tools/call"));
        calls.filter(|line| line.contains(tool)).count()
    }
}

fn write(stage: &World, scripted: &Scripted, deny: &[&str]) {
    let settings = json!({"mcpServers": {"r": scripted.stdio()}, "permissions": {"deny": deny}});
    stage.write(
        "home/.config/switchboard/settings.json",
        settings.to_string(),
    );
}

/// Whether an answer says that there is no such thing, or that it may not be used.
fn is_refused(answer: &Value) -> bool {
    let text = answer["error"]["message"].as_str().unwrap_or_default();
    text.contains("not permitted")
}

#[tokio::test]
async fn what_stands_in_line_is_decided_when_it_leaves() {
    let mut slow = call("slow");
    slow["hold"] = true.into();
    let script = [
        tools(&["first", "second", "slow", "late"]),
        asks("first"),
        asks("second"),
        slow,
        call("late"),
    ];
    let ruled = Ruled::start("legacy", &script).await;
    // A question that cannot be told apart: from now on turns are taken.
    let mut first = ruled.client("/mcp/r").await;
    let mut open = first.stream("tools/call", named("first")).await;
    news(&mut open, LONG).await.expect("a question");
    let mut second = ruled.client("/mcp/r").await;
    let (_, answer) = to_the_end(second.stream("tools/call", named("second")).await).await;
    assert_eq!(text_of(&answer), "second", "{answer}");

    let mut slow = ruled.client("/mcp/r").await;
    let turn = slow.stream("tools/call", named("slow")).await;
    let begun = until(LONG, || (ruled.calls("slow") > 0).then_some(())).await;
    begun.expect("it has the turn");
    let waiting = second.stream("tools/call", named("late")).await;
    ruled.deny("late").await;
    assert_eq!(ruled.calls("late"), 0, "it stands in line");
    // The turn is given back.
    slow.send(http::Method::DELETE, &[], "").await;
    drop(turn);
    let (_, answer) = to_the_end(waiting).await;
    assert!(is_refused(&answer), "{answer}");
    assert_eq!(ruled.calls("late"), 0, "{}", ruled.scripted.record());
}

#[tokio::test]
async fn the_next_round_is_decided_when_it_leaves() {
    let params = form("q")["params"].clone();
    let wants = json!({"resultType": "input_required", "requestState": "s",
        "inputRequests": {"k": {"method": "elicitation/create", "params": params}}});
    let asks = json!({"method": "tools/call", "match": "\"late\"", "reply": wants.to_string()});
    let [_, hello] = able_to(&json!({"tools": {}}));
    let ruled = Ruled::start("modern", &[hello, tools(&["late"]), asks]).await;
    let mut client = ruled.client("/mcp/r").await;
    let mut stream = client.stream("tools/call", named("late")).await;
    let question = news(&mut stream, LONG).await.expect("a question");
    ruled.deny("late").await;
    let yes = json!({"action": "accept", "content": {"x": "y"}});
    let yes = json!({"jsonrpc": "2.0", "id": question["id"], "result": yes});
    client.post(yes.to_string()).await;
    let (_, answer) = to_the_end(stream).await;
    assert!(is_refused(&answer), "{answer}");
    assert_eq!(ruled.calls("late"), 1, "{}", ruled.scripted.record());
}

#[tokio::test]
async fn what_was_parked_is_decided_when_its_client_comes_back() {
    let script = [tools(&["late"]), asks("late")];
    let ruled = Ruled::start("legacy", &script).await;
    let mut client = ruled.gateway.client("/mcp/r");
    client.deadline = LONG;
    let mut params = named("late");
    let asked = client.modern("tools/call", params.clone()).await.message();
    let requests = asked["result"]["inputRequests"].as_object();
    let (key, _) = requests
        .and_then(|all| all.iter().next())
        .unwrap_or_else(|| panic!("{asked}"));
    ruled.deny("late").await;
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = json!({key: {"action": "accept", "content": {"x": "y"}}});
    let answer = client.modern("tools/call", params).await.message();
    assert!(is_refused(&answer), "{answer}");
    // The server is told that nobody waits, and not what was answered.
    let over = until(LONG, || {
        let record = ruled.scripted.record();
        record.contains("notifications/cancelled").then_some(record)
    });
    let record = over.await.expect("it is given up");
    assert!(!record.contains("\"accept\""), "{record}");
}
