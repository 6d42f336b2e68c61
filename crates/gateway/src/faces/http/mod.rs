//! The gateway over HTTP: `/mcp` for all servers as one, `/mcp/{server}` for
//! each of them, legacy and modern clients on the same addresses; the same over
//! HTTP+SSE (`/sse`) and WebSocket (`/ws`); and the plain dialect (`/plain/…`).

mod accept;
mod adopt;
mod api;
mod attach;
mod body;
mod changing;
mod clock;
mod connections;
mod cors;
mod elsewhere;
mod era;
mod event_stream;
mod events;
mod files;
mod handshake_era;
mod lingering;
mod mailbox;
mod opening;
mod outposts;
mod own_ids;
mod passing;
mod peers;
mod plain;
mod read;
mod reply;
mod request;
mod resting;
mod routes;
mod sessions;
mod spool;
mod sse;
mod stateless_era;
mod unread;
mod versions;
mod ws;

pub use attach::{ANNOUNCEMENT as ATTACH_ANNOUNCEMENT, PROTOCOL as ATTACH_PROTOCOL};
pub use routes::Routes;

use crate::{admission::Entrance, door::Door, gateway::Gateway, limits};
use connections::{Connection, Connections, Repeated};
use lingering::Lingering;
use sessions::Sessions;
use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, atomic::Ordering},
};
use switchboard_host::{Full, Quota};
use switchboard_tasks as tasks;
use switchboard_transport::{Share, dial::DoorTls};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;

/// Listens on an address, with room for many that come at once.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // As everybody does: a restart need not wait for what is left of the last run.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(limits::BACKLOG)
}

/// Serves HTTP on `listener` until `shutdown` fires; then no connection is
/// taken any more, and those in use may finish what they are doing.
pub async fn serve(
    gateway: Arc<Gateway>,
    listener: TcpListener,
    door: Door,
    shutdown: CancellationToken,
) -> io::Result<()> {
    serve_routes(gateway, listener, door, Routes::All, shutdown).await
}

/// The same with a choice of what is at which path.
pub async fn serve_routes(
    gateway: Arc<Gateway>,
    listener: TcpListener,
    door: Door,
    routes: Routes,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let face = Arc::new(Face {
        gateway,
        entrance: Entrance::new(door, shutdown.clone()),
        routes,
        sessions: Sessions::default(),
        streams: sse::Streams::default(),
        plain: plain::Plain::default(),
        connections: Connections::default(),
        held: Quota::new("sessions", limits::SESSIONS),
        shutdown: shutdown.clone(),
        over: CancellationToken::new(),
        tasks: TaskTracker::new(),
    });
    face.entrance.announce(face.gateway.host());
    let upkeep = upkeep(&face);
    if let Some(cluster) = face.gateway.cluster()
        && matches!(face.routes, Routes::All)
    {
        cluster.is_known().await;
    }
    accept_until(&face, &listener, &shutdown).await;
    drop(listener);
    face.tasks.close();
    face.sessions.hush();
    if let Some(keeping) = face.gateway.keeping() {
        keeping.leave().await;
    }
    // After that: who is sent on from here can take what it looks for.
    if let Some(cluster) = face.gateway.cluster() {
        cluster.drains().await;
    }
    let waited = tokio::time::timeout(limits::DRAIN, face.tasks.wait()).await;
    if waited.is_err() {
        face.over.cancel();
        let _ = tokio::time::timeout(limits::LAST_WRITE, face.tasks.wait()).await;
    }
    for task in upkeep {
        task.abort();
    }
    face.sessions.close_all();
    if let Some(cluster) = face.gateway.cluster() {
        cluster.leave().await;
    }
    Ok(())
}

/// What runs beside: sessions that end by themselves, clients that are not let in any
/// more, certificates that are replaced.
fn upkeep(face: &Arc<Face>) -> Vec<tokio::task::JoinHandle<()>> {
    let sweeper = {
        let face = face.clone();
        tasks::keep(tasks::Kind::Upkeep, move || sessions::sweep(face.clone()))
    };
    let watcher = {
        let face = face.clone();
        tasks::keep(tasks::Kind::Upkeep, move || {
            let face = face.clone();
            async move {
                let sessions = &face.sessions;
                face.entrance.watch(|| sessions.close_revoked()).await;
            }
        })
    };
    let certificate = face.entrance.door().tls.clone().map(|tls| {
        let look = move || follow_certificate(tls.clone());
        tasks::keep(tasks::Kind::Upkeep, look)
    });
    let replica = match face.routes {
        Routes::All => peers::upkeep(face),
        Routes::Plain | Routes::Metrics => Vec::new(),
    };
    let all = [sweeper, watcher].into_iter().chain(certificate);
    all.chain(replica).collect()
}

