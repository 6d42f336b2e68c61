//! Links to other replicas: HTTP over TLS, on connections that are kept for the next
//! request, and go through NATS where a replica cannot be dialled.

use super::{fingerprint, nodes::Node, posted::Posted};
use crate::limits;
use bytes::Bytes;
use futures_util::{Stream, stream};
use http::{HeaderMap, Response, StatusCode};
use parking_lot::Mutex;
use std::{collections::HashMap, io, pin::Pin, sync::Arc, time::Instant};
use switchboard_host::{Full, Place, Quota};
use switchboard_transport::{
    dial::{LinkOver, LinkStream, LinkTls},
    http::http1::{Connection, Fault, Request},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    net::TcpStream,
    time::timeout,
};

/// A connection, by whichever way.
type Line = Connection<Box<dyn Way>>;

trait Way: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Way for S {}

/// Links to all replicas.
pub(crate) struct Links {
    tls: LinkTls,
    posted: Option<Arc<Posted>>,
    peers: Mutex<HashMap<String, Arc<Peer>>>,
}

/// One other replica.
struct Peer {
    /// Since when each has not been used.
    idle: Mutex<Vec<(Instant, Line)>>,
    flights: Arc<Quota>,
    /// Since when NATS is the only way to it.
    over_nats: Mutex<Option<Instant>>,
}

/// On whose behalf a replica is asked.
pub(crate) struct Whose<'a> {
    pub principal: &'a Arc<str>,
    /// Whether others are known: then one has at most half of the way.
    pub several: bool,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// Nobody listens there. Nothing was sent.
    Refused,
    /// It cannot be reached, or is not the one that it should be. Nothing was sent.
    Unreachable,
    /// Too many are under way.
    Full(Full),
    /// It was sent, and nobody knows what became of it.
    Broken,
}

/// An answer's body: all of it, or what comes in time.
pub(crate) enum Answered {
    Whole(Bytes),
    Comes(Coming),
}

/// What comes of a body, on the connection that it comes on.
pub(crate) type Coming = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

impl Links {
    pub(super) fn new(tls: LinkTls, posted: Option<Arc<Posted>>) -> Self {
        Self {
            tls,
            posted,
            peers: Mutex::default(),
        }
    }

    fn peer(&self, id: &str) -> Arc<Peer> {
        let mut peers = self.peers.lock();
        if let Some(peer) = peers.get(id) {
            return peer.clone();
        }
        if peers.len() >= limits::NODES {
            peers.clear();
        }
        let peer = Arc::new(Peer {
            idle: Mutex::default(),
            flights: Quota::new("requests to another replica", limits::FORWARDS),
            over_nats: Mutex::default(),
        });
        peers.insert(id.to_owned(), peer.clone());
        peer
    }

    /// Whoever has gone is not linked to any more, nor kept what the other end has closed.
    pub(super) fn retain(&self, is_there: impl Fn(&str) -> bool) {
        let mut peers = self.peers.lock();
        peers.retain(|id, _| is_there(id));
        for peer in peers.values() {
            let mut idle = peer.idle.lock();
            idle.retain_mut(|(since, line)| is_fresh(*since) && line.is_ready());
        }
    }

    /// Asks a replica, for somebody or on our own behalf.
    pub(super) async fn ask(
        &self,
        id: &str,
        node: &Node,
        whose: Option<&Whose<'_>>,
        request: &Request<'_>,
    ) -> Result<Response<Answered>, NoAnswer> {
        let peer = self.peer(id);
        let take = |whose: &Whose<'_>| peer.flights.take(whose.principal, whose.several);
        let flight = whose.map(take).transpose();
        let flight = flight.map_err(NoAnswer::Full)?;
        loop {
            let (kept_since, kept) = peer.idle.lock().pop().unzip();
            let mut line = match kept {
                Some(line) => line,
                // Boxed: it is seldom, and large.
                None => Box::pin(self.connect(id, node, &peer)).await?,
            };
            // The other end has closed it, or may just be about to.
            if kept_since.is_some_and(|since| !(is_fresh(since) && line.is_ready())) {
                continue;
            }
            match line.ask(request).await {
                Ok((status, headers)) => {
                    let under_way = UnderWay {
                        line,
                        peer,
                        _flight: flight,
                    };
                    let body = under_way.taken().await.map_err(|_| NoAnswer::Broken)?;
                    return Ok(answered(status, headers, body));
                }
                Err(_) if line.has_written() => return Err(NoAnswer::Broken),
                Err(_) if kept_since.is_some() => {}
                Err(_) => return Err(NoAnswer::Unreachable),
            }
        }
    }

