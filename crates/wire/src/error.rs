//! JSON-RPC error codes and error objects.

use crate::{id::Id, json::quote, payload::Payload};
use serde_json::Value;

/// Codes that Switchboard produces or understands.
pub mod code {
    /// Not JSON.
    pub const PARSE: i64 = -32700;
    /// Not a JSON-RPC message, or not one allowed here.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Wrong parameters; an unknown tool, prompt or (from 2026-07-28) resource.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something failed on our side or behind us.
    pub const INTERNAL: i64 = -32603;
    /// No such session, beside HTTP's 404; alone, by custom, a time-out.
    pub const SESSION_NOT_FOUND: i64 = -32001;
    /// No such resource, up to 2025-11-25.
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// The HTTP headers contradict the body (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The client did not declare a capability that the request needs (2026-07-28).
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// A protocol version that the server does not speak (2026-07-28).
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// URL elicitation required (2025-11-25 only).
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;

    /// What servers may mean by codes that are theirs to choose. Nobody acts on
    /// that: the documents disagree.
    pub fn possible_meaning(code: i64) -> Option<&'static str> {
        match code {
            -32000 => Some("\"Connection closed\""),
            SESSION_NOT_FOUND => Some("\"Request timeout\""),
            RESOURCE_NOT_FOUND => Some("\"Method not supported\" or \"Resource not found\""),
            -32003 => Some("\"Resource not found\""),
            _ => None,
        }
    }
}

/// An error to be sent as a JSON-RPC response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorObject {
    /// One of [`code`]'s, usually.
    pub code: i64,
    /// One sentence for the reader.
    pub message: String,
    /// Anything a program may want to know.
    pub data: Option<Value>,
}

impl ErrorObject {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The same error with `data`.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// The text of the error object.
    pub fn to_json(&self) -> String {
        let mut out = format!(
            "{{\"code\":{},\"message\":{}",
            self.code,
            quote(&self.message)
        );
        if let Some(data) = &self.data {
            out.push_str(",\"data\":");
            out.push_str(&data.to_string());
        }
        out.push('}');
        out
    }

    /// The whole response. Without an id (the request's could not be read) it is `null`.
    pub fn response(&self, id: Option<&Id>) -> Payload {
        let id = id.map_or("null".into(), |id| String::from_utf8_lossy(id.token()));
        Payload::from(format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}",
            self.to_json()
        ))
    }
}

#[cfg(test)]
mod tests;
