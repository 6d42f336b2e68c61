//! Links to other replicas: HTTP over TLS, on connections that are kept for the next
//! request, and go through NATS where a replica cannot be dialled.

use super::{fingerprint, nodes::Node, posted::Posted};
use crate::limits;
use bytes::Bytes;
use futures_util::Stream;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::{Body, Incoming},
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};
use switchboard_tasks as tasks;
use switchboard_transport::dial::{LinkOver, LinkStream, LinkTls};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    net::TcpStream,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

type Sender = SendRequest<Full<Bytes>>;

/// Links to all replicas.
pub(crate) struct Links {
    tls: LinkTls,
    posted: Option<Arc<Posted>>,
    peers: Mutex<HashMap<String, Arc<Peer>>>,
}

/// One other replica.
struct Peer {
    idle: Mutex<Vec<Sender>>,
    flights: Arc<Semaphore>,
    /// Since when NATS is the only way to it.
    over_nats: Mutex<Option<Instant>>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// Nobody listens there. Nothing was sent.
    Refused,
    /// It cannot be reached, or is not the one that it should be. Nothing was sent.
    Unreachable,
    /// Too many are under way.
    Full,
    /// It was sent, and nobody knows what became of it.
    Broken,
}

/// An answer's body: all of it, or what comes in time.
pub(crate) enum Answered {
    Whole(Bytes),
    Comes(Coming),
}

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
            flights: Arc::new(Semaphore::new(limits::FORWARDS)),
            over_nats: Mutex::default(),
        });
        peers.insert(id.to_owned(), peer.clone());
        peer
    }

    /// Whoever has gone is not linked to any more.
    pub(super) fn retain(&self, is_there: impl Fn(&str) -> bool) {
        self.peers.lock().retain(|id, _| is_there(id));
    }

    /// Asks a replica.
    pub(super) async fn ask(
        &self,
        id: &str,
        node: &Node,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Answered>, NoAnswer> {
        let peer = self.peer(id);
        let flight = peer.flights.clone().try_acquire_owned();
        let flight = flight.map_err(|_| NoAnswer::Full)?;
        loop {
            let kept = peer.idle.lock().pop();
            let is_kept = kept.is_some();
            let mut sender = match kept {
                Some(sender) => sender,
                None => self.connect(id, node, &peer).await?,
            };
            if sender.ready().await.is_err() {
                match is_kept {
                    true => continue,
                    false => return Err(NoAnswer::Unreachable),
                }
            }
            match sender.try_send_request(request).await {
                Ok(answer) => return Ok(taken(answer, sender, peer, flight).await),
                Err(mut fault) => match fault.take_message() {
                    // The other end has closed it before anything was sent.
                    Some(unsent) if is_kept => request = unsent,
                    Some(_) => return Err(NoAnswer::Unreachable),
                    None => return Err(NoAnswer::Broken),
                },
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
    async fn connect(&self, id: &str, node: &Node, peer: &Peer) -> Result<Sender, NoAnswer> {
        let is_recent = |since: Instant| since.elapsed() < limits::WAY_AGAIN;
        let since = *peer.over_nats.lock();
        if since.is_some_and(is_recent)
            && let Some(stream) = self.through_nats(id, node).await
        {
            return spoken(stream).await;
        }
        let why = match shaken(&self.tls, node).await {
            Ok(stream) => {
                *peer.over_nats.lock() = None;
                return spoken(stream).await;
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
        spoken(stream).await
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

/// HTTP on a connection.
async fn spoken<S>(stream: S) -> Result<Sender, NoAnswer>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let shaken = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = shaken.map_err(|_| NoAnswer::Unreachable)?;
    tasks::spawn(tasks::Kind::Connection, async move {
        if let Err(fault) = connection.await {
            tracing::debug!(%fault, "a link to another replica ended badly");
        }
    });
    Ok(sender)
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

/// An answer that has begun. A short one is taken whole, which frees its connection.
async fn taken(
    answer: Response<Incoming>,
    sender: Sender,
    peer: Arc<Peer>,
    flight: OwnedSemaphorePermit,
) -> Response<Answered> {
    let (head, body) = answer.into_parts();
    let size = body.size_hint().exact();
    let mut coming = Coming {
        body,
        sender: Some(sender),
        peer,
        _flight: flight,
    };
    let is_short = size.is_some_and(|size| size <= limits::FORWARDED_WHOLE);
    let body = match is_short {
        false => Answered::Comes(coming),
        true => match (&mut coming.body).collect().await {
            Ok(whole) => {
                coming.keep();
                Answered::Whole(whole.to_bytes())
            }
            // Its reader meets the same fault.
            Err(_) => Answered::Comes(coming),
        },
    };
    Response::from_parts(head, body)
}

/// A body that comes in time, with the connection that it comes on.
pub(crate) struct Coming {
    body: Incoming,
    sender: Option<Sender>,
    peer: Arc<Peer>,
    _flight: OwnedSemaphorePermit,
}

impl Coming {
    /// The connection is free.
    fn keep(&mut self) {
        if let Some(sender) = self.sender.take() {
            let mut idle = self.peer.idle.lock();
            if idle.len() < limits::LINKS_IDLE {
                idle.push(sender);
            }
        }
    }
}

impl Stream for Coming {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
            return Poll::Ready(match frame {
                None => {
                    self.keep();
                    None
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => Some(Ok(data)),
                    Err(_) => continue,
                },
                Some(Err(fault)) => Some(Err(io::Error::other(fault))),
            });
        }
    }
}
