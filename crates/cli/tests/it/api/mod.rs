//! `/api/v1` of a running gateway.

mod attacked;
mod canaries;
mod client;
mod in_step;
mod our_words;
mod planted;
mod proposals;
mod roles;
mod working;

use ::http::Method;
use serde_json::{Value, json};
use switchboard_testkit::{EventStream, HttpClient, Program, world::World};

/// Somebody who asks a gateway, with whatever lets them in.
struct Asker {
    url: String,
    token: Option<String>,
}

impl Asker {
    fn new(url: &str, token: Option<&str>) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
            token: token.map(str::to_owned),
        }
    }

    /// With the control token.
    async fn control(world: &World, gateway: &Program) -> Self {
        Self::new(&gateway.url().await, Some(&world.token("control-token")))
    }

    fn client(&self, path: &str) -> HttpClient {
        let client = HttpClient::new(&format!("{}/api/v1/{path}", self.url));
        let client = client.header("content-type", "application/json");
        match &self.token {
            Some(token) => client.header("authorization", &format!("Bearer {token}")),
            None => client,
        }
    }

    /// The status and what was said, as JSON where it is.
    async fn ask(&self, verb: &str, path: &str, body: &str) -> (u16, Value) {
        let verb = Method::from_bytes(verb.as_bytes()).unwrap();
        let reply = self.client(path).send(verb, &[], body.to_owned()).await;
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        let said = serde_json::from_str(&text).unwrap_or(Value::String(text));
        (reply.status.as_u16(), said)
    }

    async fn get(&self, path: &str) -> Value {
        let (status, said) = self.ask("GET", path, "").await;
        assert_eq!(status, 200, "GET {path}: {said}");
        said
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let (status, said) = self.ask("POST", path, &body.to_string()).await;
        assert_eq!(status, 200, "POST {path}: {said}");
        said
    }

    /// The status of a refusal, and its code.
    async fn refused(&self, verb: &str, path: &str, body: Value) -> (u16, String) {
        let (status, said) = self.ask(verb, path, &body.to_string()).await;
        assert!(status >= 400, "{verb} {path}: {said}");
        let code = said["code"].as_str().unwrap_or_default().to_owned();
        (status, code)
    }

    async fn events(&self, query: &str) -> EventStream {
        self.client(&format!("events?{query}")).listen().await
    }

    /// The same gateway in a session that a fresh code opened.
    async fn session(&self) -> Self {
        let code = self.post("codes", json!({})).await;
        let entered = Self::new(&self.url, None)
            .post("session", json!({ "code": code["code"] }))
            .await;
        assert_eq!(entered["me"]["role"], "admin");
        Self::new(&self.url, entered["token"].as_str())
    }
}
