//! The whole as one document.

use crate::{breakpoints::Breakpoints, insight::TapState};
use schemars::JsonSchema;
use serde::Serialize;

/// `GET state`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Document {
    /// Which state this is: events with a higher number come after it.
    pub revision: u64,
    /// The gateway itself.
    pub gateway: GatewayInfo,
    /// All that is configured, also what is not used, in the order of `list`.
    pub servers: Vec<Server>,
    /// Who is connected.
    pub clients: Vec<Client>,
    /// How many questions wait for a person.
    pub waiting: usize,
    /// Whether messages are kept.
    pub tap: TapState,
    /// Which calls are held on their way.
    pub breakpoints: Breakpoints,
}

/// The gateway itself.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewayInfo {
    /// Its version.
    pub version: String,
    /// A random name of this process: another one has begun where it differs.
    pub instance: String,
    /// When it began, in milliseconds since 1970.
    pub since: u64,
    /// Where it listens.
    pub address: String,
    /// The folder that it was started in.
    pub directory: String,
    /// Whether anybody may come in without a token.
    pub open: bool,
    /// Whether settings may be changed over the API.
    pub edits: bool,
    /// Panics that were survived: each is a bug.
    pub panics: u64,
    /// Where the last one was, and what it said; without secrets.
    pub last_panic: Option<String>,
}

/// A server, as far as is known without asking it. State, sign-in and usability are three
/// things, each with when and by what it was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Server {
    /// Its configured name.
    pub name: String,
    /// Its name in paths and tool names.
    pub segment: String,
    /// Whose file it is from: `user`, `project`, `local`, `plugin`, `connector`,
    /// `managed`, `builtin`.
    pub scope: String,
    /// The file, and the line in it.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// `stdio`, `http`, `sse`, `ws`, `builtin`.
    pub transport: String,
    /// The command or the address, without secrets.
    pub target: String,
    /// Whether a connection is there.
    pub state: Seen,
    /// Whether somebody is signed in: `none-needed`, `header`, `signed-in`, `wanted`,
    /// `expired`, `refused`, `unknown`.
    pub sign_in: Seen,
    /// Whether calls go through: `yes`, `no`, `unknown`.
    pub usable: Seen,
    /// `legacy` or `modern`.
    pub era: Option<String>,
    /// The revision that is spoken with it.
    pub version: Option<String>,
    /// How many tools clients may see.
    pub tools: Option<usize>,
    /// How many resources it lists.
    pub resources: Option<usize>,
    /// How many prompts it lists.
    pub prompts: Option<usize>,
    /// What its definitions cost a model: an estimate.
    pub tokens: Option<usize>,
    /// Connections or processes of it.
    pub copies: usize,
    /// How many clients use it.
    pub clients: usize,
    /// Bytes that its processes use, all together.
    pub memory: Option<u64>,
    /// Percent of a core that they use.
    pub cpu: Option<f64>,
    /// How often it was started again.
    pub restarts: u64,
    /// Definitions that are held because they changed.
    pub held: usize,
    /// Calls in flight.
    pub in_flight: usize,
}

/// Something that was seen: a word for it, why, when, and by which request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Seen {
    /// The word. For the state of a server: `connected`, `connecting`, `failed`,
    /// `needs-auth`, `asleep` (also where nobody has needed it yet), `disabled`, `denied`,
    /// `pending` (to be approved), `rejected`, `shadowed`, `unused`.
    pub word: String,
    /// Why, for a person.
    pub reason: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// When it was seen, in milliseconds since 1970.
    pub at: Option<u64>,
    /// What showed it: a method, a status, a file.
    pub by: Option<String>,
}

/// Who is connected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Client {
    /// What it calls itself.
    pub name: Option<String>,
    /// Its version, by its own word.
    pub version: Option<String>,
    /// On whose behalf it acts.
    pub principal: String,
    /// The era it speaks.
    pub era: String,
    /// Since when it is known, in milliseconds since 1970.
    pub since: u64,
    /// When it last asked for something; nothing of one that is connected now.
    pub seen: Option<u64>,
}

crate::fill::fields! {
    Document { revision, gateway, servers, clients, waiting, tap, breakpoints }
    GatewayInfo { version, instance, since, address, directory, open, edits, panics, last_panic }
    Server {
        name, segment, scope, file, line, transport, target, state, sign_in, usable, era, version,
        tools, resources, prompts, tokens, copies, clients, memory, cpu, restarts, held, in_flight,
    }
    Seen { word, reason, hint, at, by }
    Client { name, version, principal, era, since, seen }
}
