//! Who is connected, for whoever asks under the control token. A session is there as
//! long as it lasts; a modern client, which has none, for a while after it last asked
//! what there is.

use crate::limits;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use switchboard_wire::{Era, json};

/// All of them. Clones share what they know.
#[derive(Clone, Debug, Default)]
pub struct Visitors(Arc<Mutex<Book>>);

#[derive(Debug, Default)]
struct Book {
    sessions: u64,
    all: HashMap<Who, Visitor>,
    /// When each principal last came in, in seconds since 1970.
    last: HashMap<Arc<str>, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Who {
    Session(u64),
    /// A modern client, by its principal and what it calls itself or its key.
    Asked(Arc<str>, Arc<str>),
}

/// One client.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Visitor {
    /// What it calls itself, if it does.
    pub name: Option<String>,
    /// Its version, by its own word.
    pub version: Option<String>,
    /// On whose behalf it acts.
    pub principal: String,
    /// The era it speaks.
    pub era: String,
    /// Since when it is known, in seconds since 1970.
    pub since: u64,
    /// When it last asked, where it has no session that would tell when it goes.
    pub seen: Option<u64>,
}

/// A session, for as long as this is held.
#[derive(Debug)]
pub(crate) struct Visit {
    visitors: Visitors,
    number: u64,
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut book = self.visitors.0.lock();
        book.all.remove(&Who::Session(self.number));
    }
}

impl Visitors {
    /// Notes a session of this principal's; `info` is what it says of itself.
    pub(crate) fn enter(&self, principal: &Arc<str>, era: Era, info: Option<&[u8]>) -> Visit {
        let mut book = self.0.lock();
        book.sessions += 1;
        let number = book.sessions;
        book.came(principal);
        if book.all.len() < limits::VISITORS {
            let visitor = Visitor::new(principal, era, info);
            book.all.insert(Who::Session(number), visitor);
        }
        drop(book);
        let visitors = self.clone();
        Visit { visitors, number }
    }

    /// Notes that a client without a session has asked what there is.
    pub(crate) fn asked(
        &self,
        principal: &Arc<str>,
        era: Era,
        key: Option<&Arc<str>>,
        info: Option<&[u8]>,
    ) {
        let visitor = Visitor::new(principal, era, info);
        let called = key
            .cloned()
            .or_else(|| Some(visitor.name.as_deref()?.into()));
        let who = Who::Asked(principal.clone(), called.unwrap_or_default());
        let mut book = self.0.lock();
        book.forget();
        book.came(principal);
        let is_full = book.all.len() >= limits::VISITORS;
        match book.all.get_mut(&who) {
            Some(known) => known.seen = Some(now()),
            None if is_full => {}
            None => {
                let seen = Some(visitor.since);
                book.all.insert(who, Visitor { seen, ..visitor });
            }
        }
    }

    /// A client without a session has gone, where that can be told.
    pub(crate) fn gone(&self, principal: &Arc<str>, key: &Arc<str>) {
        let who = Who::Asked(principal.clone(), key.clone());
        self.0.lock().all.remove(&who);
    }

    /// When this principal last came in, in seconds since 1970, if it has since we began.
    pub fn last(&self, principal: &str) -> Option<u64> {
        self.0.lock().last.get(principal).copied()
    }

    /// Those who are there now, who came first being first.
    pub fn now(&self) -> Vec<Visitor> {
        let mut book = self.0.lock();
        book.forget();
        let mut all: Vec<Visitor> = book.all.values().cloned().collect();
        all.sort_by(|a, b| (a.since, &a.name).cmp(&(b.since, &b.name)));
        all
    }
}

impl Book {
    fn came(&mut self, principal: &Arc<str>) {
        if self.last.len() < limits::VISITORS || self.last.contains_key(principal) {
            self.last.insert(principal.clone(), now());
        }
    }

    /// Forgets those who have not asked for a while.
    fn forget(&mut self) {
        let since = now().saturating_sub(limits::SEEN_FOR.as_secs());
        self.all
            .retain(|_, visitor| visitor.seen.is_none_or(|seen| seen >= since));
    }
}

impl Visitor {
    fn new(principal: &Arc<str>, era: Era, info: Option<&[u8]>) -> Self {
        let said = |key: &'static str| {
            let info = info?;
            let value = json::field(info, key).ok()??;
            let text = json::text(value.of(info))?;
            Some(text.chars().take(limits::VISITOR_NAME).collect())
        };
        Self {
            name: said("name"),
            version: said("version"),
            principal: principal.to_string(),
            era: era.to_string(),
            since: now(),
            seen: None,
        }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
