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
//!
//! A `headersHelper` is a command as well, `/bin/sh -c HELPER`. And a command is
//! forbidden under each of its names: that of the file which it really is, and
//! behind a wrapper or in a text for a shell.

mod pattern;

use crate::{
    entry::{Entry, Transport},
    launchers::{Line, command_lines},
    limits, links, program,
    program_variables::changes_programs,
};
use pattern::UrlPattern;
pub(crate) use pattern::decoded;
use serde_json::Value;
use std::{
    ffi::{OsStr, OsString},
    net::IpAddr,
    path::{Component, Path},
    sync::Arc,
};
use switchboard_local::wildcard::matches;
use url::Url;

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
    /// Where programs are looked for, to know which file a command is.
    pub path: OsString,
}

/// The deny rules that are about addresses rather than names: a name that leads to
/// one of them is known only when it is looked up.
#[derive(Clone, Debug)]
pub struct DeniedAddresses {
    rules: Vec<Rule>,
}

impl DeniedAddresses {
    /// Why a server whose address is written so may not be reached there.
    pub fn refuse(&self, url: &str, address: IpAddr) -> Option<String> {
        let mut there = Url::parse(url).ok()?;
        there.set_ip_host(address).ok()?;
        let mut rules = self.rules.iter();
        let rule = rules.find(|rule| match &rule.what {
            What::Url(pattern) => pattern.denies(there.as_str()),
            _ => false,
        })?;
        Some(format!("which is denied by {}", rule.place))
    }
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

/// Why a value is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It has other keys, or none, or several.
    #[error("a rule has exactly one of `serverName`, `serverCommand` and `serverUrl`")]
    Shape,
    /// This key's value is no string.
    #[error("`{0}` must be a string")]
    NoString(&'static str),
    /// A directory without a command.
    #[error("`serverCwd` stands beside a `serverCommand`")]
    CwdAlone,
    /// A command that is no list.
    #[error("`serverCommand` must be a list of strings: the command and its arguments")]
    Command,
    /// An address that cannot be one.
    #[error("`serverUrl`: {0:?} has characters that no address has")]
    Characters(String),
    /// An address without a host.
    #[error("`serverUrl`: {0:?} names no host; write https://*.example.com/*")]
    NoHost(String),
    /// A whole command line in one word.
    #[error(
        "`serverCommand`: {line:?} is one word here, which no program is called; write {apart}"
    )]
    OneWord {
        /// As it is written.
        line: String,
        /// The same, a word each.
        apart: String,
    },
    /// A scheme without what follows it.
    #[error("`serverUrl`: {text:?} lacks //: write {scheme}://*")]
    NoSlashes {
        /// As it is written.
        text: String,
        /// The scheme.
        scheme: String,
    },
    /// An address of nothing that a server can be.
    #[error(
        "`serverUrl`: {0:?} can mean no server: addresses begin with http://, https://, ws://, wss:// or unix://"
    )]
    Scheme(String),
    /// A host that can be none.
    #[error("`serverUrl`: {0:?} has a host that no address has; only * stands for anything")]
    Host(String),
    /// A port that can be none.
    #[error("`serverUrl`: {0:?} has a port that no address has")]
    Port(String),
    /// A socket by half its path.
    #[error("`serverUrl`: {0:?} needs the whole path of the socket: unix:///path/to.sock")]
    Socket(String),
}

impl Rule {
    /// Reads `{"serverName": …}`, `{"serverCommand": […]}` or `{"serverUrl": …}`.
    pub fn read(value: &Value, place: String) -> Result<Self, RuleError> {
        const SHAPE: RuleError = RuleError::Shape;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut rule = value.as_object().cloned().ok_or(SHAPE)?;
        let cwd = match rule.shift_remove("serverCwd") {
            Some(cwd) => Some(text(&cwd).ok_or(RuleError::NoString("serverCwd"))?),
            None => None,
        };
        if cwd.is_some() && !rule.contains_key("serverCommand") {
            return Err(RuleError::CwdAlone);
        }
        let mut keys = rule.iter();
        let (Some((key, value)), None) = (keys.next(), keys.next()) else {
            return Err(SHAPE);
        };
        let what = match key.as_str() {
            "serverName" => What::Name(text(value).ok_or(RuleError::NoString("serverName"))?),
            "serverUrl" => {
                let text = text(value).ok_or(RuleError::NoString("serverUrl"))?;
                What::Url(UrlPattern::parse(&text)?)
            }
            "serverCommand" => {
                let words: Option<Vec<String>> = value
                    .as_array()
                    .and_then(|words| words.iter().map(text).collect());
                let words = words.filter(|words| !words.is_empty());
                let words = words.ok_or(RuleError::Command)?;
                if let [line] = words.as_slice()
                    && is_line(line)
                {
                    let apart: Vec<&str> = line.split_whitespace().collect();
                    let apart = Value::from(apart).to_string();
                    let line = line.clone();
                    return Err(RuleError::OneWord { line, apart });
                }
                What::Command { words, cwd }
            }
            _ => return Err(SHAPE),
        };
        Ok(Self { what, place })
    }

    fn denies(&self, entry: &Entry, runs: &[Runs]) -> bool {
        match &self.what {
            What::Name(name) => matches(&name.replace('-', "_"), &entry.name.replace('-', "_")),
            What::Url(pattern) => addresses(entry).iter().any(|url| pattern.denies(url)),
            // Wherever it works.
            What::Command { words, .. } => runs.iter().any(|runs| runs.fit(words)),
        }
    }

