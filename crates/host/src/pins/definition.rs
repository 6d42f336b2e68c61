//! What of a tool's definition is pinned, in one fixed form.

use crate::limits;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The parts of a definition that a model or a person relies on. Icons and
/// other metadata may change freely; the search hint is read by models.
const PARTS: [&str; 6] = [
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "execution",
];
const HINT: &str = "anthropic/searchHint";

/// A tool's definition, ready to be pinned or compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The server's own name for the tool.
    pub tool: String,
    /// The hash of what is pinned.
    pub hash: String,
    /// What is pinned: JSON with sorted keys, one value a line.
    pub(super) text: String,
}

impl Definition {
    /// Reads a definition as the server wrote it. `None` if it has no name or cannot be read.
    pub fn of(raw: &[u8]) -> Option<Self> {
        let mut tool: Map<String, Value> = serde_json::from_slice(raw).ok()?;
        let name = tool.get("name")?.as_str()?.to_owned();
        let mut parts = Map::new();
        for part in PARTS {
            if let Some(value) = tool.remove(part) {
                parts.insert(part.to_owned(), value);
            }
        }
        if let Some(hint) = tool.get("_meta").and_then(|meta| meta.get(HINT)) {
            parts.insert(HINT.to_owned(), hint.clone());
        }
        let text = serde_json::to_string_pretty(&sorted(Value::Object(parts))).ok()?;
        Some(Self {
            tool: name,
            hash: hash(text.as_bytes()),
            text,
        })
    }

    /// The text, if it is small enough to be kept.
    pub(super) fn kept(&self) -> Option<String> {
        (self.text.len() <= limits::PINNED_BYTES).then(|| self.text.clone())
    }
}

/// The value with its keys in order, since servers differ from run to run in
/// theirs; for the same reason the names in `required`, whose order means nothing.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            let ordered = members.into_iter().map(|(key, value)| {
                let mut value = sorted(value);
                if let (true, Value::Array(names)) = (key == "required", &mut value)
                    && names.iter().all(Value::is_string)
                {
                    names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
                }
                (key, value)
            });
            Value::Object(ordered.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

pub(super) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
