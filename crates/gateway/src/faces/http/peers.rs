//! Where other replicas come in: with requests of clients that they have let in, for
//! sessions that this one has.

use super::{
    Face, adopt,
    body::Body,
    changing,
    clock::Clock,
    elsewhere::{self, FORM, FORM_1, PRINCIPAL, TICKET},
    handshake_era::{self, Refusal, SESSION},
    outposts, read, reply, request,
    routes::{Endpoint, Opens, Route},
};
use crate::{
    admission::{Admission, Pass},
    cluster::{Cluster, HERE, REPLICA},
    limits,
};
use http::{HeaderValue, Method as Verb, Request, Response, StatusCode};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{convert::Infallible, io, net::SocketAddr, sync::Arc};
use switchboard_host::Scope;
use switchboard_tasks as tasks;
use switchboard_transport::dial::{LINK_NAME, is_made_out_to};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    net::TcpListener,
    sync::Semaphore,
    time::timeout,
};

/// What runs beside for a replica: others come in, and hear that it is there.
pub(super) fn upkeep(face: &Arc<Face>) -> Vec<tokio::task::JoinHandle<()>> {
    let Some(cluster) = face.gateway.cluster().cloned() else {
        return Vec::new();
    };
    // The one of several faces that clients have their sessions at.
    let Some(listener) = cluster.listener() else {
        return Vec::new();
    };
    let listener = Arc::new(listener);
    let comes_in = {
        let (face, cluster) = (face.clone(), cluster.clone());
        tasks::keep(tasks::Kind::Upkeep, move || {
            accept(face.clone(), cluster.clone(), listener.clone())
        })
    };
    let is_there = {
        let (face, cluster) = (face.clone(), cluster.clone());
        tasks::keep(tasks::Kind::Upkeep, move || {
            let (face, cluster) = (face.clone(), cluster.clone());
            async move { cluster.keep(|| face.sessions.by_id.read().len()).await }
        })
    };
    let (gateway, replica) = (face.gateway.clone(), cluster.clone());
    let (face, cluster) = (face.clone(), cluster.clone());
    let checks = tasks::keep(tasks::Kind::Upkeep, move || {
        let (face, cluster) = (face.clone(), cluster.clone());
        async move {
            let mut lost = 0;
            loop {
                tokio::time::sleep(limits::OWNER_LOOK).await;
                let now = cluster.lost();
                if std::mem::replace(&mut lost, now) != now {
                    elsewhere::check(&face, &cluster).await;
                }
            }
        }
    });
    let offered = tasks::keep(tasks::Kind::Upkeep, move || {
        let (gateway, cluster) = (gateway.clone(), replica.clone());
        async move {
            loop {
                cluster.outposts().offer_more().await;
                gateway.host().far_anew();
            }
        }
    });
    vec![comes_in, is_there, checks, offered]
}

async fn accept(face: Arc<Face>, cluster: Arc<Cluster>, listener: Arc<TcpListener>) {
    let room = Arc::new(Semaphore::new(limits::LINKS));
    loop {
        let Ok(place) = room.clone().acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            stream = through_nats(&cluster) => {
                let (face, cluster) = (face.clone(), cluster.clone());
                tasks::spawn(tasks::Kind::Connection, async move {
                    attend(face, cluster, stream, None).await;
                    drop(place);
                });
                continue;
            }
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(fault) => {
                tracing::warn!(%fault, "a link from another replica could not be accepted");
                tokio::time::sleep(limits::ROOM_PAUSE).await;
                continue;
            }
        };
        let (face, cluster) = (face.clone(), cluster.clone());
        // Not among those that are waited for: others are answered until the end.
        tasks::spawn(tasks::Kind::Connection, async move {
            let _ = stream.set_nodelay(true);
            attend(face, cluster, stream, Some(from)).await;
            drop(place);
        });
    }
}

/// The next link that somebody has begun through NATS.
async fn through_nats(cluster: &Cluster) -> DuplexStream {
    if let Some(posted) = cluster.posted()
        && let Some(stream) = posted.accept().await
    {
        return stream;
    }
    std::future::pending().await
}

