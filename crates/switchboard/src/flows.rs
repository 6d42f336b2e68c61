//! How the flows of built-in servers reach other servers: through the host, so
//! that they find what everybody finds and are refused what everybody is refused.

use crate::{
    caller::{Caller, Voices},
    spec::LateHost,
};
use serde_json::Value;
use std::{pin::Pin, sync::Weak};
use switchboard_builtin::tools::{self, CallFault, ToolCall};
use switchboard_host::{CallError, operator::Nobody};
use switchboard_wire::{Kind, Message};

/// Calls other servers for flows.
pub(crate) struct Flows {
    host: LateHost,
    voices: Voices,
}

impl Flows {
    pub(crate) fn new(host: LateHost) -> Self {
        Self {
            host,
            voices: Voices::shared(),
        }
    }

    async fn run(&self, call: &ToolCall) -> Result<Value, CallFault> {
        let host = self.host.get().and_then(Weak::upgrade);
        let host = host.ok_or_else(|| fault("the gateway is closing"))?;
        let unknown = || fault(format!("there is no server {:?}", call.server));
        let server = host.server(&call.server).ok_or_else(unknown)?;
        let caller = Caller::speaking(host, &self.voices);
        let met = caller.meet(&server).await.map_err(|why| refused(&why))?;
        let arguments = Value::Object(call.arguments.clone()).to_string();
        let reply = caller
            .call_with(&met, &call.tool, &arguments, &call.meta, &Nobody)
            .await
            .map_err(|why| refused(&why))?;
        result(&reply.message)
    }
}

impl tools::Caller for Flows {
    fn call(
        &self,
        call: ToolCall,
    ) -> Pin<Box<dyn Future<Output = Result<Value, CallFault>> + Send + '_>> {
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

fn result(message: &Message) -> Result<Value, CallFault> {
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
fn refused(why: &CallError) -> CallFault {
    fault(why.to_error().message)
}

fn fault(message: impl ToString) -> CallFault {
    CallFault {
        message: message.to_string(),
    }
}
