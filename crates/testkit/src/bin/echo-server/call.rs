//! One request on the ordinary path, and its answer as text.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_testkit::json::{self as raw, Message};
use tokio_util::sync::CancellationToken;

use crate::methods;
use crate::world::{Era, Out, Session, World, lock};

/// A request in flight.
pub struct Call {
    pub world: Arc<World>,
    pub session: Arc<Session>,
    /// The stream of this call: stdout, an SSE response, or nowhere.
    pub out: Out,
    pub era: Era,
    /// The id, as written.
    pub id: String,
    pub method: String,
    pub params: Value,
    /// The progress token, as written.
    pub token: Option<String>,
    pub cancel: CancellationToken,
}

/// How a request ends.
pub enum Answer {
    Result(Value),
    Error {
        code: i64,
        message: String,
        data: Option<Value>,
    },
    /// Cancelled: no reply at all.
    Silent,
}

impl Answer {
    pub fn error(code: i64, message: impl Into<String>) -> Self {
        Self::Error {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub fn error_with(code: i64, message: impl Into<String>, data: Value) -> Self {
        Self::Error {
            code,
            message: message.into(),
            data: Some(data),
        }
    }

    /// A tool result with one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Result(json!({"content": [{"type": "text", "text": text.into()}]}))
    }

    /// A tool result that says that the tool failed.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::Result(json!({"content": [{"type": "text", "text": text.into()}], "isError": true}))
    }

    /// The reply as text with this id.
    pub fn render(&self, id: &str) -> Option<String> {
        match self {
            Self::Result(result) => Some(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
            )),
            Self::Error {
                code,
                message,
                data,
            } => {
                let mut error = json!({"code": code, "message": message});
                if let Some(data) = data {
                    error["data"] = data.clone();
                }
                Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
            }
            Self::Silent => None,
        }
    }
}

impl Call {
    /// Reads a request; `None` if it has no id or no method.
    pub fn new(
        world: &Arc<World>,
        session: &Arc<Session>,
        out: Out,
        era: Era,
        message: &Message<'_>,
    ) -> Option<Self> {
        let params = message.params.unwrap_or(b"{}");
        let token = raw::path(params, &["_meta", "progressToken"]);
        Some(Self {
            world: Arc::clone(world),
            session: Arc::clone(session),
            out,
            era,
            id: text(message.id?),
            method: message.method.as_deref()?.to_owned(),
            params: serde_json::from_slice(params).unwrap_or(Value::Null),
            token: token.map(text),
            cancel: CancellationToken::new(),
        })
    }

    /// Runs the request to its answer, with what the modern era adds.
    pub async fn run(self) -> Answer {
        let key = self.id.clone().into_bytes();
        lock(&self.session.in_flight).insert(key.clone(), self.cancel.clone());
        let answer = methods::dispatch(&self).await;
        lock(&self.session.in_flight).remove(&key);
        match answer {
            Answer::Result(result) if self.era == Era::Modern => {
                Answer::Result(methods::modernise(&self.method, result))
            }
            answer => answer,
        }
    }

    /// Reports progress, if the caller gave a token.
    pub fn progress(&self, done: u64, total: u64) {
        if let Some(token) = &self.token {
            self.out.send(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{done},"total":{total}}}}}"#
            ));
        }
    }

    /// A reserved key of the request's `_meta`.
    pub fn meta(&self, key: &str) -> &Value {
        &self.params["_meta"][format!("io.modelcontextprotocol/{key}")]
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
