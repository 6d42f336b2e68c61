//! What is logged of a tool call: that it comes, every now and then that it runs,
//! and its end, in whichever way. The program's own calls are news, those of
//! clients are detail; where nobody wants to know, nothing of this is there.

use super::{Begin, End, Ending, Follow, Origin};
use crate::{error::CallError, limits};
use std::sync::Arc;
use switchboard_local::spoken;
use switchboard_tasks as tasks;
use switchboard_wire::Method;
use tokio::{
    task::AbortHandle,
    time::{Instant, sleep},
};
use tracing::Instrument;

/// Whether a call is logged.
#[inline]
pub(super) fn is_wanted(method: Method, origin: Origin) -> bool {
    method == Method::ToolsCall
        && match origin {
            Origin::Client => tracing::enabled!(tracing::Level::DEBUG),
            Origin::Own => tracing::enabled!(tracing::Level::INFO),
        }
}

/// Begins the log of a call.
pub(super) fn begin(call: &Begin<'_>) -> Option<Box<dyn Follow>> {
    if !is_wanted(call.method, call.origin) {
        return None;
    }
    let about = Arc::new(About {
        tool: call.name.unwrap_or_default().to_owned(),
        server: call.server.map(ToString::to_string),
        origin: call.origin,
        started: Instant::now(),
    });
    about.begun(&call.client.principal);
    let running = about.clone();
    let reminder = async move {
        // It is aborted at the end of the call.
        while Arc::strong_count(&running) > 1 {
            sleep(limits::STILL_RUNNING).await;
            running.still_running();
        }
    };
    let reminder = tasks::spawn(tasks::Kind::Upkeep, reminder.in_current_span());
    Some(Box::new(CallLog {
        about,
        reminder: reminder.abort_handle(),
    }))
}

/// The log of one call.
struct CallLog {
    about: Arc<About>,
    /// Tells that it still runs.
    reminder: AbortHandle,
}

struct About {
    /// As its caller names it.
    tool: String,
    server: Option<String>,
    origin: Origin,
    started: Instant,
}

/// One line, at the level that its origin has.
macro_rules! say {
    ($about:expr, $($rest:tt)*) => {{
        let (tool, server) = ($about.tool.as_str(), $about.server.as_deref());
        match $about.origin {
            Origin::Client => tracing::debug!(server, tool, $($rest)*),
            Origin::Own => tracing::info!(server, tool, $($rest)*),
        }
    }};
}

impl About {
    fn begun(&self, principal: &str) {
        say!(self, client = principal, "call");
    }

    fn still_running(&self) {
        let after = spoken(self.started.elapsed());
        say!(self, after, "call still running");
    }
}

impl Follow for CallLog {
    fn end(self: Box<Self>, end: &End<'_>) {
        let took = spoken(end.took);
        match end.ending {
            // Given up by whoever made it, which is no failure.
            Ending::GivenUp | Ending::Failed(CallError::Cancelled) => {
                say!(self.about, took, "call cancelled");
            }
            Ending::Failed(fault) => say!(self.about, took, %fault, "call failed"),
            Ending::Reply(reply) => {
                let failed = reply.message.is_failure();
                say!(self.about, took, failed, "call ended");
            }
        }
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        self.reminder.abort();
    }
}
