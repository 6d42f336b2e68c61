//! A tool's result as text for people.

use serde_json::Value;

/// Whether a result has any of the forms that results have.
pub fn is_known(result: &Value) -> bool {
    result["isError"] == true
        || result.get("toolResult").is_some()
        || !result["structuredContent"].is_null()
        || result["content"].is_array()
}

/// What a result says: the words of the first revision, its content one block
/// after the other, or its structure. An error always says something.
pub fn text(result: &Value, server: &str) -> String {
    let failed = result["isError"] == true;
    if let Some(old) = result.get("toolResult").filter(|_| !failed) {
        return pretty(old);
    }
    let blocks = result["content"].as_array().into_iter().flatten();
    let blocks: Vec<String> = blocks.map(|block| block_text(block, server)).collect();
    let text = blocks.join("\n");
    let structured = &result["structuredContent"];
    match &result["error"] {
        _ if !text.is_empty() => text,
        Value::Null if failed => "Unknown error".to_owned(),
        error if failed => pretty(error),
        _ if structured.is_null() => text,
        _ => pretty(structured),
    }
}

/// One block in words; text stays what it is.
pub fn block_text(block: &Value, server: &str) -> String {
    let field = |key: &str| block[key].as_str().unwrap_or_default();
    match field("type") {
        "text" => field("text").to_owned(),
        kind @ ("image" | "audio") => format!(
            "[{kind} {}, {} bytes]",
            field("mimeType"),
            decoded(field("data"))
        ),
        "resource" => {
            let resource = &block["resource"];
            let uri = resource["uri"].as_str().unwrap_or_default();
            let prefix = format!("[Resource from {server} at {uri}]");
            match (resource["text"].as_str(), resource["blob"].as_str()) {
                (Some(text), _) => format!("{prefix}\n{text}"),
                (None, Some(blob)) => format!("{prefix} {} bytes", decoded(blob)),
                (None, None) => prefix,
            }
        }
        "resource_link" => {
            let about = block["description"]
                .as_str()
                .map(|text| format!(" ({text})"))
                .unwrap_or_default();
            format!("[Resource link: {}] {}{about}", field("name"), field("uri"))
        }
        other => format!("[content of the unknown type {other:?}]"),
    }
}

/// How many bytes base64 text stands for.
fn decoded(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

/// A value for people: text as it is, anything else indented.
pub fn pretty(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// JSON on one line, in several: for people. What would not come out the same, such as
/// a number that is too long for us, stays as it is.
pub fn indented(text: String) -> String {
    let one_line = text.trim();
    if !one_line.starts_with(['{', '[']) {
        return text;
    }
    match serde_json::from_str::<Value>(one_line) {
        Ok(value) if serde_json::to_string(&value).is_ok_and(|same| same == one_line) => {
            pretty(&value)
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_on_one_line_is_indented_where_nothing_is_lost() {
        for (text, expected) in [
            (
                "{\"a\":[1,\"b\"]}",
                "{\n  \"a\": [\n    1,\n    \"b\"\n  ]\n}",
            ),
            (
                "{\"a\":1.00000000000000000001}",
                "{\"a\":1.00000000000000000001}",
            ),
            ("[1, 2]", "[1, 2]"),
            ("plain", "plain"),
        ] {
            assert_eq!(indented(text.to_owned()), expected);
        }
    }

    #[test]
    fn every_kind_of_content_has_words() {
        for (result, expected) in [
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                "a\nb",
            ),
            (
                json!({"content": [{"type": "image", "mimeType": "image/png", "data": "AAAA"}]}),
                "[image image/png, 3 bytes]",
            ),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "x://1", "text": "t"}}]}),
                "[Resource from s at x://1]\nt",
            ),
            (
                json!({"content": [{"type": "resource_link", "name": "n", "uri": "x://1", "description": "d"}]}),
                "[Resource link: n] x://1 (d)",
            ),
            (
                json!({"content": [{"type": "hologram"}]}),
                "[content of the unknown type \"hologram\"]",
            ),
            (
                json!({"content": [], "structuredContent": {"a": 1}}),
                "{\n  \"a\": 1\n}",
            ),
            (json!({"toolResult": "old"}), "old"),
            (
                json!({"toolResult": "old", "content": [{"type": "text", "text": "a"}]}),
                "old",
            ),
            (json!({"content": []}), ""),
            (json!({"isError": true}), "Unknown error"),
            (json!({"isError": true, "error": "why"}), "why"),
            (
                json!({"isError": true, "content": [{"type": "text", "text": "a"}], "error": "why"}),
                "a",
            ),
        ] {
            assert_eq!(text(&result, "s"), expected);
        }
    }
}
