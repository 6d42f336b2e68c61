//! How one connection is served, in the version of HTTP that both sides speak:
//! HTTP/2 where it was agreed on with TLS, HTTP/1.1 everywhere else.

use super::{
    Entered, Face, api,
    clock::Clock,
    connections::{Connection, Served},
    cors, request,
};
use crate::limits;
use http::{Request, Response};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::{HttpService, service_fn},
};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    convert::Infallible,
    pin::{Pin, pin},
    sync::Arc,
    time::Instant,
};
use switchboard_tasks as tasks;
use switchboard_transport::dial::DoorStream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Serves a connection on which nothing was agreed on.
pub(super) async fn plain<S>(face: Arc<Face>, stream: S, entered: &Arc<Entered>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let shutdown = face.shutdown.clone();
    // Its task waits for one thing at a time: the next head, or an answer.
    let clock = Clock::default();
    let mut builder = http1::Builder::new();
    builder
        .timer(clock.clone())
        .header_read_timeout(limits::HEADER_READ)
        .max_buf_size(limits::REQUEST_HEAD);
    let service =
        service_fn(move |request| answer(face.clone(), entered.clone(), clock.clone(), request));
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    drive(pin!(connection.with_upgrades()), &entered.1, &shutdown).await;
}

/// Serves a connection on which TLS is spoken, in the version that was chosen there.
pub(super) async fn secure<S>(face: Arc<Face>, stream: DoorStream<S>, entered: &Arc<Entered>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let chosen = stream.get_ref().1.alpn_protocol();
    if chosen != Some(b"h2") {
        return plain(face, stream, entered).await;
    }
    let shutdown = face.shutdown.clone();
    let mut builder = http2::Builder::new(Streams(face.tasks.clone()));
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits::HTTP2_STREAMS)
        .max_header_list_size(limits::REQUEST_HEAD as u32)
        .initial_stream_window_size(limits::HTTP2_WINDOW)
        .initial_connection_window_size(limits::HTTP2_CONNECTION_WINDOW)
        .max_send_buf_size(limits::HTTP2_SEND)
        .keep_alive_interval(limits::HTTP2_PING)
        .keep_alive_timeout(limits::HTTP2_PONG);
    // Each request has a task of its own, and so a clock.
    let service =
        service_fn(move |request| answer(face.clone(), entered.clone(), Clock::default(), request));
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    drive(pin!(connection), &entered.1, &shutdown).await;
}

/// Answers one request. Its connection is busy until the answer is written.
fn answer(
    face: Arc<Face>,
    entered: Arc<Entered>,
    clock: Clock,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<Served>, Infallible>> + Send + 'static {
    let until = entered.1.begin();
    let is_api = request.uri().path().starts_with(api::PREFIX);
    let page = cors::page(&face, request.headers());
    let phases = request::phases(face, entered, clock, request);
    tasks::caught_then(tasks::Kind::Http, phases, move |done| {
        let mut answer = match done {
            Ok(done) => done.unwrap_or_else(|refusal| *refusal),
            Err(_) => api::broke_off(is_api),
        };
        if let Some(page) = page {
            cors::let_read(&mut answer, page);
        }
        Ok(answer.map(|body| Served {
            body,
            _until: until,
        }))
    })
}

/// Requests of one connection that are answered side by side.
#[derive(Clone)]
struct Streams(TaskTracker);

impl<F> hyper::rt::Executor<F> for Streams
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn execute(&self, stream: F) {
        tasks::spawn_in(&self.0, tasks::Kind::Connection, stream);
    }
}

/// A connection of either version.
trait Driven: Future<Output = hyper::Result<()>> {
    /// Answers what is there, and nothing that comes later.
    fn wind_down(self: Pin<&mut Self>);
}

impl<S, H> Driven for http1::UpgradeableConnection<TokioIo<S>, H>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: HttpService<Incoming, ResBody = Served>,
    H::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn wind_down(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<S, H> Driven for http2::Connection<TokioIo<S>, H, Streams>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: HttpService<Incoming, ResBody = Served>,
    H::Future: Send + 'static,
    H::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn wind_down(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Waits until a client that has just come has asked something, for a moment: whoever was
/// let in before we stopped is answered.
async fn begun(open: &Connection) {
    let until = Instant::now() + limits::LAST_COMERS;
    while !open.is_used() && Instant::now() < until {
        tokio::time::sleep(limits::ROOM_PAUSE).await;
    }
}

/// Serves until the client leaves, it has to give way, or we end.
async fn drive(
    mut connection: Pin<&mut impl Driven>,
    open: &Connection,
    shutdown: &CancellationToken,
) {
    tracing::debug!("a client connected");
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
            connection.as_mut().wind_down();
            connection.await
        }
        () = shutdown.cancelled() => tokio::select! {
            result = &mut connection => result,
            () = begun(open) => {
                connection.as_mut().wind_down();
                connection.await
            }
        },
    };
    if let Err(fault) = result {
        tracing::debug!(%fault, "a client's connection ended badly");
    } else {
        tracing::debug!("a client's connection ended");
    }
}
