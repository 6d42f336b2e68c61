//! Spaces, names and streams as subjects. A subject is words with dots between them, and
//! some characters mean something there.

use crate::Key;

/// Where entries are.
pub(super) const ENTRIES: &str = "sb.kv";
/// Where streams are.
pub(super) const EVENTS: &str = "sb.ev";

/// Where one asks for what an account keeps itself.
pub(super) const OWN: &str = "$JS.API";
/// Where a worker asks, if its account has what replicas keep imported from theirs.
pub(super) const IMPORTED: &str = "sb.js";

/// What the subjects of answers begin with, for a worker or for replicas: none hears another's.
pub(super) fn answers(worker: Option<&str>) -> String {
    match worker {
        Some(name) => format!("_INBOX.worker.{name}"),
        None => "_INBOX.replica".to_owned(),
    }
}

/// The subject of an entry.
pub(super) fn entry(key: &Key) -> String {
    format!("{ENTRIES}.{}.{}", word(&key.space), word(&key.name))
}

/// The subjects of all entries of a space.
pub(super) fn space(space: &str) -> String {
    format!("{ENTRIES}.{}.*", word(space))
}

/// The subject of a stream.
pub(super) fn stream(name: &str) -> String {
    format!("{EVENTS}.{}", word(name))
}

/// The name of an entry whose subject this is.
pub(super) fn name_of(subject: &str) -> Option<String> {
    let word = subject.rsplit('.').next()?;
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'=' => match (rest.next(), rest.next()) {
                (Some(high), Some(low)) => (digit(high)? << 4) | digit(low)?,
                (None, _) => break,
                _ => return None,
            },
            plain => plain,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

/// A text as one word; `=` alone stands for nothing at all.
fn word(text: &str) -> String {
    if text.is_empty() {
        return "=".to_owned();
    }
    let mut word = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' => {
                word.push(char::from(byte));
            }
            other => word.push_str(&format!("={other:02x}")),
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_means_something_in_a_subject_is_written_otherwise() {
        let key = Key::new("sessions/0a", "a.b*c> d=");
        assert_eq!(entry(&key), "sb.kv.sessions/0a.a=2eb=2ac=3e=20d=3d");
        assert_eq!(space(""), "sb.kv.=.*");
        assert_eq!(stream("events/0a/1"), "sb.ev.events/0a/1");
        assert_eq!(name_of("sb.kv.x.a=2"), None);
    }

    proptest! {
        #[test]
        fn every_name_comes_back(name in ".*") {
            let subject = entry(&Key::new("space", &name));
            prop_assert_eq!(subject.split('.').count(), 4);
            prop_assert_eq!(name_of(&subject), Some(name));
        }
    }
}
