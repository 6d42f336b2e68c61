//! Arguments that the tool needs and the user did not give: asked for on a
//! terminal, named otherwise.

use super::arguments::{self, Arguments};
use crate::{
    failure::Failure,
    show::{safe, term},
};
use serde_json::Value;
use std::io::{BufRead, Write};
use switchboard::tasks;

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
    for name in missing {
        let (asked, property) = (name.to_owned(), schema["properties"][name].clone());
        // Waiting for a person must not stop everything else, Ctrl-C included.
        let answer = tasks::blocking(move || question(&asked, &property)).await;
        let value = answer.map_err(|_| Failure::usage(format!("no answer for {name:?}")))??;
        arguments.set(name, arguments::answer(name, &value, schema)?);
    }
    Ok(())
}

fn question(name: &str, property: &Value) -> Result<String, Failure> {
    let about = property["description"]
        .as_str()
        .map(|text| format!(" – {}", safe::line(text.trim_end_matches('.'))))
        .unwrap_or_default();
    let kind = property["type"]
        .as_str()
        .map(|kind| format!(" ({})", safe::line(kind)))
        .unwrap_or_default();
    let mut err = std::io::stderr().lock();
    let _ = write!(
        err,
        "{}{kind}{about}: ",
        term::stderr().bold(&safe::line(name))
    );
    let _ = err.flush();
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => Err(Failure::usage(format!(
            "the tool needs the argument {name:?}"
        ))),
        Ok(_) => Ok(line.trim_end_matches(['\n', '\r']).to_owned()),
    }
}
