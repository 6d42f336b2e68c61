//! Messages of calls, as they crossed: as many as there is room for, the oldest calls
//! give way.
//!
//! A call's number is its place, as in the list of calls: each place has a lock of its own,
//! and no message is looked for. Pieces are copied: a message on its way is part of the
//! buffer that it was read into, and counts in the budget of whoever it is for. What is small
//! goes into one buffer for each call, which is used again by the call that comes to its
//! place, so that nothing has to be allocated for a call once there were as many as may be.
//! What is large is copied once, and shared by the messages of a call that have it; and where
//! a small message ends as the one before it does, since we pass on what we were told, only
//! its beginning is copied.

use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::{
    mem::{size_of, take},
    ops::Range,
    sync::{
        OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
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
    length: usize,
    text: Written,
    edge: Edge,
}

/// The bytes of a message that is kept.
#[derive(Debug)]
enum Written {
    /// Not kept.
    Nowhere,
    /// In the buffer of the call, as most are: its own beginning, and its end, which is that
    /// of the message before where they are the same.
    Small(Range<u32>, Range<u32>),
    Pieces(Vec<Piece>),
}

/// A part of a message.
#[derive(Debug)]
enum Piece {
    /// In the buffer of the call.
    Small(Range<u32>),
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

/// A place for one call.
#[derive(Debug, Default)]
struct Place {
    /// Whose it is; nobody's where it is none's.
    call: u64,
    kept: Kept,
    /// What of it is counted in all that is kept.
    counted: usize,
}

/// Places that are made at once.
// tidy: a step, not a cap
const CHUNK: usize = 250;

/// Chunks that there may be.
// tidy: follows from a cap, which is in limits.rs
const CHUNKS: usize = limits::TAP_CALLS.div_ceil(CHUNK);

/// Messages are compared by so many bytes at once.
// tidy: a step, not a cap
const SAME: usize = 32;

type Chunk = Box<[Mutex<Place>]>;

/// The messages of all calls that are kept.
#[derive(Debug)]
pub(crate) struct Ring {
    chunks: [OnceLock<Chunk>; CHUNKS],
    /// The call with the highest number, and the first that may not have given way.
    newest: AtomicU64,
    oldest: AtomicU64,
    calls: AtomicUsize,
    bytes: AtomicUsize,
    cap: usize,
    dropped: AtomicU64,
    /// What calls had that gave way before their place was wanted, for those that come.
    spare: Mutex<Vec<Kept>>,
}

// tidy: what a call costs besides its messages
const PER_CALL: usize = size_of::<Place>() + 128;

impl Default for Ring {
    fn default() -> Self {
        Self::of(limits::TAP_BYTES)
    }
}

impl Ring {
    pub(crate) fn of(cap: usize) -> Self {
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
            newest: AtomicU64::new(0),
            oldest: AtomicU64::new(0),
            calls: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            cap,
            dropped: AtomicU64::new(0),
            spare: Mutex::default(),
        }
    }

    fn place(&self, call: u64) -> &Mutex<Place> {
        let at = (call % limits::TAP_CALLS as u64) as usize;
        let chunk = self.chunks[at / CHUNK].get_or_init(|| {
            let places = (0..CHUNK).map(|_| Mutex::default());
            places.collect()
        });
        &chunk[at % CHUNK]
    }

    /// Keeps a message. Whether it is the first of its call.
    pub(crate) fn keep(&self, call: u64, edge: Edge, payload: &Payload) -> bool {
        let mut place = self.place(call).lock();
        let is_new = place.call != call;
        if is_new {
            // What comes after its call gave way stays away, too.
            if edge != Edge::FromClient || place.call > call {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                return false;
            }
            self.give(&mut place, call);
        }
        let is_whole = place.kept.keep(edge, payload, self.cap / limits::TAP_SHARE);
        let bytes = self.count(&mut place);
        drop(place);
        if !is_whole {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        if bytes > self.cap {
            self.make_room(call);
        }
        is_new
    }

    /// Gives a place to a call that begins; whoever had it gives way.
    fn give(&self, place: &mut Place, call: u64) {
        match place.call {
            0 => {
                self.calls.fetch_add(1, Ordering::Relaxed);
                if self.bytes.load(Ordering::Relaxed) > self.cap / 2 {
                    place.kept = self.spare.lock().pop().unwrap_or_default();
                }
            }
            _ => {
                let messages = place.kept.messages.len() as u64;
                self.dropped.fetch_add(messages, Ordering::Relaxed);
                place.kept.clear();
                if place.kept.cost() > limits::TAP_SPARE_BYTES {
                    place.kept = Kept::default();
                }
            }
        }
        place.call = call;
        self.newest.fetch_max(call, Ordering::Relaxed);
    }

    /// Counts what a place takes; what all take then.
    fn count(&self, place: &mut Place) -> usize {
        let cost = match place.call {
            0 => 0,
            _ => place.kept.cost(),
        };
        let before = std::mem::replace(&mut place.counted, cost);
        // What is below nothing comes out right in the sum.
        let more = cost.wrapping_sub(before);
        if more == 0 {
            // Most places have the room already, and cores wait for each other to count.
            return self.bytes();
        }
        let all = self.bytes.fetch_add(more, Ordering::Relaxed);
        all.wrapping_add(more)
    }

    /// The oldest give way to this one: a little more than they must, so that it is not done
    /// for every message.
    #[cold]
    fn make_room(&self, newest: u64) {
        let enough = self.cap - self.cap / limits::TAP_SLACK;
        // Once more from the beginning: one that began long ago may have been passed by.
        for _ in 0..2 {
            let last = self.newest.load(Ordering::Relaxed);
            let first = last.saturating_sub(limits::TAP_CALLS as u64 - 1);
            let mut at = self.oldest.load(Ordering::Relaxed).max(first);
            while at <= last && self.bytes() > enough {
                if at != newest {
                    self.forget(at);
                }
                at += 1;
            }
            self.oldest.store(at, Ordering::Relaxed);
            if self.bytes() <= enough {
                return;
            }
            self.oldest.store(first, Ordering::Relaxed);
        }
    }

    fn forget(&self, call: u64) {
        let mut place = self.place(call).lock();
        if call == 0 || place.call != call {
            return;
        }
        let mut kept = take(&mut place.kept);
        place.call = 0;
        self.count(&mut place);
        drop(place);
        self.calls.fetch_sub(1, Ordering::Relaxed);
        let messages = kept.messages.len() as u64;
        self.dropped.fetch_add(messages, Ordering::Relaxed);
        kept.clear();
        let mut spare = self.spare.lock();
        if kept.cost() <= limits::TAP_SPARE_BYTES && spare.len() < limits::TAP_SPARE {
            spare.push(kept);
        }
    }

    /// The messages of a call, and how many more there were.
    pub(crate) fn of_call(&self, call: u64) -> Option<(Vec<Crossing>, u32)> {
        let place = self.place(call).lock();
        let is_it = call != 0 && place.call == call;
        is_it.then(|| (place.kept.messages(), place.kept.missing))
    }

    pub(crate) fn has(&self, call: u64) -> bool {
        call != 0 && self.place(call).lock().call == call
    }

    pub(crate) fn len(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn cap(&self) -> usize {
        self.cap
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Forgets all of it.
    pub(crate) fn clear(&self) {
        for place in self.chunks.iter().filter_map(OnceLock::get).flatten() {
            let mut place = place.lock();
            if take(&mut place.call) != 0 {
                self.calls.fetch_sub(1, Ordering::Relaxed);
            }
            place.kept = Kept::default();
            self.count(&mut place);
        }
        self.spare.lock().clear();
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
        let mut text = self.copy(payload);
        let has_room = self.cost() <= most;
        if !has_room {
            text = Written::Nowhere;
            self.small.truncate(small);
            self.small.shrink_to_fit();
            self.large.truncate(large);
        }
        self.missing += u32::from(!has_room);
        self.messages.push(Held {
            at: Instant::now(),
            edge,
            length: payload.len(),
            text,
        });
        has_room
    }

    /// A copy of a message.
    fn copy(&mut self, payload: &Payload) -> Written {
        let begun = self.small.len();
        let is_small = |piece: &Bytes| piece.len() < limits::TAP_SHARED_PIECE;
        if !payload.pieces().iter().all(is_small) {
            return self.copy_pieces(payload);
        }
        let Some((last, first)) = payload.pieces().split_last() else {
            return Written::Small(0..0, 0..0);
        };
        let end = self.same_end(last);
        for piece in first {
            self.small.extend_from_slice(piece);
        }
        self.small
            .extend_from_slice(&last[..last.len() - end.len()]);
        Written::Small(range(begun, self.small.len()), end)
    }

    /// The end of the message before that this piece has as well, if it is worth the while.
    fn same_end(&self, piece: &[u8]) -> Range<u32> {
        let before = match self.messages.last().map(|held| &held.text) {
            Some(Written::Small(own, end)) if end.is_empty() => own,
            _ => return 0..0,
        };
        let there = &self.small[before.start as usize..before.end as usize];
        let ((_, these), (_, those)) = (piece.as_rchunks::<SAME>(), there.as_rchunks::<SAME>());
        let both = these.iter().rev().zip(those.iter().rev());
        let same = both.take_while(|(one, other)| one == other).count() * SAME;
        before.end - same as u32..before.end
    }

    fn copy_pieces(&mut self, payload: &Payload) -> Written {
        let mut text = Vec::new();
        let mut begun = self.small.len();
        for piece in payload.pieces() {
            if piece.len() < limits::TAP_SHARED_PIECE {
                self.small.extend_from_slice(piece);
                continue;
            }
            if begun < self.small.len() {
                text.push(Piece::Small(range(begun, self.small.len())));
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
            text.push(Piece::Small(range(begun, self.small.len())));
        }
        Written::Pieces(text)
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
        let of_small = |place: &Range<u32>| small.slice(place.start as usize..place.end as usize);
        let of = |piece: &Piece| match piece {
            Piece::Small(place) => of_small(place),
            Piece::Large(copy) => copy.clone(),
        };
        let told = self.messages.iter().map(|held| Crossing {
            at: held.at,
            edge: held.edge,
            length: held.length,
            text: match &held.text {
                Written::Nowhere => None,
                Written::Small(own, end) => Some(Text(SmallVec::from_iter(
                    [own, end]
                        .into_iter()
                        .filter(|it| !it.is_empty())
                        .map(of_small),
                ))),
                Written::Pieces(pieces) => Some(Text(pieces.iter().map(of).collect())),
            },
        });
        told.collect()
    }
}

/// Where something stands in the buffer of a call, which is never as long as that.
fn range(from: usize, to: usize) -> Range<u32> {
    let short = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    short(from)..short(to)
}

#[cfg(test)]
mod tests;
