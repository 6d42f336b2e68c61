//! Definitions of tools and prompts, and servers' instructions, pinned when they
//! are first seen.
//!
//! A server can change what a tool says or takes after a person agreed to it. The
//! hash of its text, schema and annotations is kept. What differs later is held
//! until somebody says yes, or used and told, as the server's origin and its
//! settings say; what holds characters that nobody sees is held everywhere.

mod book;
mod definition;
mod diff;
pub(crate) mod file;
mod hidden;
mod judge;
mod kept;
mod news;
mod tree;

pub use definition::Definition;
pub(crate) use definition::Group;
pub use file::FileFault as PinsFault;
pub use kept::Kind;
pub use news::{Change, News};

use book::Book;
use judge::Manner;
use kept::{Kept, Pin};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};
use switchboard_wire::name::normalize;

/// What instructions are pinned under.
pub(crate) const INSTRUCTIONS: &str = "instructions";

/// What becomes of a server's definitions that are not what they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinning {
    /// They wait until somebody says yes.
    Hold,
    /// They are used, and told.
    Tell,
    /// The same, but for servers that were approved by pins of an earlier version:
    /// theirs wait.
    Own,
    /// Nothing is pinned; what holds hidden characters waits all the same.
    Unkept,
    /// A running gateway sees to it.
    Elsewhere,
    /// Nothing is looked at.
    Off,
}

/// What is pinned of one server, and under which key.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// Two projects may call different servers by one name.
    pub key: String,
    /// What becomes of what changes.
    pub pinning: Pinning,
}

/// When something was listed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<'a> {
    /// The connection.
    pub(crate) connection: &'a Arc<crate::upstream::Connection>,
    /// Whether this is all of it.
    pub(crate) whole: bool,
}

/// The pins of all servers, one file each in one directory.
#[derive(Debug)]
pub struct Pins {
    dir: PathBuf,
    books: Mutex<HashMap<String, Arc<Mutex<Book>>>>,
}

