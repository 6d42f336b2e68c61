//! Schemas that model APIs refuse, made acceptable.
//!
//! They are loosened: the server's own schema is what arguments are checked
//! against in the end, so a model may be told less, but must not be kept from
//! what the server accepts. (One exception: an argument that only some branches
//! of a choice describe keeps their description.) What is lost is said in words.

use super::{
    rename::{Renames, rename},
    sound,
};
use crate::limits;
use serde_json::{Map, Value, json};
use switchboard_local::percent;

/// A schema that model APIs take.
#[derive(Clone, Debug)]
pub struct Acceptable {
    /// The schema: an object without combinators at its root.
    pub schema: Value,
    /// What was changed, in words. Empty: nothing.
    pub changes: Vec<String>,
    /// How to turn the model's argument names back into the server's.
    pub renames: Renames,
}

/// Keywords that APIs refuse at the root. `not`, `if` and the like only narrow, so leaving them out loosens.
const REFUSED_AT_ROOT: [&str; 8] = [
    "not",
    "if",
    "then",
    "else",
    "enum",
    "const",
    "dependentSchemas",
    "dependencies",
];

/// Makes the text of an `inputSchema` acceptable.
pub fn acceptable_schema(raw: &[u8]) -> Acceptable {
    let open = |reason: &str| Acceptable {
        schema: json!({ "type": "object", "properties": {} }),
        changes: vec![format!("replaced by an open object: {reason}")],
        renames: Renames::default(),
    };
    if raw.len() > limits::MODEL_SCHEMA_BYTES {
        return open("it is too large");
    }
    let mut changes = Vec::new();
    let mut root = match serde_json::from_slice(raw) {
        Ok(Value::Object(root)) => root,
        Ok(_) => return open("it is no object"),
        Err(_) => return open("it cannot be read, or is nested too deeply"),
    };
    let whole = Value::Object(root.clone());
    root = Flattener {
        whole: &whole,
        changes: &mut changes,
        left: limits::ROOT_BRANCHES,
    }
    .flatten(root, limits::ROOT_STEPS);
    for key in REFUSED_AT_ROOT {
        if root.remove(key).is_some() {
            changes.push(format!("{key:?} left out at the root"));
        }
    }
    // Dialects differ in what these mean to a reader that has no use for them.
    root.remove("$schema");
    if root.get("type").is_some_and(|kind| kind != "object") || !root.contains_key("type") {
        changes.push("the type at the root made \"object\"".to_owned());
    }
    root.insert("type".to_owned(), json!("object"));
    if !root.get("properties").is_some_and(Value::is_object) {
        root.insert("properties".to_owned(), json!({}));
    }
    let mut schema = Value::Object(root);
    sound::mend(&mut schema, &mut changes);
    let renames = rename(&mut schema, 0);
    if !renames.is_empty() {
        changes.push("names of arguments made safe".to_owned());
    }
    Acceptable {
        schema,
        changes,
        renames,
    }
}

/// Takes combinators and references off the root.
struct Flattener<'a> {
    whole: &'a Value,
    changes: &'a mut Vec<String>,
    /// Branches that may still be looked at: references let a short text have millions.
    left: usize,
}

impl Flattener<'_> {
    fn note(&mut self, change: String) {
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    /// What `$ref`, `allOf`, `anyOf` and `oneOf` say about properties is merged into the root.
    fn flatten(&mut self, mut root: Map<String, Value>, steps: usize) -> Map<String, Value> {
        if let Some(reference) = root.remove("$ref") {
            self.note("\"$ref\" at the root put in place".to_owned());
            match resolve(self.whole, &reference)
                .cloned()
                .and_then(|target| self.branch(Value::Object(target), steps))
            {
                Some(target) => both(&mut root, target),
                None => self.note("a reference that leads nowhere left out".to_owned()),
            }
        }
        if let Some(Value::Array(branches)) = root.remove("allOf") {
            self.note("\"allOf\" at the root merged".to_owned());
            for branch in branches {
                if let Some(branch) = self.branch(branch, steps) {
                    both(&mut root, branch);
                }
            }
        }
        for key in ["anyOf", "oneOf"] {
            let Some(Value::Array(branches)) = root.remove(key) else {
                continue;
            };
            self.note(format!("{key:?} at the root made one object"));
            let branches: Vec<Map<String, Value>> = branches
                .into_iter()
                .filter_map(|branch| self.branch(branch, steps))
                .collect();
            either(&mut root, branches);
        }
        root
    }

    /// A branch of a combinator as one object. `None` for one that no object
    /// could match; an empty one for a branch that says nothing we can merge.
    fn branch(&mut self, branch: Value, steps: usize) -> Option<Map<String, Value>> {
        let branch = match branch {
            Value::Object(branch) => branch,
            Value::Bool(false) => return None,
            _ => return Some(Map::new()),
        };
        let impossible = match branch.get("type") {
            Some(Value::String(kind)) => kind != "object",
            Some(Value::Array(kinds)) => !kinds.iter().any(|kind| kind == "object"),
            _ => false,
        };
        self.left = self.left.saturating_sub(1);
        match steps.min(self.left) {
            _ if impossible => None,
            0 => Some(Map::new()),
            _ => Some(self.flatten(branch, steps - 1)),
        }
    }
}

