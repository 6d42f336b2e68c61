//! YAML as JSON. What JSON has no word for is refused, and so is what two readers
//! could take for two things: a key twice, tags, more than one document. Aliases
//! are refused too: a few lines of them can stand for gigabytes.

use crate::limits;
use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Number, Value};

/// Why a text is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum YamlError {
    /// It is not YAML; as the parser says it.
    #[error("{0}")]
    Syntax(String),
    /// It ends in the middle.
    #[error("it breaks off")]
    BreaksOff,
    /// More than anybody writes.
    #[error("it is nested too deeply")]
    TooDeep,
    /// JSON's keys are texts.
    #[error("a key is no text")]
    Key,
    /// Which of the two counts?
    #[error("{0:?} is there twice")]
    Twice(String),
    /// `*name`.
    #[error("it uses aliases")]
    Alias,
    /// `!name`.
    #[error("it uses tags")]
    Tag,
    /// `---` in the middle.
    #[error("it holds more than one document")]
    Documents,
}

/// The value that a text holds; `None` if it holds none at all.
pub fn read(text: &str) -> Result<Option<Value>, YamlError> {
    let mut reader = Reader {
        events: Parser::new_from_str(text),
    };
    loop {
        match reader.next()? {
            Event::DocumentStart(_) => break,
            Event::StreamEnd => return Ok(None),
            _ => {}
        }
    }
    let first = reader.next()?;
    let value = reader.value(first, 0)?;
    match (reader.next()?, reader.next()?) {
        (Event::DocumentEnd, Event::StreamEnd) => Ok(Some(value)),
        _ => Err(YamlError::Documents),
    }
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Event<'a>, YamlError> {
        match self.events.next() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(fault)) => Err(YamlError::Syntax(fault.to_string())),
            None => Err(YamlError::BreaksOff),
        }
    }

    /// The value that `event` begins.
    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, YamlError> {
        if depth > limits::YAML_DEPTH {
            return Err(YamlError::TooDeep);
        }
        match event {
            Event::Scalar(text, style, _, None) => Ok(scalar(&text, style)),
            Event::SequenceStart(_, None) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Ok(Value::Array(items)),
                        event => items.push(self.value(event, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(_, None) => self.fields(depth),
            Event::Alias(_) => Err(YamlError::Alias),
            _ => Err(YamlError::Tag),
        }
    }

    fn fields(&mut self, depth: usize) -> Result<Value, YamlError> {
        let mut fields = Map::new();
        loop {
            let key = match self.next()? {
                Event::MappingEnd => return Ok(Value::Object(fields)),
                Event::Scalar(key, _, _, None) => key.into_owned(),
                _ => return Err(YamlError::Key),
            };
            let event = self.next()?;
            let value = self.value(event, depth + 1)?;
            if fields.insert(key.clone(), value).is_some() {
                return Err(YamlError::Twice(key));
            }
        }
    }
}

/// What a scalar stands for (the core schema of YAML 1.2).
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::from(text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(number) = text.parse::<i64>()
    {
        return Value::from(number);
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(Ok(number)) = text
            .strip_prefix(prefix)
            .map(|digits| i64::from_str_radix(digits, radix))
        {
            return Value::from(number);
        }
    }
    // Words such as `inf` and `nan`, which Rust would read, are text here.
    let numeric = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let number = numeric
        .then(|| text.parse().ok().and_then(Number::from_f64))
        .flatten();
    number.map_or_else(|| Value::from(text), Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_json_can_say_is_read() {
        let text = "a: {b: [1, 0x10, 1.5, 'x', nan, ~]}\nc: true\n";
        let expected = json!({"a": {"b": [1, 16, 1.5, "x", "nan", null]}, "c": true});
        assert_eq!(read(text), Ok(Some(expected)));
        assert_eq!(read("# nothing\n"), Ok(None));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        assert_eq!(read("a: 1\na: 2\n"), Err(YamlError::Twice("a".into())));
        assert_eq!(read("a: 1\n---\nb: 2\n"), Err(YamlError::Documents));
        assert_eq!(read("a: &x 1\nb: *x\n"), Err(YamlError::Alias));
        assert_eq!(read("a: !t 1\n"), Err(YamlError::Tag));
        assert_eq!(read("? [a]\n: 1\n"), Err(YamlError::Key));
        assert_eq!(read(&"[".repeat(100)), Err(YamlError::TooDeep));
    }
}
