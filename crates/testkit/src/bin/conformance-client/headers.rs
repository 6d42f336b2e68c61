//! The headers with which 2026-07-28 mirrors requests.

use crate::{answers::filler, peer::Peer};
use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use switchboard_host::catalog::{Item, List};
use switchboard_wire::Method;

/// Everything that the server lists is asked for once.
pub async fn standard(peer: &Peer) -> Result<()> {
    for tool in peer.list(List::Tools).await? {
        peer.call(&tool.key, "{}").await?;
    }
    for resource in peer.list(List::Resources).await? {
        peer.request(Method::ResourcesRead, &json!({"uri": resource.key}))
            .await?;
    }
    for prompt in peer.list(List::Prompts).await? {
        peer.request(Method::PromptsGet, &json!({"name": prompt.key}))
            .await?;
    }
    Ok(())
}

/// The calls that the suite wants to see.
pub async fn custom(peer: &Peer, context: &Value) -> Result<()> {
    let calls = context["toolCalls"]
        .as_array()
        .context("the context holds no toolCalls")?;
    for call in calls {
        let name = call["name"].as_str().context("a call without a name")?;
        peer.call(name, &call["arguments"].to_string()).await?;
    }
    Ok(())
}

/// Calls all tools that are listed: those with bad annotations must not be.
/// Called by name all the same, they must not be reached.
pub async fn invalid_tools(peer: &Peer) -> Result<()> {
    let tools = peer.list(List::Tools).await?;
    let names: Vec<&str> = tools.iter().map(|tool| tool.key.as_str()).collect();
    ensure!(
        names == ["valid_tool"],
        "these tools are offered: {names:?}"
    );
    for tool in &tools {
        peer.call(&tool.key, &arguments(tool)?.to_string()).await?;
    }
    let refused = peer.call("invalid_empty_header", r#"{"value":"x"}"#).await;
    ensure!(refused.is_err(), "a tool with a bad annotation was called");
    Ok(())
}

/// Arguments that fit a tool's schema.
fn arguments(tool: &Item) -> Result<Value> {
    let tool: Value = serde_json::from_slice(&tool.raw)?;
    let properties = tool["inputSchema"]["properties"].as_object();
    let filled: Map<String, Value> = properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), filler(schema)))
        .collect();
    Ok(filled.into())
}
