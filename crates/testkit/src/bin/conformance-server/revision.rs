//! The protocol revisions, and what an older one cannot carry.

use serde_json::{Value, json};

/// The one modern revision.
pub(crate) const MODERN: &str = "2026-07-28";

/// A revision with an `initialize` handshake, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Revision {
    R2024_11_05,
    R2025_03_26,
    R2025_06_18,
    R2025_11_25,
}

impl Revision {
    pub(crate) const NEWEST: Self = Self::R2025_11_25;

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "2024-11-05" => Self::R2024_11_05,
            "2025-03-26" => Self::R2025_03_26,
            "2025-06-18" => Self::R2025_06_18,
            "2025-11-25" => Self::R2025_11_25,
            _ => return None,
        })
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::R2024_11_05 => "2024-11-05",
            Self::R2025_03_26 => "2025-03-26",
            Self::R2025_06_18 => "2025-06-18",
            Self::R2025_11_25 => "2025-11-25",
        }
    }

    /// JSON-RPC batches were taken out in 2025-06-18.
    pub(crate) fn has_batches(self) -> bool {
        self <= Self::R2025_03_26
    }

    /// An event with empty data opens a stream since 2025-11-25; older clients
    /// try to parse it as a message.
    pub(crate) fn primes_streams(self) -> bool {
        self >= Self::R2025_11_25
    }

    /// Turns what this revision lacks in a tool result into text.
    pub(crate) fn downgrade(self, result: &mut Value) {
        let blocks = result.get_mut("content").and_then(Value::as_array_mut);
        for block in blocks.into_iter().flatten() {
            let since = match block["type"].as_str() {
                Some("audio") => Self::R2025_03_26,
                Some("resource_link") => Self::R2025_06_18,
                _ => continue,
            };
            if self < since {
                let kind = block["type"].as_str().unwrap_or_default();
                *block = json!({ "type": "text", "text": format!("[{kind} omitted]") });
            }
        }
        if self < Self::R2025_06_18
            && let Some(result) = result.as_object_mut()
        {
            result.remove("structuredContent");
        }
    }
}
