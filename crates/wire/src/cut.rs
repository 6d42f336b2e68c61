//! A message that is too long to be kept: whose it is, by its beginning and its end.

use crate::{
    Id,
    id::own_number,
    json::{self, Span, ValueKind},
    limits,
};
use bytes::Bytes;

/// Whose a message is of which the middle is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The reply to a request of ours.
    Reply(u64),
    /// A request of the peer's, under this id.
    Request(Id),
    /// Nothing says so.
    Unknown,
}

/// What the top of a message says, as far as it is known.
#[derive(Default)]
struct Top<'a> {
    id: Option<&'a [u8]>,
    /// Two ids: two readers could disagree.
    twice: bool,
    asks: bool,
    answers: bool,
}

impl<'a> Top<'a> {
    fn member(&mut self, key: &str, value: Option<&'a [u8]>) {
        match (key, value) {
            ("id", Some(value)) => self.twice |= self.id.replace(value).is_some(),
            ("method", _) => self.asks = true,
            ("result" | "error", _) => self.answers = true,
            _ => {}
        }
    }
}

impl Cut {
    /// By the first bytes of a message, and the last ones where they have come. Keys and
    /// short values at either end count; nothing that stands deeper does.
    pub fn of(head: &[u8], tail: &[u8]) -> Self {
        let mut top = Top::default();
        let mut members = json::members(head);
        for member in &mut members {
            // At the very end more digits may have been cut off.
            let whole = member.value.end < head.len();
            if let Some(key) = json::text(member.key.of(head)) {
                top.member(&key, whole.then(|| member.value.of(head)));
            }
        }
        if let Some(key) = members
            .unfinished()
            .and_then(|key| json::text(key.of(head)))
        {
            top.member(&key, None);
        }
        let mut rest = tail.trim_ascii_end().strip_suffix(b"}").unwrap_or_default();
        while let Some((before, key, value)) = last_member(rest) {
            top.member(key, Some(value));
            rest = before;
        }
        match top.id {
            Some(id) if top.asks && !top.twice && !top.answers => request(id),
            Some(id) if top.answers && !top.twice && !top.asks => {
                own_number(id).map_or(Self::Unknown, Self::Reply)
            }
            _ => Self::Unknown,
        }
    }
}

fn request(id: &[u8]) -> Cut {
    let fits = matches!(
        ValueKind::of(id),
        Some(ValueKind::String | ValueKind::Number)
    ) && id.len() <= limits::ID_BYTES;
    match fits {
        true => Cut::Request(Id::from_token(Bytes::copy_from_slice(id))),
        false => Cut::Unknown,
    }
}

/// The last member of an object of which the end is known, with a comma before it: what
/// is before that, its key, and its value. Only plain ones, so that it is clear from
/// behind where each begins: in JSON a quote without a backslash before it is always
/// the end of a text.
fn last_member(rest: &[u8]) -> Option<(&[u8], &str, &[u8])> {
    let rest = rest.trim_ascii_end();
    let start = match plain_text(rest) {
        Some(text) => text.start,
        None => {
            let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            rest.iter().rposition(|byte| !token(byte))? + 1
        }
    };
    let (rest, value) = rest.split_at(start);
    let rest = rest.trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
    let text = plain_text(rest)?;
    let key = std::str::from_utf8(&rest[text.start + 1..text.end - 1]).ok()?;
    let before = rest[..text.start].trim_ascii_end().strip_suffix(b",")?;
    (!value.is_empty()).then_some((before, key, value))
}

/// Where the text without escapes begins that this ends with.
fn plain_text(rest: &[u8]) -> Option<Span> {
    let inside = rest.strip_suffix(b"\"")?;
    let start = memchr::memrchr2(b'"', b'\\', inside)?;
    (inside[start] == b'"').then(|| Span::new(start, rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(head: &str, tail: &str) -> Cut {
        Cut::of(head.as_bytes(), tail.as_bytes())
    }

    #[test]
    fn an_id_counts_at_either_end() {
        let none = "";
        for (head, tail) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"content":["aaa"#, none),
            (r#"{"jsonrpc":"2.0","id":7,"result":{"a"#, r#"a"}]}}"#),
            (r#"{"id" : 7 ,"error":{"message":"aa"#, "aaaa"),
            (r#"{"jsonrpc":"2.0","result":{"a":"#, r#"aaa"]},"id":7}"#),
            (
                r#"{"result":["#,
                r#"aaa",1], "id" : 7 , "jsonrpc" : "2.0" } "#,
            ),
            (r#"{"result":""#, r#"aaa\"","jsonrpc":"2.0","id":7}"#),
        ] {
            assert_eq!(of(head, tail), Cut::Reply(7), "{head} … {tail}");
        }
        let asks = Cut::Request(Id::from_token(Bytes::from_static(b"\"q\"")));
        for (head, tail) in [
            (r#"{"id":"q","method":"m","params":{"a"#, none),
            (r#"{"method":"m","params":{"a"#, r#"a"},"id":"q"}"#),
            (r#"{"params":{"a"#, r#"a"},"method":"m","id":"q"}"#),
        ] {
            assert_eq!(of(head, tail), asks, "{head} … {tail}");
        }
    }

    #[test]
    fn nobody_is_blamed_where_it_is_not_clear() {
        for (head, tail) in [
            // Deeper, or in a text.
            (r#"{"result":{"a":["#, r#"{"a":1,"id":7}]}}"#),
            (r#"{"result":{"a":""#, r#",\"id\":7}"}}"#),
            (r#"{"result":{"id":7,"a":"#, "aaa"),
            (r#"{"result":["#, r#"],"x":"\",\"id\":7}"}"#),
            // Twice, of another kind, or cut off.
            (r#"{"id":7,"result":["#, r#"],"id":8}"#),
            (r#"{"id":7,"method":"m","result":["#, ""),
            (r#"{"result":["#, r#"],"id":"7"}"#),
            (r#"{"result":["#, r#"],"id":7.0}"#),
            (r#"{"result":["#, r#"],"id":7"#),
            (r#"{"result":["#, "7}"),
            (r#"{"a":["#, r#"],"id":7}"#),
            ("", ""),
            ("npm warn id 7", ",\"id\":7}"),
        ] {
            assert_eq!(of(head, tail), Cut::Unknown, "{head} … {tail}");
        }
    }
}
