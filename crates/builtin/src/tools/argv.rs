//! A command line with places for arguments. A value becomes a whole argument
//! or a part of one, never several by its own doing, and never an option that
//! the manifest did not mean.

use crate::{answer::Failure, process::no_nul};
use rmcp::model::JsonObject;
use serde_json::Value;

/// One argument of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(String),
}

/// Braces that do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ElementError {
    #[error("{0:?} has a `}}` too many (write `}}}}`)")]
    TooMany(String),
    #[error("{0:?} has a `{{` without a name (write `{{{{`)")]
    NoName(String),
}

impl Element {
    /// Reads one: `{name}` is a value, `{{` and `}}` are braces.
    pub(super) fn parse(text: &str) -> Result<Self, ElementError> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '{' | '}' if rest.peek() == Some(&c) => {
                    rest.next();
                    plain.push(c);
                }
                '}' => return Err(ElementError::TooMany(text.to_owned())),
                '{' => {
                    let name: String = std::iter::from_fn(|| rest.next_if(|c| *c != '}')).collect();
                    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                    if rest.next().is_none() || name.is_empty() || !name.chars().all(is_name) {
                        return Err(ElementError::NoName(text.to_owned()));
                    }
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Value(name));
                }
                c => plain.push(c),
            }
        }
        if !plain.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self(pieces))
    }

    /// The arguments that it names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    fn is_plain(&self, text: &str) -> bool {
        matches!(self.0.as_slice(), [Piece::Text(only)] if only == text)
    }

    /// Whether it begins with a value.
    fn is_led_by_value(&self) -> bool {
        matches!(self.0.first(), Some(Piece::Value(_)))
    }
}

/// Fills in the values. An element with a value that was not given is left
/// out; a list that stands alone becomes one argument for each of its items.
pub(super) fn fill(elements: &[Element], arguments: &JsonObject) -> Result<Vec<String>, Failure> {
    let mut filled = Vec::new();
    let mut options_ended = false;
    for element in elements {
        options_ended |= element.is_plain("--");
        let values = match element.0.as_slice() {
            [Piece::Value(name)] => alone(arguments.get(name)),
            pieces => joined(pieces, arguments).into_iter().collect(),
        };
        for value in values {
            no_nul("an argument", &value)?;
            if element.is_led_by_value() && value.starts_with('-') && !options_ended {
                return Err(Failure::new(format!(
                    "{:?} would be taken for an option of the program",
                    crate::text::cut(&value, 50)
                ))
                .hint("values here may not begin with a dash"));
            }
            filled.push(value);
        }
    }
    Ok(filled)
}

fn alone(value: Option<&Value>) -> Vec<String> {
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.iter().map(as_text).collect(),
        Some(value) => vec![as_text(value)],
    }
}

fn joined(pieces: &[Piece], arguments: &JsonObject) -> Option<String> {
    let parts = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => Some(text.clone()),
        Piece::Value(name) => match arguments.get(name) {
            None | Some(Value::Null) => None,
            Some(value) => Some(as_text(value)),
        },
    });
    parts.collect()
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(elements: &[&str], arguments: Value) -> Result<Vec<String>, Failure> {
        let elements: Vec<Element> = elements
            .iter()
            .map(|one| Element::parse(one).unwrap())
            .collect();
        fill(&elements, arguments.as_object().unwrap())
    }

    #[test]
    fn values_stay_what_they_are() {
        let hostile = "a b; rm -rf / $(x) `y` \"z\" 'w' *\n{path}";
        assert_eq!(
            filled(
                &["--name={name}", "{name}", "{{literal}}"],
                json!({ "name": hostile })
            )
            .unwrap(),
            [
                format!("--name={hostile}"),
                hostile.to_owned(),
                "{literal}".to_owned()
            ]
        );
        assert_eq!(
            filled(
                &["{list}", "{number}", "--x={missing}", "{missing}"],
                json!({ "list": ["a", 2], "number": 1.5 })
            )
            .unwrap(),
            ["a", "2", "1.5"]
        );
    }

    #[test]
    fn a_value_becomes_no_option() {
        for value in ["-rf", "--output=/etc/passwd", "-"] {
            assert!(filled(&["{x}"], json!({ "x": value })).is_err());
            assert!(filled(&["{x}y"], json!({ "x": value })).is_err());
            assert!(filled(&["{x}"], json!({ "x": ["ok", value] })).is_err());
            assert!(filled(&["--", "{x}"], json!({ "x": value })).is_ok());
            assert!(filled(&["--x={x}"], json!({ "x": value })).is_ok());
        }
        assert!(filled(&["{x}"], json!({ "x": "a\0b" })).is_err());
    }

    #[test]
    fn braces_must_fit() {
        for text in ["{", "{}", "a}", "{a b}", "{a"] {
            assert!(Element::parse(text).is_err(), "{text}");
        }
    }
}
