//! One server: `GET servers/{segment}`, `GET servers/{segment}/stderr`, `GET servers/{segment}/{list}`
//! (`tools`, `resources`, `templates`, `prompts`), `GET servers/{segment}/sign-in`,
//! `POST servers/{segment}/{verb}`, `GET explain/{name}`.

use crate::state::{Client, Server};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What can be done with a server.
pub const VERBS: [&str; 9] = [
    "reconnect",
    "enable",
    "disable",
    "sign-in",
    "sign-out",
    "approve",
    "reject",
    "subscribe",
    "unsubscribe",
];

/// `GET servers/{segment}`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "ServerDetail")]
pub struct Detail {
    /// As in the state.
    pub server: Server,
    /// What it said when it was met, as it wrote it.
    pub hello: Option<Value>,
    /// Its capabilities.
    pub capabilities: Option<Value>,
    /// Its instructions.
    pub instructions: Option<String>,
    /// Who uses it.
    pub clients: Vec<Client>,
    /// Its processes.
    pub processes: Vec<Process>,
    /// Why it is there, or is not, line by line as `explain` says it.
    pub explained: Vec<String>,
    /// The entry as the file has it, without secrets.
    pub entry: Option<Value>,
    /// `shared` or `session`.
    pub isolation: String,
    /// What would be approved, where that is what it waits for.
    pub approval: Vec<String>,
    /// The digest of that, for approving just what was shown.
    pub approval_digest: Option<String>,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Bytes that it uses, with what it started.
    pub memory: Option<u64>,
    /// Percent of a core, with what it started, on average since it began.
    pub cpu: Option<f64>,
    /// Since when, in milliseconds since 1970.
    pub since: Option<u64>,
}

/// `GET servers/{segment}/stderr`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Stderr {
    /// The last lines, oldest first, with what moves a cursor made visible.
    pub lines: Vec<String>,
    /// Whether there was more.
    pub cut: bool,
}

/// `GET servers/{segment}/sign-in`: the sign-in that was tried last.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SignIn {
    /// Its steps, in order.
    pub steps: Vec<SignInStep>,
    /// `none`, `under-way`, `done`, `failed`.
    pub outcome: String,
    /// Why it failed.
    pub fault: Option<String>,
    /// What to do about that.
    pub remedy: Option<String>,
}

/// One step of a sign-in. What is secret is cut.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SignInStep {
    /// `challenge`, `resource`, `metadata`, `registration`, `authorize`, `token`,
    /// `revocation`, `request`.
    pub what: String,
    /// When it began, in milliseconds since 1970.
    pub at: u64,
    /// Milliseconds until it was over.
    pub took: u64,
    /// The verb.
    pub method: String,
    /// Where to.
    pub url: String,
    /// What was sent, line by line.
    pub sent: Vec<String>,
    /// The answer's status.
    pub status: Option<u16>,
    /// What came back, line by line.
    pub answered: Vec<String>,
    /// Why nothing came back, or what the answer says is wrong.
    pub fault: Option<String>,
}

/// `GET servers/{segment}/{list}`: items as the server wrote them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Listed {
    /// The items.
    pub items: Vec<Value>,
    /// Whether there are more than are shown.
    pub cut: bool,
}

/// The answer to `POST servers/{segment}/{verb}`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Done {
    /// The server as it is now.
    pub server: Server,
    /// What was done, in one line.
    pub did: String,
    /// A page to open next: where to sign in.
    pub open: Option<String>,
}

/// `POST servers/{segment}/{verb}`: what some verbs want besides.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Act {
    /// `approve`: the digest of what was shown, so that nothing else is approved.
    pub digest: Option<String>,
    /// `sign-in`: the address that the browser ended at, where it is pasted by hand.
    pub pasted: Option<String>,
    /// `subscribe`, `unsubscribe`: the resource.
    pub uri: Option<String>,
}

/// `GET explain/{name}`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Explained {
    /// Line by line.
    pub lines: Vec<String>,
}
