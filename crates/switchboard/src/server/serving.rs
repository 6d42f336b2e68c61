//! The ways to serve a server of one's own: all of them are faces of a gateway
//! whose only server it is, under its own names.

use super::{Server, ServerFault};
use crate::{VERSION, library, limits};
use bytes::Bytes;
use futures_util::stream;
use std::{
    io::{self, Read},
    sync::Arc,
    thread,
};
use switchboard_gateway::{Door, Gateway, GatewayOptions, faces};
use switchboard_host::{Host, permission::Rules};
use switchboard_tasks as tasks;
use switchboard_transport::Budget;
use switchboard_wire::name::Style;
use tokio::{io::AsyncRead, net::TcpListener, sync::mpsc};
use tokio_util::{io::StreamReader, sync::CancellationToken};

impl Server {
    /// Serves whoever started this program, on its stdin and stdout, until stdin
    /// ends or a signal (SIGINT, SIGTERM) comes. Calls in flight are finished.
    /// Nothing else may be written to stdout.
    ///
    /// # Errors
    /// When a tool cannot be offered, or stdout cannot be written to.
    pub async fn run(self) -> Result<(), ServerFault> {
        self.serve_stdio(until_signal()?).await
    }

    /// Serves HTTP until a signal comes: streamable HTTP at `/mcp`, HTTP+SSE at
    /// `/sse`, WebSocket at `/ws`. The door says who may come in.
    ///
    /// # Errors
    /// When a tool cannot be offered, or everybody would be let in from other
    /// machines.
    pub async fn run_http(self, listener: TcpListener, door: Door) -> Result<(), ServerFault> {
        self.serve_http(listener, door, until_signal()?).await
    }

    /// The same as [`run`](Self::run) until `stop` is cancelled.
    ///
    /// # Errors
    /// The same.
    pub async fn serve_stdio(self, stop: CancellationToken) -> Result<(), ServerFault> {
        let gateway = self.gateway()?;
        let served = faces::stdio::serve_input(gateway.clone(), stdin()?, stop).await;
        library::close(gateway.host()).await;
        Ok(served?)
    }

    /// The same as [`run_http`](Self::run_http) until `stop` is cancelled.
    ///
    /// # Errors
    /// The same.
    pub async fn serve_http(
        self,
        listener: TcpListener,
        door: Door,
        stop: CancellationToken,
    ) -> Result<(), ServerFault> {
        let address = listener.local_addr()?;
        if door.open && !address.ip().is_loopback() {
            return Err(ServerFault::OpenToAll(address));
        }
        let gateway = self.gateway()?;
        let served = faces::http::serve(gateway.clone(), listener, door, stop).await;
        library::close(gateway.host()).await;
        Ok(served?)
    }

    /// A gateway whose only server this is, for faces of one's choice.
    ///
    /// # Errors
    /// When a tool cannot be offered.
    pub fn gateway(self) -> Result<Arc<Gateway>, ServerFault> {
        let name = self.name.as_str().into();
        let host = Host::new(
            vec![self.spec()?],
            Rules::everything_allowed(),
            Style::Bare,
            Budget::default(),
        );
        let options = GatewayOptions {
            version: VERSION.to_owned(),
            single: Some(name),
            ..GatewayOptions::default()
        };
        Ok(Gateway::new(host, options))
    }
}

/// Cancelled by the first signal that asks the program to end.
fn until_signal() -> io::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    let mut terminate = {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::terminate())?
    };
    tasks::spawn(tasks::Kind::Background, async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        stopping.cancel();
    });
    Ok(stop)
}

/// Our standard input, read on a thread that the end of the program does not
/// wait for: nothing can interrupt a read.
fn stdin() -> io::Result<impl AsyncRead + Send + Unpin + 'static> {
    let (chunks, mut arriving) = mpsc::channel(limits::READ_AHEAD);
    thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || {
            let mut buffer = vec![0; limits::CHUNK];
            loop {
                let read = match io::stdin().lock().read(&mut buffer) {
                    Ok(0) => return,
                    Ok(size) => Ok(Bytes::copy_from_slice(&buffer[..size])),
                    Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
                    Err(fault) => Err(fault),
                };
                let is_last = read.is_err();
                if chunks.blocking_send(read).is_err() || is_last {
                    return;
                }
            }
        })?;
    let chunks = stream::poll_fn(move |context| arriving.poll_recv(context));
    Ok(StreamReader::new(chunks))
}
