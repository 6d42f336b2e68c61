//! Tables by ids that we made. Nobody else chooses what is in such a table, and what we make is
//! random, so that no hash is needed which keeps its numbers secret: every request has its session
//! looked for, under an id of up to a hundred characters.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};
use switchboard_local::mixed;

/// What has an id of ours.
pub(super) type ByOwnId<T> = HashMap<String, T, BuildHasherDefault<Mixed>>;

/// A hash that costs little.
#[derive(Default)]
pub(super) struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = mixed(self.0, bytes);
    }

    /// The end of a text, whose length is in it already.
    fn write_u8(&mut self, _: u8) {}

    fn finish(&self) -> u64 {
        // A table takes its place from the lower bits and a mark from the upper ones.
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::HashSet, hash::BuildHasher};
    use switchboard_local::random;

    #[test]
    fn ids_that_differ_a_little_are_told_apart() {
        let hash = |id: &str| BuildHasherDefault::<Mixed>::default().hash_one(id);
        let one = format!("r1.{}", random::id().expect("randomness"));
        let mut all = HashSet::from([hash(&one)]);
        for at in 0..one.len() {
            let mut other = one.clone().into_bytes();
            other[at] ^= 1;
            let other = String::from_utf8(other).expect("text");
            assert!(all.insert(hash(&other)), "{one} and {other}");
        }
    }

    #[test]
    fn places_are_evenly_used() {
        let mut places = [0_u32; 64];
        for _ in 0..64 * 100 {
            let id = random::id().expect("randomness");
            let hash = BuildHasherDefault::<Mixed>::default().hash_one(&*id);
            places[(hash % 64) as usize] += 1;
        }
        let (least, most) = (places.iter().min(), places.iter().max());
        assert!(least >= Some(&50) && most <= Some(&170), "{places:?}");
    }
}
