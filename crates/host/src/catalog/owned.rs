//! What one owner of a server's copies is told by it: its lists and what it says
//! of itself. Nobody else is shown them: a process may list what its own client
//! made of it, and a list may be private.

use super::{Catalog, List, note_move};
use crate::upstream::Hello;
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use switchboard_wire::Era;
use tokio::time::Instant;

/// The lists of one server as one owner sees them.
#[derive(Debug)]
pub struct Catalogs {
    /// On whose behalf they were asked for; nobody's where that was not noted.
    pub(crate) principal: Option<Arc<str>>,
    eras: [Catalog; 2],
    /// What the server last said about itself, in each era.
    hellos: Mutex<[Option<Hello>; 2]>,
    /// Lists that clients were answered without: they are told when it is there.
    pub(crate) stale: Mutex<Vec<List>>,
    /// Since when somebody has waited for what it has not said yet.
    awaited: Mutex<[Option<Instant>; 2]>,
}

impl Catalogs {
    pub(crate) fn new(principal: Option<Arc<str>>) -> Self {
        Self {
            principal,
            eras: [Catalog::default(), Catalog::default()],
            hellos: Mutex::default(),
            stale: Mutex::default(),
            awaited: Mutex::default(),
        }
    }

    /// Since when somebody has waited for what it has not said yet in this era: from
    /// now on, if nobody has for as long as a start may take. Who waited in the other
    /// era waited for another copy.
    pub(crate) fn awaited_since(&self, era: Era, start: Duration) -> Instant {
        let now = Instant::now();
        let mut eras = self.awaited.lock();
        let awaited = &mut eras[place(era)];
        let since = awaited.filter(|since| now < *since + start).unwrap_or(now);
        *awaited = Some(since);
        since
    }

    /// Notes that it has said something that was waited for: whatever is wanted of
    /// it next, which may be another list or the other era's, is waited for anew.
    pub(crate) fn answered(&self) {
        *self.awaited.lock() = [None; 2];
    }

    /// The lists in this era.
    pub fn of(&self, era: Era) -> &Catalog {
        &self.eras[place(era)]
    }

    /// What the server last said about itself in this era.
    pub(crate) fn hello(&self, era: Era) -> Option<Hello> {
        self.hellos.lock()[place(era)].clone()
    }

    pub(crate) fn set_hello(&self, era: Era, hello: Option<Hello>) {
        self.hellos.lock()[place(era)] = hello;
        note_move();
    }

    /// Begins with what is known elsewhere: shown until the server says better.
    pub(crate) fn begin_with(&self, other: &Self) {
        for era in [Era::Legacy, Era::Modern] {
            self.set_hello(era, other.hello(era));
            self.of(era).begin_with(other.of(era));
        }
    }
}

const fn place(era: Era) -> usize {
    matches!(era, Era::Modern) as usize
}