async fn attend<S>(face: Arc<Face>, cluster: Arc<Cluster>, stream: S, from: Option<SocketAddr>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let shaken = timeout(limits::LINK_CONNECT, cluster.tls().accept(stream)).await;
    let (stream, certificate) = match shaken {
        Ok(Ok((stream, certificate))) => (stream, Arc::<[u8]>::from(certificate)),
        Ok(Err(fault)) if is_hung_up(&fault) => {
            return tracing::debug!(%fault, "a link ended before anybody had shown who that is");
        }
        Ok(Err(fault)) => {
            let from = from.map(|from| from.to_string());
            return tracing::warn!(%fault, from, "who came as a replica has no certificate of this cluster: it is refused");
        }
        Err(_) => return tracing::debug!("a replica took too long to shake hands"),
    };
    let is_replica = is_made_out_to(&certificate, LINK_NAME);
    let service = service_fn(move |request| {
        let (face, cluster, certificate) = (face.clone(), cluster.clone(), certificate.clone());
        let tracker = face.tasks.clone();
        tracker.track_future(async move {
            let answering = async {
                match outposts::is_meant(&request) {
                    true => outposts::answer(&cluster, &certificate, request),
                    false if is_replica && request.uri().path() == HERE => here(&cluster),
                    false if is_replica => answer(face, cluster, request).await,
                    false => refused(),
                }
            };
            let answered = tasks::caught(tasks::Kind::Http, answering).await;
            Ok::<_, Infallible>(answered.unwrap_or_else(|_| reply::broke_off(None)))
        })
    });
    let connection = http1::Builder::new()
        .timer(Clock::default())
        .header_read_timeout(limits::LINK_IDLE)
        .max_buf_size(limits::LINK_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if let Err(fault) = connection.await {
        tracing::debug!(%fault, "a link from another replica ended badly");
    }
}

/// Whose client has gone, or who was paused for too long, hangs up. That is no refusal.
fn is_hung_up(fault: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(fault.kind(), UnexpectedEof | ConnectionReset | BrokenPipe)
}

/// Only replicas say on whose behalf they ask.
fn refused() -> Response<Body> {
    tracing::warn!("who came as a replica has a worker's certificate: it is refused");
    reply::status(StatusCode::FORBIDDEN)
}

/// Which one this is, for whoever has not heard of it.
fn here(cluster: &Cluster) -> Response<Body> {
    let mut answer = reply::status(StatusCode::OK);
    if let Ok(id) = HeaderValue::try_from(cluster.id()) {
        answer.headers_mut().insert(REPLICA, id);
    }
    answer
}

/// Answers a request that another replica hands on.
async fn answer(
    face: Arc<Face>,
    cluster: Arc<Cluster>,
    request: Request<Incoming>,
) -> Response<Body> {
    if let Some(form) = request.headers().get(&FORM).filter(|form| *form != FORM_1) {
        // Its session is here, and its client may come in by another replica.
        tracing::warn!(
            ?form,
            "a replica hands requests on in a form that this version does not know: they are refused for now"
        );
        return reply::not_now(None);
    }
    let Some((scope, admission)) = admitted(&face, &request) else {
        return reply::status(StatusCode::BAD_REQUEST);
    };
    if let Some(refused) = missing(&face, &cluster, &scope, &admission, &request).await {
        return refused;
    }
    if request.method() == Verb::POST {
        return match read::post(face, scope, admission, Clock::default(), request).await {
            Ok((post, said)) => match request::answer(post, said).await {
                Ok(answer) => answer,
                Err(refusal) => *refusal,
            },
            Err(refusal) => *refusal,
        };
    }
    if *request.method() != Verb::DELETE {
        return Box::pin(handshake_era::get(&face, &scope, admission, &request)).await;
    }
    match Box::pin(changing::delete(&face, &scope, &admission, &request)).await {
        Ok(done) => done,
        Err(Refusal::Elsewhere(_)) => reply::status(StatusCode::MISDIRECTED_REQUEST),
        Err(refusal) => refusal.response(None),
    }
}

/// On whose behalf it is, and where it leads.
fn admitted(face: &Face, request: &Request<Incoming>) -> Option<(Scope, Admission)> {
    let headers = request.headers();
    // For a session that this one has, or a call that waits here.
    let is_named = headers.contains_key(&SESSION)
        || (headers.contains_key(&TICKET) && request.method() == Verb::POST);
    if headers.get(&FORM) != Some(&FORM_1) || !is_named {
        return None;
    }
    let path = request.uri().path();
    let route = Route::of(face, path);
    if !matches!(route.opens, Opens::Clients(Endpoint::Mcp)) || !route.has(request.method()) {
        return None;
    }
    let scope = route.scope(face, path)?;
    let principal: Arc<str> = text(headers.get(&PRINCIPAL)?.to_str().ok()?)?.into();
    let several = face.has_several_principals();
    let share = face.gateway.host().budget().share_of(&principal, several);
    let pass = Pass::by_a_replica(principal, face.shutdown.clone());
    Some((scope, pass.admit(share, None)))
}

/// Hexadecimal digits as text.
fn text(digits: &str) -> Option<String> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| u8::try_from(char::from(byte).to_digit(16)?).ok();
    let bytes = pairs
        .iter()
        .map(|[high, low]| Some((digit(*high)? << 4) | digit(*low)?));
    let bytes: Option<Vec<u8>> = bytes.collect();
    String::from_utf8(bytes.filter(|_| rest.is_empty())?).ok()
}

/// Why the session is not given, if it is not here: whoever asks then looks for itself.
async fn missing(
    face: &Face,
    cluster: &Cluster,
    scope: &Scope,
    admission: &Admission,
    request: &Request<Incoming>,
) -> Option<Response<Body>> {
    let elsewhere = || Some(reply::status(StatusCode::MISDIRECTED_REQUEST));
    if cluster.is_draining() {
        return elsewhere();
    }
    let id = request.headers().get(&SESSION)?.to_str().ok()?;
    if face.sessions.has(id) {
        return None;
    }
    if face.sessions.has_ended(id) {
        return Some(Refusal::Unknown.response(None));
    }
    // Boxed, as what else is seldom.
    match Box::pin(adopt::adopt(face, scope, admission, id)).await {
        Ok(_) => None,
        Err(Refusal::Elsewhere(_)) => elsewhere(),
        Err(Refusal::Unknown) if !cluster.is_reached() => Some(reply::not_now(None)),
        Err(refusal) => Some(refusal.response(None)),
    }
}
