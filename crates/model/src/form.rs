//! A schema as fields: the one walk that forms in a browser, on a screen and on a
//! terminal are drawn by. What cannot be drawn is a field of the kind `json`, which is
//! filled in as text; nothing is lost by that.

use crate::{limits, tool::acceptable::percent_decoded};
use serde_json::{Map, Value, json};
use switchboard_api::tools::Field;

/// The whole of a schema as one field.
pub fn fields(schema: &Value) -> Field {
    let mut walk = Walk {
        root: schema,
        left: limits::FORM_FIELDS,
    };
    walk.field(schema, "", "", 0)
}

/// The values that a field takes, each with its name where it has one: `enum` with
/// `enumNames`, and `oneOf` or `anyOf` of constants with titles.
fn choices(schema: &Value) -> Vec<(Value, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(list) = schema["enum"].as_array() {
        let names = schema["enumNames"].as_array();
        let name = |at: usize| names.and_then(|names| text(names.get(at)?));
        let each = list.iter().enumerate();
        return each.map(|(at, value)| (value.clone(), name(at))).collect();
    }
    let titled = schema["oneOf"]
        .as_array()
        .or_else(|| schema["anyOf"].as_array());
    let titled = titled.into_iter().flatten();
    titled
        .filter_map(|choice| Some((choice.get("const")?.clone(), text(&choice["title"]))))
        .collect()
}

/// A field that takes one of these. That null is one of them is said apart.
fn as_enum(mut field: Field, choices: Vec<(Value, Option<String>)>) -> Field {
    field.kind = "enum".to_owned();
    field.nullable |= choices.iter().any(|(value, _)| value.is_null());
    let named = choices.iter().any(|(_, name)| name.is_some());
    for (value, name) in choices.into_iter().filter(|(value, _)| !value.is_null()) {
        if named {
            field.labels.push(name.unwrap_or_else(|| shown(&value)));
        }
        field.values.push(value);
    }
    field
}

/// A value as a person writes it.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

struct Walk<'a> {
    root: &'a Value,
    /// How many more fields are drawn.
    left: usize,
}

impl Walk<'_> {
    /// What the path is in the value that is filled in; `-` stands for any item.
    fn field(&mut self, schema: &Value, path: &str, key: &str, depth: usize) -> Field {
        let mut field = Field {
            path: path.to_owned(),
            key: key.to_owned(),
            label: key.to_owned(),
            ..Field::default()
        };
        if depth >= limits::FORM_DEPTH || self.left == 0 {
            return as_json(field, schema);
        }
        self.left -= 1;
        let Some(schema) = self.resolved(schema) else {
            return as_json(field, schema);
        };
        let schema = &schema;
        if *schema == Value::Bool(true) || schema.as_object().is_some_and(Map::is_empty) {
            return as_json(field, schema);
        }
        let text = |name: &str| schema[name].as_str().map(str::to_owned);
        if let Some(title) = text("title") {
            field.label = title;
        }
        field.description = text("description");
        field.default = schema.get("default").cloned();
        field.format = text("format").or_else(|| text("contentEncoding"));
        let (kind, nullable) = kind(schema);
        field.nullable = nullable;
        if let Some(value) = schema.get("const") {
            field.kind = "enum".to_owned();
            field.values = vec![value.clone()];
            return field;
        }
        if schema["enum"].is_array() {
            return as_enum(field, choices(schema));
        }
        if let Some(ways) = schema["oneOf"]
            .as_array()
            .or_else(|| schema["anyOf"].as_array())
        {
            return self.choice(field, schema, ways, depth);
        }
        match kind {
            Some("object") => self.object(field, schema, depth),
            Some("array") => self.array(field, schema, depth),
            Some(kind @ ("string" | "integer" | "number" | "boolean" | "null")) => {
                field.kind = kind.to_owned();
                field.bounds = bounds(schema);
                field
            }
            _ => as_json(field, schema),
        }
    }

    fn object(&mut self, mut field: Field, schema: &Value, depth: usize) -> Field {
        let Some(members) = schema["properties"].as_object() else {
            // Nothing is named: any keys, or none.
            return match schema.get("additionalProperties") {
                Some(Value::Bool(false)) => {
                    field.kind = "object".to_owned();
                    field
                }
                _ => as_json(field, schema),
            };
        };
        // What depends on what is filled in cannot be drawn.
        let depends = [
            "if",
            "not",
            "dependentSchemas",
            "patternProperties",
            "dependencies",
        ];
        if depends.iter().any(|key| schema.get(key).is_some()) {
            return as_json(field, schema);
        }
        let required = schema["required"].as_array();
        let is_required =
            |key: &str| required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(key)));
        for (key, member) in members {
            let path = format!("{}/{}", field.path, escaped(key));
            let mut member = self.field(member, &path, key, depth + 1);
            member.required = is_required(key);
            field.fields.push(member);
        }
        field.kind = "object".to_owned();
        field.open = schema.get("additionalProperties") != Some(&Value::Bool(false));
        field
    }

    fn array(&mut self, mut field: Field, schema: &Value, depth: usize) -> Field {
        // Each at its own place is another thing.
        if schema["prefixItems"].is_array() || schema["items"].is_array() {
            return as_json(field, schema);
        }
        let path = format!("{}/-", field.path);
        let any = Value::Bool(true);
        let item = self.field(schema.get("items").unwrap_or(&any), &path, "-", depth + 1);
        field.kind = "array".to_owned();
        field.item = Some(Box::new(item));
        field.bounds = bounds(schema);
        field
    }

    /// One of several ways. Null as one of them makes what is left nullable.
    fn choice(&mut self, mut field: Field, schema: &Value, ways: &[Value], depth: usize) -> Field {
        let titled = choices(schema);
        if !titled.is_empty() && titled.len() == ways.len() {
            return as_enum(field, titled);
        }
        let is_null =
            |way: &&Value| way["type"] == "null" || way.get("const") == Some(&Value::Null);
        let real: Vec<&Value> = ways.iter().filter(|way| !is_null(way)).collect();
        let nullable = field.nullable || real.len() < ways.len();
        // What stands beside the ways holds for each of them.
        let beside = schema.as_object().is_some_and(|all| {
            let shared = ["properties", "required", "allOf", "items"];
            shared.iter().any(|key| all.contains_key(*key))
        });
        if beside || real.is_empty() {
            return as_json(field, schema);
        }
        let mut drawn = real
            .iter()
            .map(|way| self.field(way, &field.path, &field.key, depth + 1));
        if real.len() == 1 {
            let only = drawn.next();
            drop(drawn);
            let Some(mut only) = only else { return field };
            only.nullable |= nullable;
            only.description = field.description.or(only.description);
            only.default = field.default.or(only.default);
            if schema["title"].is_string() {
                only.label = field.label;
            }
            return only;
        }
        field.options = drawn.collect();
        field.nullable = nullable;
        field.kind = "choice".to_owned();
        field
    }

    /// The schema that is meant: a `$ref` within the same document is followed, and what
    /// all of `allOf` say is put together where that is plain.
    fn resolved(&self, schema: &Value) -> Option<Value> {
        let mut schema = schema.clone();
        for _ in 0..limits::FORM_DEPTH {
            let Some(to) = schema.get("$ref").and_then(Value::as_str) else {
                return merged(schema);
            };
            let at = to.strip_prefix('#')?;
            let mut found = self.root.pointer(&percent_decoded(at)?)?.clone();
            // What stands beside it says more.
            if let (Some(found), Some(beside)) = (found.as_object_mut(), schema.as_object()) {
                for (key, value) in beside.iter().filter(|(key, _)| *key != "$ref") {
                    found.insert(key.clone(), value.clone());
                }
            }
            schema = found;
        }
        None
    }
}

