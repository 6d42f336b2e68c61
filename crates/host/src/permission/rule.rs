//! Rules as people write them: `mcp__server__tool`, `mcp__server__*`, `mcp__server`.
//!
//! A restriction holds for every spelling of a name that a server could take for
//! it: in another case, with or without white space and what is not seen.
//!
//! The text can be read in several ways (`mcp__a__b__c` is `b__c` of `a`, or
//! `c` of `a__b`), and two names can look alike once they are made safe. A
//! restriction holds for every reading; a permission only where there is one.
//!
//! A restriction with `*` also means every tool whose whole name it fits: `*`,
//! `mcp*` and `*__delete` restrict what they say, whatever else they mean.
//!
//! A permission is about the user's own servers: one that a project brings along
//! under the same name is another. `project:mcp__server__tool` is about those.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};
use switchboard_local::wildcard::matches;
use switchboard_wire::{
    name::{Namer, normalize},
    reading::{same_key, same_name},
};

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Without asking.
    Allow,
    /// Ask every time.
    Ask,
    /// Never, and not even seen.
    Deny,
}

impl Effect {
    /// As settings call the list.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Where a rule was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The place, for `explain`.
    pub place: Arc<str>,
    /// It lies inside a repository: only its restrictions count.
    pub restricts_only: bool,
}

impl Origin {
    /// A place of the user's own.
    pub fn user(place: impl Into<Arc<str>>) -> Self {
        Self {
            place: place.into(),
            restricts_only: false,
        }
    }

    /// A place inside a repository.
    pub fn project(place: impl Into<Arc<str>>) -> Self {
        Self {
            place: place.into(),
            restricts_only: true,
        }
    }
}

/// A rule that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleFault {
    /// It is about something else, such as a built-in tool of another client.
    #[error(
        "the rule {0:?} is not about MCP tools: those are written mcp__server__tool, or mcp__server__* for all of a server"
    )]
    NotOurs(String),
    /// It allows, and was written inside a repository.
    #[error("the rule {rule:?} in {place} is not counted: a repository cannot allow anything")]
    FromProject {
        /// The rule.
        rule: String,
        /// Where it was written.
        place: String,
    },
    /// It allows more than a permission may.
    #[error(
        "the rule {0:?} is not counted: a permission has to name its server, and a * can stand only for tools"
    )]
    TooWide(String),
}

/// What a rule begins with that is about servers which a project brings along.
pub const FOR_PROJECTS: &str = "project:";

/// A rule, read against the configured servers.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) text: String,
    /// The same without `project:`, as canonical names are written.
    pub(super) name: String,
    pub(super) effect: Effect,
    pub(super) origin: Origin,
    /// It says `project:`.
    for_projects: bool,
    /// What it means for each server that it is about.
    readings: Vec<(Arc<str>, Tools)>,
}

/// Which tools of a server a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tools {
    /// All of them, and the server's prompts and resources.
    All,
    /// Those whose safe name fits; `*` stands for anything.
    Named(String),
}

/// How the names of one server's tools look once they are made safe: tells
/// whether a name stands for one tool only.
#[derive(Clone, Debug, Default)]
pub struct Spellings {
    /// How many tools have this safe name.
    exact: HashMap<String, u32>,
    /// The same with `-` and `_` alike.
    folded: HashMap<String, u32>,
}

impl Spellings {
    /// Of these tools of one server.
    pub fn new<'a>(tools: impl IntoIterator<Item = &'a str>) -> Self {
        let mut spellings = Self::default();
        for tool in tools {
            let safe = normalize(tool);
            *spellings.folded.entry(fold(&safe)).or_default() += 1;
            *spellings.exact.entry(safe).or_default() += 1;
        }
        spellings
    }

    /// Whether this text means this tool and no other.
    fn means_only(&self, text: &str, tool: &str) -> bool {
        let count =
            |counts: &HashMap<String, u32>, name: &str| counts.get(name).copied().unwrap_or(0);
        if normalize(tool) == text {
            count(&self.exact, text) <= 1
        } else {
            count(&self.exact, text) == 0 && count(&self.folded, &fold(text)) <= 1
        }
    }
}

/// What a rule is held against.
pub(super) struct Target<'a> {
    pub(super) server: &'a str,
    /// The tool's or prompt's own name; `None` for what only a rule about the whole server covers.
    pub(super) name: Option<&'a str>,
    /// The canonical name, as it is shown.
    pub(super) canonical: Option<&'a str>,
    pub(super) spellings: Option<&'a Spellings>,
}

