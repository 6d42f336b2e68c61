//! `tool_use` in, `tool_result` out.

use super::{Agent, AgentEvent, Group, own_tools::Own};
use crate::{dialogue::Dialogue, limits, operator::Question};
use bytes::Bytes;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::{collections::BTreeMap, pin::pin, sync::Arc, time::Instant};
use switchboard_host::{CallError, Server};
use switchboard_model::{
    ModelTool, Verdict,
    shape::{Origin, Shaped},
};
use switchboard_tasks as tasks;
use switchboard_wire::{Method, code, json as raw};
use tokio::time::timeout;

/// A call as a model wants it.
#[derive(Clone, Debug)]
struct Wanted {
    id: String,
    name: String,
    arguments: Value,
}

/// What came of it, for any API.
struct Outcome {
    blocks: Vec<Value>,
    text: String,
    failed: bool,
}

impl Outcome {
    fn failed(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            blocks: vec![json!({ "type": "text", "text": text })],
            text,
            failed: true,
        }
    }
}

impl Agent {
    /// Carries out a `tool_use` block of the Claude API and gives the
    /// `tool_result` block. It never fails: what goes wrong is told to the model.
    pub async fn call(&self, tool_use: &Value) -> Value {
        self.call_with(tool_use, None).await
    }

    /// The same with `_meta` for the server, as the caller has it.
    pub async fn call_with(&self, tool_use: &Value, meta: Option<&Value>) -> Value {
        let wanted = Wanted::of_claude(tool_use);
        let outcome = self.carry_out(&wanted, meta).await;
        claude(&wanted, outcome)
    }