    /// The replicas that are reached through NATS alone.
    pub(super) fn over_nats(&self) -> Vec<String> {
        let peers = self.peers.lock();
        let over = peers
            .iter()
            .filter(|(_, peer)| peer.over_nats.lock().is_some());
        let mut over: Vec<String> = over.map(|(id, _)| id.clone()).collect();
        over.sort();
        over
    }

    /// A connection to a replica: directly, or through NATS where nobody can dial it.
    async fn connect(&self, id: &str, node: &Node, peer: &Peer) -> Result<Line, NoAnswer> {
        let is_recent = |since: Instant| since.elapsed() < limits::WAY_AGAIN;
        let since = *peer.over_nats.lock();
        if since.is_some_and(is_recent)
            && let Some(stream) = self.through_nats(id, node).await
        {
            return Ok(Line::new(Box::new(stream)));
        }
        let why = match shaken(&self.tls, node).await {
            Ok(stream) => {
                *peer.over_nats.lock() = None;
                return Ok(Line::new(Box::new(stream)));
            }
            Err(why) => why,
        };
        let Some(stream) = self.through_nats(id, node).await else {
            *peer.over_nats.lock() = None;
            return Err(why);
        };
        if peer.over_nats.lock().replace(Instant::now()).is_none() {
            let address = &node.address;
            tracing::warn!(replica = id, %address, "a replica cannot be dialled: what is for it goes through NATS");
        }
        Ok(Line::new(Box::new(stream)))
    }

    /// A connection through NATS to the replica that it should be.
    async fn through_nats(&self, id: &str, node: &Node) -> Option<LinkOver<DuplexStream>> {
        let posted = self.posted.as_ref()?;
        let shaking = async {
            let stream = posted.connect(id).await.ok()??;
            let is_announced = |shown: &[u8]| fingerprint(shown) == node.fingerprint;
            self.tls.connect(stream, is_announced).await.ok()
        };
        timeout(limits::LINK_CONNECT, shaking).await.ok()?
    }
}

/// Whether the other end keeps a connection that has not been used since then.
fn is_fresh(since: Instant) -> bool {
    since.elapsed() < limits::LINK_KEPT
}

/// A connection to a replica that is the one that it should be.
pub(super) async fn shaken(tls: &LinkTls, node: &Node) -> Result<LinkStream, NoAnswer> {
    let connecting = timeout(limits::LINK_CONNECT, TcpStream::connect(&node.address));
    let stream = match connecting.await {
        Ok(Ok(stream)) => stream,
        Ok(Err(fault)) if fault.kind() == io::ErrorKind::ConnectionRefused => {
            return Err(NoAnswer::Refused);
        }
        Ok(Err(_)) | Err(_) => return Err(NoAnswer::Unreachable),
    };
    let _ = stream.set_nodelay(true);
    let is_announced = |shown: &[u8]| fingerprint(shown) == node.fingerprint;
    let shaken = timeout(limits::LINK_CONNECT, tls.connect(stream, is_announced));
    match shaken.await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(fault)) => {
            let address = &node.address;
            tracing::warn!(%fault, %address, "what answers there is no replica of this cluster");
            Err(NoAnswer::Unreachable)
        }
        Err(_) => Err(NoAnswer::Unreachable),
    }
}

fn answered(status: StatusCode, headers: HeaderMap, body: Answered) -> Response<Answered> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    answer
}

/// A request whose answer has begun.
struct UnderWay {
    line: Line,
    peer: Arc<Peer>,
    _flight: Option<Place>,
}

impl UnderWay {
    /// The body. A short one is taken whole, which frees its connection.
    async fn taken(mut self) -> Result<Answered, Fault> {
        let short = self.line.left();
        let Some(size) = short.filter(|size| *size <= limits::FORWARDED_WHOLE) else {
            return Ok(Answered::Comes(self.coming()));
        };
        let mut whole = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        while self.line.collect_into(&mut whole).await? {}
        self.keep();
        Ok(Answered::Whole(whole.into()))
    }

    fn coming(self) -> Coming {
        Box::pin(stream::unfold(Some(self), async |under_way| {
            let mut under_way = under_way?;
            match under_way.line.chunk().await {
                // Nobody may ask whether there is more of what has said its length.
                Ok(Some(piece)) if under_way.line.is_ended() => {
                    under_way.keep();
                    Some((Ok(piece), None))
                }
                Ok(Some(piece)) => Some((Ok(piece), Some(under_way))),
                Ok(None) => {
                    under_way.keep();
                    None
                }
                Err(fault) => Some((Err(io::Error::other(fault)), None)),
            }
        }))
    }

    /// The connection is free.
    fn keep(self) {
        let Self { mut line, peer, .. } = self;
        let mut idle = peer.idle.lock();
        if line.is_complete() && idle.len() < limits::LINKS_IDLE {
            line.rest();
            idle.push((Instant::now(), line));
        }
    }
}
