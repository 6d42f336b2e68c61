//! What a look at all servers found: which of them have nothing to be waited for. While
//! nothing of any server has moved since, a list need not look at each of them again.

use super::{Servers, fetch::Fetch};
use crate::{
    catalog::{Said, changes, count_known, moves},
    client::Client,
    limits,
    permission::Guard,
    upstream::Server,
};
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc};
use switchboard_wire::Revision;
use tokio::time::Instant;

/// The state of all that such a look depends on, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    servers: u64,
    rules: u64,
    changes: u64,
    moves: u64,
}

impl Seen {
    /// As it is now. Taken before anything is looked at: what moves meanwhile is looked
    /// at once more.
    pub(super) fn now(servers: &Servers, guard: &Guard) -> Self {
        Self {
            servers: servers.number,
            rules: guard.version(),
            changes: changes(),
            moves: moves(),
        }
    }
}

/// For whom, and for which lists, a look was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct For {
    principal: Arc<str>,
    /// The client, where servers have to know of it or may have a copy for it.
    client: Option<u64>,
    is_addressable: bool,
    revision: Revision,
    /// One bit for each list.
    lists: u8,
    fresh: bool,
}

impl For {
    /// `None` where every look counts: copies for clients with a key end when nobody has
    /// asked for them for a while.
    pub(super) fn of(fetch: &Fetch<'_>, servers: &Servers) -> Option<Self> {
        let client: &Client = fetch.client;
        if client.keyed && servers.has_copies {
            return None;
        }
        let known = client.addressable || client.exclusive || servers.has_copies;
        Some(Self {
            principal: client.principal.clone(),
            client: known.then_some(client.id),
            is_addressable: client.addressable,
            revision: client.revision,
            lists: fetch
                .lists
                .iter()
                .fold(0, |bits, list| bits | (1 << (*list as u8))),
            fresh: fetch.fresh,
        })
    }
}

/// What a look found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Those that have to be looked at again.
    pub(super) rest: Vec<Arc<Server>>,
    /// Lists of the others.
    pub(super) known: u64,
    /// When the first of those is older than its server allows.
    pub(super) until: Option<Instant>,
}

impl Found {
    /// Notes one whose lists need no look until then.
    pub(super) fn settle(&mut self, lists: usize, until: Option<Instant>) {
        self.known += lists as u64;
        self.until = match (self.until, until) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

#[derive(Debug)]
struct Look {
    seen: Seen,
    found: Found,
    /// How long all of it is good for, once somebody has asked.
    said: Option<Said>,
}

/// The looks that are remembered.
#[derive(Debug, Default)]
pub(super) struct Settled(Mutex<HashMap<For, Look>>);

impl Settled {
    /// Those that have to be looked at, where the others are known to be as they were.
    pub(super) fn rest(&self, whom: &For, seen: Seen) -> Option<Vec<Arc<Server>>> {
        let looks = self.0.lock();
        let look = looks.get(whom).filter(|look| look.seen == seen)?;
        let found = &look.found;
        if found.until.is_some_and(|until| until <= Instant::now()) {
            return None;
        }
        count_known(found.known);
        Some(found.rest.clone())
    }

    /// Remembers what a look found that began at `seen`.
    pub(super) fn note(&self, whom: For, seen: Seen, found: Found) {
        let mut looks = self.0.lock();
        if looks.len() >= limits::SETTLED && !looks.contains_key(&whom) {
            looks.clear();
        }
        let said = None;
        looks.insert(whom, Look { seen, found, said });
    }

    /// How long all of it is good for, where that was found out since the look.
    pub(super) fn said(&self, whom: &For, seen: Seen) -> Option<Said> {
        let looks = self.0.lock();
        looks.get(whom).filter(|look| look.seen == seen)?.said
    }

    /// Remembers that, where the look is remembered.
    pub(super) fn note_said(&self, whom: &For, seen: Seen, said: Said) {
        let mut looks = self.0.lock();
        if let Some(look) = looks.get_mut(whom).filter(|look| look.seen == seen) {
            look.said = Some(said);
        }
    }
}
