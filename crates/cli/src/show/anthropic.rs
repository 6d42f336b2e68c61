//! A tool's result as content blocks of Anthropic's API.

use super::content::{block_text, pretty};
use serde_json::{Value, json};

/// `{"content": […], "is_error": …}`. Of what a result can hold, the first of
/// `toolResult`, `structuredContent` and `content` counts.
pub fn result(result: &Value, server: &str, tool: &str) -> Value {
    let is_error = result["isError"] == true;
    let content = if let Some(value) = result.get("toolResult") {
        vec![text(&pretty(value))]
    } else if let Some(value) = result.get("structuredContent").filter(|_| !is_error) {
        vec![text(&value.to_string())]
    } else if let Some(blocks) = result["content"].as_array() {
        blocks.iter().flat_map(|each| block(each, server)).collect()
    } else {
        return error(&format!("Unexpected response format from tool {tool}"));
    };
    json!({ "content": content, "is_error": is_error })
}

/// An error with this text.
pub fn error(message: &str) -> Value {
    json!({ "content": [text(message)], "is_error": true })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn block(block: &Value, server: &str) -> Vec<Value> {
    let image = |data: &Value, kind: &Value| json!({ "type": "image", "source": { "type": "base64", "media_type": kind, "data": data } });
    match block["type"].as_str() {
        Some("image") => vec![image(&block["data"], &block["mimeType"])],
        Some("resource") if is_image(&block["resource"]) => {
            let uri = block["resource"]["uri"].as_str().unwrap_or_default();
            let prefix = text(&format!("[Resource from {server} at {uri}]"));
            vec![
                prefix,
                image(&block["resource"]["blob"], &block["resource"]["mimeType"]),
            ]
        }
        _ => vec![text(&block_text(block, server))],
    }
}

fn is_image(resource: &Value) -> bool {
    resource["blob"].is_string()
        && resource["mimeType"]
            .as_str()
            .is_some_and(|kind| kind.starts_with("image/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_and_kinds() {
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
                json!({"content": [{"type": "image", "mimeType": "image/png", "data": "AA=="}]}),
                json!({"content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}], "is_error": false}),
            ),
            (
                json!({"odd": 1}),
                json!({"content": [{"type": "text", "text": "Unexpected response format from tool t"}], "is_error": true}),
            ),
        ] {
            assert_eq!(result(&given, "s", "t"), expected);
        }
    }
}
