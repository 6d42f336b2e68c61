//! `inheritEnv`: which of our variables servers get besides the usual ones, in
//! an entry of the user's own or in the settings for all of them.

use crate::{entry::Entry, fault::Fault, read::Doc};
use serde_json::Value;

/// What to write instead of something that cannot be.
pub(crate) const WRITE: &str = r#"write names, or starts of names that end in *, such as ["GITHUB_TOKEN", "CORP_*"]; [] gives a server the usual few only"#;

/// Whether `text` is a name, or the start of one with `*` after it.
pub(crate) fn is_pattern(text: &str) -> bool {
    let name = text.strip_suffix('*').unwrap_or(text);
    !name.is_empty() && !name.contains(['=', '*', '\0']) && !name.contains(char::is_whitespace)
}

/// What a settings file says.
pub(crate) fn read(doc: &Doc<'_>) -> Result<Option<Vec<String>>, Box<Fault>> {
    let key = "inheritEnv";
    let Some((whole, line)) = doc.value(&[key]) else {
        return Ok(None);
    };
    let fault = |problem: String| Box::new(doc.fault_at(line, problem, Some(WRITE.to_owned())));
    let Value::Array(items) = whole else {
        return Err(fault(format!("`{key}` must be a list, found {whole}")));
    };
    let name = |item: Value| match item {
        Value::String(text) if is_pattern(&text) => Ok(text),
        other => Err(fault(format!("`{key}` cannot have {other} in it"))),
    };
    items
        .into_iter()
        .map(name)
        .collect::<Result<_, _>>()
        .map(Some)
}

/// What holds for an entry: its own word, and besides it the settings'.
pub(crate) fn settle(entry: &mut Entry, settings: Option<&Vec<String>>) {
    let Some(settings) = settings else {
        return;
    };
    match &mut entry.inherit_env {
        None => entry.inherit_env = Some(settings.clone()),
        Some(own) if !own.is_empty() => own.extend(settings.iter().cloned()),
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_names_or_their_beginnings() {
        for fine in ["A", "npm_config_*", "a.b", "X_*"] {
            assert!(is_pattern(fine), "{fine}");
        }
        for wrong in ["", "*", "A*B", "A=B", "A B"] {
            assert!(!is_pattern(wrong), "{wrong}");
        }
    }
}
