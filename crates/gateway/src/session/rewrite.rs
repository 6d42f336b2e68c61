//! What the aggregate changes on the way to a client and back: URIs that would
//! not lead back to their server, ids of tasks, and the name of the server in
//! front of a question.

use crate::gateway::Gateway;
use std::sync::Arc;
use switchboard_host::{
    Client, Input, Notice, Reply,
    catalog::{is_page, task},
};
use switchboard_wire::{Edits, Kind, Message, Method, Params, Payload, Span, json, meta};

/// An answer of `server`'s as a client of all servers gets it, apart from the
/// places that have been changed already.
pub(super) fn reply(
    gateway: &Gateway,
    client: &Arc<Client>,
    server: &Arc<str>,
    method: Method,
    reply: &mut Reply,
    changed: &[Span],
) {
    if reply.message.kind() != Kind::Response {
        return;
    }
    let Some(body) = reply.message.body_span() else {
        return;
    };
    let raw = reply.message.raw().clone();
    let mut found = Found::in_result(&raw, body, method);
    let is_left = |uri: &Span| {
        !changed
            .iter()
            .any(|done| done.start <= uri.start && uri.end <= done.end)
    };
    found.uris.retain(is_left);
    found.change(gateway, client, server, &raw, &mut reply.edits);
}

/// The address under which a client of all servers can read what `server` calls this.
pub(super) fn outward(gateway: &Gateway, client: &Client, server: &Arc<str>, uri: &str) -> String {
    let host = gateway.host();
    let outward = host
        .known_routes(client)
        .outward(&host.namer(), server, uri);
    outward.unwrap_or_else(|| uri.to_owned())
}

/// What has to change in a message.
#[derive(Default)]
struct Found {
    uris: Vec<Span>,
    tasks: Vec<Span>,
    /// The words of elicitations.
    questions: Vec<Span>,
}

impl Found {
    fn change(
        self,
        gateway: &Gateway,
        client: &Client,
        server: &Arc<str>,
        raw: &[u8],
        edits: &mut Edits,
    ) {
        for span in self.tasks {
            outward_task(gateway, server, raw, span, edits);
        }
        for span in self.questions {
            name_in_front(server, raw, span, edits);
        }
        if self.uris.is_empty() {
            return;
        }
        let (host, routes) = (gateway.host(), gateway.host().known_routes(client));
        for span in self.uris {
            let uri = json::text(span.of(raw));
            let outward = uri.and_then(|uri| routes.outward(&host.namer(), server, &uri));
            if let Some(outward) = outward {
                edits.replace(span, json::quote(&outward));
            }
        }
    }

    fn in_notice(message: &Message, params: &Params) -> Self {
        let (mut found, raw) = (Self::default(), message.raw());
        match (message.method(), message.body_span()) {
            (Method::TaskNews, Some(body)) => found.task(raw, body),
            (method, _) => {
                let task = params.task_id.filter(|_| method.tells_of_task());
                let related = params.meta.and_then(|meta| related(raw, meta));
                found.tasks.extend(task.into_iter().chain(related));
                found
                    .uris
                    .extend(params.uri.filter(|_| method == Method::ResourceUpdated));
            }
        }
        found
    }

    fn in_result(raw: &[u8], body: Span, method: Method) -> Self {
        let mut found = Self::default();
        match method {
            Method::ToolsCall | Method::TasksResult => found.tool_result(raw, body),
            Method::TasksGet | Method::TasksCancel => found.task(raw, body),
            Method::ResourcesRead => {
                each(raw, body, "contents", &mut |item| {
                    found.uris.extend(at(raw, item, "uri"));
                });
                found.questions(raw, body);
            }
            Method::PromptsGet => {
                each(raw, body, "messages", &mut |message| {
                    if let Some(content) = at(raw, message, "content") {
                        content_uri(raw, content, &mut found.uris);
                    }
                });
                found.questions(raw, body);
            }
            _ => {}
        }
        found
    }

    /// A tool's result, the task that comes instead of it, or what it asks first.
    fn tool_result(&mut self, raw: &[u8], body: Span) {
        let names = ["content", "_meta", "task", "resultType", "taskId"];
        let Ok(fields) = json::fields(body.of(raw), names) else {
            return;
        };
        let [content, meta, legacy, kind, id] =
            fields.map(|span| span.map(|span: Span| span.shifted(body.start)));
        if let Some(content) = content {
            for item in json::elements(content.of(raw)) {
                content_uri(raw, item.shifted(content.start), &mut self.uris);
            }
        }
        self.tasks.extend(meta.and_then(|meta| related(raw, meta)));
        if let Some(meta) = meta {
            self.pages(raw, meta);
        }
        self.tasks
            .extend(legacy.and_then(|task| at(raw, task, "taskId")));
        match kind.map(|span| span.of(raw)) {
            Some(b"\"task\"") => self.tasks.extend(id),
            Some(b"\"input_required\"") => self.questions(raw, body),
            _ => {}
        }
    }

    /// What is told of a task. In the modern era its result is part of that.
    fn task(&mut self, raw: &[u8], body: Span) {
        self.tasks.extend(at(raw, body, "taskId"));
        if let Some(meta) = at(raw, body, "_meta") {
            self.tasks.extend(related(raw, meta));
        }
        if let Some(result) = at(raw, body, "result") {
            self.tool_result(raw, result);
        }
        self.questions(raw, body);
    }

