//! Serving a built-in server: on one end of a pipe, or on stdin and stdout.

use rmcp::{
    RoleServer, Service, ServiceExt,
    service::{DynService, ServerInitializeError},
};
use std::{
    fmt,
    pin::Pin,
    sync::LazyLock,
    task::{Context, Poll},
};
use switchboard_tasks as tasks;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Why a built-in server could not start, or ended early.
#[derive(Debug)]
pub struct BuiltinError(pub(crate) String);

impl fmt::Display for BuiltinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuiltinError {}

/// One connection's view of a built-in server.
pub trait Session: Service<RoleServer> + Send + 'static {
    /// Cancelled as soon as the client is gone, before calls in flight have
    /// ended: what must not outlive the connection watches it.
    fn over(&self) -> CancellationToken {
        CancellationToken::new()
    }

    /// What is still to be done when the connection has ended, and is waited for.
    fn farewell(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }
}

/// The connections that are served within this process.
pub(crate) static SESSIONS: LazyLock<TaskTracker> = LazyLock::new(TaskTracker::new);

/// Waits until all that was served within this process has ended, and what it had
/// started with it. Whoever holds the other ends must have let go of them.
pub async fn sessions_ended() {
    SESSIONS.close();
    SESSIONS.wait().await;
}

/// Serves one end of a pipe in a task of its own: a panic in there ends that
/// task and closes the pipe, and whoever holds the other end sees a server that
/// went away, nothing worse.
pub fn in_process<S: Session>(server: S, pipe: DuplexStream) {
    tasks::spawn_in(&SESSIONS, tasks::Kind::Builtin, async move {
        let (read, write) = tokio::io::split(pipe);
        let stop = CancellationToken::new();
        if let Err(fault) = serve(Plugged::new(server), read, write, stop).await {
            tracing::debug!(%fault, "a built-in server ended");
        }
    });
}

/// Serves our own stdin and stdout until stdin ends.
pub async fn on_stdio<S: Session>(server: S) -> Result<(), BuiltinError> {
    on_stdio_until(server, CancellationToken::new()).await
}

/// Serves our own stdin and stdout until stdin ends or `stop` is cancelled (by
/// a signal): answers that are ready are still written, and whatever the
/// server has started ends with it.
pub async fn on_stdio_until<S: Session>(
    server: S,
    stop: CancellationToken,
) -> Result<(), BuiltinError> {
    let server = Plugged::new(server);
    serve(server, tokio::io::stdin(), tokio::io::stdout(), stop).await
}

/// A session of whatever kind. What serves it is compiled once, not for every
/// kind: that is hundreds of kilobytes.
pub(crate) struct Plugged {
    pub(crate) service: Box<dyn DynService<RoleServer>>,
    pub(crate) over: CancellationToken,
    pub(crate) farewell: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Plugged {
    pub(crate) fn new<S: Session>(server: S) -> Self {
        Self {
            over: server.over(),
            farewell: server.farewell(),
            service: server.into_dyn(),
        }
    }
}

async fn serve<R, W>(
    server: Plugged,
    read: R,
    write: W,
    stop: CancellationToken,
) -> Result<(), BuiltinError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let Plugged {
        service,
        over,
        farewell,
    } = server;
    let _ends = over.clone().drop_guard();
    let read = Watched {
        read,
        over: over.clone(),
    };
    let work = async {
        let running = match service.serve_with_ct((read, write), stop.clone()).await {
            Ok(running) => running,
            // It went without a word, which is its right.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(fault) => return Err(BuiltinError(fault.to_string())),
        };
        let ended = running.waiting().await;
        ended
            .map(drop)
            .map_err(|fault| BuiltinError(fault.to_string()))
    };
    tokio::pin!(work);
    let result = tokio::select! {
        result = &mut work => result,
        () = stop.cancelled() => {
            over.cancel();
            work.await
        }
    };
    over.cancel();
    farewell.await;
    match result {
        // A client that never said hello, or was sent away, is no fault of ours.
        Err(_) if stop.is_cancelled() => Ok(()),
        result => result,
    }
}

/// A reader that says when it has ended.
struct Watched<R> {
    read: R,
    over: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let had_room = buffer.remaining() > 0;
        let result = Pin::new(&mut self.read).poll_read(context, buffer);
        let ended = match &result {
            Poll::Ready(Ok(())) => had_room && buffer.filled().len() == before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if ended {
            self.over.cancel();
        }
        result
    }
}
