//! What is logged of a tool call of a client's: that it comes, every now and then
//! that it runs, and its end, in whichever way. Where nobody wants to know, nothing
//! of this is there.

use super::Outcome;
use crate::{
    call::{Admitted, Scope},
    error::CallError,
    limits,
};
use std::{fmt, sync::Arc};
use switchboard_local::spoken;
use switchboard_tasks as tasks;
use switchboard_wire::{Kind, Method, json};
use tokio::{
    task::AbortHandle,
    time::{Instant, sleep},
};

/// One call. Where it is dropped before its end it was given up.
pub(crate) struct CallLog {
    about: Arc<About>,
    /// Tells that it still runs.
    reminder: AbortHandle,
    over: bool,
}

struct About {
    /// As the client names it.
    tool: String,
    principal: Arc<str>,
    started: Instant,
}

impl fmt::Debug for CallLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallLog")
    }
}

impl CallLog {
    /// It comes in, and somebody wants to know.
    pub(crate) fn begin(admitted: &Admitted) -> Option<Box<Self>> {
        if !tracing::enabled!(tracing::Level::DEBUG)
            || admitted.message.method() != Method::ToolsCall
        {
            return None;
        }
        let named = admitted.params.named(&admitted.message).ok();
        let mut tool = named
            .and_then(|(named, _)| named.text().map(str::to_owned))
            .unwrap_or_default();
        if let Scope::One(server) = &admitted.scope {
            tool = format!("{}: {tool}", server.name());
        }
        let about = Arc::new(About {
            tool,
            principal: admitted.client.principal.clone(),
            started: Instant::now(),
        });
        tracing::debug!(tool = about.tool, client = %about.principal, "call");
        let running = about.clone();
        let reminder = tasks::spawn(tasks::Kind::Upkeep, async move {
            // It is aborted at the end of the call.
            while Arc::strong_count(&running) > 1 {
                sleep(limits::STILL_RUNNING).await;
                let after = spoken(running.started.elapsed());
                tracing::debug!(tool = running.tool, after, "call still running");
            }
        });
        Some(Box::new(Self {
            about,
            reminder: reminder.abort_handle(),
            over: false,
        }))
    }

    /// It is over.
    pub(crate) fn end(mut self, outcome: &Outcome) {
        self.over = true;
        let took = spoken(self.about.started.elapsed());
        let tool = &self.about.tool;
        match outcome {
            Outcome::Failed(CallError::Cancelled) => {
                tracing::debug!(tool, took, "call cancelled");
            }
            Outcome::Failed(fault) => tracing::debug!(tool, took, %fault, "call failed"),
            Outcome::Reply(reply) => {
                let body = reply.message.body();
                let said = json::field(body, "isError").ok().flatten();
                let failed = reply.message.kind() == Kind::Error
                    || said.is_some_and(|span| span.of(body) == b"true");
                tracing::debug!(tool, took, failed, "call ended");
            }
        }
    }

    /// It never got to its server.
    pub(crate) fn fail(mut self, fault: &CallError) {
        self.over = true;
        let took = spoken(self.about.started.elapsed());
        tracing::debug!(tool = self.about.tool, took, %fault, "call failed");
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        self.reminder.abort();
        if !self.over {
            // Given up by whoever made it, which is no failure.
            let took = spoken(self.about.started.elapsed());
            tracing::debug!(tool = self.about.tool, took, "call cancelled");
        }
    }
}
