//! Bytes one after the other, in segments of one size: what is new is written behind what is
//! there, and what is old goes from the beginning. A place in it is a number that grows for
//! as long as it is there.
//!
//! What is kept of ten thousand calls does not fit into the processor's cache, so that every
//! write meets memory that nobody has touched for long. One after the other the processor
//! fetches it before it is asked for; at ten thousand places it waits for each.

use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Log {
    segments: VecDeque<Box<[u8]>>,
    /// Where the first of them begins.
    base: u64,
    /// Where the next bytes stand.
    head: u64,
    /// How large a segment is.
    size: usize,
    /// One that was given back, for the next.
    spare: Option<Box<[u8]>>,
}

impl Log {
    /// With segments of this size.
    pub(super) fn of(size: usize) -> Self {
        Self {
            segments: VecDeque::new(),
            base: 0,
            head: 0,
            size,
            spare: None,
        }
    }

    /// How many bytes there may be in one piece.
    pub(super) fn most(&self) -> usize {
        self.size / 2
    }

    /// Where the next bytes will stand, or later.
    pub(super) fn head(&self) -> u64 {
        self.head
    }

    /// What it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        (self.segments.len() + usize::from(self.spare.is_some())) * self.size
    }

    /// What it would take more with so many bytes.
    pub(super) fn more(&self, length: usize) -> usize {
        match self.has_room(length) || self.spare.is_some() {
            true => 0,
            false => self.size,
        }
    }

    fn has_room(&self, length: usize) -> bool {
        let end = self.base + (self.segments.len() * self.size) as u64;
        let offset = (self.head - self.base) as usize % self.size;
        self.head < end && self.size - offset >= length
    }

    /// Room for so many bytes in one piece, no more than there may be, and where it is.
    pub(super) fn add(&mut self, length: usize) -> (u64, &mut [u8]) {
        if !self.has_room(length) {
            self.head = self.base + (self.segments.len() * self.size) as u64;
            let new = self.spare.take();
            let new = new.unwrap_or_else(|| vec![0; self.size].into_boxed_slice());
            self.segments.push_back(new);
        }
        let (at, offset) = (self.head, (self.head - self.base) as usize);
        self.head += length as u64;
        let start = offset % self.size;
        let segment = &mut self.segments[offset / self.size];
        (at, &mut segment[start..start + length])
    }

    /// The bytes that stand at a place, with all that comes after them in their segment.
    pub(super) fn at(&self, at: u64) -> &[u8] {
        let offset = at.checked_sub(self.base);
        let offset = offset.and_then(|offset| usize::try_from(offset).ok());
        let segment = offset.and_then(|offset| {
            let segment = self.segments.get(offset / self.size)?;
            segment.get(offset % self.size..)
        });
        segment.unwrap_or_default()
    }

    /// Nobody wants anything from before this place.
    pub(super) fn forget_before(&mut self, at: u64) {
        while self.base + self.size as u64 <= at
            && let Some(free) = self.segments.pop_front()
        {
            self.base += self.size as u64;
            self.spare.get_or_insert(free);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_stands_there_until_it_is_forgotten() {
        let mut log = Log::of(100);
        let mut places = Vec::new();
        for number in 0..50_u8 {
            let length = 1 + usize::from(number) % 50;
            assert!(length <= log.most());
            let more = log.more(length);
            let before = log.bytes();
            let (at, room) = log.add(length);
            room.fill(number);
            assert_eq!(log.bytes(), before + more);
            places.push((at, length));
            let oldest = usize::from(number).saturating_sub(8);
            log.forget_before(places[oldest].0);
            for (which, (at, length)) in places.iter().enumerate().skip(oldest) {
                assert_eq!(log.at(*at)[..*length], vec![which as u8; *length]);
            }
            assert!(log.bytes() <= 1_000, "{}", log.bytes());
        }
        assert_eq!(log.at(0), b"");
        log.forget_before(log.head());
        assert!(log.bytes() <= 200);
    }
}
