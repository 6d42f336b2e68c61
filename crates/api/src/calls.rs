//! Calls: `GET calls?filter=…&before=ID&only=ID&limit=N` (newest first), `GET calls/{id}`,
//! `POST calls`, `POST calls/{id}/replay`, `POST calls/{id}/reveal` (shows what is cut as a
//! secret, and is put on record), `POST calls/export`, `DELETE calls/{id}` (cancels one of one's own).

use crate::questions::{Answered, Kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One request of a client, without its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Call {
    /// Its number: grows, and is never used again while the gateway runs.
    pub id: u64,
    /// When it began, in milliseconds since 1970.
    pub at: u64,
    /// On whose behalf.
    pub principal: String,
    /// What its client calls itself.
    pub client: Option<String>,
    /// Its session or key, as far as there is one.
    pub session: Option<String>,
    /// `client`, or `own`: a command's, a flow's, the console's.
    pub origin: String,
    /// The server's configured name.
    pub server: Option<String>,
    /// The method.
    pub method: String,
    /// The tool, prompt, resource or task, as the client names it.
    pub name: Option<String>,
    /// The era of the client, and of the server: `legacy`, `modern`.
    pub client_era: String,
    /// The era of the server, once it is known.
    pub server_era: Option<String>,
    /// `running`, `waiting` (for a person), `ok`, `error`, `denied`, `cancelled`.
    pub outcome: String,
    /// Whose fault it was: `client`, `ours`, `server`.
    pub fault: Option<String>,
    /// The error's code and message, or what a tool says went wrong; cut to one line.
    pub error: Option<String>,
    /// The JSON-RPC error code.
    pub code: Option<i64>,
    /// Microseconds from beginning to end.
    pub took: Option<u64>,
    /// Microseconds of these at the server.
    pub at_server: Option<u64>,
    /// Microseconds of these in which a person was waited for: neither ours nor the server's.
    pub waited: Option<u64>,
    /// Bytes that the client sent.
    pub bytes_in: u64,
    /// Bytes that it was answered.
    pub bytes_out: u64,
    /// What the answer would cost a model: bytes / 4, an estimate.
    pub tokens: u64,
    /// How often it was sent to its server: more than once where it was sent again.
    pub sent: u32,
    /// How many questions it asked.
    pub asked: u32,
    /// Whether its messages are kept.
    pub kept: bool,
    /// Whether its tool says that it changes nothing, or that twice is as once.
    pub repeatable: bool,
    /// Whether a person has changed it, or its answer, at a breakpoint.
    pub edited: bool,
    /// The call that this one repeats.
    pub replay_of: Option<u64>,
}

impl Call {
    /// Microseconds that were ours: neither the server's nor a person's.
    pub fn ours(&self) -> Option<u64> {
        let others = self.at_server.unwrap_or(0) + self.waited.unwrap_or(0);
        Some(self.took?.saturating_sub(others))
    }
}

/// `GET calls`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "CallPage")]
pub struct Page {
    /// Newest first.
    pub calls: Vec<Call>,
    /// Whether there are older ones, or may be.
    pub more: bool,
    /// How many are kept in all, and how many match the filter.
    pub total: usize,
    /// How many match; with a text in quotes, of those that were looked through.
    pub matching: usize,
    /// Whether there was more to look through than is done at one time: `next` goes on.
    pub partial: bool,
    /// The `before` of the next page, where there is more.
    pub next: Option<u64>,
    /// How many were dropped because there were too many.
    pub dropped: u64,
}

/// `GET calls/{id}`: both sides, as they were.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "CallDetail")]
pub struct Detail {
    /// The call.
    pub call: Call,
    /// Its messages, in the order in which they crossed.
    pub messages: Vec<Crossed>,
    /// What it was held to: the decision about it and the rule.
    pub decision: Option<String>,
    /// The rule.
    pub rule: Option<String>,
    /// What people were asked about it, and where it was held, as far as that is still known.
    pub waited: Vec<Waited>,
    /// Messages of it that are not kept any more, or never were.
    pub missing: u32,
    /// The same call on a command line, for curl, and as a line of JSON-RPC.
    pub copies: Copies,
}

/// A person that a call has waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "CallWaited")]
pub struct Waited {
    /// The kind of question.
    pub kind: Kind,
    /// What was held at a breakpoint: `call`, `result`, `error`.
    pub point: Option<String>,
    /// `open`, `answered`, `timed-out`, `withdrawn`.
    pub status: String,
    /// What was answered, and by whom.
    pub answered: Option<Answered>,
}

impl Waited {
    /// In words.
    pub fn words(&self) -> String {
        let what = match (self.kind, self.point.as_deref()) {
            (Kind::Held, Some("call")) => "held before it was called",
            (Kind::Held, _) => "its answer was held",
            (Kind::Form, _) => "asked to fill in a form",
            (Kind::Page, _) => "asked to visit a page",
            (Kind::Sampling, _) => "asked for a model's answer",
            _ => "asked whether it may be made",
        };
        match (&self.answered, self.status.as_str()) {
            (Some(answered), _) => format!("{what}: {} by {}", answered.action, answered.by),
            (None, "open") => format!("{what}: waits"),
            (None, "timed-out") => format!("{what}: nobody answered in time"),
            (None, _) => format!("{what}: nobody waits for the answer any more"),
        }
    }
}

/// The same call elsewhere. None holds a secret.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Copies {
    /// `switchboard call …`.
    pub command: Option<String>,
    /// `curl …`.
    pub curl: Option<String>,
    /// A line of JSON-RPC.
    pub line: Option<String>,
}

