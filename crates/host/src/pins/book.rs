//! One file of a server's as this program knows it: read when it is needed, read again
//! when another program has written it, and never written over when it cannot be
//! read.

use super::{
    Keeping, Kind, Pinning, PinsFault, Start,
    definition::Group,
    file::{self, FileFault},
    judge::{self, Found, Manner, Seen},
    kept::Kept,
    signed::SignedPins,
    writer::{Writer, Written},
};
use crate::{limits, observe::Noted, upstream::Connection};
use std::{
    fs::Metadata,
    path::PathBuf,
    sync::{Arc, Weak},
    time::{Instant, SystemTime},
};
use switchboard_local::visible;

#[derive(Debug)]
pub(super) struct Book {
    key: String,
    path: PathBuf,
    writer: Arc<Writer>,
    /// A change that is not in the file yet. Until it is, no other program can write that.
    pending: Option<Written>,
    /// What is there, once it was read.
    kept: Option<Kept>,
    /// Whether that is without the texts of definitions, which are in the file.
    stripped: bool,
    /// What the file looked like then.
    look: Option<Look>,
    /// The connection on which things of each kind were pinned first, and when.
    first: [Option<(Weak<Connection>, Instant)>; 3],
    /// The connection that was made after a sign-in.
    signed_in: Option<Weak<Connection>>,
    /// Another program has written it, and clients were not told yet.
    unannounced: bool,
    /// It was told that the file cannot be written.
    told: bool,
}

/// What is to be done to what a file has.
type Amend<'a> = Box<dyn FnOnce(&mut Kept) + 'a>;

/// Who a file is, how long, and when it last changed.
type Look = (u64, u64, Option<SystemTime>);

impl Book {
    pub(super) fn open(key: &str, path: PathBuf, writer: &Arc<Writer>) -> Self {
        Self {
            key: key.to_owned(),
            path,
            writer: writer.clone(),
            pending: None,
            kept: None,
            stripped: false,
            look: None,
            first: Default::default(),
            signed_in: None,
            unannounced: false,
            told: false,
        }
    }

    /// Whether another program has written it since this was last asked.
    pub(super) fn take_news(&mut self) -> bool {
        self.refresh();
        std::mem::take(&mut self.unannounced)
    }

    /// What is kept; an error where that cannot be read.
    pub(super) fn kept(&mut self) -> Result<&Kept, PinsFault> {
        if self.kept.is_none() {
            let look = look(&self.path);
            let read: Option<Kept> = file::read(&self.path)?;
            self.kept = Some(read.unwrap_or_default().in_todays_form());
            self.look = look;
        }
        // It was put there just now, if not before.
        Ok(self.kept.get_or_insert_default())
    }

    /// Reads the file again where another program has written it. What is known
    /// stays where it has gone or cannot be read. Whether it is another now.
    pub(super) fn refresh(&mut self) -> bool {
        if self.is_pending() {
            return false;
        }
        let Some(known) = &self.kept else {
            return false;
        };
        let now = look(&self.path);
        if now == self.look || now.is_none() {
            return false;
        }
        match file::read::<Kept>(&self.path) {
            Ok(read) => {
                let read = read.unwrap_or_default().in_todays_form();
                let changed = !read.is_like(known);
                self.kept = Some(read);
                self.stripped = false;
                self.look = now;
                self.unannounced |= changed;
                changed
            }
            Err(fault) => {
                tracing::warn!(server = self.key, %fault, "what was pinned of it was changed, and cannot be read");
                self.look = now;
                false
            }
        }
    }

    /// Whether a change is still not in the file.
    fn is_pending(&mut self) -> bool {
        let Some(pending) = self.pending.take_if(|pending| pending.is_done()) else {
            return self.pending.is_some();
        };
        if let Some(fault) = pending.fault(&self.path) {
            // What is known counts, and not what the file has said before.
            self.look = look(&self.path);
            self.cannot_keep(&fault);
        }
        false
    }

    /// Waits until the file has every change.
    fn settle(&mut self) {
        if let Some(pending) = &self.pending {
            pending.wait();
        }
        self.is_pending();
    }

