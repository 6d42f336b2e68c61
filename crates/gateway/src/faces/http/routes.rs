//! What is at which path, and who may have it: one table for each choice of
//! paths. What a path leads to is looked up before anybody is asked for a token,
//! since the table says which; whether a server of that name exists is only told
//! to those who were let in.

use super::{Face, api, files, plain::Page};
use At::{Addressed, Elsewhere, Path, Under};
use Endpoint::{Attach, Mcp, Messages, Nothing, Plain, Sse, Ws};
use Opens::{Answers, Anybody, Clients, Control, Shared};
use Public::{Files, Health, Metadata, Metrics};
use http::{HeaderMap, Method as Verb};
use std::sync::Arc;
use switchboard_host::Scope;

/// The header with a client's key.
pub(super) const CLIENT_KEY: &str = "switchboard-client";

/// Which paths there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routes {
    /// All of them.
    All,
    /// The plain dialect alone, at its own paths: `/sse`, `/messages`, `/tools`.
    Plain,
    /// What is counted alone, for whoever reaches the address.
    Metrics,
}

/// One line of the table.
#[derive(Debug)]
pub(super) struct Route {
    pub at: At,
    /// Its verbs, as `Allow` says them.
    pub verbs: &'static str,
    pub opens: Opens,
}

/// Which paths a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// This one.
    Path(&'static str),
    /// All that begin so.
    Under(&'static str),
    /// This one for all servers, and one for each server below it, both with an
    /// optional `@{key}` before the server.
    Addressed(&'static str),
    /// Every path that no other line is about.
    Elsewhere,
}

/// What is there, by what opens it: none is had by anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opens {
    /// Nothing is asked for: it is for everybody who reaches us.
    Anybody(Public),
    /// To the control token, and no other: how the gateway is doing, and what it
    /// can be told to do.
    Control,
    /// To the control token, to a session that a code opened, to a client token, and to
    /// whoever brings a code; what each may do is said elsewhere.
    Shared,
    /// To whoever knows the address, which was told once: one question can be answered
    /// there, once.
    Answers,
    /// To a client token, or one of the identity provider's.
    Clients(Endpoint),
}

/// What everybody may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Public {
    /// Whether we are there.
    Health,
    /// What is counted, where that has an address of its own.
    Metrics,
    /// The page that a browser shows, which holds no data.
    Files,
    /// Whether the servers are there that must be.
    Ready,
    /// The protected-resource document (RFC 9728) of a path: where a client gets
    /// its token.
    Metadata,
    /// Nothing, where clients look for a way to sign in: they are told so, and use what
    /// they were given.
    Nothing,
}

/// What is there for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// Streamable HTTP.
    Mcp,
    /// The stream of HTTP+SSE.
    Sse,
    /// Where its messages go.
    Messages,
    /// WebSocket.
    Ws,
    /// A stdio client behind another program.
    Attach,
    /// The plain dialect.
    Plain(Page),
    /// Nothing.
    Nothing,
}

/// Every path of a gateway. The busiest come first.
const ALL: &[Route] = &[
    Route::new(Addressed("/mcp"), "POST, GET, DELETE", Clients(Mcp)),
    Route::new(Addressed("/sse"), "GET", Clients(Sse)),
    Route::new(Path("/messages"), "POST", Clients(Messages)),
    Route::new(Addressed("/ws"), "GET", Clients(Ws)),
    Route::new(Addressed("/attach"), "GET", Clients(Attach)),
    Route::new(Path("/plain/sse"), "GET", Clients(Plain(Page::Sse))),
    Route::new(
        Path("/plain/messages"),
        "POST",
        Clients(Plain(Page::Messages)),
    ),
    Route::new(Path("/plain/tools"), "GET", Clients(Plain(Page::Tools))),
    Route::new(Under(api::SHARED), ANY, Shared),
    Route::new(Under(api::ANSWERS), "POST", Answers),
    Route::new(Under(api::PREFIX), ANY, Control),
    Route::new(Path(api::METRICS), "GET", Control),
    Route::new(Path("/healthz"), ANY, Anybody(Health)),
    Route::new(Path("/readyz"), ANY, Anybody(Public::Ready)),
    Route::new(Path("/"), "GET, HEAD", Anybody(Files)),
    Route::new(Under("/console/"), "GET, HEAD", Anybody(Files)),
    Route::new(Under(files::ONCE), "GET", Anybody(Files)),
    Route::new(Under(METADATA), "GET", Anybody(Metadata)),
    Route::new(Under(WELL_KNOWN), ANY, Anybody(Public::Nothing)),
    Route::new(Path(REGISTER), ANY, Anybody(Public::Nothing)),
    ELSEWHERE,
];

