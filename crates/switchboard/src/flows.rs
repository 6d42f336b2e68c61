//! How the flows of built-in servers reach other servers: through the host, as
//! whoever called the flow, so that they find what their caller finds and are
//! refused what their caller is refused.

use crate::spec::LateHost;
use serde_json::{Value, json};
use std::{pin::Pin, sync::Weak};
use switchboard_builtin::tools::{self, FlowCallError, ToolCall};
use switchboard_host::{CallError, Callers};
use switchboard_wire::{Kind, Message};

/// Calls other servers for the flows of one copy of a server.
pub(crate) struct Flows {
    host: LateHost,
    callers: Callers,
}

impl Flows {
    pub(crate) fn new(host: LateHost, callers: Callers) -> Self {
        Self { host, callers }
    }

    async fn run(&self, call: &ToolCall) -> Result<Value, FlowCallError> {
        let host = self.host.get().and_then(Weak::upgrade);
        let host = host.ok_or_else(|| fault("the gateway is closing"))?;
        let behalf = call.request.and_then(|request| self.callers.of(request));
        let behalf = behalf.ok_or_else(|| fault("whoever called the flow has gone"))?;
        let unknown = || fault(format!("there is no server {:?}", call.server));
        let server = host.server(&call.server).ok_or_else(unknown)?;
        let params = json!({
            "name": call.tool, "arguments": call.arguments, "_meta": call.meta,
        });
        let params = params.to_string();
        let reply = behalf.call_tool(&host, server, &params).await;
        let reply = reply.map_err(|why| refused(&why))?;
        result(&reply.message)
    }
}

impl tools::Caller for Flows {
    fn call(
        &self,
        call: ToolCall,
    ) -> Pin<Box<dyn Future<Output = Result<Value, FlowCallError>> + Send + '_>> {
        Box::pin(async move {
            // Giving up the exchange cancels the call at its server.
            let cancel = call.cancel.clone();
            match cancel.run_until_cancelled(self.run(&call)).await {
                Some(ended) => ended,
                None => Err(fault("cancelled")),
            }
        })
    }
}

fn result(message: &Message) -> Result<Value, FlowCallError> {
    if message.kind() == Kind::Error {
        let text = message.error_text();
        return Err(fault(text.unwrap_or_else(|| "no reason was given".into())));
    }
    let result: Value = serde_json::from_slice(message.body())
        .map_err(|why| fault(format!("the result cannot be read: {why}")))?;
    if result["resultType"] == "input_required" {
        return Err(fault("the tool asks for input, which a flow cannot give"));
    }
    Ok(result)
}

/// What any client would be told, and no more: a tool that is not permitted is
/// not there.
fn refused(why: &CallError) -> FlowCallError {
    fault(why.to_error().message)
}

fn fault(message: impl ToString) -> FlowCallError {
    FlowCallError {
        message: message.to_string(),
    }
}