/// A message that crossed an edge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Crossed {
    /// Microseconds since the call began.
    pub at: u64,
    /// `from-client`, `to-server`, `from-server`, `to-client`.
    pub edge: String,
    /// `request`, `result`, `error`, `notice`, `question`, `answer`, `retry`.
    pub kind: String,
    /// Its method, where it has one.
    pub method: Option<String>,
    /// How long it is, in bytes.
    pub bytes: u64,
    /// The message as it was, but for secrets; nothing where it is not kept.
    pub text: Option<String>,
    /// How many secrets were cut.
    pub secrets: u32,
    /// What differs from the message on the other side of us that it was made of.
    pub edits: Vec<Edit>,
    /// Which message of this list that is.
    pub made_of: Option<usize>,
}

/// Something that we changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "MessageEdit")]
pub struct Edit {
    /// Where, as a JSON pointer.
    pub path: String,
    /// `changed`, `added`, `removed`, `white-space`.
    pub what: String,
    /// Bytes in this message's text, from and to; nothing where something was removed.
    pub span: Option<(usize, usize)>,
    /// What it was.
    pub before: Option<String>,
    /// What it is.
    pub after: Option<String>,
    /// The row of `docs/reference/rewrites.md` that allows it.
    pub row: Option<String>,
}

/// `POST calls`: make one, as principal `console` or as the token's own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Make {
    /// The server's name or segment.
    pub server: String,
    /// The method: `tools/call` unless given.
    pub method: Option<String>,
    /// The tool or prompt, by the server's own name; the address of a resource.
    pub name: Option<String>,
    /// Its arguments, as text of JSON that is sent as it is.
    pub arguments: Option<Value>,
    /// All parameters, in place of name and arguments.
    pub params: Option<Value>,
    /// `legacy` or `modern`: as a client of that era would; the server's own unless given.
    pub era: Option<String>,
    /// Said yes to, where a rule asks.
    pub confirmed: bool,
}

/// The answer to [`Make`].
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Made {
    /// Its number.
    pub id: u64,
    /// The call, once it is over.
    pub call: Call,
    /// Its result, as the server wrote it.
    pub result: Option<Value>,
    /// Its error: code, message, data.
    pub error: Option<Value>,
    /// Where a result does not fit the tool's own schema for it.
    pub faults: Vec<String>,
}

/// `POST calls/{id}/replay`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Replay {
    /// Another server.
    pub server: Option<String>,
    /// Another era.
    pub era: Option<String>,
    /// Other values: a JSON pointer into the arguments, and what to put there.
    pub set: Vec<Put>,
    /// Other arguments altogether.
    pub arguments: Option<Value>,
    /// How often: once unless given, at most 100.
    pub times: Option<u32>,
    /// Said yes to: wanted for what is not known to be repeatable.
    pub confirmed: bool,
}

/// One value.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Put {
    /// Where, as a JSON pointer into the arguments, or as `a.b.0`.
    pub path: String,
    /// What.
    pub value: Value,
}

/// The answer to [`Replay`].
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Replayed {
    /// Each time.
    pub runs: Vec<Made>,
    /// Where the last result differs from the first call's, by path.
    pub differences: Vec<Difference>,
    /// Whether the results are the same bytes.
    pub same: bool,
}

impl Replayed {
    /// How the last result compares with the first call's, in words.
    pub fn words(&self) -> String {
        match (self.same, self.differences.len()) {
            (true, _) => "the result is the same, byte for byte".to_owned(),
            (false, 0) => "there is nothing to compare the result with".to_owned(),
            (false, 1) => "1 difference".to_owned(),
            (false, count) => format!("{count} differences"),
        }
    }
}

/// Where two values differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Difference {
    /// Where, as a JSON pointer.
    pub path: String,
    /// In the one.
    pub before: Option<Value>,
    /// In the other.
    pub after: Option<Value>,
}

crate::fill::fields! {
    Call {
        id, at, principal, client, session, origin, server, method, name, client_era, server_era,
        outcome, fault, error, code, took, at_server, waited, bytes_in, bytes_out, tokens, sent, asked,
        kept, repeatable, edited, replay_of,
    }
    Page { calls, more, total, matching, partial, next, dropped }
    Detail { call, messages, decision, rule, waited, missing, copies }
    Waited { kind, point, status, answered }
    Copies { command, curl, line }
    Crossed { at, edge, kind, method, bytes, text, secrets, edits, made_of }
    Edit { path, what, span, before, after, row }
    Made { id, call, result, error, faults }
    Replayed { runs, differences, same }
    Difference { path, before, after }
}
