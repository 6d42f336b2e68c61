//! Calls and answers that are held at breakpoints.

mod commands;
mod ends;
mod offered;
mod rules;
mod way;
mod who;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::{
    HttpClient, LEGACY, Program,
    world::{World, echo},
};
use tokio::{task::JoinHandle, time::Instant};

/// How long anything may take to be there.
const LONG: Duration = Duration::from_secs(60);

/// A gateway in front of an echo server, and what sets breakpoints and answers.
struct Stage {
    world: World,
    gateway: Program,
    url: String,
}

impl Stage {
    /// With an echo server of these options.
    async fn new(server: &[&str]) -> Self {
        Self::with(json!({"e": echo(server)}), &json!({})).await
    }

    /// With these servers and rules.
    async fn with(servers: Value, permissions: &Value) -> Self {
        let world = World::repository();
        world.write_settings(&json!({
            "mcpServers": servers,
            "permissions": permissions,
            "observe": {"audit": {"sync": "each", "arguments": true}},
        }));
        let gateway = world.gateway_with(&[]).await;
        let url = gateway.url().await;
        Self {
            world,
            gateway,
            url,
        }
    }

    fn with_token(&self, path: &str, token: &str) -> HttpClient {
        let mut client = HttpClient::new(&format!("{}{path}", self.url))
            .header("authorization", &format!("Bearer {token}"));
        client.deadline = LONG * 2;
        client
    }

    /// A modern client.
    fn modern(&self) -> HttpClient {
        self.with_token("/mcp/e", &self.world.token("tokens/default"))
    }

    /// A client of the handshake era.
    async fn legacy(&self) -> HttpClient {
        self.legacy_as(&self.world.token("tokens/default")).await
    }

    async fn legacy_as(&self, token: &str) -> HttpClient {
        let mut client = self.with_token("/mcp/e", token);
        client.initialize(LEGACY).await;
        client
    }

    /// Asks the gateway under the control token.
    async fn api(&self, verb: Method, path: &str, body: &Value) -> (StatusCode, Value) {
        let token = self.world.token("control-token");
        self.api_as(&token, verb, path, body).await
    }

    async fn api_as(
        &self,
        token: &str,
        verb: Method,
        path: &str,
        body: &Value,
    ) -> (StatusCode, Value) {
        let mut client = self.with_token(&format!("/api/v1/{path}"), token);
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let json = [("content-type", "application/json")];
        let reply = client.send(verb, &json, body).await;
        let said = serde_json::from_slice(&reply.body).unwrap_or(Value::Null);
        (reply.status, said)
    }

    async fn get(&self, path: &str) -> Value {
        let (status, said) = self.api(Method::GET, path, &Value::Null).await;
        assert_eq!(status, 200, "{path}: {said}");
        said
    }

    /// Sets a breakpoint; its id.
    async fn hold(&self, filter: &str, at: &str) -> u64 {
        let set = json!({"filter": filter, "at": at});
        let (status, said) = self.api(Method::POST, "breakpoints", &set).await;
        assert_eq!(status, 200, "{said}");
        let all = said["breakpoints"].as_array().unwrap();
        all.last().unwrap()["id"].as_u64().unwrap()
    }

    /// All that is held now.
    async fn all_held(&self) -> Vec<Value> {
        let said = self.get("questions").await;
        let all = said["questions"].as_array().unwrap().iter();
        all.filter(|one| one["kind"] == "held").cloned().collect()
    }

    /// What is held, once so much is.
    async fn held(&self, count: usize) -> Vec<Value> {
        let limit = Instant::now() + LONG;
        loop {
            let all = self.all_held().await;
            if all.len() == count {
                return all;
            }
            assert!(Instant::now() < limit, "{} held: {all:?}", all.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The one thing that is held.
    async fn one_held(&self) -> Value {
        self.held(1).await.remove(0)
    }

    async fn answer(&self, question: &Value, answer: &Value) -> (StatusCode, Value) {
        self.api(Method::POST, &at(question), answer).await
    }

    /// Answers, which must be taken.
    async fn say(&self, question: &Value, answer: Value) {
        let (status, said) = self.answer(question, &answer).await;
        assert_eq!(status, 200, "{said}");
    }

    /// Waits until a question is this, and says it to whoever answers later.
    async fn is_over(&self, question: &Value, status: &str) {
        let limit = Instant::now() + LONG;
        loop {
            let seen = self.get(&at(question)).await;
            if seen["status"] == status {
                break;
            }
            assert!(Instant::now() < limit, "{seen}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let (code, said) = self.answer(question, &json!({"action": "release"})).await;
        assert_eq!(code, 409, "{said}");
    }

    /// How often the server's tool `count` was called.
    async fn counted(&self) -> String {
        let answer = self.legacy().await.call("counted", json!({})).await;
        text(&answer).to_owned()
    }

    /// The records of this event.
    async fn records(&self, event: &str) -> Vec<Value> {
        let ran = self.world.run(&["audit", "--json"]).await.ok();
        let records = ran
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        records
            .filter(|record: &Value| record["event"] == event)
            .collect()
    }
}

fn at(question: &Value) -> String {
    format!("questions/{}", question["id"].as_str().unwrap())
}

/// A call as a task of its own; its answer.
fn calling(mut client: HttpClient, tool: &str, arguments: Value) -> JoinHandle<Value> {
    let tool = tool.to_owned();
    tokio::spawn(async move { client.call(&tool, arguments).await })
}

/// The same of a modern client.
fn calling_modern(mut client: HttpClient, tool: &str, arguments: Value) -> JoinHandle<Value> {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {
        "io.modelcontextprotocol/clientCapabilities": {}}});
    tokio::spawn(async move {
        let reply = client.modern("tools/call", params).await;
        reply.messages().last().cloned().unwrap_or_default()
    })
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

fn error(answer: &Value) -> &str {
    answer["error"]["message"].as_str().unwrap_or_default()
}
