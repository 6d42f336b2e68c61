//! A row of calls to other servers' tools, as one tool.

use super::{
    caller::{Caller, FLOW_DEPTH, ToolCall},
    manifest::{FlowManifest, OnError, Step, properties},
    template::{Scope, TemplateError, fill, names},
};
use crate::{answer::Failure, limits, text};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};
use std::{cell::Cell, time::Duration};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// A flow whose references have been checked.
#[derive(Debug)]
pub(super) struct Flow {
    steps: Vec<Step>,
    result: Option<Value>,
    timeout: Duration,
}

/// What one run of a flow needs from outside.
pub(super) struct Call<'c> {
    pub(super) caller: Option<&'c dyn Caller>,
    pub(super) flows: &'c Semaphore,
    pub(super) meta: JsonObject,
    /// The id of the request that is answered.
    pub(super) request: Option<u64>,
    pub(super) cancel: CancellationToken,
    pub(super) over: &'c CancellationToken,
}

/// What is wrong with a flow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FlowError {
    #[error("`steps` must have 1 to {} steps", limits::FLOW_STEPS)]
    Steps,
    #[error("{0:?} is no possible id of a step")]
    Id(String),
    #[error("two steps are called {0}")]
    Twice(String),
    #[error("step {id}: {why}")]
    Step { id: String, why: ReferenceError },
    #[error("`result`: {0}")]
    Result(ReferenceError),
}

/// Something that a template names and that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReferenceError {
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("`inputSchema` has no {0}")]
    Argument(String),
    #[error("there is no earlier step {0}")]
    Step(String),
    #[error("{0:?} is neither args nor steps")]
    Neither(String),
}

impl Flow {
    pub(super) fn new(manifest: &FlowManifest) -> Result<Self, FlowError> {
        if manifest.steps.is_empty() || manifest.steps.len() > limits::FLOW_STEPS {
            return Err(FlowError::Steps);
        }
        let arguments = properties(&manifest.input_schema);
        let mut earlier: Vec<&str> = Vec::new();
        for step in &manifest.steps {
            let id = step.id.as_str();
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if id.is_empty() || !id.chars().all(is_name) {
                return Err(FlowError::Id(id.to_owned()));
            }
            let template = Value::Object(step.arguments.clone());
            check(&template, &arguments, &earlier).map_err(|why| FlowError::Step {
                id: id.to_owned(),
                why,
            })?;
            if earlier.contains(&id) {
                return Err(FlowError::Twice(id.to_owned()));
            }
            earlier.push(id);
        }
        if let Some(result) = &manifest.result {
            check(result, &arguments, &earlier).map_err(FlowError::Result)?;
        }
        Ok(Self {
            steps: manifest.steps.clone(),
            result: manifest.result.clone(),
            timeout: manifest
                .timeout_ms
                .map_or(limits::FLOW_TIME, Duration::from_millis)
                .min(limits::COMMAND_TIME_MAX),
        })
    }

    /// Runs it with these arguments, which fit the schema.
    pub(super) async fn run(
        &self,
        arguments: JsonObject,
        call: Call<'_>,
    ) -> Result<CallToolResult, Failure> {
        // Not waited for: flows that call each other would wait for ever.
        let _running = call
            .flows
            .try_acquire()
            .map_err(|_| Failure::new("too many flows are running").hint("try again later"))?;
        // Dropping the work does not end a call that is under way; this does.
        let cancel = call.cancel.child_token();
        let _ends = cancel.clone().drop_guard();
        tokio::select! {
            result = self.steps(arguments, &call, &cancel) => result,
            () = tokio::time::sleep(self.timeout) => {
                Err(Failure::new(format!("the flow was stopped after {} ms", self.timeout.as_millis())))
            }
            () = call.cancel.cancelled() => Err(Failure::new("cancelled")),
            () = call.over.cancelled() => Err(Failure::new("the client has gone")),
        }
    }

