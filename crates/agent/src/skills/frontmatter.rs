//! The YAML frontmatter of a `SKILL.md` as JSON, so that it can be compared
//! with what the server listed.

use crate::limits;
use serde_json::Value;
use switchboard_local::yaml::{self, YamlError};

/// Why there is no frontmatter to compare.
#[derive(Debug, thiserror::Error)]
pub enum FrontmatterError {
    /// The text is not its own beginning.
    #[error("it does not begin with ---")]
    NoBeginning,
    /// Nothing ends it.
    #[error("it does not end with ---")]
    NoEnd,
    /// It is not read any further.
    #[error("it is longer than {} bytes", limits::FRONTMATTER_BYTES)]
    TooLong,
    /// Nothing stands in it.
    #[error("it is empty")]
    Empty,
    /// It names nothing.
    #[error("it is no mapping")]
    NoMapping,
    /// It is not the YAML that is read here.
    #[error(transparent)]
    Yaml(#[from] YamlError),
}

/// The frontmatter at the beginning of `text`, or why there is none.
pub(super) fn read(text: &str) -> Result<Value, FrontmatterError> {
    let value = yaml::read(block(text)?)?;
    let value = value.ok_or(FrontmatterError::Empty)?;
    if !value.is_object() {
        return Err(FrontmatterError::NoMapping);
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
fn block(text: &str) -> Result<&str, FrontmatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines
        .next()
        .filter(|line| line.trim_end() == "---")
        .ok_or(FrontmatterError::NoBeginning)?;
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Ok(&text[first.len()..end]);
        }
        end += line.len();
        if end > limits::FRONTMATTER_BYTES {
            return Err(FrontmatterError::TooLong);
        }
    }
    Err(FrontmatterError::NoEnd)
}
