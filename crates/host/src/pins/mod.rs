//! Definitions of tools and prompts, and servers' instructions, pinned when they
//! are first seen.
//!
//! A server can change what a tool says or takes after a person agreed to it. The
//! hash of its text, schema and annotations is kept. What differs later is held
//! until somebody says yes, or used and told, as the server's origin and its
//! settings say; what holds characters that nobody sees is held everywhere.

mod book;
mod books;
mod definition;
mod diff;
pub(crate) mod file;
mod hidden;
mod judge;
mod kept;
mod news;
mod signed;
mod tree;
mod writer;

pub(crate) use books::Whose;
pub use definition::Definition;
pub(crate) use definition::Group;
pub use file::FileFault as PinsFault;
pub use kept::Kind;
pub use news::{Change, News};
pub use signed::SignedPins;
pub(crate) use writer::Written;

use book::Book;
use books::{Books, Place, Shared};
use judge::Manner;
use kept::{Kept, Pin};
use parking_lot::RwLock;
use std::{
    collections::{HashMap, HashSet},
    io,
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
    /// For whom.
    pub(crate) whose: &'a Whose,
    /// Whether this is all of it.
    pub(crate) whole: bool,
}

/// The pins of all servers in one directory: a file of the user's for each, and
/// one for each other principal.
#[derive(Debug)]
pub struct Pins {
    books: Books,
    /// What somebody has signed whom this one follows, by the keys of servers; nothing
    /// where it follows nobody.
    signed: RwLock<Option<Signed>>,
}

/// Signed pins by the keys of servers.
pub type Signed = Arc<HashMap<String, Arc<SignedPins>>>;

impl Pins {
    /// The pins in this directory, which is made when the first is written.
    pub fn open(dir: impl Into<PathBuf>) -> Self {
        Self {
            books: Books::in_folder(dir.into()),
            signed: RwLock::default(),
        }
    }

    /// Follows what somebody has signed, from now on. What was approved here since the same
    /// was signed last stays approved.
    pub fn follow(&self, signed: Signed) {
        let before = self.signed.write().replace(signed.clone());
        let before = before.iter().flat_map(|before| before.keys());
        let keys: HashSet<&String> = before.chain(signed.keys()).collect();
        for key in keys {
            for (_, book) in self.books.all(key) {
                book.lock().adopt(signed.get(key).map(Arc::as_ref));
            }
        }
    }

    /// What is pinned of a server for the user, as it can be signed for others.
    pub fn to_sign(&self, key: &str) -> Result<Option<SignedPins>, PinsFault> {
        let book = self.books.first(key);
        let mut book = book.lock();
        Ok(SignedPins::of_kept(book.whole()?))
    }

    /// The book that is looked into for this one, held to what was signed.
    fn book(&self, key: &str, whose: &Whose) -> (Place, Shared) {
        let (place, book) = self.books.of(key, whose);
        if let Some(signed) = &*self.signed.read() {
            book.lock().adopt(signed.get(key).map(Arc::as_ref));
        }
        (place, book)
    }

    /// Where they are.
    pub fn dir(&self) -> &Path {
        self.books.dir()
    }

    /// Forgets what is kept of a server, for everybody: the next start is the first.
    pub fn forget(&self, key: &str) -> Result<(), PinsFault> {
        for (_, book) in self.books.all(key) {
            let mut book = book.lock();
            let kept = book.kept()?;
            if kept.has_pins() || !kept.waiting.is_empty() {
                book.change(Kept::clear)?;
            }
        }
        Ok(())
    }

    /// Forgets what is kept for a principal that has gone for good. The user's own
    /// stays.
    pub fn forget_principal(&self, principal: &str) -> io::Result<()> {
        self.books.remove(principal)
    }

    /// Notes that somebody has just signed in to a server: what is new at its next
    /// start is no surprise to anybody.
    pub fn signed_in(&self, key: &str) -> Result<(), PinsFault> {
        for (_, book) in self.books.all(key) {
            let mut book = book.lock();
            if book.kept()?.has_pins() {
                book.change(|kept| kept.signed_in = true)?;
            }
        }
        Ok(())
    }

    /// What there is to say about a server, whoever it is for.
    pub fn news(&self, server: &str, keeping: &Keeping) -> Result<News, PinsFault> {
        let mut all = News::default();
        for (place, book) in self.books.all(&keeping.key) {
            let news = keeping.news(server, &place, &mut book.lock())?;
            match place {
                None => all = news,
                Some(_) => all.add(news),
            }
        }
        Ok(all)
    }

    /// The same for one alone.
    pub(crate) fn news_for(
        &self,
        server: &str,
        keeping: &Keeping,
        whose: &Whose,
    ) -> Result<News, PinsFault> {
        let (place, book) = self.book(&keeping.key, whose);
        keeping.news(server, &place, &mut book.lock())
    }

    /// Approves what was shown, and nothing else, for all whom it was shown for.
    pub fn approve(&self, keeping: &Keeping, shown: &News) -> Result<(), PinsFault> {
        for (place, book) in self.books.all(&keeping.key) {
            let here = |changes: &[Change]| -> Vec<Change> {
                let here = changes.iter().filter(|one| one.books.contains(&place));
                here.cloned().collect()
            };
            let (waiting, told) = (here(&shown.waiting), here(&shown.told));
            if waiting.is_empty() && told.is_empty() {
                continue;
            }
            let mut book = book.lock();
            book.kept()?;
            book.change(|kept| approve(kept, &waiting, &told))?;
        }
        Ok(())
    }

