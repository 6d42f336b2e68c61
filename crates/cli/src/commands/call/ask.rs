//! Arguments that the tool needs and the user did not give: asked for on a
//! terminal, named otherwise.

use super::{arguments::Arguments, form};
use crate::{failure::Failure, show::term};
use serde_json::Value;
use switchboard::{api::types::tools::Field, model::form::fields, tasks};

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
