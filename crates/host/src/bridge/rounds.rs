//! A legacy client at a modern server: `input_required` becomes questions to
//! the client, all at once, and their answers a new round of the same request.

use super::{member, request::Retry};
use crate::{
    error::CallError,
    exchange::{Answer, Input},
    limits,
};
use bytes::Bytes;
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc};
use switchboard_local::{hex, random};
use switchboard_wire::{ErrorObject, Id, Kind, Message, Method, Revision, code, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub use crate::limits::ROUNDS;

/// The questions of one round and what has come of them.
#[derive(Clone, Debug)]
pub struct Round {
    shared: Arc<Shared>,
    state: Option<Bytes>,
    asked: usize,
}

#[derive(Debug, Default)]
struct Shared {
    answers: Mutex<Answers>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Answers {
    given: BTreeMap<String, String>,
    /// The client's refusal of something that cannot be refused in the modern era: its own call ends with it.
    refused: Option<ErrorObject>,
}

/// Whether a modern server's result asks for input.
pub fn asks_for_input(message: &Message) -> bool {
    message.kind() == Kind::Response
        && member(&message.body_bytes(), "resultType")
            .is_some_and(|kind| kind.as_ref() == b"\"input_required\"")
}

impl Round {
    /// The questions in an `input_required` result. `over` ends with the call;
    /// `roots` is what is answered about roots without asking the client.
    pub fn open(
        result: &Message,
        server: &Arc<str>,
        revision: Revision,
        over: &CancellationToken,
        roots: Option<&str>,
    ) -> (Self, Vec<Input>) {
        let body = result.body_bytes();
        let shared = Arc::new(Shared::default());
        let requests = member(&body, "inputRequests").unwrap_or_default();
        let mut inputs = Vec::new();
        for question in json::members(&requests) {
            let Some(key) = json::text(question.key.of(&requests)) else {
                continue;
            };
            let raw = requests.slice(question.value.start..question.value.end);
            let Some(message) = as_request(&key, &raw, revision) else {
                continue;
            };
            let (shared, key) = (shared.clone(), key.into_owned());
            if let (Method::RootsList, Some(roots)) = (message.method(), roots) {
                shared.answers.lock().given.insert(key, roots.to_owned());
                continue;
            }
            inputs.push(Input::new(
                message,
                server.clone(),
                over.child_token(),
                move |question, answer| {
                    shared.settle(key, question.method(), answer);
                },
            ));
        }
        let asked = inputs.len() + shared.answers.lock().given.len();
        (
            Self {
                shared,
                state: member(&body, "requestState"),
                asked,
            },
            inputs,
        )
    }

    /// Waits for all answers; what the next round must carry, or how the call ends instead.
    pub async fn answered(&self, round: u32) -> Result<Retry, CallError> {
        if self.asked == 0 {
            // Only a state: the server wants to be asked again later.
            tokio::time::sleep(limits::ROUND_PAUSE * (1 << round.min(6))).await;
            return Ok(Retry {
                state: self.state.clone(),
                ..Retry::default()
            });
        }
        loop {
            let changed = self.shared.changed.notified();
            {
                let answers = self.shared.answers.lock();
                if let Some(error) = &answers.refused {
                    return Err(CallError::Refused(error.clone()));
                }
                if answers.given.len() == self.asked {
                    let members: Vec<String> = answers
                        .given
                        .iter()
                        .map(|(key, value)| format!("{}:{value}", json::quote(key)))
                        .collect();
                    let responses = Some(format!("{{{}}}", members.join(",")));
                    return Ok(Retry {
                        responses,
                        state: self.state.clone(),
                        ..Retry::default()
                    });
                }
            }
            changed.await;
        }
    }
}

impl Shared {
    fn settle(&self, key: String, method: Method, answer: Answer) {
        let mut answers = self.answers.lock();
        match answer {
            Answer::Response(message) if message.kind() == Kind::Response => {
                answers
                    .given
                    .insert(key, String::from_utf8_lossy(message.body()).into_owned());
            }
            _ if method == Method::ElicitationCreate => {
                answers.given.insert(key, "{\"action\":\"cancel\"}".into());
            }
            Answer::Response(message) => {
                let code = message.error_code().unwrap_or(code::INTERNAL);
                let text = message
                    .error_text()
                    .unwrap_or_else(|| "the client refused".into());
                answers.refused = Some(ErrorObject::new(code, text));
            }
            Answer::Refused(error) => answers.refused = Some(error),
        }
        drop(answers);
        self.changed.notify_waiters();
    }
}

/// An input request of the modern era as the request a legacy client knows.
fn as_request(key: &str, raw: &Bytes, revision: Revision) -> Option<Message> {
    let method = member(raw, "method")?;
    let method = Method::from_token(&method).filter(|method| method.asks_for_input())?;
    let params = member(raw, "params").unwrap_or(Bytes::from_static(b"{}"));
    let mut params = String::from_utf8_lossy(&params).into_owned();
    // 2025-11-25 tells the end of a URL elicitation by an id, which modern servers no longer give.
    let url = method == Method::ElicitationCreate
        && revision == Revision::V2025_11_25
        && member(&Bytes::from(params.clone()), "mode")
            .is_some_and(|mode| mode.as_ref() == b"\"url\"");
    if url && member(&Bytes::from(params.clone()), "elicitationId").is_none() {
        // Whoever could guess it could end another's question.
        let random: [u8; 8] = random::bytes().ok()?;
        let id = json::quote(&format!("{key}-{}", hex(random)));
        params = super::object_with(params.as_bytes(), &[], &[("elicitationId", &id)]);
    }
    Some(Message::request(&Id::string(key), method, &params))
}
