//! How long to wait before connecting again.

use crate::limits;
use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

/// Waits that grow with every failure, with full jitter so that many clients of
/// a server that came back do not come back together.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Something came: the next wait is a first one again.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// How many connections in a row brought nothing.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// The next wait. What the server asked for is kept to, within bounds, and
    /// is exact the first time: the specification says so.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Duration {
        let step = limits::BACKOFF_STEP
            .saturating_mul(1 << self.failures.min(5))
            .min(limits::LONGEST_BACKOFF);
        let first = self.failures == 0;
        self.failures = self.failures.saturating_add(1);
        match asked.map(|asked| asked.clamp(limits::SHORTEST_BACKOFF, limits::LONGEST_BACKOFF)) {
            Some(asked) if first => asked,
            Some(asked) => (asked + step.mul_f64(random())).min(limits::LONGEST_BACKOFF),
            None => step.mul_f64(random()),
        }
    }
}

/// A random number from 0 to 1. The hasher's keys are random, which is enough to spread waits.
fn random() -> f64 {
    (RandomState::new().build_hasher().finish() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_asks_for_is_kept_within_bounds() {
        for (asked, wait) in [
            (0, limits::SHORTEST_BACKOFF),
            (500, Duration::from_millis(500)),
            (1_000_000_000_000, limits::LONGEST_BACKOFF),
        ] {
            assert_eq!(
                Backoff::default().next(Some(Duration::from_millis(asked))),
                wait
            );
        }
    }

    #[test]
    fn waits_grow_up_to_the_cap_and_are_spread() {
        let longest = |failures: u32| {
            let mut backoff = Backoff { failures };
            (0..200)
                .map(|_| {
                    Backoff {
                        failures: backoff.failures.min(failures),
                    }
                    .next(None)
                })
                .max()
                .unwrap_or_else(|| backoff.next(None))
        };
        assert!(longest(0) <= limits::BACKOFF_STEP);
        assert!(longest(3) > limits::BACKOFF_STEP * 2);
        assert!(
            longest(40) <= limits::LONGEST_BACKOFF && longest(40) > limits::LONGEST_BACKOFF / 2
        );
        let waits: std::collections::HashSet<_> = (0..50)
            .map(|_| Backoff { failures: 9 }.next(None))
            .collect();
        assert!(waits.len() > 40, "no jitter");
    }
}
