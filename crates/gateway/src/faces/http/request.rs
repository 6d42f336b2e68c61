//! The client's half of a call, in order. Each phase gives the next what it found
//! out, or the response that ends the request there; the request itself stays
//! where it is, since a future holds what it is given twice.
//!
//! ```text
//! Received ─ let in ─▶ LetIn ─ route ─▶ Routed ─ read ─▶ Post ─ of an era ─▶ Spoken ─ admit ─▶ Admitted
//! ```
//!
//! What is no message to `/mcp` leaves the list where it is routed. The server's
//! half, from `Admitted` on, is in `host/src/call.rs`.

use super::{
    Entered, Face, api, attach,
    body::Body,
    changing,
    clock::Clock,
    cors, elsewhere,
    era::Spoken,
    files,
    handshake_era::{self, SESSION},
    plain, read,
    read::Post,
    reply::{self, Refusal},
    routes::{self, Endpoint, Opens, Public, Route},
    sse, stateless_era, ws,
};
use crate::{
    admission::{Admission, Pass},
    control::{Asker, Readiness},
    door::names_two_hosts,
    limits,
};
use http::{Method as Verb, Request, Response, StatusCode, header::AUTHORIZATION};
use hyper::body::Incoming;
use std::{
    pin::pin,
    sync::{Arc, atomic::Ordering},
};
use switchboard_host::Scope;
use switchboard_tasks as tasks;
use switchboard_wire::{Era, ErrorObject, Message, Payload, Received as Said, code};
use url::Url;

/// The phases in their order.
pub(super) async fn phases(
    face: Arc<Face>,
    open: Arc<Entered>,
    clock: Clock,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    if request.headers().len() > limits::REQUEST_HEADERS {
        let refused = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Err(Box::new(reply::status(refused)));
    }
    let received = Received::at_our_address(&face, &request)?;
    let let_in = received.let_in(&face, &open, &request).await?;
    let (scope, admission) = match let_in.route(&face, &request)? {
        Routed::Message(scope, admission) => (scope, admission),
        // Boxed: the way of a message has no room for them.
        Routed::Other(scope, who) => {
            return Ok(Box::pin(other(&face, open, scope, who, request)).await);
        }
    };
    if elsewhere::is_meant(&face, request.headers()) {
        return Box::pin(elsewhere::post(face, scope, admission, clock, request)).await;
    }
    let (post, said) = read::post(face, scope, admission, clock, request).await?;
    answer(post, said).await
}

/// Answers a message that was read.
#[expect(
    clippy::manual_async_fn,
    reason = "an async fn has room for each of its arguments twice"
)]
pub(super) fn answer(
    post: Post,
    said: Said,
) -> impl Future<Output = Result<Response<Body>, Refusal>> + Send {
    async move {
        let message = match said {
            Said::One(message) => message,
            // Only the handshake era has them.
            Said::Batch(batch) => return Ok(Box::pin(handshake_era::batch(post, batch)).await),
        };
        if let Some(full) = post.waits_in_vain(&message).await {
            return Err(Box::new(reply::full(&full, message.id().as_ref())));
        }
        let id = message.id();
        let admitted = {
            let admits = pin!(admit(post, message));
            tasks::caught(tasks::Kind::Message, admits).await
        };
        admitted.unwrap_or_else(|_| Ok(reply::broke_off(id.as_ref())))
    }
}

/// Finds out which era a message is of, whose own way of asking then admits it
/// and brings its answer.
#[expect(
    clippy::manual_async_fn,
    reason = "an async fn has room for each of its arguments twice"
)]
fn admit(
    post: Post,
    message: Message,
) -> impl Future<Output = Result<Response<Body>, Refusal>> + Send {
    async move {
        let Spoken { era, params } = Spoken::of(&post.headers, &message)?;
        Ok(match era {
            Era::Legacy => handshake_era::post(post, message, params).await,
            // Boxed, as the other boxes its own: what waits for a request has no
            // room for either, and moving it about costs less.
            Era::Modern => Box::pin(stateless_era::post(post, message, params)).await,
        })
    }
}

/// A request at an address of ours. What its path leads to is known, and so is
/// who may have that.
struct Received {
    route: &'static Route,
}

