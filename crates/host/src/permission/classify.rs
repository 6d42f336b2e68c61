//! Who decides in mode `auto`.

use crate::catalog::Annotations;

/// What a classifier judges.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// On whose behalf.
    pub principal: &'a str,
    /// The server's configured name.
    pub server: &'a str,
    /// Whether the user trusts what the server says about its tools.
    pub trusted: bool,
    /// The server's own name for the tool.
    pub tool: &'a str,
    /// What the tool says of itself.
    pub annotations: &'a Annotations,
    /// The text of the arguments, when it is a call; nothing when it is a list.
    pub arguments: Option<&'a [u8]>,
}

/// What a classifier thinks. It cannot deny: what nobody answers for is refused
/// anyway, and what it denied for some arguments would still have to be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaning {
    /// Harmless enough.
    Allow(String),
    /// A person should say, for this reason.
    Ask(String),
}

/// Decides about tools in mode `auto`.
pub trait Classifier: Send + Sync {
    /// Judges a tool or a call. Must not block.
    fn classify(&self, subject: &Subject<'_>) -> Leaning;
}

/// The rule-based default: what a trusted server says of its tools.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByAnnotations;

impl Classifier for ByAnnotations {
    fn classify(&self, subject: &Subject<'_>) -> Leaning {
        let hints = subject.annotations;
        if !subject.trusted {
            return Leaning::Ask(
                "what a server says of its tools counts only if the server is trusted".to_owned(),
            );
        }
        if hints.says_read_only() {
            return Leaning::Allow("a trusted server says that it changes nothing".to_owned());
        }
        if hints.may_destroy() {
            return Leaning::Ask("it may destroy something".to_owned());
        }
        if hints.open_world != Some(false) {
            return Leaning::Ask("it changes something and may reach other systems".to_owned());
        }
        Leaning::Allow(
            "a trusted server says that it destroys nothing and reaches nothing else".to_owned(),
        )
    }
}
