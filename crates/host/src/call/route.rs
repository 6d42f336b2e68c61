//! From what a request names to the server that has it, and what that server
//! calls it.

use super::{Admitted, Routed, Scope};
use crate::{
    catalog::{Destination, List, UriRoutes, task},
    client::Client,
    error::CallError,
    host::Host,
    upstream::{Server, tasks},
};
use serde_json::json;
use std::sync::Arc;
use switchboard_wire::{Edits, ErrorObject, Message, Method, Params, Span, code, json};

/// Finds the server, and what it calls the thing that is asked for.
pub(super) async fn route(host: &Host, admitted: Box<Admitted>) -> Result<Routed, CallError> {
    match &admitted.scope {
        Scope::One(server) => {
            let server = host.current(server);
            route_one(server, admitted)
        }
        // Boxed: a call to one server does without its state.
        Scope::All => Box::pin(route_all(host, admitted)).await,
    }
}

/// One server knows everything by the name that is used.
fn route_one(server: Arc<Server>, admitted: Box<Admitted>) -> Result<Routed, CallError> {
    let (message, params) = (&admitted.message, &admitted.params);
    let (_, name) = params.named(message)?;
    let prompt = match message.method() {
        Method::Complete => completed_prompt(message)?,
        _ => None,
    };
    let task = task_id(message, params)?;
    Ok(Routed {
        admitted,
        server,
        name,
        prompt,
        task,
        edits: Edits::new(),
    })
}

/// The task that a request about one names.
fn task_id(message: &Message, params: &Params) -> Result<Option<String>, CallError> {
    let span = params.task_id.filter(|_| message.method().is_about_task());
    Ok(Params::text(message, span, "taskId")?)
}

/// The server of a task, which its id in the aggregate names.
fn route_task(host: &Host, admitted: Box<Admitted>) -> Result<Routed, CallError> {
    let Some(outward) = task_id(&admitted.message, &admitted.params)? else {
        let text = "\"taskId\" is missing";
        return Err(CallError::refused(code::INVALID_PARAMS, text));
    };
    let found = task::route(&host.namer(), &outward)
        .and_then(|(server, own)| Some((host.server(&server)?, own)));
    // A task of the other era is run by us and has no id for the client.
    let era = admitted.client.era();
    let Some((server, own)) = found.filter(|(server, _)| server.era_for(era) == era) else {
        return Err(tasks::unknown());
    };
    let (named, span) = (
        admitted.message.method().name_header_field().is_some(),
        admitted.params.task_id,
    );
    let mut routed = renamed(admitted, server, own.clone(), span);
    routed.task = Some(own);
    routed.name = routed.name.filter(|_| named);
    Ok(routed)
}

/// The prompt that a completion at one server names. A `ref` that makes no
/// sense is the server's to judge; one that could be read in two ways is not.
fn completed_prompt(message: &Message) -> Result<Option<String>, CallError> {
    let body = message.body();
    let Some(reference) = json::field(body, "ref").map_err(duplicate)? else {
        return Ok(None);
    };
    let reference = reference.of(body);
    let name = json::field(reference, "name").map_err(duplicate)?;
    Ok(name.and_then(|span| json::text(span.of(reference)).map(String::from)))
}

/// Routing in the aggregate: by the outward name or the URI.
async fn route_all(host: &Host, admitted: Box<Admitted>) -> Result<Routed, CallError> {
    let (span, name) = admitted.params.named(&admitted.message)?;
    let client = admitted.client.clone();
    let method = admitted.message.method();
    let (list, what) = match method {
        Method::ToolsCall => (List::Tools, "tool"),
        Method::PromptsGet => (List::Prompts, "prompt"),
        Method::ResourcesRead => {
            let (server, uri) = route_uri(host, &client, name.as_deref()).await?;
            return Ok(renamed(admitted, server, uri, span));
        }
        Method::Complete => return route_completion(host, admitted).await,
        method if method.is_about_task() => return route_task(host, admitted),
        _ => {
            let text = format!(
                "{} is not available over all servers at once",
                admitted.message.method_name()
            );
            return Err(CallError::refused(code::METHOD_NOT_FOUND, text));
        }
    };
    let Some(name) = name else {
        return Err(CallError::refused(
            code::INVALID_PARAMS,
            "\"name\" is missing",
        ));
    };
    let (server, own) = find(host, &client, list, what, &name).await?;
    Ok(renamed(admitted, server, own, span))
}

