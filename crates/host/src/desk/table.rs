//! The questions that are open, and those that were.

use super::Question;
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
    /// Bytes of what is open.
    bytes: usize,
}

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
        let (size, principal) = (question.size(), &question.principal);
        let own = self.open.values();
        let own = own.filter(|other| other.question.principal == *principal);
        let why = if size > limits::DESK_QUESTION_BYTES {
            "this question is too large for the inbox"
        } else if self.open.len() >= limits::DESK_QUESTIONS
            || self.bytes + size > limits::DESK_BYTES
        {
            "too many questions wait in the inbox"
        } else if own.count() >= limits::DESK_QUESTIONS_EACH {
            "too many questions of this principal wait in the inbox"
        } else {
            self.bytes += size;
            self.open.insert(question.id.clone(), entry);
            return Ok(());
        };
        Err((Box::new(entry), why))
    }

    /// Takes one out, by whoever is first.
    pub(super) fn take(&mut self, id: &str) -> Option<Entry> {
        let entry = self.open.remove(id)?;
        self.bytes = self.bytes.saturating_sub(entry.question.size());
        Some(entry)
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
