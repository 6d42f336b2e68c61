//! The value encoding of `Mcp-Name` and `Mcp-Param-*` headers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A header value for this text: itself where that is safe, else the base64
/// sentinel form.
pub fn encode_value(text: &str) -> String {
    let sentinel = text.starts_with("=?base64?") && text.ends_with("?=");
    let padded = text.is_empty() || text.starts_with(' ') || text.ends_with(' ');
    let plain = !sentinel && !padded && text.bytes().all(|b| matches!(b, 0x20..=0x7e));
    if plain {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", STANDARD.encode(text))
    }
}

/// The text of a header value; `None` if its base64 is broken.
pub fn decode_value(value: &str) -> Option<String> {
    match value
        .strip_prefix("=?base64?")
        .and_then(|v| v.strip_suffix("?="))
    {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}
