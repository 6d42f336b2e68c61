//! What is said to a request, as it is compared.

use super::super::{
    Answer, Between, Call, Incomparable,
    asked::{comparable, exact_tree, without_hop},
    redact,
};
use crate::limits;
use bytes::Bytes;
use serde_json::{Value, json};
use switchboard_host::CallError;
use switchboard_wire::{ErrorObject, Kind, Method, ParseError, meta};

/// Why there is no answer to compare.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unanswered {
    /// What was recorded, or what came, cannot be compared.
    #[error(transparent)]
    Compared(#[from] Incomparable),
    /// What was recorded is no request.
    #[error(transparent)]
    Request(#[from] ParseError),
    /// Its parameters cannot be read.
    #[error("{}", .0.message)]
    Params(ErrorObject),
    /// The server says more before its answer than is ever recorded.
    #[error("before its answer it says more than can be compared")]
    TooMuch,
    /// The call failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// What was said to a request.
#[derive(Default)]
pub(super) struct Said {
    notices: Vec<Value>,
    questions: Vec<Value>,
    /// How much of those was read.
    bytes: usize,
    pub(super) answer: Value,
}

impl Said {
    /// The server asks something. For roots it may ask at any time.
    pub(super) fn asks(&mut self, method: &str, params: Option<&Bytes>) -> Result<(), Unanswered> {
        if Method::parse(method) != Method::RootsList {
            self.holds(params)?;
            self.questions.push(question_of(method, params)?);
        }
        Ok(())
    }

    /// The server says something.
    pub(super) fn says(&mut self, method: &str, params: Option<&Bytes>) -> Result<(), Unanswered> {
        self.holds(params)?;
        self.notices.push(notice_of(method, params)?);
        Ok(())
    }

    /// Counts what is kept to be compared: a server may talk without an end.
    fn holds(&mut self, params: Option<&Bytes>) -> Result<(), Unanswered> {
        self.bytes += params.map_or(0, Bytes::len);
        let parts = self.notices.len() + self.questions.len();
        if parts >= limits::CASSETTE_BETWEEN || self.bytes > limits::CASSETTE_OPEN_BYTES {
            return Err(Unanswered::TooMuch);
        }
        Ok(())
    }

    pub(super) fn value(self) -> Value {
        let mut value = self.answer;
        if let Some(whole) = value.as_object_mut() {
            whole.insert("notices".to_owned(), Value::Array(self.notices));
            whole.insert("questions".to_owned(), Value::Array(self.questions));
        }
        value
    }
}

/// What was recorded, as it is compared.
pub(super) fn recorded(call: &Call) -> Result<Value, Unanswered> {
    let mut said = Said::default();
    for between in &call.between {
        match between {
            Between::Notice(notice) => {
                said.says(&notice.method, notice.params.as_ref())?;
            }
            Between::Question(question) => {
                said.asks(&question.method, question.params.as_ref())?;
            }
        }
    }
    said.answer = match &call.answer {
        Answer::Result(raw) => answer_of(Kind::Response, raw)?,
        Answer::Error(raw) => answer_of(Kind::Error, raw)?,
    };
    Ok(said.value())
}

/// Something that was said during a call, without its token.
fn notice_of(method: &str, params: Option<&Bytes>) -> Result<Value, Incomparable> {
    let mut value = question_of(method, params)?;
    if let Some(params) = value["params"].as_object_mut() {
        params.shift_remove(meta::PROGRESS_TOKEN);
    }
    Ok(value)
}

fn question_of(method: &str, params: Option<&Bytes>) -> Result<Value, Incomparable> {
    Ok(json!({"method": method, "params": comparable(params)?}))
}

pub(super) fn answer_of(kind: Kind, raw: &Bytes) -> Result<Value, Incomparable> {
    let mut value = exact_tree(&redact(raw))?;
    if let Some(object) = value.as_object_mut() {
        without_hop(object, &[meta::SERVER_INFO]);
    }
    let key = if kind == Kind::Error {
        "error"
    } else {
        "result"
    };
    Ok(json!({ key: value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_talks_without_an_end_is_not_listened_to_for_ever() {
        let params = Bytes::from_static(b"{}");
        let mut said = Said::default();
        for _ in 0..limits::CASSETTE_BETWEEN {
            said.says("notifications/message", Some(&params))
                .expect("so much is compared");
        }
        let fault = said.says("notifications/message", Some(&params));
        let fault = fault.expect_err("an end").to_string();
        assert!(fault.contains("more than can be compared"), "{fault}");
        // What is counted is not read, which would take its time.
        let large = Bytes::from(vec![b' '; limits::CASSETTE_OPEN_BYTES / 4]);
        let mut said = Said::default();
        let held = (0..5).take_while(|_| said.holds(Some(&large)).is_ok());
        assert_eq!(held.count(), 4);
    }
}