    /// The page that shows a result.
    fn pages(&mut self, raw: &[u8], meta: Span) {
        let nested = at(raw, meta, meta::UI).and_then(|ui| at(raw, ui, meta::UI_PAGE_MEMBER));
        let is_page = |span: &Span| json::text(span.of(raw)).is_some_and(|uri| is_page(&uri));
        let found = [nested, at(raw, meta, meta::UI_PAGE)];
        self.uris
            .extend(found.into_iter().flatten().filter(is_page));
    }

    fn questions(&mut self, raw: &[u8], body: Span) {
        let Some(requests) = at(raw, body, "inputRequests") else {
            return;
        };
        for member in json::members(requests.of(raw)) {
            let request = member.value.shifted(requests.start);
            let method = at(raw, request, "method").map(|span| span.of(raw));
            if method.and_then(Method::from_token) == Some(Method::ElicitationCreate)
                && let Some(params) = at(raw, request, "params")
            {
                self.questions.extend(at(raw, params, "message"));
            }
        }
    }
}

/// A notification of `server`'s as a client of all servers gets it.
pub(super) fn notice(
    gateway: &Gateway,
    client: &Client,
    server: &Arc<str>,
    notice: Notice,
) -> Payload {
    let told = notice.method == Method::ResourceUpdated || notice.method.tells_of_task();
    if !told && !mentions_task(notice.message.body()) {
        return notice.payload;
    }
    // The payload, not the message: it may have been changed on its way here.
    let Ok(message) = Message::parse(notice.payload.clone().into_bytes()) else {
        return notice.payload;
    };
    let Ok(params) = Params::of(&message) else {
        return notice.payload;
    };
    let mut edits = Edits::new();
    notice_edits(gateway, client, server, &message, &params, &mut edits);
    message.edited(&edits)
}

/// The same, as changes to be made together with others.
pub(super) fn notice_edits(
    gateway: &Gateway,
    client: &Client,
    server: &Arc<str>,
    message: &Message,
    params: &Params,
    edits: &mut Edits,
) {
    let found = Found::in_notice(message, params);
    found.change(gateway, client, server, message.raw(), edits);
}

/// A server's question: the client must show who asks, and for which task.
pub(super) fn question(gateway: &Gateway, input: &mut Input) {
    let Some(body) = input.message().body_span() else {
        return;
    };
    let (raw, server) = (input.message().raw().clone(), input.server().clone());
    if let Some(related) = at(&raw, body, "_meta").and_then(|meta| related(&raw, meta)) {
        outward_task(gateway, &server, &raw, related, input.edits());
    }
    if input.method() == Method::ElicitationCreate
        && let Some(span) = at(&raw, body, "message")
    {
        name_in_front(&server, &raw, span, input.edits());
    }
}

/// A client's answer, with the task that it is for under its server's own id.
pub(super) fn answer(gateway: &Gateway, response: Message) -> Message {
    let Some(body) = response
        .body_span()
        .filter(|_| mentions_task(response.body()))
    else {
        return response;
    };
    let raw = response.raw().clone();
    let related = at(&raw, body, "_meta").and_then(|meta| related(&raw, meta));
    let own = related.and_then(|span| {
        let (_, own) = task::route(&gateway.host().namer(), &json::text(span.of(&raw))?)?;
        Some((span, own))
    });
    let Some((span, own)) = own else {
        return response;
    };
    let mut edits = Edits::new();
    edits.replace(span, json::quote(&own));
    Message::parse(response.edited(&edits).into_bytes()).unwrap_or(response)
}

/// The id of a task under which the client can ask for it.
pub(super) fn outward_task(
    gateway: &Gateway,
    server: &Arc<str>,
    raw: &[u8],
    span: Span,
    edits: &mut Edits,
) {
    if let Some(id) = json::text(span.of(raw)) {
        let outward = task::outward(&gateway.host().namer(), server, &id);
        edits.replace(span, json::quote(&outward));
    }
}

pub(super) fn name_in_front(server: &Arc<str>, raw: &[u8], span: Span, edits: &mut Edits) {
    if let Some(text) = json::text(span.of(raw)) {
        edits.replace(span, json::quote(&format!("[{server}] {text}")));
    }
}

/// Whether it may be worth looking for a task in `_meta`.
fn mentions_task(body: &[u8]) -> bool {
    let word = b"related-task";
    body.windows(word.len()).any(|part| part == word)
}

/// The id of the task that this `_meta` says something belongs to.
fn related(raw: &[u8], meta: Span) -> Option<Span> {
    let related = at(raw, meta, meta::RELATED_TASK)?;
    at(raw, related, "taskId")
}

/// The URI of a `resource_link` or of an embedded resource.
fn content_uri(raw: &[u8], item: Span, found: &mut Vec<Span>) {
    let kind = at(raw, item, "type").and_then(|span| json::text(span.of(raw)));
    match kind.as_deref() {
        Some("resource_link") => found.extend(at(raw, item, "uri")),
        Some("resource") => {
            found.extend(at(raw, item, "resource").and_then(|resource| at(raw, resource, "uri")));
        }
        _ => {}
    }
}

/// Where `key`'s value is inside the object at `object`; places are within `raw`.
pub(super) fn at(raw: &[u8], object: Span, key: &'static str) -> Option<Span> {
    json::field(object.of(raw), key)
        .ok()
        .flatten()
        .map(|span| span.shifted(object.start))
}

fn each(raw: &[u8], object: Span, key: &'static str, f: &mut dyn FnMut(Span)) {
    if let Some(array) = at(raw, object, key) {
        for span in json::elements(array.of(raw)) {
            f(span.shifted(array.start));
        }
    }
}
