//! Which tools wait to be searched for: the meaning of `ENABLE_TOOL_SEARCH`.

use crate::tool::ModelTool;
use std::str::FromStr;

/// `ENABLE_TOOL_SEARCH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `true`: every tool waits.
    On,
    /// `false`: none does, and there is nothing to search with.
    Off,
    /// `auto` or `auto:N`: all wait when their definitions would take more than N percent of the context window.
    Auto(u8),
}

impl Mode {
    /// The share of `auto` without a number.
    pub const DEFAULT_PERCENT: u8 = 10;
}

impl Default for Mode {
    fn default() -> Self {
        Self::Auto(Self::DEFAULT_PERCENT)
    }
}

/// A value of `ENABLE_TOOL_SEARCH` that is none of the known ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ENABLE_TOOL_SEARCH is {0:?}; it can be true, false, auto, or auto:N with N from 0 to 100")]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let unknown = || UnknownMode(text.chars().take(40).collect());
        match text.trim().to_ascii_lowercase().as_str() {
            "" | "auto" => Ok(Self::default()),
            "true" | "1" | "yes" | "on" => Ok(Self::On),
            "false" | "0" | "no" | "off" => Ok(Self::Off),
            other => {
                let percent = other
                    .strip_prefix("auto:")
                    .and_then(|number| number.trim().parse().ok());
                percent
                    .filter(|percent| *percent <= 100)
                    .map(Self::Auto)
                    .ok_or_else(unknown)
            }
        }
    }
}

/// What matters about a tool here.
#[derive(Clone, Copy, Debug)]
pub struct Deferral {
    /// What its definition costs, estimated.
    pub tokens: usize,
    /// It never waits.
    pub always_load: bool,
    /// It waits wherever there is a search.
    pub hinted: bool,
}

impl From<&ModelTool> for Deferral {
    fn from(tool: &ModelTool) -> Self {
        Self {
            tokens: tool.tokens,
            always_load: tool.always_load,
            hinted: tool.search_hint.is_some(),
        }
    }
}

/// Which tools wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// One for each tool.
    pub deferred: Vec<bool>,
    /// What all definitions would cost.
    pub all_tokens: usize,
    /// What those cost that do not wait.
    pub loaded_tokens: usize,
}

impl Plan {
    /// Whether there is anything to search for, so that the tool that searches is shown.
    pub fn needs_search(&self) -> bool {
        self.deferred.contains(&true)
    }
}

/// Decides which tools wait. `window` is the model's context window in tokens.
pub fn plan(mode: Mode, window: usize, tools: &[Deferral]) -> Plan {
    let all_tokens: usize = tools.iter().map(|tool| tool.tokens).sum();
    let all_wait = match mode {
        Mode::On => true,
        Mode::Off => false,
        Mode::Auto(percent) => {
            all_tokens.saturating_mul(100) > window.saturating_mul(usize::from(percent))
        }
    };
    let waits =
        |tool: &Deferral| mode != Mode::Off && !tool.always_load && (all_wait || tool.hinted);
    let deferred: Vec<bool> = tools.iter().map(waits).collect();
    let loaded = tools.iter().zip(&deferred).filter(|(_, waits)| !**waits);
    Plan {
        loaded_tokens: loaded.map(|(tool, _)| tool.tokens).sum(),
        deferred,
        all_tokens,
    }
}
