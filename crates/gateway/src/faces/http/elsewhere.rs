//! Requests for sessions that another replica has: handed on to it, or, where it has gone,
//! the session is taken over.

use super::{
    Face, adopt,
    body::Body,
    clock::Clock,
    handshake_era::{Refusal, named_session},
    read::{self, Post},
    reply::{self, Refusal as Ended},
    request,
    routes::CLIENT_KEY,
};
use crate::{
    admission::Admission,
    cluster::{Answered, Cluster, NoAnswer, Whose},
    limits,
    session::parked,
};
use futures_util::StreamExt;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method as Verb, Request, Response, StatusCode, Uri, header,
};
use hyper::body::Incoming;
use serde_json::json;
use std::{pin::pin, sync::Arc, time::Instant};
use switchboard_host::{CallError, Scope};
use switchboard_local::hex;
use switchboard_transport::http::http1::Request as Asked;
use switchboard_wire::{ErrorObject, Id, Message, Params, Payload, code, json as text};

/// On whose behalf a request is handed on, in hexadecimal digits.
pub(super) const PRINCIPAL: HeaderName = HeaderName::from_static("switchboard-principal");
/// That it comes back for a call that waits here, and has no session.
pub(super) const TICKET: HeaderName = HeaderName::from_static("switchboard-ticket");
/// The form in which it is handed on.
pub(super) const FORM: HeaderName = HeaderName::from_static("switchboard-link");
/// The form that this version speaks.
pub(super) const FORM_1: HeaderValue = HeaderValue::from_static("1");

/// What belongs to one connection, or to one client's way in.
static NOT_HANDED_ON: [HeaderName; 11] = [
    header::HOST,
    header::AUTHORIZATION,
    header::COOKIE,
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::CONTENT_LENGTH,
    header::UPGRADE,
    header::EXPECT,
    PRINCIPAL,
    TICKET,
    FORM,
];

/// A request that may have to be handed on.
pub(super) struct Handed<'a> {
    pub verb: &'a Verb,
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
    pub body: Payload,
}

/// Whether a request names a session that is not here, where it could be elsewhere.
pub(super) fn is_meant(face: &Face, headers: &HeaderMap) -> bool {
    face.gateway.cluster().is_some()
        && named_session(headers).is_some_and(|id| !face.sessions.has(id))
}

/// A message for such a session. It is read whole first, so that it can be handed on more
/// than once, and answered here where the session turns out to be ours.
pub(super) async fn post(
    face: Arc<Face>,
    scope: Scope,
    admission: Admission,
    clock: Clock,
    request: Request<Incoming>,
) -> Result<Response<Body>, Ended> {
    let (head, mut unread) = request.into_parts();
    let accepts = read::accepts(&head.headers)?;
    let body = match read::read(&mut unread, admission.share()).await {
        Ok(body) => body,
        Err(why) => return Err(why.refusal(unread)),
    };
    let handed = Handed {
        verb: &head.method,
        uri: &head.uri,
        headers: &head.headers,
        body: body.clone().into(),
    };
    if let Some(answer) = answer(&face, &scope, &admission, &clock, handed).await {
        return Ok(answer);
    }
    let (post, said) = read::parsed(face, scope, admission, clock, (head, accepts), body)?;
    request::answer(post, said).await
}

/// The replica that has the call which a modern request comes back for, if that is another.
pub(super) fn parked_at(face: &Face, message: &Message, params: &Params) -> Option<String> {
    let cluster = face.gateway.cluster()?;
    let state = params.request_state?;
    let state = text::text(state.of(message.raw()))?;
    let replica = parked::parked_at(&state, cluster)?;
    (replica != cluster.id()).then(|| replica.to_owned())
}

