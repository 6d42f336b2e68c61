//! What is configured where: `GET settings`, `POST settings/read` (a pasted snippet explained),
//! `POST settings/change` (with the difference first), `POST reload`, `GET tokens`, `POST tokens`,
//! `DELETE tokens/{name}`, `GET pins/{server}`, `POST pins/{server}`, `GET audit?filter=…`.

use crate::questions::Change;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `GET settings`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Every file that is read, in order of rank.
    pub files: Vec<File>,
    /// Every entry in them, used or not.
    pub entries: Vec<Entry>,
    /// What is wrong in them.
    pub faults: Vec<String>,
}

/// A file.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct File {
    /// Where it is.
    pub path: String,
    /// Whose it is.
    pub scope: String,
    /// Whether it is there.
    pub exists: bool,
    /// Whether it may be written here.
    pub writable: bool,
}

/// An entry of a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// Whose it is.
    pub scope: String,
    /// The entry without secrets.
    pub entry: Value,
    /// `used`, `shadowed`, `disabled`, `denied`, `pending`, `rejected`, `faulty`.
    pub status: String,
    /// Why: what shadows it, which policy denies it.
    pub why: Option<String>,
}

/// `POST settings/read`: any client's snippet: JSON, TOML, a command line, an address.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Snippet {
    /// The text.
    pub text: String,
}

/// The answer to [`Snippet`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Understood {
    /// What form it was taken for.
    pub form: String,
    /// The servers in it.
    pub servers: Vec<Proposed>,
    /// What was not understood.
    pub faults: Vec<String>,
}

/// A server that could be added.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Proposed {
    /// Its name.
    pub name: String,
    /// The entry, as it would be written.
    pub entry: Value,
    /// What it would do, line by line, as `approve` shows it.
    pub explained: Vec<String>,
    /// What it would replace.
    pub replaces: Option<String>,
}

/// `POST settings/change`. Without `confirm` nothing is written and the difference is shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "SettingsEdit")]
pub struct Edit {
    /// `add`, `remove`.
    pub what: String,
    /// The server's name.
    pub name: String,
    /// The entry, for `add`.
    pub entry: Option<Value>,
    /// In its place, for `add`: what another client has, with its secrets, which nobody is told.
    pub from: Option<Elsewhere>,
    /// `user` unless given, `local`.
    pub scope: Option<String>,
    /// The digest that the difference came with.
    pub confirm: Option<String>,
}

/// An entry that another client has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Elsewhere {
    /// The client.
    pub client: String,
    /// The file.
    pub file: String,
    /// The name that the entry has there.
    pub name: String,
}

/// `GET imports`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Imports {
    /// What other clients have.
    pub servers: Vec<Importable>,
    /// What could not be read.
    pub faults: Vec<String>,
}

/// A server that another client has.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Importable {
    /// Where it is.
    pub from: Elsewhere,
    /// What it would be called here.
    pub name: String,
    /// The entry as it would be written, without secrets.
    pub entry: Value,
    /// What it would do, line by line, as `approve` shows it.
    pub explained: Vec<String>,
    /// Whether it is of a project: then it can be added for this folder alone.
    pub project: bool,
    /// Why it is not taken, where it is not.
    pub left_out: Option<String>,
    /// Whether the same is configured here already.
    pub same: bool,
    /// What it would replace.
    pub replaces: Option<String>,
}

/// What was written, or would be.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Written {
    /// The file.
    pub file: String,
    /// The difference, as lines of a patch; secrets are cut.
    pub difference: Vec<String>,
    /// What to send as `confirm` to have it written.
    pub digest: String,
    /// Whether it was written.
    pub written: bool,
    /// The question that waits for an approval, where it brings a command.
    pub question: Option<String>,
}

/// The answer to `POST reload`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Reloaded {
    /// Whether anything is otherwise than before.
    pub changed: bool,
}

/// `GET tokens`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Tokens {
    /// All that let somebody in.
    pub tokens: Vec<Token>,
}

/// One token, without its secret.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Token {
    /// Its name, which is the principal.
    pub name: String,
    /// When it was made, in milliseconds since 1970.
    pub made: Option<u64>,
    /// When it was last used, as far as this gateway has seen.
    pub used: Option<u64>,
    /// What is open under it: sessions, calls.
    pub sessions: usize,
    /// Calls in flight.
    pub in_flight: usize,
}

/// `POST tokens`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MakeToken {
    /// Its name.
    pub name: String,
}

/// The answer to [`MakeToken`]: the only time that the secret is shown.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MadeToken {
    /// Its name.
    pub name: String,
    /// The secret.
    pub token: String,
    /// The file that holds it.
    pub file: String,
}

/// `GET pins/{server}`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Pins {
    /// The server.
    pub server: String,
    /// Definitions that are not what was pinned.
    pub changes: Vec<Change>,
    /// Names of those that are held.
    pub held: Vec<String>,
    /// The digest of what is shown, for approving just that.
    pub digest: String,
}

/// `POST pins/{server}`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Repin {
    /// The digest of what was shown.
    pub digest: String,
    /// Which of them, where not all.
    pub only: Vec<String>,
}

/// `GET audit`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Audit {
    /// Records as they stand in the file, newest first.
    pub records: Vec<Value>,
    /// Whether there are older ones.
    pub more: bool,
    /// Whether a record is kept at all.
    pub kept: bool,
}

crate::fill::fields! {
    Written { file, difference, digest, written, question }
    Reloaded { changed }
    Tokens { tokens }
    Token { name, made, used, sessions, in_flight }
    MadeToken { name, token, file }
}
