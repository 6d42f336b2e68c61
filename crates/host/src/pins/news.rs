//! What there is to say about a server's definitions, in words for a person.

use super::{
    books::Place,
    diff,
    kept::{Kept, Kind, Version},
};
use crate::limits;
use std::collections::HashSet;
use switchboard_local::visible;

/// Why something waits, or is told.
pub(super) const HIDDEN: &str = "hidden characters";
pub(super) const CHANGED: &str = "changed";
pub(super) const NEW: &str = "new";

/// What waits, and what was told and not looked at yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// The server's configured name.
    pub server: String,
    /// What must not be used before somebody says yes.
    pub waiting: Vec<Change>,
    /// What is used, and is not what it was.
    pub told: Vec<Change>,
}

/// Something of a server's that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What it is.
    pub kind: Kind,
    /// The server's own name for it.
    pub name: String,
    /// What is different: `changed`, `new` or `hidden characters`.
    pub why: &'static str,
    /// What it was.
    pub(super) before: Option<Version>,
    /// What it is now.
    pub(super) now: Version,
    /// Other principals than the user to whom the server lists it so.
    pub whose: Vec<String>,
    /// The books that say so.
    pub(super) books: Vec<Place>,
}

impl Change {
    /// What it is called: `tool "x"`.
    pub fn called(&self) -> String {
        let name = visible::line(&self.name);
        match self.kind {
            Kind::Tools => format!("tool {name:?}"),
            Kind::Prompts => format!("prompt {name:?}"),
            Kind::Instructions => "the instructions".to_owned(),
        }
    }

    /// Whether it is a change to the same.
    fn is_as(&self, other: &Self) -> bool {
        (self.kind, &self.name) == (other.kind, &other.name) && self.now.is(&other.now)
    }

    /// One line, for a refusal.
    pub fn summary(&self) -> String {
        summary(self.kind, &self.name, self.why)
    }

    /// The difference, for a person: `-` before, `+` now. Harmless on a terminal.
    pub fn diff(&self) -> String {
        let Some(now) = &self.now.definition else {
            return "(it is too large to be shown)".to_owned();
        };
        match &self.before {
            None => diff::diff("", now),
            Some(before) => match &before.definition {
                Some(before) => diff::diff(before, now),
                None => "(what was approved is too large to be shown)".to_owned(),
            },
        }
    }

    /// What it was and what it is, each as it is written, escaped; nothing where it was not
    /// there, or is too large to be kept.
    pub fn texts(&self) -> (Option<String>, Option<String>) {
        let text = |version: &Version| version.definition.as_deref().map(visible::lines);
        (self.before.as_ref().and_then(text), text(&self.now))
    }

    /// Whether it was never there before.
    pub fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// What a yes to it is a yes to.
    pub fn digest(&self) -> String {
        let before = self.before.as_ref().map_or("", |before| &before.hash);
        format!(
            "{:?} {:?} {before} {:?}",
            self.kind, self.name, self.now.hash
        )
    }
}

/// Why something waits, in a sentence.
pub(super) fn summary(kind: Kind, name: &str, why: &str) -> String {
    let name = visible::line(name);
    let what = match kind {
        Kind::Tools | Kind::Prompts => format!("the definition of {name:?}"),
        Kind::Instructions => "what the server says about how to use it".to_owned(),
    };
    match (why, kind) {
        (HIDDEN, _) => {
            format!("{what} holds characters that are hidden or turn the reading direction")
        }
        (NEW, Kind::Instructions) => format!("{what} is new, it said nothing when it was approved"),
        (NEW, _) => format!("{name:?} is new, the server did not have it when it was approved"),
        _ => format!("{what} changed after it was approved"),
    }
}

