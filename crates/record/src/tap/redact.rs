//! A message without secrets: what is read of the tap goes through here, unless somebody
//! asks for the secrets themselves, which is put on record.
//!
//! | module | what |
//! |---|---|
//! | `tokens` | a text of JSON, piece by piece |
//! | `beside` | values that another value names |
//! | `within` | JSON in a string of JSON |

mod beside;
mod tokens;
mod within;

#[cfg(test)]
use crate::limits;
use std::{borrow::Cow, collections::HashSet};
use switchboard_local::secret;
use switchboard_wire::json;
use tokens::Token;

/// Fields of the protocol whose name is like a secret's, and whose value is none.
const PLAIN: [&str; 4] = ["progressToken", "nextCursor", "cursor", "maxTokens"];

/// Fields whose members are named by others: what is named `token` there is the definition
/// of one.
const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentRequired",
];

/// Fields that hold pictures and files, from so many bytes on: longer than a secret is.
const CONTENTS: [&str; 2] = ["data", "blob"];
// tidy: a threshold, not a cap
const CONTENT: usize = 1024;

/// The text of a message without its secrets, and how many were cut. What stands under a
/// telling name goes, with all that is in it, and so does what looks like a secret or is
/// known to be one.
pub fn redact(text: &str) -> (String, u32) {
    walk(text, false, 0)
}

/// The same of what is `depth` texts within a message; `is_secret`, where all of it is one.
fn walk(text: &str, is_secret: bool, depth: usize) -> (String, u32) {
    let mut reading = Reading {
        out: String::with_capacity(text.len()),
        cut: 0,
        key: None,
        open: Vec::new(),
        told: beside::told(text),
        is_secret,
        depth,
    };
    for piece in tokens::of(text) {
        reading.between(piece.before);
        if !piece.token.is_empty() {
            reading.take(&piece);
        }
    }
    (reading.out, reading.cut)
}

/// What was read so far, and where that is.
struct Reading {
    out: String,
    cut: u32,
    /// The key whose value comes next, where there is one.
    key: Option<String>,
    /// The objects and lists that are open.
    open: Vec<Open>,
    /// Where values stand that others name.
    told: HashSet<usize>,
    /// Whether all of it is a secret.
    is_secret: bool,
    /// How many texts it is within.
    depth: usize,
}

/// An object or a list that is open.
#[derive(Clone, Copy, Default)]
struct Open {
    is_list: bool,
    /// Whether all in it is a secret.
    is_secret: bool,
    /// Whether its members are named by others.
    is_named: bool,
    /// Whether it is about ways in, so that what is called `key` there is one.
    is_access: bool,
}

impl Reading {
    /// What stands between tokens: in JSON nothing that could be a secret.
    fn between(&mut self, text: &str) {
        let is_json = |c: char| c.is_whitespace() || c == ':';
        let mut words = text.split(is_json).filter(|word| !word.is_empty());
        if words.all(|word| matches!(word, "true" | "false" | "null")) {
            return self.out.push_str(text);
        }
        let shown = secret::text(text);
        if shown != text {
            self.cut += 1;
        }
        self.out.push_str(&shown);
    }

    fn take(&mut self, piece: &Token<'_>) {
        let token = piece.token;
        let is_told = self.told.contains(&piece.at);
        match token.as_bytes()[0] {
            b'{' | b'[' => {
                let outer = self.open.last().copied().unwrap_or_default();
                let key = self.key.as_deref();
                let is = |names: &[&str]| key.is_some_and(|key| names.contains(&key));
                self.open.push(Open {
                    is_list: token == "[",
                    // A definition of what is named so is none itself.
                    is_secret: outer.is_secret
                        || is_told
                        || (self.tells() && !outer.is_named && !is_many(key)),
                    is_named: is(&NAMED) || (outer.is_named && token == "["),
                    is_access: key.is_some_and(secret::is_about_access),
                });
                // What is in a list is what the list is.
                if token == "{" {
                    self.key = None;
                }
                self.out.push_str(token);
            }
            b'}' | b']' => {
                self.open.pop();
                self.key = None;
                self.out.push_str(token);
            }
            b',' => {
                if !self.open.last().is_some_and(|open| open.is_list) {
                    self.key = None;
                }
                self.out.push_str(token);
            }
            b'"' if piece.is_key => {
                self.key = Some(tokens::said(token).into_owned());
                let shown = value(token, None, false, self.depth, &mut self.cut);
                self.out.push_str(&shown);
            }
            b'"' => {
                let is_secret = self.is_secret()
                    || self.tells()
                    || is_told
                    || self.is_key(&tokens::said(token));
                let key = self.key.as_deref();
                let shown = value(token, key, is_secret, self.depth, &mut self.cut);
                self.out.push_str(&shown);
            }
            _ => self.number(token, is_told),
        }
    }

    /// A number. Of many things of a name it says how many there are.
    fn number(&mut self, token: &str, is_told: bool) {
        let tells = self.tells() && !is_many(self.key.as_deref());
        let hides = self.is_secret() || is_told || tells;
        if hides {
            self.cut += 1;
            self.out.push_str(&json::quote(secret::HIDDEN));
        } else {
            self.out.push_str(token);
        }
    }

    /// Whether all here is a secret.
    fn is_secret(&self) -> bool {
        self.is_secret || self.open.last().is_some_and(|open| open.is_secret)
    }

    /// Whether the key says that its value is a secret.
    fn tells(&self) -> bool {
        let key = self.key.as_deref();
        let tells = |key| match secret::is_bare_key(key) {
            true => self.open.last().is_some_and(|open| open.is_access),
            false => !PLAIN.contains(&key) && secret::is_name(key),
        };
        key.is_some_and(tells)
    }

    /// Whether this is what is called `key`, and may be one.
    fn is_key(&self, said: &str) -> bool {
        self.key.as_deref().is_some_and(secret::is_bare_key) && secret::could_be_key(said)
    }
}

/// Names of several that are never anything else than what they say.
const SURELY: [&str; 4] = ["credentials", "secrets", "passwords", "passphrases"];

/// Whether a name is that of several, which may be counted and listed: `tokens`, `keys`.
fn is_many(key: Option<&str>) -> bool {
    key.is_some_and(|key| {
        let key = key.to_ascii_lowercase();
        let is_sure = SURELY.iter().any(|sure| key.ends_with(sure));
        key.ends_with('s') && !key.ends_with("ss") && !is_sure
    })
}

/// A string as it may be shown.
fn value<'a>(
    token: &'a str,
    key: Option<&str>,
    is_secret: bool,
    depth: usize,
    cut: &mut u32,
) -> Cow<'a, str> {
    let said = tokens::said(token);
    let is = |names: &[&str]| key.is_some_and(|key| names.contains(&key));
    if said.is_empty() || is(&PLAIN) {
        return Cow::Borrowed(token);
    }
    let shown = match is_secret {
        true => secret::kept_value("token", &said),
        false if is(&CONTENTS) && is_contents(&said) => secret::contents(&said),
        false => within::shown(&said, depth),
    };
    if shown == said {
        return Cow::Borrowed(token);
    }
    *cut += u32::try_from(shown.matches(secret::HIDDEN).count().max(1)).unwrap_or(u32::MAX);
    Cow::Owned(json::quote(&shown))
}

/// Whether this is a picture or a file, as JSON has them.
fn is_contents(said: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "+/=_-\r\n".contains(c);
    said.len() > CONTENT && said.chars().all(fits)
}

#[cfg(test)]
mod tests;
