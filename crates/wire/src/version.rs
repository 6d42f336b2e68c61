//! Protocol revisions and what each of them has.

use crate::method::Method;
use std::fmt;

/// The two shapes of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Era {
    /// Up to 2025-11-25: `initialize`, sessions, requests from server to client.
    Legacy,
    /// From 2026-07-28: stateless, metadata on every request, input asked for by result.
    Modern,
}

impl Era {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A published revision of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Revision {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28
    V2026_07_28,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];
    /// The newest revision with a handshake.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;
    /// The newest revision of all.
    pub const NEWEST: Self = Self::V2026_07_28;
    /// What a legacy HTTP request without a version header is taken to mean.
    pub const UNSTATED: Self = Self::V2025_03_26;

    /// The revision with this date.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == text)
    }

    /// Its date, as it is written on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Legacy or modern.
    pub fn era(self) -> Era {
        if self >= Self::V2026_07_28 {
            Era::Modern
        } else {
            Era::Legacy
        }
    }

    /// The method by which a server of it is met.
    pub fn meeting(self) -> Method {
        match self.era() {
            Era::Legacy => Method::Initialize,
            Era::Modern => Method::Discover,
        }
    }

    /// Whether several messages may come in one array.
    pub fn has_batches(self) -> bool {
        self <= Self::V2025_03_26
    }

    /// Whether an event stream may begin with an event without data, to give the client an id to resume from.
    pub fn has_priming_events(self) -> bool {
        self == Self::V2025_11_25
    }

    /// The code for a resource that does not exist.
    pub fn resource_not_found(self) -> i64 {
        match self.era() {
            Era::Legacy => crate::code::RESOURCE_NOT_FOUND,
            Era::Modern => crate::code::INVALID_PARAMS,
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
