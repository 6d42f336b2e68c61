//! A compact schema of a value: enough for a model to know what it would find in a file.

use super::Block;
use crate::limits;
use serde_json::Value;

/// For example `{id: number, tags: [string], owner: {name: string}}`. An array
/// is described by its first element.
pub fn compact_schema(value: &Value) -> String {
    let mut out = String::new();
    describe(value, limits::DESCRIBED_DEPTH, &mut out);
    out
}

fn describe(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(_) => out.push_str("boolean"),
        Value::Number(_) => out.push_str("number"),
        Value::String(_) => out.push_str("string"),
        Value::Array(items) => match items.first() {
            None => out.push_str("[]"),
            Some(_) if depth == 0 => out.push_str("[…]"),
            Some(first) => {
                out.push('[');
                describe(first, depth - 1, out);
                out.push(']');
            }
        },
        Value::Object(members) if members.is_empty() => out.push_str("{}"),
        Value::Object(_) if depth == 0 => out.push_str("{…}"),
        Value::Object(members) => {
            out.push('{');
            for (i, (key, value)) in members.iter().take(limits::DESCRIBED_KEYS).enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                out.extend(key.chars().take(limits::DESCRIBED_KEY_CHARS));
                out.push_str(": ");
                describe(value, depth - 1, out);
            }
            if members.len() > limits::DESCRIBED_KEYS {
                out.push_str(", …");
            }
            out.push('}');
        }
    }
}

/// The schema of a JSON text. One that is nested too deeply to be built is told by its kind alone.
pub(super) fn of_text(raw: &[u8]) -> String {
    match serde_json::from_slice(raw) {
        Ok(value) => compact_schema(&value),
        Err(_) if raw.starts_with(b"[") => "[…]".to_owned(),
        Err(_) => "{…}".to_owned(),
    }
}

/// The schema of converted content, by its first block, as for any array.
pub(super) fn of_blocks(blocks: &[Block]) -> String {
    match blocks.first() {
        None => "[]".to_owned(),
        Some(Block::Text(_)) => "[{type: string, text: string}]".to_owned(),
        Some(Block::Image(_)) => {
            "[{type: string, source: {type: string, media_type: string, data: string}}]".to_owned()
        }
    }
}
