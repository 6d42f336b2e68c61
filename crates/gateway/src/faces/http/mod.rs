//! The gateway over HTTP: `/mcp` for all servers as one, `/mcp/{server}` for
//! each of them, legacy and modern clients on the same addresses; the same over
//! HTTP+SSE (`/sse`) and WebSocket (`/ws`); and the plain dialect (`/plain/…`).

mod accept;
mod api;
mod attach;
mod body;
mod clock;
mod connections;
mod events;
mod legacy;
mod mailbox;
mod modern;
mod plain;
mod read;
mod reply;
mod routes;
mod sessions;
mod spool;
mod sse;
mod ws;

pub use attach::{ANNOUNCEMENT as ATTACH_ANNOUNCEMENT, PROTOCOL as ATTACH_PROTOCOL};
pub use routes::Routes;

use crate::{
    admission::Entrance,
    door::{Door, names_two_hosts},
    gateway::Gateway,
    limits,
};
use body::Body;
use clock::Clock;
use connections::{Connection, Connections, Repeated, Served};
use futures_util::FutureExt;
use http::{Method as Verb, Request, Response, StatusCode};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use routes::Route;
use sessions::Sessions;
use std::{convert::Infallible, io, net::SocketAddr, sync::Arc};
use switchboard_host::quota::{Full, Quota};
use switchboard_tasks as tasks;
use switchboard_transport::{Share, dial::DoorTls};
use switchboard_wire::{ErrorObject, Payload, code};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpSocket, TcpStream},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use url::Url;

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
        tasks: TaskTracker::new(),
    });
    face.entrance.announce(face.gateway.host());
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
        let stream = match stream {
            Ok((stream, _)) => stream,
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
        attend(&face, stream);
    }
    drop(listener);
    face.tasks.close();
    face.sessions.hush();
    let _ = tokio::time::timeout(limits::DRAIN, face.tasks.wait()).await;
    sweeper.abort();
    watcher.abort();
    if let Some(certificate) = certificate {
        certificate.abort();
    }
    face.sessions.close_all();
    Ok(())
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
fn attend(face: &Arc<Face>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let connected = face.clone();
    let open = Arc::new(Entered(face.clone(), face.connections.add()));
    let Some(tls) = face.entrance.door().tls.clone() else {
        tasks::spawn_in(&face.tasks, tasks::Kind::Connection, async move {
            connection(connected, stream, &open).await;
        });
        return;
    };
    tasks::spawn_in(&face.tasks, tasks::Kind::Connection, async move {
        let shaken = tokio::select! {
            shaken = tokio::time::timeout(limits::TLS_HANDSHAKE, tls.accept(stream)) => shaken,
            () = open.1.gives_way() => return tracing::debug!("an idle connection gave way"),
        };
        match shaken {
            // Boxed: it is large, and waits here for as long as the connection lives.
            Ok(Ok(stream)) => Box::pin(connection(connected, stream, &open)).await,
            Ok(Err(fault)) => tracing::debug!(%fault, "a client did not shake hands over TLS"),
            Err(_) => tracing::debug!("a client took too long to shake hands over TLS"),
        }
    });
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

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.connections.remove(&self.1);
    }
}

