//! Messages of calls, as they crossed: as many as there is room for, the oldest calls
//! give way.
//!
//! A call's number is its place, as in the list of calls, and no message is looked for: a
//! place knows the last message of its call, and each message the one before it. Pieces are
//! copied: a message on its way is part of the buffer that it was read into, and counts in the
//! budget of whoever it is for. What is small goes into one [`Log`] for all, one message
//! after the other, and what is written last takes the room of what is oldest. What is large
//! is copied once, and shared by the messages of a call that have it; and where a small
//! message ends as the one before it does, since we pass on what we were told, only its
//! beginning is copied.

mod head;
mod large;
mod log;
mod reading;

use crate::limits;
use bytes::Bytes;
use head::{HEAD, Head, How};
use large::{Copied, Large};
use log::Log;
use parking_lot::Mutex;
use std::{collections::VecDeque, mem::size_of, time::Instant};
use switchboard_host::observe::Edge;

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
pub(crate) struct Text(Vec<Bytes>);

impl Text {
    /// All of it.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        self.0.concat()
    }
}

/// What is kept of one call.
#[derive(Debug, Default)]
struct Place {
    /// Whose it is; nobody's where it is none's.
    call: u64,
    /// The last whose it was: nothing more of that one is kept.
    over: u64,
    /// Where its last message stands, once there is one.
    last: Option<u64>,
    messages: u16,
    /// Those of them that are not kept, but for their heads.
    textless: u16,
    /// Those that came when there were as many as may be.
    further: u32,
    /// What its messages take.
    cost: usize,
    large: Option<Box<Large>>,
}

// They are counted in few bits: a place is small.
const _: () = assert!(limits::TAP_MESSAGES <= u16::MAX as usize);

impl Place {
    /// How many of its messages are not kept.
    fn missing(&self) -> u32 {
        u32::from(self.textless) + self.further
    }
}

/// Messages are compared by so many bytes at once.
// tidy: a step, not a cap
const SAME: usize = 32;

/// The messages of all calls that are kept.
#[derive(Debug)]
pub(crate) struct Ring {
    kept: Mutex<Kept>,
    cap: usize,
    /// Of what has fewer bytes nothing is large.
    small: usize,
    /// Times are from here on.
    since: Instant,
}

#[derive(Debug)]
struct Kept {
    /// Made when there is something to keep.
    places: Vec<Place>,
    log: Log,
    /// Calls in the order in which they came, and where the log was then.
    order: VecDeque<(u64, u64)>,
    calls: usize,
    /// The bytes of all that is large.
    large: usize,
    dropped: u64,
    /// How often all was forgotten.
    cleared: u64,
    cap: usize,
}

// tidy: what a call costs besides its messages
const PER_CALL: usize = size_of::<Place>() + 2 * size_of::<(u64, u64)>();

/// A message as it is to be kept.
struct Told<'a> {
    at: u64,
    edge: Edge,
    length: usize,
    pieces: &'a [Bytes],
    /// Copies of what is large of it, if anything is.
    large: Option<Copied>,
}

impl Default for Ring {
    fn default() -> Self {
        Self::of(limits::TAP_BYTES)
    }
}

impl Ring {
    pub(crate) fn of(cap: usize) -> Self {
        let kept = Kept::of(cap);
        Self {
            small: limits::TAP_SHARED_PIECE.min(kept.log.most().saturating_sub(HEAD)),
            kept: Mutex::new(kept),
            cap,
            since: Instant::now(),
        }
    }

    /// Keeps a message, which is these pieces. Whether it is the first of its call.
    pub(crate) fn keep(&self, call: u64, edge: Edge, pieces: &[Bytes]) -> bool {
        let at = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let length = pieces.iter().map(Bytes::len).sum();
        let few = (length >= self.small).then(|| large::few(pieces, length));
        let few = few.flatten();
        let pieces = few.as_deref().unwrap_or(pieces);
        let told = Told {
            at,
            edge,
            length,
            pieces,
            large: match length < self.small {
                true => None,
                false => self.large(call, pieces),
            },
        };
        self.kept.lock().keep(call, told)
    }

    /// Copies of those pieces that are large, made while nobody waits for it.
    #[cold]
    fn large(&self, call: u64, pieces: &[Bytes]) -> Option<Copied> {
        let (known, most) = {
            let mut kept = self.kept.lock();
            let large = kept.place(call).and_then(|place| place.large.clone());
            (large, kept.log.most().saturating_sub(HEAD))
        };
        Copied::of(pieces, *known.unwrap_or_default(), most)
    }

    pub(crate) fn has(&self, call: u64) -> bool {
        self.kept.lock().place(call).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.kept.lock().calls
    }

    pub(crate) fn bytes(&self) -> usize {
        self.kept.lock().bytes()
    }

    pub(crate) fn cap(&self) -> usize {
        self.cap
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.kept.lock().dropped
    }

    /// Forgets all of it.
    pub(crate) fn clear(&self) {
        let mut kept = self.kept.lock();
        *kept = Kept {
            dropped: kept.dropped,
            cleared: kept.cleared + 1,
            ..Kept::of(self.cap)
        };
    }
}

fn index(call: u64) -> usize {
    (call % limits::TAP_CALLS as u64) as usize
}

impl Kept {
    fn of(cap: usize) -> Self {
        Self {
            places: Vec::new(),
            log: Log::of(limits::TAP_SEGMENT.min(cap / limits::TAP_SEGMENTS)),
            order: VecDeque::new(),
            calls: 0,
            large: 0,
            dropped: 0,
            cleared: 0,
            cap,
        }
    }

