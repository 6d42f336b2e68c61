//! YAML as JSON, as much of it as a settings file has. Aliases are refused: a
//! few lines of them can stand for gigabytes.

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value};

/// The deepest nesting that is read.
const DEPTH: usize = 64;

pub(super) fn read(text: &str) -> Result<Value, String> {
    let mut reader = Reader {
        events: Parser::new_from_str(text),
    };
    loop {
        match reader.next()? {
            Event::DocumentStart(_) => break,
            Event::StreamEnd => return Ok(Value::Null),
            _ => {}
        }
    }
    let first = reader.next()?;
    reader.value(first, 0)
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.events.next() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(fault)) => Err(fault.to_string()),
            None => Err("it breaks off".to_owned()),
        }
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, String> {
        if depth > DEPTH {
            return Err("it is nested too deeply".to_owned());
        }
        match event {
            Event::Scalar(text, style, ..) => Ok(scalar(&text, style)),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Ok(Value::Array(items)),
                        event => items.push(self.value(event, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut fields = Map::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => return Ok(Value::Object(fields)),
                        Event::Scalar(key, ..) => key.into_owned(),
                        _ => return Err("a key is no text".to_owned()),
                    };
                    let event = self.next()?;
                    let value = self.value(event, depth + 1)?;
                    fields.insert(key, value);
                }
            }
            _ => Err("it uses aliases".to_owned()),
        }
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    match text {
        _ if style != ScalarStyle::Plain => text.into(),
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => text
            .parse::<i64>()
            .map_or_else(|_| text.into(), Value::from),
    }
}
