//! An agent loop: a model wants tools called, the agent calls them, until the
//! model has nothing left to do.
//!
//! The model here is a script, so that the example runs without a key and
//! without a network. A real one takes the same requests over HTTP.

#![allow(dead_code, reason = "the test of this example has a main of its own")]

use serde_json::{Value, json};
use switchboard::{Agent, host::permission::Mode, library};

/// What a messages API does: takes a request, gives a message.
pub trait Model {
    /// The model's next message.
    fn answer(&mut self, request: &Value) -> Value;
}

/// Turns without an end are a mistake.
const TURNS: usize = 20;

/// Runs the loop; gives the conversation.
pub async fn converse(agent: &Agent, model: &mut impl Model, task: &str) -> Vec<Value> {
    let mut messages = vec![json!({"role": "user", "content": task})];
    for _ in 0..TURNS {
        // Asked for anew each turn: servers come and go, and a search shows more.
        let tools = agent.tools().await;
        let request = json!({
            "model": "scripted",
            "max_tokens": 1024,
            "system": agent.instructions().unwrap_or_default(),
            "tools": tools.to_anthropic(),
            "messages": messages,
        });
        let answer = model.answer(&request);
        messages.push(json!({"role": "assistant", "content": answer["content"]}));
        if answer["stop_reason"] != "tool_use" {
            break;
        }
        let wanted: Vec<Value> = answer["content"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|block| block["type"] == "tool_use")
            .cloned()
            .collect();
        let results = agent.call_all(&wanted).await;
        messages.push(json!({"role": "user", "content": results}));
    }
    messages
}

/// A model that follows a script.
#[derive(Debug, Default)]
pub struct Scripted {
    /// The requests that it got.
    pub requests: Vec<Value>,
}

impl Model for Scripted {
    fn answer(&mut self, request: &Value) -> Value {
        self.requests.push(request.clone());
        let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
        match self.requests.len() {
            1 => json!({
                "stop_reason": "tool_use",
                "content": [
                    {"type": "text", "text": "I look at the system."},
                    call("a", "mcp__system__health", json!({})),
                    call("b", "mcp__system__no_such_tool", json!({})),
                ],
            }),
            _ => json!({
                "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "All is well."}],
            }),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tokio::runtime::Runtime::new()?.block_on(async {
        let agent = Agent::builder()
            .server(library::system())
            .mode(Mode::Bypass)
            .build()?;
        let messages = converse(&agent, &mut Scripted::default(), "Is everything well?").await;
        agent.close().await;
        #[expect(clippy::print_stdout, reason = "an example shows what it did")]
        for message in messages {
            println!("{message}");
        }
        Ok(())
    })
}
