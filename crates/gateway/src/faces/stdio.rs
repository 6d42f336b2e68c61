//! The gateway as a stdio server: one client, in whichever era it opens.

use super::conversation::{Conversation, Manner};
use crate::{
    admission::{Admission, Ended},
    gateway::Gateway,
    limits,
    session::{Outlet, Weight},
};
use std::{io, sync::Arc};
use switchboard_transport::stdio::{LineWriter, Lines};
use switchboard_wire::{ErrorObject, Payload, code, limits::MESSAGE_BYTES};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

/// Whose requests these are: whoever started us.
const PRINCIPAL: &str = "local";

/// Serves our own standard streams until the input ends or `shutdown` fires.
pub async fn serve(gateway: Arc<Gateway>, shutdown: CancellationToken) -> io::Result<()> {
    serve_streams(gateway, tokio::io::stdin(), tokio::io::stdout(), shutdown).await
}

/// Serves any pair of streams in the same way.
pub async fn serve_streams(
    gateway: Arc<Gateway>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let admission = Admission::served(PRINCIPAL, shutdown);
    gateway.host().serves(admission.principal());
    let manner = Manner {
        scope: gateway.whole(),
        admission,
        own_servers: true,
        shared_credential: false,
        modern: true,
        announcement: gateway.announcement(),
    };
    serve_client(gateway, manner, read, write).await
}

/// One client on lines, whoever it is.
pub(crate) async fn serve_client(
    gateway: Arc<Gateway>,
    manner: Manner,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<()> {
    let admission = manner.admission.clone();
    let writer = LineWriter::new(write);
    let outlet = Arc::new(Out(writer.clone()));
    let client = Conversation::new(gateway.clone(), manner, outlet);
    let mut lines = Lines::new(read, MESSAGE_BYTES, gateway.host().budget().clone());
    let mut stopping = false;
    let broken = writer.broken();
    tokio::pin!(broken);
    let ended = loop {
        let line = tokio::select! {
            line = lines.next() => line,
            ended = admission.ended() => {
                stopping = ended == Ended::Shutdown;
                break Ok(());
            }
            () = &mut broken => break Err(io::Error::other("nothing can be written any more")),
        };
        match line {
            Ok(Some(line)) => client.bytes(line).await,
            Ok(None) => break Ok(()),
            Err(fault) => {
                client.send(ErrorObject::new(code::PARSE, fault.to_string()).response(None));
                break Err(io::Error::other(fault.to_string()));
            }
        }
    };
    // Calls in flight may still finish if we were asked to stop; a client that
    // closed its end is not there to read them.
    if stopping {
        client.drain().await;
        let _ = tokio::time::timeout(limits::DRAIN, writer.drained()).await;
    }
    client.end();
    writer.close();
    ended
}

struct Out(LineWriter);

impl Outlet for Out {
    fn send(&self, payload: Payload, weight: Weight) {
        // While the client does not read, what it can do without goes first.
        if weight <= Weight::Notice && self.0.queued() > limits::STREAM_BYTES {
            return;
        }
        let _ = self.0.send(payload);
    }
}
