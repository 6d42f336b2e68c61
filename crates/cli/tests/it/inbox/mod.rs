//! Everything that waits for a person, and whoever answers it.

mod answerers;
mod asked_both;
mod bounded;
mod by_hand;
mod commands;
mod desktop;
mod in_the_clients_place;
mod on_screen;
mod pages;
mod standing;
mod typed;
mod webhook;
mod withdrawn;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::{
    EventStream, HttpClient, LEGACY, Program,
    world::{World, echo, shell_server},
};

/// How long anything may take to be there.
const LONG: Duration = Duration::from_secs(60);

/// A gateway whose tool `count` somebody is asked about, with what asks and answers.
struct Stage {
    world: World,
    gateway: Program,
    url: String,
}

/// What settings say besides: who is asked, what is recorded.
fn settings(approvals: &Value, server: &[&str]) -> Value {
    json!({
        "mcpServers": {"e": echo(server)},
        "permissions": {"ask": ["mcp__e__count"]},
        "approvals": approvals,
        "observe": {"audit": {"sync": "each"}},
    })
}

impl Stage {
    /// With these settings for `approvals` in front of an echo server with these options.
    async fn new(approvals: &Value, server: &[&str]) -> Self {
        let world = World::repository();
        world.write_settings(&settings(approvals, server));
        Self::serve(world).await
    }

    async fn serve(world: World) -> Self {
        let gateway = world.gateway_with(&[]).await;
        let url = gateway.url().await;
        Self {
            world,
            gateway,
            url,
        }
    }

    /// In front of a server whose tool is described as something else since a client has
    /// seen it, where what changes is held.
    async fn with_a_changed_definition() -> Self {
        let world = World::repository();
        let folder = world.path("home/repo");
        world.write("home/repo/says", "as it was");
        world.write_settings(&json!({
            "mcpServers": {"s": shell_server("", "", &folder)},
            "permissions": {"pins": "hold"},
        }));
        let stage = Self::serve(world).await;
        let mut client = stage.client("/mcp/s");
        hello(&mut client, &json!({})).await;
        let listed = client.request("tools/list", json!({})).await;
        assert!(listed.to_string().contains("as it was"), "{listed}");
        stage.world.write("home/repo/says", "something else");
        stage
    }

    /// A client at a path, with the token that is made by itself.
    fn client(&self, path: &str) -> HttpClient {
        self.with_token(path, &self.world.token("tokens/default"))
    }

    fn with_token(&self, path: &str, token: &str) -> HttpClient {
        HttpClient::new(&format!("{}{path}", self.url))
            .header("authorization", &format!("Bearer {token}"))
    }

    /// A legacy client that can do this.
    async fn legacy(&self, capabilities: &Value) -> HttpClient {
        let mut client = self.client("/mcp/e");
        hello(&mut client, capabilities).await;
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

    /// What waits, as the API has it.
    async fn waiting(&self) -> Vec<Value> {
        let (status, said) = self.api(Method::GET, "questions", &Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{said}");
        said["questions"].as_array().unwrap().clone()
    }

    /// The question of this kind, once it is there.
    async fn question(&self, kind: &str) -> Value {
        let limit = tokio::time::Instant::now() + LONG;
        loop {
            let all = self.waiting().await;
            if let Some(found) = all.iter().find(|one| one["kind"] == kind) {
                return found.clone();
            }
            assert!(tokio::time::Instant::now() < limit, "no {kind}: {all:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until nothing waits.
    async fn nothing_waits(&self) {
        let limit = tokio::time::Instant::now() + LONG;
        while !self.waiting().await.is_empty() {
            assert!(tokio::time::Instant::now() < limit, "something still waits");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until this one is over.
    async fn over(&self, question: &Value) {
        let limit = tokio::time::Instant::now() + LONG;
        while self
            .waiting()
            .await
            .iter()
            .any(|one| one["id"] == question["id"])
        {
            assert!(
                tokio::time::Instant::now() < limit,
                "{question} still waits"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Answers a question.
    async fn answer(&self, question: &Value, answer: &Value) -> (StatusCode, Value) {
        self.api(Method::POST, &at(question), answer).await
    }

    /// How often the server was called.
    async fn counted(&self) -> String {
        let mut client = self.legacy(&json!({})).await;
        let answer = client.call("counted", json!({})).await;
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_default().to_owned()
    }
}

fn at(question: &Value) -> String {
    format!("questions/{}", question["id"].as_str().unwrap())
}

/// The handshake of a client that can do this.
async fn hello(client: &mut HttpClient, capabilities: &Value) {
    let params = json!({"protocolVersion": LEGACY, "capabilities": capabilities,
        "clientInfo": {"name": "asker", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let reply = client.post(hello.to_string()).await;
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    client.headers.insert("mcp-session-id".into(), session);
    client
        .headers
        .insert("mcp-protocol-version".into(), LEGACY.into());
}

/// A call of a tool, to be read as it comes.
async fn begun(client: &mut HttpClient, tool: &str) -> EventStream {
    let params = json!({"name": tool, "arguments": {}});
    client.stream("tools/call", params).await
}

/// A call as a task of its own; its answer.
fn calling(mut client: HttpClient, tool: &str) -> tokio::task::JoinHandle<Value> {
    let tool = tool.to_owned();
    tokio::spawn(async move { client.call(&tool, json!({})).await })
}

/// A modern call of a client that can be asked nothing; its answer.
fn calling_modern(mut client: HttpClient, tool: &str) -> tokio::task::JoinHandle<Value> {
    let params = json!({"name": tool, "arguments": {}, "_meta": {
        "io.modelcontextprotocol/clientCapabilities": {}}});
    tokio::spawn(async move {
        let reply = client.modern("tools/call", params).await;
        let messages = reply.messages();
        messages.last().cloned().unwrap_or_default()
    })
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}
