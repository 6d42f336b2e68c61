//! One request, and the line that tells of it.

use crate::limits;
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};
use std::{
    fmt::Write,
    sync::Arc,
    time::{Duration, SystemTime},
};
use switchboard_host::{
    Blame, CallError,
    observe::{Begin, End, Ending, Origin},
};
use switchboard_local::{secret, visible};
use switchboard_wire::{Era, Method};

/// What lines look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// `key=value` with spaces between.
    #[default]
    Text,
    /// A JSON object each.
    Json,
}

/// What is told of one request.
#[derive(Debug)]
pub(super) struct Line {
    time: SystemTime,
    number: u64,
    /// The client's own id of it.
    id: Option<String>,
    origin: Origin,
    principal: Arc<str>,
    client: Option<String>,
    session: u64,
    era: Era,
    pub(super) server: Option<Arc<str>>,
    method: &'static str,
    /// What kind of thing is asked for, and which.
    about: Option<(&'static str, String)>,
    pub(super) outcome: Outcome,
    pub(super) fault: Option<Blame>,
    pub(super) took: Duration,
    pub(super) at_server: Duration,
    pub(super) waited: Duration,
    /// In, and out.
    pub(super) bytes: (usize, usize),
}

/// How a request ended, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The server answered.
    Ok,
    /// It answered with an error, or a result that says it is one.
    Error,
    /// It could not be asked, or did not answer.
    Failed,
    /// It was not permitted, or nobody said yes.
    Denied,
    /// Nobody waits for it any more.
    Cancelled,
}

impl Outcome {
    pub(super) fn of(end: &End<'_>) -> Self {
        match end.ending {
            Ending::GivenUp | Ending::Failed(CallError::Cancelled) => Self::Cancelled,
            Ending::Failed(CallError::NotPermitted { .. } | CallError::NotAllowed { .. }) => {
                Self::Denied
            }
            Ending::Failed(_) => Self::Failed,
            Ending::Reply(_) if end.fault.is_some() => Self::Error,
            Ending::Reply(_) => Self::Ok,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Line {
    pub(super) fn of(call: &Begin<'_>) -> Self {
        let kind = match call.method {
            Method::ToolsCall => "tool",
            Method::PromptsGet => "prompt",
            Method::ResourcesRead | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                "resource"
            }
            _ => "name",
        };
        let id = call.message.id();
        Self {
            time: SystemTime::now(),
            number: call.number,
            id: id.map(|id| short(&id.as_text())),
            origin: call.origin,
            principal: call.client.principal.clone(),
            client: call.client_name().map(|name| short(&name)),
            session: call.client.id,
            era: call.client.era(),
            server: call.server.cloned(),
            method: call.method.as_str(),
            about: call.name.map(|name| (kind, short(&secret::text(name)))),
            outcome: Outcome::Cancelled,
            fault: None,
            took: Duration::ZERO,
            at_server: Duration::ZERO,
            waited: Duration::ZERO,
            bytes: (0, 0),
        }
    }

    /// All that is told, in order.
    fn fields(&self) -> Map<String, Value> {
        let mut all = Map::new();
        let mut add = |key: &str, value: Value| {
            if !value.is_null() {
                all.insert(key.to_owned(), value);
            }
        };
        add("time", json!(time(self.time)));
        add("number", json!(self.number));
        add("id", json!(self.id));
        add("principal", json!(short(&self.principal)));
        add("client", json!(self.client));
        add("session", json!(self.session));
        add("era", json!(self.era.to_string()));
        add("server", json!(self.server.as_deref()));
        add("method", json!(self.method));
        if let Some((kind, name)) = &self.about {
            add(kind, json!(name));
        }
        add("outcome", json!(self.outcome.word()));
        add("fault", json!(self.fault.map(blamed)));
        add("durationMs", json!(millis(self.took)));
        add("serverMs", json!(millis(self.at_server)));
        if !self.waited.is_zero() {
            add("waitedMs", json!(millis(self.waited)));
        }
        add("bytesIn", json!(self.bytes.0));
        add("bytesOut", json!(self.bytes.1));
        if self.origin == Origin::Own {
            add("origin", json!("own"));
        }
        all
    }
}

impl Format {
    pub(super) fn push(self, text: &mut String, line: &Line) {
        self.push_fields(text, line.fields());
    }

    /// Says that lines are missing.
    pub(super) fn push_dropped(self, text: &mut String, now: SystemTime, dropped: u64) {
        let mut fields = Map::new();
        fields.insert("time".to_owned(), json!(time(now)));
        fields.insert("dropped".to_owned(), json!(dropped));
        self.push_fields(text, fields);
    }

    fn push_fields(self, text: &mut String, fields: Map<String, Value>) {
        match self {
            Self::Json => text.push_str(&Value::Object(fields).to_string()),
            Self::Text => {
                for (i, (key, value)) in fields.iter().enumerate() {
                    let space = if i > 0 { " " } else { "" };
                    let value = match value {
                        Value::String(said) => plain(said),
                        other => other.to_string(),
                    };
                    let _ = write!(text, "{space}{key}={value}");
                }
            }
        }
        text.push('\n');
    }
}

/// A value that cannot be taken for the next key.
fn plain(said: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !matches!(c, '"' | '\\' | '=');
    if !said.is_empty() && said.chars().all(is_plain) {
        return said.to_owned();
    }
    json!(said).to_string()
}

/// Text from elsewhere, on one line and not longer than it may be.
fn short(said: &str) -> String {
    visible::line(&visible::cut(said, limits::ACCESS_NAME))
}

fn blamed(blame: Blame) -> &'static str {
    match blame {
        Blame::Client => "client",
        Blame::Us => "switchboard",
        Blame::Server => "server",
    }
}

fn time(at: SystemTime) -> String {
    DateTime::<Utc>::from(at).to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn millis(took: Duration) -> f64 {
    (took.as_secs_f64() * 1_000_000.0).round() / 1000.0
}
