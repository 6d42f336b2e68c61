//! Counting.

use crate::{Args, Era};
use serde_json::{Value, json};
use std::time::Duration;

/// What one or several clients saw.
#[derive(Default)]
pub struct Stats {
    /// How many clients are in this sum.
    pub clients: usize,
    micros: Vec<u32>,
    errors: u64,
    first_error: Option<String>,
}

impl Stats {
    /// One client that has not called yet.
    pub fn one() -> Self {
        Self {
            clients: 1,
            ..Self::default()
        }
    }

    /// Calls that were answered.
    pub fn calls(&self) -> usize {
        self.micros.len()
    }

    /// Notes an answered call.
    pub fn call(&mut self, took: Duration) {
        self.micros
            .push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
    }

    /// Notes a failure.
    pub fn error(&mut self, error: &anyhow::Error) {
        self.errors += 1;
        self.first_error.get_or_insert_with(|| format!("{error:#}"));
    }

    /// Adds another client's.
    pub fn add(&mut self, other: Self) {
        self.clients += other.clients;
        self.errors += other.errors;
        self.micros.extend(other.micros);
        self.first_error = self.first_error.take().or(other.first_error);
    }

    /// The result line.
    pub fn json(&mut self, args: &Args, elapsed: Duration) -> Value {
        self.micros.sort_unstable();
        json!({
            "count": self.micros.len(),
            "errors": self.errors,
            "firstError": self.first_error,
            "p50Us": percentile(&self.micros, 50),
            "p99Us": percentile(&self.micros, 99),
            "maxUs": self.micros.last(),
            "elapsedMs": elapsed.as_secs_f64() * 1e3,
            "perSecond": self.micros.len() as f64 / elapsed.as_secs_f64(),
            "clients": args.clients,
            "bytes": args.bytes,
            "era": if args.era == Era::Legacy { "legacy" } else { "modern" },
        })
    }
}

/// The smallest value that `percent` of all are not above.
fn percentile(sorted: &[u32], percent: usize) -> Option<u32> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let hundred: Vec<u32> = (1..=100).collect();
        assert_eq!(percentile(&hundred, 50), Some(50));
        assert_eq!(percentile(&hundred, 99), Some(99));
        assert_eq!(percentile(&[7], 99), Some(7));
        assert_eq!(percentile(&[], 50), None);
    }
}
