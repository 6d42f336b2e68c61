//! Names of arguments that model APIs refuse, and the way back.

use crate::limits;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet};
use switchboard_wire::name;

/// Which arguments the model knows under another name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renames {
    /// Our name, and the server's.
    here: BTreeMap<String, String>,
    /// What is renamed inside an argument, by our name for it.
    below: BTreeMap<String, Self>,
    /// What is renamed inside the elements of an array.
    elements: Option<Box<Self>>,
}

impl Renames {
    /// Whether nothing was renamed.
    pub fn is_empty(&self) -> bool {
        self.here.is_empty() && self.below.is_empty() && self.elements.is_none()
    }

    /// Gives arguments the server's own names back.
    pub fn restore(&self, arguments: &mut Value) {
        match arguments {
            Value::Object(members) if !self.here.is_empty() || !self.below.is_empty() => {
                let renamed = std::mem::take(members).into_iter().map(|(key, mut value)| {
                    if let Some(below) = self.below.get(&key) {
                        below.restore(&mut value);
                    }
                    (self.here.get(&key).cloned().unwrap_or(key), value)
                });
                *members = renamed.collect();
            }
            Value::Array(items) => {
                if let Some(elements) = &self.elements {
                    items.iter_mut().for_each(|item| elements.restore(item));
                }
            }
            _ => {}
        }
    }
}

/// Renames, in `properties` at every plain level, what APIs refuse.
pub(super) fn rename(schema: &mut Value, depth: usize) -> Renames {
    let mut renames = Renames::default();
    let Some(members) = schema
        .as_object_mut()
        .filter(|_| depth < limits::MODEL_SCHEMA_DEPTH)
    else {
        return renames;
    };
    if let Some(items) = members.get_mut("items") {
        let elements = rename(items, depth + 1);
        renames.elements = (!elements.is_empty()).then(|| Box::new(elements));
    }
    let Some(properties) = members.get_mut("properties").and_then(Value::as_object_mut) else {
        return renames;
    };
    let mut taken: HashSet<String> = properties
        .keys()
        .filter(|key| is_fine(key))
        .cloned()
        .collect();
    let mut renamed = Map::new();
    for (key, mut value) in std::mem::take(properties) {
        let below = rename(&mut value, depth + 1);
        let ours = if is_fine(&key) {
            key.clone()
        } else {
            free_name(&key, &mut taken)
        };
        if !below.is_empty() {
            renames.below.insert(ours.clone(), below);
        }
        if ours != key {
            renames.here.insert(ours.clone(), key);
        }
        renamed.insert(ours, value);
    }
    *properties = renamed;
    if let Some(required) = members.get_mut("required").and_then(Value::as_array_mut) {
        for name in required {
            if let Some((ours, _)) = renames
                .here
                .iter()
                .find(|(_, theirs)| name.as_str() == Some(theirs))
            {
                *name = Value::String(ours.clone());
            }
        }
    }
    renames
}

fn is_fine(name: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=limits::ARGUMENT_NAME_CHARS).contains(&name.len()) && name.bytes().all(good)
}

/// A name like the server's that nothing else here has.
fn free_name(theirs: &str, taken: &mut HashSet<String>) -> String {
    let mut base = name::normalize(theirs);
    base.truncate(limits::ARGUMENT_NAME_CHARS - 6);
    if base.is_empty() {
        base.push('_');
    }
    let numbered = (2..).map(|n| format!("{base}_{n}"));
    // There are fewer properties than numbers.
    let ours = std::iter::once(base.clone())
        .chain(numbered)
        .find(|name| !taken.contains(name))
        .unwrap_or(base.clone());
    taken.insert(ours.clone());
    ours
}
