//! Subschemas that a strict reader of the newest dialect would refuse.
//!
//! Model APIs check every tool of a request against JSON Schema 2020-12 and
//! refuse them all for one fault. What older dialects wrote is rewritten; what
//! stays wrong is left out.

use super::acceptable::resolve;
use crate::{limits, validate::dialect_fault};
use serde_json::{Map, Value, json};

/// Makes a whole schema valid.
pub(super) fn mend(schema: &mut Value, changes: &mut Vec<String>) {
    let whole = schema.clone();
    walk(schema, 0, &mut |node, depth| {
        if depth > limits::MODEL_SCHEMA_DEPTH {
            *node = json!({ "description": "(nested too deeply to be shown)" });
            note(changes, "what is nested too deeply left out");
            return;
        }
        if let Some(members) = node.as_object_mut() {
            modernise(members, &whole, changes);
        }
    });
    for _ in 0..limits::SOUND_ROUNDS {
        let Some(pointer) = dialect_fault(schema) else {
            return;
        };
        changes.push(format!("{pointer} left out, which is not valid"));
        if !remove(schema, &pointer) {
            break;
        }
    }
    if dialect_fault(schema).is_some() {
        *schema = json!({ "type": "object", "properties": {} });
        changes.push("replaced by an open object: it is not valid JSON Schema".to_owned());
    }
}

/// Rewrites what older dialects wrote.
fn modernise(members: &mut Map<String, Value>, whole: &Value, changes: &mut Vec<String>) {
    // Other dialects' names and places have no meaning where it is going.
    for key in [
        "$schema",
        "$id",
        "id",
        "$anchor",
        "$dynamicAnchor",
        "$vocabulary",
    ] {
        if members.get(key).is_some_and(Value::is_string) {
            members.remove(key);
        }
    }
    if let Some(reference) = members.get("$ref").or_else(|| members.get("$dynamicRef"))
        && resolve(whole, reference).is_none()
    {
        members.remove("$ref");
        members.remove("$dynamicRef");
        note(changes, "references that lead elsewhere left out");
    }
    if members.get("items").is_some_and(Value::is_array)
        && let Some(tuple) = members.remove("items")
    {
        members.insert("prefixItems".to_owned(), tuple);
        if let Some(more) = members.remove("additionalItems") {
            members.insert("items".to_owned(), more);
        }
        note(changes, "a list of \"items\" made \"prefixItems\"");
    }
    for (flag, limit) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        match members.get(flag) {
            Some(Value::Bool(true)) if members.get(limit).is_some_and(Value::is_number) => {
                let number = members.remove(limit).unwrap_or_default();
                members.insert(flag.to_owned(), number);
            }
            Some(Value::Bool(_)) => {
                members.remove(flag);
            }
            _ => {}
        }
    }
}

fn note(changes: &mut Vec<String>, what: &str) {
    if !changes.iter().any(|change| change == what) {
        changes.push(what.to_owned());
    }
}

/// Calls `visit` for every subschema, outer ones first. The depth of a value was capped when it was parsed.
pub(super) fn walk(schema: &mut Value, depth: usize, visit: &mut dyn FnMut(&mut Value, usize)) {
    visit(schema, depth);
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    for (key, value) in members.iter_mut() {
        match (key.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies",
                Value::Object(named),
            ) => named
                .values_mut()
                .for_each(|schema| walk(schema, depth + 1, visit)),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(list)) => {
                list.iter_mut()
                    .for_each(|schema| walk(schema, depth + 1, visit));
            }
            (
                "items"
                | "additionalItems"
                | "contains"
                | "additionalProperties"
                | "propertyNames"
                | "not"
                | "if"
                | "then"
                | "else"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "contentSchema",
                schema @ Value::Object(_),
            ) => walk(schema, depth + 1, visit),
            _ => {}
        }
    }
}

/// Takes a value out of its parent. The root cannot be taken out.
fn remove(schema: &mut Value, pointer: &str) -> bool {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return false;
    };
    let last = last.replace("~1", "/").replace("~0", "~");
    match schema.pointer_mut(parent) {
        Some(Value::Object(members)) => members.remove(&last).is_some(),
        Some(Value::Array(items)) => match last.parse::<usize>() {
            // An empty list is a fault of its own, which the next round takes out.
            Ok(at) if at < items.len() => {
                items.remove(at);
                true
            }
            _ => false,
        },
        _ => false,
    }
}