    fn cannot_keep(&mut self, fault: &PinsFault) {
        if !std::mem::replace(&mut self.told, true) {
            tracing::warn!(server = self.key, %fault, "what is pinned of it cannot be kept, and holds until we end");
        }
    }

    /// Changes what is kept, here and in the file, while no other program does.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Kept)) -> Result<(), PinsFault> {
        self.change_by(change, |book, absent, amend| {
            file::change_or(&book.path, absent, amend)
        })?;
        self.look = look(&self.path);
        Ok(())
    }

    /// The same without waiting for the disk: what this gives says when it is there.
    fn change_soon(&mut self, change: impl FnOnce(&mut Kept)) -> Result<Written, PinsFault> {
        let (pending, look) = self.change_by(change, |book, absent, amend| {
            book.writer.change(&book.path, absent, amend)
        })?;
        self.look = Some(look_of(&look));
        self.pending = Some(pending.clone());
        Ok(pending)
    }

    /// Changes what is kept by way of `write`, which is told what counts where there is no
    /// file, and what to do to what is in it.
    fn change_by<T>(
        &mut self,
        change: impl FnOnce(&mut Kept),
        write: impl FnOnce(&Self, &dyn Fn() -> Kept, Amend<'_>) -> Result<T, FileFault>,
    ) -> Result<T, PinsFault> {
        self.settle();
        let key = self.key.clone();
        // Somebody took it away while we run: what is known goes on.
        let absent = || self.kept.clone().unwrap_or_default();
        let mut written = None;
        let amend = Box::new(|kept: &mut Kept| written = Some(kept.amended(key, change)));
        let done = write(self, &absent, amend)?;
        self.kept = written;
        self.stripped = false;
        Ok(done)
    }

    /// Holds the server to what somebody has signed, where that is not what it is held to.
    pub(super) fn adopt(&mut self, signed: Option<&SignedPins>) {
        let Ok(kept) = self.kept() else { return };
        if kept.signed.as_deref() == signed.map(SignedPins::digest) {
            return;
        }
        let mut adopted = kept.clone();
        if let Err(fault) = self.change(|kept| kept.adopt(signed)) {
            adopted.adopt(signed);
            self.kept = Some(adopted);
            self.cannot_keep(&fault);
        }
    }

    /// The same as [`kept`](Self::kept), with the texts where they can be read.
    pub(super) fn whole(&mut self) -> Result<&Kept, PinsFault> {
        self.settle();
        if self.stripped
            && look(&self.path) == self.look
            && let Ok(Some(read)) = file::read::<Kept>(&self.path)
        {
            self.kept = Some(read.in_todays_form());
            self.stripped = false;
        }
        self.kept()
    }

    /// Leaves the texts of definitions to the file, of which they are the larger part:
    /// they are needed to show what changed, and hashes for all else.
    pub(super) fn rest(&mut self) {
        // Where there is no file, or it could not be written, this is all that there is.
        if !self.stripped
            && !self.told
            && self.look.is_some()
            && let Some(kept) = &mut self.kept
        {
            kept.strip();
            self.stripped = true;
        }
    }

    /// Whether nothing of this kind was pinned yet; what cannot be read counts as
    /// pinned.
    pub(super) fn is_new(&mut self, kind: Kind) -> bool {
        self.kept().is_ok_and(|kept| kept.section(kind).is_none())
    }

    /// `first` is what the user's own book says, where this is another's in which
    /// nothing of the kind is pinned yet. Whether anything is not what it was, and what is
    /// to be waited for before anybody sees it.
    pub(super) fn judge(
        &mut self,
        server: &str,
        keeping: &Keeping,
        start: Start<'_>,
        kind: Kind,
        groups: &[Group],
        first: Option<&Kept>,
    ) -> (bool, Option<Written>) {
        // What was judged a moment ago may not be on disk yet.
        let before_this = match self.is_pending() {
            true => self.pending.clone(),
            false => None,
        };
        if matches!(keeping.pinning, Pinning::Off | Pinning::Elsewhere) {
            return (false, None);
        }
        let whose = start.whose.principal.as_deref();
        let (connection, whole) = (start.connection, start.whole);
        let kept = match self.kept() {
            Ok(kept) => kept,
            Err(fault) => {
                if !std::mem::replace(&mut self.told, true) {
                    tracing::warn!(server, %fault, "what was pinned of it cannot be read, and is left as it is");
                }
                return (false, None);
            }
        };
        let manner = keeping.manner(kept);
        // Whoever shared the first book before has seen the server before.
        let shared = whose.is_some() && first.is_some_and(|it| it.principal.as_deref() == whose);
        let is_first = manner != Manner::Pass && kept.section(kind).is_none() && !shared;
        let (signed_in, before) = (kept.signed_in, kept.clone());
        if signed_in {
            self.signed_in = Some(Arc::downgrade(connection));
        }
        let seen = Seen {
            kind,
            groups,
            whole,
            settled: connection.has_listed(kind),
            welcome: self.is_welcome(kind, connection),
        };
        if is_first {
            self.first[kind as usize] = Some((Arc::downgrade(connection), Instant::now()));
        }
        let judge = |kept: &mut Kept| {
            kept.signed_in = false;
            if whose.is_some() {
                kept.principal = whose.map(str::to_owned);
            }
            if let (Some(first), Some(whose)) = (first, whose) {
                kept.begin_with(first, whose, seen);
            }
            judge::judge(kept, seen, manner)
        };
        let mut trial = before.clone();
        let found = judge(&mut trial);
        if whole {
            connection.note_listed(kind);
        }
        if trial == before {
            return (false, before_this);
        }
        // What another program has written meanwhile counts too.
        let done = self.change_soon(|kept| {
            judge(kept);
        });
        let written = match done {
            Ok(written) => Some(written),
            Err(fault) => {
                self.kept = Some(trial);
                self.cannot_keep(&fault);
                None
            }
        };
        log(server, kind, &found);
        note(connection, server, whose, kind, is_first, &found);
        (true, written)
    }

    /// Whether what is new on this connection is no surprise.
    fn is_welcome(&self, kind: Kind, connection: &Arc<Connection>) -> bool {
        let is_this = |other: &Weak<Connection>| other.as_ptr() == Arc::as_ptr(connection);
        let first = self.first[kind as usize].as_ref();
        let is_first = first.is_some_and(|(first, since)| {
            // Clients of another era or principal have a connection of their own.
            let beside = first.upgrade().is_some_and(|first| !first.has_ended());
            is_this(first) || (beside && since.elapsed() < limits::FIRST_USE)
        });
        is_first || self.signed_in.as_ref().is_some_and(is_this)
    }
}

