//! The YAML frontmatter of a `SKILL.md` as JSON, so that it can be compared
//! with what the server listed. What JSON has no word for is refused, and so
//! are aliases: a few lines of them can stand for gigabytes.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// The deepest nesting that is read.
const DEPTH: usize = 64;
/// The longest frontmatter that is read.
const BYTES: usize = 64 * 1024;

/// The frontmatter at the beginning of `text`, or why there is none.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let mut reader = Reader {
        events: Parser::new_from_str(block(text)?),
    };
    loop {
        match reader.next()? {
            Event::DocumentStart(_) => break,
            Event::StreamEnd => return Err("it is empty".into()),
            _ => {}
        }
    }
    let first = reader.next()?;
    let value = reader.value(first, 0)?;
    if !value.is_object() {
        return Err("it is no mapping".into());
    }
    match (reader.next()?, reader.next()?) {
        (Event::DocumentEnd, Event::StreamEnd) => Ok(value),
        _ => Err("it holds more than one document".into()),
    }
}

/// Whether two values say the same; numbers are compared by value.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// What stands between the first line and the next, both `---`.
fn block(text: &str) -> Result<&str, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines
        .next()
        .filter(|line| line.trim_end() == "---")
        .ok_or("it does not begin with ---")?;
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Ok(&text[first.len()..end]);
        }
        end += line.len();
        if end > BYTES {
            return Err(format!("it is longer than {BYTES} bytes"));
        }
    }
    Err("it does not end with ---".into())
}

struct Reader<'a> {
    events: Parser<'a, saphyr_parser::StrInput<'a>>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.events.next() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(fault)) => Err(fault.to_string()),
            None => Err("it breaks off".into()),
        }
    }

    /// The value that `event` begins.
    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, String> {
        if depth > DEPTH {
            return Err("it is nested too deeply".into());
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
            Event::MappingStart(_, None) => {
                let mut fields = Map::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => return Ok(Value::Object(fields)),
                        Event::Scalar(key, _, _, None) => key.into_owned(),
                        _ => return Err("a key is no text".into()),
                    };
                    let event = self.next()?;
                    let value = self.value(event, depth + 1)?;
                    if fields.insert(key.clone(), value).is_some() {
                        return Err(format!("{key:?} is there twice"));
                    }
                }
            }
            Event::Alias(_) => Err("it uses aliases".into()),
            _ => Err("it uses tags".into()),
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
