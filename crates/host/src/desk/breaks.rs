//! Breakpoints: which calls, and which answers, are held until a person lets them go.
//! Where nobody has set one a call costs a look at one flag.

use super::Desk;
use crate::limits;
use bytes::Bytes;
use std::{
    sync::{Arc, OnceLock, atomic::AtomicBool, atomic::AtomicU64, atomic::Ordering},
    time::Duration,
};
use switchboard_local::visible;
use switchboard_wire::{Era, Message, Method};

/// Where on its way something is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A call, before it goes to its server.
    Call,
    /// Its answer, before that goes to its client.
    Answer,
}

/// Something that comes to where it could be held.
#[derive(Debug)]
pub struct Coming<'a> {
    /// The number of the call.
    pub call: u64,
    /// Where it is.
    pub point: Point,
    /// Its server.
    pub server: &'a Arc<str>,
    /// What it asks for, under the server's own name, where that is known here.
    pub name: Option<&'a str>,
    /// What is spoken with the server.
    pub era: Era,
    /// The request, or the answer.
    pub message: &'a Message,
    /// Whether the answer says that it failed.
    pub has_failed: bool,
    /// How long it took until now.
    pub took: Duration,
    /// How long of that it was at its server.
    pub at_server: Duration,
}

/// What is to be held.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Why: the breakpoint, in its author's words.
    pub why: Arc<str>,
    /// The tool, prompt or resource, as far as it is known.
    pub name: Option<String>,
}

/// Says what is held. Nothing here may block: calls wait for it.
pub trait Breaks: Send + Sync {
    /// Whether this is held.
    fn holds(&self, coming: &Coming<'_>) -> Option<Hit>;
}

/// What is held, as whoever may let it go is shown it.
#[derive(Clone, Debug)]
pub struct Held {
    /// Where it is.
    pub point: Point,
    /// What is asked for.
    pub method: Method,
    /// The tool, prompt or resource, as far as it is known.
    pub name: Option<String>,
    /// Why it is held.
    pub why: Arc<str>,
    /// The text of what can be changed: arguments, a result, an error. Empty once it is over.
    pub text: Bytes,
    /// Whether that is an error.
    pub is_error: bool,
    /// Whether it can be changed at all.
    pub can_change: bool,
    /// How long it is held at most.
    pub until: Duration,
}

impl Held {
    /// A name as it is shown: a client's may be as long as it likes.
    pub(crate) fn short(name: &str) -> String {
        visible::cut(name, limits::HELD_NAME)
    }

    /// The same once it is over.
    pub(super) fn over(&self) -> Arc<Self> {
        Arc::new(Self {
            text: Bytes::new(),
            ..self.clone()
        })
    }
}

/// What a desk knows of breakpoints.
#[derive(Default)]
pub(super) struct Breakpoints {
    is_armed: AtomicBool,
    breaks: OnceLock<Arc<dyn Breaks>>,
    missed: AtomicU64,
}

impl Desk {
    /// Who says what is held, while something is. Said once.
    pub fn set_breaks(&self, breaks: Arc<dyn Breaks>) {
        let _ = self.breakpoints.breaks.set(breaks);
    }

    /// From now on calls are held, or no longer. Those that are held stay so.
    pub fn arm(&self, on: bool) {
        self.breakpoints.is_armed.store(on, Ordering::Relaxed);
    }

    /// Whether calls that begin now may be held. Every call looks.
    #[inline]
    pub(crate) fn is_armed(&self) -> bool {
        self.breakpoints.is_armed.load(Ordering::Relaxed)
    }

    /// Whether this is held.
    #[cold]
    pub(crate) fn holds(&self, coming: &Coming<'_>) -> Option<Hit> {
        if !self.is_armed() {
            return None;
        }
        self.breakpoints.breaks.get()?.holds(coming)
    }

    /// How much was not held because there was no room for it.
    pub fn missed(&self) -> u64 {
        self.breakpoints.missed.load(Ordering::Relaxed)
    }

    pub(super) fn miss(&self) {
        self.breakpoints.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether somebody looks at what waits, now.
    pub fn is_watched(&self) -> bool {
        self.listeners.load(Ordering::Acquire) > 0
    }
}