impl Rule {
    /// Reads a rule. `namer` knows the configured servers.
    pub(super) fn new(
        effect: Effect,
        text: &str,
        origin: Origin,
        namer: &Namer,
        servers: &[Arc<str>],
    ) -> Result<Self, RuleFault> {
        let (for_projects, name) = match text.trim().strip_prefix(FOR_PROJECTS) {
            Some(rest) => (true, rest.trim_start()),
            None => (false, text.trim()),
        };
        // A restriction on some arguments restricts the tool; a permission for some is not understood.
        let plain = match name.split_once('(') {
            Some((plain, _)) => plain.trim_end(),
            None => name,
        };
        let body = match plain.strip_prefix(PREFIX) {
            Some(_) if effect == Effect::Allow && plain != name => {
                return Err(RuleFault::TooWide(text.to_owned()));
            }
            Some(body) => Some(body),
            // `*`, `m*` and `*__delete` say nothing of MCP, and mean its tools too.
            None if effect != Effect::Allow && !behind(plain, PREFIX).is_empty() => None,
            None => return Err(RuleFault::NotOurs(text.to_owned())),
        };
        if effect == Effect::Allow && origin.restricts_only {
            return Err(RuleFault::FromProject {
                rule: text.to_owned(),
                place: origin.place.to_string(),
            });
        }
        // Names are made safe before they are compared; a restriction may be written
        // with the name as its server writes it.
        let safe = body.map(|body| match effect {
            Effect::Allow => body.to_owned(),
            Effect::Ask | Effect::Deny => safe_pattern(body),
        });
        let mut parts = safe.as_deref().map(splits).unwrap_or_default();
        if effect == Effect::Allow {
            parts.retain(|(server, _)| !server.contains('*'));
            if parts.is_empty() {
                return Err(RuleFault::TooWide(text.to_owned()));
            }
        }
        let mut readings: Vec<(Arc<str>, Tools)> = Vec::new();
        for (part, tools) in parts {
            let exact =
                |name: &&Arc<str>| effect == Effect::Allow && namer.prefix(name) == Some(part);
            let found: Vec<&Arc<str>> = match servers.iter().find(exact) {
                // The name as it is shown means that server, though another's may look alike.
                Some(server) => vec![server],
                None => servers
                    .iter()
                    .filter(|name| stands_for(part, name, namer))
                    .collect(),
            };
            readings.extend(found.into_iter().map(|name| (name.clone(), tools.clone())));
        }
        if let Some(body) = body.filter(|_| effect != Effect::Allow) {
            readings.extend(without_space(body, namer, servers));
        }
        let across = body.is_none_or(|body| !names_server(body));
        if effect != Effect::Allow && plain.contains('*') && across {
            readings.extend(servers.iter().flat_map(|name| whole(plain, name, namer)));
        }
        if effect == Effect::Allow && readings.iter().any(|(server, _)| *server != readings[0].0) {
            // It could be about several servers, so it permits nothing.
            readings.clear();
        }
        Ok(Self {
            text: text.to_owned(),
            name: name.to_owned(),
            effect,
            origin,
            for_projects,
            readings,
        })
    }

    /// The servers that it is about.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Arc<str>> {
        self.readings.iter().map(|(server, _)| server)
    }

    /// Whether it counts for servers like this one: a permission for those it
    /// was given to, a restriction for all unless it says otherwise.
    pub(super) fn counts_for(&self, from_project: bool) -> bool {
        match self.effect {
            Effect::Allow => self.for_projects == from_project,
            Effect::Ask | Effect::Deny => from_project || !self.for_projects,
        }
    }

    /// Whether the rule is about this.
    pub(super) fn covers(&self, target: &Target<'_>) -> bool {
        // A name that was given a hash tells exactly one pair, whatever else is configured.
        if let (Some(canonical), Some(name)) = (target.canonical, target.name)
            && canonical == self.name
            && !canonical.ends_with(&normalize(name))
        {
            return true;
        }
        let mut readings = self
            .readings
            .iter()
            .filter(|(server, _)| server.as_ref() == target.server);
        readings.any(|(_, tools)| match (tools, target.name) {
            (Tools::All, _) => true,
            (Tools::Named(_), None) => false,
            (Tools::Named(pattern), Some(name)) => {
                self.covers_name(pattern, name, target.spellings)
            }
        })
    }

    fn covers_name(&self, pattern: &str, name: &str, spellings: Option<&Spellings>) -> bool {
        if !matches(&fold(pattern), &folded(name)) {
            return self.effect != Effect::Allow && forbids_like(pattern, name);
        }
        match (self.effect, pattern.contains('*'), spellings) {
            (Effect::Deny | Effect::Ask, _, _) => true,
            // A pattern is meant for many; still, not under another spelling than its own.
            (Effect::Allow, true, _) => matches(pattern, &normalize(name)),
            (Effect::Allow, false, Some(spellings)) => spellings.means_only(pattern, name),
            // Nobody said which other tools there are: only the name itself is certain.
            (Effect::Allow, false, None) => pattern == name,
        }
    }
}