    async fn steps(
        &self,
        arguments: JsonObject,
        call: &Call<'_>,
        cancel: &CancellationToken,
    ) -> Result<CallToolResult, Failure> {
        let caller = call
            .caller
            .ok_or_else(|| Failure::new("flows cannot call from here"))?;
        let meta = deeper(&call.meta)?;
        let args = Value::Object(arguments);
        let mut steps = json!({});
        let mut last = Value::Null;
        let mut kept = 0usize;
        for step in &self.steps {
            let failed = |why: String| Failure::new(format!("step {} failed: {why}", step.id));
            let template = Value::Object(step.arguments.clone());
            let filled = filled(&template, &args, &steps).map_err(|why| failed(why.to_string()))?;
            let arguments = match filled {
                Some(Value::Object(arguments)) => arguments,
                _ => JsonObject::new(),
            };
            let result = caller
                .call(ToolCall {
                    server: step.server.clone(),
                    tool: step.tool.clone(),
                    arguments,
                    meta: meta.clone(),
                    request: call.request,
                    cancel: cancel.clone(),
                })
                .await;
            let mut result = match result {
                Ok(result) => result,
                Err(fault) if step.on_error == OnError::Stop => return Err(failed(fault.message)),
                Err(fault) => json!({
                    "content": [{ "type": "text", "text": fault.message }],
                    "isError": true,
                }),
            };
            let said = said(&result);
            if result["isError"] == true && step.on_error == OnError::Stop {
                return Err(failed(text::cut(&said, 2000)));
            }
            kept = kept.saturating_add(result.to_string().len());
            if kept > limits::FLOW_RESULTS {
                let most = limits::FLOW_RESULTS;
                return Err(failed(format!(
                    "the results so far take more than {most} bytes"
                )));
            }
            if let Value::Object(result) = &mut result {
                last = Value::Object(result.clone());
                result.insert("text".to_owned(), said.into());
            }
            steps[&step.id] = result;
        }
        match &self.result {
            None => passed_on(last),
            Some(template) => {
                let filled = filled(template, &args, &steps);
                let filled = filled.map_err(|why| Failure::new(format!("`result`: {why}")))?;
                Ok(shaped(filled.unwrap_or(Value::Null)))
            }
        }
    }
}

/// What a template names must be there.
fn check(template: &Value, arguments: &[&str], earlier: &[&str]) -> Result<(), ReferenceError> {
    for path in names(template)? {
        let (first, second) = (path[0].as_str(), path[1].as_str());
        match first {
            "args" if arguments.contains(&second) => {}
            "args" => return Err(ReferenceError::Argument(second.to_owned())),
            "steps" if earlier.contains(&second) => {}
            "steps" => return Err(ReferenceError::Step(second.to_owned())),
            other => return Err(ReferenceError::Neither(other.to_owned())),
        }
    }
    Ok(())
}

fn filled(template: &Value, args: &Value, steps: &Value) -> Result<Option<Value>, TemplateError> {
    let room = Cell::new(limits::FLOW_BYTES);
    fill(template, &Scope { args, steps, room })
}

fn deeper(meta: &JsonObject) -> Result<JsonObject, Failure> {
    let depth = meta.get(FLOW_DEPTH).and_then(Value::as_u64).unwrap_or(0);
    let depth = depth.saturating_add(1);
    if depth > limits::FLOWS_DEEP {
        return Err(Failure::new(format!(
            "more than {} flows call each other",
            limits::FLOWS_DEEP
        ))
        .hint("one of them probably calls itself"));
    }
    let mut meta = meta.clone();
    meta.insert(FLOW_DEPTH.to_owned(), depth.into());
    Ok(meta)
}

/// All text of a result.
fn said(result: &Value) -> String {
    let blocks = result["content"].as_array();
    let texts = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The last step's result as the flow's.
fn passed_on(last: Value) -> Result<CallToolResult, Failure> {
    serde_json::from_value(last).map_err(|fault| {
        Failure::new(format!(
            "the last step's result cannot be passed on: {fault}"
        ))
    })
}

/// A value as a result: an object is structured, a text is text.
fn shaped(value: Value) -> CallToolResult {
    match value {
        Value::Object(_) => CallToolResult::structured(value),
        Value::String(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        other => CallToolResult::success(vec![ContentBlock::text(other.to_string())]),
    }
}
