//! Whose a thing is that a server names by an id of its own: a task, an
//! elicitation. To everybody but its owner it does not exist.

use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

/// Things that are remembered of one server; the oldest are forgotten first.
const REMEMBERED: usize = 4096;

/// The owners of one server's things, by [`Client::identity`](crate::client::Client).
#[derive(Debug, Default)]
pub(super) struct Owners(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_id: HashMap<Arc<str>, u64>,
    oldest_first: VecDeque<Arc<str>>,
}

impl Owners {
    pub(super) fn note(&self, id: &str, owner: u64) {
        let id: Arc<str> = id.into();
        let mut known = self.0.lock();
        if known.by_id.insert(id.clone(), owner).is_none() {
            known.oldest_first.push_back(id);
        }
        if known.oldest_first.len() > REMEMBERED
            && let Some(oldest) = known.oldest_first.pop_front()
        {
            known.by_id.remove(&oldest);
        }
    }

    /// Takes over what was known on a connection that has ended.
    pub(super) fn adopt(&self, old: &Self) {
        let old = old.0.lock();
        let mut known = self.0.lock();
        known.by_id.clone_from(&old.by_id);
        known.oldest_first.clone_from(&old.oldest_first);
    }

    pub(super) fn owner(&self, id: &str) -> Option<u64> {
        self.0.lock().by_id.get(id).copied()
    }
}