/// `root` and `other` at once: properties and requirements of both.
fn both(root: &mut Map<String, Value>, other: Map<String, Value>) {
    let alone = !root.contains_key("properties");
    for (key, value) in other {
        match (key.as_str(), root.get_mut(&key)) {
            ("properties" | "$defs" | "definitions", Some(Value::Object(ours))) => {
                let Value::Object(theirs) = value else {
                    continue;
                };
                for (name, schema) in theirs {
                    match ours.get_mut(&name) {
                        Some(mine) if *mine != schema => {
                            *mine = json!({ "allOf": [mine.take(), schema] });
                        }
                        Some(_) => {}
                        None => {
                            ours.insert(name, schema);
                        }
                    }
                }
            }
            ("required", Some(Value::Array(ours))) => {
                let Value::Array(theirs) = value else {
                    continue;
                };
                for name in theirs {
                    if !ours.contains(&name) {
                        ours.push(name);
                    }
                }
            }
            // Each part looks only at its own properties; together they would refuse each other's.
            ("additionalProperties" | "unevaluatedProperties", _) if !alone => {
                root.remove(&key);
            }
            (_, None) => {
                root.insert(key, value);
            }
            (_, Some(_)) => {}
        }
    }
    if !alone {
        root.remove("additionalProperties");
        root.remove("unevaluatedProperties");
    }
}

/// `root` with any one of the branches: properties of all, what is required by each, and the choice in words.
fn either(root: &mut Map<String, Value>, branches: Vec<Map<String, Value>>) {
    if branches.is_empty() {
        return;
    }
    let required = |branch: &Map<String, Value>| -> Vec<String> {
        let names = branch.get("required").and_then(Value::as_array);
        names
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect()
    };
    let choices: Vec<String> = branches
        .iter()
        .map(|branch| choice(branch, &required(branch)))
        .collect();
    let mut common = required(&branches[0]);
    common.retain(|name| {
        branches
            .iter()
            .all(|branch| required(branch).contains(name))
    });

    let mut merged: Map<String, Value> = Map::new();
    for branch in branches {
        for (key, value) in branch {
            let (true, Value::Object(theirs)) = (key == "properties", value) else {
                continue;
            };
            for (name, schema) in theirs {
                match merged.get_mut(&name) {
                    Some(mine) => alternative(mine, schema),
                    None => {
                        merged.insert(name, schema);
                    }
                }
            }
        }
    }
    // A closed root would refuse what only the branches name.
    root.remove("additionalProperties");
    root.remove("unevaluatedProperties");
    let mut extra = Map::new();
    extra.insert("properties".to_owned(), Value::Object(merged));
    extra.insert("required".to_owned(), json!(common));
    both(root, extra);
    let words = format!(
        "Give the arguments of one of these: {}.",
        choices.join("; ")
    );
    let description = match root.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text}\n{words}"),
        None => words,
    };
    root.insert("description".to_owned(), Value::String(description));
}

/// The same property in two branches: one or the other.
fn alternative(mine: &mut Value, other: Value) {
    if *mine == other {
        return;
    }
    match mine
        .as_object_mut()
        .filter(|mine| mine.len() == 1)
        .and_then(|mine| mine.get_mut("anyOf"))
    {
        Some(Value::Array(options)) if options.contains(&other) => {}
        Some(Value::Array(options)) => options.push(other),
        _ => *mine = json!({ "anyOf": [mine.take(), other] }),
    }
}

/// One branch in words: its title, or the names of its arguments.
fn choice(branch: &Map<String, Value>, required: &[String]) -> String {
    let names = branch.get("properties").and_then(Value::as_object);
    let names = names.into_iter().flat_map(Map::keys).map(|name| {
        if required.contains(name) {
            name.clone()
        } else {
            format!("{name}?")
        }
    });
    let mut names: Vec<String> = names.collect();
    names.extend(
        required
            .iter()
            .filter(|name| !names.contains(name))
            .cloned()
            .collect::<Vec<_>>(),
    );
    let names = format!("{{{}}}", names.join(", "));
    match branch.get("title").and_then(Value::as_str) {
        Some(title) => format!("{title} {names}"),
        None => names,
    }
}

/// The object that a reference inside the same schema leads to.
pub(super) fn resolve<'a>(whole: &'a Value, reference: &Value) -> Option<&'a Map<String, Value>> {
    let pointer = reference.as_str()?.strip_prefix('#')?;
    whole.pointer(&percent_decoded(pointer)?)?.as_object()
}

/// A pointer in a URI fragment may be percent-encoded.
pub(crate) fn percent_decoded(pointer: &str) -> Option<String> {
    String::from_utf8(percent::decoded(pointer)?).ok()
}

#[cfg(test)]
mod tests;
