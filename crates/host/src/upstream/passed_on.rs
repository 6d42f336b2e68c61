//! Answers that have begun and are still passed on. Their calls are over, so that nothing
//! that arrives can be about them; what they come over is in use until they have ended.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// How many there are on one connection.
#[derive(Debug, Default)]
pub(super) struct Passing(Arc<AtomicUsize>);

/// One of them, for as long as this is kept.
#[derive(Debug)]
pub(crate) struct PassedOn(Arc<AtomicUsize>);

impl Passing {
    pub(super) fn begin(&self) -> PassedOn {
        self.0.fetch_add(1, Ordering::AcqRel);
        PassedOn(self.0.clone())
    }

    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Drop for PassedOn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::super::calls::Calls;
    use std::sync::Arc;

    #[test]
    fn what_is_passed_on_is_under_way_until_its_end() {
        let calls = Calls::new(Arc::default());
        assert!(calls.is_empty());
        let (one, other) = (calls.passing().begin(), calls.passing().begin());
        assert_eq!((calls.len(), calls.is_empty()), (2, false));
        drop(one);
        assert!(!calls.is_empty(), "its connection is in use");
        assert!(calls.numbers().is_empty(), "but nothing is told of it");
        drop(other);
        assert!(calls.is_empty());
    }
}
