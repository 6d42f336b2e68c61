//! One whole list, as it was fetched.

use super::{Annotations, Item, LeftOut, fresh::Said};
use bytes::Bytes;
use std::{collections::HashSet, sync::Arc};
use switchboard_wire::json;
use tokio::time::Instant;

/// One whole list.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// In the server's order.
    pub items: Vec<Arc<Item>>,
    /// Fields of the result other than the items and the cursor, of the first page.
    pub extra: Vec<(String, Bytes)>,
    /// What is left out, with the reasons.
    pub left_out: LeftOut,
    /// What the server says about how long it is good for.
    pub(super) said: Said,
    /// Where each is, in order of its key; of several with one key the last.
    by_key: Vec<u32>,
    /// Tools that say of themselves that a second call does no harm.
    repeatable: HashSet<String>,
}

impl Listing {
    /// Whether this tool says of itself that a second call does no harm.
    pub fn is_repeatable(&self, tool: &str) -> bool {
        self.repeatable.contains(tool)
    }

    /// The item of this name, URI or template.
    pub fn find(&self, key: &str) -> Option<&Item> {
        let at = *self.by_key.get(self.place(key).ok()?)?;
        self.items.get(at as usize).map(AsRef::as_ref)
    }

    /// When it is to be asked for anew, where its server says so.
    pub(crate) fn stale(&self) -> Option<Instant> {
        self.said.stale
    }

    /// Whether it lists the same, in the same order.
    pub fn is_same(&self, other: &Self) -> bool {
        let mut pairs = self.items.iter().zip(&other.items);
        self.items.len() == other.items.len() && pairs.all(|(a, b)| a.raw == b.raw)
    }

    pub(super) fn push(&mut self, item: Item) {
        let said = json::field(&item.raw, "annotations").ok().flatten();
        let said = said.map(|span| Annotations::read(span.of(&item.raw)));
        if said.is_some_and(|said| said.read_only == Some(true) || said.idempotent == Some(true)) {
            self.repeatable.insert(item.key.clone());
        }
        let newest = self.items.len() as u32;
        match self.place(&item.key) {
            Ok(at) => self.by_key[at] = newest,
            Err(at) => self.by_key.insert(at, newest),
        }
        self.items.push(Arc::new(item));
    }

    /// Where a key is in their order, or would be.
    fn place(&self, key: &str) -> Result<usize, usize> {
        self.by_key
            .binary_search_by(|at| self.items[*at as usize].key.as_str().cmp(key))
    }
}
