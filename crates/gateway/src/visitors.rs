//! Who is connected, for whoever asks under the control token. A session is there as
//! long as it lasts; a modern client, which has none, for a while after it last asked
//! what there is.

use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::{SystemTime, UNIX_EPOCH},
};
use switchboard_wire::{Era, json};

/// All of them. Clones share what they know.
#[derive(Clone, Debug, Default)]
pub struct Visitors(Arc<Mutex<Book>>);

#[derive(Debug, Default)]
struct Book {
    /// Sessions, by number. Each has what is known of it: there may be many.
    sessions: HashMap<u64, Weak<Known>>,
    /// How many there ever were.
    counted: u64,
    /// Modern clients, by their principal and what each calls itself or its key.
    asked: HashMap<(Arc<str>, Arc<str>), Known>,
    /// What the last one that came said of itself: most that come are the same program.
    said: Arc<Said>,
    /// The words in which the last one greeted us.
    greeted: Bytes,
    /// When each principal last came in, in seconds since 1970.
    last: HashMap<Arc<str>, u64>,
}

/// What a client says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    name: Option<String>,
    version: Option<String>,
}

/// What is known of a client.
#[derive(Debug)]
struct Known {
    said: Arc<Said>,
    principal: Arc<str>,
    era: Era,
    since: u64,
    seen: Option<u64>,
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
    _known: Option<Arc<Known>>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut book = self.visitors.0.lock();
        book.sessions.remove(&self.number);
    }
}

impl Visitors {
    /// The words in which a client greets us, to be kept for as long as it stays: those of
    /// the one before it where they are the same, since most that come are the same program.
    pub(crate) fn words(&self, greeting: &[u8]) -> Bytes {
        let mut book = self.0.lock();
        if book.greeted != *greeting {
            book.greeted = Bytes::copy_from_slice(greeting);
        }
        book.greeted.clone()
    }

    /// Notes a session of this principal's; `info` is what it says of itself.
    pub(crate) fn enter(&self, principal: &Arc<str>, era: Era, info: Option<&[u8]>) -> Visit {
        let mut book = self.0.lock();
        book.counted += 1;
        let number = book.counted;
        book.came(principal);
        let known = (!book.is_full()).then(|| Arc::new(book.known(principal, era, info)));
        if let Some(known) = &known {
            book.sessions.insert(number, Arc::downgrade(known));
        }
        drop(book);
        Visit {
            visitors: self.clone(),
            number,
            _known: known,
        }
    }

    /// Notes that a client without a session has asked what there is.
    pub(crate) fn asked(
        &self,
        principal: &Arc<str>,
        era: Era,
        key: Option<&Arc<str>>,
        info: Option<&[u8]>,
    ) {
        let mut book = self.0.lock();
        let mut known = book.known(principal, era, info);
        let called = key
            .cloned()
            .or_else(|| Some(known.said.name.as_deref()?.into()));
        let who = (principal.clone(), called.unwrap_or_default());
        book.forget();
        book.came(principal);
        let is_full = book.is_full();
        match book.asked.get_mut(&who) {
            Some(known) => known.seen = Some(now()),
            None if is_full => {}
            None => {
                known.seen = Some(known.since);
                book.asked.insert(who, known);
            }
        }
    }

    /// A client without a session has gone, where that can be told.
    pub(crate) fn gone(&self, principal: &Arc<str>, key: &Arc<str>) {
        let who = (principal.clone(), key.clone());
        self.0.lock().asked.remove(&who);
    }

    /// When this principal last came in, in seconds since 1970, if it has since we began.
    pub fn last(&self, principal: &str) -> Option<u64> {
        self.0.lock().last.get(principal).copied()
    }

    /// Those who are there now, who came first being first.
    pub fn now(&self) -> Vec<Visitor> {
        let mut book = self.0.lock();
        book.forget();
        let sessions = book.sessions.values().filter_map(Weak::upgrade);
        let sessions = sessions.map(|known| known.shown());
        let mut all: Vec<Visitor> = sessions
            .chain(book.asked.values().map(Known::shown))
            .collect();
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

    fn is_full(&self) -> bool {
        self.sessions.len() + self.asked.len() >= limits::VISITORS
    }

    /// Forgets those who have not asked for a while.
    fn forget(&mut self) {
        let since = now().saturating_sub(limits::SEEN_FOR.as_secs());
        self.asked
            .retain(|_, known| known.seen.is_none_or(|seen| seen >= since));
    }

    /// What is known of one that comes.
    fn known(&mut self, principal: &Arc<str>, era: Era, info: Option<&[u8]>) -> Known {
        let said = |key: &'static str| {
            let info = info?;
            let value = json::field(info, key).ok()??;
            let text = json::text(value.of(info))?;
            Some(text.chars().take(limits::VISITOR_NAME).collect())
        };
        let said = Said {
            name: said("name"),
            version: said("version"),
        };
        if *self.said != said {
            self.said = Arc::new(said);
        }
        Known {
            said: self.said.clone(),
            principal: principal.clone(),
            era,
            since: now(),
            seen: None,
        }
    }
}

impl Known {
    fn shown(&self) -> Visitor {
        Visitor {
            name: self.said.name.clone(),
            version: self.said.version.clone(),
            principal: self.principal.to_string(),
            era: self.era.to_string(),
            since: self.since,
            seen: self.seen,
        }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