impl Received {
    /// This stops a web page whose name was rebound to our address, so that it
    /// comes before anything else.
    fn at_our_address(face: &Face, request: &Request<Incoming>) -> Result<Self, Refusal> {
        let (headers, target) = (request.headers(), request.uri());
        let refuse = |status, text: &str| {
            if target.path().starts_with(api::SHARED) {
                return Err(Box::new(api::refusal(status, text)));
            }
            let error = ErrorObject::new(code::INVALID_REQUEST, text);
            Err(Box::new(reply::error(status, &error, None)))
        };
        let length = target.path_and_query().map_or(0, |it| it.as_str().len());
        if length > limits::API_TARGET && target.path().starts_with(api::SHARED) {
            let text = format!(
                "the path and the query have more than {} bytes",
                limits::API_TARGET
            );
            return refuse(StatusCode::URI_TOO_LONG, &text);
        }
        if names_two_hosts(headers, target) {
            let text = "the request's target names another host than the header Host";
            return refuse(StatusCode::BAD_REQUEST, text);
        }
        for name in [AUTHORIZATION, SESSION] {
            // Whom we let in must be whom everybody else on the way let in.
            if headers.get_all(&name).iter().nth(1).is_some() {
                let text = format!("the header {name} stands there more than once");
                return refuse(StatusCode::BAD_REQUEST, &text);
            }
        }
        if !face.entrance.door().is_our_address(headers, target) {
            let text = "this Host or Origin is not allowed";
            return refuse(StatusCode::FORBIDDEN, text);
        }
        if let Some(answer) = cors::preflight(face, request) {
            return Err(Box::new(answer));
        }
        let route = Route::of(face, target.path());
        Ok(Self { route })
    }

    /// Lets in whoever shows what the route wants.
    async fn let_in(
        self,
        face: &Arc<Face>,
        open: &Entered,
        request: &Request<Incoming>,
    ) -> Result<LetIn, Refusal> {
        let who = match self.route.opens {
            Opens::Clients(endpoint) => {
                let pass = match face.entrance.let_in(request.headers()) {
                    Some(pass) => pass,
                    // Boxed: with an identity provider it can take a request to it,
                    // which would make every call's state larger.
                    None => Box::pin(signed(face, request)).await?,
                };
                let share = face.belongs_to(&open.1, pass.principal());
                let share = share.map_err(|full| Box::new(reply::full(&full, None)))?;
                Who::Client(endpoint, pass.admit(share, open.1.address()))
            }
            Opens::Control => Who::Controller(Box::pin(api::let_in(face, request)).await?),
            Opens::Shared => {
                Who::Controller(Box::pin(api::let_in_shared(face, open, request)).await?)
            }
            Opens::Answers => Who::Controller(Asker::Nobody),
            Opens::Anybody(public) => Who::Anybody(public),
        };
        let route = self.route;
        Ok(LetIn { route, who })
    }
}

/// Who shows a token of the identity provider's.
async fn signed(face: &Face, request: &Request<Incoming>) -> Result<Pass, Refusal> {
    let resource = resource(face, request, request.uri().path());
    let signed = face.entrance.let_in_signed(request.headers(), resource);
    let refuse = |refused| {
        face.gateway.refused.fetch_add(1, Ordering::Relaxed);
        Box::new(reply::unauthorized(&refused))
    };
    signed.await.map_err(refuse)
}

/// A request of somebody who may have what the route leads to.
struct LetIn {
    route: &'static Route,
    who: Who,
}

/// Somebody, and what is open to it.
enum Who {
    Anybody(Public),
    Controller(Asker),
    Client(Endpoint, Admission),
}

impl LetIn {
    /// Finds whom the path addresses, if the route has this verb at all.
    fn route(self, face: &Face, request: &Request<Incoming>) -> Result<Routed, Refusal> {
        let Some(scope) = self.route.scope(face, request.uri().path()) else {
            return Err(Box::new(nothing()));
        };
        if !self.route.has(request.method()) {
            return Err(Box::new(reply::not_allowed(self.route.verbs)));
        }
        Ok(match self.who {
            Who::Client(Endpoint::Mcp, admission) if request.method() == Verb::POST => {
                Routed::Message(scope, admission)
            }
            who => Routed::Other(scope, who),
        })
    }
}

/// A request whose place is known.
enum Routed {
    /// A message to `/mcp`.
    Message(Scope, Admission),
    /// Anything else.
    Other(Scope, Who),
}

