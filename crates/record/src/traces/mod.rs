//! Traces: what becomes of each request, in spans that a collector of OpenTelemetry's
//! gets. A span for the client's request, for the decision about it, for the time that
//! it waits, for each request to a server, and for each question to a person.
//!
//! Spans are made from what an observer is told, and from nothing else: where nobody
//! asks for traces there is no observer. They wait in a bounded queue, from which one
//! task sends them; what finds it full, or cannot be sent, is dropped and counted.

mod attributes;
mod batch;
mod call;
mod export;
mod rounds;
mod sampler;
mod span;
#[cfg(test)]
mod tests;
mod wanted;

pub use export::ExportError;
pub use sampler::Sampler;
pub use wanted::{Protocol, Said, Wanted, WrongSetting};

use batch::Queue;
use call::Call;
use rounds::Rounds;
use std::{fmt, sync::Arc};
use switchboard_host::observe::{Begin, Follow, Observer};
use switchboard_wire::trace::TraceContext;

/// The traces of one gateway.
pub struct Traces {
    shared: Arc<Shared>,
}

/// What all spans have in common.
struct Shared {
    queue: Queue,
    sampler: Sampler,
    /// Servers that get the baggage of a request; `*` is all of them.
    baggage_to: Vec<String>,
    /// Where we are ourselves a part of a trace: what began us said so.
    parent: Option<TraceContext>,
    /// Requests whose answer was a question.
    rounds: Rounds,
}

impl Shared {
    /// Whether the baggage of a request is for this server.
    fn gives_baggage(&self, server: &str) -> bool {
        let mut all = self.baggage_to.iter();
        all.any(|one| one == "*" || one == server)
    }
}

impl Traces {
    /// Begins them. Nothing is sent, and nobody is connected to, before the first span.
    pub fn begin(wanted: Wanted) -> Result<Arc<Self>, ExportError> {
        let exporter = export::exporter(&wanted)?;
        let Wanted {
            sampler,
            baggage_to,
            parent,
            ..
        } = wanted;
        let shared = Arc::new(Shared {
            queue: Queue::begin(exporter),
            sampler,
            baggage_to,
            parent,
            rounds: Rounds::default(),
        });
        Ok(Arc::new(Self { shared }))
    }

    /// Waits until what is queued is sent, as long as that may take.
    pub async fn flush(&self) {
        self.shared.queue.flush().await;
    }

    /// Spans that were dropped so far.
    pub fn dropped(&self) -> u64 {
        self.shared.queue.dropped()
    }
}

impl Observer for Traces {
    fn begin(&self, call: &Begin<'_>) -> Option<Box<dyn Follow>> {
        Some(Box::new(Call::begin(&self.shared, call)))
    }

    fn wants_traces(&self) -> bool {
        true
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces")
            .field("dropped", &self.dropped())
            .finish_non_exhaustive()
    }
}
