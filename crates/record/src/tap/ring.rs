//! Messages of calls, as they crossed: as many as there is room for, the oldest calls
//! give way.
//!
//! Pieces are copied: a message on its way is part of the buffer that it was read into,
//! and counts in the budget of whoever it is for. What is small goes into one buffer for
//! each call, which is used again when the call gives way, so that nothing has to be
//! allocated for a call once the ring is full. What is large is copied once, and shared by
//! the messages of a call that have it.

use crate::limits;
use bytes::Bytes;
use smallvec::SmallVec;
use std::{
    collections::{HashMap, VecDeque},
    mem::size_of,
    ops::Range,
    time::Instant,
};
use switchboard_host::observe::Edge;
use switchboard_wire::Payload;

/// A message that crossed.
#[derive(Clone, Debug)]
pub(crate) struct Crossing {
    pub(crate) at: Instant,
    pub(crate) edge: Edge,
    pub(crate) length: usize,
    /// Nothing where it is not kept.
    pub(crate) text: Option<Text>,
}

/// The bytes of a message, in pieces.
#[derive(Clone, Debug)]
pub(crate) struct Text(SmallVec<[Bytes; 1]>);

impl Text {
    /// All of it.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        self.0.concat()
    }
}

/// A message as it is kept.
#[derive(Debug)]
struct Held {
    at: Instant,
    edge: Edge,
    length: usize,
    /// Nothing where it is not kept.
    text: Option<SmallVec<[Piece; 1]>>,
}

/// A part of a message.
#[derive(Debug)]
enum Piece {
    /// In the buffer of the call.
    Small(Range<usize>),
    Large(Bytes),
}

/// What is kept of one call.
#[derive(Debug, Default)]
struct Kept {
    messages: Vec<Held>,
    /// All that is small of them.
    small: Vec<u8>,
    /// Large pieces as they were on their way: where they stood, and the copy.
    large: Vec<(usize, Bytes)>,
    missing: u32,
}

/// The messages of all calls that are kept.
#[derive(Debug)]
pub(crate) struct Ring {
    calls: HashMap<u64, Box<Kept>>,
    /// Their numbers, the oldest first.
    order: VecDeque<u64>,
    /// Places of calls that gave way, for those that come.
    #[expect(clippy::vec_box, reason = "the boxes are what is used again")]
    spare: Vec<Box<Kept>>,
    bytes: usize,
    cap: usize,
    dropped: u64,
}

// tidy: what a call costs besides its messages
const PER_CALL: usize = size_of::<Kept>() + 128;

impl Default for Ring {
    fn default() -> Self {
        Self::of(limits::TAP_BYTES)
    }
}

impl Ring {
    pub(crate) fn of(cap: usize) -> Self {
        Self {
            calls: HashMap::new(),
            order: VecDeque::new(),
            spare: Vec::new(),
            bytes: 0,
            cap,
            dropped: 0,
        }
    }

    /// Keeps a message. Whether it is the first of its call.
    pub(crate) fn keep(&mut self, call: u64, edge: Edge, payload: &Payload) -> bool {
        let most = self.cap / limits::TAP_SHARE;
        let (is_whole, is_new) = match self.calls.get_mut(&call) {
            Some(kept) => {
                self.bytes -= kept.cost();
                let is_whole = kept.keep(edge, payload, most);
                self.bytes += kept.cost();
                (is_whole, false)
            }
            // What comes after its call gave way stays away, too.
            None if edge != Edge::FromClient => {
                self.dropped += 1;
                return false;
            }
            None => {
                let mut kept = self.spare.pop().unwrap_or_default();
                let is_whole = kept.keep(edge, payload, most);
                self.bytes += kept.cost();
                self.calls.insert(call, kept);
                self.order.push_back(call);
                (is_whole, true)
            }
        };
        self.dropped += u64::from(!is_whole);
        self.make_room(call);
        is_new
    }

