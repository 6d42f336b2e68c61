//! The envelope: one JSON-RPC message as the bytes that came, with the places
//! of its parts.

use crate::{
    error::{ErrorObject, code},
    id::Id,
    json::{self, Checked, Edits, Said, Span, SyntaxError, ValueKind},
    limits,
    method::Method,
    payload::Payload,
    reading::Object,
};
use bytes::Bytes;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Has an id and a method.
    Request,
    /// Has a method, no id.
    Notification,
    /// Has an id and a result.
    Response,
    /// Has an error, and usually an id.
    Error,
}

/// One message. Cheap to clone: the bytes are shared.
#[derive(Clone, Debug)]
pub struct Message {
    raw: Bytes,
    kind: Kind,
    id: Option<Span>,
    method: Method,
    method_token: Span,
    body: Option<Span>,
    is_error: bool,
}

/// One message or, where the revision has them, a batch.
#[derive(Clone, Debug)]
pub enum Received {
    /// A single message.
    One(Message),
    /// An array of messages; each of them may be bad on its own.
    Batch(Vec<Result<Message, ParseError>>),
}

/// Why bytes are not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The bytes are not UTF-8.
    #[error("not UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    NotJson(#[from] SyntaxError),
    /// JSON, but no JSON-RPC message. The id is kept where it could be read.
    #[error("not a JSON-RPC message: {what}")]
    Invalid {
        /// What is wrong.
        what: String,
        /// The id to answer under.
        id: Option<Id>,
    },
    /// It is longer than messages may be, and was not kept.
    #[error("it is longer than {0} bytes, the most that a message may have")]
    TooLong(usize),
}

impl ParseError {
    /// The error to answer with.
    pub fn to_error(&self) -> ErrorObject {
        let code = match self {
            Self::NotUtf8(_) | Self::NotJson(_) => code::PARSE,
            Self::Invalid { .. } | Self::TooLong(_) => code::INVALID_REQUEST,
        };
        ErrorObject::new(code, self.to_string())
    }

    /// The id of the message that could not be read, if that much was clear.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Invalid { id, .. } => id.as_ref(),
            _ => None,
        }
    }
}

impl Received {
    /// Reads a message or a batch.
    pub fn parse(raw: Bytes) -> Result<Self, ParseError> {
        let checked = check(&raw)?;
        let (span, kind, ..) = checked;
        if kind != ValueKind::Array {
            return Message::from_checked(raw, checked).map(Self::One);
        }
        let raw = raw.slice(span.start..span.end);
        let mut batch = Vec::new();
        for span in json::elements(&raw) {
            if batch.len() == limits::BATCH_MESSAGES {
                return Err(invalid(
                    format!("a batch holds at most {} messages", limits::BATCH_MESSAGES),
                    None,
                ));
            }
            batch.push(Message::parse(raw.slice(span.start..span.end)));
        }
        if batch.is_empty() {
            return Err(invalid("the batch is empty".into(), None));
        }
        Ok(Self::Batch(batch))
    }
}

/// The id, if it is one; `null` is none where it may stand.
fn usable_id(
    raw: &[u8],
    id: Option<Span>,
    may_be_null: bool,
) -> Result<Option<Span>, &'static str> {
    let Some(span) = id else { return Ok(None) };
    match ValueKind::of(span.of(raw)) {
        Some(ValueKind::String | ValueKind::Number) if span.len() <= limits::ID_BYTES => {
            Ok(Some(span))
        }
        Some(ValueKind::String | ValueKind::Number) => Err("the id is too long"),
        Some(ValueKind::Null) if may_be_null => Ok(None),
        _ => Err("the id must be a string or a number"),
    }
}

fn request_text(id: &Id, method: Method, params: &str) -> String {
    let (id, method) = (String::from_utf8_lossy(id.token()), method.as_str());
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}")
}

fn response_text(id: &Id, result: &str) -> String {
    let id = String::from_utf8_lossy(id.token());
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
}

impl Message {
    /// Reads one message; a batch is an error.
    pub fn parse(raw: Bytes) -> Result<Self, ParseError> {
        let checked = check(&raw)?;
        Self::from_checked(raw, checked)
    }

