//! JSON without its secrets. Everything else keeps its bytes.

use bytes::Bytes;
use std::borrow::Cow;
use switchboard_local::secret;
use switchboard_wire::{
    Edits, Span,
    json::{self, Scanner},
    meta,
};

/// Names of the protocol that sound as if a secret were kept there.
const PUBLIC: [&str; 1] = [meta::PROGRESS_TOKEN];
/// Where bytes of a picture, a sound or a file stand in letters.
const CONTENT: [&str; 2] = ["data", "blob"];
/// Texts in such places from this length on are that, and no word.
const CONTENT_LETTERS: usize = 200;

/// The text of a JSON value with what looks like a secret, or is known to be one, left out.
pub fn redact(raw: &Bytes) -> Bytes {
    let mut edits = Edits::new();
    let mut walk = Walk::default();
    let mut at = 0;
    while let Some(byte) = raw.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let start = at - 1;
                let Ok(span) = Scanner::new(&raw[start..]).string() else {
                    break;
                };
                let span = Span::new(start, start + span.end);
                at = span.end;
                let token = span.of(raw);
                if walk.is_key() {
                    walk.key(&json::loose_text(token));
                } else if let Some(hidden) = walk.hidden(token) {
                    edits.replace(span, json::quote(&hidden));
                }
            }
            other => walk.step(*other),
        }
    }
    match edits.is_empty() {
        true => raw.clone(),
        false => edits.apply(raw).into_bytes(),
    }
}

/// Where in the value we are.
#[derive(Default)]
struct Walk {
    levels: Vec<Level>,
}

struct Level {
    is_object: bool,
    /// Whether a key comes next.
    before_key: bool,
    /// What the value that comes next is called; those of a list as the list is.
    name: String,
}

impl Walk {
    fn step(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => {
                let is_object = byte == b'{';
                let name = match (is_object, self.levels.last()) {
                    (false, Some(above)) => above.name.clone(),
                    _ => String::new(),
                };
                self.levels.push(Level {
                    is_object,
                    before_key: is_object,
                    name,
                });
            }
            b'}' | b']' => {
                self.levels.pop();
            }
            b',' => {
                if let Some(level) = self.levels.last_mut() {
                    level.before_key = level.is_object;
                }
            }
            b':' => {
                if let Some(level) = self.levels.last_mut() {
                    level.before_key = false;
                }
            }
            _ => {}
        }
    }

    fn is_key(&self) -> bool {
        self.levels.last().is_some_and(|level| level.before_key)
    }

    fn key(&mut self, name: &str) {
        if let Some(level) = self.levels.last_mut() {
            name.clone_into(&mut level.name);
        }
    }

    /// What stands in place of a text, where it does not stay.
    fn hidden(&self, token: &[u8]) -> Option<String> {
        let name = self.levels.last().map_or("", |level| &level.name);
        let text = json::loose_text(token);
        if text.is_empty() || PUBLIC.contains(&name) {
            return None;
        }
        if CONTENT.contains(&name) && text.len() >= CONTENT_LETTERS && !text.contains(' ') {
            return None;
        }
        let shown = match secret::is_name(name) {
            true => Cow::Borrowed(secret::HIDDEN),
            false => secret::text(&text),
        };
        (shown != text).then(|| shown.into_owned())
    }
}
