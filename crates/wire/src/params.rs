//! The parameters we read: a view over one message's `params`, found in one pass.

use crate::{
    error::{ErrorObject, code},
    json::{self, Edits, Span, ValueKind},
    message::{Kind, Message},
    method::Method,
    reading::{self, Object, Unclear},
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
    /// `params.arguments`
    pub arguments: Option<Span>,
    /// `params.cursor`
    pub cursor: Option<Span>,
    /// `params.level`
    pub level: Option<Span>,
    /// `params.taskId`
    pub task_id: Option<Span>,
    /// `params.task`
    pub task: Option<Span>,
    /// `params.ref`
    pub reference: Option<Span>,
    /// `params.requestId`, or the `id` of an older cancellation.
    pub request_id: Option<Span>,
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
    /// The task that it says it belongs to.
    pub related_task: Option<Span>,
}

/// What a request names, which is what permission is decided about. It comes from
/// [`Params::named`] alone: a method that must name something and does not is an
/// error there, and never "nothing".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// A tool.
    Tool(String),
    /// A prompt, also as the subject of a completion.
    Prompt(String),
    /// A resource or template by its URI, also as the subject of a completion.
    Resource(String),
    /// A task by its id.
    Task(String),
    /// The method is one that names nothing.
    Nothing,
    /// The method is one that we do not know.
    Unknown,
}

impl Named {
    /// The name, URI or id.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Tool(text) | Self::Prompt(text) | Self::Resource(text) | Self::Task(text) => {
                Some(text)
            }
            Self::Nothing | Self::Unknown => None,
        }
    }

    /// The same, taken out.
    pub fn into_text(self) -> Option<String> {
        match self {
            Self::Tool(text) | Self::Prompt(text) | Self::Resource(text) | Self::Task(text) => {
                Some(text)
            }
            Self::Nothing | Self::Unknown => None,
        }
    }

    /// The same under another name.
    pub fn renamed(self, text: String) -> Self {
        match self {
            Self::Tool(_) => Self::Tool(text),
            Self::Prompt(_) => Self::Prompt(text),
            Self::Resource(_) => Self::Resource(text),
            Self::Task(_) => Self::Task(text),
            Self::Nothing | Self::Unknown => self,
        }
    }
}

impl Params {
    /// Reads the parameters of a request or notification, and refuses what another
    /// reader could take for other ones ([`reading`](crate::reading)). A reply has none.
    pub fn of(message: &Message) -> Result<Self, ErrorObject> {
        if message.is_reply() {
            return Ok(Self::default());
        }
        let method = message.method();
        let is_notification = message.kind() == Kind::Notification;
        if method != Method::Other && method.is_notification() != is_notification {
            return Err(wrong_kind(method));
        }
        let Some(body) = message.body_span() else {
            return Ok(Self::default());
        };
        let mut params = Self {
            body: Some(body),
            ..Self::default()
        };
        let raw = body.of(message.raw());
        if raw.first() != Some(&b'{') {
            // Nothing of ours is in the parameters of a method that we do not know.
            return match method {
                Method::Other => Ok(params),
                _ => Err(invalid("\"params\" must be an object")),
            };
        }
        let object = Object::Params(method);
        let places = reading::read(object, raw).map_err(unclear)?;
        for (key, place) in object.keys().iter().zip(places) {
            let Some(span) = place.map(|span| span.shifted(body.start)) else {
                continue;
            };
            if let Some(field) = params.field(key) {
                *field = Some(span);
            }
            match object.holds(key) {
                Some(Object::Meta) => params.read_meta(span, span.of(message.raw()))?,
                Some(inner) => reading::check(inner, span.of(message.raw())).map_err(unclear)?,
                None => {}
            }
        }
        Ok(params)
    }

    /// Where the value of a key of the table is kept.
    fn field(&mut self, key: &str) -> Option<&mut Option<Span>> {
        Some(match key {
            "name" => &mut self.name,
            "arguments" => &mut self.arguments,
            "_meta" => &mut self.meta,
            "uri" => &mut self.uri,
            "cursor" => &mut self.cursor,
            "level" => &mut self.level,
            "taskId" => &mut self.task_id,
            "task" => &mut self.task,
            "ref" => &mut self.reference,
            "requestId" | "id" => &mut self.request_id,
            "requestState" => &mut self.request_state,
            "inputResponses" => &mut self.input_responses,
            _ => return None,
        })
    }

