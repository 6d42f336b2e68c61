//! Values that are named by another value: `{"name":"X-Api-Key","value":…}`,
//! `["Authorization",…]`, `["--token",…]`.

use super::tokens::{self, Token};
use std::collections::HashSet;
use switchboard_local::secret;

/// Members that say what another member is.
const NAMES: [&str; 10] = [
    "name", "key", "type", "header", "field", "label", "variable", "env", "format", "kind",
];

/// Members that are what such a one says.
const VALUES: [&str; 8] = [
    "value",
    "values",
    "val",
    "default",
    "defaultValue",
    "current",
    "currentValue",
    "raw",
];

/// Lists of names: what is beside one of them is another.
const LISTS: [&str; 4] = ["required", "enum", "dependentRequired", "scopes"];

/// Lists of a name and a value, again and again.
const FLAT: [&str; 4] = ["headers", "rawHeaders", "raw_headers", "env"];

/// A name has no more words,
// tidy: a threshold, not a cap
const WORDS: usize = 4;
/// and no more bytes.
// tidy: a threshold, not a cap
const LONGEST: usize = 128;

/// An object or a list that is open.
#[derive(Default)]
struct Open {
    is_list: bool,
    /// What it stands under.
    under: Option<String>,
    in_list: bool,
    key: Option<String>,
    /// Whether a value says that another is a secret,
    tells: bool,
    /// and where that one is.
    values: Vec<usize>,
    /// How many items there were,
    items: usize,
    /// and the last one, where it names a secret.
    before: Option<String>,
}

/// Where values begin that another value says to be secrets.
pub(super) fn told(text: &str) -> HashSet<usize> {
    let mut told = HashSet::new();
    let mut open: Vec<Open> = Vec::new();
    for piece in tokens::of(text) {
        let sign = piece.token.as_bytes().first();
        if matches!(sign, Some(b'}' | b']')) {
            if let Some(over) = open.pop() {
                over.ends(&mut told);
            }
            continue;
        }
        let said = (sign == Some(&b'"')).then(|| tokens::said(piece.token));
        if let Some(inner) = open.last_mut() {
            match (sign, &said) {
                (None | Some(b','), _) => {}
                (_, Some(key)) if piece.is_key => inner.key = Some(key.to_string()),
                (_, said) => inner.takes(&piece, said.as_deref(), &mut told),
            }
        }
        if matches!(sign, Some(b'{' | b'[')) {
            let outer = open.last();
            open.push(Open {
                is_list: piece.token == "[",
                under: outer.and_then(|outer| outer.key.clone()),
                in_list: outer.is_some_and(|outer| outer.is_list),
                ..Open::default()
            });
        }
    }
    for over in open {
        over.ends(&mut told);
    }
    told
}

impl Open {
    /// One more value, with what it says where that is a text.
    fn takes(&mut self, piece: &Token<'_>, said: Option<&str>, told: &mut HashSet<usize>) {
        if self.is_list {
            return self.item(piece, said, told);
        }
        let Some(key) = self.key.as_deref() else {
            return;
        };
        if VALUES.contains(&key) {
            self.values.push(piece.at);
        } else if NAMES.contains(&key) {
            self.tells |= said.is_some_and(is_name);
        }
    }

    fn item(&mut self, piece: &Token<'_>, said: Option<&str>, told: &mut HashSet<usize>) {
        self.items += 1;
        if let Some(before) = self.before.take() {
            let is_flat = self.is_under(&FLAT) && self.items.is_multiple_of(2);
            if before.starts_with('-') || is_flat {
                told.insert(piece.at);
                return;
            }
            let is_pair = self.items == 2 && !self.is_under(&LISTS);
            if is_pair && (self.in_list || is_spelt(&before)) {
                self.tells = true;
                self.values.push(piece.at);
            }
        }
        let names = said.filter(|said| is_name(said));
        self.before = names.map(str::to_owned);
    }

    fn is_under(&self, names: &[&str]) -> bool {
        let under = self.under.as_deref();
        under.is_some_and(|under| names.contains(&under))
    }

    fn ends(self, told: &mut HashSet<usize>) {
        // A name and a value are two.
        let is_pair = !self.is_list || self.items == 2;
        if self.tells && is_pair {
            told.extend(self.values);
        }
    }
}

/// Whether this is the name of a secret, and no sentence about one.
fn is_name(said: &str) -> bool {
    let is_short = said.len() <= LONGEST && said.split_whitespace().count() <= WORDS;
    is_short && secret::is_name(said) && !secret::is_bare_key(said)
}

/// Whether a name is written as headers and variables are.
fn is_spelt(name: &str) -> bool {
    name.contains(['-', '_']) || name.contains(|c: char| c.is_ascii_uppercase())
}
