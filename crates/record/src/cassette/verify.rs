//! A server, held to a cassette: it is asked what was asked, in the same order, and what
//! it says is compared with what was said.

mod carried;
mod run;
mod said;

pub use run::verify;

use super::{Cassette, Difference, Recorded, asked::name_of};
use serde::Serialize;
use serde_json::Value;
use std::{collections::HashSet, time::Duration};
use switchboard_local::wildcard::matches;
use switchboard_wire::{Era, Method};

/// What is asked, and what does not matter.
#[derive(Clone, Debug, Default)]
pub struct Asking {
    /// Only requests whose method or name matches one of these, in which `*` stands for
    /// anything; all where there are none.
    pub only: Vec<String>,
    /// Also tools that do not say that they change nothing, or that twice is as once.
    pub all: bool,
    /// JSON pointers below which nothing is compared; `*` is any one step.
    pub ignored: Vec<String>,
    /// How long the server may take for one answer; as its spec says where nothing is said.
    pub patience: Option<Duration>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The server, by its name in the cassette.
    pub server: String,
    /// Each request.
    pub cases: Vec<Case>,
}

/// One request.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The line in the cassette; that of the first one for what servers say when they are met.
    pub line: usize,
    /// The era in which it was asked.
    pub era: String,
    /// The method.
    pub method: String,
    /// The tool, prompt or resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What came of it.
    pub outcome: Outcome,
    /// Where it differs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Why it was not asked, or got no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long it took, in milliseconds.
    pub took: u64,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is as it was.
    Same,
    /// It is not.
    Differs,
    /// There was no answer.
    Failed,
    /// It was not asked.
    Skipped,
}

impl Report {
    /// How many had this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        let of = |case: &&Case| case.outcome == outcome;
        self.cases.iter().filter(of).count()
    }

    /// Whether anything was asked at all.
    pub fn has_asked(&self) -> bool {
        self.count(Outcome::Skipped) < self.cases.len()
    }

    /// Whether all that was asked is as it was.
    pub fn is_same(&self) -> bool {
        self.count(Outcome::Differs) == 0 && self.count(Outcome::Failed) == 0
    }
}

impl Asking {
    /// Why a request is not made, if it is not; nothing where it is not wanted at all.
    fn skips(&self, recorded: &Repeatable, era: Era, method: &str, asked: &Value) -> Option<Skip> {
        let name = name_of(Method::parse(method), asked);
        let is_meant = |pattern: &String| {
            matches(pattern, method) || name.is_some_and(|name| matches(pattern, name))
        };
        if !self.only.is_empty() && !self.only.iter().any(is_meant) {
            return Some(Skip::Unwanted);
        }
        let acts = match Method::parse(method) {
            Method::ToolsCall => !name.is_some_and(|name| recorded.has(era, name)),
            // Nobody knows what these do; and whoever wrote the cassette may be anybody.
            Method::Other | Method::TasksCancel | Method::TasksUpdate => true,
            _ => false,
        };
        (acts && !self.all).then_some(Skip::Acts)
    }
}

/// Why a request is not made.
enum Skip {
    /// It is not one of those that were asked for.
    Unwanted,
    /// Its tool may change something each time.
    Acts,
}

/// The tools that said, when they were recorded, that they change nothing, or that twice is
/// as once.
#[derive(Debug, Default)]
struct Repeatable(HashSet<(Era, String)>);

impl Repeatable {
    fn of(cassette: &Cassette) -> Self {
        let mut found = HashSet::new();
        for Recorded { call, .. } in &cassette.calls {
            let super::Answer::Result(raw) = &call.answer else {
                continue;
            };
            if Method::parse(&call.method) != Method::ToolsList {
                continue;
            }
            let page = super::asked::tree(raw).unwrap_or_default();
            found.extend(repeatable_in(&page).map(|name| (call.era, name)));
        }
        Self(found)
    }

    fn has(&self, era: Era, tool: &str) -> bool {
        self.0.contains(&(era, tool.to_owned()))
    }
}

/// The tools of a page that say so.
fn repeatable_in(page: &Value) -> impl Iterator<Item = String> {
    let tools = page["tools"].as_array().into_iter().flatten();
    let names = tools
        .filter(|tool| says_repeatable(tool))
        .filter_map(|tool| tool["name"].as_str());
    names.map(ToOwned::to_owned)
}

/// Whether a definition says that the tool changes nothing, or that twice is as once.
fn says_repeatable(tool: &Value) -> bool {
    let says = |hint: &str| tool["annotations"][hint] == true;
    says("readOnlyHint") || says("idempotentHint")
}