/// Its answer to such a request; nothing where it has gone, and with it the call.
pub(super) async fn come_back(
    post: &Post,
    message: &Message,
    replica: &str,
) -> Option<Response<Body>> {
    let cluster = post.face.gateway.cluster()?;
    let path = match &post.scope {
        Scope::All => "/mcp".to_owned(),
        Scope::One(server) => format!("/mcp/{}", server.name()),
    };
    let handed = Handed {
        verb: &Verb::POST,
        uri: &Uri::try_from(path).ok()?,
        headers: &post.headers,
        body: message.raw().clone().into(),
    };
    let besides = besides(&post.admission)?;
    let mut request = handed.request(&besides)?;
    request.more.insert(TICKET, FORM_1);
    if let Some(key) = post.key.as_deref().and_then(|key| key.strip_prefix('@')) {
        let key = HeaderValue::try_from(key).ok()?;
        request.more.insert(CLIENT_KEY, key);
    }
    let (face, admission) = (&post.face, &post.admission);
    let asks = Asks::new(face, cluster, admission, &post.clock);
    let mut asked = asks.ask(replica, &handed, &request).await;
    // It may have come a moment ago, and nobody here have heard of it.
    let is_new = matches!(asked, Ok(Err(NoAnswer::Unreachable)));
    if is_new && Box::pin(cluster.finds(replica)).await {
        asked = asks.ask(replica, &handed, &request).await;
    }
    let asked = match asked {
        Ok(asked) => asked,
        Err(instead) => return Some(instead),
    };
    match asked {
        Ok(answer) if answer.status() == StatusCode::MISDIRECTED_REQUEST => None,
        Ok(answer) => {
            let gone = cluster.gone(replica);
            // To its end, as long as there is time: nobody can come back for the rest.
            Some(handed_back(answer, admission, gone))
        }
        Err(NoAnswer::Full(full)) => Some(reply::full(&full, handed.id().as_ref())),
        Err(NoAnswer::Broken) => Some(handed.is_unknown()),
        Err(NoAnswer::Refused | NoAnswer::Unreachable) => None,
    }
}

/// The answer of whoever has the session; nothing where that is us.
pub(super) async fn answer(
    face: &Face,
    scope: &Scope,
    admission: &Admission,
    clock: &Clock,
    handed: Handed<'_>,
) -> Option<Response<Body>> {
    let cluster = face.gateway.cluster()?;
    let id = named_session(handed.headers)?;
    if face.sessions.has_ended(id) {
        return Some(Refusal::Unknown.response(handed.id().as_ref()));
    }
    // One that nobody made is refused where others are.
    let mut owner = cluster.owner(id)?;
    let besides = besides(admission)?;
    let asks = Asks::new(face, cluster, admission, clock);
    let begun = Instant::now();
    let mut has_looked = false;
    loop {
        if owner != cluster.id() {
            let request = handed.request(&besides)?;
            let asked = match asks.ask(&owner, &handed, &request).await {
                Ok(asked) => asked,
                Err(instead) => return Some(instead),
            };
            match asked {
                Ok(answer) if answer.status() == StatusCode::MISDIRECTED_REQUEST => {}
                Ok(answer) => {
                    let (gone, ending) = (cluster.gone(&owner), face.over.clone());
                    // The rest of it is to be had at another replica.
                    let over = async move {
                        tokio::select! {
                            () = gone => {}
                            () = ending.cancelled() => {}
                        }
                    };
                    return Some(handed_back(answer, admission, over));
                }
                Err(NoAnswer::Full(full)) => {
                    return Some(reply::full(&full, handed.id().as_ref()));
                }
                Err(NoAnswer::Broken) => return Some(handed.is_unknown()),
                Err(NoAnswer::Refused | NoAnswer::Unreachable) => {}
            }
        }
        // Boxed, as what else is seldom: what is handed on has no room for it.
        match Box::pin(adopt::adopt(face, scope, admission, id)).await {
            Ok(_) => return None,
            Err(Refusal::Elsewhere(now)) => {
                cluster.moved(id, &now);
                // Who has just been asked in vain is given a moment.
                if now == owner {
                    tokio::time::sleep(limits::OWNER_LOOK).await;
                }
                owner = now;
            }
            Err(Refusal::Unknown) if !cluster.is_reached() => {
                return Some(reply::not_now(handed.id().as_ref()));
            }
            // Nobody has written of it, and its owner may have come a moment ago.
            Err(Refusal::Unknown) if !has_looked && owner != cluster.id() => {
                has_looked = true;
                if !Box::pin(cluster.finds(&owner)).await {
                    return Some(Refusal::Unknown.response(handed.id().as_ref()));
                }
            }
            Err(refusal) => return Some(refusal.response(handed.id().as_ref())),
        }
        if begun.elapsed() > limits::OWNER_COMES {
            return Some(reply::not_now(handed.id().as_ref()));
        }
    }
}

/// What replicas say to each other besides what a client says.
fn besides(admission: &Admission) -> Option<[(HeaderName, HeaderValue); 3]> {
    let principal = hex(admission.principal().as_bytes());
    Some([
        (PRINCIPAL, HeaderValue::try_from(principal).ok()?),
        (FORM, FORM_1),
        (header::HOST, HeaderValue::from_static("replica")),
    ])
}

/// Asks other replicas on behalf of a client.
struct Asks<'a> {
    face: &'a Face,
    cluster: &'a Cluster,
    admission: &'a Admission,
    clock: &'a Clock,
    whose: Whose<'a>,
}

