//! Whether an answer says that it failed. Every call that is counted is asked, so that
//! the common forms are told without reading the answer a second time.

use memchr::{memchr, memmem};
use std::sync::LazyLock;
use switchboard_wire::{Kind, Message, json};

/// An error, or a result that says it is one.
pub(crate) fn is_failure(message: &Message) -> bool {
    message.kind() == Kind::Error || says_so(message.body())
}

const KEY: &[u8] = b"\"isError\"";

/// Made ready once: that takes longer than a search through most answers.
static FINDER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(KEY));

fn says_so(body: &[u8]) -> bool {
    let Some(at) = FINDER.find(body) else {
        return is_escaped(body) && is_member(body);
    };
    // As the last member of the whole it is that of no other object; and where it
    // stands once it is said once.
    match body[at + KEY.len()..].trim_ascii() {
        b":false}" => false,
        b":true}" if !is_escaped(body) => true,
        _ => is_member(body),
    }
}

/// Whether anything is written in another way than plainly: no letter of a key can be
/// but with such a sign before it.
fn is_escaped(body: &[u8]) -> bool {
    memchr(b'\\', body).is_some() && memmem::find(body, b"\\u").is_some()
}

/// The same, by reading all of it.
#[cold]
fn is_member(body: &[u8]) -> bool {
    let said = json::field(body, "isError").ok().flatten();
    said.is_some_and(|span| span.of(body) == b"true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_as_if_all_were_read() {
        for body in [
            r#"{"content":[]}"#,
            r#"{"content":[],"isError":true}"#,
            r#"{"content":[],"isError":false}"#,
            r#"{"content":[], "isError" : true }"#,
            r#"{"isError":true,"content":[]}"#,
            r#"{"isError":false,"content":[{"isError":true}]}"#,
            r#"{"content":[{"isError":true}]}"#,
            r#"{"content":[{"isError":true}],"isError":false}"#,
            r#"{"content":[{"isError":false}],"isError":true}"#,
            r#"{"content":[{"text":"\"isError\":true}"}]}"#,
            r#"{"content":[],"isErr\u006fr":true}"#,
            r#"{"isErr\u006fr":true,"isError":false}"#,
            r#"{"isErr\u006fr":false,"isError":true}"#,
            r#"{"isError":true,"isError":true}"#,
            r#"{"isError":"true"}"#,
            r#"{"a":{"isError":true}}"#,
            r#"[{"isError":true}]"#,
            "",
        ] {
            let read = is_member(body.as_bytes());
            assert_eq!(says_so(body.as_bytes()), read, "{body}");
        }
    }
}
