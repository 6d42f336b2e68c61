//! What a server asks for, and what we ask ourselves, as questions on a
//! terminal: field by field, each checked before the next.

use super::pages;
use crate::{
    failure::Advice,
    limits,
    show::{safe, term},
};
use serde_json::{Map, Value, json};
use std::io::{BufRead, Write};
use switchboard::{
    agent::Form,
    host::{Consent, Verdict},
    model::form::{choices, shown},
};

/// What came of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filled {
    /// Filled in.
    Accepted(Map<String, Value>),
    /// The page was visited, says whoever was asked.
    Visited,
    /// The person says no.
    Declined,
    /// The person went away.
    Cancelled,
}

/// Asks for the fields of a form.
pub fn fill(server: &str, params: &Value, input: &mut dyn BufRead, out: &mut dyn Write) -> Filled {
    let Some(form) = Form::of(params) else {
        return Filled::Cancelled;
    };
    let message = params["message"].as_str().unwrap_or_default();
    let paint = term::stderr();
    let _ = writeln!(
        out,
        "{} {}",
        paint.bold(&format!("server {} asks:", safe::line(server))),
        safe::lines(message)
    );
    let _ = writeln!(
        out,
        "{}",
        paint.dim(
            "an empty line takes the default or leaves the field out; ! declines; Ctrl-D gives up"
        )
    );
    let required: Vec<&str> = params["requestedSchema"]["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut content = Map::new();
    for (name, schema) in form.fields().take(limits::FORM_FIELDS) {
        let needed = required.contains(&name);
        match field(name, schema, needed, input, out) {
            Ok(Some(value)) => {
                content.insert(name.to_owned(), value);
            }
            Ok(None) => {}
            Err(end) => return end,
        }
    }
    Filled::Accepted(content)
}

fn field(
    name: &str,
    schema: &Value,
    needed: bool,
    input: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<Option<Value>, Filled> {
    let choices = choices(schema);
    let paint = term::stderr();
    let title = schema["title"].as_str().unwrap_or(name);
    let about = schema["description"].as_str().map(safe::line);
    let _ = writeln!(
        out,
        "{} {}{}",
        paint.bold(&safe::line(title)),
        paint.dim(&format!("({})", kind(schema, needed))),
        about.map(|about| format!(" – {about}")).unwrap_or_default()
    );
    for (at, (_, label)) in choices.iter().enumerate() {
        let _ = writeln!(out, "  {}. {}", at + 1, safe::line(label));
    }
    let default = schema.get("default");
    for _ in 0..limits::FIELD_TRIES {
        let hint = default
            .map(|value| format!(" [{}]", safe::line(&shown(value))))
            .unwrap_or_default();
        let _ = write!(out, "  {}{hint}: ", safe::line(name));
        let _ = out.flush();
        let line = read(input)?;
        let problem = match (line.trim(), default) {
            ("!", _) => return Err(Filled::Declined),
            ("", Some(default)) => return Ok(Some(default.clone())),
            ("", None) if !needed => return Ok(None),
            ("", None) => "the server needs an answer here".to_owned(),
            (text, _) => match value(schema, &choices, text) {
                Ok(value) => return Ok(Some(value)),
                Err(problem) => problem.to_string(),
            },
        };
        let _ = writeln!(out, "  {}", paint.red(&problem));
    }
    Err(Filled::Cancelled)
}

/// A page that the server wants to be visited. It is shown, never opened.
pub fn visit(server: &str, params: &Value, input: &mut dyn BufRead, out: &mut dyn Write) -> Filled {
    let url = params["url"].as_str().unwrap_or_default();
    let message = params["message"].as_str().unwrap_or_default();
    let paint = term::stderr();
    let _ = writeln!(
        out,
        "{} {}\n  {}",
        paint.bold(&format!(
            "server {} wants you to visit:",
            safe::line(server)
        )),
        safe::lines(message),
        safe::line(url)
    );
    let _ = write!(
        out,
        "Look at the address before you open it. Done? [y/N, ! declines] "
    );
    let _ = out.flush();
    match read(input) {
        Err(end) => end,
        Ok(line) => match line.trim() {
            "y" | "Y" | "yes" => Filled::Visited,
            "!" => Filled::Declined,
            _ => Filled::Cancelled,
        },
    }
}

/// Whether a call may go ahead.
pub fn consent(consent: &Consent, input: &mut dyn BufRead, out: &mut dyn Write) -> Verdict {
    let paint = term::stderr();
    let _ = writeln!(
        out,
        "{} {}",
        paint.bold("Allow this call?"),
        safe::line(&consent.canonical)
    );
    let mut rows = vec![("because", consent.reason.clone())];
    if !consent.hints.is_empty() {
        rows.push(("it says", consent.hints.join(", ")));
    }
    for (label, text) in rows {
        let _ = writeln!(out, "  {label:<9} {}", safe::line(&text));
    }
    if let Some(arguments) = &consent.arguments
        && !pages::show(arguments, input, out)
    {
        return Verdict::No;
    }
    let choices = if consent.may_remember {
        "[y = yes, a = always, N = no, never]"
    } else {
        "[y/N]"
    };
    let _ = write!(out, "{choices} ");
    let _ = out.flush();
    let line = read(input).unwrap_or_default();
    match (line.trim(), consent.may_remember) {
        ("y" | "Y" | "yes", _) => Verdict::Once,
        ("a" | "A" | "always", true) => Verdict::Always,
        ("never", true) => Verdict::Never,
        _ => Verdict::No,
    }
}

fn read(input: &mut dyn BufRead) -> Result<String, Filled> {
    let mut line = String::new();
    match input.read_line(&mut line) {
        Ok(0) | Err(_) => Err(Filled::Cancelled),
        Ok(_) => Ok(line),
    }
}

/// The value that a line stands for.
fn value(schema: &Value, choices: &[(Value, String)], text: &str) -> Result<Value, Advice> {
    if schema["type"] == "array" {
        let each = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let values: Vec<Value> = each
            .map(|part| chosen(choices, part))
            .collect::<Result<_, _>>()?;
        let count = values.len() as u64;
        return match (schema["minItems"].as_u64(), schema["maxItems"].as_u64()) {
            (Some(least), _) if count < least => Err(format!("choose at least {least}").into()),
            (_, Some(most)) if count > most => Err(format!("choose at most {most}").into()),
            _ => Ok(Value::Array(values)),
        };
    }
    if !choices.is_empty() {
        return chosen(choices, text);
    }
    match schema["type"].as_str() {
        Some("boolean") => match text.to_ascii_lowercase().as_str() {
            "y" | "yes" | "true" => Ok(json!(true)),
            "n" | "no" | "false" => Ok(json!(false)),
            _ => Err("answer yes or no".into()),
        },
        Some("integer") => {
            let number: i64 = text.parse().map_err(|_| "a whole number is needed")?;
            in_range(schema, number as f64)?;
            Ok(json!(number))
        }
        Some("number") => {
            let number: f64 = text.parse().map_err(|_| "a number is needed")?;
            in_range(schema, number)?;
            serde_json::Number::from_f64(number)
                .map(Value::Number)
                .ok_or_else(|| "a number is needed".into())
        }
        _ => string(schema, text),
    }
}

fn in_range(schema: &Value, number: f64) -> Result<(), Advice> {
    match (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
        (Some(least), _) if number < least => Err(format!("it must be at least {least}").into()),
        (_, Some(most)) if number > most => Err(format!("it must be at most {most}").into()),
        _ => Ok(()),
    }
}

fn string(schema: &Value, text: &str) -> Result<Value, Advice> {
    let length = text.chars().count() as u64;
    match (schema["minLength"].as_u64(), schema["maxLength"].as_u64()) {
        (Some(least), _) if length < least => {
            return Err(format!("it must have at least {least} characters").into());
        }
        (_, Some(most)) if length > most => {
            return Err(format!("it must have at most {most} characters").into());
        }
        _ => {}
    }
    let digits = |part: &str, count: usize| {
        part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_date = |text: &str| {
        let parts: Vec<&str> = text.split('-').collect();
        matches!(parts.as_slice(), [year, month, day]
            if digits(year, 4) && digits(month, 2) && digits(day, 2))
    };
    let fits = match schema["format"].as_str() {
        Some("email") => text
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty()),
        Some("uri") => text
            .split_once(':')
            .is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty()),
        Some("date") => is_date(text),
        Some("date-time") => text
            .split_once(['T', 't', ' '])
            .is_some_and(|(date, time)| is_date(date) && time.contains(':')),
        _ => true,
    };
    if fits {
        Ok(json!(text))
    } else {
        let format = schema["format"].as_str().unwrap_or_default();
        Err(format!("this is no {format}").into())
    }
}

/// One of the choices: by its number, its value or its name.
fn chosen(choices: &[(Value, String)], text: &str) -> Result<Value, Advice> {
    let by_number = text
        .parse::<usize>()
        .ok()
        .and_then(|number| choices.get(number.checked_sub(1)?));
    let by_name = choices
        .iter()
        .find(|(value, label)| shown(value) == text || label == text);
    let found = by_name.or(by_number);
    found
        .map(|(value, _)| value.clone())
        .ok_or_else(|| format!("choose by number, from 1 to {}", choices.len()).into())
}

/// What kind of answer a field takes.
fn kind(schema: &Value, needed: bool) -> String {
    let kind = match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("array"), _) => "several, with commas",
        _ if !choices(schema).is_empty() => "one of these",
        (Some("boolean"), _) => "yes or no",
        (Some("integer"), _) => "a whole number",
        (Some("number"), _) => "a number",
        (_, Some("email")) => "an e-mail address",
        (_, Some("uri")) => "an address",
        (_, Some("date")) => "a date such as 2026-07-28",
        (_, Some("date-time")) => "a time such as 2026-07-28T12:00:00Z",
        _ => "text",
    };
    let needed = if needed { ", needed" } else { "" };
    format!("{kind}{needed}")
}

#[cfg(test)]
mod tests;
