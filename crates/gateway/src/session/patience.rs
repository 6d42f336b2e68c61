//! How long the first list of a client may take: there are clients that ask once,
//! and go on without what is not in the answer; others give up early.

use crate::limits;
use std::time::Duration;
use switchboard_host::limits::FIRST_LIST;

/// How long clients wait for an answer, in seconds, by the name that they give. Only
/// where that is another time than the usual one leaves: those that list once and
/// could wait longer, and those that would not wait as long. What hears of changes
/// (Claude Desktop, Cursor, VS Code, Zed: a minute each) is better served early.
///
/// - Inspector 2.12: its command line lists once; `DEFAULT_CONNECTION_TIMEOUT_MS` is
///   30 s. Up to 0.x it called its command line `inspector-cli`.
/// - Claude Code 2.1: `-p` lists once; `MCP_TIMEOUT` is 30 s (its documentation, and
///   what it logs: "timed out after 30000ms").
/// - Codex: `startup_timeout_sec` is 10 s for handshake and first list together
///   (its configuration reference).
/// - opencode 1: `timeout`, for fetching tools, is 5 s (its documentation of MCP servers).
const KNOWN: [(&str, u64); 5] = [
    ("mcp-inspector", 30),
    ("inspector-cli", 30),
    ("claude-code", 30),
    ("codex-mcp-client", 10),
    ("opencode", 5),
];

/// How long the first list waits for servers, where the client says this of itself.
pub(super) fn first_list(client: Option<&str>) -> Duration {
    let known = KNOWN.iter().find(|(name, _)| client == Some(name));
    known.map_or(FIRST_LIST, |(_, seconds)| {
        Duration::from_secs(*seconds).saturating_sub(limits::PATIENCE_LEFT)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_known_has_the_usual_time() {
        assert_eq!(first_list(None), FIRST_LIST);
        assert_eq!(first_list(Some("somebody")), FIRST_LIST);
        assert_eq!(first_list(Some("claude-code")), Duration::from_secs(28));
        assert_eq!(first_list(Some("opencode")), Duration::from_secs(3));
    }
}
