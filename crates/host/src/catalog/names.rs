//! Which servers have an item of a name, over all of them. What changes in one
//! server's list is changed here, and the rest is shared with what was before.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::{Arc, OnceLock},
};

/// Names that one shelf holds, on average, where they are laid out anew.
// tidy: how a table is laid out, not a cap
const EACH_SHELF: usize = 16;

/// From what a name comes to, with `-` and `_` taken for the same, to the places of the
/// servers that have such a name. Only numbers are kept: whoever asks looks at the names
/// of those few servers.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    shelves: Vec<Shelf>,
    count: usize,
}

/// What names come to, and the place of the server that has one.
type Shelf = Arc<Vec<(u64, u32)>>;

impl Names {
    /// Room for about so many.
    pub(super) fn for_about(count: usize) -> Self {
        let shelves = (count / EACH_SHELF).next_power_of_two();
        Self {
            shelves: vec![Shelf::default(); shelves],
            count: 0,
        }
    }

    /// Whether it has become too full, or too empty, for how it is laid out.
    pub(super) fn is_out_of_shape(&self) -> bool {
        let fits = self.shelves.len() * EACH_SHELF;
        self.count > fits * 4 || (self.count < fits / 16 && fits > EACH_SHELF)
    }

    /// Notes that the server at this place has this name.
    pub(super) fn add(&mut self, name: &str, place: u32) {
        let spelt = spelt(name);
        if let Some(shelf) = self.shelf_mut(spelt) {
            Arc::make_mut(shelf).push((spelt, place));
            self.count += 1;
        }
    }

    /// Takes back that the server at this place has this name.
    pub(super) fn remove(&mut self, name: &str, place: u32) {
        let spelt = spelt(name);
        let Some(shelf) = self.shelf_mut(spelt) else {
            return;
        };
        let Some(at) = shelf.iter().position(|entry| *entry == (spelt, place)) else {
            return;
        };
        Arc::make_mut(shelf).swap_remove(at);
        self.count -= 1;
    }

    /// The places of servers that may have this name, or one that is spelt like it; a
    /// server is there once for each such name.
    pub(super) fn places(&self, name: &str) -> impl Iterator<Item = u32> {
        let spelt = spelt(name);
        let shelf = self.shelves.get(self.at(spelt));
        let entries = shelf.into_iter().flat_map(|shelf| shelf.iter());
        entries
            .filter(move |(other, _)| *other == spelt)
            .map(|(_, place)| *place)
    }

    fn shelf_mut(&mut self, spelt: u64) -> Option<&mut Shelf> {
        let at = self.at(spelt);
        self.shelves.get_mut(at)
    }

    fn at(&self, spelt: u64) -> usize {
        // The number of shelves is a power of two.
        spelt as usize & self.shelves.len().saturating_sub(1)
    }
}

/// What a name comes to. Secret, so that no server can choose names that fill one shelf.
fn spelt(name: &str) -> u64 {
    static SECRET: OnceLock<RandomState> = OnceLock::new();
    let mut hasher = SECRET.get_or_init(RandomState::new).build_hasher();
    let mut piece = [0; 64];
    for bytes in name.as_bytes().chunks(piece.len()) {
        let piece = &mut piece[..bytes.len()];
        for (to, from) in piece.iter_mut().zip(bytes) {
            *to = one_spelling(*from);
        }
        hasher.write(piece);
    }
    hasher.finish()
}

/// A byte of a name, with `-` and `_` taken for the same.
pub(super) const fn one_spelling(byte: u8) -> u8 {
    match byte {
        b'-' => b'_',
        other => other,
    }
}
