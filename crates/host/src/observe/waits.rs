//! How long a call waits for people: while a question of its is open it is neither ours to
//! be quicker nor the server's.

use super::{Part, PartEnd};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use switchboard_wire::Method;
use tokio::time::Instant;

/// The questions of one call; those that are open at the same time count once.
#[derive(Default)]
pub(super) struct Waits(Mutex<State>);

#[derive(Default)]
struct State {
    open: u32,
    /// Since when one is.
    since: Option<Instant>,
    total: Duration,
}

impl Waits {
    /// Whether it is a person who answers this, and no program.
    pub(super) fn is_for_people(method: Method) -> bool {
        matches!(
            method,
            Method::ElicitationCreate | Method::SamplingCreateMessage
        )
    }

    /// A question is open for as long as this is there.
    pub(super) fn begin(self: &Arc<Self>) -> Box<dyn Part> {
        let mut state = self.0.lock();
        state.open += 1;
        state.since.get_or_insert_with(Instant::now);
        Box::new(Waiting(self.clone()))
    }

    /// How long that was until now.
    pub(super) fn until(&self, now: Instant) -> Duration {
        let state = self.0.lock();
        let open = state
            .since
            .map(|since| now.saturating_duration_since(since));
        state.total + open.unwrap_or_default()
    }
}

struct Waiting(Arc<Waits>);

impl Part for Waiting {
    fn end(self: Box<Self>, _: &PartEnd<'_>) {}
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        state.open = state.open.saturating_sub(1);
        if state.open == 0
            && let Some(since) = state.since.take()
        {
            state.total += since.elapsed();
        }
    }
}
