//! What of a tool, a prompt or a server's instructions is pinned, in one fixed
//! form: the same meaning gives the same text, whatever order a server writes in.

use super::{Kind, hidden, tree::Tree};
use crate::limits;
use sha2::{Digest, Sha256};
use switchboard_local::hex;

/// The parts of a tool that a model or a person relies on. Icons and other
/// metadata may change freely; the search hint is read by models.
const TOOL: [&str; 6] = [
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "execution",
];
/// The same of a prompt.
const PROMPT: [&str; 3] = ["title", "description", "arguments"];
const HINT: &str = "anthropic/searchHint";

/// A definition, ready to be pinned or compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The server's own name for it.
    pub name: String,
    /// The hash of what is pinned.
    pub hash: String,
    /// What is pinned: JSON with sorted keys, one value a line.
    pub(super) text: String,
    /// Whether it holds characters that a person does not see.
    pub(super) hidden: bool,
}

impl Definition {
    /// Reads a tool as the server wrote it. `None` if it has no name.
    pub fn of(raw: &[u8]) -> Option<Self> {
        let span = switchboard_wire::json::field(raw, "name").ok().flatten()?;
        let name = switchboard_wire::json::text(span.of(raw))?;
        Some(Self::named(Kind::Tools, &name, raw))
    }

    /// The same of a tool or prompt whose name is known. One that cannot be taken
    /// apart (a number that no reader can hold, half a character) counts letter by
    /// letter.
    pub(crate) fn named(kind: Kind, name: &str, raw: &[u8]) -> Self {
        let parts: &[&str] = if kind == Kind::Prompts {
            &PROMPT
        } else {
            &TOOL
        };
        let tree = Tree::read(raw);
        // Nobody knows which of the other fields a model is shown.
        let hidden = |tree: &Tree| hidden::is_in(name) || tree.any_text(&hidden::is_in);
        let hidden = tree.as_ref().is_some_and(hidden);
        match tree.and_then(|tree| tree.parts(parts, HINT)) {
            Some(parts) => Self::from_text(name, parts.sorted().text(), hidden),
            None => {
                let text = String::from_utf8_lossy(raw).into_owned();
                let hidden = hidden::is_in_json(&text);
                Self::from_text(name, text, hidden)
            }
        }
    }

    /// What a server says about how to use it.
    pub(crate) fn instructions(text: &str) -> Self {
        let folded = super::tree::folded(text);
        Self::from_text(super::INSTRUCTIONS, folded, hidden::is_in(text))
    }

    /// A definition that was pinned in the order of an earlier version, in ours.
    pub(super) fn again(name: &str, text: &str) -> Option<Self> {
        let parts = Tree::read(text.as_bytes())?;
        Some(Self::from_text(name, parts.sorted().text(), false))
    }

    fn from_text(name: &str, text: String, hidden: bool) -> Self {
        Self {
            name: name.to_owned(),
            hash: hash(text.as_bytes()),
            text,
            hidden,
        }
    }
}

/// The hash that an earlier version gave a tool: for definitions that were too
/// large to be kept beside it.
pub(super) fn first_hash(raw: &[u8]) -> Option<String> {
    let parts = Tree::read(raw)?.parts(&TOOL, HINT)?;
    Some(hash(parts.sorted_as_first().text().as_bytes()))
}

/// All that a server lists under one name: mostly one thing, but nothing keeps it
/// from listing several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(super) name: String,
    /// Of each, in order, without repetition.
    pub(super) hashes: Vec<String>,
    pub(super) text: String,
    pub(super) hidden: bool,
    /// The hash that an earlier version would have given it.
    pub(super) first: Option<String>,
}

impl Group {
    /// The name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What is listed, by name.
    pub(crate) fn all<'a>(
        kind: Kind,
        items: impl Iterator<Item = (&'a str, &'a [u8])>,
    ) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for (name, raw) in items {
            let one = Definition::named(kind, name, raw);
            match places.get(name) {
                Some(at) => {
                    let group: &mut Self = &mut groups[*at];
                    group.add(one);
                }
                None => {
                    places.insert(name, groups.len());
                    let mut group = Self::from(one);
                    // Only what was too large to be kept is known by that hash alone; it
                    // was written with one value a line.
                    if kind == Kind::Tools && raw.len() > limits::PINNED_BYTES / 4 {
                        group.first = first_hash(raw);
                    }
                    groups.push(group);
                }
            }
        }
        groups
    }

    fn add(&mut self, one: Definition) {
        if let Err(at) = self.hashes.binary_search(&one.hash) {
            self.hashes.insert(at, one.hash);
            self.text.push('\n');
            self.text.push_str(&one.text);
        }
        self.hidden |= one.hidden;
    }
}

impl From<Definition> for Group {
    fn from(one: Definition) -> Self {
        Self {
            name: one.name,
            hashes: vec![one.hash],
            text: one.text,
            hidden: one.hidden,
            first: None,
        }
    }
}

pub(super) fn hash(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes))
}
