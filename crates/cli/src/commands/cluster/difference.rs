//! What would change for all replicas, and settings as they are shown: without secrets.

use crate::show::safe;
use switchboard::{cluster::Statement, local::secret};

/// What changes, without secrets.
pub(super) fn difference(before: &Statement, after: &Statement) -> Vec<String> {
    let mut lines = Vec::new();
    let named = |of: &Statement, name: &str| {
        let mut documents = of.documents.iter();
        let found = documents.find(|document| document.name == name);
        found.map(|document| document.text.clone())
    };
    let mut names: Vec<&str> = Vec::new();
    for document in before.documents.iter().chain(&after.documents) {
        if !names.contains(&&*document.name) {
            names.push(&document.name);
        }
    }
    for name in names {
        let what = safe::line(name);
        super::vouched::changed(&what, named(before, name), named(after, name), &mut lines);
    }
    // In which order they are read decides which of two counts.
    let order = |of: &Statement| {
        let names = of.documents.iter().map(|document| document.name.clone());
        names.collect::<Vec<_>>()
    };
    if lines.is_empty() && order(before) != order(after) {
        lines.push(format!("order: {}", order(after).join(", ")));
    }
    for token in &before.tokens {
        if !after.tokens.iter().any(|other| other.name == token.name) {
            lines.push(format!("- token {}", safe::line(&token.name)));
        }
    }
    for token in &after.tokens {
        let known = before.tokens.iter().find(|other| other.name == token.name);
        match known {
            None => lines.push(format!("+ token {}", safe::line(&token.name))),
            Some(known) if known != token => {
                lines.push(format!("+ token {} (another one)", safe::line(&token.name)));
            }
            Some(_) => {}
        }
    }
    lines.extend(super::vouched::difference(before, after));
    lines
}

/// A line of settings without its secrets: values of variables, headers and fields as they
/// are shown everywhere.
pub(super) fn without(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    let mut name: Option<&str> = None;
    while let Some((before, text, after)) = quoted(rest) {
        // Only what stands right behind a name is its value.
        let is_value = name.is_some() && before.trim() == ":";
        shown.push_str(before);
        let text = match name.filter(|_| is_value && !text.starts_with("${")) {
            Some(name) => secret::kept_value(name, text),
            None => text.into(),
        };
        shown.push('"');
        shown.push_str(&text);
        shown.push('"');
        name = (!is_value).then_some(&rest[before.len() + 1..rest.len() - after.len() - 1]);
        rest = after;
    }
    shown.push_str(rest);
    secret::text(&shown).into_owned()
}

/// What stands before the first text in quotes, the text, and what stands behind it.
fn quoted(line: &str) -> Option<(&str, &str, &str)> {
    let begin = line.find('"')?;
    let mut escaped = false;
    for (at, character) in line[begin + 1..].char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                let end = begin + 1 + at;
                return Some((&line[..begin], &line[begin + 1..end], &line[end + 1..]));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard::cluster::apply::{Document, TokenDigest};

    fn statement(text: &str, tokens: &[(&str, &str)]) -> Statement {
        let document = Document {
            name: "a.json".into(),
            text: text.into(),
        };
        let token = |(name, sha256): &(&str, &str)| TokenDigest {
            name: (*name).into(),
            sha256: (*sha256).into(),
        };
        Statement {
            documents: vec![document],
            tokens: tokens.iter().map(token).collect(),
            ..Statement::default()
        }
    }

    #[test]
    fn a_difference_names_what_changed_and_shows_no_secret() {
        let before = statement("{\"API_KEY\": \"canary-one\",\n\"a\": 1\n}", &[("x", "1")]);
        let after = statement(
            "{\"b\":{\"API_KEY\":\"canary-two\"},\n\"a\": 2\n}",
            &[("x", "2"), ("y", "1")],
        );
        let lines = difference(&before, &after).join("\n");
        assert!(lines.contains("a.json (changed)"), "{lines}");
        assert!(lines.contains("+ \"a\": 2"), "{lines}");
        assert!(!lines.contains("canary"), "{lines}");
        assert!(lines.contains("+ token x (another one)"), "{lines}");
        assert!(lines.contains("+ token y"), "{lines}");
        assert!(difference(&after, &after).is_empty());
        let gone = difference(&after, &Statement::default()).join("\n");
        assert!(gone.contains("a.json (removed)"), "{gone}");
        assert!(gone.contains("- token y"), "{gone}");
    }
}
