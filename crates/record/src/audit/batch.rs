//! Records that wait: what each says, one after the other in one piece of memory.
//!
//! A line is made where its call ends, since all that it says is at hand there, and is read
//! once more, from the beginning to the end, by the thread that writes. Nothing that a call
//! holds goes from one thread to another.

use super::pen::{self, Entry};
use std::time::SystemTime;

/// Some records, in their order.
#[derive(Debug, Default)]
pub(super) struct Batch {
    said: Vec<u8>,
    each: Vec<Made>,
}

/// Where a record ends, and when it happened.
#[derive(Debug)]
struct Made {
    time: SystemTime,
    end: usize,
}

impl Batch {
    /// Adds what is said at a time.
    #[inline]
    pub(super) fn push(&mut self, time: SystemTime, said: &[u8]) {
        self.said.extend_from_slice(said);
        let end = self.said.len();
        self.each.push(Made { time, end });
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, entry: &impl Entry) {
        pen::made(entry, |said| self.push(entry.time(), said));
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.each.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// The bytes of what they say.
    pub(super) fn bytes(&self) -> usize {
        self.said.len()
    }

    /// Each of them: when it happened, and what it says.
    pub(super) fn iter(&self) -> impl Iterator<Item = (SystemTime, &[u8])> {
        let mut start = 0;
        self.each.iter().map(move |made| {
            let from = std::mem::replace(&mut start, made.end);
            (made.time, &self.said[from..made.end])
        })
    }

    /// Room for others; what is larger than most are goes.
    pub(super) fn clear(&mut self, most: usize) {
        self.said.clear();
        self.each.clear();
        if self.said.capacity() > most {
            *self = Self::default();
        }
    }
}
