//! The dialect's list of tools: schemas flattened to what each parameter is.

use crate::gateway::Gateway;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use switchboard_host::{Client, catalog::List};

/// The list, as JSON text.
pub(super) async fn list(gateway: &Gateway, client: &Arc<Client>) -> String {
    let merged = gateway.host().merged(client, List::Tools).await;
    let tools: Vec<Value> = merged
        .iter()
        .filter_map(|item| {
            let definition: Value = serde_json::from_slice(&item.item.raw).ok()?;
            Some(tool(&item.outward, &definition))
        })
        .collect();
    json!({ "count": tools.len(), "tools": tools }).to_string()
}

fn tool(name: &str, definition: &Value) -> Value {
    let schema = &definition["inputSchema"];
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let parameters: Map<String, Value> = properties
        .iter()
        .map(|(name, property)| {
            let about = json!({
                "type": kind(property),
                "description": property["description"].as_str().unwrap_or_default(),
                "required": required.contains(&name.as_str()),
            });
            (name.clone(), about)
        })
        .collect();
    let example: Vec<String> = required
        .iter()
        .filter_map(|name| {
            Some(format!(
                "{}: {}",
                json!(name),
                sample(properties.get(*name)?)
            ))
        })
        .collect();
    let example = match example.as_slice() {
        [] => format!("{name}({{ }})"),
        given => format!("{name}({{ {} }})", given.join(", ")),
    };
    json!({
        "name": name,
        "description": definition["description"].as_str().unwrap_or_default(),
        "parameters": parameters,
        "examples": [example],
    })
}

fn kind(property: &Value) -> String {
    match &property["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" | "),
        _ => "any".into(),
    }
}

/// A value that fits: one that the schema names, or the simplest of its kind.
fn sample(property: &Value) -> Value {
    let named = [
        &property["examples"][0],
        &property["default"],
        &property["const"],
        &property["enum"][0],
    ];
    if let Some(value) = named.into_iter().find(|value| !value.is_null()) {
        return value.clone();
    }
    match kind(property).as_str() {
        "number" | "integer" => property
            .get("minimum")
            .filter(|least| least.is_number())
            .cloned()
            .unwrap_or(json!(1)),
        "boolean" => json!(true),
        "array" => json!([]),
        "object" => json!({}),
        "null" => Value::Null,
        _ => json!("text"),
    }
}
