//! Whom something that is applied is for: replicas have all of it, and outposts what they are
//! to run. Each part has a place, a seal and signatures of its own, so that what was said to
//! the one counts for nothing with the other.

use super::keys::ClusterKeys;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use switchboard_ledger::Key;

/// The space of what was applied to all replicas.
pub(super) const APPLIED: &str = "applied";
/// The space of what outposts are to run.
const HIRED: &str = "hired";
/// The newest of either.
pub(super) const NOW: &str = "now";

/// Whom it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All replicas.
    Replicas,
    /// Outposts that run what was signed.
    Outposts,
}

impl Part {
    /// What a signature is about.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Replicas => "apply",
            Self::Outposts => "hire",
        }
    }

    /// Where the newest is.
    pub(super) fn key(self) -> Key {
        match self {
            Self::Replicas => Key::new(APPLIED, NOW),
            Self::Outposts => Key::new(HIRED, NOW),
        }
    }

    /// Seals the newest; nothing where it is not for whoever has these keys.
    pub(super) fn sealed(self, keys: &ClusterKeys, bytes: &[u8]) -> Option<Bytes> {
        let name = self.name();
        let sealed = match self {
            Self::Replicas => keys.hide(bytes, &name),
            Self::Outposts => Some(keys.close(bytes, &name)),
        };
        sealed.map(Bytes::from)
    }

    /// Opens it again.
    pub(super) fn opened(self, keys: &ClusterKeys, sealed: &[u8]) -> Option<Vec<u8>> {
        let name = self.name();
        match self {
            Self::Replicas => keys.reveal(sealed, &name),
            Self::Outposts => keys.open(sealed, &name),
        }
    }

    fn name(self) -> String {
        let Key { space, name } = self.key();
        format!("{space} {name}")
    }
}

/// A server that outposts are to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hire {
    /// Which of them, by their names, with `*`; any where none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outposts: Vec<String>,
    /// What those say of themselves.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// What is started, as it is written.
    pub runs: serde_json::Value,
}
