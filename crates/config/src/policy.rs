//! `allowedMcpServers` and `deniedMcpServers`: what an administrator, or the
//! user, lets be used at all.
//!
//! Deny wins. Where the allow list has commands, a local server must match one
//! of them and its name no longer suffices; the same for addresses and remote
//! servers. A deny rule is read generously and an allow rule narrowly: what
//! could make a command mean something else takes it off an allow list. That is
//! also the directory it works in, since launchers run what they find there: an
//! entry with a `cwd` is allowed by its command only where the rule says
//! `serverCwd` too.

mod pattern;

use crate::{
    entry::{Entry, Transport},
    program_variables::changes_programs,
};
use pattern::{UrlPattern, glob};
use serde_json::Value;
use std::path::{Component, Path};

/// What would be right where a rule is not.
pub(crate) const WRITE: &str =
    r#"write [{"serverName": "…"}], [{"serverCommand": ["…"]}] or [{"serverUrl": "https://…/*"}]"#;

/// The rules that hold.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// If there is a list, only these.
    pub allowed: Option<Vec<Rule>>,
    /// Never these.
    pub denied: Vec<Rule>,
}

/// One rule and where it is written.
#[derive(Clone, Debug)]
pub struct Rule {
    what: What,
    /// File and line.
    pub place: String,
}

#[derive(Clone, Debug)]
enum What {
    Name(String),
    Command {
        words: Vec<String>,
        /// Where it may work, if an entry says where.
        cwd: Option<String>,
    },
    Url(UrlPattern),
}

/// What the policy says of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be used; by which rule, where there is an allow list.
    Allowed(Option<String>),
    /// A rule forbids it; where that is written.
    Denied(String),
    /// There is an allow list, and it is not on it; where that list begins.
    NotAllowed(String),
}

impl Rule {
    /// Reads `{"serverName": …}`, `{"serverCommand": […]}` or `{"serverUrl": …}`.
    pub fn read(value: &Value, place: String) -> Result<Self, String> {
        const SHAPE: &str =
            "a rule has exactly one of `serverName`, `serverCommand` and `serverUrl`";
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut rule = value.as_object().cloned().ok_or(SHAPE)?;
        let cwd = match rule.shift_remove("serverCwd") {
            Some(cwd) => Some(text(&cwd).ok_or("`serverCwd` must be a string")?),
            None => None,
        };
        if cwd.is_some() && !rule.contains_key("serverCommand") {
            return Err("`serverCwd` stands beside a `serverCommand`".to_owned());
        }
        let mut keys = rule.iter();
        let (Some((key, value)), None) = (keys.next(), keys.next()) else {
            return Err(SHAPE.to_owned());
        };
        let what = match key.as_str() {
            "serverName" => What::Name(text(value).ok_or("`serverName` must be a string")?),
            "serverUrl" => {
                let text = text(value).ok_or("`serverUrl` must be a string")?;
                What::Url(UrlPattern::parse(&text)?)
            }
            "serverCommand" => {
                let words: Option<Vec<String>> = value
                    .as_array()
                    .and_then(|words| words.iter().map(text).collect());
                let words = words.filter(|words| !words.is_empty()).ok_or(
                    "`serverCommand` must be a list of strings: the command and its arguments",
                )?;
                What::Command { words, cwd }
            }
            _ => return Err(SHAPE.to_owned()),
        };
        Ok(Self { what, place })
    }

    fn denies(&self, entry: &Entry) -> bool {
        match &self.what {
            What::Name(name) => glob(&name.replace('-', "_"), &entry.name.replace('-', "_")),
            What::Url(pattern) => entry.url.as_deref().is_some_and(|url| pattern.denies(url)),
            // Wherever it works.
            What::Command { words, .. } => {
                let command = entry.command.as_deref().unwrap_or_default();
                let file = Path::new(command)
                    .file_name()
                    .and_then(|name| name.to_str());
                // `/usr/bin/npx` is `npx` to whoever forbids it.
                let plain = file.filter(|_| !words[0].contains('/')).unwrap_or(command);
                is_local(entry)
                    && (argv(words, command, &entry.args) || argv(words, plain, &entry.args))
            }
        }
    }

    fn allows(&self, entry: &Entry) -> bool {
        match &self.what {
            What::Name(name) => glob(name, &entry.name),
            What::Url(pattern) => entry.url.as_deref().is_some_and(|url| pattern.allows(url)),
            What::Command { words, cwd } => {
                let command = entry.command.as_deref().unwrap_or_default();
                let relative = command.contains('/') && !command.starts_with('/');
                is_local(entry)
                    && !relative
                    && works_in(cwd.as_deref(), entry)
                    && !entry.env.iter().any(|(name, _)| changes_programs(name))
                    && argv(words, command, &entry.args)
            }
        }
    }
}

impl Policy {
    /// Decides. The entry must be expanded: a rule about an address is about
    /// where it leads, not about how it is written.
    pub fn decide(&self, entry: &Entry) -> Verdict {
        if let Some(rule) = self.denied.iter().find(|rule| rule.denies(entry)) {
            return Verdict::Denied(rule.place.clone());
        }
        let Some(allowed) = &self.allowed else {
            return Verdict::Allowed(None);
        };
        let any = |kind: fn(&What) -> bool| allowed.iter().any(|rule| kind(&rule.what));
        let decides: fn(&What) -> bool = if is_local(entry) && any(is_command) {
            is_command
        } else if entry.transport.is_remote() && any(is_url) {
            is_url
        } else {
            |what| matches!(what, What::Name(_))
        };
        let by = allowed
            .iter()
            .find(|rule| decides(&rule.what) && rule.allows(entry));
        match by {
            Some(rule) => Verdict::Allowed(Some(rule.place.clone())),
            None => Verdict::NotAllowed(
                allowed
                    .first()
                    .map_or_else(|| "an empty list".to_owned(), |rule| rule.place.clone()),
            ),
        }
    }
}

fn is_command(what: &What) -> bool {
    matches!(what, What::Command { .. })
}

fn is_url(what: &What) -> bool {
    matches!(what, What::Url(_))
}

fn is_local(entry: &Entry) -> bool {
    entry.transport == Transport::Stdio
}

/// Whether an entry works where a rule lets it: nowhere in particular, or in a
/// directory that the rule names.
fn works_in(pattern: Option<&str>, entry: &Entry) -> bool {
    let Some(cwd) = &entry.cwd else {
        return true;
    };
    // `/srv/../home` is not in `/srv/*`.
    let plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
    let path = Path::new(cwd);
    path.is_absolute()
        && path.components().all(plain)
        && pattern.is_some_and(|pattern| glob(pattern, cwd))
}

/// The whole argument vector: `*` stands for any text inside one word, and `**`
/// as the last word for any further words.
fn argv(pattern: &[String], command: &str, args: &[String]) -> bool {
    let words = || std::iter::once(command).chain(args.iter().map(String::as_str));
    let (pattern, open) = match pattern.split_last() {
        Some((last, before)) if last == "**" => (before, true),
        _ => (pattern, false),
    };
    let count = args.len() + 1;
    (count == pattern.len() || open && count >= pattern.len())
        && pattern
            .iter()
            .zip(words())
            .all(|(pattern, word)| glob(pattern, word))
}

#[cfg(test)]
mod tests;
