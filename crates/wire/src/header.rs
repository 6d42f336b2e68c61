//! What 2026-07-28 mirrors from a request's body into HTTP headers, and how
//! values are written there.

use crate::json::{self, ValueKind, text};
use base64::{Engine, engine::general_purpose::STANDARD};
use std::{borrow::Cow, collections::HashSet};

/// The prefix of headers that mirror tool parameters.
pub const PARAM_PREFIX: &str = "mcp-param-";

/// What stands around a value in the base64 form.
const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// Writes a value so that it survives as a header: plain where that is safe, else in the base64 form.
pub fn encode(value: &str) -> Cow<'_, str> {
    let plain = value
        .bytes()
        .all(|byte| (0x20..=0x7e).contains(&byte) || byte == b'\t')
        && value.trim_matches([' ', '\t']).len() == value.len()
        && !(value.starts_with(OPEN) && value.ends_with(CLOSE));
    if plain {
        Cow::Borrowed(value)
    } else {
        Cow::Owned(format!("{OPEN}{}{CLOSE}", STANDARD.encode(value)))
    }
}

/// Reads a header value back; `None` if it claims to be base64 and is not, or holds forbidden bytes.
pub fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let value = std::str::from_utf8(value).ok()?;
    if !value
        .bytes()
        .all(|byte| (0x20..=0x7e).contains(&byte) || byte == b'\t')
    {
        return None;
    }
    let Some(inner) = value
        .strip_prefix(OPEN)
        .and_then(|rest| rest.strip_suffix(CLOSE))
    else {
        return Some(Cow::Borrowed(value));
    };
    String::from_utf8(STANDARD.decode(inner).ok()?)
        .ok()
        .map(Cow::Owned)
}

/// One parameter that a tool's schema asks to be mirrored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirroredParam {
    /// The name after `Mcp-Param-`, as the schema writes it.
    pub header: String,
    /// The chain of property names that leads to the value in the arguments.
    pub path: Vec<String>,
}

/// The mirrored parameters of a tool's `inputSchema`, or why the schema breaks the rules.
pub fn mirrored_params(input_schema: &[u8]) -> Result<Vec<MirroredParam>, String> {
    // Most schemas have none; the key can also be written escaped, so an
    // escaped character anywhere means looking properly.
    if memchr::memmem::find(input_schema, b"x-mcp-header").is_none()
        && memchr::memmem::find(input_schema, b"\\u").is_none()
    {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    walk(input_schema, &mut Vec::new(), true, 0, &mut found)?;
    let mut seen = HashSet::new();
    for param in &found {
        if !seen.insert(param.header.to_ascii_lowercase()) {
            return Err(format!("x-mcp-header {:?} is used twice", param.header));
        }
    }
    Ok(found)
}

const TOO_DEEP: &str = "the schema is nested too deeply";

/// Looks at one schema. `reachable` says whether only `properties` led here.
fn walk(
    schema: &[u8],
    path: &mut Vec<String>,
    reachable: bool,
    depth: usize,
    found: &mut Vec<MirroredParam>,
) -> Result<(), String> {
    if depth > crate::limits::TREE_DEPTH {
        return Err(TOO_DEEP.into());
    }
    let annotation = json::field(schema, "x-mcp-header").map_err(|e| e.to_string())?;
    if let Some(span) = annotation {
        let header = text(span.of(schema))
            .ok_or("x-mcp-header must be a string")?
            .into_owned();
        if header.is_empty() || !header.bytes().all(is_token_byte) {
            return Err(format!("x-mcp-header {header:?} is not a header name"));
        }
        if !reachable || path.is_empty() {
            return Err(format!(
                "x-mcp-header {header:?} is not on a property reached by properties alone"
            ));
        }
        let kind = json::field(schema, "type")
            .ok()
            .flatten()
            .and_then(|span| text(span.of(schema)));
        if !matches!(kind.as_deref(), Some("string" | "integer" | "boolean")) {
            return Err(format!(
                "x-mcp-header {header:?} is on a parameter that is no string, integer or boolean"
            ));
        }
        found.push(MirroredParam {
            header,
            path: path.clone(),
        });
    }
    for member in json::members(schema) {
        let value = member.value.of(schema);
        let key = text(member.key.of(schema)).unwrap_or_default();
        match key.as_ref() {
            "properties" => {
                for property in json::members(value) {
                    // A name that stands for no text cannot be looked up later.
                    let name = text(property.key.of(value));
                    let reachable = reachable && name.is_some();
                    path.push(name.unwrap_or_default().into_owned());
                    walk(property.value.of(value), path, reachable, depth + 1, found)?;
                    path.pop();
                }
            }
            // From names to schemas: a name in there is no keyword.
            "$defs" | "definitions" | "patternProperties" | "dependentSchemas" => {
                for named in json::members(value) {
                    walk_elsewhere(named.value.of(value), path, depth + 1, found)?;
                }
            }
            // Data, not schemas: an annotation look-alike in there means nothing.
            "const" | "enum" | "default" | "examples" | "dependentRequired" => {}
            _ => walk_elsewhere(value, path, depth + 1, found)?,
        }
    }
    Ok(())
}

fn walk_elsewhere(
    value: &[u8],
    path: &mut Vec<String>,
    depth: usize,
    found: &mut Vec<MirroredParam>,
) -> Result<(), String> {
    if depth > crate::limits::TREE_DEPTH {
        return Err(TOO_DEEP.into());
    }
    match ValueKind::of(value) {
        Some(ValueKind::Object) => walk(value, path, false, depth, found),
        Some(ValueKind::Array) => json::elements(value)
            .try_for_each(|span| walk_elsewhere(span.of(value), path, depth + 1, found)),
        _ => Ok(()),
    }
}

/// The text that mirrors the argument at `path`, or `None` where nothing is to be mirrored: absent or
/// null, or there twice, since two readers could then disagree about the value.
pub fn mirrored_value(arguments: &[u8], path: &[String]) -> Option<String> {
    let mut value = arguments;
    for step in path {
        let mut found = json::members(value)
            .filter(|member| text(member.key.of(value)).is_some_and(|key| key == step.as_str()));
        let member = found.next()?;
        if found.next().is_some() {
            return None;
        }
        value = member.value.of(value);
    }
    match ValueKind::of(value)? {
        ValueKind::String => text(value).map(Cow::into_owned),
        ValueKind::Number | ValueKind::Bool => std::str::from_utf8(value).ok().map(str::to_owned),
        _ => None,
    }
}

/// Whether a header's value says the same as the body's: numbers by value, everything else by text.
pub fn values_agree(header: &str, body: &str, body_is_number: bool) -> bool {
    if header == body {
        return true;
    }
    body_is_number
        && matches!(
            (decimal(header.trim_matches([' ', '\t'])), decimal(body)),
            (Some(a), Some(b)) if a == b
        )
}

/// Sign, digits and power of ten of a JSON number, the same for every spelling of it. A float
/// would take 2^53 and 2^53+1 for one number.
fn decimal(number: &str) -> Option<(bool, String, i64)> {
    if !matches!(json::check(number.as_bytes()), Ok((span, ValueKind::Number)) if span.len() == number.len())
    {
        return None;
    }
    let (negative, number) = number
        .strip_prefix('-')
        .map_or((false, number), |rest| (true, rest));
    let (mantissa, power) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return Some((false, String::new(), 0));
    }
    let power = power
        .parse::<i64>()
        .ok()?
        .checked_sub(i64::try_from(fraction.len()).ok()?)?
        .checked_add(zeros)?;
    Some((negative, significant.to_owned(), power))
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests;