async fn connection<S>(face: Arc<Face>, stream: S, entered: &Arc<Entered>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let shutdown = face.shutdown.clone();
    let open = &entered.1;
    let service = service_fn(move |request| {
        let face = face.clone();
        let (until, on) = (open.begin(), entered.clone());
        let handled = tasks::caught(tasks::Kind::Http, handle(face, on, request));
        handled.map(move |done| {
            let answer = done.unwrap_or_else(|_| reply::broke_off(None));
            Ok::<_, Infallible>(answer.map(|body| Served {
                body,
                _until: until,
            }))
        })
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(Clock::default())
        .header_read_timeout(limits::HEADER_READ)
        .max_buf_size(64 * 1024);
    let connection = builder
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    // Whoever connects has something to say. Later on there may be pauses.
    let first = async {
        tokio::time::sleep(limits::FIRST_REQUEST).await;
        if open.is_used() {
            std::future::pending::<()>().await;
        }
    };
    let result = tokio::select! {
        result = &mut connection => result,
        () = first => return tracing::debug!("a client connected and asked nothing"),
        () = open.gives_way() => {
            tracing::debug!("an idle connection gave way");
            if !open.is_used() {
                return;
            }
            // What is arriving just now is still answered.
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(fault) = result {
        tracing::debug!(%fault, "a client's connection ended badly");
    }
}

/// The checks in their order, then the route.
async fn handle(face: Arc<Face>, open: Arc<Entered>, request: Request<Incoming>) -> Response<Body> {
    if names_two_hosts(request.headers(), request.uri()) {
        let text = "the request's target names another host than the header Host";
        let error = ErrorObject::new(code::INVALID_REQUEST, text);
        return reply::error(StatusCode::BAD_REQUEST, &error, None);
    }
    let door = face.entrance.door();
    if !door.is_our_address(request.headers(), request.uri()) {
        let error = ErrorObject::new(code::INVALID_REQUEST, "this Host or Origin is not allowed");
        return reply::error(StatusCode::FORBIDDEN, &error, None);
    }
    let path = request.uri().path();
    if path == "/healthz" {
        return reply::plain(StatusCode::OK, "ok\n");
    }
    if let Some(rest) = path
        .strip_prefix("/api/")
        .filter(|_| face.routes == Routes::All)
    {
        return api::handle(&face, &request, rest).await;
    }
    if let Some(document) = metadata(&face, &request) {
        return document;
    }
    let pass = match face.entrance.let_in(request.headers()) {
        Some(pass) => pass,
        None => {
            let resource = resource(&face, &request, path);
            // Boxed: with an identity provider it can take a request to it, which
            // would make every call's state larger.
            match Box::pin(face.entrance.let_in_signed(request.headers(), resource)).await {
                Ok(pass) => pass,
                Err(refused) => return reply::unauthorized(&refused),
            }
        }
    };
    let share = match face.belongs_to(&open.1, pass.principal()) {
        Ok(share) => share,
        Err(full) => return reply::full(&full, None),
    };
    let admission = pass.admit(share);
    match routes::route(&face, path) {
        Some(Route::Mcp(scope)) => match *request.method() {
            Verb::POST => read::post(face, scope, admission, request).await,
            Verb::GET => legacy::get(face, scope, admission, request).await,
            Verb::DELETE => legacy::delete(face, admission.principal(), request).await,
            _ => reply::method_not_allowed(),
        },
        Some(Route::Sse(scope)) if request.method() == Verb::GET => {
            sse::open(&face, scope, admission, &request)
        }
        Some(Route::Messages) if request.method() == Verb::POST => {
            sse::post(&face, &admission, request).await
        }
        Some(Route::Ws(scope)) if request.method() == Verb::GET => {
            ws::upgrade(open, scope, admission, request)
        }
        Some(Route::Attach(scope)) if request.method() == Verb::GET => {
            attach::upgrade(open, scope, admission, request)
        }
        Some(Route::Plain(page)) => plain::handle(&face, page, admission, request).await,
        Some(Route::Sse(_) | Route::Ws(_) | Route::Attach(_)) => reply::not_allowed("GET"),
        Some(Route::Messages) => reply::not_allowed("POST"),
        None => {
            let text = "there is nothing at this path; MCP is at /mcp and /mcp/{server}";
            reply::error(
                StatusCode::NOT_FOUND,
                &ErrorObject::new(code::INVALID_REQUEST, text),
                None,
            )
        }
    }
}

/// The protected-resource document (RFC 9728), which anybody may read: it says
/// where a client gets its token.
fn metadata(face: &Face, request: &Request<Incoming>) -> Option<Response<Body>> {
    let oidc = face.entrance.door().oidc.as_ref()?;
    let path = request
        .uri()
        .path()
        .strip_prefix("/.well-known/oauth-protected-resource")?;
    let path = if path.is_empty() { "/mcp" } else { path };
    routes::route(face, path)?;
    if request.method() != Verb::GET {
        return Some(reply::not_allowed("GET"));
    }
    let document = oidc
        .metadata_of(&resource(face, request, path)?)
        .to_string();
    Some(reply::json(StatusCode::OK, Payload::from(document)))
}

/// The address of a path of ours, as the client writes it.
fn resource(face: &Face, request: &Request<Incoming>, path: &str) -> Option<Url> {
    let host = request.headers().get(http::header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let host = host.or_else(|| {
        request
            .uri()
            .authority()
            .map(|authority| authority.as_str())
    })?;
    let scheme = face.entrance.door().scheme();
    Url::parse(&format!("{scheme}://{host}{path}")).ok()
}
