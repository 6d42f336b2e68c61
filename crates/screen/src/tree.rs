//! JSON as lines: indented and coloured by the kind of what is on them.

use crate::limits;
use serde_json::Value;

/// A line of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// How far it is indented.
    pub depth: usize,
    /// The key, or the place in an array.
    pub key: Option<String>,
    /// What is there.
    pub text: String,
}

/// A value as lines of at most so many characters, without recursion: it came from outside.
pub fn lines(value: &Value, most: usize) -> Vec<Branch> {
    let mut lines = Vec::new();
    let mut open = vec![(0, None, value)];
    while let Some((depth, key, value)) = open.pop() {
        if lines.len() >= limits::TEXT_LINES {
            lines.push(Branch {
                depth: 0,
                key: None,
                text: "… there is more".into(),
            });
            break;
        }
        let text = match value {
            Value::Object(map) if map.is_empty() => "{}".into(),
            Value::Array(items) if items.is_empty() => "[]".into(),
            Value::Object(_) => String::new(),
            Value::Array(items) => format!("[{}]", items.len()),
            Value::String(text) => {
                push_text(&mut lines, (depth, key), text, most);
                continue;
            }
            value => value.to_string(),
        };
        lines.push(Branch { depth, key, text });
        match value {
            Value::Object(map) => {
                let members: Vec<_> = map.iter().collect();
                let below = members.into_iter().rev();
                open.extend(below.map(|(key, value)| (depth + 1, Some(key.clone()), value)));
            }
            Value::Array(items) => {
                let below = items.iter().enumerate().rev();
                open.extend(below.map(|(at, value)| (depth + 1, Some(at.to_string()), value)));
            }
            _ => {}
        }
    }
    lines
}

/// Text with line breaks takes as many lines.
fn push_text(
    lines: &mut Vec<Branch>,
    (depth, key): (usize, Option<String>),
    text: &str,
    most: usize,
) {
    let short = |text: &str| switchboard_local::visible::cut(text, most);
    let mut parts = text.split('\n');
    let first = parts.next().unwrap_or_default();
    lines.push(Branch {
        depth,
        key,
        text: short(first),
    });
    for part in parts {
        if lines.len() >= limits::TEXT_LINES {
            return;
        }
        lines.push(Branch {
            depth: depth + 1,
            key: None,
            text: short(part),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_becomes_lines() {
        let value =
            json!({"content": [{"type": "text", "text": "a\nb"}], "isError": false, "x": {}});
        let lines: Vec<_> = lines(&value, 100)
            .into_iter()
            .map(|it| {
                format!(
                    "{}{}={}",
                    "  ".repeat(it.depth),
                    it.key.unwrap_or_default(),
                    it.text
                )
            })
            .collect();
        assert_eq!(
            lines,
            [
                "=",
                "  content=[1]",
                "    0=",
                "      type=text",
                "      text=a",
                "        =b",
                "  isError=false",
                "  x={}",
            ]
        );
    }

    #[test]
    fn a_tower_is_no_trouble() {
        let mut tower = json!(1);
        for _ in 0..500 {
            tower = Value::Array(vec![tower]);
        }
        assert_eq!(lines(&tower, 100).len(), 501);
    }
}
