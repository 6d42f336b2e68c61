//! What was last fetched, and how that went. Two files: the list changes only
//! when the servers do, so that whoever follows it is not woken for nothing.

use crate::{
    edit::{self, EditError, Target},
    limits, safe_read,
};
use serde_json::{Map, Value, json};
use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The folder in which the list is kept.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// How the last attempt went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// When, in seconds since 1970.
    pub at: u64,
    /// The address that was asked.
    pub from: String,
    /// What went wrong, if anything.
    pub problem: Option<String>,
}

impl Cache {
    /// In our folder of things that can be made again.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// The list.
    pub fn list(&self) -> PathBuf {
        self.folder.join("connectors.json")
    }

    fn state_file(&self) -> PathBuf {
        self.folder.join("connectors-fetched.json")
    }

    /// How the last attempt went, if there was one.
    pub fn state(&self) -> Option<State> {
        let text = safe_read::read(&self.state_file(), None).ok()?;
        let whole: Value = serde_json::from_str(&text).ok()?;
        Some(State {
            at: whole["at"].as_u64()?,
            from: whole["from"].as_str()?.to_owned(),
            problem: whole["problem"].as_str().map(str::to_owned),
        })
    }

    /// Whether it is time to ask this address (again).
    pub fn is_due(&self, from: &str, now: SystemTime) -> bool {
        let Some(state) = self.state().filter(|state| state.from == from) else {
            return true;
        };
        let wait = match state.problem {
            None => limits::CONNECTORS_FRESH,
            Some(_) => limits::CONNECTORS_RETRY,
        };
        // A clock that was set back must not keep us waiting for years.
        seconds(now)
            .checked_sub(state.at)
            .is_none_or(|age| Duration::from_secs(age) >= wait)
    }

    /// Keeps a list that was fetched; whether it is another than before.
    pub fn keep(&self, from: &str, servers: &Map<String, Value>) -> Result<bool, EditError> {
        let new = json!({"from": from, "mcpServers": servers});
        let target = Target::private(&self.list());
        let same = safe_read::read(&self.list(), None)
            .ok()
            .and_then(|text| serde_json::from_str::<Value>(&text).ok())
            .is_some_and(|old| old == new);
        if !same {
            edit::replace_whole(&target, &new)?;
        }
        self.note(from, None)?;
        Ok(!same)
    }

    /// Notes that it did not work; the list stays what it was.
    pub fn failed(&self, from: &str, problem: &str) -> Result<(), EditError> {
        self.note(from, Some(problem))
    }

    fn note(&self, from: &str, problem: Option<&str>) -> Result<(), EditError> {
        let state = json!({"at": seconds(SystemTime::now()), "from": from, "problem": problem});
        edit::replace_whole(&Target::private(&self.state_file()), &state)
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
