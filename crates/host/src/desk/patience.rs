//! How long a call may wait for a person: there are clients that give up early, and
//! what is answered after that is answered to nobody.

use crate::{client::Client, limits};
use std::time::Duration;

/// How long clients wait for the answer to a call, in seconds, by the name that they
/// give; only those that go by a clock whatever progress they are told.
///
/// - Codex: `tool_timeout_sec` is 60 s (its configuration reference).
const KNOWN: [(&str, u64); 1] = [("codex-mcp-client", 60)];

/// How long a question of this client's waits, where nobody but the inbox is asked.
pub(crate) fn of(client: &Client) -> Duration {
    let name = client.said_name();
    let known = KNOWN
        .iter()
        .find(|(known, _)| name.is_some_and(|name| **name == **known));
    let known = known.map(|(_, seconds)| Duration::from_secs(*seconds));
    known.map_or(limits::CONSENT, |known| {
        known
            .saturating_sub(limits::PATIENCE_LEFT)
            .min(limits::CONSENT)
    })
}
