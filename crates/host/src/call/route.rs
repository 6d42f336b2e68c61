//! From what a request names to the server that has it, and what that server
//! calls it.

use super::{Admitted, Routed, Scope};
use crate::{
    catalog::{Destination, List, UriRoutes, is_page, task},
    client::Client,
    error::CallError,
    host::Host,
    upstream::{Server, mcp_tasks},
};
use serde_json::json;
use std::sync::Arc;
use switchboard_wire::{Edits, ErrorObject, Method, Named, Span, code, json};

/// Finds the server, and what it calls the thing that is asked for.
pub(super) async fn route(host: &Host, admitted: Box<Admitted>) -> Result<Routed, CallError> {
    // No rule is about what only servers ask.
    if admitted.message.method().comes_from_servers() {
        let method = admitted.message.method_name();
        let text =
            format!("{method} is what a server asks its client, and not the other way round");
        return Err(CallError::refused(code::METHOD_NOT_FOUND, text));
    }
    // Whose task an unknown method means, nobody here can tell.
    if admitted.message.method() == Method::Other
        && host.has_several_principals()
        && !mcp_tasks::names_none(&admitted.message)
    {
        let text = format!(
            "{} may be about somebody else's task, and Switchboard does not know this method",
            admitted.message.method_name()
        );
        return Err(CallError::refused(code::METHOD_NOT_FOUND, text));
    }
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
    let (named, _) = admitted.params.named(&admitted.message)?;
    let related = admitted.params.related_to(&admitted.message)?;
    Ok(Routed {
        admitted,
        server,
        named,
        belongs_to: related.map(|(id, _)| id),
        edits: Edits::new(),
    })
}

/// The server of a task, which its id in the aggregate names.
fn route_task(host: &Host, client: &Client, id: &str) -> Result<(Arc<Server>, String), CallError> {
    let found =
        task::route(&host.namer(), id).and_then(|(server, own)| Some((host.server(&server)?, own)));
    // A task of the other era is run by us and has no id for the client.
    let era = client.era();
    found
        .filter(|(server, _)| server.era_for(client) == era)
        .ok_or_else(mcp_tasks::unknown)
}

/// Routing in the aggregate: by the outward name, the URI or the task.
async fn route_all(host: &Host, admitted: Box<Admitted>) -> Result<Routed, CallError> {
    let (named, span) = admitted.params.named(&admitted.message)?;
    let client = admitted.client.clone();
    let (server, own) = match &named {
        Named::Tool(name) => find(host, &client, List::Tools, "tool", name).await?,
        Named::Prompt(name) => find(host, &client, List::Prompts, "prompt", name).await?,
        Named::Resource(uri) => route_uri(host, &client, uri).await?,
        Named::Task(id) => route_task(host, &client, id)?,
        Named::Nothing | Named::Unknown => {
            let text = format!(
                "{} is not available over all servers at once",
                admitted.message.method_name()
            );
            return Err(CallError::refused(code::METHOD_NOT_FOUND, text));
        }
    };
    let related = admitted.params.related_to(&admitted.message)?;
    let mut routed = renamed(admitted, server, named.renamed(own), span);
    if let Some((id, place)) = related {
        match route_task(host, &client, &id) {
            Ok((server, own)) if Arc::ptr_eq(&server, &routed.server) => {
                routed.edits.replace(place, json::quote(&own));
                routed.belongs_to = Some(own);
            }
            // Where nobody else can come in, it names nobody else's.
            Err(_) if !host.has_several_principals() => {}
            _ => return Err(mcp_tasks::unknown()),
        }
    }
    Ok(routed)
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
    let merged = host.merged(client, list).await;
    if let Some(item) = merged.find(name) {
        return Ok((item.server.clone(), item.item.key.clone()));
    }
    // What is there and hidden is refused as such: `permit` says why.
    if let Some(item) = host.everything(client, list).find(name) {
        return Ok((item.server.clone(), item.item.key.clone()));
    }
    // A list does without a server that is slow to start; a call of its own cannot.
    if host.meet(client, list, name).await?
        && let Some(item) = host.everything(client, list).find(name)
    {
        return Ok((item.server.clone(), item.item.key.clone()));
    }
    let of_pages = match list {
        List::Tools => merged.of_pages(name),
        _ => Vec::new(),
    };
    match of_pages.as_slice() {
        [item] => Ok((item.server.clone(), item.item.key.clone())),
        [_, _, ..] => {
            let names: Vec<&str> = of_pages.iter().map(|item| item.outward.as_str()).collect();
            let text = format!(
                "Several servers have a tool {name}; call one of {}",
                names.join(", ")
            );
            Err(CallError::refused(code::INVALID_PARAMS, text))
        }
        [] => Err(CallError::refused(
            code::INVALID_PARAMS,
            format!("Unknown {what}: {name}"),
        )),
    }
}

/// The server behind a URI, and the server's own text for it.
pub async fn route_uri(
    host: &Host,
    client: &Arc<Client>,
    uri: &str,
) -> Result<(Arc<Server>, String), CallError> {
    if is_page(uri) {
        host.refresh(client, &[List::Tools]).await;
        let routes = host.known_routes(client);
        // Whose page it is, its tools say: no other list is waited for.
        if routes.has_page(uri) {
            return routed_uri(host, client, &routes, uri);
        }
    }
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

/// The request under the server's own name for what it asks for.
fn renamed(
    admitted: Box<Admitted>,
    server: Arc<Server>,
    named: Named,
    span: Option<Span>,
) -> Routed {
    let mut edits = Edits::new();
    if let (Some(span), Some(own)) = (span, named.text())
        && json::text(span.of(admitted.message.raw())).is_none_or(|text| text != own)
    {
        edits.replace(span, json::quote(own));
    }
    Routed {
        admitted,
        server,
        named,
        belongs_to: None,
        edits,
    }
}
