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

/// The text of a string token as readers see it that do not insist on sound text:
/// half of a surrogate pair without the other half becomes U+FFFD.
pub fn loose_text(token: &[u8]) -> Cow<'_, str> {
    text(token)
        .or_else(|| text(&whole_pairs(token)).map(|text| Cow::Owned(text.into_owned())))
        .unwrap_or_else(|| String::from_utf8_lossy(token))
}

/// The token with `\ufffd` for each half of a pair that stands alone.
fn whole_pairs(token: &[u8]) -> Vec<u8> {
    // tidy: what JSON says, not a choice of ours
    const ESCAPE: usize = "\\u0000".len();
    let unit = |at: usize| {
        let digits = token.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut out = Vec::with_capacity(token.len());
    let mut at = 0;
    while at < token.len() {
        let step = match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + ESCAPE), Some(0xDC00..=0xDFFF)) => {
                2 * ESCAPE
            }
            Some(0xD800..=0xDFFF) => {
                out.extend_from_slice(b"\\ufffd");
                at += ESCAPE;
                continue;
            }
            Some(_) => ESCAPE,
            // Another escape is two characters: a backslash that is escaped begins none.
            None if token[at] == b'\\' => 2,
            None => 1,
        };
        let end = (at + step).min(token.len());
        out.extend_from_slice(&token[at..end]);
        at = end;
    }
    out
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
