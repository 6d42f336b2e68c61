//! The YAML frontmatter of a `SKILL.md` as JSON, so that it can be compared
//! with what the server listed.

use serde_json::Value;
use switchboard_local::yaml;

/// The longest frontmatter that is read.
const BYTES: usize = 64 * 1024;

/// The frontmatter at the beginning of `text`, or why there is none.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let value = yaml::read(block(text)?).map_err(|fault| fault.to_string())?;
    let value = value.ok_or("it is empty")?;
    if !value.is_object() {
        return Err("it is no mapping".into());
    }
    Ok(value)
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
