//! How a call ended, as one of few words: `error.type` of the conventions.

use std::sync::LazyLock;
use switchboard_host::{Blame, CallError, observe::Ending};
use switchboard_transport::Undelivered;
use switchboard_wire::{Kind, code};

/// Codes of errors that are counted apart; others are [`OTHER`].
const CODES: [i64; 11] = [
    code::PARSE,
    code::INVALID_REQUEST,
    code::METHOD_NOT_FOUND,
    code::INVALID_PARAMS,
    code::INTERNAL,
    code::SESSION_NOT_FOUND,
    code::RESOURCE_NOT_FOUND,
    code::HEADER_MISMATCH,
    code::MISSING_CAPABILITY,
    code::UNSUPPORTED_VERSION,
    code::URL_ELICITATION_REQUIRED,
];

/// How they are written.
static WRITTEN: LazyLock<[String; CODES.len()]> =
    LazyLock::new(|| CODES.map(|code| code.to_string()));

/// An error with another code.
const OTHER: &str = "_OTHER";

/// What is no error of the protocol's.
const WORDS: [&str; 15] = [
    "",
    "tool_error",
    "cancelled",
    "not_permitted",
    "not_allowed",
    "refused",
    "not_connected",
    "era_mismatch",
    "interrupted",
    "undelivered",
    "needs_auth",
    "unreadable",
    "wrong_form",
    "timeout",
    "busy",
];

/// How many outcomes there are.
// tidy: a count, no cap.
pub(crate) const OUTCOMES: usize = WORDS.len() + CODES.len() + 1;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome(u8);

impl Outcome {
    /// It was answered, and the answer says nothing else.
    pub(crate) const FINE: Self = Self(0);

    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..OUTCOMES as u8).map(Self)
    }

    /// The place of it.
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The word for it; empty where nothing went wrong.
    pub(crate) fn word(self) -> &'static str {
        match WORDS.get(self.index()) {
            Some(word) => word,
            None => WRITTEN
                .get(self.index() - WORDS.len())
                .map_or(OTHER, String::as_str),
        }
    }

    /// Whether a rule or a person did not let it through.
    pub(crate) fn is_denial(self) -> bool {
        matches!(self.word(), "not_permitted" | "not_allowed")
    }

    /// Whether it counts as an error: what its own client gave up does not.
    pub(crate) fn is_error(self) -> bool {
        !matches!(self.word(), "" | "cancelled")
    }

    /// How a call ended, and whose fault that was.
    pub(crate) fn of(ending: &Ending<'_>, fault: Option<Blame>) -> Self {
        let word = match ending {
            Ending::GivenUp => "cancelled",
            Ending::Reply(_) if fault.is_none() => return Self::FINE,
            Ending::Reply(reply) if reply.message.kind() == Kind::Error => {
                return Self::of_code(reply.message.error_code());
            }
            Ending::Reply(_) => "tool_error",
            Ending::Failed(fault) => word_of(fault),
        };
        let at = WORDS.iter().position(|one| *one == word);
        Self(at.unwrap_or_default() as u8)
    }

    fn of_code(code: Option<i64>) -> Self {
        let at = CODES.iter().position(|one| Some(*one) == code);
        Self((WORDS.len() + at.unwrap_or(CODES.len())) as u8)
    }
}

fn word_of(fault: &CallError) -> &'static str {
    match fault {
        CallError::Refused(_) => "refused",
        CallError::NotConnected { .. } => "not_connected",
        CallError::EraMismatch { .. } => "era_mismatch",
        CallError::Interrupted { .. } => "interrupted",
        CallError::Undelivered { why, .. } => match why {
            Undelivered::NeedsAuth { .. } => "needs_auth",
            Undelivered::TimedOut(_) => "timeout",
            _ => "undelivered",
        },
        CallError::Unreadable { .. } => "unreadable",
        CallError::WrongForm { .. } => "wrong_form",
        CallError::TimedOut { .. } => "timeout",
        CallError::NotPermitted { .. } => "not_permitted",
        CallError::NotAllowed { .. } => "not_allowed",
        CallError::Cancelled => "cancelled",
        CallError::Busy { .. } => "busy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_ending_has_its_word() {
        let all: HashSet<&str> = Outcome::all().map(Outcome::word).collect();
        assert_eq!(all.len(), OUTCOMES, "a word stands there twice");
        let of = |fault| Outcome::of(&Ending::Failed(&fault), None).word();
        assert_eq!(of(CallError::Cancelled), "cancelled");
        assert_eq!(of(CallError::broke_off()), "refused");
        assert_eq!(Outcome::of(&Ending::GivenUp, None).word(), "cancelled");
        assert_eq!(Outcome::of_code(Some(-32602)).word(), "-32602");
        assert_eq!(Outcome::of_code(Some(7)).word(), "_OTHER");
        assert!(!Outcome::of(&Ending::GivenUp, None).is_error());
        assert!(Outcome::of_code(None).is_error());
    }
}
