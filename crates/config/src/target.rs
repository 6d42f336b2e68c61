//! What an entry points at, as a person reads it: unexpanded, on one line, and
//! without what is plainly a secret.

use crate::entry::{Entry, Transport};
use serde_json::Value;
use switchboard_local::secret::{self, HIDDEN};

impl Entry {
    /// The command line or the address.
    pub fn target(&self) -> String {
        match self.transport {
            Transport::Stdio => self.command_line(),
            Transport::Builtin => format!("builtin {}", self.builtin_name()),
            Transport::Worker => format!("worker {}", self.worker_server()),
            Transport::Http | Transport::Sse | Transport::Ws => {
                let url = self.url.as_deref().map(secret::address);
                url.unwrap_or_default().into_owned()
            }
            Transport::SseIde | Transport::WsIde => match &self.url {
                Some(url) => secret::address(url).into_owned(),
                None => format!(
                    "IDE found in {}",
                    self.lock_folder.as_deref().unwrap_or("~/.claude/ide")
                ),
            },
        }
    }

    fn command_line(&self) -> String {
        // The program goes first: some take a password in a way of their own.
        let program = self.command.as_deref().map(secret::command_text);
        let arguments = secret::command_line(
            self.command.as_deref(),
            self.args.iter().map(String::as_str),
        );
        let words = program.into_iter().chain(arguments);
        words
            .map(|word| quoted(&word))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// The entry as written, without what looks like a secret.
pub fn redacted(written: &Value) -> Value {
    let mut shown = written.clone();
    // With the name that each part has. No recursion: files may nest as they like.
    let mut parts: Vec<(String, &mut Value)> = vec![(String::new(), &mut shown)];
    while let Some((name, part)) = parts.pop() {
        match part {
            Value::Object(fields) if matches!(name.as_str(), "env" | "headers") => {
                for (name, value) in fields {
                    if let Value::String(text) = value {
                        *text = secret::kept_value(name, text).into_owned();
                    }
                }
            }
            Value::Object(fields) => {
                let program = fields.get("command").and_then(Value::as_str);
                let program = program.map(str::to_owned);
                for (name, value) in fields.iter_mut() {
                    match value {
                        Value::Array(items) if name == "args" => {
                            hide_in_arguments(program.as_deref(), items);
                        }
                        value => parts.push((name.clone(), value)),
                    }
                }
            }
            Value::Array(items) if name == "args" => hide_in_arguments(None, items),
            Value::Array(items) => {
                parts.extend(items.iter_mut().map(|item| (name.clone(), item)));
            }
            Value::String(text) => *text = field(&name, text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    shown
}

/// The text of a field. What is named like a secret (`clientSecret`) is one.
fn field(name: &str, text: &str) -> String {
    let commands = matches!(name, "command" | "headersHelper");
    if !commands && secret::is_name(name) {
        secret::kept_value(name, text)
    } else if text.contains("://") && !text.contains(char::is_whitespace) {
        secret::address(text)
    } else {
        secret::command_text(text)
    }
    .into_owned()
}

fn hide_in_arguments(program: Option<&str>, items: &mut [Value]) {
    let texts: Vec<String> = items
        .iter()
        .map(|item| item.as_str().unwrap_or_default().to_owned())
        .collect();
    let shown = secret::command_line(program, texts.iter().map(String::as_str));
    for (item, shown) in items.iter_mut().zip(shown) {
        if item.is_string() {
            *item = Value::String(shown.into_owned());
        }
    }
}

/// A word as a shell would take it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,${}~".contains(c);
    if !word.is_empty() && word.replace(HIDDEN, "").chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{entry::Scope, fault::Source};

    #[test]
    fn command_lines_read_like_a_shell_and_hide_secrets() {
        let mut entry = Entry::at("x", Scope::Dynamic, Source::Ours, 1);
        entry.command = Some("npx".into());
        entry.args = [
            "-y",
            "a b",
            "--token",
            "s3cret",
            "--api-key=s3cret",
            "--token=${T}",
            "--dir",
            "/x",
        ]
        .map(String::from)
        .to_vec();
        assert_eq!(
            entry.target(),
            "npx -y 'a b' --token [redacted] --api-key=[redacted] --token=${T} --dir /x"
        );
    }

    #[test]
    fn an_entry_is_shown_without_its_secrets() {
        let written = serde_json::json!({
            "command": "docker", "type": "stdio",
            "args": ["run", "-e", "X=canary-1234", 5, "--header", "Authorization: Bearer canary"],
            "env": {"A": "canary-1234", "B": "${B}", "C": "/c"},
            "headers": {"Authorization": "Bearer ${T}", "X-Odd": "canary-1234"},
            "oauth": {"clientId": "me", "clientSecret": "canary", "scopes": ["a"]},
            "url": "https://u:canary@h/mcp?key=canary",
            "headersHelper": "helper --token canary",
            "somethingElse": {"apiKey": "canary", "n": [{"password": "canary"}]},
        });
        let shown = redacted(&written);
        assert!(!shown.to_string().contains("canary"), "{shown}");
        assert_eq!(shown["command"], "docker");
        assert_eq!(shown["args"][0], "run");
        assert_eq!(shown["args"][2], "X=[redacted]");
        assert_eq!(shown["env"]["B"], "${B}");
        assert_eq!(shown["env"]["C"], "/c");
        assert_eq!(shown["headers"]["Authorization"], "Bearer ${T}");
        assert_eq!(shown["oauth"]["clientId"], "me");
        assert_eq!(shown["headersHelper"], "helper --token [redacted]");
    }
}
