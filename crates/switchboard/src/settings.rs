//! What the environment says about times and numbers. The names are those that
//! users of other hosts have set already.

use crate::in_use::InUse;
use std::{path::PathBuf, time::Duration};
use switchboard_host::{FarWay, Timeouts};

/// Times and numbers.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `MCP_TIMEOUT`, `MCP_TOOL_TIMEOUT`, `MCP_REQUEST_TIMEOUT_MS`.
    pub timeouts: Timeouts,
    /// Local servers that start at once (`MCP_SERVER_CONNECTION_BATCH_SIZE`).
    pub local_pool: usize,
    /// Remote servers that are met at once (`MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE`).
    pub remote_pool: usize,
    /// Tokens of a result that are shown (`MAX_MCP_OUTPUT_TOKENS`), where it is said.
    pub output_tokens: Option<usize>,
    /// Which tools wait to be searched for (`ENABLE_TOOL_SEARCH`), as it is said.
    pub tool_search: Option<String>,
    /// Where what is known of servers is kept for the next start, if anywhere.
    pub catalogs: Option<PathBuf>,
    /// Where empty directories are made for servers that must not start in the
    /// working directory; without it they start in `/`.
    pub rooms: Option<PathBuf>,
    /// Where what servers write to stderr is kept, if anywhere.
    pub logs: Option<PathBuf>,
    /// What this run of the program is told by, and what it runs.
    pub in_use: InUse,
    /// The way to servers of workers, once it is known.
    pub far_way: FarWay,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeouts: Timeouts::default(),
            local_pool: 3,
            remote_pool: 20,
            output_tokens: None,
            tool_search: None,
            catalogs: None,
            rooms: None,
            logs: None,
            in_use: InUse::default(),
            far_way: FarWay::default(),
        }
    }
}

impl Settings {
    /// Reads the variables. One that makes no sense is ignored with a warning:
    /// a typing error there should not stop everything.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| {
            let text = lookup(name).filter(|text| !text.is_empty())?;
            let number = text.trim().parse::<u64>().ok().filter(|number| *number > 0);
            if number.is_none() {
                tracing::warn!("{name}={text:?} is ignored: it must be a whole number above 0");
            }
            number
        };
        let time =
            |name: &str, default: Duration| number(name).map_or(default, Duration::from_millis);
        let count = |name: &str, default: usize| {
            number(name).map_or(default, |number| usize::try_from(number).unwrap_or(default))
        };
        let default = Self::default();
        Self {
            timeouts: Timeouts {
                connect: time("MCP_TIMEOUT", default.timeouts.connect),
                tool_call: time("MCP_TOOL_TIMEOUT", default.timeouts.tool_call),
                request: time("MCP_REQUEST_TIMEOUT_MS", default.timeouts.request),
                ..default.timeouts
            },
            local_pool: count("MCP_SERVER_CONNECTION_BATCH_SIZE", default.local_pool),
            remote_pool: count(
                "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE",
                default.remote_pool,
            ),
            output_tokens: number("MAX_MCP_OUTPUT_TOKENS")
                .and_then(|number| usize::try_from(number).ok()),
            tool_search: lookup("ENABLE_TOOL_SEARCH"),
            catalogs: None,
            rooms: None,
            logs: None,
            in_use: InUse::default(),
            far_way: FarWay::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let settings = Settings::from_env(|name| match name {
            "MCP_TIMEOUT" => Some("1500".into()),
            "MCP_TOOL_TIMEOUT" => Some("soon".into()),
            "MCP_SERVER_CONNECTION_BATCH_SIZE" => Some("0".into()),
            _ => None,
        });
        assert_eq!(settings.timeouts.connect, Duration::from_millis(1500));
        assert_eq!(settings.timeouts.tool_call, Timeouts::default().tool_call);
        assert_eq!((settings.local_pool, settings.remote_pool), (3, 20));
    }
}
