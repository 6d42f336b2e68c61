//! A fault in words: where it is, what is wrong, and what would be right.

use super::Issue;
use crate::limits;
use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
    paths::LocationSegment,
};
use serde_json::Value;
use switchboard_local::visible;

/// A fault, told to whoever gave the value.
pub(super) fn issue(fault: &ValidationError<'_>, schema: &Value) -> Issue {
    nested_issue(fault, schema, limits::NESTED_ALTERNATIVES)
}

fn nested_issue(fault: &ValidationError<'_>, schema: &Value, depth: usize) -> Issue {
    let value = fault.instance();
    let problem = match fault.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            format!("{name:?} is missing{}", expected(fault, schema, name))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let known = known_names(fault, schema);
            let known = if known.is_empty() {
                String::new()
            } else {
                format!("; it has {}", listed(&known))
            };
            format!("there is no {}{known}", listed(unexpected))
        }
        Kind::Type { kind } => format!("must be {}, not {}", types(kind), described(value)),
        Kind::Enum { options } => match options.as_array() {
            Some(options) => format!("must be one of {}, not {}", values(options), quoted(value)),
            None => format!(
                "is not one of the values it may have, but {}",
                quoted(value)
            ),
        },
        Kind::Constant { expected_value } => {
            format!("must be {}, not {}", quoted(expected_value), quoted(value))
        }
        Kind::Minimum { limit } => format!("must be at least {limit}, not {}", quoted(value)),
        Kind::Maximum { limit } => format!("must be at most {limit}, not {}", quoted(value)),
        Kind::ExclusiveMinimum { limit } => {
            format!("must be more than {limit}, not {}", quoted(value))
        }
        Kind::ExclusiveMaximum { limit } => {
            format!("must be less than {limit}, not {}", quoted(value))
        }
        Kind::MinLength { limit } => format!(
            "must have at least {limit} characters, not {}",
            length(value)
        ),
        Kind::MaxLength { limit } => format!(
            "must have at most {limit} characters, not {}",
            length(value)
        ),
        Kind::MinItems { limit } => {
            format!("must have at least {limit} elements, not {}", length(value))
        }
        Kind::MaxItems { limit } => {
            format!("must have at most {limit} elements, not {}", length(value))
        }
        Kind::MinProperties { limit } => {
            format!("must have at least {limit} members, not {}", length(value))
        }
        Kind::MaxProperties { limit } => {
            format!("must have at most {limit} members, not {}", length(value))
        }
        Kind::Pattern { pattern } => format!(
            "must match the pattern {}, and {} does not",
            cut(pattern),
            quoted(value)
        ),
        Kind::UniqueItems => "must not have the same element twice".to_owned(),
        Kind::FalseSchema => "must not be there".to_owned(),
        Kind::Not { .. } => format!("must not be {}", quoted(value)),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            format!(
                "fits none of its {} alternatives{}",
                context.len(),
                nearest(context, schema, depth)
            )
        }
        Kind::OneOfMultipleValid { .. } => {
            "fits several alternatives of which exactly one must fit".to_owned()
        }
        other => format!("does not satisfy {:?}", other.keyword()),
    };
    Issue {
        path: path(fault),
        problem: visible::line(&problem),
    }
}

/// `a.b[0]`, as people write it; names that are no words are quoted.
fn path(fault: &ValidationError<'_>) -> String {
    let mut out = String::new();
    for segment in fault.instance_path() {
        match segment {
            LocationSegment::Index(index) => out.push_str(&format!("[{index}]")),
            LocationSegment::Property(name) => {
                let plain = !name.is_empty()
                    && name
                        .chars()
                        .all(|c| c.is_alphanumeric() || c == '_' || c == '-');
                match (plain, out.is_empty()) {
                    (true, true) => out.push_str(&name),
                    (true, false) => out.push_str(&format!(".{name}")),
                    (false, _) => out.push_str(&format!("[{:?}]", cut(&name))),
                }
            }
        }
    }
    visible::line(&out)
}

/// What a missing property should be: its type and the start of its description.
fn expected(fault: &ValidationError<'_>, schema: &Value, name: &str) -> String {
    let Some(property) =
        holder(fault, schema).and_then(|holder| holder.get("properties")?.get(name))
    else {
        return String::new();
    };
    let kind = match property.get("type") {
        Some(Value::String(kind)) => format!("; it takes {}", article(kind)),
        _ => match property.get("enum").and_then(Value::as_array) {
            Some(options) => format!("; it takes one of {}", values(options)),
            None => String::new(),
        },
    };
    match property.get("description").and_then(Value::as_str) {
        Some(description) if !description.is_empty() => format!("{kind} ({})", cut(description)),
        _ => kind,
    }
}

fn known_names(fault: &ValidationError<'_>, schema: &Value) -> Vec<String> {
    let properties = holder(fault, schema).and_then(|holder| holder.get("properties")?.as_object());
    properties
        .into_iter()
        .flat_map(|properties| properties.keys().cloned())
        .collect()
}

/// The subschema that the failed keyword stands in.
fn holder<'s>(fault: &ValidationError<'_>, schema: &'s Value) -> Option<&'s Value> {
    let pointer = fault.schema_path().to_string();
    let (parent, _) = pointer.rsplit_once('/')?;
    schema.pointer(parent)
}

/// The faults of the alternative that came nearest: the one with fewest.
fn nearest(context: &[Vec<ValidationError<'static>>], schema: &Value, depth: usize) -> String {
    let best = context
        .iter()
        .filter(|faults| !faults.is_empty())
        .min_by_key(|faults| faults.len());
    match best.and_then(|faults| faults.first()) {
        Some(fault) if depth > 0 => format!(
            "; for the nearest: {}",
            nested_issue(fault, schema, depth - 1)
        ),
        _ => String::new(),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => article(&kind.to_string()),
        TypeKind::Multiple(kinds) => {
            let kinds: Vec<String> = kinds
                .iter()
                .map(|kind| article(&kind.to_string()))
                .collect();
            kinds.join(" or ")
        }
    }
}

fn article(kind: &str) -> String {
    match kind {
        "null" => "null".to_owned(),
        "array" | "object" | "integer" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

/// A value with its type, where the text alone would not show it.
fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => format!("the boolean {}", quoted(value)),
        Value::Number(_) => format!("the number {}", quoted(value)),
        Value::String(_) => format!("the string {}", quoted(value)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn length(value: &Value) -> String {
    match value {
        Value::String(text) => text.chars().count().to_string(),
        Value::Array(items) => items.len().to_string(),
        Value::Object(members) => members.len().to_string(),
        _ => "as it is".to_owned(),
    }
}

fn quoted(value: &Value) -> String {
    cut(&value.to_string())
}

fn values(options: &[Value]) -> String {
    let mut named: Vec<String> = options
        .iter()
        .take(limits::NAMED_VALUES)
        .map(quoted)
        .collect();
    if options.len() > limits::NAMED_VALUES {
        named.push(format!("… ({} in all)", options.len()));
    }
    named.join(", ")
}

fn listed(names: &[String]) -> String {
    let names: Vec<Value> = names.iter().cloned().map(Value::String).collect();
    values(&names)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(limits::QUOTED_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