impl Pins {
    /// The pins in this directory, which is made when the first is written.
    pub fn open(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            books: Mutex::default(),
        }
    }

    /// Where they are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Forgets what is kept of a server: the next start is the first.
    pub fn forget(&self, key: &str) -> Result<(), PinsFault> {
        let book = self.book(key);
        let mut book = book.lock();
        let kept = book.kept()?;
        if !kept.has_pins() && kept.waiting.is_empty() {
            return Ok(());
        }
        book.change(Kept::clear)
    }

    /// Notes that somebody has just signed in to a server: what is new at its next
    /// start is no surprise.
    pub fn signed_in(&self, key: &str) -> Result<(), PinsFault> {
        let book = self.book(key);
        let mut book = book.lock();
        if !book.kept()?.has_pins() {
            return Ok(());
        }
        book.change(|kept| kept.signed_in = true)
    }

    /// What there is to say about a server.
    pub fn news(&self, server: &str, keeping: &Keeping) -> Result<News, PinsFault> {
        let book = self.book(&keeping.key);
        let mut book = book.lock();
        book.refresh();
        let kept = book.kept()?;
        let mut news = News::of(server, kept);
        match (keeping.pinning, keeping.manner(kept)) {
            (Pinning::Off, _) => news = News::default(),
            (Pinning::Elsewhere, _) | (_, Manner::Hold) => {}
            // What waited where it was held does not where it is told.
            _ => news.waiting.retain(|change| change.now.hidden),
        }
        Ok(news)
    }

    /// Approves what was shown, and nothing else.
    pub fn approve(&self, keeping: &Keeping, shown: &News) -> Result<(), PinsFault> {
        let book = self.book(&keeping.key);
        let mut book = book.lock();
        book.kept()?;
        book.change(|kept| {
            for change in &shown.waiting {
                let waiting = kept.waits(change.kind);
                let is_that = |now: &kept::Version| now.is(&change.now);
                if waiting.get(&change.name).is_some_and(is_that) {
                    waiting.remove(&change.name);
                }
                let pin = Pin::of(change.now.clone());
                kept.pins(change.kind).insert(change.name.clone(), pin);
            }
            for change in &shown.told {
                if let Some(pin) = kept.pins(change.kind).get_mut(&change.name)
                    && pin.version.is(&change.now)
                {
                    pin.told = None;
                }
            }
        })
    }

    /// Whether something of a server waits; an error where what is kept cannot be
    /// read and matters.
    pub(crate) fn any_waits(&self, keeping: &Keeping) -> Result<bool, PinsFault> {
        let book = self.book(&keeping.key);
        let mut book = book.lock();
        match book.kept() {
            Ok(kept) => Ok(match keeping.manner(kept) {
                Manner::Hold => !kept.waiting.is_empty(),
                Manner::Tell | Manner::Pass => {
                    let mut all = kept.waiting.values().flat_map(|waiting| waiting.values());
                    all.any(|now| now.hidden)
                }
            }),
            Err(fault) => Err(fault),
        }
    }

    /// Whether what changes of a server waits.
    pub(crate) fn is_held(&self, keeping: &Keeping) -> bool {
        let book = self.book(&keeping.key);
        let mut book = book.lock();
        match book.kept() {
            Ok(kept) => keeping.manner(kept) == Manner::Hold,
            Err(_) => keeping.pinning == Pinning::Hold,
        }
    }

    /// Whether anything of a server has ever been pinned.
    pub(crate) fn has_pins(&self, keeping: &Keeping) -> bool {
        let book = self.book(&keeping.key);
        let mut book = book.lock();
        book.kept().is_ok_and(Kept::has_pins)
    }

    /// Compares what a server lists with what is kept, and keeps what comes of it.
    /// Whether anything is not what it was.
    pub(crate) fn judge(
        &self,
        server: &str,
        keeping: &Keeping,
        start: Start<'_>,
        kind: Kind,
        groups: &[Group],
    ) -> bool {
        let book = self.book(&keeping.key);
        let mut book = book.lock();
        let refreshed = book.refresh();
        book.judge(server, keeping, start, kind, groups) || refreshed
    }

    /// Why something must not be used as it is now, if so.
    pub(crate) fn objection(&self, keeping: &Keeping, kind: Kind, group: &Group) -> Option<String> {
        if matches!(keeping.pinning, Pinning::Off | Pinning::Elsewhere) {
            return None;
        }
        let book = self.book(&keeping.key);
        let mut book = book.lock();
        match book.kept() {
            Ok(kept) => {
                let why = judge::objection(kept, kind, group, keeping.manner(kept))?;
                Some(news::summary(kind, &group.name, why))
            }
            Err(fault) if keeping.pinning == Pinning::Hold => {
                Some(format!("what was approved cannot be read: {fault}"))
            }
            Err(_) => group
                .hidden
                .then(|| news::summary(kind, &group.name, news::HIDDEN)),
        }
    }

    /// Looks whether other programs have written files that were read. Says the
    /// keys of those that changed.
    pub(crate) fn refresh(&self) -> Vec<String> {
        let books: Vec<_> = self
            .books
            .lock()
            .iter()
            .map(|(key, book)| (key.clone(), book.clone()))
            .collect();
        let changed = books
            .into_iter()
            .filter(|(_, book)| book.lock().take_news());
        changed.map(|(key, _)| key).collect()
    }

    fn book(&self, key: &str) -> Arc<Mutex<Book>> {
        let mut books = self.books.lock();
        let new = || Arc::new(Mutex::new(Book::open(key, path(&self.dir, key))));
        books.entry(key.to_owned()).or_insert_with(new).clone()
    }
}

impl Keeping {
    fn manner(&self, kept: &Kept) -> Manner {
        match self.pinning {
            Pinning::Hold => Manner::Hold,
            Pinning::Own if kept.holds => Manner::Hold,
            Pinning::Own | Pinning::Tell => Manner::Tell,
            Pinning::Unkept | Pinning::Elsewhere | Pinning::Off => Manner::Pass,
        }
    }
}

/// A file name that tells servers apart whose safe names are the same.
fn path(dir: &Path, key: &str) -> PathBuf {
    let mut safe = normalize(key);
    safe.truncate(60);
    let hash = definition::hash(key.as_bytes());
    dir.join(format!("{safe}-{}.json", &hash[..12]))
}

#[cfg(test)]
mod tests;
