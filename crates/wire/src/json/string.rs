//! JSON string tokens and the text they stand for.

use std::borrow::Cow;

/// The text of a string token (quotes included), or `None` if it is not one or
/// stands for no valid text (a lone surrogate).
pub fn text(token: &[u8]) -> Option<Cow<'_, str>> {
    let inner = token.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inner).is_none() {
        return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice::<String>(token).ok().map(Cow::Owned)
}

/// The string token for `value`, quotes included.
pub fn quote(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    escape_into(&mut out, value);
    out.push('"');
    out
}

/// Appends `value` as it stands between the quotes of a string token.
pub fn escape_into(out: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                out.push_str("\\u00");
                out.push(char::from_digit(c as u32 >> 4, 16).unwrap_or('0'));
                out.push(char::from_digit(c as u32 & 15, 16).unwrap_or('0'));
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests;