/// Takes connections, as long as there is room for them.
async fn accept_until(face: &Arc<Face>, listener: &TcpListener, shutdown: &CancellationToken) {
    let (crowded, refused) = (Repeated::default(), Repeated::default());
    loop {
        if !face.connections.has_room() {
            if let Some(times) = crowded.is_due() {
                let most = face.connections.most();
                tracing::warn!(
                    times,
                    most,
                    "as many connections as there may be; idle ones give way"
                );
            }
            face.connections.give_way();
            tokio::select! {
                () = tokio::time::sleep(limits::ROOM_PAUSE) => continue,
                () = shutdown.cancelled() => break,
            }
        }
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.cancelled() => break,
        };
        let (stream, from) = match stream {
            Ok(accepted) => accepted,
            Err(fault) => {
                // Out of file descriptors, most likely: wait for some to come back.
                if let Some(times) = refused.is_due() {
                    tracing::warn!(%fault, times, "a connection could not be accepted; idle ones give way");
                }
                face.connections.give_way();
                tokio::time::sleep(limits::ROOM_PAUSE).await;
                continue;
            }
        };
        attend(face, stream, from.ip());
    }
}

/// What every request can reach.
struct Face {
    gateway: Arc<Gateway>,
    entrance: Arc<Entrance>,
    routes: Routes,
    sessions: Sessions,
    streams: sse::Streams,
    plain: plain::Plain,
    connections: Connections,
    /// Places for sessions, of whatever kind.
    held: Arc<Quota>,
    shutdown: CancellationToken,
    /// The time is over in which calls could finish after that: their clients are told.
    over: CancellationToken,
    /// Connections, and calls that outlive theirs.
    tasks: TaskTracker,
}

impl Face {
    /// Whether more than one principal can come in; then none has more than half
    /// of anything.
    fn has_several_principals(&self) -> bool {
        self.entrance.door().has_several_principals()
    }

    /// Notes whose a connection is; where what that principal holds is counted.
    fn belongs_to(&self, open: &Connection, principal: &Arc<str>) -> Result<Share, Full> {
        self.connections.belongs_to(open, principal, || {
            let several = self.has_several_principals();
            let share = self.gateway.host().budget().share_of(principal, several);
            (several, share)
        })
    }

    /// What a client is told when it has come in. It is about the user's own
    /// folders, and nothing for others.
    fn announcement(&self) -> Option<Arc<str>> {
        let alone = !self.entrance.door().has_several_principals();
        self.gateway.announcement().filter(|_| alone)
    }
}

/// Serves one connection in a task of its own.
///
/// Not `async`, so that the task is compiled here: what is awaited only by the
/// program is compiled with the program, which is optimised for size.
fn attend(face: &Arc<Face>, stream: TcpStream, from: IpAddr) {
    let _ = stream.set_nodelay(true);
    let stream = Lingering::new(stream);
    let connected = face.clone();
    let open = Arc::new(Entered::new(face, from));
    let span = tracing::debug_span!("connection", %from);
    let Some(tls) = face.entrance.door().tls.clone() else {
        let attending = async move { versions::plain(connected, stream, &open).await };
        let attending = attending.instrument(span);
        tasks::spawn_in(&face.tasks, tasks::Kind::Connection, attending);
        return;
    };
    let attending = async move {
        let shaken = tokio::select! {
            shaken = tokio::time::timeout(limits::TLS_HANDSHAKE, tls.accept(stream)) => shaken,
            () = open.1.gives_way() => return tracing::debug!("an idle connection gave way"),
        };
        match shaken {
            // Boxed: it is large, and waits here for as long as the connection lives.
            Ok(Ok(stream)) => Box::pin(versions::secure(connected, stream, &open)).await,
            Ok(Err(fault)) => tracing::debug!(%fault, "a client did not shake hands over TLS"),
            Err(_) => tracing::debug!("a client took too long to shake hands over TLS"),
        }
    };
    let attending = attending.instrument(span);
    tasks::spawn_in(&face.tasks, tasks::Kind::Connection, attending);
}

/// Reads our certificate again whenever its files change.
async fn follow_certificate(tls: Arc<DoorTls>) {
    loop {
        tokio::time::sleep(limits::TLS_LOOK).await;
        let files = tls.clone();
        match tasks::blocking(move || files.renew()).await {
            Ok(Ok(false)) | Err(_) => {}
            Ok(Ok(true)) => tracing::info!("the certificate was read again"),
            Ok(Err(fault)) => {
                tracing::warn!(%fault, "the certificate has changed; the one before stays in use");
            }
        }
    }
}

/// A connection's entry, which ends with it, however it ends: also where it has
/// become a socket.
struct Entered(Arc<Face>, Arc<Connection>);

impl Entered {
    fn new(face: &Arc<Face>, from: IpAddr) -> Self {
        face.gateway.connections.fetch_add(1, Ordering::Relaxed);
        Self(face.clone(), face.connections.add(Some(from)))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.gateway.connections.fetch_sub(1, Ordering::Relaxed);
        self.0.connections.remove(&self.1);
    }
}
