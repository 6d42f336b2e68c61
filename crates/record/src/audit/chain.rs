//! One record as a line, and how lines hang together: each has its number and the hash
//! of the line before it.

use super::pen::{Entry, Line, last_digits, push_number};
use chrono::{DateTime, SecondsFormat, Utc};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use switchboard_local::{hex, hex_of, secret};

/// Where the chain is: the number of the last record, and its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// How many records there have been.
    pub count: u64,
    /// The hash of the last.
    pub hash: String,
}

impl Default for Link {
    /// Before the first record.
    fn default() -> Self {
        Self {
            count: 0,
            hash: "0".repeat(64),
        }
    }
}

/// The end of the chain while lines are added to it.
pub(super) struct Chain<'a> {
    count: u64,
    hash: [u8; 64],
    clock: &'a mut Clock,
}

impl<'a> Chain<'a> {
    /// From here on.
    pub(super) fn after(link: &Link, clock: &'a mut Clock) -> Self {
        let mut hash = [b'0'; 64];
        if let Ok(known) = link.hash.as_bytes().try_into() {
            hash = known;
        }
        Self {
            count: link.count,
            hash,
            clock,
        }
    }

    /// Adds the line of what was said at this time to a text.
    pub(super) fn add(&mut self, (time, said): (SystemTime, &[u8]), text: &mut Vec<u8>) {
        let start = text.len();
        self.count += 1;
        text.extend_from_slice(br#"{"n":"#);
        push_number(text, self.count);
        text.extend_from_slice(br#","time":""#);
        self.clock.push(text, time);
        text.extend_from_slice(br#"","prev":""#);
        text.extend_from_slice(&self.hash);
        text.extend_from_slice(br#"","event":"#);
        text.extend_from_slice(said);
        text.push(b'}');
        self.hash = hex_of(&sha256(&text[start..]));
        text.push(b'\n');
    }

    /// Where it is now.
    pub(super) fn link(&self) -> Link {
        Link {
            count: self.count,
            hash: String::from_utf8_lossy(&self.hash).into_owned(),
        }
    }
}

/// Times as they are written.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// The last second that was written, and how.
    second: Option<(u64, String)>,
}

impl Clock {
    fn push(&mut self, text: &mut Vec<u8>, time: SystemTime) {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (now, written) = self.second.get_or_insert_with(Default::default);
        if *now != since.as_secs() || written.is_empty() {
            *now = since.as_secs();
            let second = DateTime::<Utc>::from(UNIX_EPOCH + Duration::from_secs(*now));
            *written = second.to_rfc3339_opts(SecondsFormat::Secs, true);
            // The part of a second comes before it.
            written.pop();
            written.push('.');
        }
        text.extend_from_slice(written.as_bytes());
        text.extend_from_slice(&last_digits::<6>(since.subsec_micros()));
        text.push(b'Z');
    }
}

/// What most records have room in.
// tidy: a size to begin with, no cap.
const FIELDS: usize = 20;

/// What is recorded.
#[derive(Clone, Debug)]
pub struct Record {
    time: SystemTime,
    event: &'static str,
    fields: Vec<(&'static str, Value)>,
}

impl Record {
    /// Something that happens now.
    pub fn new(event: &'static str) -> Self {
        Self {
            time: SystemTime::now(),
            event,
            fields: Vec::with_capacity(FIELDS),
        }
    }

    /// What it was.
    pub fn event(&self) -> &'static str {
        self.event
    }

    /// The same with this said about it, without what looks like a secret. Nothing is
    /// said where nothing is known.
    #[must_use]
    pub fn with(self, key: &'static str, value: impl Into<Value>) -> Self {
        let mut value = value.into();
        redact(&mut value);
        self.plain(key, value)
    }

    /// The same with what is no secret, however it looks: a word of ours, a number, a
    /// hash.
    #[must_use]
    pub fn plain(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        let value = value.into();
        if !value.is_null() {
            self.fields.push((key, value));
        }
        self
    }

    /// What is said about it.
    pub(super) fn fields(&self) -> &[(&'static str, Value)] {
        &self.fields
    }
}

impl Entry for Record {
    fn time(&self) -> SystemTime {
        self.time
    }

    fn write(&self, line: &mut Line<'_>) {
        line.record(self);
    }
}

/// What a line says of its place.
#[derive(Debug, Deserialize)]
pub(super) struct Linked {
    /// Its number.
    pub(super) n: u64,
    /// The hash of the line before.
    pub(super) prev: String,
}

impl Linked {
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

/// The hash of a text, in hexadecimal digits.
pub fn hash(text: &[u8]) -> String {
    hex(sha256(text))
}

/// The length of a hash.
// tidy: a form, no cap.
pub(super) const HASH: usize = 32;

/// The same as bytes. Of the two that are there this one costs a record a thousand
/// instructions less: it needs no memory for each, and asks the processor just as well.
#[cfg(target_arch = "x86_64")]
pub(super) fn sha256(text: &[u8]) -> [u8; HASH] {
    use sha2::Digest;
    sha2::Sha256::digest(text).into()
}

/// Elsewhere only this one has the processor hash.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn sha256(text: &[u8]) -> [u8; HASH] {
    let mut hash = [0; HASH];
    hash.copy_from_slice(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text).as_ref());
    hash
}

/// What a record holds of the chain: hashes that we made, which are no secrets although they
/// look like some.
const HASHES: [&str; 2] = ["prev", "argumentsSha256"];

/// A record as it is shown: without secrets, and with the hashes by which it can be checked.
pub fn redact_record(record: &mut Value) {
    let is_hash = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        text.len() == 2 * HASH && text.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let hashes = HASHES.map(|key| record.get(key).filter(|value| is_hash(value)).cloned());
    redact(record);
    for (key, hash) in HASHES.into_iter().zip(hashes) {
        if let Some(hash) = hash {
            record[key] = hash;
        }
    }
}

/// Takes out of a value what looks like a secret by its name or by itself.
pub fn redact(value: &mut Value) {
    // Goes by a list, since what comes from outside may be nested.
    let mut rest = vec![(false, value)];
    while let Some((is_secret, value)) = rest.pop() {
        match value {
            Value::Object(members) => rest.extend(members.iter_mut().map(|(key, value)| {
                let is_key = secret::is_bare_key(key);
                let could_be = || match &value {
                    Value::String(text) => secret::could_be_key(text),
                    Value::Array(_) => true,
                    _ => false,
                };
                let tells = secret::is_name(key) && (!is_key || could_be());
                (is_secret || tells, value)
            })),
            Value::Array(items) => rest.extend(items.iter_mut().map(|item| (is_secret, item))),
            Value::String(_) | Value::Number(_) if is_secret => *value = json!(secret::HIDDEN),
            Value::String(text) => {
                let shown = secret::text(text);
                if *shown != *text {
                    *value = json!(shown);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_what_others_would_write() {
        let mut clock = Clock::default();
        let start = 1_700_000_000_000_000;
        for micros in [0, 1, start + 123_456, start + 999_999, start + 1_000_000] {
            let time = UNIX_EPOCH + Duration::from_micros(micros);
            let mut text = Vec::new();
            clock.push(&mut text, time);
            let expected = DateTime::<Utc>::from(time);
            let expected = expected.to_rfc3339_opts(SecondsFormat::Micros, true);
            assert_eq!(text, expected.as_bytes());
        }
    }

    #[test]
    fn a_line_is_hashed_as_others_would_hash_it() {
        for length in [0, 1, 55, 56, 63, 64, 65, 119, 120, 500, 10_000] {
            let text = vec![b'a'; length];
            let other = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &text);
            assert_eq!(sha256(&text), other.as_ref());
        }
    }
}
