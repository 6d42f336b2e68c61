//! A tool's result as content blocks of Anthropic's API, within what that API
//! takes: images resized, and what is too large in a file that the text names.

use serde_json::{Value, json};
use switchboard::model::shape::{Origin, Shaper};

/// `{"content": […], "is_error": …}`.
pub fn result(shaper: &Shaper, origin: &Origin<'_>, raw: &[u8]) -> Value {
    match shaper.shape(origin, raw) {
        Ok(shaped) => json!({ "content": shaped.to_claude(), "is_error": shaped.is_error() }),
        Err(unexpected) => error(&unexpected.to_string()),
    }
}

/// An error with this text.
pub fn error(message: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": message }], "is_error": true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_and_kinds() {
        let origin = Origin {
            server: "s",
            tool: "t",
            max_chars: None,
        };
        for (given, expected) in [
            (
                json!({"content": [{"type": "text", "text": "a"}]}),
                json!({"content": [{"type": "text", "text": "a"}], "is_error": false}),
            ),
            (
                json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"b": 1}}),
                json!({"content": [{"type": "text", "text": "{\"b\":1}"}], "is_error": false}),
            ),
            (
                json!({"content": [{"type": "text", "text": "no"}], "isError": true}),
                json!({"content": [{"type": "text", "text": "no"}], "is_error": true}),
            ),
            (
                json!({"odd": 1}),
                json!({"content": [{"type": "text", "text": "Unexpected response format from tool t"}], "is_error": true}),
            ),
        ] {
            let raw = given.to_string();
            assert_eq!(
                result(&Shaper::default(), &origin, raw.as_bytes()),
                expected
            );
        }
    }
}
