//! Values of a flow: `${args.x}` is an argument, `${steps.a.structuredContent.y}`
//! a part of an earlier result. A text that is nothing else keeps the value's
//! type; in the middle of a text it is written out.

use crate::limits;
use serde_json::Value;
use std::cell::Cell;

/// Where values come from.
pub(super) struct Scope<'s> {
    pub(super) args: &'s Value,
    pub(super) steps: &'s Value,
    /// How many bytes of values may still be filled in: the same one may be
    /// named many times.
    pub(super) room: Cell<usize>,
}

/// What is wrong with a template, or missing when it is filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TemplateError {
    #[error("{0:?} has a `${{` without its `}}`")]
    NoEnd(String),
    #[error("{0:?}: write ${{args.name}} or ${{steps.id.field}}")]
    NoPath(String),
    #[error("there is no ${{{0}}}")]
    Missing(String),
    #[error("the values take more than {} bytes", limits::FLOW_BYTES)]
    TooLarge,
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'t> {
    Text(&'t str),
    Value(Vec<&'t str>),
}

/// All values that a template names, as paths.
pub(super) fn names(template: &Value) -> Result<Vec<Vec<String>>, TemplateError> {
    let mut found = Vec::new();
    collect(template, &mut found)?;
    Ok(found)
}

fn collect(template: &Value, found: &mut Vec<Vec<String>>) -> Result<(), TemplateError> {
    match template {
        Value::String(text) => {
            for piece in pieces(text)? {
                if let Piece::Value(path) = piece {
                    found.push(path.into_iter().map(str::to_owned).collect());
                }
            }
        }
        Value::Array(items) => items.iter().try_for_each(|item| collect(item, found))?,
        Value::Object(members) => members
            .values()
            .try_for_each(|member| collect(member, found))?,
        _ => {}
    }
    Ok(())
}

/// Fills in the values. An argument that was not given leaves out the member
/// or item that it stands for alone; anything else that is missing is an error.
pub(super) fn fill(template: &Value, scope: &Scope<'_>) -> Result<Option<Value>, TemplateError> {
    Ok(Some(match template {
        Value::String(text) => return fill_text(text, scope),
        Value::Array(items) => {
            let filled = items
                .iter()
                .filter_map(|item| fill(item, scope).transpose());
            Value::Array(filled.collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let filled = members.iter().filter_map(|(name, member)| {
                let member = fill(member, scope).transpose()?;
                Some(member.map(|member| (name.clone(), member)))
            });
            Value::Object(filled.collect::<Result<_, _>>()?)
        }
        other => other.clone(),
    }))
}

fn fill_text(text: &str, scope: &Scope<'_>) -> Result<Option<Value>, TemplateError> {
    let pieces = pieces(text)?;
    if let [Piece::Value(path)] = pieces.as_slice() {
        return match scope.find(path) {
            Some(value) => {
                scope.take(value.to_string().len())?;
                Ok(Some(value.clone()))
            }
            None if path.first() == Some(&"args") => Ok(None),
            None => Err(TemplateError::Missing(path.join("."))),
        };
    }
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Value(path) => match scope.find(&path) {
                Some(Value::String(text)) => {
                    scope.take(text.len())?;
                    out.push_str(text);
                }
                Some(value) => {
                    let text = value.to_string();
                    scope.take(text.len())?;
                    out.push_str(&text);
                }
                None => return Err(TemplateError::Missing(path.join("."))),
            },
        }
    }
    Ok(Some(Value::String(out)))
}

impl Scope<'_> {
    fn take(&self, bytes: usize) -> Result<(), TemplateError> {
        let left = self.room.get().checked_sub(bytes);
        self.room.set(left.ok_or(TemplateError::TooLarge)?);
        Ok(())
    }

    fn find(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        let start = match *first {
            "args" => self.args,
            "steps" => self.steps,
            _ => return None,
        };
        rest.iter().try_fold(start, |value, name| match value {
            Value::Array(items) => items.get(name.parse::<usize>().ok()?),
            value => value.get(name),
        })
    }
}

/// Splits a text; `$${` stands for `${`.
fn pieces(text: &str) -> Result<Vec<Piece<'_>>, TemplateError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            pieces.push(Piece::Text(&rest[..at - 1]));
            pieces.push(Piece::Text("${"));
            rest = &rest[at + 2..];
            continue;
        }
        if at > 0 {
            pieces.push(Piece::Text(&rest[..at]));
        }
        let inside = &rest[at + 2..];
        let end = inside
            .find('}')
            .ok_or_else(|| TemplateError::NoEnd(text.to_owned()))?;
        let path: Vec<&str> = inside[..end].trim().split(['.', '[', ']']).collect();
        // `a[0].b` splits into an empty part between `]` and `.`.
        let path: Vec<&str> = path.into_iter().filter(|part| !part.is_empty()).collect();
        if path.len() < 2 {
            return Err(TemplateError::NoPath(text.to_owned()));
        }
        pieces.push(Piece::Value(path));
        rest = &inside[end + 1..];
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_keep_their_type_and_are_filled_once() {
        let args = json!({ "n": 3, "list": [1, { "x": "deep" }], "evil": "${args.n}" });
        let steps = json!({ "a": { "structuredContent": { "y": true } } });
        let scope = Scope {
            args: &args,
            steps: &steps,
            room: Cell::new(1000),
        };
        let template = json!({
            "number": "${args.n}",
            "deep": "${args.list[1].x} and ${args.list.0}",
            "flag": "${ steps.a.structuredContent.y }",
            "gone": "${args.missing}",
            "escaped": "$${args.n}",
            "once": "${args.evil}",
            "list": ["${args.missing}", "${args.n}"],
        });
        assert_eq!(
            fill(&template, &scope).unwrap().unwrap(),
            json!({
                "number": 3,
                "deep": "deep and 1",
                "flag": true,
                "escaped": "${args.n}",
                "once": "${args.n}",
                "list": [3],
            })
        );
        for wrong in [
            "${steps.b.text}",
            "x ${args.missing}",
            "${args.n",
            "${}",
            "${args}",
        ] {
            assert!(fill(&json!(wrong), &scope).is_err(), "{wrong}");
        }
        let many = json!(vec!["${args.evil}"; 1000]);
        let told = fill(&many, &scope).unwrap_err().to_string();
        assert!(told.contains("take more than"));
    }
}