/// Every path where the plain dialect is alone.
const PLAIN: &[Route] = &[
    Route::new(Path("/sse"), "GET", Clients(Plain(Page::Sse))),
    Route::new(Path("/messages"), "POST", Clients(Plain(Page::Messages))),
    Route::new(Path("/tools"), "GET", Clients(Plain(Page::Tools))),
    Route::new(Path("/healthz"), ANY, Anybody(Health)),
    Route::new(Path("/readyz"), ANY, Anybody(Public::Ready)),
    Route::new(Under(METADATA), "GET", Anybody(Metadata)),
    Route::new(Under(WELL_KNOWN), ANY, Anybody(Public::Nothing)),
    Route::new(Path(REGISTER), ANY, Anybody(Public::Nothing)),
    ELSEWHERE,
];

/// Every path where what is counted is alone. No token opens anything here.
const METRICS: &[Route] = &[
    Route::new(Path(api::METRICS), "GET", Anybody(Metrics)),
    Route::new(Path("/healthz"), ANY, Anybody(Health)),
    Route::new(Elsewhere, ANY, Anybody(Public::Nothing)),
];

/// What ends both: a stranger does not learn which paths there are.
const ELSEWHERE: Route = Route::new(Elsewhere, ANY, Clients(Nothing));

/// Where the documents are that say which token a path wants.
const METADATA: &str = "/.well-known/oauth-protected-resource";

/// Where clients look for what else there is to know of a way to sign in.
const WELL_KNOWN: &str = "/.well-known/";
/// Where they would register, if they could.
const REGISTER: &str = "/register";

/// It looks at the verb itself, or does not care.
const ANY: &str = "";

impl Routes {
    pub(super) fn table(self) -> &'static [Route] {
        match self {
            Self::All => ALL,
            Self::Plain => PLAIN,
            Self::Metrics => METRICS,
        }
    }
}

impl Route {
    const fn new(at: At, verbs: &'static str, opens: Opens) -> Self {
        Self { at, verbs, opens }
    }

    /// The line that a path of this face's is about.
    pub(super) fn of(face: &Face, path: &str) -> &'static Self {
        let is_there = |route: &&Self| {
            let is_there = match route.opens {
                Anybody(Metadata) => described(face, path).is_some(),
                Anybody(Files) => face.gateway.pages().is_some(),
                _ => true,
            };
            is_there && route.at.holds(path)
        };
        face.routes
            .table()
            .iter()
            .find(is_there)
            .unwrap_or(&ELSEWHERE)
    }

    /// Whether it has this verb.
    pub(super) fn has(&self, verb: &Verb) -> bool {
        let is_this = |one: &str| one == verb.as_str();
        self.verbs == ANY || self.verbs.split(", ").any(is_this)
    }

    /// Whom a path that this line is about addresses: all servers unless it names
    /// one. `None` if there is nobody.
    pub(super) fn scope(&self, face: &Face, path: &str) -> Option<Scope> {
        match self.at {
            Addressed(base) => addressed(face, path.strip_prefix(base)?),
            Path(_) | Under(_) => Some(Scope::All),
            Elsewhere => None,
        }
    }
}

impl At {
    fn holds(self, path: &str) -> bool {
        match self {
            Self::Path(this) => path == this,
            Self::Under(beginning) => path.starts_with(beginning),
            Self::Addressed(base) => {
                let below = path.strip_prefix(base);
                below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
            }
            Self::Elsewhere => true,
        }
    }
}

/// The path that a protected-resource document is about, where there is one: an
/// identity provider gives tokens, and something is there.
pub(super) fn described<'a>(face: &Face, path: &'a str) -> Option<&'a str> {
    face.entrance.door().oidc.as_ref()?;
    let about = match path.strip_prefix(METADATA)? {
        "" => "/mcp",
        about => about,
    };
    let is_it = |route: &&Route| matches!(route.opens, Clients(_)) && route.at.holds(about);
    let route = face.routes.table().iter().find(is_it)?;
    route.scope(face, about).map(|_| about)
}

/// Whom the rest of a path addresses.
fn addressed(face: &Face, rest: &str) -> Option<Scope> {
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() {
        return Some(face.gateway.default_scope());
    }
    let rest = rest.strip_prefix('/')?;
    let rest = match rest.strip_prefix('@') {
        Some(keyed) => match keyed.split_once('/') {
            Some((_, server)) => server,
            None => return Some(face.gateway.default_scope()),
        },
        None => rest,
    };
    face.gateway.host().server(rest).map(Scope::One)
}

/// The key by which a client without a session lets itself be told from others:
/// `@{key}` in the path, or a header.
pub(super) fn client_key(path: &str, headers: &HeaderMap) -> Option<Arc<str>> {
    let in_path = path.split('/').find_map(|part| part.strip_prefix('@'));
    let key = in_path.or_else(|| headers.get(CLIENT_KEY)?.to_str().ok())?;
    // Marked, so that it is nobody's connection.
    (!key.is_empty()).then(|| format!("@{key}").into())
}

#[cfg(test)]
mod tests;
