//! Requests whose answer was a question, so that the request that brings the answer is
//! linked to them. Kept by what the client has to bring back.

use crate::limits;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    hash::{BuildHasher, RandomState},
};
use switchboard_wire::trace::TraceContext;

/// The last of them.
#[derive(Default)]
pub(super) struct Rounds {
    /// So that nobody can choose states that come to the same.
    secret: RandomState,
    kept: Mutex<VecDeque<(u64, TraceContext)>>,
}

impl Rounds {
    /// Keeps where the request was that has to come back with this state.
    pub(super) fn keep(&self, principal: &str, state: &[u8], at: TraceContext) {
        let key = self.secret.hash_one((principal, state));
        let mut kept = self.kept.lock();
        if kept.len() >= limits::TRACE_ROUNDS {
            kept.pop_front();
        }
        kept.push_back((key, at));
    }

    /// Where the request was that was answered with this state.
    pub(super) fn find(&self, principal: &str, state: &[u8]) -> Option<TraceContext> {
        let key = self.secret.hash_one((principal, state));
        let kept = self.kept.lock();
        let found = kept.iter().rev().find(|(other, _)| *other == key);
        found.map(|(_, at)| at.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_kept_for_whom_they_were_given_to() {
        let at = TraceContext {
            trace: [1; 16],
            span: [2; 8],
            flags: 1,
            state: None,
        };
        let rounds = Rounds::default();
        rounds.keep("a", b"\"x\"", at.clone());
        assert_eq!(rounds.find("a", b"\"x\""), Some(at.clone()));
        assert_eq!(rounds.find("b", b"\"x\""), None);
        for number in 0..limits::TRACE_ROUNDS {
            rounds.keep("a", number.to_string().as_bytes(), at.clone());
        }
        assert_eq!(rounds.find("a", b"\"x\""), None);
        assert_eq!(rounds.kept.lock().len(), limits::TRACE_ROUNDS);
    }
}
