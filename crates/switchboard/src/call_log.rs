//! What is logged of a call of the program's own: that it leaves, every now and
//! then that it runs, and its end, in whichever way.

use std::{pin::pin, time::Instant};
use switchboard_host::{CallError, Reply, limits};
use switchboard_local::spoken;
use switchboard_wire::{Kind, json};
use tokio::time::timeout;

/// One call. Where it is dropped before its end it was given up.
pub(crate) struct CallLog<'a> {
    server: &'a str,
    tool: &'a str,
    started: Instant,
    over: bool,
}

impl<'a> CallLog<'a> {
    /// It leaves.
    pub(crate) fn begin(server: &'a str, tool: &'a str) -> Self {
        tracing::info!(server, tool, "call");
        Self {
            server,
            tool,
            started: Instant::now(),
            over: false,
        }
    }

    /// Until it ends.
    pub(crate) async fn follow(
        mut self,
        call: impl Future<Output = Result<Reply, CallError>>,
    ) -> Result<Reply, CallError> {
        let mut call = pin!(call);
        let done = loop {
            match timeout(limits::STILL_RUNNING, &mut call).await {
                Ok(done) => break done,
                Err(_) => {
                    let after = spoken(self.started.elapsed());
                    tracing::info!(
                        server = self.server,
                        tool = self.tool,
                        after,
                        "call still running"
                    );
                }
            }
        };
        self.over = true;
        let took = spoken(self.started.elapsed());
        let (server, tool) = (self.server, self.tool);
        match &done {
            Err(fault) => tracing::info!(server, tool, took, %fault, "call failed"),
            Ok(reply) => {
                let failed = is_error(reply);
                tracing::info!(server, tool, took, failed, "call ended");
            }
        }
        done
    }
}

impl Drop for CallLog<'_> {
    fn drop(&mut self) {
        if !self.over {
            // Given up by whoever made it, which is no failure.
            let took = spoken(self.started.elapsed());
            tracing::info!(
                server = self.server,
                tool = self.tool,
                took,
                "call cancelled"
            );
        }
    }
}

fn is_error(reply: &Reply) -> bool {
    let body = reply.message.body();
    let said = json::field(body, "isError").ok().flatten();
    reply.message.kind() == Kind::Error || said.is_some_and(|span| span.of(body) == b"true")
}
