//! `ReadResult`: the tool with which a model reads a stored result in parts.

use super::store::{Query, ReadError, Store};
use crate::limits;
use serde::Deserialize;
use serde_json::{Value, json};

/// Its name.
pub const NAME: &str = "ReadResult";

/// Its definition, as an MCP tool.
pub fn definition() -> Value {
    json!({
        "name": NAME,
        "description": format!(
            "Reads a tool result that was too large to show and was saved. Without a pattern it returns lines from \
             offset on; with one, the lines that match it. One call returns at most {} lines and {} characters, and \
             says where to continue.",
            limits::PAGE_LINES,
            limits::PAGE_CHARS
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "id": { "type": "string", "description": "The id that the saved result was announced with" },
                "offset": { "type": "integer", "minimum": 1, "description": "The first line, from 1" },
                "lines": {
                    "type": "integer", "minimum": 1, "maximum": limits::PAGE_LINES,
                    "description": "How many lines",
                },
                "pattern": {
                    "type": "string",
                    "description": "A regular expression (no look-around or back-references); (?i) ignores case",
                },
            },
            "required": ["id"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    id: String,
    #[serde(default)]
    offset: Option<usize>,
    #[serde(default)]
    lines: Option<usize>,
    #[serde(default)]
    pattern: Option<String>,
}

/// Why nothing was read. The text is for the model.
#[derive(Debug, thiserror::Error)]
pub enum ReadResultError {
    /// The call does not say what it should.
    #[error("The arguments of {NAME} are wrong: {0}")]
    Arguments(#[from] serde_json::Error),
    /// There is no such result, or not that part of it.
    #[error(transparent)]
    Store(#[from] ReadError),
}

/// Runs it. The text is for the model.
pub fn run(store: &Store, arguments: &[u8]) -> Result<String, ReadResultError> {
    let Arguments {
        id,
        offset,
        lines,
        pattern,
    } = serde_json::from_slice(arguments)?;
    let query = Query {
        offset: offset.unwrap_or(1),
        lines,
        pattern,
    };
    Ok(store.read(&id, &query)?.to_text())
}