/// Every way to read the text after `mcp__` as a server and its tools. A `*`
/// stands for servers only before the first `__`: in `mcp__a__*` it is tools.
fn splits(body: &str) -> Vec<(&str, Tools)> {
    let mut all = vec![(body, Tools::All)];
    let bytes = body.as_bytes();
    for at in 1..bytes.len().saturating_sub(1) {
        if &bytes[at..at + 2] != b"__" {
            continue;
        }
        let (server, tool) = (&body[..at], &body[at + 2..]);
        match tool {
            "" => {}
            "*" => all.push((server, Tools::All)),
            tool => all.push((server, Tools::Named(tool.to_owned()))),
        }
    }
    all.retain(|(server, _)| !(server.contains('*') && server.contains("__")));
    all
}

/// Whether a restriction is about a name that its server could take for one of its own.
fn forbids_like(pattern: &str, name: &str) -> bool {
    let pattern = fold(&same_name(pattern));
    let like = |name: &str| matches(&pattern, &folded(name));
    like(&same_name(name)) || like(&same_key(name))
}

/// What a restriction is about whose name has white space in it, or what is not
/// seen: made safe, these would be characters like others.
fn without_space(body: &str, namer: &Namer, servers: &[Arc<str>]) -> Vec<(Arc<str>, Tools)> {
    let mut readings = Vec::new();
    for (part, tools) in splits(body) {
        let Tools::Named(tool) = tools else { continue };
        let safe = safe_pattern(&same_name(&tool));
        if fold(&safe) == fold(&same_name(&safe_pattern(&tool))) {
            continue;
        }
        let part = safe_pattern(part);
        let found = servers.iter().filter(|name| stands_for(&part, name, namer));
        readings.extend(found.map(|name| (name.clone(), Tools::Named(safe.clone()))));
    }
    readings
}

/// What canonical names begin with.
const PREFIX: &str = "mcp__";

/// Whether a server is named before the first `*`: behind it a `*` is its tools and
/// nothing else.
fn names_server(body: &str) -> bool {
    body.split('*')
        .next()
        .is_some_and(|begin| begin.contains("__"))
}

/// What a restriction with `*` means for a server where it is held against whole
/// names: a `*` may stand for the end of the server's name and the beginning of
/// the tool's.
fn whole(pattern: &str, server: &Arc<str>, namer: &Namer) -> Vec<(Arc<str>, Tools)> {
    let pattern = fold(&safe_pattern(pattern));
    let shown = namer.prefix(server).map(fold);
    let mut found: Vec<(Arc<str>, Tools)> = Vec::new();
    for name in [Some(folded(server)), shown].into_iter().flatten() {
        for rest in behind(&pattern, &format!("{PREFIX}{name}__")) {
            let tools = match rest.chars().all(|c| c == '*') {
                true => Tools::All,
                false => Tools::Named(rest.to_owned()),
            };
            if !found.iter().any(|(_, known)| *known == tools) {
                found.push((server.clone(), tools));
            }
        }
    }
    found
}

/// What is left of a pattern behind a text that it can begin with, in each way
/// that it can; nothing where that is all of it.
fn behind<'a>(pattern: &'a str, text: &str) -> Vec<&'a str> {
    // A `*` is also no text at all.
    let with_next = |at: usize| {
        let stars = pattern[at..].bytes().take_while(|byte| *byte == b'*');
        at..=at + stars.count()
    };
    let mut places: BTreeSet<usize> = with_next(0).collect();
    for c in text.chars() {
        let next = places.iter().flat_map(|at| {
            let after = match pattern[*at..].chars().next() {
                Some('*') => Some(*at),
                Some(own) if own == c => Some(at + own.len_utf8()),
                _ => None,
            };
            after.map(with_next).into_iter().flatten()
        });
        places = next.collect();
    }
    let rests = places.into_iter().map(|at| &pattern[at..]);
    rests.filter(|rest| !rest.is_empty()).collect()
}

/// Whether the server part of a rule can mean this server: by its safe name, under either spelling.
fn stands_for(part: &str, server: &str, namer: &Namer) -> bool {
    let part = fold(part);
    matches(&part, &folded(server))
        || namer
            .prefix(server)
            .is_some_and(|prefix| matches(&part, &fold(prefix)))
}

/// The same with every character made safe, but `*`.
fn safe_pattern(text: &str) -> String {
    let parts: Vec<String> = text.split('*').map(normalize).collect();
    parts.join("*")
}

fn folded(name: &str) -> String {
    fold(&normalize(name))
}

/// `-` and `_` alike.
fn fold(text: &str) -> String {
    text.replace('-', "_")
}
