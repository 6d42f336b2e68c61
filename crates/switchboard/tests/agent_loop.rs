//! The example runs, and a scripted model gets what a real one would.

#![allow(unreachable_pub, reason = "a program has no outside")]

#[path = "../examples/agent_loop.rs"]
mod agent_loop;

use agent_loop::{Scripted, converse};
use switchboard::{Agent, host::permission::Mode, library};

#[tokio::test]
async fn the_loop_of_the_example() {
    let agent = Agent::builder()
        .server(library::system())
        .mode(Mode::Bypass)
        .build()
        .expect("an agent");
    let mut model = Scripted::default();
    let messages = converse(&agent, &mut model, "Is everything well?").await;
    agent.close().await;

    assert_eq!(model.requests.len(), 2);
    let tools = model.requests[0]["tools"].as_array().expect("tools");
    assert!(
        tools
            .iter()
            .any(|tool| tool["name"] == "mcp__system__health")
    );
    assert!(
        tools
            .iter()
            .all(|tool| tool["input_schema"]["type"] == "object")
    );
    let results = messages[2]["content"].as_array().expect("results");
    assert_eq!(results[0]["tool_use_id"], "a");
    assert_eq!(results[0].get("is_error"), None, "{results:?}");
    assert_eq!(results[1]["tool_use_id"], "b");
    assert_eq!(results[1]["is_error"], true);
    assert_eq!(messages[3]["content"][0]["text"], "All is well.");
}