    fn read_meta(&mut self, meta: Span, raw: &[u8]) -> Result<(), ErrorObject> {
        let places = reading::read(Object::Meta, raw).map_err(unclear)?;
        reading::check_inner(Object::Meta, raw, &places).map_err(unclear)?;
        let [
            token,
            version,
            capabilities,
            info,
            level,
            subscription,
            task,
            ..,
        ] = places.map(|span| span.map(|span| span.shifted(meta.start)));
        self.progress_token = token;
        self.protocol_version = version;
        self.client_capabilities = capabilities;
        self.client_info = info;
        self.log_level = level;
        self.subscription_id = subscription;
        self.related_task = task;
        Ok(())
    }

    /// What the request names, and where that stands. A method that must name
    /// something and does not is refused here, before anybody decides about it.
    pub fn named(&self, message: &Message) -> Result<(Named, Option<Span>), ErrorObject> {
        let must = |span: Option<Span>, field: &str| {
            let text = Self::text(message, span, field)?;
            text.ok_or_else(|| invalid(&format!("\"{field}\" is missing")))
        };
        Ok(match message.method() {
            Method::ToolsCall => (Named::Tool(must(self.name, "name")?), self.name),
            Method::PromptsGet => (Named::Prompt(must(self.name, "name")?), self.name),
            Method::ResourcesRead | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                (Named::Resource(must(self.uri, "uri")?), self.uri)
            }
            Method::Complete => self.completed(message)?,
            method if method.is_about_task() => {
                (Named::Task(must(self.task_id, "taskId")?), self.task_id)
            }
            Method::Other => (Named::Unknown, None),
            _ => (Named::Nothing, None),
        })
    }

    /// The id of the task that it says in `_meta` it belongs to, and where that
    /// stands; an error where it stands there as anything but a text.
    pub fn related_to(&self, message: &Message) -> Result<Option<(String, Span)>, ErrorObject> {
        let Some(related) = self.related_task else {
            return Ok(None);
        };
        let [id, ..] =
            reading::read(Object::RelatedTask, related.of(message.raw())).map_err(unclear)?;
        let id = id.map(|id| id.shifted(related.start));
        let text = Self::text(message, id, "taskId")?;
        Ok(text.zip(id))
    }

    /// What a completion is about: its `ref` says of itself which kind it is, and
    /// names one thing.
    fn completed(&self, message: &Message) -> Result<(Named, Option<Span>), ErrorObject> {
        let neither = || invalid("\"ref\" names neither a prompt nor a resource");
        let reference = self.reference.ok_or_else(neither)?;
        let places = reading::read(Object::Reference, reference.of(message.raw()));
        let [kind, name, uri, ..] = places
            .map_err(unclear)?
            .map(|span| span.map(|span| span.shifted(reference.start)));
        let kind = Self::text(message, kind, "ref.type")?;
        Ok(match (kind.as_deref(), name, uri) {
            (Some("ref/prompt"), Some(_), None) => {
                let text = Self::text(message, name, "ref.name")?;
                (Named::Prompt(text.ok_or_else(neither)?), name)
            }
            (Some("ref/resource"), None, Some(_)) => {
                let text = Self::text(message, uri, "ref.uri")?;
                (Named::Resource(text.ok_or_else(neither)?), uri)
            }
            (_, Some(_), Some(_)) => return Err(invalid("\"ref\" names two things")),
            _ => return Err(neither()),
        })
    }

    /// The text of the string at `span`; an error that names `field` if it is no
    /// string, or one that ends sooner for some readers than for us.
    pub fn text(
        message: &Message,
        span: Option<Span>,
        field: &str,
    ) -> Result<Option<String>, ErrorObject> {
        let Some(span) = span else { return Ok(None) };
        match json::text(span.of(message.raw())) {
            Some(text) if text.contains('\0') => {
                Err(invalid(&format!("\"{field}\" has U+0000 in it")))
            }
            Some(text) => Ok(Some(text.into_owned())),
            None => Err(invalid(&format!("\"{field}\" must be a string"))),
        }
    }

    /// The raw bytes at `span`.
    pub fn bytes(message: &Message, span: Option<Span>) -> Option<Bytes> {
        span.map(|span| message.part(span))
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
pub(crate) fn insert_member(edits: &mut Edits, message: &Message, object: Span, member: &str) {
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

/// A request that comes as a notification would be carried out by some servers
/// and decided by nobody; the other way round it could give up a stranger's call.
fn wrong_kind(method: Method) -> ErrorObject {
    let text = if method.is_notification() {
        format!("{} is a notification and has no id", method.as_str())
    } else {
        format!("{} is a request and needs an id", method.as_str())
    };
    ErrorObject::new(code::INVALID_REQUEST, text)
}

fn unclear(fault: Unclear) -> ErrorObject {
    invalid(&fault.to_string())
}

fn invalid(what: &str) -> ErrorObject {
    ErrorObject::new(code::INVALID_PARAMS, format!("Invalid params: {what}"))
}

#[cfg(test)]
mod tests;