    /// The place of a call of which something is kept.
    fn place(&mut self, call: u64) -> Option<&mut Place> {
        let place = self.places.get_mut(index(call))?;
        (call != 0 && place.call == call).then_some(place)
    }

    fn bytes(&self) -> usize {
        self.log.bytes() + self.large + self.calls * PER_CALL
    }

    /// Keeps a message. Whether it is the first of its call.
    fn keep(&mut self, call: u64, told: Told<'_>) -> bool {
        let mut is_new = false;
        if self.place(call).is_none() {
            is_new = self.begin(call, told.edge);
            if !is_new {
                self.dropped += 1;
                return false;
            }
        }
        let is_whole = self.add(call, told);
        self.dropped += u64::from(!is_whole);
        is_new
    }

    /// Gives a place to a call that begins; whoever had it gives way. Not to one whose
    /// beginning nobody saw: what comes after its call gave way stays away, too.
    fn begin(&mut self, call: u64, edge: Edge) -> bool {
        if self.places.is_empty() {
            self.places.resize_with(limits::TAP_CALLS, Place::default);
        }
        let place = &self.places[index(call)];
        let before = place.call;
        if edge != Edge::FromClient || before > call || place.over >= call {
            return false;
        }
        self.forget(before);
        self.places[index(call)].call = call;
        self.order.push_back((call, self.log.head()));
        self.calls += 1;
        true
    }

    /// What is kept of a call is forgotten.
    fn forget(&mut self, call: u64) {
        if let Some(place) = self.place(call) {
            let place = std::mem::replace(
                place,
                Place {
                    over: call,
                    ..Place::default()
                },
            );
            self.calls -= 1;
            // Those without a text were counted when they came.
            self.dropped += u64::from(place.messages - place.textless);
            self.large -= place.large.map_or(0, |large| large.bytes());
        }
        // Those that are first are there, so that the log begins with the first of them.
        while let Some((call, _)) = self.order.front().copied()
            && self.place(call).is_none()
        {
            self.order.pop_front();
        }
        let first = self.order.front().map_or(self.log.head(), |(_, at)| *at);
        self.log.forget_before(first);
    }

    /// The oldest give way until there is room for so many bytes: a little more than they
    /// must, so that it is not done for every message.
    #[cold]
    fn make_room(&mut self, more: usize) {
        let enough = self.cap - self.cap / limits::TAP_SLACK;
        while self.bytes() + more > enough
            && let Some((oldest, _)) = self.order.front().copied()
        {
            self.forget(oldest);
        }
    }

    /// Adds a message to a call that has a place; whether it is kept.
    fn add(&mut self, call: u64, mut told: Told<'_>) -> bool {
        let Some(place) = self.places.get(index(call)) else {
            return false;
        };
        if usize::from(place.messages) >= limits::TAP_MESSAGES {
            self.places[index(call)].further += 1;
            return false;
        }
        let (mut same, mut own, mut new, mut how) = match &told.large {
            None => {
                let same = self.same_end(place, told.pieces);
                (same, told.length - same, 0, How::Here)
            }
            Some(copied) => (
                0,
                copied.listed(told.pieces),
                copied.new_bytes(),
                How::Parts,
            ),
        };
        let has_room = place.cost + HEAD + own + new <= self.cap / limits::TAP_SHARE
            && HEAD + own <= self.log.most();
        if !has_room {
            (same, own, new, how) = (0, 0, 0, How::Nowhere);
            told.large = None;
        }
        let more = self.log.more(HEAD + own) + new;
        if self.bytes() + more > self.cap {
            self.make_room(more);
            // It may have been the oldest itself.
            if self.place(call).is_none() {
                return false;
            }
        }
        let place = &mut self.places[index(call)];
        let (at, room) = self.log.add(HEAD + own);
        if let Some((head, rest)) = room.split_first_chunk_mut() {
            Head {
                before: place.last,
                at: told.at,
                length: told.length as u64,
                own: own as u32,
                same: same as u32,
                edge: told.edge,
                how,
            }
            .write(head);
            match told.large {
                None => write_pieces(rest, told.pieces),
                Some(copied) => {
                    let large = place.large.get_or_insert_default();
                    copied.write(rest, told.pieces, large);
                }
            }
        }
        self.large += new;
        place.last = Some(at);
        place.messages += 1;
        place.cost += HEAD + own + new;
        place.textless += u16::from(!has_room);
        has_room
    }

    /// How many bytes of the end of the message before the last of these pieces has as well.
    fn same_end(&self, place: &Place, pieces: &[Bytes]) -> usize {
        let before = place.last.and_then(|at| Head::read(self.log.at(at)));
        let (there, piece) = match (before, pieces.last()) {
            (Some((head, there)), Some(piece)) if head.how == How::Here && head.same == 0 => {
                (there, piece)
            }
            _ => return 0,
        };
        let ((_, these), (_, those)) = (piece.as_rchunks::<SAME>(), there.as_rchunks::<SAME>());
        let both = these.iter().rev().zip(those.iter().rev());
        both.take_while(|(one, other)| one == other).count() * SAME
    }
}

/// Writes as much of these as there is room for.
fn write_pieces(room: &mut [u8], pieces: &[Bytes]) {
    let mut rest = room;
    for piece in pieces {
        let length = piece.len().min(rest.len());
        let (here, after) = rest.split_at_mut(length);
        here.copy_from_slice(&piece[..length]);
        rest = after;
    }
}

#[cfg(test)]
mod tests;
