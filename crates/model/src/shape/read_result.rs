//! `ReadResult`: the tool with which a model reads a stored result in parts.

use super::store::{Query, Store};
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

/// Runs it. Both the text and the error are for the model.
pub fn run(store: &Store, arguments: &[u8]) -> Result<String, String> {
    let Arguments {
        id,
        offset,
        lines,
        pattern,
    } = serde_json::from_slice(arguments)
        .map_err(|fault| format!("The arguments of {NAME} are wrong: {fault}"))?;
    let query = Query {
        offset: offset.unwrap_or(1),
        lines,
        pattern,
    };
    store
        .read(&id, &query)
        .map(|page| page.to_text())
        .map_err(|fault| fault.to_string())
}
