//! How long things took, in buckets that grow with the time: ten in each decade, so
//! that quantiles of what was counted are right within a sixth.
//!
//! Their bounds hold those that are shown to Prometheus, so that what is shown is
//! exact. Counting one is an addition to two numbers, without a lock.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// The upper bounds of the buckets in one decade, in tenths of its beginning.
const STEPS: [u64; 10] = [10, 12, 15, 20, 25, 30, 40, 50, 60, 80];

/// From ten microseconds to a bit more than a day, which is as long as a call may take.
// tidy: the shape of a histogram, not a cap
const DECADES: usize = 10;

/// How many buckets there are: the last is for all that took longer.
// tidy: the shape of a histogram, not a cap
const BUCKETS: usize = STEPS.len() * DECADES + 1;

/// The upper bounds, in microseconds. A time belongs where it is not above the bound.
const BOUNDS: [u64; BUCKETS - 1] = bounds();

const fn bounds() -> [u64; BUCKETS - 1] {
    let mut all = [0; BUCKETS - 1];
    let (mut at, mut scale) = (0, 1);
    while at < BUCKETS - 1 {
        all[at] = STEPS[at % STEPS.len()] * scale;
        at += 1;
        if at.is_multiple_of(STEPS.len()) {
            scale *= 10;
        }
    }
    all
}

/// The bounds that are shown, in microseconds, with how they are written in seconds.
pub(super) const SHOWN: [(u64, &str); 18] = [
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_000, "0.002"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (20_000, "0.02"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (200_000, "0.2"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_000_000, "2"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (30_000_000, "30"),
    (60_000_000, "60"),
    (120_000_000, "120"),
    (300_000_000, "300"),
];

/// Counts of times.
pub(super) struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    /// All of them together, in microseconds.
    sum: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
            sum: AtomicU64::new(0),
        }
    }
}

impl Histogram {
    /// Counts one.
    pub(super) fn add(&self, took: Duration) {
        let micros = micros(took);
        self.buckets[bucket(micros)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(micros, Ordering::Relaxed);
    }

    /// As it is now.
    pub(super) fn now(&self) -> Counts {
        Counts {
            buckets: self
                .buckets
                .each_ref()
                .map(|one| one.load(Ordering::Relaxed)),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// A time in microseconds.
pub(super) fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

/// Where the times begin that have as many binary digits as the place says: from there
/// it is three steps at most.
const BEGINNINGS: [u8; 65] = {
    let mut all = [0; 65];
    let (mut digits, mut at) = (1, 0);
    while digits < all.len() {
        let least = 1_u64 << (digits - 1);
        while at < BOUNDS.len() && BOUNDS[at] < least {
            at += 1;
        }
        all[digits] = at as u8;
        digits += 1;
    }
    all
};

fn bucket(micros: u64) -> usize {
    let digits = u64::BITS - micros.leading_zeros();
    let mut at = usize::from(BEGINNINGS[digits as usize]);
    while BOUNDS.get(at).is_some_and(|bound| *bound < micros) {
        at += 1;
    }
    at
}

/// What a histogram held at one moment. Several can be added up.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    buckets: [u64; BUCKETS],
    sum: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            buckets: [0; BUCKETS],
            sum: 0,
        }
    }
}

impl Counts {
    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// All of them together, in seconds.
    pub(super) fn sum(&self) -> f64 {
        self.sum as f64 / 1e6
    }

    /// How many took no longer than each of the bounds that are shown.
    pub(super) fn shown(&self) -> [u64; SHOWN.len()] {
        SHOWN.map(|(bound, _)| {
            let ends = BOUNDS.partition_point(|one| *one <= bound);
            self.buckets[..ends].iter().sum()
        })
    }

    /// Adds others to these.
    pub(super) fn add(&mut self, others: &Self) {
        for (one, other) in self.buckets.iter_mut().zip(&others.buckets) {
            *one += other;
        }
        self.sum += others.sum;
    }

    /// The upper bound of each bucket that is not empty, in microseconds, and how many are
    /// in it. What is in the last one took longer than any bound.
    pub(super) fn filled(&self) -> Vec<(u64, u64)> {
        let bounds = BOUNDS.iter().copied().chain([u64::MAX]);
        let all = bounds.zip(self.buckets);
        all.filter(|(_, here)| *here > 0).collect()
    }

    /// The time that this share of them did not exceed, in seconds; none where there
    /// are none. Within a bucket they are taken to be spread evenly.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let wanted = share * count as f64;
        let mut before = 0.0;
        for (at, here) in self.buckets.iter().enumerate() {
            let here = *here as f64;
            if here > 0.0 && before + here >= wanted {
                let lower = at.checked_sub(1).map_or(0, |at| BOUNDS[at]) as f64;
                let upper = BOUNDS.get(at).map_or(lower, |bound| *bound as f64);
                let part = ((wanted - before) / here).clamp(0.0, 1.0);
                return Some((lower + (upper - lower) * part) / 1e6);
            }
            before += here;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_exact() {
        for (bound, text) in SHOWN {
            assert!(BOUNDS.contains(&bound), "{text} is no bound of a bucket");
            assert_eq!(text.parse::<f64>().unwrap() * 1e6, bound as f64);
        }
        assert!(BOUNDS.is_sorted());
        assert_eq!(BOUNDS[0], 10);
        assert_eq!(*BOUNDS.last().unwrap(), 80_000_000_000);
        let times = Histogram::default();
        for micros in [0, 500, 501, 1_000, 1_001, 300_000_001, u64::MAX / 2] {
            times.add(Duration::from_micros(micros));
        }
        let shown = times.now().shown();
        assert_eq!(shown[..3], [2, 4, 5]);
        assert_eq!(*shown.last().unwrap(), 5);
        assert_eq!(times.now().count(), 7);
    }

    #[test]
    fn quantiles_are_near() {
        let times = Histogram::default();
        for millis in 1..=1000 {
            times.add(Duration::from_millis(millis));
        }
        let now = times.now();
        for (share, expected) in [(0.5, 0.5), (0.95, 0.95), (0.99, 0.99)] {
            let found = now.quantile(share).unwrap();
            assert!(
                (found - expected).abs() < expected / 6.0,
                "{share}: {found}"
            );
        }
        assert_eq!(Counts::default().quantile(0.5), None);
        let mut both = now.clone();
        both.add(&now);
        assert_eq!(both.count(), 2000);
        assert!((both.sum() - 1001.0).abs() < 0.001);
    }
}
