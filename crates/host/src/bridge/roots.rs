//! The roots of an entry towards a modern server: each request says that there are
//! some, and what the server asks about them is answered here. What else it asks is
//! the client's, who comes back with the rest of the answers.

use super::{member, object_with, request::with_params};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;
use switchboard_wire::{Edits, ErrorObject, Message, Method, Params, code, json as text};

/// What a state begins with in which we have noted what is ours to answer. It holds
/// no secret and gives nobody anything: whoever writes one can have the server told
/// its own roots, and no more.
const NOTED: &str = "switchboard-roots:";

/// What we keep in the client's hands between two rounds.
#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    /// The keys of the questions about roots.
    keys: Vec<String>,
    /// The text of the server's own state.
    state: Option<String>,
}

/// The result of `roots/list`.
pub(crate) fn answer(roots: &[String]) -> String {
    let roots: Vec<_> = roots.iter().map(|uri| json!({ "uri": uri })).collect();
    json!({ "roots": roots }).to_string()
}

/// The capabilities of a request, with roots among them.
pub(crate) fn declared(capabilities: &[u8]) -> String {
    object_with(capabilities, &[], &[("roots", "{}")])
}

/// A modern client's request as a server with roots gets it: it says that there are
/// some, and where it comes back with answers, ours are among them.
pub(crate) fn told(message: &Message, answer: &str) -> Result<Message, ErrorObject> {
    let params = Params::of(message)?;
    let mut edits = Edits::new();
    if let Some(span) = params.client_capabilities {
        edits.replace(span, declared(span.of(message.raw())));
    }
    let message =
        Message::parse(message.edited(&edits).into_bytes()).map_err(|fault| fault.to_error())?;
    let body = message.body_bytes();
    let state = member(&body, "requestState").and_then(|raw| text::text(&raw).map(String::from));
    let Some(noted) = state.as_deref().and_then(|it| it.strip_prefix(NOTED)) else {
        return Ok(message);
    };
    let noted: Noted = serde_json::from_str(noted).map_err(|_| not_valid())?;
    let responses = member(&body, "inputResponses").unwrap_or(Bytes::from_static(b"{}"));
    let ours: Vec<(&str, &str)> = noted.keys.iter().map(|key| (&**key, answer)).collect();
    let responses = object_with(&responses, &[], &ours);
    Ok(again(&message, &responses, noted.state.as_deref()))
}

/// The same request, for the next round.
fn again(message: &Message, responses: &str, state: Option<&str>) -> Message {
    let mut set = vec![("inputResponses", responses)];
    set.extend(state.map(|state| ("requestState", state)));
    let body = message.body_bytes();
    with_params(message, &object_with(&body, &["requestState"], &set))
}

/// Questions about roots in a modern server's result.
#[derive(Debug)]
pub(crate) struct Asked {
    keys: Vec<String>,
    state: Option<String>,
    requests: Bytes,
    /// Whether nothing else is asked.
    pub(crate) alone: bool,
}

impl Asked {
    /// Those in this result, if there are any.
    pub(crate) fn of(result: &Message) -> Option<Self> {
        if !super::rounds::asks_for_input(result) {
            return None;
        }
        let body = result.body_bytes();
        let requests = member(&body, "inputRequests")?;
        let (mut keys, mut alone) = (Vec::new(), true);
        for question in text::members(&requests) {
            let raw = requests.slice(question.value.start..question.value.end);
            let method = member(&raw, "method").and_then(|method| Method::from_token(&method));
            let key = text::text(question.key.of(&requests));
            match (method, key) {
                (Some(Method::RootsList), Some(key)) => keys.push(key.into_owned()),
                _ => alone = false,
            }
        }
        let state = member(&body, "requestState");
        let state = state.map(|state| String::from_utf8_lossy(&state).into_owned());
        (!keys.is_empty()).then_some(Self {
            keys,
            state,
            requests,
            alone,
        })
    }

    /// The request with our answers, where nothing else was asked.
    pub(crate) fn answered(&self, message: &Message, answer: &str) -> Message {
        let ours: Vec<(&str, &str)> = self.keys.iter().map(|key| (&**key, answer)).collect();
        again(
            message,
            &object_with(b"{}", &[], &ours),
            self.state.as_deref(),
        )
    }

    /// The result as the client gets it: with what is left to it, and what it has
    /// to bring back.
    pub(crate) fn left(self, result: &Message) -> Message {
        let keys: Vec<&str> = self.keys.iter().map(String::as_str).collect();
        let requests = object_with(&self.requests, &keys, &[]);
        let noted = Noted {
            keys: self.keys.clone(),
            state: self.state,
        };
        let noted = serde_json::to_string(&noted).unwrap_or_default();
        let state = text::quote(&format!("{NOTED}{noted}"));
        let set = [("inputRequests", &*requests), ("requestState", &*state)];
        let body = object_with(&result.body_bytes(), &[], &set);
        let mut edits = Edits::new();
        if let Some(span) = result.body_span() {
            edits.replace(span, body);
        }
        // What we compose from checked parts can be read again.
        Message::parse(result.edited(&edits).into_bytes()).unwrap_or_else(|_| result.clone())
    }
}

fn not_valid() -> ErrorObject {
    let text = "this requestState is not valid here; ask again without it";
    ErrorObject::new(code::INVALID_PARAMS, text)
}
