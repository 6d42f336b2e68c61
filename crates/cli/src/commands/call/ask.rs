//! Arguments that the tool needs and the user did not give: asked for on a
//! terminal, named otherwise.

use super::{arguments::Arguments, form};
use crate::{
    context::warn,
    failure::Failure,
    near::{did_you_mean, near},
    show::term,
};
use serde_json::Value;
use switchboard::{api::types::tools::Field, model::form::fields, tasks};

/// Says which arguments the tool does not know, with the one that was probably meant. Where it
/// takes others than it names, or may, that is no more than a warning.
pub fn unknown(arguments: &Arguments, schema: &Value) -> Result<(), Failure> {
    let Some(known) = schema["properties"].as_object() else {
        return Ok(());
    };
    let open = match &schema["additionalProperties"] {
        Value::Bool(open) => *open,
        Value::Object(_) => true,
        _ => schema.get("patternProperties").is_some(),
    };
    let is_closed = schema["additionalProperties"] == Value::Bool(false);
    // Names may come from what the schema refers to.
    let is_whole = ["$ref", "allOf", "anyOf", "oneOf", "if"]
        .iter()
        .all(|key| schema.get(key).is_none());
    if open || !is_whole {
        return Ok(());
    }
    for name in arguments.names().filter(|name| !known.contains_key(*name)) {
        let text = format!("the tool has no argument {name:?}");
        let free = known.keys().filter(|known| !arguments.has(known));
        let meant = did_you_mean(&near(name, free.map(String::as_str)));
        let is_missing = |name: &Value| name.as_str().is_some_and(|name| !arguments.has(name));
        let lacks = schema["required"]
            .as_array()
            .is_some_and(|required| required.iter().any(is_missing));
        let all: Vec<&str> = known.keys().map(String::as_str).collect();
        match meant {
            Some(meant) if is_closed || lacks => return Err(Failure::usage(text).hint(meant)),
            Some(meant) => warn(&format!("{text}; {meant}")),
            None if is_closed && all.is_empty() => {
                return Err(Failure::usage(text).hint("it takes none"));
            }
            None if is_closed => {
                return Err(Failure::usage(text).hint(format!("it has: {}", all.join(", "))));
            }
            None => warn(&text),
        }
    }
    Ok(())
}

/// Completes the arguments, or says what is missing.
pub async fn missing(arguments: &mut Arguments, schema: &Value) -> Result<(), Failure> {
    let required = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let missing: Vec<&str> = required.filter(|name| !arguments.has(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    // Asked for what was given under a wrong name, nobody would answer well.
    let is_closed = schema["additionalProperties"] == Value::Bool(false);
    let known = |name: &str| schema["properties"].get(name).is_some();
    if is_closed && !arguments.names().all(known) {
        return Ok(());
    }
    if !term::can_ask() {
        let text = match missing.as_slice() {
            [one] => format!("the tool needs the argument {one:?}"),
            several => format!("the tool needs the arguments {}", several.join(", ")),
        };
        return Err(Failure::usage(text).hint(format!("give it with -a {}=…", missing[0])));
    }
    let root = fields(schema);
    for name in missing {
        let drawn = root.fields.iter().find(|field| field.key == name).cloned();
        let field = Field {
            required: true,
            ..drawn.unwrap_or_else(|| Field {
                key: name.to_owned(),
                kind: "json".to_owned(),
                ..Field::default()
            })
        };
        // Waiting for a person must not stop everything else, Ctrl-C included.
        let answer = tasks::blocking(move || {
            let (mut input, mut err) = (std::io::stdin().lock(), std::io::stderr().lock());
            form::ask(&field, &mut input, &mut err)
        });
        let needed = || Failure::usage(format!("the tool needs the argument {name:?}"));
        let answered = answer.await.map_err(|_| needed())?;
        let value = answered.ok().flatten().ok_or_else(needed)?;
        arguments.set(name, value.to_string());
    }
    Ok(())
}
