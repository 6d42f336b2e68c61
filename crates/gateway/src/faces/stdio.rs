//! The gateway as a stdio server: one client, in whichever era it opens.

use super::{
    ahead::Ahead,
    backlog::Backlog,
    conversation::{ClientTerms, Conversation},
};
use crate::{
    admission::{Admission, Ended},
    gateway::Gateway,
    limits,
};
use std::{io, sync::Arc, time::Duration};
use switchboard_transport::stdio::{self, LineError, LineWriter, Lines};
use switchboard_wire::{ErrorObject, code, limits::MESSAGE_BYTES};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

/// Whose requests these are: whoever started us.
const PRINCIPAL: &str = "local";

/// Serves our own standard streams until the input ends or `shutdown` fires.
pub async fn serve(gateway: Arc<Gateway>, shutdown: CancellationToken) -> io::Result<()> {
    serve_input(gateway, tokio::io::stdin(), shutdown).await
}

/// The same where somebody else reads our standard input.
pub async fn serve_input(
    gateway: Arc<Gateway>,
    read: impl AsyncRead + Send + Unpin + 'static,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let write = tokio::io::stdout();
    let terms = alone(&gateway, shutdown);
    let gone = stdio::nobody_reads_stdout();
    let lines = lines(&gateway, read);
    serve_until(gateway, terms, lines, write, None, gone).await
}

/// Serves any pair of streams in the same way.
pub async fn serve_streams(
    gateway: Arc<Gateway>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let terms = alone(&gateway, shutdown);
    let lines = lines(&gateway, read);
    serve_client(gateway, terms, lines, write, None).await
}

/// The lines of whoever started us, who has all of us: nobody else is to be
/// protected.
fn lines<R: AsyncRead + Unpin>(gateway: &Gateway, read: R) -> Lines<R> {
    Lines::new(read, MESSAGE_BYTES, gateway.host().budget().clone())
}

/// Whoever started us, with servers of its own.
fn alone(gateway: &Gateway, shutdown: CancellationToken) -> ClientTerms {
    let admission = Admission::served(PRINCIPAL, shutdown, gateway.host().budget());
    gateway.host().serves(admission.principal());
    ClientTerms {
        scope: gateway.default_scope(),
        admission,
        own_servers: true,
        shared_credential: false,
        modern: true,
        announcement: gateway.announcement(),
    }
}

/// One client on lines, whoever it is. `patience` is how long its first may take.
pub(crate) async fn serve_client(
    gateway: Arc<Gateway>,
    terms: ClientTerms,
    lines: Lines<impl AsyncRead + Send + Unpin + 'static>,
    write: impl AsyncWrite + Send + Unpin + 'static,
    patience: Option<Duration>,
) -> io::Result<()> {
    let gone = std::future::pending();
    serve_until(gateway, terms, lines, write, patience, gone).await
}

/// Why a client is not listened to any more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    /// It has no more to say; it may still read.
    Said,
    /// We were asked to stop.
    Stopping,
    /// It may not be here any more.
    ShutOut,
    /// Nothing can be written to it.
    Broken,
    /// It has said nothing at all.
    Silent,
}

impl From<Ended> for Over {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Shutdown => Self::Stopping,
            Ended::Revoked | Ended::Expired => Self::ShutOut,
        }
    }
}

/// The same; `gone` tells, once it matters, that nobody reads our answers.
async fn serve_until(
    gateway: Arc<Gateway>,
    terms: ClientTerms,
    lines: Lines<impl AsyncRead + Send + Unpin + 'static>,
    write: impl AsyncWrite + Send + Unpin + 'static,
    patience: Option<Duration>,
    gone: impl Future<Output = ()>,
) -> io::Result<()> {
    let admission = terms.admission.clone();
    let writer = LineWriter::new(write);
    let outlet = Backlog::of(writer.clone(), admission.share());
    let client = Conversation::new(gateway, terms, outlet);
    let mut input = Ahead::new(lines);
    let broken = writer.broken();
    let silence = async {
        match patience {
            Some(patience) => tokio::time::sleep(patience).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(broken, gone, silence);
    let (mut deadline, mut spoken) = (None, false);
    let over = loop {
        let line = tokio::select! {
            line = input.next() => line,
            () = &mut silence, if !spoken => break Over::Silent,
            ended = admission.ended() => break ended.into(),
            () = &mut broken => break Over::Broken,
        };
        let Some(line) = line else { break Over::Said };
        spoken = true;
        // Nearly everything is worked on elsewhere, and this is over at once; not
        // so a handshake that waits for a server.
        let work = client.bytes(line);
        tokio::pin!(work);
        let over = tokio::select! {
            biased;
            () = &mut work => continue,
            () = input.ended() => Over::Said,
            ended = admission.ended() => ended.into(),
            () = &mut broken => Over::Broken,
        };
        if over == Over::Said || over == Over::Stopping {
            let until = *deadline.insert(Instant::now() + limits::DRAIN);
            tokio::select! {
                _ = timeout_at(until, work) => {}
                () = &mut broken => {}
                () = &mut gone => {}
                _ = admission.ended(), if over == Over::Said => {}
            }
        }
        break over;
    };
    // What is in flight may still finish: who has closed its end may read on, as
    // the last of a pipeline does. One that wants more than that ends us.
    if over == Over::Said || over == Over::Stopping {
        let until = deadline.unwrap_or_else(|| Instant::now() + limits::DRAIN);
        let rest = async {
            while let Some(line) = input.waiting() {
                client.bytes(line).await;
            }
            client.drain().await;
            writer.drained().await;
        };
        tokio::select! {
            _ = timeout_at(until, rest) => {}
            () = &mut broken => {}
            () = &mut gone => {}
            _ = admission.ended(), if over == Over::Said => {}
        }
    }
    if over == Over::Said || over == Over::Stopping {
        client.break_off().await;
    }
    farewell(&client, &writer, input.fault(), over).await
}

/// Tells the client what was wrong with its input, and ends.
async fn farewell(
    client: &Conversation,
    writer: &LineWriter,
    fault: Option<LineError>,
    over: Over,
) -> io::Result<()> {
    if let Some(fault) = &fault {
        let code = match fault {
            LineError::Full(_) => code::INTERNAL,
            _ => code::PARSE,
        };
        client.send(ErrorObject::new(code, fault.to_string()).response(None));
    }
    client.end();
    writer.close();
    let _ = timeout(limits::LAST_WRITE, writer.closed()).await;
    match (fault, over) {
        (Some(fault), _) => Err(io::Error::other(fault.to_string())),
        (None, Over::Silent) => Err(io::ErrorKind::TimedOut.into()),
        (None, Over::Broken) => Err(io::Error::other("nothing can be written any more")),
        (None, _) => Ok(()),
    }
}
