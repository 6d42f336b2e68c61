//! The questions that are open, and those that were.

use super::{Kind, Question};
use crate::{client::Client, exchange::Input, limits};
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};
use tokio_util::sync::CancellationToken;

/// All of them.
#[derive(Default)]
pub(super) struct State {
    pub(super) open: HashMap<Arc<str>, Entry>,
    /// Those that are over, newest last, without what they were about.
    closed: VecDeque<Arc<Question>>,
}

/// How much there may be: of what somebody is asked, and of what is held at breakpoints,
/// so that neither leaves no room for the other.
struct Caps {
    /// Bytes of one,
    one: (usize, &'static str),
    /// and of all, of which one principal has at most half;
    bytes: usize,
    /// how many in all,
    all: usize,
    full: &'static str,
    /// and of one principal; each with what is said where it is met.
    each: (usize, &'static str),
}

const ASKED: Caps = Caps {
    one: (
        limits::DESK_QUESTION_BYTES,
        "this question is too large for the inbox",
    ),
    bytes: limits::DESK_BYTES,
    all: limits::DESK_QUESTIONS,
    full: "too many questions wait in the inbox",
    each: (
        limits::DESK_QUESTIONS_EACH,
        "too many questions of this principal wait in the inbox",
    ),
};

const HELD: Caps = Caps {
    one: (
        limits::HELD_MESSAGE_BYTES,
        "this message is too large to be held at a breakpoint",
    ),
    bytes: limits::HELD_BYTES,
    all: limits::HELD_CALLS,
    full: "too many calls are held at breakpoints",
    each: (
        limits::HELD_CALLS_EACH,
        "too many calls of this principal are held at breakpoints",
    ),
};

/// A question that is open.
pub(super) struct Entry {
    pub(super) question: Arc<Question>,
    pub(super) input: Input,
    pub(super) client: Arc<Client>,
    /// Takes it back from the client, where that was asked as well.
    pub(super) at_client: CancellationToken,
    /// Ends when it is over.
    pub(super) done: CancellationToken,
}

impl Entry {
    /// Whether nothing may be sent for its client any more: it has gone, or may not come in.
    pub(super) fn is_void(&self) -> bool {
        self.client.has_left() || self.client.shut_out().is_some()
    }
}

impl State {
    /// Finds room for one, or says why there is none.
    pub(super) fn add(&mut self, entry: Entry) -> Result<(), (Box<Entry>, &'static str)> {
        let question = &entry.question;
        let is_held = |question: &Question| question.kind == Kind::Held;
        let caps = match is_held(question) {
            true => HELD,
            false => ASKED,
        };
        let (mut all, mut own) = (0, 0);
        let (mut bytes, mut own_bytes) = (question.size(), question.size());
        for other in self.open.values().map(|other| &other.question) {
            if is_held(other) == is_held(question) {
                all += 1;
                bytes += other.size();
                if other.principal == question.principal {
                    own += 1;
                    own_bytes += other.size();
                }
            }
        }
        let why = if question.size() > caps.one.0 {
            caps.one.1
        } else if all >= caps.all || bytes > caps.bytes {
            caps.full
        } else if own >= caps.each.0 || own_bytes > caps.bytes / 2 {
            caps.each.1
        } else {
            self.open.insert(question.id.clone(), entry);
            return Ok(());
        };
        Err((Box::new(entry), why))
    }

    /// Takes one out, by whoever is first.
    pub(super) fn take(&mut self, id: &str) -> Option<Entry> {
        self.open.remove(id)
    }

    /// One that is over.
    pub(super) fn closed(&self, id: &str) -> Option<Arc<Question>> {
        let mut closed = self.closed.iter();
        closed.find(|question| *question.id == *id).cloned()
    }

    /// Keeps one that is over for a while.
    pub(super) fn keep(&mut self, closed: Arc<Question>) {
        if self.closed.len() >= limits::DESK_CLOSED {
            self.closed.pop_front();
        }
        self.closed.push_back(closed);
    }
}

impl State {
    /// Those that are over, newest first.
    pub(super) fn all_closed(&self) -> impl Iterator<Item = &Arc<Question>> {
        self.closed.iter().rev()
    }
}