/// Tells those who watch what was pinned first, and what is not what was pinned.
fn note(
    connection: &Connection,
    server: &str,
    principal: Option<&str>,
    kind: Kind,
    is_first: bool,
    found: &Found,
) {
    if is_first || !found.held.is_empty() || !found.told.is_empty() {
        let kind = format!("{kind:?}").to_lowercase();
        connection.note(&Noted::Pinned {
            server,
            principal,
            kind: &kind,
            is_first,
            held: &found.held,
            told: &found.told,
        });
    }
}

fn log(server: &str, kind: Kind, found: &Found) {
    let shown = |names: &[String]| {
        let each = names.iter().take(limits::PINS_NAMED);
        let each: Vec<String> = each.map(|name| visible::line(name)).collect();
        each.join(", ")
    };
    let kind = format!("{kind:?}").to_lowercase();
    if !found.held.is_empty() {
        let (count, names) = (found.held.len(), shown(&found.held));
        tracing::warn!(
            server,
            kind,
            count,
            names,
            "not used before somebody approves it: switchboard approve {server}"
        );
    }
    if !found.told.is_empty() {
        let (count, names) = (found.told.len(), shown(&found.told));
        tracing::warn!(
            server,
            kind,
            count,
            names,
            "not what it was when it was last looked at: switchboard approve {server}"
        );
    }
}

fn look(path: &PathBuf) -> Option<Look> {
    Some(look_of(&std::fs::metadata(path).ok()?))
}

fn look_of(found: &Metadata) -> Look {
    let number = std::os::unix::fs::MetadataExt::ino(found);
    (number, found.len(), found.modified().ok())
}