    /// Whether it allows this helper to be run. It is the system's own shell.
    fn allows_helper(&self, helper: &str) -> bool {
        let args = ["-c".to_owned(), helper.to_owned()];
        match &self.what {
            What::Command { words, .. } => ["/bin/sh", "sh"]
                .iter()
                .any(|shell| argv(words, shell, &args)),
            _ => false,
        }
    }

    fn allows(&self, entry: &Entry) -> bool {
        match &self.what {
            What::Name(name) => matches(name, &entry.name),
            What::Url(pattern) => {
                let all = addresses(entry);
                !all.is_empty() && all.iter().all(|url| pattern.allows(url))
            }
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
    /// What has to be judged again when names are looked up.
    pub fn denied_addresses(&self) -> Option<Arc<DeniedAddresses>> {
        let is_address = |rule: &&Rule| match &rule.what {
            What::Url(pattern) => pattern.means_addresses(),
            _ => false,
        };
        let rules: Vec<Rule> = self.denied.iter().filter(is_address).cloned().collect();
        (!rules.is_empty()).then(|| Arc::new(DeniedAddresses { rules }))
    }

    /// Decides. The entry must be expanded: a rule about an address is about
    /// where it leads, not about how it is written.
    pub fn decide(&self, entry: &Entry) -> Verdict {
        let runs = self.runs(entry);
        if let Some(rule) = self.denied.iter().find(|rule| rule.denies(entry, &runs)) {
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
        let helps = |helper: &String| allowed.iter().any(|rule| rule.allows_helper(helper));
        let helper = entry.headers_helper.as_ref().filter(|_| any(is_command));
        let by = allowed
            .iter()
            .find(|rule| decides(&rule.what) && rule.allows(entry))
            .filter(|_| helper.is_none_or(helps));
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

impl Policy {
    /// All that an entry could run, as far as a rule is about that.
    fn runs(&self, entry: &Entry) -> Vec<Runs> {
        if !self.denied.iter().any(|rule| is_command(&rule.what)) {
            return Vec::new();
        }
        let command = entry.command.iter().filter(|_| is_local(entry));
        let own = command.flat_map(|command| command_lines(command, &entry.args));
        let helper = entry.headers_helper.iter();
        let helper =
            helper.flat_map(|helper| command_lines("/bin/sh", &["-c".to_owned(), helper.clone()]));
        let directory = Path::new(entry.cwd.as_deref().unwrap_or("."));
        own.chain(helper)
            .enumerate()
            .map(|(i, line)| {
                let program = line.words().first().cloned().unwrap_or_default();
                let names = match i < limits::POLICY_LOOKS {
                    true => names(program, directory, &self.path),
                    false => vec![program],
                };
                Runs { line, names }
            })
            .collect()
    }
}

/// One thing that an entry could run.
struct Runs {
    line: Line,
    /// What its program is called: as written, and each file that leads to.
    names: Vec<String>,
}

impl Runs {
    /// Whether a deny rule means it.
    fn fit(&self, pattern: &[String]) -> bool {
        let Some((_, args)) = self.line.words().split_first() else {
            return false;
        };
        // Of a text nobody knows where its words end.
        let args = match (pattern.last(), self.line.is_cut) {
            (Some(last), true) if last != "**" => &args[..args.len().min(pattern.len() - 1)],
            _ => args,
        };
        self.names.iter().any(|name| {
            // `/usr/bin/npx` is `npx` to whoever forbids it.
            let file = Path::new(name).file_name().and_then(|name| name.to_str());
            let plain = file.filter(|_| !pattern[0].contains('/')).unwrap_or(name);
            argv(pattern, name, args) || argv(pattern, plain, args)
        })
    }
}

/// The names of a program: as it is written, and of every file that it is by way
/// of links.
fn names(program: String, directory: &Path, path: &OsStr) -> Vec<String> {
    let found = program::resolve(&program, directory, path, &[]);
    let mut names = vec![program];
    let Some(mut file) = found else {
        return names;
    };
    names.push(file.display().to_string());
    let real = links::follow(&file.clone(), |link| {
        if link.is_last {
            let folder = file.parent().unwrap_or(Path::new("/"));
            file = folder.join(link.to);
            names.push(file.display().to_string());
        }
    });
    if real.exists() {
        names.push(real.display().to_string());
    }
    names
}

/// Whether a single word is a whole command line.
fn is_line(text: &str) -> bool {
    let Some((program, rest)) = text.trim().split_once(char::is_whitespace) else {
        return false;
    };
    // A path may have spaces in it.
    !text.starts_with('/')
        || rest.trim_start().starts_with('-')
        || Path::new(program).is_file() && !Path::new(text).exists()
}

/// Whom an entry talks to: its address, and the same with the host that its own
/// headers name, which is whom a web server with many names takes it for.
fn addresses(entry: &Entry) -> Vec<String> {
    let Some(url) = &entry.url else {
        return Vec::new();
    };
    let hosts = entry.headers.iter();
    let hosts = hosts.filter(|(name, _)| name.trim().eq_ignore_ascii_case("host"));
    let named = hosts.map(|(_, host)| {
        let mut parts = Url::parse(url).ok().filter(Url::has_host)?;
        let there = Url::parse(&format!("{}://{}/", parts.scheme(), host.trim())).ok()?;
        parts.set_host(there.host_str()).ok()?;
        parts.set_port(there.port()).ok()?;
        Some(parts.to_string())
    });
    // One that cannot be read is nobody whom a list allows.
    let named: Vec<String> = named.map(Option::unwrap_or_default).collect();
    std::iter::once(url.clone()).chain(named).collect()
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
        && pattern.is_some_and(|pattern| matches(pattern, cwd))
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
            .all(|(pattern, word)| matches(pattern, word))
}

#[cfg(test)]
mod tests;