/// `allOf` of one, or of objects with members of different names.
fn merged(schema: Value) -> Option<Value> {
    let Some(parts) = schema.get("allOf").and_then(Value::as_array).cloned() else {
        return Some(schema);
    };
    let mut whole = schema.as_object()?.clone();
    whole.remove("allOf");
    for part in &parts {
        for (key, value) in part.as_object()? {
            match (whole.get_mut(key), value) {
                (None, value) => {
                    whole.insert(key.clone(), value.clone());
                }
                (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => {
                    if more.keys().any(|name| known.contains_key(name)) {
                        return None;
                    }
                    known.extend(more.clone());
                }
                (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                    known.extend(more.iter().cloned());
                }
                (Some(known), value) if known == value => {}
                _ => return None,
            }
        }
    }
    match whole.contains_key("$ref") || whole.contains_key("allOf") {
        true => None,
        false => Some(Value::Object(whole)),
    }
}

/// The type, and whether null is one as well. Without a word about it what is named says it.
fn kind(schema: &Value) -> (Option<&str>, bool) {
    let nullable = schema["nullable"] == true;
    match &schema["type"] {
        Value::String(kind) => (Some(kind), nullable),
        Value::Array(kinds) => {
            let mut real = kinds
                .iter()
                .filter_map(Value::as_str)
                .filter(|kind| *kind != "null");
            let has_null = kinds.iter().any(|kind| kind == "null");
            match (real.next(), real.next()) {
                (Some(kind), None) => (Some(kind), has_null),
                (None, _) if has_null => (Some("null"), false),
                _ => (None, has_null),
            }
        }
        _ if schema["properties"].is_object() => (Some("object"), nullable),
        _ if schema.get("items").is_some() => (Some("array"), nullable),
        _ => (None, nullable),
    }
}

/// Bounds, pattern and lengths, as they are written.
fn bounds(schema: &Value) -> Option<Value> {
    const BOUNDS: [&str; 11] = [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "uniqueItems",
    ];
    let found = BOUNDS.iter().filter_map(|key| {
        let value = schema.get(key)?;
        Some(((*key).to_owned(), value.clone()))
    });
    let found: Map<String, Value> = found.collect();
    (!found.is_empty()).then_some(Value::Object(found))
}

fn as_json(mut field: Field, schema: &Value) -> Field {
    let text = |name: &str| schema[name].as_str().map(str::to_owned);
    field.kind = "json".to_owned();
    if let Some(title) = text("title") {
        field.label = title;
    }
    field.description = field.description.or_else(|| text("description"));
    field.default = field.default.or_else(|| schema.get("default").cloned());
    field.schema = Some(match schema {
        Value::Object(_) => schema.clone(),
        _ => json!({}),
    });
    field
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests;
