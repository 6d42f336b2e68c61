//! JSON as it is compared: every key that is there counts, also one that stands
//! there twice, and what has no order has none.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor},
    ser::{SerializeMap, SerializeSeq},
};
use serde_json::Number;
use std::fmt;

/// A value. Its depth is bounded by whoever reads it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

/// Keywords of a schema whose lists are sets.
const SETS: [&str; 3] = ["required", "enum", "type"];
/// Keywords whose text is prose: how it is broken into lines means nothing.
const PROSE: [&str; 4] = ["title", "description", "$comment", "anthropic/searchHint"];
/// Keywords whose value is data, and no schema.
const DATA: [&str; 4] = ["enum", "const", "default", "examples"];

/// How a value is put in order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// As a schema, or what holds one.
    Schema,
    /// As an object whose keys are somebody's names, and whose values are schemas.
    Names,
    /// As data: text is text.
    Data,
    /// As the default of something: lists of texts have no order.
    Default,
    /// As an earlier version did it.
    First,
}

impl Tree {
    /// Reads a text; nothing where it is no JSON, or too deep.
    pub(super) fn read(raw: &[u8]) -> Option<Self> {
        serde_json::from_slice(raw).ok()
    }

    /// Of an item of a list: these members, and the hint in its metadata.
    pub(super) fn parts(self, names: &[&str], hint: &str) -> Option<Self> {
        let Self::Object(members) = self else {
            return None;
        };
        let mut parts = Vec::new();
        for (name, value) in members {
            if name == "_meta" {
                if let Self::Object(meta) = value {
                    parts.extend(meta.into_iter().filter(|(name, _)| name == hint));
                }
            } else if names.contains(&name.as_str()) {
                parts.push((name, value));
            }
        }
        Some(Self::Object(parts))
    }

    /// Whether a text in it, keys included, is like this.
    pub(super) fn any_text(&self, is: &impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Text(text) => is(text),
            Self::List(items) => items.iter().any(|item| item.any_text(is)),
            Self::Object(members) => members
                .iter()
                .any(|(key, value)| is(key) || value.any_text(is)),
            Self::Null | Self::Bool(_) | Self::Number(_) => false,
        }
    }

    /// The same in the one order.
    pub(super) fn sorted(self) -> Self {
        self.by(How::Schema)
    }

    /// The same in the order of an earlier version.
    pub(super) fn sorted_as_first(self) -> Self {
        self.by(How::First)
    }

    /// As text, one value a line.
    pub(super) fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    fn by(self, how: How) -> Self {
        match self {
            Self::Object(members) => {
                let mut members: Vec<(String, Self)> = members
                    .into_iter()
                    .map(|(key, value)| {
                        let value = value.member(&key, how);
                        (key, value)
                    })
                    .collect();
                // Stable: of two with one key, which came first is what they mean.
                members.sort_by(|a, b| a.0.cmp(&b.0));
                Self::Object(members)
            }
            Self::List(items) => {
                let items: Vec<Self> = items.into_iter().map(|item| item.by(how)).collect();
                if how == How::Default && items.iter().all(Self::is_text) {
                    return Self::set(items);
                }
                Self::List(items)
            }
            other => other,
        }
    }

    /// The value of a member of something that is put in order like this.
    fn member(self, key: &str, how: How) -> Self {
        match how {
            How::Schema => match self {
                Self::Text(text) if PROSE.contains(&key) => Self::Text(folded(&text)),
                Self::List(items) if SETS.contains(&key) => {
                    Self::set(items.into_iter().map(|item| item.by(How::Data)).collect())
                }
                value if key == "default" => value.by(How::Default),
                value if DATA.contains(&key) => value.by(How::Data),
                value if key == "dependentRequired" => value.by(How::Default),
                value @ Self::Object(_) if is_of_names(key) => value.by(How::Names),
                value => value.by(How::Schema),
            },
            How::Names => self.by(How::Schema),
            How::First => match self.by(How::First) {
                Self::List(items) if key == "required" && items.iter().all(Self::is_text) => {
                    let mut items = items;
                    let word = |item: &Self| match item {
                        Self::Text(text) => text.clone(),
                        _ => String::new(),
                    };
                    items.sort_by_cached_key(word);
                    Self::List(items)
                }
                value => value,
            },
            How::Data | How::Default => self.by(how),
        }
    }

    fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    /// A list whose order and repetitions mean nothing.
    fn set(mut items: Vec<Self>) -> Self {
        items.sort_by_cached_key(Self::text);
        items.dedup();
        Self::List(items)
    }
}

/// Whether a keyword holds schemas under names of somebody's choice: a property
/// that is called `default` or `enum` is no keyword.
fn is_of_names(key: &str) -> bool {
    matches!(
        key,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
    )
}

/// Text with its white space folded, as far as that is ASCII: other spaces are
/// characters like all others.
pub(super) fn folded(text: &str) -> String {
    let words = text.split(|c: char| c.is_ascii_whitespace());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Tree, E> {
        Ok(Tree::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Tree::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Tree, A::Error> {
        let mut all = Vec::new();
        while let Some(member) = members.next_entry()? {
            all.push(member);
        }
        Ok(Tree::Object(all))
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_unit(),
            Self::Bool(value) => to.serialize_bool(*value),
            Self::Number(value) => value.serialize(to),
            Self::Text(text) => to.serialize_str(text),
            Self::List(items) => {
                let mut list = to.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Object(members) => {
                let mut object = to.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    object.serialize_entry(key, value)?;
                }
                object.end()
            }
        }
    }
}
