//! The messages of a call, for whoever reads them. All calls that are watched wait for the one
//! lock: under it a few messages are copied at a time, and put together without it.

use super::{
    Crossing, Kept, Ring, Text,
    head::{Head, How},
    large::Large,
};
use crate::limits;
use bytes::Bytes;
use std::{ops::Range, time::Duration};

/// How far somebody has read: from the last message of a call to its first.
struct Reading {
    call: u64,
    /// How often all was forgotten before: places are others after that.
    cleared: u64,
    /// Where the next message stands.
    next: Option<u64>,
    /// How much room the next few take at the most, and how many they are.
    room: (usize, usize),
}

/// A message as it was copied.
struct Taken {
    head: Head,
    /// Where what stood behind its head is in all that was copied.
    own: Range<usize>,
    /// What is large of it, in its order.
    large: Vec<Bytes>,
}

impl Ring {
    /// The messages of a call, and how many more there were.
    pub(crate) fn of_call(&self, call: u64) -> Option<(Vec<Crossing>, u32)> {
        let (mut reading, missing) = self.kept.lock().begin_reading(call)?;
        let mut all = Vec::new();
        while reading.next.is_some() {
            let mut room = Vec::with_capacity(reading.room.0);
            let mut copies = Vec::with_capacity(reading.room.1);
            let is_there = self
                .kept
                .lock()
                .copy_some(&mut reading, &mut room, &mut copies);
            if !is_there {
                return None;
            }
            let room = Bytes::from(room);
            all.extend(copies.into_iter().map(|copy| {
                let own = room.slice(copy.own);
                (copy.head, own, copy.large)
            }));
        }
        all.reverse();
        Some((self.joined(all), missing))
    }

    /// How many bytes the messages of a call have.
    pub(crate) fn weight(&self, call: u64) -> usize {
        self.kept.lock().weight(call)
    }

    /// The messages of which these are the heads, what stood behind them and what is large.
    fn joined(&self, all: Vec<(Head, Bytes, Vec<Bytes>)>) -> Vec<Crossing> {
        let mut before = Bytes::new();
        let each = all.into_iter().map(|(head, own, large)| {
            let text = match head.how {
                How::Nowhere => None,
                How::Here => {
                    let same = before.len().saturating_sub(head.same as usize);
                    let same = before.slice(same..);
                    Some(Text(match head.same {
                        0 => vec![own.clone()],
                        _ => vec![own.clone(), same],
                    }))
                }
                How::Parts => Some(Text(Large::parts(&own, large))),
            };
            before = own;
            Crossing {
                at: self.since + Duration::from_nanos(head.at),
                edge: head.edge,
                length: head.length as usize,
                text,
            }
        });
        each.collect()
    }
}

impl Kept {
    fn begin_reading(&mut self, call: u64) -> Option<(Reading, u32)> {
        let cleared = self.cleared;
        let place = self.place(call)?;
        let reading = Reading {
            call,
            cleared,
            next: place.last,
            room: (
                place.cost.min(limits::TAP_COPIED),
                usize::from(place.messages).min(limits::TAP_COPIED_MESSAGES),
            ),
        };
        Some((reading, place.missing()))
    }

    /// Copies a few messages; whether they are still there.
    fn copy_some(
        &mut self,
        reading: &mut Reading,
        room: &mut Vec<u8>,
        copies: &mut Vec<Taken>,
    ) -> bool {
        if self.cleared != reading.cleared || self.place(reading.call).is_none() {
            return false;
        }
        let place = &self.places[super::index(reading.call)];
        while copies.len() < limits::TAP_COPIED_MESSAGES
            && let Some((head, own)) = reading.next.and_then(|at| Head::read(self.log.at(at)))
        {
            if !room.is_empty() && room.len() + own.len() > limits::TAP_COPIED {
                return true;
            }
            let from = room.len();
            room.extend_from_slice(own);
            let large = place.large.as_deref().filter(|_| head.how == How::Parts);
            copies.push(Taken {
                head,
                own: from..room.len(),
                large: large.map_or_else(Vec::new, |large| large.listed(own)),
            });
            reading.next = head.before;
        }
        // What cannot be read is the end of it, as it is where there is no more.
        if copies.len() < limits::TAP_COPIED_MESSAGES {
            reading.next = None;
        }
        true
    }

    fn weight(&mut self, call: u64) -> usize {
        let mut next = self.place(call).and_then(|place| place.last);
        let mut weight = 0;
        while let Some((head, _)) = next.and_then(|at| Head::read(self.log.at(at))) {
            weight += head.length as usize;
            next = head.before;
        }
        weight
    }
}