    /// The oldest give way to this one.
    fn make_room(&mut self, newest: u64) {
        while self.bytes > self.cap || self.order.len() > limits::TAP_CALLS {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            if oldest == newest && self.order.is_empty() {
                self.order.push_back(oldest);
                return;
            }
            if oldest == newest {
                self.order.push_back(oldest);
                continue;
            }
            self.forget(oldest);
        }
    }

    fn forget(&mut self, call: u64) {
        if let Some(mut kept) = self.calls.remove(&call) {
            self.bytes -= kept.cost();
            self.dropped += kept.messages.len() as u64;
            kept.clear();
            if kept.cost() <= limits::TAP_SPARE_BYTES && self.spare.len() < limits::TAP_SPARE {
                self.spare.push(kept);
            }
        }
    }

    /// The messages of a call, and how many more there were.
    pub(crate) fn of_call(&self, call: u64) -> Option<(Vec<Crossing>, u32)> {
        let kept = self.calls.get(&call)?;
        Some((kept.messages(), kept.missing))
    }

    pub(crate) fn has(&self, call: u64) -> bool {
        self.calls.contains_key(&call)
    }

    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn cap(&self) -> usize {
        self.cap
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Forgets all of it.
    pub(crate) fn clear(&mut self) {
        *self = Self {
            dropped: self.dropped,
            ..Self::of(self.cap)
        };
    }
}

impl Kept {
    /// What it takes in memory, with room that is not used.
    fn cost(&self) -> usize {
        let large: usize = self.large.iter().map(|(_, copy)| copy.len()).sum();
        let lists = self.messages.capacity() * size_of::<Held>()
            + self.large.capacity() * size_of::<(usize, Bytes)>();
        PER_CALL + lists + self.small.capacity() + large
    }

    fn clear(&mut self) {
        self.messages.clear();
        self.small.clear();
        self.large.clear();
        self.missing = 0;
    }

    /// Keeps a message, if all of the call has room in so many bytes; whether it is kept.
    fn keep(&mut self, edge: Edge, payload: &Payload, most: usize) -> bool {
        if self.messages.len() >= limits::TAP_MESSAGES {
            self.missing += 1;
            return false;
        }
        let (small, large) = (self.small.len(), self.large.len());
        let text = self.copy(payload);
        let has_room = self.cost() <= most;
        if !has_room {
            self.small.truncate(small);
            self.small.shrink_to_fit();
            self.large.truncate(large);
        }
        self.missing += u32::from(!has_room);
        self.messages.push(Held {
            at: Instant::now(),
            edge,
            length: payload.len(),
            text: has_room.then_some(text),
        });
        has_room
    }

    /// A copy of a message.
    fn copy(&mut self, payload: &Payload) -> SmallVec<[Piece; 1]> {
        let mut text = SmallVec::new();
        let mut begun = self.small.len();
        for piece in payload.pieces() {
            if piece.len() < limits::TAP_SHARED_PIECE {
                self.small.extend_from_slice(piece);
                continue;
            }
            if begun < self.small.len() {
                text.push(Piece::Small(begun..self.small.len()));
                begun = self.small.len();
            }
            let known = self.known(piece);
            text.push(Piece::Large(known.unwrap_or_else(|| {
                let copy = Bytes::from(Box::<[u8]>::from(&piece[..]));
                self.large.push((piece.as_ptr() as usize, copy.clone()));
                copy
            })));
        }
        if begun < self.small.len() {
            text.push(Piece::Small(begun..self.small.len()));
        }
        text
    }

    /// A copy of this piece that another message has. Where it stood tells where to look;
    /// whether it is the same its bytes tell.
    fn known(&self, piece: &Bytes) -> Option<Bytes> {
        let at = piece.as_ptr() as usize;
        self.large.iter().rev().find_map(|(start, copy)| {
            let from = at.checked_sub(*start)?;
            let same = copy.get(from..from + piece.len())?;
            (same == &piece[..]).then(|| copy.slice(from..from + piece.len()))
        })
    }

