//! How far a schema leads without looking deeper into the value: combinators
//! inside combinators, references to references. Each step costs stack at every
//! level of the value, so the way is measured before anything is compiled.

use super::SchemaError;
use crate::limits;
use serde_json::Value;
use std::collections::HashMap;

/// Refuses ways that are too long or lead in a circle, and references that lead out of the schema.
pub(super) fn check(schema: &Value) -> Result<(), SchemaError> {
    let mut all = Vec::new();
    let mut anchors = HashMap::new();
    collect(schema, true, &mut all, &mut anchors)?;
    let mut ways = Ways {
        whole: schema,
        anchors,
        known: HashMap::new(),
    };
    for node in all {
        ways.length(node, 0)?;
    }
    Ok(())
}

/// Keywords whose values are plain values.
const VALUES: [&str; 5] = ["enum", "const", "default", "examples", "example"];

/// Every object in the schema, and the places that have names. More than the
/// subschemas proper: a reference may lead anywhere.
fn collect<'a>(
    value: &'a Value,
    root: bool,
    all: &mut Vec<&'a Value>,
    anchors: &mut HashMap<&'a str, &'a Value>,
) -> Result<(), SchemaError> {
    match value {
        Value::Object(members) => {
            all.push(value);
            if all.len() > limits::SCHEMA_NODES {
                return Err(SchemaError::TooManyParts);
            }
            for key in ["$anchor", "$dynamicAnchor", "$id", "id"] {
                let Some(Value::String(name)) = members.get(key) else {
                    continue;
                };
                match name.strip_prefix('#') {
                    Some(name) => {
                        anchors.insert(name, value);
                    }
                    None if key.ends_with("nchor") => {
                        anchors.insert(name, value);
                    }
                    // A base of its own would change where references inside it lead.
                    None if key == "$id" && !root => {
                        return Err(SchemaError::OwnId);
                    }
                    None => {}
                }
            }
            // Values that are compared or shown hold no subschemas, whatever they look like.
            let parts = members
                .iter()
                .filter(|(key, _)| !VALUES.contains(&key.as_str()));
            parts
                .map(|(_, value)| value)
                .try_for_each(|value| collect(value, false, all, anchors))
        }
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| collect(item, false, all, anchors)),
        _ => Ok(()),
    }
}

struct Ways<'a> {
    whole: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    /// The length of the way from a place on, by its address; `None` while it is being measured.
    known: HashMap<*const Value, Option<usize>>,
}

impl<'a> Ways<'a> {
    /// How many subschemas apply to the same value from this one on. `before` led here.
    fn length(&mut self, node: &'a Value, before: usize) -> Result<usize, SchemaError> {
        let place: *const Value = node;
        let length = match self.known.get(&place) {
            Some(None) => return Err(SchemaError::Circle),
            Some(Some(length)) => *length,
            None if before >= limits::SCHEMA_CHAIN => return Err(SchemaError::TooLongAWay),
            None => {
                self.known.insert(place, None);
                let mut longest = 0;
                for next in self.steps(node)? {
                    longest = longest.max(self.length(next, before + 1)?);
                }
                self.known.insert(place, Some(longest + 1));
                longest + 1
            }
        };
        if before + length > limits::SCHEMA_CHAIN {
            Err(SchemaError::TooLongAWay)
        } else {
            Ok(length)
        }
    }

    /// The subschemas that apply to the same value as this one.
    fn steps(&self, node: &'a Value) -> Result<Vec<&'a Value>, SchemaError> {
        let Value::Object(members) = node else {
            return Ok(Vec::new());
        };
        let mut steps = Vec::new();
        for (key, value) in members {
            match (key.as_str(), value) {
                ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => steps.extend(list),
                ("dependentSchemas" | "dependencies", Value::Object(named)) => {
                    steps.extend(named.values());
                }
                ("not" | "if" | "then" | "else", schema) => steps.push(schema),
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    steps.push(self.target(reference)?);
                }
                _ => {}
            }
        }
        Ok(steps)
    }

    fn target(&self, reference: &str) -> Result<&'a Value, SchemaError> {
        let shown = || reference.chars().take(80).collect::<String>();
        let fragment = reference
            .strip_prefix('#')
            .ok_or_else(|| SchemaError::Elsewhere(shown()))?;
        let found = match fragment {
            "" => Some(self.whole),
            name if name.starts_with('/') => crate::tool::acceptable::percent_decoded(name)
                .and_then(|pointer| self.whole.pointer(&pointer)),
            name => self.anchors.get(name).copied(),
        };
        found.ok_or_else(|| SchemaError::Dangling(shown()))
    }
}
