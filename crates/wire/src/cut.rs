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
    /// It asks or says something, and is no reply.
    Notice,
    /// Nothing says so.
    Unknown,
}

/// Whether something that is read in pieces, and not kept, is one JSON object or array from
/// its beginning to its end: by quotes and brackets alone. What stands behind one that broke
/// off, with no line end between, is always found out: it leaves something open, or has a
/// backslash where there can be none.
#[derive(Debug, Default)]
pub struct Whole {
    depth: u64,
    in_text: bool,
    escaped: bool,
    begun: bool,
    /// There is something before, behind or in it that cannot be there.
    wrong: bool,
}

impl Whole {
    /// Reads on.
    pub fn read(&mut self, mut piece: &[u8]) {
        while let Some((&byte, rest)) = piece.split_first() {
            if self.in_text && !self.escaped {
                let Some(found) = memchr::memchr2(b'"', b'\\', piece) else {
                    return;
                };
                self.escaped = piece[found] == b'\\';
                self.in_text = self.escaped;
                piece = &piece[found + 1..];
                continue;
            }
            piece = rest;
            match byte {
                _ if self.escaped => self.escaped = false,
                b'{' | b'[' => {
                    self.wrong |= self.begun && self.depth == 0;
                    self.begun = true;
                    self.depth += 1;
                }
                b'}' | b']' if self.depth > 0 => self.depth -= 1,
                b'"' if self.depth > 0 => self.in_text = true,
                b'\\' => self.wrong = true,
                _ => self.wrong |= self.depth == 0 && !byte.is_ascii_whitespace(),
            }
        }
    }

    /// Whether that was all.
    pub fn is_whole(&self) -> bool {
        self.begun && self.depth == 0 && !self.wrong
    }
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
            _ if top.asks && !top.answers => Self::Notice,
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
        false => Cut::Notice,
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
    fn what_is_no_reply_is_known_for_that() {
        for (head, tail) in [
            (r#"{"jsonrpc":"2.0","method":"m","params":{"a"#, ""),
            (r#"{"params":{"a"#, r#"a"},"method":"m"}"#),
            (r#"{"method":"m","id":{},"params":{"a"#, r#"a"}}"#),
        ] {
            assert_eq!(of(head, tail), Cut::Notice, "{head} … {tail}");
        }
    }

    /// In pieces of any size.
    fn whole(text: &str) -> bool {
        let [one, all] = [1, text.len().max(1)].map(|size| {
            let mut whole = Whole::default();
            for piece in text.as_bytes().chunks(size) {
                whole.read(piece);
            }
            whole.is_whole()
        });
        assert_eq!(one, all, "{text}");
        all
    }

    #[test]
    fn what_stands_behind_something_that_broke_off_is_found_out() {
        let long = r#" {"jsonrpc":"2.0","id":1,"result":{"a":[1,{"b":"x\"}{\\"}, "y"]}}"#;
        assert!(whole(long) && whole(&format!("{long} \r")) && whole("[{}]"));
        for next in [
            r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"a":"x\"y"}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"a":"]}}}\\ \"\n]"}}"#,
        ] {
            assert!(whole(next));
            for cut in 1..=long.len() {
                if let Some(head) = long.get(..cut).filter(|head| !head.trim().is_empty()) {
                    assert!(!whole(&format!("{head}{next}")), "{head}{next}");
                    assert!(cut == long.len() || !whole(head), "{head}");
                }
            }
        }
        for noise in ["", "npm warn", "npm {}", "{} npm", "]", "\"a\""] {
            assert!(!whole(noise), "{noise}");
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