/// The server and own name behind an outward name.
async fn find(
    host: &Host,
    client: &Arc<Client>,
    list: List,
    what: &str,
    name: &str,
) -> Result<(Arc<Server>, String), CallError> {
    if let Some(item) = host.known(client, list).find(name) {
        return Ok((item.server.clone(), item.item.key.clone()));
    }
    // It may be new, or its server not asked yet.
    if let Some(item) = host.merged(client, list).await.find(name) {
        return Ok((item.server.clone(), item.item.key.clone()));
    }
    // What is there and hidden is refused as such: `permit` says why.
    match host.everything(client, list).find(name) {
        Some(item) => Ok((item.server.clone(), item.item.key.clone())),
        None => Err(CallError::refused(
            code::INVALID_PARAMS,
            format!("Unknown {what}: {name}"),
        )),
    }
}

/// The server behind a URI, and the server's own text for it.
pub async fn route_uri(
    host: &Host,
    client: &Arc<Client>,
    uri: Option<&str>,
) -> Result<(Arc<Server>, String), CallError> {
    let uri = uri.ok_or_else(|| CallError::refused(code::INVALID_PARAMS, "\"uri\" is missing"))?;
    let routes = host.uri_routes(client).await;
    routed_uri(host, client, &routes, uri)
}

/// The same for several, all of which must lead somewhere.
pub async fn route_uris(
    host: &Host,
    client: &Arc<Client>,
    uris: &[String],
) -> Result<Vec<(Arc<Server>, String)>, CallError> {
    if uris.is_empty() {
        return Ok(Vec::new());
    }
    let routes = host.uri_routes(client).await;
    let each = uris
        .iter()
        .map(|uri| routed_uri(host, client, &routes, uri));
    each.collect()
}

fn routed_uri(
    host: &Host,
    client: &Client,
    routes: &UriRoutes,
    uri: &str,
) -> Result<(Arc<Server>, String), CallError> {
    match routes.route(&host.namer(), uri) {
        Destination::Server(server, plain) => {
            let server = host
                .server(&server)
                .ok_or_else(|| not_found(client, uri, &[]))?;
            Ok((server, plain))
        }
        Destination::Unclear(candidates) => Err(not_found(client, uri, &candidates)),
    }
}

fn not_found(client: &Client, uri: &str, candidates: &[String]) -> CallError {
    let (code, text) = if candidates.is_empty() {
        (
            client.revision.resource_not_found(),
            format!("Resource not found: {uri}"),
        )
    } else {
        let text = format!("Several servers could have {uri}; write it as server+uri");
        (code::INVALID_PARAMS, text)
    };
    CallError::Refused(
        ErrorObject::new(code, text).with_data(json!({ "uri": uri, "candidates": candidates })),
    )
}

/// `completion/complete` names a prompt or a template inside `ref`.
async fn route_completion(host: &Host, admitted: Box<Admitted>) -> Result<Routed, CallError> {
    let body = admitted.message.body_span().unwrap_or(Span::new(0, 0));
    let raw = admitted.message.raw().clone();
    let missing = || {
        CallError::refused(
            code::INVALID_PARAMS,
            "\"ref\" names neither a prompt nor a resource",
        )
    };
    let reference = json::field(body.of(&raw), "ref")
        .map_err(duplicate)?
        .ok_or_else(missing)?
        .shifted(body.start);
    let [name, uri] = json::fields(reference.of(&raw), ["name", "uri"]).map_err(|_| missing())?;
    let at = |span: Span| span.shifted(reference.start);
    let text = |span: Span| {
        json::text(at(span).of(&raw))
            .map(String::from)
            .ok_or_else(missing)
    };
    match (name, uri) {
        (Some(name), None) => {
            let (server, own) = find(
                host,
                &admitted.client,
                List::Prompts,
                "prompt",
                &text(name)?,
            )
            .await?;
            let mut routed = renamed(admitted, server, own, Some(at(name)));
            routed.prompt.clone_from(&routed.name);
            Ok(routed)
        }
        (_, Some(uri)) => {
            let (server, plain) = route_uri(host, &admitted.client, Some(&text(uri)?)).await?;
            Ok(renamed(admitted, server, plain, Some(at(uri))))
        }
        (None, None) => Err(missing()),
    }
}

fn duplicate(fault: json::Duplicate) -> CallError {
    CallError::refused(code::INVALID_PARAMS, fault.to_string())
}

/// The request under the server's own name for what it asks for.
fn renamed(
    admitted: Box<Admitted>,
    server: Arc<Server>,
    own: String,
    span: Option<Span>,
) -> Routed {
    let mut edits = Edits::new();
    if let Some(span) = span
        && json::text(span.of(admitted.message.raw())).is_none_or(|text| text != own)
    {
        edits.replace(span, json::quote(&own));
    }
    Routed {
        admitted,
        server,
        name: Some(own),
        prompt: None,
        task: None,
        edits,
    }
}
