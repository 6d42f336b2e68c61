//! The life of a call, in order. Each phase takes one type and returns the
//! next; only a [`Permitted`] request can be written to a server.
//!
//! ```text
//! Admitted ─ route ─▶ Routed ─ permit ─▶ Permitted ─ connect, start ─▶ Exchange
//! ```

use crate::{
    catalog::{Destination, List},
    client::Client,
    error::CallError,
    exchange::Exchange,
    host::Host,
    mirror,
    permission::{What, permitted},
    upstream::Server,
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use switchboard_wire::{Edits, ErrorObject, Message, Method, Params, Span, code, json};

/// Whom a client addresses.
#[derive(Clone, Debug)]
pub enum Scope {
    /// All servers as one: `/mcp`.
    All,
    /// One server under its own names: `/mcp/{server}`.
    One(Arc<Server>),
}

/// A request that a face let in.
#[derive(Debug)]
pub struct Admitted {
    /// Who asks.
    pub client: Arc<Client>,
    /// Whom it addresses.
    pub scope: Scope,
    /// The request.
    pub message: Message,
    /// Its parameters.
    pub params: Params,
    /// The `Mcp-Param-*` headers it came with (names without the prefix), where the face has headers.
    pub headers: Option<Vec<(String, String)>>,
}

/// A request whose server is known.
#[derive(Debug)]
struct Routed {
    admitted: Admitted,
    server: Arc<Server>,
    /// The server's own name for what is asked for.
    name: Option<String>,
    /// What must change in the request for that server.
    edits: Edits,
}

/// A request that may be sent to its server. Nothing else can be.
#[derive(Clone, Debug)]
pub struct Permitted {
    pub(crate) client: Arc<Client>,
    pub(crate) server: Arc<Server>,
    pub(crate) message: Message,
    pub(crate) params: Params,
    pub(crate) edits: Edits,
    /// What `Mcp-Name` says towards the server.
    pub(crate) name: Option<String>,
    /// `Mcp-Param-*` as they came, where the face has headers.
    pub(crate) from_headers: Option<Vec<(String, String)>>,
    /// `Mcp-Param-*` towards the server.
    pub(crate) mirrored: Vec<(String, String)>,
    pub(crate) timeout: Duration,
}

/// Takes a request all the way to its server.
pub async fn call(host: &Host, admitted: Admitted) -> Result<Exchange, CallError> {
    let routed = route(host, admitted).await?;
    let mut permitted = permit(routed)?;
    let connection = permitted.server.connection(&permitted.client).await?;
    mirror::headers(&connection, &mut permitted).await?;
    let again = connection.can_expire().then(|| Box::new(permitted.clone()));
    Ok(connection.start(permitted)?.or_again(again))
}

/// Finds the server, and what it calls the thing that is asked for.
async fn route(host: &Host, admitted: Admitted) -> Result<Routed, CallError> {
    let (message, params) = (&admitted.message, &admitted.params);
    let field = message.method().name_header_field();
    let span = match field {
        Some("name") => params.name,
        Some("uri") => params.uri,
        Some("taskId") => params.task_id,
        _ => None,
    };
    let name = Params::text(message, span, field.unwrap_or_default())?;
    let server = match &admitted.scope {
        Scope::One(server) => server.clone(),
        Scope::All => return route_all(host, admitted, name, span).await,
    };
    Ok(Routed {
        admitted,
        server,
        name,
        edits: Edits::new(),
    })
}

/// Routing in the aggregate: by the outward name or the URI.
async fn route_all(
    host: &Host,
    admitted: Admitted,
    name: Option<String>,
    span: Option<Span>,
) -> Result<Routed, CallError> {
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
    match host.merged(client, list).await.find(name) {
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
    match routes.route(host.namer(), uri) {
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
async fn route_completion(host: &Host, admitted: Admitted) -> Result<Routed, CallError> {
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
            Ok(renamed(admitted, server, own, Some(at(name))))
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
fn renamed(admitted: Admitted, server: Arc<Server>, own: String, span: Option<Span>) -> Routed {
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
        edits,
    }
}

/// Lets through what the principal may reach; the rest ends as if it were not there.
fn permit(routed: Routed) -> Result<Permitted, CallError> {
    let Routed {
        admitted,
        server,
        name,
        edits,
    } = routed;
    let method = admitted.message.method();
    let what = match (method, name.as_deref()) {
        (Method::ToolsCall, Some(name)) => What::Tool(name),
        (Method::PromptsGet, Some(name)) => What::Prompt(name),
        (Method::ResourcesRead, Some(uri)) => What::Resource(uri),
        _ => What::Method,
    };
    let signs_in = matches!(what, What::Tool(name) if server.is_sign_in(name));
    if !signs_in && !permitted(&admitted.client.principal, &server.spec, what) {
        let text = format!("Unknown tool: {}", name.unwrap_or_default());
        return Err(CallError::refused(code::INVALID_PARAMS, text));
    }
    let timeouts = &server.spec.timeouts;
    let timeout = if method == Method::ToolsCall {
        timeouts.tool_call
    } else {
        timeouts.request
    };
    let Admitted {
        client,
        message,
        params,
        headers,
        ..
    } = admitted;
    Ok(Permitted {
        client,
        server,
        message,
        params,
        edits,
        name,
        from_headers: headers,
        mirrored: Vec::new(),
        timeout,
    })
}