    fn from_checked(raw: Bytes, checked: Checked) -> Result<Self, ParseError> {
        let (span, kind, found, said) = checked;
        // Nothing stands around most messages; then the spans are right as they are.
        let (raw, found) = match span.start {
            0 => (raw.slice(..span.end), found),
            _ => {
                let raw = raw.slice(span.start..span.end);
                let found = found.map(|spans| spans.map(|at| at.map(|at| at.within(span))));
                (raw, found)
            }
        };
        match kind {
            ValueKind::Object => {}
            ValueKind::Array => return Err(invalid("a batch is not allowed here".into(), None)),
            _ => return Err(invalid("expected an object".into(), None)),
        }
        let [version, id, method, params, result, error, ..] =
            found.map_err(|fault| invalid(fault.to_string(), sole_id(&raw)))?;

        let may_be_null = error.is_some() && method.is_none();
        let (id, id_fault) = match usable_id(&raw, id, may_be_null) {
            Ok(id) => (id, None),
            Err(what) => (None, Some(what)),
        };
        let fault = |what: &str| {
            let id = id.map(|span| Id::from_token(raw.slice(span.start..span.end)));
            Err(invalid(what.into(), id))
        };
        if version.is_none_or(|span| json::text(span.of(&raw)).is_none_or(|v| v != "2.0")) {
            return fault("\"jsonrpc\" must be \"2.0\"");
        }
        if let Some(what) = id_fault {
            return fault(what);
        }
        let (kind, body) = match (method, result, error) {
            (Some(_), None, None) => (
                if id.is_some() {
                    Kind::Request
                } else {
                    Kind::Notification
                },
                params,
            ),
            (None, Some(_), None) if id.is_some() => (Kind::Response, result),
            (None, None, Some(_)) => (Kind::Error, error),
            (None, Some(_), None) => return fault("a result needs an id"),
            (None, None, None) => return fault("\"method\" is missing"),
            _ => return fault("exactly one of \"method\", \"result\" and \"error\" is allowed"),
        };
        if let (Some(_), Some(span)) = (method, params)
            && !matches!(
                ValueKind::of(span.of(&raw)),
                Some(ValueKind::Object | ValueKind::Array)
            )
        {
            return fault("\"params\" must be an object");
        }
        let is_error = fails(kind, &raw, body, said.from(span.start));
        let method_token = method.unwrap_or(Span::new(0, 0));
        let method = match method {
            Some(span) if ValueKind::of(span.of(&raw)) != Some(ValueKind::String) => {
                return fault("\"method\" must be a string");
            }
            Some(span) => match Method::read(span.of(&raw)) {
                Ok(method) => method,
                Err(unclear) => return fault(&unclear.to_string()),
            },
            None => Method::Other,
        };
        Ok(Self {
            raw,
            kind,
            id,
            method,
            method_token,
            body,
            is_error,
        })
    }

    /// A request of our own, of parameters that we wrote. Others' are for
    /// [`request_of`](Self::request_of).
    pub fn request(id: &Id, method: Method, params: &str) -> Self {
        Self::built(request_text(id, method, params))
    }

    /// A request with parameters that somebody else wrote: they may be no JSON, or nested
    /// deeper than a message may be.
    pub fn request_of(id: &Id, method: Method, params: &str) -> Result<Self, ParseError> {
        Self::parse(request_text(id, method, params).into())
    }

