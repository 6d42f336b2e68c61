//! A tiny scanner that finds members in raw JSON text without changing a byte.
//!
//! It assumes well-formed JSON and does not validate: the peers of this crate
//! use it where a tree (and so a re-serialisation) would hide what was really
//! on the wire.

use std::borrow::Cow;

/// The members of a JSON-RPC message, as the bytes that arrived.
#[derive(Debug, Default, Clone)]
pub struct Message<'a> {
    /// `id`, exactly as written.
    pub id: Option<&'a [u8]>,
    /// `method`, unescaped.
    pub method: Option<Cow<'a, str>>,
    /// `params`, exactly as written.
    pub params: Option<&'a [u8]>,
    /// `result`, exactly as written.
    pub result: Option<&'a [u8]>,
    /// `error`, exactly as written.
    pub error: Option<&'a [u8]>,
}

impl<'a> Message<'a> {
    /// Reads the envelope; `None` if the text is not an object.
    pub fn read(text: &'a [u8]) -> Option<Self> {
        let mut message = Self::default();
        for (key, value) in members(text)? {
            match &*key {
                "id" => message.id = Some(value),
                "method" => message.method = string(value),
                "params" => message.params = Some(value),
                "result" => message.result = Some(value),
                "error" => message.error = Some(value),
                _ => {}
            }
        }
        Some(message)
    }
}

/// The members of an object in order: keys unescaped, values as written.
/// `None` if the text does not start an object.
pub fn members(text: &[u8]) -> Option<Members<'_>> {
    let at = skip_space(text, 0);
    (text.get(at) == Some(&b'{')).then_some(Members { text, at: at + 1 })
}

/// The elements of an array in order, as written; none if it is no array.
pub fn elements(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let start = skip_space(text, 0);
    let mut at = match text.get(start) {
        Some(b'[') => start + 1,
        _ => text.len(),
    };
    std::iter::from_fn(move || {
        at = skip_space(text, at);
        if text.get(at) == Some(&b',') {
            at = skip_space(text, at + 1);
        }
        if matches!(text.get(at), None | Some(b']')) {
            return None;
        }
        let element = text.get(at..skip_value(text, at))?;
        at += element.len();
        Some(element)
    })
}

/// The first member with this key.
pub fn get<'a>(text: &'a [u8], key: &str) -> Option<&'a [u8]> {
    members(text)?.find(|(k, _)| k == key).map(|(_, v)| v)
}

/// A member below members: `path(text, &["params", "_meta"])`.
pub fn path<'a>(text: &'a [u8], keys: &[&str]) -> Option<&'a [u8]> {
    keys.iter().try_fold(text, |at, key| get(at, key))
}

/// The text of a JSON string; `None` for other values.
pub fn string(raw: &[u8]) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inner.contains(&b'\\') {
        return serde_json::from_slice::<String>(raw).ok().map(Cow::Owned);
    }
    std::str::from_utf8(inner).ok().map(Cow::Borrowed)
}

/// The value of a non-negative JSON integer.
pub fn number(raw: &[u8]) -> Option<u64> {
    std::str::from_utf8(raw).ok()?.parse().ok()
}

/// Iterates over the members of an object; see [`members`].
#[derive(Debug, Clone)]
pub struct Members<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.text;
        let mut at = skip_space(text, self.at);
        if text.get(at) == Some(&b',') {
            at = skip_space(text, at + 1);
        }
        if text.get(at) != Some(&b'"') {
            return None;
        }
        let end = skip_value(text, at);
        let raw = text.get(at..end)?;
        // A key with a lone surrogate has no unescaped form: keep its spelling.
        let key = string(raw).unwrap_or_else(|| String::from_utf8_lossy(raw));
        at = skip_space(text, end);
        if text.get(at) != Some(&b':') {
            return None;
        }
        at = skip_space(text, at + 1);
        let end = skip_value(text, at);
        let value = text.get(at..end)?;
        self.at = end;
        Some((key, value))
    }
}

fn skip_space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

/// The position behind the value that starts at `at`; iterative, so depth is free.
fn skip_value(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = skip_string(text, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            _ if depth > 0 => at += 1,
            _ => {
                while let Some(byte) = text.get(at) {
                    if matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n') {
                        break;
                    }
                    at += 1;
                }
            }
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn skip_string(text: &[u8], mut at: usize) -> usize {
    at += 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_raw_members_whatever_their_spelling() {
        let text = b" { \"jsonrpc\":\"2.0\",\r\n\"i\\u0064\" : 1.0 ,\"method\":\"a\\/b\",\"params\":{\"x\":[1,{\"y\":\"}]\\\"\"}], \"_meta\": {} } }";
        let message = Message::read(text).unwrap();
        assert_eq!(message.id, Some(&b"1.0"[..]));
        assert_eq!(message.method.as_deref(), Some("a/b"));
        let params = message.params.unwrap();
        assert_eq!(get(params, "x"), Some(&b"[1,{\"y\":\"}]\\\"\"}]"[..]));
        assert_eq!(path(text, &["params", "_meta"]), Some(&b"{}"[..]));
    }

    #[test]
    fn finds_raw_elements() {
        let text = b" [ 1.0 ,{\"a\":[2]}, \"],\" ,[ ]\r\n, null ] ";
        let found: Vec<&[u8]> = elements(text).collect();
        assert_eq!(
            found,
            [&b"1.0"[..], b"{\"a\":[2]}", b"\"],\"", b"[ ]", b"null"]
        );
        assert_eq!(elements(b"[ ]").count(), 0);
        assert_eq!(elements(b"{\"a\":1}").count(), 0);
        assert_eq!(elements(b"[1").count(), 1);
    }

    #[test]
    fn does_not_hang_on_broken_text() {
        for text in [
            &b"{"[..],
            b"{\"",
            b"{\"a\"",
            b"{\"a\":",
            b"{\"a\":[",
            b"[]",
            b"",
            b"{,,}",
            b"{\"a\":1]",
        ] {
            let _ = Message::read(text);
        }
    }
}
