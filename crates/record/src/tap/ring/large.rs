//! What is large of the messages of a call: copied once, whichever of them have it.

use crate::limits;
use bytes::Bytes;
use std::mem::size_of;

/// The large pieces of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Large {
    /// As they were on their way: where they stood, and the copy.
    copies: Vec<(usize, Bytes)>,
    /// As messages have them.
    pieces: Vec<Bytes>,
}

/// What was copied of a message.
#[derive(Debug)]
pub(super) struct Copied {
    /// A copy of each piece that is large.
    pieces: Vec<Option<Bytes>>,
    /// Those that no message of the call had.
    new: Vec<(usize, Bytes)>,
}

/// One in the list of a message's parts: how long it is, and which of the large pieces it is,
/// from one on, if it is one. Before the first stands how many there are.
// tidy: a form, no cap.
const PART: usize = size_of::<u64>();

fn is_large(piece: &Bytes) -> bool {
    piece.len() >= limits::TAP_SHARED_PIECE
}

/// The pieces of a long message, where there are too many to keep each by itself: those that are
/// small beside the whole are joined with their neighbours. How many there are a server decides.
pub(super) fn few(pieces: &[Bytes], length: usize) -> Option<Vec<Bytes>> {
    if pieces.len() <= limits::TAP_PIECES {
        return None;
    }
    let small = limits::TAP_SHARED_PIECE.max(length / limits::TAP_PIECES);
    let (mut few, mut run) = (Vec::new(), Vec::new());
    for piece in pieces {
        if piece.len() < small {
            run.extend_from_slice(piece);
            continue;
        }
        if !run.is_empty() {
            few.push(Bytes::from(std::mem::take(&mut run)));
        }
        few.push(piece.clone());
    }
    if !run.is_empty() {
        few.push(Bytes::from(run));
    }
    Some(few)
}

/// What copies take, and so many pieces of messages, with the lists that they are in.
fn bytes(copies: &[(usize, Bytes)], pieces: usize) -> usize {
    let lists = size_of_val(copies) + size_of::<Bytes>() * pieces;
    copies.iter().map(|(_, copy)| copy.len()).sum::<usize>() + 2 * lists
}

impl Large {
    /// What they take.
    pub(super) fn bytes(&self) -> usize {
        bytes(&self.copies, self.pieces.len())
    }

    /// A copy of this piece that another message has. Where it stood tells where to look;
    /// whether it is the same its bytes tell.
    fn known(&self, piece: &[u8]) -> Option<Bytes> {
        let at = piece.as_ptr() as usize;
        self.copies.iter().rev().find_map(|(start, copy)| {
            let from = at.checked_sub(*start)?;
            let same = copy.get(from..from + piece.len())?;
            (same == piece).then(|| copy.slice(from..from + piece.len()))
        })
    }

    /// Those of a message's parts that are large, of which this is the list, in its order.
    pub(super) fn listed(&self, list: &[u8]) -> Vec<Bytes> {
        let which = parts(list).filter_map(|(_, which)| which);
        which
            .filter_map(|which| self.pieces.get(which).cloned())
            .collect()
    }

    /// The parts of a message, of which this is the list and these are the large ones.
    pub(super) fn parts(list: &Bytes, large: Vec<Bytes>) -> Vec<Bytes> {
        let mut large = large.into_iter();
        let mut rest = list.slice(list.len().min(PART * (1 + parts(list).count()))..);
        let parts = parts(list).filter_map(|(length, which)| match which {
            Some(_) => large.next(),
            None => (length <= rest.len()).then(|| rest.split_to(length)),
        });
        parts.collect()
    }
}

/// How long each part in this list is, and which of the large pieces it is, if it is one.
fn parts(list: &[u8]) -> impl Iterator<Item = (usize, Option<usize>)> {
    let (numbers, _) = list.as_chunks::<PART>();
    let mut numbers = numbers.iter().map(|number| u64::from_le_bytes(*number));
    let count = numbers.next().unwrap_or_default() as usize;
    numbers.take(count).map(|number| {
        let which = (number >> 32) as usize;
        (number as u32 as usize, which.checked_sub(1))
    })
}

impl Copied {
    /// Copies what is large of these pieces and not known yet; nothing where none is. Where
    /// those that are small have more than `most` bytes together, all are as large ones.
    pub(super) fn of(pieces: &[Bytes], mut known: Large, most: usize) -> Option<Self> {
        let small = pieces.iter().filter(|piece| !is_large(piece));
        let small: usize = small.map(Bytes::len).sum();
        let is_much = small + PART * (1 + pieces.len()) > most;
        if !is_much && !pieces.iter().any(is_large) {
            return None;
        }
        let before = known.copies.len();
        let mut copy = |piece: &Bytes| {
            known.known(piece).unwrap_or_else(|| {
                let copy = Bytes::from(Box::<[u8]>::from(&piece[..]));
                known.copies.push((piece.as_ptr() as usize, copy.clone()));
                copy
            })
        };
        let pieces = pieces.iter().map(|piece| {
            let is_large = is_much || is_large(piece);
            is_large.then(|| copy(piece))
        });
        Some(Self {
            pieces: pieces.collect(),
            new: known.copies.split_off(before),
        })
    }

    /// What is new of it.
    pub(super) fn new_bytes(&self) -> usize {
        bytes(&self.new, self.pieces.iter().flatten().count())
    }

    /// How long the list of the parts is, with those that are small.
    pub(super) fn listed(&self, pieces: &[Bytes]) -> usize {
        let small = pieces.iter().zip(&self.pieces);
        let small = small.filter(|(_, copy)| copy.is_none());
        PART * (1 + pieces.len()) + small.map(|(piece, _)| piece.len()).sum::<usize>()
    }

    /// Writes that list, and gives what is large to the call.
    pub(super) fn write(self, room: &mut [u8], pieces: &[Bytes], to: &mut Large) {
        to.copies.extend(self.new);
        let (list, mut rest) = room.split_at_mut(PART * (1 + pieces.len()));
        let (list, _) = list.as_chunks_mut::<PART>();
        let mut places = list.iter_mut();
        let mut put = |number: u64| {
            if let Some(place) = places.next() {
                *place = number.to_le_bytes();
            }
        };
        put(pieces.len() as u64);
        for (piece, copy) in pieces.iter().zip(self.pieces) {
            let mut which = 0;
            match copy {
                Some(copy) => {
                    to.pieces.push(copy);
                    which = to.pieces.len() as u64;
                }
                None => {
                    let (here, after) = rest.split_at_mut(piece.len());
                    here.copy_from_slice(piece);
                    rest = after;
                }
            }
            put(which << 32 | piece.len() as u64 & u64::from(u32::MAX));
        }
    }
}