impl News {
    pub(super) fn of(server: &str, kept: &Kept, book: &Place) -> Self {
        let mut news = Self {
            server: server.to_owned(),
            ..Self::default()
        };
        let whose: Vec<String> = match book {
            Some(_) => kept.principal.iter().cloned().collect(),
            None => Vec::new(),
        };
        for (kind, waiting) in &kept.waiting {
            for (name, now) in waiting {
                let pin = kept.section(*kind).and_then(|pins| pins.get(name));
                news.waiting.push(Change {
                    kind: *kind,
                    name: name.clone(),
                    why: match pin {
                        _ if now.hidden => HIDDEN,
                        Some(_) => CHANGED,
                        None => NEW,
                    },
                    before: pin.map(|pin| pin.version.clone()),
                    now: now.clone(),
                    whose: whose.clone(),
                    books: vec![book.clone()],
                });
            }
        }
        for kind in Kind::ALL {
            for (name, pin) in kept.section(kind).into_iter().flatten() {
                let Some(told) = &pin.told else { continue };
                news.told.push(Change {
                    kind,
                    name: name.clone(),
                    why: if told.was.is_some() { CHANGED } else { NEW },
                    before: told.was.clone(),
                    now: pin.version.clone(),
                    whose: whose.clone(),
                    books: vec![book.clone()],
                });
            }
        }
        news
    }

    /// Adds what another book says of the same server. What is the same there is
    /// said once.
    pub(super) fn add(&mut self, other: Self) {
        let each = [
            (&mut self.waiting, other.waiting),
            (&mut self.told, other.told),
        ];
        for (here, there) in each {
            for change in there {
                let same = here.iter_mut().find(|known| known.is_as(&change));
                match same {
                    Some(known) => {
                        known.whose.extend(change.whose);
                        known.books.extend(change.books);
                    }
                    None => here.push(change),
                }
            }
        }
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.told.is_empty()
    }

    /// What waits of this name, if it does.
    pub fn waits(&self, kind: Kind, name: &str) -> Option<&Change> {
        let mut waiting = self.waiting.iter();
        waiting.find(|change| change.kind == kind && change.name == name)
    }

    /// A sentence for what waits and one for what was told, each with the command
    /// that shows it.
    pub fn sentences(&self) -> Vec<String> {
        let command = format!("switchboard approve {}", visible::line(&self.server));
        let mut all = Vec::new();
        if !self.waiting.is_empty() {
            let named = named(&self.waiting);
            all.push(format!(
                "waits for approval: {named}; look at it: {command}"
            ));
        }
        if !self.told.is_empty() {
            let named = named(&self.told);
            all.push(format!(
                "changed since you last looked: {named}; look at it: {command}"
            ));
        }
        all
    }

    /// The same for a model: names that are more than names are counted only,
    /// since the server chose them.
    pub fn for_models(&self) -> Vec<String> {
        let plain = |changes: &[Change]| {
            let is_plain = |change: &&Change| {
                let fits = change.name.len() <= limits::PLAIN_NAME;
                let word = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
                fits && change.name.chars().all(word)
            };
            let shown: Vec<Change> = changes.iter().filter(is_plain).cloned().collect();
            match (shown.is_empty(), changes.len() - shown.len()) {
                (_, 0) => named(&shown),
                (true, rest) => format!("{rest} of its tools or prompts"),
                (false, rest) => format!("{} and {rest} more", named(&shown)),
            }
        };
        let server = visible::line(&self.server);
        let mut all = Vec::new();
        if !self.waiting.is_empty() {
            let named = plain(&self.waiting);
            all.push(format!(
                "Of server {server:?} these cannot be used before the user approves them: {named}. \
                 The user can look at them with this command: switchboard approve {server}"
            ));
        }
        if !self.told.is_empty() {
            let named = plain(&self.told);
            all.push(format!(
                "Of server {server:?} these are not what the user last saw: {named}. \
                 The user can look at them with this command: switchboard approve {server}"
            ));
        }
        all
    }
}

fn named(changes: &[Change]) -> String {
    let mut said = HashSet::new();
    // What changed for one in this way and for another in that is one thing.
    let changes = changes
        .iter()
        .filter(|change| said.insert((change.kind, &change.name, change.why)));
    let changes: Vec<&Change> = changes.collect();
    let each = changes.iter().take(limits::PINS_NAMED);
    let mut each: Vec<String> = each
        .map(|change| {
            let called: String = change.called().chars().take(100).collect();
            format!("{called} ({})", change.why)
        })
        .collect();
    let rest = changes.len().saturating_sub(limits::PINS_NAMED);
    if rest > 0 {
        each.push(format!("and {rest} more"));
    }
    each.join(", ")
}
