//! One tool call of a model, from end to end.

use serde_json::json;
use std::error::Error;
use switchboard::{Agent, host::permission::Mode, library};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let agent = Agent::builder()
        .server(library::system())
        // .server(library::command("files", "npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]))
        .mode(Mode::Auto)
        .trust("system")
        .deny("mcp__system__environment")
        .build()?;
    // For a request to the model; there is also to_openai().
    let tools = agent.tools().await.to_anthropic();
    assert!(
        tools
            .iter()
            .any(|tool| tool["name"] == "mcp__system__health")
    );

    // What the model wants, and what the next request tells it.
    let tool_use =
        json!({"type": "tool_use", "id": "1", "name": "mcp__system__health", "input": {}});
    let tool_result = agent.call(&tool_use).await;
    assert_eq!(tool_result["type"], "tool_result");
    agent.close().await;
    Ok(())
}
