//! The parameters we read: a view over one message's `params`, found in one pass.

use crate::{
    error::{ErrorObject, code},
    json::{self, Edits, FieldError, Span, ValueKind},
    message::Message,
    meta,
};
use bytes::Bytes;

/// Where the parameters that Switchboard reads are. Spans are within the whole message.
#[derive(Clone, Debug, Default)]
pub struct Params {
    body: Option<Span>,
    /// `params.name`
    pub name: Option<Span>,
    /// `params.uri`
    pub uri: Option<Span>,
    /// `params.cursor`
    pub cursor: Option<Span>,
    /// `params.taskId`
    pub task_id: Option<Span>,
    /// `params.task`
    pub task: Option<Span>,
    /// `params.requestState`
    pub request_state: Option<Span>,
    /// `params.inputResponses`
    pub input_responses: Option<Span>,
    /// `params._meta`
    pub meta: Option<Span>,
    /// `params._meta.progressToken`
    pub progress_token: Option<Span>,
    /// The revision a modern request speaks.
    pub protocol_version: Option<Span>,
    /// What a modern client can do.
    pub client_capabilities: Option<Span>,
    /// Who a modern client is.
    pub client_info: Option<Span>,
    /// The log level a modern request asks for.
    pub log_level: Option<Span>,
    /// Which subscription a modern notification belongs to.
    pub subscription_id: Option<Span>,
}

impl Params {
    /// Reads the parameters of a request or notification.
    pub fn of(message: &Message) -> Result<Self, ErrorObject> {
        let Some(body) = message.body_span() else {
            return Ok(Self::default());
        };
        let raw = body.of(message.raw());
        let [
            name,
            uri,
            cursor,
            task_id,
            task,
            request_state,
            input_responses,
            meta,
        ] = match json::fields(
            raw,
            [
                "name",
                "uri",
                "cursor",
                "taskId",
                "task",
                "requestState",
                "inputResponses",
                "_meta",
            ],
        ) {
            Ok(found) => found.map(|span| span.map(|span: Span| span.shifted(body.start))),
            // Positional parameters: nothing of ours is in them.
            Err(FieldError::NotAnObject) => {
                return Ok(Self {
                    body: Some(body),
                    ..Self::default()
                });
            }
            Err(fault) => return Err(invalid(&fault.to_string())),
        };
        let mut params = Self {
            body: Some(body),
            name,
            uri,
            cursor,
            task_id,
            task,
            request_state,
            input_responses,
            meta,
            ..Self::default()
        };
        if let Some(meta) =
            meta.filter(|meta| ValueKind::of(meta.of(message.raw())) == Some(ValueKind::Object))
        {
            params.read_meta(message, meta)?;
        }
        Ok(params)
    }

    /// What a request of this method names, which the `Mcp-Name` header mirrors:
    /// where it stands, and its text.
    pub fn named(&self, message: &Message) -> Result<(Option<Span>, Option<String>), ErrorObject> {
        let field = message.method().name_header_field();
        let span = match field {
            Some("name") => self.name,
            Some("uri") => self.uri,
            Some("taskId") => self.task_id,
            _ => None,
        };
        let text = Self::text(message, span, field.unwrap_or_default())?;
        Ok((span, text))
    }

    fn read_meta(&mut self, message: &Message, meta: Span) -> Result<(), ErrorObject> {
        let found = json::fields(
            meta.of(message.raw()),
            [
                meta::PROGRESS_TOKEN,
                meta::PROTOCOL_VERSION,
                meta::CLIENT_CAPABILITIES,
                meta::CLIENT_INFO,
                meta::LOG_LEVEL,
                meta::SUBSCRIPTION_ID,
            ],
        )
        .map_err(|fault| invalid(&fault.to_string()))?;
        [
            self.progress_token,
            self.protocol_version,
            self.client_capabilities,
            self.client_info,
            self.log_level,
            self.subscription_id,
        ] = found.map(|span| span.map(|span| span.shifted(meta.start)));
        Ok(())
    }

    /// The text of the string at `span`; an error that names `field` if it is no string.
    pub fn text(
        message: &Message,
        span: Option<Span>,
        field: &str,
    ) -> Result<Option<String>, ErrorObject> {
        let Some(span) = span else { return Ok(None) };
        match json::text(span.of(message.raw())) {
            Some(text) => Ok(Some(text.into_owned())),
            None => Err(invalid(&format!("\"{field}\" must be a string"))),
        }
    }

    /// The raw bytes at `span`.
    pub fn bytes(message: &Message, span: Option<Span>) -> Option<Bytes> {
        span.map(|span| message.raw().slice(span.start..span.end))
    }

    /// Adds to `edits` what sets `_meta`'s `key` to the JSON text `value`, where
    /// `at` is where the key's value is now, if it is there.
    pub fn set_meta(
        &self,
        message: &Message,
        edits: &mut Edits,
        at: Option<Span>,
        key: &str,
        value: &str,
    ) {
        if let Some(span) = at {
            edits.replace(span, value.to_owned());
            return;
        }
        let member = format!("{}:{value}", json::quote(key));
        let is_object =
            |span: Span| ValueKind::of(span.of(message.raw())) == Some(ValueKind::Object);
        match (self.meta, self.body) {
            (Some(meta), _) if is_object(meta) => insert_member(edits, message, meta, &member),
            (None, Some(body)) if is_object(body) => {
                if !join_meta(edits, body.start + 1, &member) {
                    insert_member(edits, message, body, &format!("\"_meta\":{{{member}}}"));
                }
            }
            // No params at all: they go before the closing brace of the message.
            (None, None) => {
                let end = message.raw().len() - 1;
                if !join_meta(edits, end, &member) {
                    let params = format!(",\"params\":{{\"_meta\":{{{member}}}}}");
                    edits.replace(Span::new(end, end), params);
                }
            }
            // `_meta` is there but is no object, or there is no place for it: not ours to repair.
            (Some(_), _) | (None, Some(_)) => {}
        }
    }
}

/// Adds `member` as the first member of the object at `object`, after those that `edits` already add.
pub fn insert_member(edits: &mut Edits, message: &Message, object: Span, member: &str) {
    let inner = object.of(message.raw()).get(1..).unwrap_or_default();
    let empty = inner.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'}');
    let at = object.start + 1;
    let member = match (empty, edits.insertions(at).next()) {
        (false, _) => format!("{member},"),
        (true, None) => member.to_owned(),
        (true, Some(_)) => format!(",{member}"),
    };
    edits.replace(Span::new(at, at), member);
}

/// Puts `member` into the `_meta` that an earlier edit inserts at `at`; false if there is none.
fn join_meta(edits: &mut Edits, at: usize, member: &str) -> bool {
    const HEADS: [&[u8]; 3] = [b"\"_meta\":{", b",\"_meta\":{", b",\"params\":{\"_meta\":{"];
    for inserted in edits.insertions(at) {
        let Some(head) = HEADS.iter().find(|head| inserted.starts_with(head)) else {
            continue;
        };
        let tail = &inserted[head.len()..];
        let comma = if tail.trim_ascii_start().starts_with(b"}") {
            ""
        } else {
            ","
        };
        *inserted = [head, member.as_bytes(), comma.as_bytes(), tail]
            .concat()
            .into();
        return true;
    }
    false
}

fn invalid(what: &str) -> ErrorObject {
    ErrorObject::new(code::INVALID_PARAMS, format!("Invalid params: {what}"))
}

#[cfg(test)]
mod tests;
