//! Files of variables, as editors and shells have them: `NAME=value` on each line.

use crate::{limits, safe_read};
use std::path::Path;

/// Why a file of variables is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EnvFileError {
    /// It is not there, or not to be trusted.
    #[error("{0}")]
    Distrust(#[from] safe_read::Distrust),
    /// Larger than such files are.
    #[error("it has more than {} bytes", limits::ENV_FILE_BYTES)]
    Large,
    /// More than anybody sets.
    #[error("it has more than {} variables", limits::ENV_FILE_VARIABLES)]
    Many,
    /// A line that is no variable.
    #[error("line {0} is not NAME=value")]
    Line(usize),
}

/// The variables of a file, in order; of two with one name the later counts.
pub(crate) fn read(file: &Path) -> Result<Vec<(String, String)>, EnvFileError> {
    let text = safe_read::read(file, None)?;
    if text.len() > limits::ENV_FILE_BYTES {
        return Err(EnvFileError::Large);
    }
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<(String, String)>, EnvFileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut found: Vec<(String, String)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        let Some((name, value)) = line.split_once('=') else {
            return Err(EnvFileError::Line(at + 1));
        };
        let name = name.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == '-';
        if name.is_empty() || !name.chars().all(fits) || value.contains('\0') {
            return Err(EnvFileError::Line(at + 1));
        }
        found.retain(|(known, _)| known != name);
        found.push((name.to_owned(), unquoted(value.trim())));
        if found.len() > limits::ENV_FILE_VARIABLES {
            return Err(EnvFileError::Many);
        }
    }
    Ok(found)
}

/// A value without its quotes; in double quotes a backslash means something. What
/// follows ` #` behind one without quotes is a comment.
fn unquoted(value: &str) -> String {
    let inside = |quote: char| {
        let rest = value.strip_prefix(quote)?;
        let end = rest.rfind(quote)?;
        let after = rest[end + quote.len_utf8()..].trim_start();
        (after.is_empty() || after.starts_with('#')).then(|| &rest[..end])
    };
    if let Some(text) = inside('\'').or_else(|| inside('`')) {
        return text.to_owned();
    }
    if let Some(text) = inside('"') {
        let mut out = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('n') => out.push('\n'),
                    Some('r') => out.push('\r'),
                    Some('t') => out.push('\t'),
                    Some(other) => out.push(other),
                    None => out.push('\\'),
                },
                c => out.push(c),
            }
        }
        return out;
    }
    let end = value.find(" #").unwrap_or(value.len());
    value[..end].trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_people_write_them() {
        let text = "# mine\nA=1\nexport B = two words # why\nC='x # y'\nD=\"a\\nb\" # c\nE=\n\nA=3\nF=p#q\n";
        let pairs = parse(text).unwrap();
        let pairs: Vec<(&str, &str)> = pairs
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(
            pairs,
            [
                ("B", "two words"),
                ("C", "x # y"),
                ("D", "a\nb"),
                ("E", ""),
                ("A", "3"),
                ("F", "p#q")
            ]
        );
    }

    #[test]
    fn what_is_no_variable_is_named() {
        for text in ["A=1\nnothing\n", "A=1\n=x\n", "A=1\nB C=x\n"] {
            assert_eq!(
                parse(text).unwrap_err().to_string(),
                "line 2 is not NAME=value"
            );
        }
        let many: String = (0..=limits::ENV_FILE_VARIABLES)
            .map(|n| format!("V{n}=1\n"))
            .collect();
        assert!(matches!(parse(&many), Err(EnvFileError::Many)));
    }
}
