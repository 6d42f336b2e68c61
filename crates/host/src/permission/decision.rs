//! What was decided, and why.

use std::{fmt, sync::Arc};

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may be seen and reached.
    Allow,
    /// It may be seen, and reached once somebody says yes. Where nobody can be asked it is refused.
    Ask(String),
    /// It is as if it were not there.
    Deny(String),
    /// It is not listed, and whoever asks for it is told that it waits for approval.
    Held(String),
}

impl Decision {
    /// Whether lists and searches show it.
    pub fn is_visible(&self) -> bool {
        !matches!(self, Self::Deny(_) | Self::Held(_))
    }

    /// The one of two that lets less happen.
    pub(super) fn or_stricter(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Allow, _) | (Self::Ask(_), Self::Deny(_) | Self::Held(_)) => other,
            _ => self,
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow => f.write_str("allowed"),
            Self::Ask(reason) => write!(f, "asks first: {reason}"),
            Self::Deny(reason) => write!(f, "denied: {reason}"),
            Self::Held(reason) => write!(f, "held: {reason}"),
        }
    }
}

/// One thing that was looked at on the way to a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What was looked at.
    pub step: &'static str,
    /// What was found.
    pub found: String,
    /// Whether it decided.
    pub decisive: bool,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.decisive { "→" } else { "·" };
        write!(f, "{sign} {}: {}", self.step, self.found)
    }
}

/// A decision with everything that led to it, for `explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What was decided.
    pub decision: Decision,
    /// What was looked at, in order; the last one decided.
    pub reasons: Vec<Reason>,
}

impl Ruling {
    /// What decided, in words.
    pub(super) fn by(&self) -> Arc<str> {
        let reason = self.reasons.iter().find(|reason| reason.decisive);
        let said = reason.map(|reason| format!("{}: {}", reason.step, reason.found));
        said.unwrap_or_default().into()
    }
}
