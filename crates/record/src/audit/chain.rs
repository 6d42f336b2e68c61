//! One record as a line, and how lines hang together: each has its number and the hash
//! of the line before it.

use super::pen::{Entry, Line};
use aws_lc_rs::digest;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::SystemTime;
use switchboard_local::{hex, push_hex, secret};

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

impl Link {
    /// The next record's hash, in the place of this one's.
    pub(super) fn set_hash(&mut self, digest: &[u8]) {
        let mut digits = std::mem::take(&mut self.hash).into_bytes();
        digits.clear();
        push_hex(&mut digits, digest);
        self.hash = String::from_utf8(digits).unwrap_or_default();
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
    hex(digest_of(text))
}

/// The same as bytes.
pub(super) fn digest_of(text: &[u8]) -> digest::Digest {
    digest::digest(&digest::SHA256, text)
}

/// What a record holds of the chain: hashes that we made, which are no secrets although they
/// look like some.
const HASHES: [&str; 2] = ["prev", "argumentsSha256"];

/// A record as it is shown: without secrets, and with the hashes by which it can be checked.
pub fn redact_record(record: &mut Value) {
    let is_hash = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        text.len() == 2 * digest::SHA256_OUTPUT_LEN && text.bytes().all(|b| b.is_ascii_hexdigit())
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
