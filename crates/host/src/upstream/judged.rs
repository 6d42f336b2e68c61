//! What a server has listed since it was started, and what of that was compared
//! with what is kept of it.

use super::connection::Connection;
use crate::{
    catalog::{List, Listing},
    pins::{Kind, Written},
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
};
use switchboard_wire::Method;

/// A bit for each kind.
#[derive(Debug, Default)]
pub(super) struct Judged {
    /// What it has listed whole.
    listed: AtomicU8,
    /// What of that is what it listed last, as far as it says.
    judged: AtomicU8,
}

/// Whether anything of a server waits for approval.
#[derive(Debug, Default)]
pub(crate) struct Held {
    something: AtomicBool,
    strict: AtomicBool,
    noted: AtomicU64,
}

impl Held {
    /// Whether anything does: then each of its tools and prompts is looked at before it
    /// is used.
    pub(crate) fn has_something(&self) -> bool {
        self.something.load(Ordering::Acquire)
    }

    /// Whether what is new or changed of it waits: then nothing of it is used before it
    /// has been compared.
    pub(crate) fn is_strict(&self) -> bool {
        self.strict.load(Ordering::Acquire)
    }

    /// Notes both.
    pub(crate) fn note(&self, something: bool, strict: bool) {
        self.something.store(something, Ordering::Release);
        self.strict.store(strict, Ordering::Release);
        self.noted.fetch_add(1, Ordering::AcqRel);
    }

    /// How often they were noted: as often as what waits may have become another.
    pub(crate) fn noted(&self) -> u64 {
        self.noted.load(Ordering::Acquire)
    }
}

impl Connection {
    /// Whether the server has listed all of this kind since it was started.
    pub(crate) fn has_listed(&self, kind: Kind) -> bool {
        self.judged().listed.load(Ordering::Acquire) & (1 << kind as u8) != 0
    }

    /// Notes that it has.
    pub(crate) fn note_listed(&self, kind: Kind) {
        self.judged()
            .listed
            .fetch_or(1 << kind as u8, Ordering::AcqRel);
        self.note_judged(kind);
    }

    /// Whether what it has of this kind, as far as it says, was compared with what
    /// is kept of it.
    pub(crate) fn is_judged(&self, kind: Kind) -> bool {
        self.judged().judged.load(Ordering::Acquire) & (1 << kind as u8) != 0
    }

    /// Notes that it was.
    pub(crate) fn note_judged(&self, kind: Kind) {
        self.judged()
            .judged
            .fetch_or(1 << kind as u8, Ordering::AcqRel);
    }

    /// It has other things now.
    pub(super) fn forget_judged(&self, method: Method) {
        let kind = match method {
            Method::ToolsListChanged => Kind::Tools,
            Method::PromptsListChanged => Kind::Prompts,
            _ => return,
        };
        self.judged()
            .judged
            .fetch_and(!(1 << kind as u8), Ordering::AcqRel);
    }

    /// Has a list that has just come compared with what is kept of the server. What this
    /// gives is waited for before anybody sees it.
    #[must_use]
    pub(crate) fn judge(
        self: &Arc<Self>,
        list: List,
        now: &Listing,
        before: Option<&Listing>,
    ) -> Option<Written> {
        let kind = Kind::of(list)?;
        if self.has_listed(kind) && before.is_some_and(|it| it.is_same(now)) {
            self.note_judged(kind);
            return None;
        }
        (self.reports().listed)(self, list, now)
    }
}
