//! Addresses at which one question can be answered once.

use crate::limits;
use parking_lot::Mutex;
use std::collections::VecDeque;
use switchboard_local::{hex, random};

/// Those that were given out and not used yet.
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<VecDeque<(String, String)>>);

impl Tickets {
    /// A new one for a question, as soon as random numbers are to be had.
    pub(super) fn give(&self, question: &str) -> Option<String> {
        let ticket = random::bytes::<24>().ok().map(hex)?;
        let mut all = self.0.lock();
        // Questions are over long before so many more were asked.
        if all.len() >= limits::OUT_TICKETS {
            all.pop_front();
        }
        all.push_back((ticket.clone(), question.to_owned()));
        Some(ticket)
    }

    /// The question of one.
    pub(super) fn find(&self, ticket: &str) -> Option<String> {
        let all = self.0.lock();
        let found = all.iter().find(|(known, _)| known == ticket);
        found.map(|(_, question)| question.clone())
    }

    /// It is used: nothing can be answered with it any more.
    pub(super) fn used(&self, ticket: &str) {
        self.0.lock().retain(|(known, _)| known != ticket);
    }
}
