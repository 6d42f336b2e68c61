//! What is at which path.

use super::{Face, plain::Page};
use http::HeaderMap;
use std::sync::Arc;
use switchboard_host::Scope;

/// The header with a client's key.
const CLIENT: &str = "switchboard-client";

/// Which paths there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routes {
    /// All of them.
    All,
    /// The plain dialect alone, at its own paths: `/sse`, `/messages`, `/tools`.
    Plain,
}

/// What is at a path.
pub(super) enum Route {
    /// Streamable HTTP.
    Mcp(Scope),
    /// The stream of HTTP+SSE.
    Sse(Scope),
    /// Where its messages go.
    Messages,
    /// WebSocket.
    Ws(Scope),
    /// A stdio client behind another program.
    Attach(Scope),
    /// The plain dialect.
    Plain(Page),
}

/// What is at this path, if anything.
pub(super) fn route(face: &Face, path: &str) -> Option<Route> {
    if face.routes == Routes::Plain {
        return Page::of(path).map(Route::Plain);
    }
    if let Some(page) = path.strip_prefix("/plain") {
        return Page::of(page).map(Route::Plain);
    }
    match path {
        "/messages" => Some(Route::Messages),
        _ => scope(face, path, "/mcp")
            .map(Route::Mcp)
            .or_else(|| scope(face, path, "/sse").map(Route::Sse))
            .or_else(|| scope(face, path, "/ws").map(Route::Ws))
            .or_else(|| scope(face, path, "/attach").map(Route::Attach)),
    }
}

/// Whom a path addresses: `/mcp`, `/mcp/{server}`, both with an optional `@{key}` before the server.
pub(super) fn scope(face: &Face, path: &str, base: &str) -> Option<Scope> {
    let rest = path.strip_prefix(base)?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() {
        return Some(face.gateway.whole());
    }
    let rest = rest.strip_prefix('/')?;
    let rest = match rest.strip_prefix('@') {
        Some(keyed) => match keyed.split_once('/') {
            Some((_, server)) => server,
            None => return Some(face.gateway.whole()),
        },
        None => rest,
    };
    face.gateway.host().server(rest).map(Scope::One)
}

/// The key by which a client without a session lets itself be told from others:
/// `@{key}` in the path, or a header.
pub(super) fn client_key(path: &str, headers: &HeaderMap) -> Option<Arc<str>> {
    let in_path = path.split('/').find_map(|part| part.strip_prefix('@'));
    let key = in_path.or_else(|| headers.get(CLIENT)?.to_str().ok())?;
    // Marked, so that it is nobody's connection.
    (!key.is_empty()).then(|| format!("@{key}").into())
}
