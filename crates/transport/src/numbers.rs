//! Maps by numbers of our own.

use std::hash::{BuildHasherDefault, Hasher};

/// For maps whose keys are numbers that we gave out ourselves, one after the
/// other: nobody can choose them so that they collide, and the standard hash,
/// which guards against that, takes longer than what is done with the entry.
pub type ByNumber = BuildHasherDefault<NumberHasher>;

/// Spreads numbers over all bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct NumberHasher(u64);

/// 2^64 divided by the golden ratio, odd.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(26) ^ number).wrapping_mul(SPREAD);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::ByNumber;
    use std::{collections::HashSet, hash::BuildHasher};

    #[test]
    fn numbers_in_a_row_are_spread_at_both_ends() {
        let hashes = |from: u64| (from..from + 4096).map(|n| ByNumber::default().hash_one(n));
        for from in [0, 1 << 20, u64::MAX - 4096] {
            let tops: HashSet<u64> = hashes(from).map(|hash| hash >> 57).collect();
            let ends: HashSet<u64> = hashes(from).map(|hash| hash & 0xfff).collect();
            assert_eq!(tops.len(), 128, "{from}");
            assert_eq!(ends.len(), 4096, "{from}");
        }
    }
}
