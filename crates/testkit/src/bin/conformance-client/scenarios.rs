//! What each scenario is about.

use crate::{answers::Given, headers, peer::Peer, rounds, skills};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::{io::Write, sync::Arc};
use switchboard_host::{CallError, catalog::List};
use switchboard_wire::{Method, Revision, json as text};

/// The revision a scenario is spoken in. Extensions are on no revision's list;
/// the skills one is written against the newest.
pub fn revision(scenario: &str, asked: Revision) -> Revision {
    if scenario.starts_with("sep-2640-") {
        Revision::NEWEST
    } else {
        asked
    }
}

/// Does what the scenario is about.
pub async fn run(scenario: &str, peer: &Peer, context: &Value) -> Result<()> {
    match scenario {
        "initialize" | "json-schema-ref-no-deref" => peer.list(List::Tools).await.map(drop),
        "tools_call" => tools_call(peer).await,
        "elicitation-sep1034-client-defaults" => {
            one_tool(peer, "test_client_elicitation_defaults").await
        }
        "requests" => requests(peer, context).await,
        "sse-retry" => one_tool(peer, "test_reconnection").await,
        "json-schema-2020-12-preservation" => schema_preserved(peer).await,
        "request-metadata" => metadata(peer).await,
        "sep-2322-client-request-state" => rounds::run(peer).await,
        "http-standard-headers" => headers::standard(peer).await,
        "http-custom-headers" => headers::custom(peer, context).await,
        "http-invalid-tool-headers" => headers::invalid_tools(peer).await,
        "sep-2640-client-no-prefetch" => skills::listed_only(peer).await,
        "sep-2640-client-verify-digest"
        | "sep-2640-client-verify-size"
        | "sep-2640-client-verify-frontmatter" => skills::forged(peer).await,
        other => bail!("no such scenario here: {other}"),
    }
}

/// Not one of the suite's: makes the requests that it is given, in order, answers questions
/// with what it is given, and prints what came of each.
async fn requests(peer: &Peer, context: &Value) -> Result<()> {
    let given = Arc::new(Given(context["answers"].clone()));
    let dialogue = peer.dialogue().with_operator(given);
    let mut out = Vec::new();
    for request in context["requests"].as_array().context("no requests")? {
        let method = Method::parse(request["method"].as_str().unwrap_or_default());
        let came = dialogue
            .request(method, &request["params"].to_string())
            .await;
        out.push(match came {
            Ok(result) => json!({"result": serde_json::from_slice::<Value>(&result)?}),
            Err(CallError::Refused(error)) => {
                json!({"error": {"code": error.code, "message": error.message}})
            }
            Err(other) => json!({"error": {"message": other.to_string()}}),
        });
    }
    Ok(writeln!(std::io::stdout(), "{}", Value::Array(out))?)
}

async fn tools_call(peer: &Peer) -> Result<()> {
    let tool = peer.tool("add_numbers").await?;
    let result = peer.call(&tool.key, r#"{"a":2,"b":3}"#).await?;
    let sum = result["content"][0]["text"].as_str().unwrap_or_default();
    ensure!(sum.ends_with("is 5"), "the server said {sum:?}");
    Ok(())
}

/// Lists the tools, as clients do, and calls one without arguments.
async fn one_tool(peer: &Peer, name: &str) -> Result<()> {
    let tool = peer.tool(name).await?;
    peer.call(&tool.key, "{}").await.map(drop)
}

/// Sends a tool's schema back in the bytes that came.
async fn schema_preserved(peer: &Peer) -> Result<()> {
    let tool = peer.tool("json_schema_2020_12_tool").await?;
    let schema = text::field(&tool.raw, "inputSchema")?.context("the tool has no schema")?;
    let schema = std::str::from_utf8(schema.of(&tool.raw))?;
    peer.call("json_schema_echo", &format!("{{\"schema\":{schema}}}"))
        .await
        .map(drop)
}

/// The server refuses the first request's version although it supports it; what
/// follows says who we are and what we can do.
async fn metadata(peer: &Peer) -> Result<()> {
    peer.connect().await?;
    match peer.request(Method::ToolsList, &json!({})).await {
        // This server declares no tools, so it is not asked for them: what it saw
        // of us when we met is enough.
        Err(fault) if format!("{fault:#}").contains("did not declare tools") => Ok(()),
        asked => asked.map(drop),
    }
}
