//! Pages that a tool's result is shown in (MCP Apps): `POST apps`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `POST apps`: reads a page of a server, and keeps it ready for one frame.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "OpenApp")]
pub struct Open {
    /// The server's name or segment.
    pub server: String,
    /// The page's address, `ui://…`.
    pub uri: String,
    /// Whether the page may reach the hosts that it asks for; without, none.
    pub reach: bool,
    /// Said yes to, where a rule asks.
    pub confirmed: bool,
}

/// The answer to [`Open`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "OpenedApp")]
pub struct Opened {
    /// The call that read it.
    pub call: u64,
    /// Where it is served, once and soon.
    pub address: String,
    /// Hosts that it asks for and that can be named in a policy.
    pub wants: Vec<String>,
    /// What of its wishes is no host that could be named, and is left out.
    pub refused: Vec<String>,
    /// What it may do, as its frame is told (`Content-Security-Policy`).
    pub policy: String,
    /// Whether it wants a border.
    pub border: bool,
}
