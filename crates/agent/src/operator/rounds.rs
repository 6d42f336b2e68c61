//! `input_required` (2026-07-28): what the server needs, and the retry that
//! brings it. The retry is the first request in its own bytes, with the answers
//! and the server's `requestState` exactly as it came.

use super::Question;
use crate::limits;
use bytes::Bytes;
use serde_json::Value;
use std::sync::Arc;
use switchboard_host::CallError;
use switchboard_wire::{Edits, ErrorObject, Kind, Message, Method, Span, code, json};

/// What a server needs before it can answer.
#[derive(Debug)]
pub(super) struct Needed {
    pub(super) requests: Vec<Request>,
    /// The text of `requestState`, quotes included.
    state: Option<Bytes>,
}

/// One question in an `InputRequiredResult`.
#[derive(Debug)]
pub(super) struct Request {
    /// The server's key for it, quotes included.
    key: Bytes,
    pub(super) question: Question,
}

impl Needed {
    /// Reads a reply; `None` if it is complete. A result that says nothing of its type is.
    pub(super) fn of(reply: &Message, server: &Arc<str>) -> Result<Option<Self>, CallError> {
        let bad = |reason: String| CallError::Unreadable {
            server: server.to_string(),
            reason,
        };
        let body = reply.body_bytes();
        if reply.kind() != Kind::Response {
            return Ok(None);
        }
        let fields = json::fields(&body, ["resultType", "inputRequests", "requestState"]);
        let Ok([kind, requests, state]) = fields else {
            return Ok(None);
        };
        let kind = kind.and_then(|span| json::text(span.of(&body)));
        if kind.is_none_or(|kind| kind != "input_required") {
            return Ok(None);
        }
        let part = |span: Span| body.slice(span.start..span.end);
        let mut needed = Self {
            requests: Vec::new(),
            state: state.map(part),
        };
        if let Some(requests) = requests.map(part) {
            for member in json::members(&requests) {
                if needed.requests.len() == limits::OPEN_INPUTS {
                    return Err(bad(format!(
                        "it asks more than {} questions at once",
                        limits::OPEN_INPUTS
                    )));
                }
                let question = question(member.value.of(&requests), server);
                let question = question.map_err(|fault| bad(fault.to_string()))?;
                let key = requests.slice(member.key.start..member.key.end);
                needed.requests.push(Request { key, question });
            }
        }
        if needed.requests.is_empty() && needed.state.is_none() {
            return Err(bad("it needs input but does not say which".into()));
        }
        Ok(Some(needed))
    }

    /// The first request once more, with answers in the order of the questions.
    pub(super) fn retry(&self, first: &Message, answers: &[Value]) -> Result<Message, CallError> {
        let raw = first.raw();
        let body = first
            .body_span()
            .ok_or_else(|| unusable("it has no parameters"))?;
        let params = body.of(raw);
        // Answers and state of an earlier round are void.
        let mut members: Vec<String> = json::members(params)
            .filter(|member| {
                let key = json::text(member.key.of(params));
                !matches!(key.as_deref(), Some("inputResponses" | "requestState"))
            })
            .map(|member| {
                String::from_utf8_lossy(&params[member.key.start..member.value.end]).into_owned()
            })
            .collect();
        if !self.requests.is_empty() {
            let answers: Vec<String> = self
                .requests
                .iter()
                .zip(answers)
                .map(|(request, answer)| {
                    format!("{}:{answer}", String::from_utf8_lossy(&request.key))
                })
                .collect();
            members.push(format!("\"inputResponses\":{{{}}}", answers.join(",")));
        }
        if let Some(state) = &self.state {
            members.push(format!(
                "\"requestState\":{}",
                String::from_utf8_lossy(state)
            ));
        }
        let mut edits = Edits::new();
        edits.replace(body, format!("{{{}}}", members.join(",")));
        Message::parse(first.edited(&edits).into_bytes())
            .map_err(|fault| unusable(&fault.to_string()))
    }
}

/// Why something that a server needs cannot be asked for.
#[derive(Debug, thiserror::Error)]
enum QuestionError {
    #[error(transparent)]
    Fields(#[from] json::FieldError),
    #[error("it asks for something that a client cannot give")]
    NotOurs,
    #[error("its question cannot be read: {0}")]
    Params(#[from] serde_json::Error),
}

fn question(request: &[u8], server: &Arc<str>) -> Result<Question, QuestionError> {
    let [method, params] = json::fields(request, ["method", "params"])?;
    let method = method
        .and_then(|span| Method::from_token(span.of(request)))
        .unwrap_or(Method::Other);
    if !method.asks_for_input() {
        return Err(QuestionError::NotOurs);
    }
    let params = params.map_or(Ok(Value::Null), |span| {
        serde_json::from_slice(span.of(request))
    });
    Ok(Question {
        server: server.clone(),
        method,
        params: params?,
    })
}

fn unusable(why: &str) -> CallError {
    CallError::Refused(ErrorObject::new(
        code::INTERNAL,
        format!("the request cannot be sent again: {why}"),
    ))
}