/// Whether the servers are there that must be. Open to everybody, so that it says how
/// many, and not which.
fn ready(face: &Face) -> Response<Body> {
    let control = face.gateway.control();
    let Readiness { required, there } = control
        .map(|access| access.control.readiness())
        .unwrap_or_default();
    let (status, word) = match there == required {
        true => (StatusCode::OK, "ready"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
    };
    reply::plain(
        status,
        format!("{word}: {there} of {required} required servers\n"),
    )
}

/// What has no further phases of these.
async fn other(
    face: &Arc<Face>,
    open: Arc<Entered>,
    scope: Scope,
    who: Who,
    request: Request<Incoming>,
) -> Response<Body> {
    let (endpoint, admission) = match who {
        Who::Client(endpoint, admission) => (endpoint, admission),
        Who::Controller(asker) => return api::answer(face, asker, request).await,
        Who::Anybody(Public::Health) => return reply::plain(StatusCode::OK, "ok\n"),
        Who::Anybody(Public::Metrics) => return api::metrics(face, &request).await,
        Who::Anybody(Public::Ready) => return ready(face),
        Who::Anybody(Public::Files) => {
            return files::answer(face, &request).unwrap_or_else(nothing);
        }
        Who::Anybody(Public::Nothing) => return nothing(),
        Who::Anybody(Public::Metadata) => {
            return metadata(face, &request).unwrap_or_else(nothing);
        }
    };
    if matches!(endpoint, Endpoint::Mcp)
        && elsewhere::is_meant(face, request.headers())
        && let Some(answer) = handed_on(face, &scope, &admission, &request).await
    {
        return answer;
    }
    match endpoint {
        Endpoint::Mcp if request.method() == Verb::DELETE => {
            ended(face, &scope, &admission, &request).await
        }
        Endpoint::Mcp => handshake_era::get(face, &scope, admission, &request).await,
        Endpoint::Sse => sse::open(face, scope, admission, &request),
        Endpoint::Messages => sse::post(face, &admission, request).await,
        Endpoint::Ws => ws::upgrade(open, scope, admission, request),
        Endpoint::Attach => attach::upgrade(open, scope, admission, request),
        Endpoint::Plain(page) => plain::handle(face, page, admission, request).await,
        Endpoint::Nothing => nothing(),
    }
}

/// The answer of another replica to a request without a body, if it has the session.
async fn handed_on(
    face: &Arc<Face>,
    scope: &Scope,
    admission: &Admission,
    request: &Request<Incoming>,
) -> Option<Response<Body>> {
    let handed = elsewhere::Handed {
        verb: request.method(),
        uri: request.uri(),
        headers: request.headers(),
        body: Payload::default(),
    };
    elsewhere::answer(face, scope, admission, &Clock::default(), handed).await
}

/// Ends a session, also where another replica has it by now.
async fn ended(
    face: &Arc<Face>,
    scope: &Scope,
    admission: &Admission,
    request: &Request<Incoming>,
) -> Response<Body> {
    let mut done = changing::delete(face, scope, admission, request).await;
    if matches!(done, Err(handshake_era::Refusal::Elsewhere(_))) {
        if let Some(answer) = handed_on(face, scope, admission, request).await {
            return answer;
        }
        done = changing::delete(face, scope, admission, request).await;
    }
    done.unwrap_or_else(|refusal| refusal.response(None))
}

fn nothing() -> Response<Body> {
    let text = "there is nothing at this path; MCP is at /mcp and /mcp/{server}";
    let error = ErrorObject::new(code::INVALID_REQUEST, text);
    reply::error(StatusCode::NOT_FOUND, &error, None)
}

/// The document that says where a client gets its token.
fn metadata(face: &Face, request: &Request<Incoming>) -> Option<Response<Body>> {
    let oidc = face.entrance.door().oidc.as_ref()?;
    let about = routes::described(face, request.uri().path())?;
    let document = oidc.metadata_of(&resource(face, request, about)?);
    let document = Payload::from(document.to_string());
    Some(reply::json(StatusCode::OK, document))
}

/// The address of a path of ours, as the client writes it.
pub(super) fn resource(face: &Face, request: &Request<Incoming>, path: &str) -> Option<Url> {
    let host = request.headers().get(http::header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(http::uri::Authority::as_str))?;
    let scheme = face.entrance.door().scheme();
    Url::parse(&format!("{scheme}://{host}{path}")).ok()
}
