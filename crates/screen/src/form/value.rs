//! From what was filled in to a value.

use super::{Held, Node};
use serde_json::{Map, Value};
use switchboard_api::{fill, tools::Fault};

/// The value of a form, or all that is wrong with it.
pub(super) fn of(root: &Node) -> Result<Value, Vec<Fault>> {
    let mut faults = Vec::new();
    let value = node(root, "", &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(value.unwrap_or_else(|| match root.held {
        Held::Members(_) => Value::Object(Map::new()),
        // Arguments whose names nobody says are none, as long as nobody writes any.
        Held::Text(_) if root.field.kind == "json" => Value::Object(Map::new()),
        Held::Items(_) => Value::Array(Vec::new()),
        _ => Value::Null,
    }))
}

/// What is in a field; nothing where nobody filled it in. As deep as a form, which is capped.
fn node(node_: &Node, path: &str, faults: &mut Vec<Fault>) -> Option<Value> {
    let field = &node_.field;
    let value = match &node_.held {
        Held::Text(input) => match input {
            None => None,
            Some(input) => typed(&field.kind, &input.text(), path, faults),
        },
        Held::OneOf(values, at) => at.and_then(|at| values.get(at)).cloned(),
        Held::Members(members) => {
            let mut object = Map::new();
            let before = faults.len();
            for member in members {
                let key = member.field.key.replace('~', "~0").replace('/', "~1");
                if let Some(value) = node(member, &format!("{path}/{key}"), faults) {
                    object.insert(member.field.key.clone(), value);
                }
            }
            // An object that nobody asked for lacks nothing.
            if object.is_empty() && !field.required && !path.is_empty() {
                faults.truncate(before);
                return None;
            }
            Some(Value::Object(object))
        }
        Held::Items(items) => {
            let values = items.iter().enumerate();
            let values: Vec<Value> = values
                .filter_map(|(index, item)| node(item, &format!("{path}/{index}"), faults))
                .collect();
            (field.required || !values.is_empty()).then_some(Value::Array(values))
        }
        Held::Way(_, way) => node(way, path, faults),
    };
    if value.is_none() && field.required && !faults.iter().any(|fault| fault.path == path) {
        faults.push(fault(path, "is needed"));
    }
    value
}

/// Text as the field's kind has it.
fn typed(kind: &str, text: &str, path: &str, faults: &mut Vec<Fault>) -> Option<Value> {
    if kind == "string" {
        return Some(Value::String(text.to_owned()));
    }
    let is_number = matches!(kind, "integer" | "number");
    let read = fill::value(if is_number { text.trim() } else { text });
    let wrong = match (kind, &read) {
        ("integer", Ok(Value::Number(number))) if !number.is_f64() => None,
        ("integer", _) => Some("must be a whole number".to_owned()),
        ("number", Ok(Value::Number(_))) => None,
        ("number", _) => Some("must be a number".to_owned()),
        (_, Ok(_)) => None,
        (_, Err(error)) => Some(format!("must be JSON: {error}")),
    };
    match wrong {
        None => read.ok(),
        Some(wrong) => {
            faults.push(fault(path, &wrong));
            None
        }
    }
}

fn fault(path: &str, error: &str) -> Fault {
    Fault {
        path: path.to_owned(),
        error: error.to_owned(),
    }
}