    /// Carries out several `tool_use` blocks: those that change nothing side by
    /// side, the others of each server in the order given. Results are in the order given.
    pub async fn call_all(&self, tool_uses: &[Value]) -> Vec<Value> {
        let wanted: Vec<Wanted> = tool_uses.iter().map(Wanted::of_claude).collect();
        let toolset = self.known_tools();
        // Each group is carried out one after the other, the groups side by side.
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut of_server: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, wanted) in wanted.iter().enumerate() {
            match toolset.find(&wanted.name) {
                Some(tool) if !tool.annotations.may_run_in_parallel() => {
                    let group = *of_server.entry(&tool.server).or_insert_with(|| {
                        groups.push(Vec::new());
                        groups.len() - 1
                    });
                    groups[group].push(at);
                }
                _ => groups.push(vec![at]),
            }
        }
        let wanted = &wanted;
        let each = groups.iter().map(|group| async move {
            let mut results = Vec::new();
            for at in group {
                let outcome = self.carry_out(&wanted[*at], None).await;
                results.push((*at, claude(&wanted[*at], outcome)));
            }
            results
        });
        let mut results: Vec<(usize, Value)> = join_all(each).await.into_iter().flatten().collect();
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// Carries out a `tool_call` of OpenAI's chat completions and gives the
    /// message that answers it.
    pub async fn call_openai(&self, tool_call: &Value) -> Value {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let function = &tool_call["function"];
        let wanted = Wanted {
            id: text(&tool_call["id"]),
            name: text(&function["name"]),
            // A model's text that is no JSON fails the check, with a reason.
            arguments: match function["arguments"].as_str() {
                Some("") | None => json!({}),
                Some(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
            },
        };
        let outcome = self.carry_out(&wanted, None).await;
        json!({ "role": "tool", "tool_call_id": wanted.id, "content": outcome.text })
    }

    async fn carry_out(&self, wanted: &Wanted, meta: Option<&Value>) -> Outcome {
        if !wanted.arguments.is_object() {
            return Outcome::failed("The arguments must be a JSON object.");
        }
        match self
            .run_own(&wanted.name, &wanted.arguments.to_string())
            .await
        {
            Some(Own::Text(text, failed)) => {
                return Outcome {
                    blocks: vec![json!({ "type": "text", "text": text })],
                    text,
                    failed,
                };
            }
            Some(Own::Blocks(blocks)) => {
                let text = plain(&blocks);
                return Outcome {
                    blocks,
                    text,
                    failed: false,
                };
            }
            None => {}
        }
        let mut toolset = self.known_tools();
        if toolset.find(&wanted.name).is_none() {
            // It may be new, or its server not asked yet.
            toolset = self.tools().await;
        }
        let Some(tool) = toolset.find(&wanted.name) else {
            return Outcome::failed(format!("There is no tool named {}.", wanted.name));
        };
        let Some((group, server)) = self.place(&tool.server) else {
            return Outcome::failed(format!("Server {:?} is gone.", tool.server));
        };
        let mut arguments = wanted.arguments.clone();
        tool.renames.restore(&mut arguments);
        let arguments = arguments.to_string();
        let checked = self
            .inner
            .validators
            .check(&tool.input_schema, arguments.as_bytes());
        if let Verdict::Invalid(invalid) = checked.await {
            return Outcome::failed(format!(
                "The call was not made: the arguments are not as the tool wants them: {invalid}"
            ));
        }
        let (started, name) = (Instant::now(), tool.name.clone());
        self.tell(AgentEvent::Started { tool: name.clone() });
        let sent = self.send(group, server, tool, &arguments, meta);
        let answer = self.watched(&name, started, sent).await;
        let elapsed = started.elapsed();
        let outcome = match answer {
            Ok(result) => self.shaped(tool, result).await,
            Err(fault) => Outcome::failed(fault.to_string()),
        };
        let failed = outcome.failed;
        self.tell(AgentEvent::Ended {
            tool: name,
            elapsed,
            failed,
        });
        outcome
    }

    /// Tells every now and then that a call is still running.
    async fn watched<T>(&self, tool: &str, started: Instant, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        loop {
            match timeout(limits::STILL_RUNNING, &mut call).await {
                Ok(done) => return done,
                Err(_) => {
                    let elapsed = started.elapsed();
                    self.tell(AgentEvent::Running {
                        tool: tool.to_owned(),
                        elapsed,
                    });
                }
            }
        }
    }

    /// Sends the call, in its server's queue unless it changes nothing; again
    /// if the server first wants pages visited.
    async fn send(
        &self,
        group: &Group,
        server: &Arc<Server>,
        tool: &ModelTool,
        arguments: &str,
        meta: Option<&Value>,
    ) -> Result<Bytes, CallError> {
        let queue = group.queue(server);
        let _turn = match tool.annotations.may_run_in_parallel() {
            true => None,
            false => Some(queue.lock().await),
        };
        let meta = meta
            .map(|meta| format!(",\"_meta\":{meta}"))
            .unwrap_or_default();
        let params = format!(
            "{{\"name\":{},\"arguments\":{arguments}{meta}}}",
            raw::quote(&tool.tool)
        );
        let dialogue = self.dialogue(group, server);
        let mut visits = 0;
        loop {
            match dialogue.request(Method::ToolsCall, &params).await {
                Err(CallError::Refused(error))
                    if error.code == code::URL_ELICITATION_REQUIRED
                        && visits < limits::PAGE_VISITS =>
                {
                    visits += 1;
                    let pages = error.data.as_ref().map(|data| &data["elicitations"]);
                    let pages = pages.and_then(Value::as_array).cloned();
                    if !self.visited(server, pages.unwrap_or_default()).await {
                        return Err(CallError::Refused(error));
                    }
                }
                other => return other,
            }
        }
    }

    /// Whether the operator has visited all pages.
    async fn visited(&self, server: &Server, pages: Vec<Value>) -> bool {
        let mut all = !pages.is_empty();
        for params in pages {
            let question = Question {
                server: server.name().clone(),
                method: Method::ElicitationCreate,
                params,
            };
            let answer = self.inner.operator.elicit(&question).await;
            all &= answer.is_ok_and(|answer| answer["action"] == "accept");
        }
        all
    }

    /// The result as a model can read it.
    async fn shaped(&self, tool: &ModelTool, result: Bytes) -> Outcome {
        let doubt = self.doubt(tool, &result).await;
        let shaper = self.inner.setup.shaper.clone();
        let (server, name, max_chars) = (
            tool.server.clone(),
            tool.tool.clone(),
            tool.max_result_chars,
        );
        // Images take real time.
        let shaped = tasks::blocking(move || {
            let origin = Origin {
                server: &server,
                tool: &name,
                max_chars,
            };
            shaper.shape(&origin, &result)
        });
        match shaped.await {
            Ok(Ok(shaped)) => outcome(&shaped, doubt),
            Ok(Err(unexpected)) => Outcome::failed(unexpected.to_string()),
            Err(fault) => Outcome::failed(format!("The result could not be read: {fault}")),
        }
    }

    /// What is wrong with a structured result, if anything.
    async fn doubt(&self, tool: &ModelTool, result: &[u8]) -> Option<String> {
        let schema = tool.output_schema.as_ref()?;
        let span = raw::field(result, "structuredContent").ok()??;
        match self.inner.validators.check(schema, span.of(result)).await {
            Verdict::Invalid(invalid) => Some(format!(
                "[The result is not as the tool's outputSchema says: {invalid}]"
            )),
            Verdict::Valid | Verdict::Unchecked(_) => None,
        }
    }

    pub(super) fn dialogue(&self, group: &Group, server: &Arc<Server>) -> Dialogue {
        Dialogue::new(
            group.host.clone(),
            group.client.clone(),
            server.clone(),
            self.inner.operator.clone(),
        )
    }
}

impl Group {
    fn queue(&self, server: &Server) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = self.queues.lock();
        queues.entry(server.name().clone()).or_default().clone()
    }
}

impl Wanted {
    fn of_claude(tool_use: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            id: text(&tool_use["id"]),
            name: text(&tool_use["name"]),
            arguments: match &tool_use["input"] {
                Value::Null => json!({}),
                input => input.clone(),
            },
        }
    }
}

fn outcome(shaped: &Shaped, doubt: Option<String>) -> Outcome {
    let (mut blocks, mut text) = (shaped.to_claude(), shaped.to_text());
    if let Some(doubt) = doubt {
        text = format!("{text}\n{doubt}");
        blocks.push(json!({ "type": "text", "text": doubt }));
    }
    Outcome {
        blocks,
        text,
        failed: shaped.is_error(),
    }
}

fn claude(wanted: &Wanted, outcome: Outcome) -> Value {
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": wanted.id,
        "content": outcome.blocks,
    });
    if outcome.failed {
        block["is_error"] = Value::Bool(true);
    }
    block
}

fn plain(blocks: &[Value]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    texts.join("\n")
}
