//! Buffers of large messages, kept for the next ones. Memory that goes back to the system
//! comes again page by page, and each page costs more than what is read into it.

use super::Shared;
use crate::limits;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use switchboard_tasks as tasks;
use tokio::runtime::Handle;

/// The buffers that nobody uses at this moment. They are no part of the count, and few.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
    /// Whether one was given or taken since the last look.
    is_used: bool,
    /// Whether somebody looks.
    is_watched: bool,
}

impl Spare {
    /// An empty buffer for so many bytes, if there is one that is not far too large.
    pub(super) fn take(&self, bytes: usize) -> Option<Vec<u8>> {
        let mut state = self.0.lock();
        let fits = |buffer: &Vec<u8>| (bytes..=2 * bytes).contains(&buffer.capacity());
        let best = state.buffers.iter().enumerate();
        let best = best.filter(|(_, buffer)| fits(buffer));
        let (at, _) = best.min_by_key(|(_, buffer)| buffer.capacity())?;
        let buffer = state.buffers.swap_remove(at);
        state.bytes -= buffer.capacity();
        state.is_used = true;
        Some(buffer)
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.0.lock().bytes
    }

    /// Lets all of them go that were not used for a while; whether there may be more later.
    fn rest(&self) -> bool {
        let mut state = self.0.lock();
        if std::mem::take(&mut state.is_used) {
            return true;
        }
        let state = std::mem::take(&mut *state);
        drop(state);
        false
    }
}

impl Shared {
    /// Keeps a buffer for the next message, where there is room and somebody to look after it.
    pub(super) fn keep_spare(self: &Arc<Self>, mut buffer: Vec<u8>) {
        let capacity = buffer.capacity();
        if !(limits::SPARE_FROM..=limits::SPARE_LARGEST).contains(&capacity)
            || Handle::try_current().is_err()
        {
            return;
        }
        buffer.clear();
        let mut state = self.spare.0.lock();
        // With what is in use they stay within what may be: this much less for each of those.
        let room = self.cap.saturating_sub(self.used());
        if state.bytes + capacity > limits::SPARE_BYTES.min(room) {
            drop(state);
            return;
        }
        state.bytes += capacity;
        state.buffers.push(buffer);
        state.is_used = true;
        let is_watched = std::mem::replace(&mut state.is_watched, true);
        drop(state);
        if !is_watched {
            tasks::spawn(tasks::Kind::Upkeep, watch(Arc::downgrade(self)));
        }
    }
}

/// Looks after the buffers until none is left.
async fn watch(budget: Weak<Shared>) {
    loop {
        tokio::time::sleep(limits::SPARE_LOOK).await;
        if !budget.upgrade().is_some_and(|budget| budget.spare.rest()) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Budget, limits};

    #[tokio::test]
    async fn buffers_are_used_again_within_a_limit_and_go_when_nobody_needs_them() {
        let budget = Budget::default();
        let large = || {
            let mut buffer = budget.buffer(limits::SPARE_FROM);
            buffer.resize(limits::SPARE_FROM, b'x');
            budget.hold(buffer)
        };
        let first = large();
        let place = first.as_ptr();
        drop(first);
        assert_eq!(budget.used(), 0, "what is kept counts for nobody");
        let again = large();
        assert_eq!(again.as_ptr(), place);
        assert_eq!(budget.used(), limits::SPARE_FROM);
        // Many at once: no more are kept than may be.
        let many: Vec<_> = std::iter::repeat_with(large)
            .take(2 * limits::SPARE_BYTES / limits::SPARE_FROM)
            .collect();
        drop((again, many));
        let kept = budget.0.spare.bytes();
        assert!(kept > 0 && kept <= limits::SPARE_BYTES, "{kept}");
        // None of them is handed out for something much smaller, nor for something larger.
        assert_eq!(budget.buffer(1000).capacity(), 1000);
        assert!(budget.buffer(limits::SPARE_FROM + 1).capacity() > limits::SPARE_FROM);
        // They were used since the last look; at the next they were not.
        assert!(budget.0.spare.rest() && budget.0.spare.bytes() == kept);
        assert!(!budget.0.spare.rest() && budget.0.spare.bytes() == 0);
        // And so again, by whoever looks.
        drop(large());
        assert!(budget.0.spare.bytes() > 0);
        while budget.0.spare.bytes() > 0 {
            tokio::time::sleep(limits::SPARE_LOOK / 20).await;
        }
    }

    /// What waits is no reason why there is more in memory than may be.
    #[tokio::test]
    async fn while_the_budget_is_full_nothing_is_kept() {
        let budget = Budget::new(2 * limits::SPARE_FROM);
        let large = || budget.hold(vec![0; limits::SPARE_FROM]);
        let (first, second, third) = (large(), large(), large());
        drop(first);
        assert_eq!(budget.0.spare.bytes(), 0);
        drop(second);
        assert_eq!(budget.0.spare.bytes(), limits::SPARE_FROM);
        drop(third);
        assert_eq!(budget.0.spare.bytes(), 2 * limits::SPARE_FROM);
    }

    #[test]
    fn without_a_runtime_nothing_is_kept() {
        let budget = Budget::default();
        drop(budget.hold(vec![0; limits::SPARE_FROM]));
        assert_eq!(budget.0.spare.bytes(), 0);
    }
}
