//! From what settings say about questions to a person to what a host goes by.

use switchboard_config::{AskAtWord, Inbox};
use switchboard_host::desk::{AskAt, Policy};

/// Who is asked.
pub(super) fn policy(inbox: &Inbox) -> Policy {
    let each = inbox.ask_at_of.iter().flatten();
    Policy {
        all: inbox.ask_at.map(ask_at),
        each: each
            .map(|(name, word)| (name.clone(), ask_at(*word)))
            .collect(),
        ..Policy::default()
    }
}

fn ask_at(word: AskAtWord) -> AskAt {
    match word {
        AskAtWord::Client => AskAt::Client,
        AskAtWord::Inbox => AskAt::Inbox,
        AskAtWord::Both => AskAt::Both,
    }
}
