//! Keys of settings that people and programs could read in two ways. JSON does not
//! say which of two equal keys counts, and one that is misspelt counts not at all:
//! what it was written to forbid would be permitted without a word.

use super::Doc;
use crate::fault::Fault;
use jsonc_parser::ast::{Object, ObjectProp, Value};
use switchboard_wire::reading::same_key;

/// How far a key may be from a known one and still be taken for it.
const MOST_MISTAKES: usize = 2; // tidy: a measure of likeness, and no cap

impl Doc<'_> {
    /// The faults of the object at this path that concern `keys`: one of them
    /// written twice, or in another spelling.
    pub fn unclear(&self, path: &[&str], keys: &[&str]) -> Vec<Fault> {
        let Some(object) = self.object(path) else {
            return Vec::new();
        };
        let mut faults = Vec::new();
        for (at, property) in object.properties.iter().enumerate() {
            let name = property.name.as_str();
            let same = |key: &&&str| same_key(key) == same_key(name);
            let Some(key) = keys.iter().find(same) else {
                continue;
            };
            if name != *key {
                faults.push(self.misspelt(path, property, key));
            } else if let Some(first) = before(object, at) {
                faults.push(self.twice(path, property, first));
            }
        }
        faults
    }

    /// Keys that are written twice in the object at this path, whatever they are.
    pub fn doubled(&self, path: &[&str]) -> Vec<Fault> {
        let Some(object) = self.object(path) else {
            return Vec::new();
        };
        let properties = object.properties.iter().enumerate();
        properties
            .filter_map(|(at, property)| Some(self.twice(path, property, before(object, at)?)))
            .collect()
    }

    /// The same of one key, exactly as it is written.
    pub fn doubled_key(&self, path: &[&str], key: &str) -> Vec<Fault> {
        let name = dotted(path, key);
        let mut faults = self.doubled(path);
        faults.retain(|fault| fault.problem.starts_with(&format!("`{name}` ")));
        faults
    }

    /// Keys at this path that are none of `known` and look like one of `keys`.
    pub fn near(&self, path: &[&str], known: &[&str], keys: &[&str]) -> Vec<Fault> {
        let Some(object) = self.object(path) else {
            return Vec::new();
        };
        let mut faults = Vec::new();
        for property in &object.properties {
            let name = property.name.as_str();
            let is = |key: &&str| same_key(key) == same_key(name);
            // Another spelling of a known one is told of where that one is read.
            if known.iter().any(is) {
                continue;
            }
            if let Some(key) = keys.iter().find(|key| is_near(name, key)) {
                faults.push(self.misspelt(path, property, key));
            }
        }
        faults
    }

    fn object(&self, path: &[&str]) -> Option<&Object<'_>> {
        match path {
            [] => Some(&self.root),
            path => match self.find(path)? {
                Value::Object(object) => Some(object),
                _ => None,
            },
        }
    }

    fn twice(&self, path: &[&str], property: &ObjectProp<'_>, first: &ObjectProp<'_>) -> Fault {
        let line = self.lines.line(first.range.start);
        let name = dotted(path, property.name.as_str());
        let problem = format!("`{name}` is written twice, first on line {line}");
        let hint = "put both into one: nobody can tell which of them counts".to_owned();
        *self.fault(property.range.start, problem, Some(hint))
    }

    fn misspelt(&self, path: &[&str], property: &ObjectProp<'_>, key: &str) -> Fault {
        let name = dotted(path, property.name.as_str());
        let problem = format!("`{name}` is not known");
        let hint = format!("write `{}`", dotted(path, key));
        *self.fault(property.range.start, problem, Some(hint))
    }
}

/// The property of this name that stands before this place.
fn before<'a>(object: &'a Object<'a>, at: usize) -> Option<&'a ObjectProp<'a>> {
    let name = object.properties[at].name.as_str();
    let mut earlier = object.properties[..at].iter();
    earlier.find(|other| other.name.as_str() == name)
}

/// Whether somebody who meant `key` could have written this.
fn is_near(name: &str, key: &str) -> bool {
    // In a short word every letter counts.
    let most = (key.len() / 4).clamp(1, MOST_MISTAKES);
    strsim::osa_distance(&same_key(name), &same_key(key)) <= most
}

fn dotted(path: &[&str], key: &str) -> String {
    match path {
        ["projects", ..] => key.to_owned(),
        path => path
            .iter()
            .chain([&key])
            .copied()
            .collect::<Vec<_>>()
            .join("."),
    }
}
