//! Changes to the servers in a file of another program, whatever it is written in.
//! A new text is taken only if it says exactly what was meant: all else in it has to
//! say the same as before.

use super::{EditError, toml, tree, unreadable, yaml};
use crate::{clients::Format, import};
use serde_json::{Map, Value};
use std::path::Path;

/// The servers of a file.
#[derive(Clone, Debug)]
pub(crate) struct Servers<'a> {
    /// The file, for what is said about it, and for what it is written in.
    pub(crate) file: &'a Path,
    /// The keys that lead to them.
    pub(crate) key: &'a [String],
    /// Whether they are a list, with a name in each item.
    pub(crate) listed: bool,
}

/// One change.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    /// This entry, in the place of one that may be there.
    Put(&'a Value),
    /// No entry.
    Remove,
    /// This field in the entry, or none.
    Field(&'a str, Option<&'a Value>),
}

impl Servers<'_> {
    /// The text with one entry changed.
    pub(crate) fn change(
        &self,
        text: Option<&str>,
        name: &str,
        step: Step<'_>,
    ) -> Result<String, EditError> {
        let blank = text.is_none_or(|text| {
            text.trim_matches(['\u{feff}', ' ', '\n', '\r', '\t'])
                .is_empty()
        });
        let before = self.value(text)?;
        let expected = self.expected(before.clone(), name, step)?;
        let keys: Vec<&str> = self.key.iter().map(String::as_str).collect();
        let after = match Format::of(self.file) {
            Format::Json => {
                let text = text.filter(|_| !blank);
                self.json(text, &keys, name, step)?
            }
            Format::Toml => toml::change(text.unwrap_or_default(), &keys, name, step),
            Format::Yaml => yaml::change(text.unwrap_or_default(), &keys, name, step, self.listed),
        };
        let mut said = self.value(Some(&after)).ok();
        let mut meant = expected;
        for whole in said.iter_mut().chain([&mut meant]) {
            self.drop_empty(whole);
        }
        if said.as_ref() != Some(&meant) {
            let problem = format!("{name:?} is written in a way that we cannot change");
            return Err(unreadable(self.file, 0, problem));
        }
        Ok(after)
    }

    /// What a text says.
    pub(crate) fn value(&self, text: Option<&str>) -> Result<Value, EditError> {
        let text = text.unwrap_or_default();
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            return Ok(Value::Object(Map::new()));
        }
        match import::parse(text, self.file) {
            Ok(Value::Null) => Ok(Value::Object(Map::new())),
            Ok(whole) if whole.is_object() => Ok(whole),
            Ok(_) => Err(unreadable(
                self.file,
                0,
                "the whole file must be an object".to_owned(),
            )),
            Err(mut fault) => {
                fault.hint = None;
                Err(EditError::Unreadable(fault))
            }
        }
    }

    /// The entry of this name.
    pub(crate) fn entry<'v>(&self, whole: &'v Value, name: &str) -> Option<&'v Value> {
        let at = self.key.iter().try_fold(whole, |at, key| at.get(key))?;
        if !self.listed {
            return at.get(name);
        }
        let mut items = at.as_array()?.iter();
        items.find(|item| item["name"] == name)
    }

    fn json(
        &self,
        text: Option<&str>,
        keys: &[&str],
        name: &str,
        step: Step<'_>,
    ) -> Result<String, EditError> {
        let inside: Vec<&str> = keys.iter().copied().chain([name]).collect();
        match step {
            Step::Put(value) => tree::put(text, self.file, keys, name, value, true),
            Step::Remove => tree::remove(text, self.file, keys, name),
            Step::Field(field, Some(value)) => {
                tree::put(text, self.file, &inside, field, value, true)
            }
            Step::Field(field, None) => tree::remove(text, self.file, &inside, field),
        }
    }

    /// What the file should say afterwards.
    fn expected(&self, mut whole: Value, name: &str, step: Step<'_>) -> Result<Value, EditError> {
        let wrong = |key: &str, what: &str| {
            Err(unreadable(self.file, 0, format!("{key:?} must be {what}")))
        };
        let mut at = &mut whole;
        for (depth, key) in self.key.iter().enumerate() {
            let Value::Object(object) = at else {
                return wrong(&self.key[depth.saturating_sub(1)], "an object");
            };
            let empty = match self.listed && depth + 1 == self.key.len() {
                true => Value::Array(Vec::new()),
                false => Value::Object(Map::new()),
            };
            let inner = object.entry(key.clone()).or_insert(Value::Null);
            if inner.is_null() {
                *inner = empty;
            }
            at = inner;
        }
        let last = self.key.last().map_or("", String::as_str);
        let missing = || EditError::Missing {
            name: name.to_owned(),
            file: self.file.to_owned(),
        };
        match at {
            Value::Object(servers) if !self.listed => match step {
                Step::Put(value) => {
                    servers.insert(name.to_owned(), value.clone());
                }
                Step::Remove => {
                    servers.shift_remove(name).ok_or_else(missing)?;
                }
                Step::Field(field, value) => {
                    let entry = servers.get_mut(name).and_then(Value::as_object_mut);
                    set(entry.ok_or_else(missing)?, field, value);
                }
            },
            Value::Array(servers) if self.listed => {
                let place = servers.iter().position(|item| item["name"] == name);
                match (step, place) {
                    (Step::Put(value), Some(at)) => servers[at] = value.clone(),
                    (Step::Put(value), None) => servers.push(value.clone()),
                    (_, None) => return Err(missing()),
                    (Step::Remove, Some(at)) => {
                        servers.remove(at);
                    }
                    (Step::Field(field, value), Some(at)) => {
                        let entry = servers[at].as_object_mut();
                        set(entry.ok_or_else(missing)?, field, value);
                    }
                }
            }
            _ if self.listed => return wrong(last, "a list"),
            _ => return wrong(last, "an object"),
        }
        Ok(whole)
    }

    /// That there are no servers is said in two ways.
    fn drop_empty(&self, whole: &mut Value) {
        for depth in (0..self.key.len()).rev() {
            let mut above = self.key[..depth].iter();
            let above = above.try_fold(&mut *whole, |at, key| at.get_mut(key));
            let Some(Value::Object(above)) = above else {
                continue;
            };
            let is_empty = match above.get(&self.key[depth]) {
                Some(Value::Object(inner)) => inner.is_empty(),
                Some(Value::Array(inner)) => inner.is_empty(),
                Some(inner) => inner.is_null(),
                None => false,
            };
            if is_empty {
                above.shift_remove(&self.key[depth]);
            }
        }
    }
}

fn set(entry: &mut Map<String, Value>, field: &str, value: Option<&Value>) {
    match value {
        Some(value) => {
            entry.insert(field.to_owned(), value.clone());
        }
        None => {
            entry.shift_remove(field);
        }
    }
}

#[cfg(test)]
mod tests;
