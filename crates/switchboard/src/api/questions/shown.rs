//! A question of a call as it is shown.

use super::super::without;
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};
use switchboard_api::{
    calls::Waited,
    questions::{Answered, Kind, Question},
};
use switchboard_host::desk::{self, Held, Point};
use switchboard_local::{secret, visible};
use switchboard_wire::{Method, json::is_exact, reading::ambiguous_key};

/// The question as it is shown: without secrets.
pub(super) fn shown(question: &desk::Question) -> Question {
    let mut shown = whole(question);
    // A message, or a part of one: as all messages are.
    if let Some(about) = &mut shown.about {
        *about = without::secrets(about.to_string().as_bytes()).unwrap_or_default();
    }
    shown.client = shown.client.map(|name| secret::text(&name).into_owned());
    // A page's address stays: it is there to be visited.
    shown.text = shown.text.map(|text| secret::text(&text).into_owned());
    let schema = shown.schema.map(|schema| schema.to_string());
    shown.schema = schema.and_then(|schema| without::secrets(schema.as_bytes()));
    shown
}

/// The same with them, for whoever asked for that on record.
pub(super) fn whole(question: &desk::Question) -> Question {
    let params: Value = serde_json::from_slice(&question.params).unwrap_or_default();
    let text = |key: &str| params[key].as_str().map(str::to_owned);
    let consent = question.consent.as_deref();
    let server = &question.server;
    let title = match question.kind {
        desk::Kind::Permission => consent.map_or_else(String::new, |consent| consent.title()),
        desk::Kind::Form => format!("{server:?} asks something"),
        desk::Kind::Page => format!("{server:?} wants a page to be visited"),
        desk::Kind::Sampling => format!("{server:?} wants a model's answer"),
        desk::Kind::Held => held_title(question),
    };
    let about = match question.kind {
        desk::Kind::Permission => consent.and_then(|consent| {
            let arguments = consent.arguments.as_deref()?;
            Some(as_written(arguments.as_bytes()))
        }),
        desk::Kind::Sampling => Some(params.clone()),
        desk::Kind::Held => question.held.as_deref().and_then(held_about),
        _ => None,
    };
    let held = question.held.as_deref();
    Question {
        id: question.id.to_string(),
        kind: kind(question.kind),
        status: status(question.status).to_owned(),
        at: millis(question.at),
        until: question.until.map(millis),
        principal: Some(question.principal.to_string()),
        client: question.client.clone(),
        server: Some(server.to_string()),
        name: match held {
            Some(held) => held.name.clone(),
            None => consent.map(|consent| consent.tool.clone()),
        },
        call: question.call,
        title: visible::line(&title),
        text: match (consent, held) {
            (_, Some(held)) => Some(format!("a breakpoint holds it: {}", held.why)),
            (Some(consent), None) => Some(consent.reason.clone()),
            (None, None) => text("message").filter(|_| question.kind != desk::Kind::Sampling),
        },
        schema: params
            .get("requestedSchema")
            .filter(|_| question.kind == desk::Kind::Form)
            .cloned(),
        url: text("url").filter(|_| question.kind == desk::Kind::Page),
        about,
        point: held.map(|held| point(held).to_owned()),
        changes: Vec::new(),
        answers: answers(question),
        also_client: question.also_client,
        answered: answered(question),
        partial: false,
    }
}

/// What is shown of it beside its call.
pub(super) fn waited(question: &desk::Question) -> Waited {
    let held = question.held.as_deref();
    Waited {
        kind: kind(question.kind),
        point: held.map(|held| point(held).to_owned()),
        status: status(question.status).to_owned(),
        answered: answered(question),
    }
}

fn answered(question: &desk::Question) -> Option<Answered> {
    question.answered.as_ref().map(|answered| Answered {
        action: answered.action.clone(),
        by: answered.by.clone(),
        at: millis(answered.at),
    })
}

fn kind(kind: desk::Kind) -> Kind {
    match kind {
        desk::Kind::Permission => Kind::Permission,
        desk::Kind::Form => Kind::Form,
        desk::Kind::Page => Kind::Page,
        desk::Kind::Sampling => Kind::Sampling,
        desk::Kind::Held => Kind::Held,
    }
}

/// What is held, in a word.
fn point(held: &Held) -> &'static str {
    match (held.point, held.is_error) {
        (Point::Call, _) => "call",
        (Point::Answer, false) => "result",
        (Point::Answer, true) => "error",
    }
}

fn held_title(question: &desk::Question) -> String {
    let server = &question.server;
    let Some(held) = question.held.as_deref() else {
        return String::new();
    };
    let kind = match held.method {
        Method::PromptsGet => "prompt",
        Method::ResourcesRead => "resource",
        _ => "tool",
    };
    let name = held.name.as_deref().unwrap_or_default();
    match held.point {
        Point::Call => format!("{kind} {name:?} of {server:?} is held before it is called"),
        Point::Answer => {
            format!("the answer of {kind} {name:?} of {server:?} is held before its client gets it")
        }
    }
}

/// What is held.
fn held_about(held: &Held) -> Option<Value> {
    (!held.text.is_empty()).then(|| as_written(&held.text))
}

/// A text of JSON as a value. What two readers could take for different things, and numbers
/// with more digits than a reader keeps, are shown as they are written.
fn as_written(text: &[u8]) -> Value {
    let written = || Value::String(String::from_utf8_lossy(text).into_owned());
    if ambiguous_key(text).is_some() || !is_exact(text) {
        return written();
    }
    serde_json::from_slice(text).unwrap_or_else(|_| written())
}

fn status(status: desk::Status) -> &'static str {
    match status {
        desk::Status::Open => "open",
        desk::Status::Answered => "answered",
        desk::Status::TimedOut => "timed-out",
        desk::Status::Withdrawn => "withdrawn",
    }
}

/// The answers that a question takes.
fn answers(question: &desk::Question) -> Vec<String> {
    let lasting = question.consent.as_ref().is_some_and(|it| it.may_remember);
    let words: &[&str] = match question.kind {
        desk::Kind::Permission if lasting => &["allow", "allow-always", "deny", "deny-always"],
        desk::Kind::Permission => &["allow", "deny"],
        desk::Kind::Form | desk::Kind::Page => &["accept", "decline", "cancel"],
        desk::Kind::Sampling => &["accept", "decline"],
        desk::Kind::Held if question.held.as_ref().is_some_and(|it| it.can_change) => {
            &["release", "edit", "refuse"]
        }
        desk::Kind::Held => &["release", "refuse"],
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Milliseconds since 1970.
pub(super) fn millis(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
