//! What may be seen and what may be reached: one function decides both.
//!
//! [`Rules::decide`] is that function. Lists, search, completion,
//! subscriptions and reads show what it does not deny; a call goes through when
//! it allows, or when it asks and the answer is yes. Nothing else decides.

mod classify;
mod decide;
mod decision;
mod guard;
mod pinned;
mod remember;
mod rule;
mod version;

pub use classify::{ByAnnotations, Classifier, Leaning, Subject};
pub use decide::{Facts, Rules, RulesBuilder, Who};
pub use decision::{Decision, Reason, Ruling};
pub use guard::Guard;
pub(crate) use guard::{held, not_permitted};
pub use pinned::Pinned;
pub use remember::{Answer, Answers, AnswersFault};
pub use rule::{Effect, FOR_PROJECTS, Origin, RuleFault, Spellings};

use crate::{catalog::List, upstream::ServerSpec};
use std::{fmt, str::FromStr};
use switchboard_wire::Named;

/// What is asked for. There is no request that must name something and names
/// nothing: [`Named`] is read before anything is decided, or the request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    /// A tool, by the server's own name for it.
    Tool(&'a str),
    /// A prompt, likewise; also as the subject of a completion.
    Prompt(&'a str),
    /// A resource or template, by its URI; also to subscribe to, or as the subject of a completion.
    Resource(&'a str),
    /// A task, by the server's own id. Whose it is, is not a matter of rules.
    Task(&'a str),
    /// A method that we know and that names nothing, or the server itself.
    Method,
    /// A method that we do not know: it may do anything.
    UnknownMethod,
    /// The pseudo-tool that signs in to a server.
    SignIn,
}

impl<'a> From<&'a Named> for What<'a> {
    fn from(named: &'a Named) -> Self {
        match named {
            Named::Tool(name) => Self::Tool(name),
            Named::Prompt(name) => Self::Prompt(name),
            Named::Resource(uri) => Self::Resource(uri),
            Named::Task(id) => Self::Task(id),
            Named::Nothing => Self::Method,
            Named::Unknown => Self::UnknownMethod,
        }
    }
}

impl<'a> What<'a> {
    /// An item of a list.
    pub fn listed(list: List, key: &'a str) -> Self {
        match list {
            List::Tools => Self::Tool(key),
            List::Prompts => Self::Prompt(key),
            List::Resources | List::Templates => Self::Resource(key),
        }
    }

    /// Its name or URI.
    pub fn name(self) -> Option<&'a str> {
        match self {
            Self::Tool(name) | Self::Prompt(name) | Self::Resource(name) | Self::Task(name) => {
                Some(name)
            }
            Self::Method | Self::UnknownMethod | Self::SignIn => None,
        }
    }

    /// The same under another name.
    fn renamed(self, name: &str) -> What<'_> {
        match self {
            Self::Tool(_) => What::Tool(name),
            Self::Prompt(_) => What::Prompt(name),
            Self::Resource(_) => What::Resource(name),
            Self::Task(_) => What::Task(name),
            Self::Method => What::Method,
            Self::UnknownMethod => What::UnknownMethod,
            Self::SignIn => What::SignIn,
        }
    }

    /// What it is called.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Prompt(_) => "prompt",
            Self::Resource(_) => "resource",
            Self::Task(_) => "task",
            Self::UnknownMethod => "method",
            Self::Method | Self::SignIn => "server",
        }
    }

    /// In words.
    pub(crate) fn of_server(self, server: &str) -> String {
        match (self, self.name()) {
            (_, Some(name)) => format!("{} {name:?} of server {server:?}", self.kind()),
            (Self::UnknownMethod, None) => format!(
                "a method of server {server:?} that Switchboard does not know (the modes {} and {} \
                 alone let such methods through)",
                Mode::Client,
                Mode::Bypass
            ),
            (_, None) => format!("server {server:?}"),
        }
    }
}

/// Who is asked when no rule says anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A person is asked about every tool.
    Default,
    /// Everything is allowed.
    Bypass,
    /// A [`Classifier`] allows, or has a person asked.
    Auto,
    /// Only tools that say they change nothing.
    ReadOnly,
    /// The connected client asks its own user: everything is allowed.
    Client,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Default,
        Self::Bypass,
        Self::Auto,
        Self::ReadOnly,
        Self::Client,
    ];

    /// Whether it lets methods through that nobody here knows.
    pub const fn lets_unknown_methods_through(self) -> bool {
        matches!(self, Self::Client | Self::Bypass)
    }

    /// As it is written in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Bypass => "bypassPermissions",
            Self::Auto => "auto",
            Self::ReadOnly => "read-only",
            Self::Client => "client",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A mode that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no permission mode; there are default, auto, bypassPermissions, read-only and client"
)]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let known = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        known.ok_or_else(|| UnknownMode(text.chars().take(40).collect()))
    }
}

/// Whether the entry lets it exist at all.
fn exists(server: &ServerSpec, what: What<'_>) -> bool {
    match what {
        What::Tool(name) => server.tool_filter.has(name),
        What::Prompt(_)
        | What::Resource(_)
        | What::Task(_)
        | What::Method
        | What::UnknownMethod
        | What::SignIn => true,
    }
}

#[cfg(test)]
mod tests;
