//! The dialect's messages. What a tool is given and what it returns cross as
//! the bytes they are.

use super::super::{body::Body, reply};
use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::json;
use switchboard_wire::{
    Payload, Span,
    json::{self as text, ValueKind},
};

/// A message of a client's, read as far as it must be to answer it.
pub(super) struct Envelope {
    raw: Bytes,
    id: Option<Span>,
    kind: Option<Span>,
    content: Option<Span>,
    client_id: Option<Span>,
}

/// What is asked for.
pub(super) struct Invocation {
    pub name: String,
    /// A JSON object.
    pub parameters: Bytes,
}

/// Why there is no result.
pub(super) struct Failure {
    status: StatusCode,
    error: &'static str,
    code: &'static str,
    message: String,
}

impl Invocation {
    /// Reads a message; everything that it does not hold is missing, not wrong.
    pub(super) fn envelope(raw: Bytes) -> Result<Envelope, Failure> {
        if std::str::from_utf8(&raw).is_err() {
            return Err(Failure::malformed("the body is not UTF-8"));
        }
        let raw = match text::check(&raw) {
            Ok((span, ValueKind::Object)) => raw.slice(span.start..span.end),
            Ok(_) => return Err(Failure::malformed("the body must be a JSON object")),
            Err(fault) => return Err(Failure::malformed(format!("the body is not JSON: {fault}"))),
        };
        let [id, kind, content, client_id] =
            text::fields(&raw, ["id", "type", "content", "clientId"])
                .map_err(|fault| Failure::malformed(fault.to_string()))?;
        let scalar = |span: &Span| {
            matches!(
                ValueKind::of(span.of(&raw)),
                Some(ValueKind::String | ValueKind::Number)
            ) && span.len() <= 1024
        };
        let id = id.filter(scalar);
        Ok(Envelope {
            id,
            kind,
            content,
            client_id,
            raw,
        })
    }
}

impl Envelope {
    fn text(&self, span: Option<Span>) -> Option<String> {
        text::text(span?.of(&self.raw)).map(String::from)
    }

    pub(super) fn client_id(&self) -> Option<String> {
        self.text(self.client_id)
    }

    pub(super) fn invocation(&self) -> Result<Invocation, Failure> {
        match self.text(self.kind).as_deref() {
            Some("invoke_tool") => {}
            Some(other) => {
                return Err(Failure::malformed(format!(
                    "\"type\" {other:?} is unknown; there is invoke_tool"
                )));
            }
            None => return Err(Failure::malformed("\"type\" is missing")),
        }
        let missing =
            || Failure::malformed("\"content\" must be an object with \"name\" and \"parameters\"");
        let content = self.content.ok_or_else(missing)?.of(&self.raw);
        if ValueKind::of(content) != Some(ValueKind::Object) {
            return Err(missing());
        }
        let [name, parameters] = text::fields(content, ["name", "parameters"])
            .map_err(|fault| Failure::malformed(fault.to_string()))?;
        let name = name
            .and_then(|span| text::text(span.of(content)))
            .ok_or_else(missing)?
            .into_owned();
        let parameters = match parameters.map(|span| span.of(content)) {
            None => Bytes::from_static(b"{}"),
            Some(raw) if ValueKind::of(raw) == Some(ValueKind::Object) => self.raw.slice_ref(raw),
            Some(_) => return Err(Failure::parameters("\"parameters\" must be an object")),
        };
        Ok(Invocation { name, parameters })
    }

    fn id(&self) -> Bytes {
        self.id.map_or(Bytes::from_static(b"null"), |span| {
            self.raw.slice(span.start..span.end)
        })
    }

    /// The answer to an invocation that went well.
    pub(super) fn result(&self, result: &Bytes) -> Payload {
        let mut message = Payload::default();
        message.push("{\"id\":");
        message.push(self.id());
        message.push(",\"type\":\"tool_result\",\"content\":");
        message.push(result.clone());
        message.push("}");
        message
    }

    /// What the stream says about one that did not.
    pub(super) fn error(&self, failure: &Failure) -> Payload {
        let error = json!({ "message": failure.message, "code": failure.code });
        let id = String::from_utf8_lossy(&self.id()).into_owned();
        Payload::from(format!(
            "{{\"id\":{id},\"type\":\"error\",\"error\":{error}}}"
        ))
    }
}

impl Failure {
    fn new(
        status: StatusCode,
        error: &'static str,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status,
            error,
            code,
            message: message.into(),
        }
    }

    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "Invalid request",
            "INVALID_PARAMETERS",
            message,
        )
    }

    pub(super) fn parameters(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "Invalid parameters",
            "INVALID_PARAMETERS",
            message,
        )
    }

    pub(super) fn unknown_tool(name: &str) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "Tool not found",
            "TOOL_NOT_FOUND",
            format!("Tool '{name}' not found"),
        )
    }

    pub(super) fn unknown_client() -> Self {
        let text = "Your session may have expired";
        Self::new(
            StatusCode::BAD_REQUEST,
            "No active SSE connection",
            "INVALID_CLIENT",
            text,
        )
    }

    pub(super) fn gone() -> Self {
        let text = "the event stream was closed during the call";
        Self::new(
            StatusCode::BAD_REQUEST,
            "No active SSE connection",
            "INVALID_CLIENT",
            text,
        )
    }

    pub(super) fn execution(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Tool execution failed",
            "EXECUTION_ERROR",
            message,
        )
    }

    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The answer by HTTP.
    pub(super) fn response(&self) -> Response<Body> {
        let text = json!({ "error": self.error, "message": self.message }).to_string();
        reply::json(self.status, Payload::from(text))
    }
}