impl<'a> Asks<'a> {
    fn new(
        face: &'a Face,
        cluster: &'a Cluster,
        admission: &'a Admission,
        clock: &'a Clock,
    ) -> Self {
        let whose = Whose {
            principal: admission.principal(),
            several: face.has_several_principals(),
        };
        Self {
            face,
            cluster,
            admission,
            clock,
            whose,
        }
    }

    /// A replica's answer, for as long as it is there, the client may come in and this gateway
    /// runs; else what is answered instead, as for a call of our own.
    async fn ask(
        &self,
        replica: &str,
        handed: &Handed<'_>,
        request: &Asked<'_>,
    ) -> Result<Result<Response<Answered>, NoAnswer>, Response<Body>> {
        let mut asking = pin!(self.cluster.ask(replica, &self.whose, request));
        // Watching all that may end it costs more than most calls take.
        if !self.face.shutdown.is_cancelled() {
            tokio::select! {
                biased;
                asked = &mut asking => return Ok(asked),
                () = self.clock.limit(limits::NODES_LOOK) => {}
            }
        }
        tokio::select! {
            biased;
            asked = asking => Ok(asked),
            // One that is paused, or whose machine has gone, would never say so.
            () = self.cluster.gone(replica) => Ok(Err(NoAnswer::Broken)),
            _ = self.admission.withdrawn() => Err(reply::status(StatusCode::UNAUTHORIZED)),
            () = self.face.over.cancelled() => Err(handed.is_cut_off()),
        }
    }
}

impl Handed<'_> {
    /// This gateway ends before the other one's answer is there.
    fn is_cut_off(&self) -> Response<Body> {
        let error = CallError::gateway_ended().to_error();
        match self.id() {
            Some(id) => reply::error(StatusCode::OK, &error, Some(&id)),
            // Several in one, or what nobody waits for: it may have been carried out.
            None if *self.verb == Verb::POST => reply::error(StatusCode::BAD_GATEWAY, &error, None),
            None => reply::not_now(None),
        }
    }

    fn request<'b>(&'b self, besides: &'b [(HeaderName, HeaderValue)]) -> Option<Asked<'b>> {
        Some(Asked {
            method: self.verb.clone(),
            target: Uri::from(self.uri.path_and_query()?.clone()),
            headers: self.headers,
            without: &NOT_HANDED_ON,
            besides,
            more: HeaderMap::new(),
            payload: &self.body,
        })
    }

    /// The id to answer under.
    fn id(&self) -> Option<Id> {
        Message::parse(self.body.clone().into_bytes()).ok()?.id()
    }

    /// Whoever had it has gone while it was under way.
    fn is_unknown(&self) -> Response<Body> {
        let text = "the replica that had this session has gone while this was under way: whether it was carried out is not known";
        let error = ErrorObject::new(code::INTERNAL, text);
        let error = error.with_data(json!({"outcome": "unknown"}));
        reply::error(StatusCode::BAD_GATEWAY, &error, self.id().as_ref())
    }
}

/// Another replica's answer, for as long as its reader may read it.
fn handed_back(
    answer: Response<Answered>,
    admission: &Admission,
    gone: impl Future<Output = ()> + Send + 'static,
) -> Response<Body> {
    let (mut head, body) = answer.into_parts();
    for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::DATE] {
        head.headers.remove(name);
    }
    let body = match body {
        Answered::Whole(bytes) => Body::from(Payload::from(bytes)),
        Answered::Comes(coming) => {
            let admission = admission.clone();
            let over = async move {
                tokio::select! {
                    _ = admission.withdrawn() => {}
                    () = gone => {}
                }
            };
            Body::Stream(Box::pin(coming.take_until(Box::pin(over))))
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = head.headers;
    response
}

/// Sessions that others may have taken over, since they took this replica for dead, end
/// here where that is so.
pub(super) async fn check(face: &Face, cluster: &Cluster) {
    let all: Vec<(String, _)> = {
        let sessions = face.sessions.by_id.read();
        let all = sessions.iter();
        all.map(|(id, held)| (id.clone(), held.clone())).collect()
    };
    let each = futures_util::stream::iter(all).map(|(id, held)| async move {
        let is_ours = match &held.on_disk {
            Some(on_disk) => on_disk.hold.is_ours().await,
            None => true,
        };
        (!is_ours).then_some((id, held))
    });
    let mut each = each.buffer_unordered(limits::SESSIONS_CHECKED);
    let mut ended = 0;
    while let Some(checked) = each.next().await {
        if let Some((id, held)) = checked {
            face.sessions.give_up(&id, &held);
            ended += 1;
        }
    }
    if ended > 0 {
        tracing::info!(
            ended,
            id = cluster.id(),
            "sessions that another replica has now ended here"
        );
    }
}
