//! What an entry points at, as a person reads it: unexpanded, on one line, and
//! without what is plainly a secret.

use crate::entry::{Entry, Transport};
use serde_json::Value;

impl Entry {
    /// The command line or the address.
    pub fn target(&self) -> String {
        match self.transport {
            Transport::Stdio => self.command_line(),
            Transport::Builtin => format!("builtin {}", self.builtin_name()),
            Transport::Http | Transport::Sse | Transport::Ws => {
                self.url.as_deref().map(redact_url).unwrap_or_default()
            }
            Transport::SseIde | Transport::WsIde => match &self.url {
                Some(url) => redact_url(url),
                None => format!(
                    "IDE found in {}",
                    self.lock_folder.as_deref().unwrap_or("~/.claude/ide")
                ),
            },
        }
    }

    fn command_line(&self) -> String {
        let mut words: Vec<String> = self.command.as_deref().map(quoted).into_iter().collect();
        let mut hide_next = false;
        for arg in &self.args {
            let word = match arg.split_once('=') {
                _ if hide_next && !arg.starts_with('-') => HIDDEN.to_owned(),
                Some((flag, value)) if flag.starts_with('-') && is_secret(flag, value) => {
                    format!("{flag}={HIDDEN}")
                }
                _ if arg.contains("://") => quoted(&redact_url(arg)),
                _ => quoted(arg),
            };
            hide_next = arg.starts_with('-') && !arg.contains('=') && is_secret(arg, "");
            words.push(word);
        }
        words.join(" ")
    }
}

/// The entry as written, without what is plainly a secret.
pub fn redacted(written: &Value) -> Value {
    let mut shown = written.clone();
    let Some(object) = shown.as_object_mut() else {
        return shown;
    };
    for key in ["env", "headers"] {
        for (name, value) in object
            .get_mut(key)
            .and_then(Value::as_object_mut)
            .into_iter()
            .flatten()
        {
            let text = value.as_str().unwrap_or_default();
            if (is_secret(name, text)
                || name.eq_ignore_ascii_case("cookie")
                || looks_secret(text)
                || is_opaque(text))
                && !text.contains("${")
            {
                *value = HIDDEN.into();
            }
        }
    }
    if let Some(secret) = object
        .get_mut("oauth")
        .and_then(|oauth| oauth.get_mut("clientSecret"))
    {
        *secret = HIDDEN.into();
    }
    if let Some(Value::String(url)) = object.get_mut("url") {
        *url = redact_url(url);
    }
    if let Some(Value::Array(args)) = object.get_mut("args") {
        let mut hide_next = false;
        for arg in args {
            let Some(text) = arg.as_str() else { continue };
            let hide = hide_next && !text.starts_with('-');
            hide_next = text.starts_with('-') && !text.contains('=') && is_secret(text, "");
            let new = match text.split_once('=') {
                _ if hide => HIDDEN.to_owned(),
                Some((flag, value)) if flag.starts_with('-') && is_secret(flag, value) => {
                    format!("{flag}={HIDDEN}")
                }
                _ if text.contains("://") => redact_url(text),
                _ => continue,
            };
            *arg = new.into();
        }
    }
    shown
}

/// Could be a key, for all that can be seen: it is neither short nor a path.
fn is_opaque(text: &str) -> bool {
    let path = ["/", "~", "./", "../"]
        .iter()
        .any(|start| text.starts_with(start));
    text.chars().count() >= 8 && !path
}

/// Begins as keys begin, whatever it is called.
fn looks_secret(text: &str) -> bool {
    let begins = [
        "sk-",
        "ghp_",
        "gho_",
        "github_pat_",
        "xox",
        "Bearer ",
        "Basic ",
        "AKIA",
        "eyJ",
    ];
    begins.iter().any(|start| text.starts_with(start))
}

const HIDDEN: &str = "[redacted]";

/// Hides user information and the values of parameters that are named like secrets.
pub fn redact_url(url: &str) -> String {
    let (base, query) = match url.split_once('?') {
        Some((base, query)) => (base, Some(query)),
        None => (url, None),
    };
    let base = match base.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            match authority.rsplit_once('@') {
                Some((_, host)) => format!("{scheme}://{HIDDEN}@{host}{path}"),
                None => base.to_owned(),
            }
        }
        None => base.to_owned(),
    };
    let Some(query) = query else { return base };
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if is_secret(name, value) => format!("{name}={HIDDEN}"),
            _ => pair.to_owned(),
        })
        .collect();
    format!("{base}?{}", pairs.join("&"))
}

/// Whether a value of this name is a secret. A reference to a variable is none.
fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = [
        "token",
        "secret",
        "password",
        "passwd",
        "apikey",
        "api-key",
        "api_key",
        "auth",
        "signature",
    ];
    !value.starts_with("${")
        && (words.iter().any(|word| name.contains(word)) || name.ends_with("key"))
}

/// A word as a shell would take it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,${}~".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
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
    fn addresses_hide_secrets() {
        for (url, shown) in [
            ("https://x/mcp", "https://x/mcp"),
            ("https://u:p@x/mcp?a=1", "https://[redacted]@x/mcp?a=1"),
            (
                "https://x/mcp?key=abc&b=2",
                "https://x/mcp?key=[redacted]&b=2",
            ),
            ("https://x/mcp?key=${K}", "https://x/mcp?key=${K}"),
            ("${BASE}/mcp", "${BASE}/mcp"),
        ] {
            assert_eq!(redact_url(url), shown);
        }
    }
}
