//! One invocation, on the way of every other call.

use super::shape::{Failure, Invocation};
use crate::gateway::Gateway;
use bytes::Bytes;
use std::sync::Arc;
use switchboard_host::{
    Admitted, CallError, Client, Event, Outcome, Scope,
    catalog::{List, MergedItem},
    observe::Trace,
};
use switchboard_model::Verdict;
use switchboard_wire::{Kind, Message, Method, Params, code, json as text};

/// Calls the tool; gives the text of its result.
pub(super) async fn run(
    gateway: &Gateway,
    client: &Arc<Client>,
    wanted: &Invocation,
    trace: Trace,
) -> Result<Bytes, Failure> {
    let host = gateway.host();
    let mut found = host.known(client, List::Tools).find(&wanted.name).cloned();
    if found.is_none() {
        // It may be new, or its server not asked yet.
        found = host
            .merged(client, List::Tools)
            .await
            .find(&wanted.name)
            .cloned();
    }
    if let Some(found) = &found {
        check(gateway, found, &wanted.parameters).await?;
    }
    let message =
        Message::parse(request(wanted)).map_err(|fault| Failure::malformed(fault.to_string()))?;
    let params = Params::of(&message).map_err(|error| Failure::malformed(error.message))?;
    let admitted = Admitted {
        client: client.clone(),
        scope: Scope::All,
        message,
        params,
        headers: None,
        trace,
        passes_on: false,
    };
    // What is not found goes the same way, so that whoever watches calls hears of it.
    let mut exchange = host.call(admitted).await.map_err(|fault| match found {
        Some(_) => failed(fault),
        None => Failure::unknown_tool(&wanted.name),
    })?;
    let outcome = loop {
        match exchange.next().await {
            Event::Outcome(outcome) => break outcome,
            // There is nobody to ask.
            Event::Input(input) => input.refuse_unsupported(),
            Event::Notice(_) => {}
        }
    };
    let reply = match outcome {
        Outcome::Reply(reply) => reply,
        Outcome::Failed(fault) => return Err(failed(fault)),
        Outcome::Begun(_) => return Err(failed(CallError::broke_off())),
    };
    if reply.message.kind() == Kind::Error {
        let said = reply
            .message
            .error_text()
            .unwrap_or_else(|| "Unknown error".into());
        return Err(match reply.message.error_code() {
            Some(code::INVALID_PARAMS) => Failure::parameters(said),
            _ => Failure::execution(said),
        });
    }
    let result = reply.message.body_bytes();
    if text::field(&result, "isError")
        .ok()
        .flatten()
        .is_some_and(|span| span.of(&result) == b"true")
    {
        return Err(Failure::execution(first_text(&result)));
    }
    Ok(result)
}

/// `tools/call` with the parameters as they came.
fn request(wanted: &Invocation) -> Bytes {
    let mut out = Vec::with_capacity(wanted.parameters.len() + wanted.name.len() + 96);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
    out.extend_from_slice(Method::ToolsCall.as_str().as_bytes());
    out.extend_from_slice(b"\",\"params\":{\"name\":");
    out.extend_from_slice(text::quote(&wanted.name).as_bytes());
    out.extend_from_slice(b",\"arguments\":");
    out.extend_from_slice(&wanted.parameters);
    out.extend_from_slice(b"}}");
    Bytes::from(out)
}

fn failed(fault: CallError) -> Failure {
    match &fault {
        CallError::Refused(error) if error.code == code::INVALID_PARAMS => {
            Failure::parameters(&*error.message)
        }
        _ => Failure::execution(fault.to_string()),
    }
}

fn first_text(result: &[u8]) -> String {
    let content = text::field(result, "content")
        .ok()
        .flatten()
        .map_or(b"[]".as_slice(), |span| span.of(result));
    let mut texts = text::elements(content).filter_map(|span| {
        let block = span.of(content);
        text::text(text::field(block, "text").ok()??.of(block)).map(String::from)
    });
    texts.next().unwrap_or_else(|| "Unknown error".into())
}

/// Whether the parameters are what the tool's schema says.
async fn check(gateway: &Gateway, tool: &MergedItem, parameters: &[u8]) -> Result<(), Failure> {
    let raw = &tool.item.raw;
    let Ok(Some(schema)) = text::field(raw, "inputSchema") else {
        return Ok(());
    };
    match gateway.validators().check(schema.of(raw), parameters).await {
        Verdict::Valid => Ok(()),
        Verdict::Invalid(invalid) => Err(Failure::parameters(invalid.to_string())),
        // The server judges for itself.
        Verdict::Unchecked(why) => {
            tracing::info!(
                tool = tool.outward.as_str(),
                why,
                "the parameters were not checked"
            );
            Ok(())
        }
    }
}
