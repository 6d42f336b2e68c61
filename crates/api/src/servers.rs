//! What is served: `GET servers`. One server: `GET servers/{segment}`,
//! `GET servers/{segment}/report`, `GET servers/{segment}/stderr`, `GET servers/{segment}/{list}`
//! (`tools`, `resources`, `templates`, `prompts`), `GET servers/{segment}/sign-in`,
//! `POST servers/{segment}/{verb}`, `GET explain/{name}`.

use crate::state::{Client, Seen, Server};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use std::fmt;

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

/// `GET servers`: what commands go by that would use it in place of servers of their own.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Serving {
    /// The servers that are in use, in the order of `list`.
    pub servers: Vec<Served>,
    /// A hash of the permission rules: the same where the same is permitted.
    pub rules: String,
}

/// A server that is in use.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Served {
    /// Its configured name.
    pub name: String,
    /// Its name in paths and tool names.
    pub segment: String,
    /// A hash of all that makes it the server that it is: the same where that is.
    pub identity: String,
    /// Whether it comes with the program and not from a configuration.
    pub builtin: bool,
    /// Whether it wants a sign-in: then it is somebody's own affair to try it.
    pub needs_auth: bool,
    /// The word for how it is doing, as `list --json` has it. It is not met for this.
    pub state: String,
    /// Why it cannot be used.
    pub reason: Option<String>,
    /// How many processes of it run, or connections to it; none of a server inside the
    /// program.
    pub copies: Option<usize>,
    /// Whether those are processes.
    pub is_process: bool,
    /// What those use, with `?used=true`.
    pub used: Option<Used>,
}

/// How people are told how a server is doing, by its word: the same in every list.
pub fn state_words(word: &str) -> &str {
    match word {
        "pending" => "connecting",
        "not-connected" => "not connected",
        "needs-auth" => "needs a sign-in",
        "pending-approval" => "waits for approval",
        other => other,
    }
}

/// What a server's processes use together, with all that they started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Used {
    /// How many there are.
    pub processes: usize,
    /// Bytes of memory that are theirs.
    pub memory: u64,
    /// Processor time that they have used, in milliseconds.
    pub cpu_ms: u64,
}

impl Used {
    /// For people.
    pub fn words(&self) -> String {
        let mebibytes = self.memory.div_ceil(1 << 20);
        let tenths = self.cpu_ms / 100;
        format!("{mebibytes} MiB, {}.{} s CPU", tenths / 10, tenths % 10)
    }
}

/// `GET servers/{segment}/report`: how a server is doing, once it has been met.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// Connected, failed, in need of a sign-in, or asleep.
    pub health: Health,
    /// Why it is not connected, or what it does wrong although it is.
    pub reason: Option<String>,
    /// The revision that is spoken with it.
    pub version: Option<String>,
    /// Its era.
    pub era: Option<String>,
    /// How it is reached, where that was found to be another way than the entry's.
    pub transport: Option<String>,
    /// What it calls itself, as it wrote it.
    #[schemars(with = "Option<Value>")]
    pub server_info: Option<Box<RawValue>>,
    /// How many tools may be seen.
    pub tools: Option<usize>,
    /// How many resources it lists.
    pub resources: Option<usize>,
    /// How many prompts it lists.
    pub prompts: Option<usize>,
    /// How long it took.
    pub ms: u64,
    /// What the definitions of those tools cost a model: an estimate.
    pub tokens: Option<usize>,
    /// How many processes of it run, or connections to it; none of a server inside
    /// the program.
    pub copies: Option<usize>,
    /// What its processes use, where it is a program.
    pub used: Option<Used>,
}

/// Whether a server can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// It can.
    Connected,
    /// It cannot.
    #[default]
    Failed,
    /// Not before somebody signs in.
    NeedsAuth,
    /// It can: it was ended since nobody used it, and starts when it is needed.
    Asleep,
}

/// `GET servers/{segment}`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Listed {
    /// The items.
    pub items: Vec<Value>,
    /// Whether there are more than are shown.
    pub cut: bool,
}

/// The answer to `POST servers/{segment}/{verb}`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Explained {
    /// Line by line.
    pub lines: Vec<String>,
    /// The server that it is about.
    pub server: String,
    /// How that server is doing, where it is in use.
    pub state: Option<Seen>,
    /// What is decided about the tool, where it is one of a server in use.
    pub tool: Option<Ruling>,
}

/// What a gateway decides about a tool, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "ToolRuling")]
pub struct Ruling {
    /// The name that rules are written in.
    pub canonical: String,
    /// The name that its server gave it, where the server lists it.
    pub own: Option<String>,
    /// Why the server could not be asked what it lists.
    pub unasked: Option<String>,
    /// `allow`, `ask`, `deny`, `held`.
    pub decision: String,
    /// The same with its reason, in words.
    pub says: String,
    /// Whether clients see it.
    pub visible: bool,
    /// All that was looked at, in order.
    pub reasons: Vec<Reason>,
    /// What is not as it was approved, where that is so.
    pub changed: Option<String>,
}

/// One of the things that are looked at before a call is decided about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "RulingReason")]
pub struct Reason {
    /// What was looked at.
    pub step: String,
    /// What was found there.
    pub found: String,
    /// Whether it decided.
    pub decisive: bool,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.decisive { "→" } else { "·" };
        write!(f, "{sign} {}: {}", self.step, self.found)
    }
}

crate::fill::fields! {
    Serving { servers, rules }
    Served { name, segment, identity, builtin, needs_auth, state, reason, copies, is_process, used }
    Used { processes, memory, cpu_ms }
    Detail {
        server, hello, capabilities, instructions, clients, processes, explained, entry, isolation,
        approval, approval_digest,
    }
    Process { pid, memory, cpu, since }
    Stderr { lines, cut }
    Listed { items, cut }
    Done { server, did, open }
    Explained { lines, server, state, tool }
    Ruling { canonical, own, unasked, decision, says, visible, reasons, changed }
    Reason { step, found, decisive }
}
