//! Serving a built-in server: on one end of a pipe, or on stdin and stdout.

use rmcp::{RoleServer, Service, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

/// Why a built-in server ended early.
#[derive(Debug)]
pub struct BuiltinError(String);

impl std::fmt::Display for BuiltinError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuiltinError {}

/// Serves one end of a pipe in a task of its own: a panic in there ends that
/// task and closes the pipe, and whoever holds the other end sees a server that
/// went away, nothing worse.
pub fn in_process<S>(server: S, pipe: DuplexStream)
where
    S: Service<RoleServer> + Send + 'static,
{
    tokio::spawn(async move {
        let (read, write) = tokio::io::split(pipe);
        if let Err(fault) = serve(server, read, write).await {
            tracing::debug!(%fault, "a built-in server ended");
        }
    });
}

/// Serves our own stdin and stdout until stdin ends.
pub async fn on_stdio<S>(server: S) -> Result<(), BuiltinError>
where
    S: Service<RoleServer> + Send + 'static,
{
    serve(server, tokio::io::stdin(), tokio::io::stdout()).await
}

async fn serve<S, R, W>(server: S, read: R, write: W) -> Result<(), BuiltinError>
where
    S: Service<RoleServer> + Send + 'static,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let running = server
        .serve((read, write))
        .await
        .map_err(|fault| BuiltinError(fault.to_string()))?;
    running
        .waiting()
        .await
        .map_err(|fault| BuiltinError(fault.to_string()))?;
    Ok(())
}