    /// A notification of our own. `params` must be JSON text, or empty for none.
    pub fn notification(method: Method, params: &str) -> Self {
        let (comma, params) = if params.is_empty() {
            ("", String::new())
        } else {
            (",", format!("\"params\":{params}"))
        };
        Self::built(format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"{comma}{params}}}",
            method.as_str()
        ))
    }

    /// A response of our own, of a result that we wrote. Others' are for
    /// [`response_of`](Self::response_of).
    pub fn response(id: &Id, result: &str) -> Self {
        Self::built(response_text(id, result))
    }

    /// A response with a result that somebody else wrote.
    pub fn response_of(id: &Id, result: &str) -> Result<Self, ParseError> {
        Self::parse(response_text(id, result).into())
    }

    /// An error response of our own.
    pub fn error(id: Option<&Id>, error: &ErrorObject) -> Self {
        Self::built_from(error.response(id).into_bytes())
    }

    fn built(text: String) -> Self {
        Self::built_from(Bytes::from(text))
    }

    fn built_from(raw: Bytes) -> Self {
        Self::parse(raw.clone()).unwrap_or_else(|fault| {
            debug_assert!(false, "we built a message that we cannot read: {fault}");
            Self {
                raw,
                kind: Kind::Error,
                id: None,
                method: Method::Other,
                method_token: Span::new(0, 0),
                body: None,
                is_error: true,
            }
        })
    }

    /// All of it, as it came.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The same message, with its bytes in the care of somebody who counts them.
    /// The bytes must stay as they are.
    pub fn kept(mut self, keep: impl FnOnce(Bytes) -> Bytes) -> Self {
        self.raw = keep(self.raw);
        self
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The id, where there is one.
    pub fn id(&self) -> Option<Id> {
        self.id.map(|span| Id::from_token(self.part(span)))
    }

    /// A part of it. A small one of a large message is a copy: it may be kept for
    /// long, and must not keep the rest in memory.
    pub(crate) fn part(&self, span: Span) -> Bytes {
        if self.raw.len() >= limits::LARGE_BYTES && span.len() < self.raw.len() / 2 {
            Bytes::copy_from_slice(span.of(&self.raw))
        } else {
            self.raw.slice(span.start..span.end)
        }
    }

    /// Where the id is.
    pub fn id_span(&self) -> Option<Span> {
        self.id
    }

    /// The id's value if it is a number exactly as we write ours.
    pub fn own_id(&self) -> Option<u64> {
        crate::id::own_number(self.id?.of(&self.raw))
    }

    /// The method of a request or notification.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The method's name, also of one that we do not know.
    pub fn method_name(&self) -> String {
        if self.method != Method::Other {
            return self.method.as_str().into();
        }
        let token = self.method_token.of(&self.raw);
        json::text(token).map_or_else(
            || String::from_utf8_lossy(token).into_owned(),
            std::borrow::Cow::into_owned,
        )
    }

    /// Where `params`, `result` or `error` is.
    pub fn body_span(&self) -> Option<Span> {
        self.body
    }

    /// The text of `params`, `result` or `error`; `{}` when there is none.
    pub fn body(&self) -> &[u8] {
        self.body.map_or(b"{}", |span| span.of(&self.raw))
    }

    /// The same as [`body`](Self::body), sharing the message's bytes.
    pub fn body_bytes(&self) -> Bytes {
        self.body.map_or(Bytes::from_static(b"{}"), |span| {
            self.raw.slice(span.start..span.end)
        })
    }

    /// Whether it is an error, or a result that says, once, that it is one (`isError`).
    pub fn is_failure(&self) -> bool {
        self.is_error
    }

    /// Whether this is a reply.
    pub fn is_reply(&self) -> bool {
        matches!(self.kind, Kind::Response | Kind::Error)
    }

    /// The `code` of an error.
    pub fn error_code(&self) -> Option<i64> {
        if self.kind != Kind::Error {
            return None;
        }
        let span = json::field(self.body(), "code").ok()??;
        std::str::from_utf8(span.of(self.body())).ok()?.parse().ok()
    }

    /// The `message` of an error.
    pub fn error_text(&self) -> Option<String> {
        if self.kind != Kind::Error {
            return None;
        }
        let span = json::field(self.body(), "message").ok()??;
        json::text(span.of(self.body())).map(std::borrow::Cow::into_owned)
    }

    /// Edits that give the message another id and nothing else.
    pub fn with_id(&self, id: &Id) -> Edits {
        let mut edits = Edits::new();
        if let Some(span) = self.id {
            edits.replace(span, id.token().clone());
        }
        edits
    }

    /// The same answer under this id. A peer that could not read a request
    /// answers without an id, or with `null`; whoever asked goes by theirs.
    pub fn under(&self, id: &Id) -> Self {
        let mut edits = Edits::new();
        match json::field(&self.raw, "id") {
            Ok(Some(span)) => edits.replace(span, id.token().clone()),
            _ => {
                let token = String::from_utf8_lossy(id.token());
                edits.replace(Span::new(0, 1), format!("{{\"id\":{token},"))
            }
        };
        let raw = self.edited(&edits).into_bytes();
        Self::parse(raw).unwrap_or_else(|_| self.clone())
    }

    /// The bytes to send when `edits` (spans within the whole message) are applied.
    pub fn edited(&self, edits: &Edits) -> Payload {
        edits.apply(&self.raw)
    }

    /// The message itself, to be sent as it came.
    pub fn payload(&self) -> Payload {
        Payload::from(self.raw.clone())
    }
}

/// The id (a number of ours) of a reply that cannot be read as a whole, if it
/// comes before the fault: whoever waits for it can then be told.
pub fn salvage_id(raw: &[u8]) -> Option<u64> {
    let mut id = None;
    for member in json::members(raw) {
        match json::text(member.key.of(raw)).as_deref() {
            // Two ids, or not a reply: nobody is to be blamed for it.
            Some("id") if id.is_some() => return None,
            Some("method") => return None,
            // At the very end more digits may have been cut off.
            Some("id") => id = Some(member.value).filter(|value| value.end < raw.len()),
            _ => {}
        }
    }
    crate::id::own_number(id?.of(raw))
}

/// Whether a message is an error, or a result that says it is one.
fn fails(kind: Kind, raw: &[u8], body: Option<Span>, said: Said) -> bool {
    match kind {
        Kind::Error => true,
        Kind::Response => body.is_some_and(|body| said.is_error(raw, body)),
        Kind::Request | Kind::Notification => false,
    }
}

fn check(raw: &[u8]) -> Result<Checked, ParseError> {
    Ok(json::check_places(raw, Object::Envelope.keys())?)
}

/// The id of a message that is refused for another reason, so that its sender
/// can be told.
fn sole_id(raw: &Bytes) -> Option<Id> {
    let [id, ..] = json::places(raw, &["id"]).ok()?;
    let span = id?;
    let kind = ValueKind::of(span.of(raw))?;
    (matches!(kind, ValueKind::String | ValueKind::Number) && span.len() <= limits::ID_BYTES)
        .then(|| Id::from_token(raw.slice(span.start..span.end)))
}

fn invalid(what: String, id: Option<Id>) -> ParseError {
    ParseError::Invalid { what, id }
}

#[cfg(test)]
mod tests;