    /// Its messages, for whoever reads them.
    fn messages(&self) -> Vec<Crossing> {
        let small = Bytes::copy_from_slice(&self.small);
        let of = |pieces: &SmallVec<[Piece; 1]>| {
            let pieces = pieces.iter().map(|piece| match piece {
                Piece::Small(place) => small.slice(place.clone()),
                Piece::Large(copy) => copy.clone(),
            });
            Text(pieces.collect())
        };
        let told = self.messages.iter().map(|held| Crossing {
            at: held.at,
            edge: held.edge,
            length: held.length,
            text: held.text.as_ref().map(of),
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(bytes: Bytes) -> Payload {
        Payload::from(bytes)
    }

    #[test]
    fn the_oldest_give_way_and_no_more_is_kept_than_may_be() {
        let mut ring = Ring::of(1024 * 1024);
        let large = Bytes::from(vec![b'x'; 100_000]);
        for call in 1..=50 {
            for edge in [Edge::FromClient, Edge::ToServer] {
                ring.keep(call, edge, &payload(Bytes::from_static(b"{}")));
            }
            ring.keep(call, Edge::FromServer, &payload(large.clone()));
            // What is told is most of what came: it is kept once.
            let mut told = Payload::from(Bytes::from_static(b"{\"id\":7,"));
            told.push(large.slice(10..99_000));
            ring.keep(call, Edge::ToClient, &told);
            assert!(ring.bytes() <= ring.cap(), "{} bytes", ring.bytes());
        }
        assert!(ring.len() >= 9, "{} calls are kept", ring.len());
        assert!(!ring.has(1) && ring.has(50));
        let dropped = (50 - ring.len()) as u64 * 4;
        assert_eq!(ring.dropped(), dropped);
        let (messages, missing) = ring.of_call(50).unwrap();
        assert_eq!((messages.len(), missing), (4, 0));
        let told = messages[3].text.as_ref().unwrap().to_vec();
        assert_eq!(told.len(), messages[3].length);
        assert!(told.starts_with(b"{\"id\":7,xxx"));
    }

    #[test]
    fn a_place_that_is_used_again_tells_nothing_of_who_had_it() {
        let mut ring = Ring::of(8 * 1024);
        let told = |call: u64| format!("{{\"call\":{call}}}");
        for call in 1..=500 {
            for edge in [Edge::FromClient, Edge::ToServer, Edge::FromServer] {
                ring.keep(call, edge, &payload(Bytes::from(told(call))));
            }
            assert!(ring.bytes() <= ring.cap(), "{} bytes", ring.bytes());
            let (messages, missing) = ring.of_call(call).unwrap();
            assert_eq!((messages.len(), missing), (3, 0));
            for one in &messages {
                let text = one.text.as_ref().unwrap().to_vec();
                assert_eq!(text, told(call).as_bytes());
            }
        }
        let left = ring.len() as u64;
        assert!(left > 1);
        let counted: usize = ring.calls.values().map(|kept| kept.cost()).sum();
        assert_eq!(ring.bytes(), counted);
    }

    #[test]
    fn what_is_too_large_or_too_much_is_counted() {
        let mut ring = Ring::of(1024 * 1024);
        let one = payload(Bytes::from_static(b"{}"));
        ring.keep(1, Edge::FromClient, &one);
        let huge = Bytes::from(vec![b'x'; 900_000]);
        ring.keep(1, Edge::FromServer, &payload(huge));
        let (messages, missing) = ring.of_call(1).unwrap();
        assert_eq!((messages.len(), missing), (2, 1));
        assert!(messages[1].text.is_none());
        assert_eq!(messages[1].length, 900_000);
        for _ in 0..limits::TAP_MESSAGES {
            ring.keep(1, Edge::FromServer, &one);
        }
        assert_eq!(ring.of_call(1).unwrap().1, 3);
        // A message of a call that began before anybody looked.
        ring.keep(2, Edge::ToServer, &one);
        assert!(!ring.has(2));
        ring.clear();
        assert_eq!((ring.len(), ring.bytes()), (0, 0));
    }
}
