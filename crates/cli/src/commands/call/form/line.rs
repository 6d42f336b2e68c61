//! What one typed line stands for, by the field that it fills in.

use crate::failure::Advice;
use serde_json::{Value, json};
use switchboard::{api::types::tools::Field, model::form::shown};

/// The value that a line stands for.
pub(super) fn value(field: &Field, text: &str) -> Result<Value, Advice> {
    if field.nullable && text == "null" {
        return Ok(Value::Null);
    }
    match field.kind.as_str() {
        "enum" => chosen(field, text),
        "array" => several(field, text),
        "boolean" => match text.to_ascii_lowercase().as_str() {
            "y" | "yes" | "true" => Ok(json!(true)),
            "n" | "no" | "false" => Ok(json!(false)),
            _ => Err("answer yes or no".into()),
        },
        "integer" => {
            let number: i64 = text.parse().map_err(|_| "a whole number is needed")?;
            in_range(field, number as f64)?;
            Ok(json!(number))
        }
        "number" => {
            let number: f64 = text.parse().map_err(|_| "a number is needed")?;
            in_range(field, number)?;
            let number = serde_json::Number::from_f64(number);
            let number = number.ok_or("a number is needed")?;
            Ok(Value::Number(number))
        }
        "null" => Ok(Value::Null),
        "string" => string(field, text),
        // The first way that takes it is meant.
        "choice" => field
            .options
            .iter()
            .find_map(|way| value(way, text).ok())
            .ok_or_else(|| "it fits none of the ways that this takes".into()),
        _ => written(field, text),
    }
}

/// JSON; where nothing is said of the type, any other text is meant as it is.
fn written(field: &Field, text: &str) -> Result<Value, Advice> {
    let says = |key: &str| {
        let schema = field.schema.as_ref();
        schema.is_some_and(|schema| schema.get(key).is_some())
    };
    let is_open =
        field.kind == "json" && !["type", "properties", "items"].iter().any(|it| says(it));
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(_) if is_open => Ok(json!(text)),
        Err(error) => Err(format!("JSON is needed: {error}").into()),
    }
}

/// Several, with commas between them, or as JSON.
fn several(field: &Field, text: &str) -> Result<Value, Advice> {
    let plain = field.item.as_deref().filter(|item| is_plain(item));
    let (false, Some(item)) = (text.starts_with('['), plain) else {
        return written(field, text);
    };
    let each = text.split(',').map(str::trim);
    let values: Vec<Value> = each
        .filter(|part| !part.is_empty())
        .map(|part| value(item, part))
        .collect::<Result<_, _>>()?;
    let count = values.len() as u64;
    match (bound(field, "minItems"), bound(field, "maxItems")) {
        (Some(least), _) if count < least => Err(format!("choose at least {least}").into()),
        (_, Some(most)) if count > most => Err(format!("choose at most {most}").into()),
        _ => Ok(Value::Array(values)),
    }
}

fn is_plain(field: &Field) -> bool {
    let plain = ["enum", "string", "integer", "number", "boolean"];
    plain.contains(&field.kind.as_str())
}

fn bound(field: &Field, name: &str) -> Option<u64> {
    field.bounds.as_ref()?.get(name)?.as_u64()
}

fn in_range(field: &Field, number: f64) -> Result<(), Advice> {
    let bound = |name: &str| field.bounds.as_ref()?.get(name)?.as_f64();
    match (bound("minimum"), bound("maximum")) {
        (Some(least), _) if number < least => Err(format!("it must be at least {least}").into()),
        (_, Some(most)) if number > most => Err(format!("it must be at most {most}").into()),
        _ => Ok(()),
    }
}

fn string(field: &Field, text: &str) -> Result<Value, Advice> {
    let length = text.chars().count() as u64;
    match (bound(field, "minLength"), bound(field, "maxLength")) {
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
    let format = field.format.as_deref().unwrap_or_default();
    let fits = match format {
        "email" => text
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty()),
        "uri" => text
            .split_once(':')
            .is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty()),
        "date" => is_date(text),
        "date-time" => text
            .split_once(['T', 't', ' '])
            .is_some_and(|(date, time)| is_date(date) && time.contains(':')),
        _ => true,
    };
    if fits {
        Ok(json!(text))
    } else {
        Err(format!("this is no {format}").into())
    }
}

/// One of the values: by its number, itself or its name.
fn chosen(field: &Field, text: &str) -> Result<Value, Advice> {
    let by_number = || {
        let number: usize = text.parse().ok()?;
        field.values.get(number.checked_sub(1)?)
    };
    let by_name = || {
        let at = field.labels.iter().position(|label| label == text)?;
        field.values.get(at)
    };
    let itself = field.values.iter().find(|value| shown(value) == text);
    let found = itself.or_else(by_name).or_else(by_number);
    found
        .cloned()
        .ok_or_else(|| format!("choose by number, from 1 to {}", field.values.len()).into())
}

/// What can be chosen, as it is called.
pub(super) fn named(field: &Field) -> Vec<String> {
    let from = field.item.as_deref().unwrap_or(field);
    if from.labels.is_empty() {
        from.values.iter().map(shown).collect()
    } else {
        from.labels.clone()
    }
}

/// What kind of answer a field takes.
pub(super) fn kind(field: &Field) -> &'static str {
    let format = field.format.as_deref();
    match (field.kind.as_str(), format) {
        ("array", _) if field.item.as_deref().is_some_and(is_plain) => "several, with commas",
        ("enum", _) => "one of these",
        ("boolean", _) => "yes or no",
        ("integer", _) => "a whole number",
        ("number", _) => "a number",
        (_, Some("email")) => "an e-mail address",
        (_, Some("uri")) => "an address",
        (_, Some("date")) => "a date such as 2026-07-28",
        (_, Some("date-time")) => "a time such as 2026-07-28T12:00:00Z",
        ("string" | "choice", _) => "text",
        ("null", _) => "nothing",
        _ => "JSON",
    }
}
