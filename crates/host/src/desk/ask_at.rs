//! Who is asked what a person has to answer.

use std::collections::HashMap;

/// Who is asked what a person has to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskAt {
    /// The client whose call it is; who cannot be asked is refused.
    Client,
    /// Whoever looks at the inbox.
    Inbox,
    /// Both, and the first answer counts.
    Both,
}

impl AskAt {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Client, Self::Inbox, Self::Both];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Inbox => "inbox",
            Self::Both => "both",
        }
    }

    /// What a word means.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|at| at.word() == word)
    }

    /// Whether the client is asked, if it can be.
    pub fn asks_client(self) -> bool {
        self != Self::Inbox
    }

    /// Whether whoever looks at the inbox is.
    pub fn asks_inbox(self) -> bool {
        self != Self::Client
    }
}

/// What was said about that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// For all; nothing where it depends on whether somebody looks at the inbox.
    pub all: Option<AskAt>,
    /// For all of this gateway, before what is said for all.
    pub face: Option<AskAt>,
    /// For single principals.
    pub each: HashMap<String, AskAt>,
}

impl Policy {
    pub(super) fn of(&self, principal: &str) -> Option<AskAt> {
        let each = self.each.get(principal).copied();
        each.or(self.face).or(self.all)
    }
}
