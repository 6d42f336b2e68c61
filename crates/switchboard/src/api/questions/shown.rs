//! A question of a call as it is shown.

use super::super::without;
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};
use switchboard_api::questions::{Answered, Kind, Question};
use switchboard_host::desk;
use switchboard_local::{secret, visible};
use switchboard_record::audit::redact;

/// The question as it is shown: without secrets.
pub(super) fn shown(question: &desk::Question) -> Question {
    let mut shown = whole(question);
    if let Some(about) = &mut shown.about {
        redact(about);
    }
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
    };
    let about = match question.kind {
        desk::Kind::Permission => consent.and_then(|consent| {
            let arguments = consent.arguments.as_deref()?;
            let read = serde_json::from_str(arguments);
            Some(read.unwrap_or_else(|_| Value::String(arguments.to_owned())))
        }),
        desk::Kind::Sampling => Some(params.clone()),
        _ => None,
    };
    Question {
        id: question.id.to_string(),
        kind: kind(question.kind),
        status: status(question.status).to_owned(),
        at: millis(question.at),
        until: question.until.map(millis),
        principal: Some(question.principal.to_string()),
        client: question.client.clone(),
        server: Some(server.to_string()),
        name: consent.map(|consent| consent.tool.clone()),
        call: question.call,
        title: visible::line(&title),
        text: match consent {
            Some(consent) => Some(consent.reason.clone()),
            None => text("message").filter(|_| question.kind != desk::Kind::Sampling),
        },
        schema: params
            .get("requestedSchema")
            .filter(|_| question.kind == desk::Kind::Form)
            .cloned(),
        url: text("url").filter(|_| question.kind == desk::Kind::Page),
        about,
        changes: Vec::new(),
        answers: answers(question),
        also_client: question.also_client,
        answered: question.answered.as_ref().map(|answered| Answered {
            action: answered.action.clone(),
            by: answered.by.clone(),
            at: millis(answered.at),
        }),
        partial: false,
    }
}

fn kind(kind: desk::Kind) -> Kind {
    match kind {
        desk::Kind::Permission => Kind::Permission,
        desk::Kind::Form => Kind::Form,
        desk::Kind::Page => Kind::Page,
        desk::Kind::Sampling => Kind::Sampling,
    }
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
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Milliseconds since 1970.
pub(super) fn millis(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