    /// Whether something of a server waits, whoever it is for; an error where what is
    /// kept cannot be read and matters.
    pub(crate) fn any_waits(&self, keeping: &Keeping) -> Result<bool, PinsFault> {
        let mut any = false;
        for (_, book) in self.books.all(&keeping.key) {
            let mut book = book.lock();
            let kept = book.kept()?;
            any |= match keeping.manner(kept) {
                Manner::Hold => !kept.waiting.is_empty(),
                Manner::Tell | Manner::Pass => {
                    let mut all = kept.waiting.values().flat_map(|waiting| waiting.values());
                    all.any(|now| now.hidden)
                }
            };
        }
        Ok(any)
    }

    /// Whether what changes of a server waits, for anybody.
    pub(crate) fn is_held(&self, keeping: &Keeping) -> bool {
        let books = self.books.all(&keeping.key);
        books.iter().any(|(_, book)| match book.lock().kept() {
            Ok(kept) => keeping.manner(kept) == Manner::Hold,
            Err(_) => keeping.pinning == Pinning::Hold,
        })
    }

    /// Whether anything of a server has ever been pinned for this one.
    pub(crate) fn has_pins(&self, keeping: &Keeping, whose: &Whose) -> bool {
        let (_, book) = self.book(&keeping.key, whose);
        let mut book = book.lock();
        book.kept().is_ok_and(Kept::has_pins)
    }

    /// Whether a principal has a book of a server of its own.
    pub(crate) fn is_apart(&self, keeping: &Keeping, principal: &str) -> bool {
        self.books.has(&keeping.key, principal)
    }

    /// Compares what a server lists with what is kept, and keeps what comes of it.
    /// Whether anything is not what it was, and what is to be waited for before anybody
    /// sees what is listed.
    pub(crate) fn judge(
        &self,
        server: &str,
        keeping: &Keeping,
        start: Start<'_>,
        kind: Kind,
        groups: &[Group],
    ) -> (bool, Option<Written>) {
        let (_, book) = self.book(&keeping.key, start.whose);
        // One after the other is locked, never one within the other.
        let begins = start.whose.apart && book.lock().is_new(kind);
        let first = match begins.then(|| self.books.first(&keeping.key)) {
            None => None,
            Some(first) => match first.lock().whole() {
                Ok(kept) => Some(kept.clone()),
                // What waits there is not known: nothing is pinned on top of that.
                Err(_) => return (false, None),
            },
        };
        let mut book = book.lock();
        let refreshed = book.refresh();
        let (changed, written) = book.judge(server, keeping, start, kind, groups, first.as_ref());
        (changed || refreshed, written)
    }

    /// What is kept of a server is not needed for a while.
    pub(crate) fn rest(&self, keeping: &Keeping) {
        for book in self.books.opened_of(&keeping.key) {
            book.lock().rest();
        }
    }

    /// Why something must not be used by this one as it is now, if so.
    pub(crate) fn objection(
        &self,
        keeping: &Keeping,
        whose: &Whose,
        kind: Kind,
        group: &Group,
    ) -> Option<String> {
        if matches!(keeping.pinning, Pinning::Off | Pinning::Elsewhere) {
            return None;
        }
        let (_, mut book) = self.book(&keeping.key, whose);
        if whose.apart && book.lock().is_new(kind) && keeping.pinning == Pinning::Hold {
            // It begins with what the first says, where that can be read.
            let first = self.books.first(&keeping.key);
            if first.lock().kept().is_err() {
                book = first;
            }
        }
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
        let books = self.books.opened();
        let changed = books
            .into_iter()
            .filter(|(_, book)| book.lock().take_news());
        let mut keys: Vec<String> = changed.map(|(key, _)| key).collect();
        keys.sort();
        keys.dedup();
        keys
    }
}

fn approve(kept: &mut Kept, waiting: &[Change], told: &[Change]) {
    for change in waiting {
        let waiting = kept.waits(change.kind);
        let is_that = |now: &kept::Version| now.is(&change.now);
        if waiting.get(&change.name).is_some_and(is_that) {
            waiting.remove(&change.name);
        }
        let pin = Pin::of(change.now.clone());
        kept.pins(change.kind).insert(change.name.clone(), pin);
    }
    for change in told {
        if let Some(pin) = kept.pins(change.kind).get_mut(&change.name)
            && pin.version.is(&change.now)
        {
            pin.told = None;
        }
    }
}

impl Keeping {
    /// What one book says of a server.
    fn news(&self, server: &str, place: &Place, book: &mut Book) -> Result<News, PinsFault> {
        book.refresh();
        let kept = book.whole()?;
        let mut news = News::of(server, kept, place);
        match (self.pinning, self.manner(kept)) {
            (Pinning::Off, _) => news = News::default(),
            (Pinning::Elsewhere, _) | (_, Manner::Hold) => {}
            // What waited where it was held does not where it is told.
            _ => news.waiting.retain(|change| change.now.hidden),
        }
        Ok(news)
    }

    fn manner(&self, kept: &Kept) -> Manner {
        match self.pinning {
            Pinning::Hold => Manner::Hold,
            Pinning::Own | Pinning::Tell if kept.signed.is_some() => Manner::Hold,
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
