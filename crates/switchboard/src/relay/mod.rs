//! Standing between a stdio client and whoever serves it: a running gateway, and
//! when that ends the next one, or servers of our own. Lines go both ways as they
//! are. What is unanswered when a gateway ends is answered here, so that no client
//! waits for ever; what the next one has to know of the client is in `carryover.rs`.

mod carryover;
mod way;

pub(crate) use way::Way;

use crate::limits;
use bytes::Bytes;
use carryover::{Carryover, Heard, ping};
use parking_lot::Mutex;
use std::{fmt, io, time::Duration};
use switchboard_gateway::limits::DRAIN;
use switchboard_transport::{
    Budget,
    stdio::{LineWriter, Lines, nobody_reads_stdout},
};
use switchboard_wire::{ErrorObject, Message, Method, Payload, code, limits::MESSAGE_BYTES};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, Stdin},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// How long the gateway may take to finish once the client has closed its end: a
/// little longer than it gives what is in flight.
const FAREWELL: Duration = DRAIN.saturating_add(limits::RELAY_GRACE);

/// How the relaying over one way ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The client closed its end, or we were told to stop.
    ByClient,
    /// The gateway is not there any more.
    ByGateway,
    /// The gateway is there, and does not answer.
    Silent,
}

/// The client on our own standard streams, whoever serves it.
pub(crate) struct Relay {
    input: Lines<Stdin>,
    output: LineWriter,
    carryover: Mutex<Carryover>,
    stop: CancellationToken,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Relay")
    }
}

impl Relay {
    /// Takes our standard streams over, until `stop` at the longest.
    pub(crate) fn new(stop: CancellationToken) -> Self {
        Self {
            input: Lines::new(tokio::io::stdin(), MESSAGE_BYTES, Budget::default()),
            output: LineWriter::new(tokio::io::stdout()),
            carryover: Mutex::default(),
            stop,
        }
    }

    /// Carries lines over this way until one side ends. If that is the gateway,
    /// whoever waits for an answer is told what `lost` says, and the relay can go
    /// on over another way: the client is not asked for anything again.
    pub(crate) async fn over(
        &mut self,
        way: Way,
        lost: impl Fn(Ended) -> String,
    ) -> io::Result<Ended> {
        let Way { read, write } = way;
        let write = tokio::sync::Mutex::new(write);
        let mut from_gateway = Lines::new(read, MESSAGE_BYTES, Budget::default());
        let Self {
            input,
            output,
            carryover,
            stop,
        } = self;
        // Side by side: a client that does not read may still write, and the other way round.
        let ended = tokio::select! {
            ended = up(input, carryover, &write) => ended,
            ended = down(&mut from_gateway, carryover, output, &write) => ended,
            () = output.broken() => return Err(unreadable()),
            () = stop.cancelled() => Ended::ByClient,
        };
        if ended != Ended::ByClient {
            let error = ErrorObject::new(code::INTERNAL, lost(ended));
            let words = carryover.lock().lost(&error);
            for line in words {
                output.send(line).map_err(|_| unreadable())?;
            }
            return Ok(ended);
        }
        // The gateway finishes what the client had under way, and then ends the
        // connection. Told to stop, or without a reader, nobody waits for that.
        let _ = write.into_inner().shutdown().await;
        let stopped = stop.is_cancelled();
        let rest = async {
            while let Ok(Some(line)) = from_gateway.next().await {
                room(output).await;
                pass(carryover, output, line);
            }
        };
        tokio::select! {
            _ = timeout(FAREWELL, rest) => {}
            () = nobody_reads_stdout() => {}
            () = stop.cancelled(), if !stopped => {}
        }
        Ok(ended)
    }

    /// Sees to it that the client has what was written to it.
    pub(crate) async fn finish(self) {
        self.output.close();
        let _ = timeout(limits::RELAY_LAST_WRITE, self.output.closed()).await;
    }
}

/// The gateway's end, which more than one writes to.
type Upwards = tokio::sync::Mutex<Box<dyn AsyncWrite + Send + Unpin>>;

/// What the client says, to the gateway.
async fn up(input: &mut Lines<Stdin>, carryover: &Mutex<Carryover>, write: &Upwards) -> Ended {
    // A connection on which nothing is said ends, and our client may take its time.
    let _ = send(&mut *write.lock().await, &question()).await;
    let again = carryover.lock().repeat();
    for line in again {
        if send(&mut *write.lock().await, &line).await.is_err() {
            return Ended::ByGateway;
        }
    }
    while let Ok(Some(line)) = input.next().await {
        let Some(line) = carryover.lock().said(line) else {
            continue;
        };
        if send(&mut *write.lock().await, &line).await.is_err() {
            return Ended::ByGateway;
        }
    }
    Ended::ByClient
}

/// What the gateway says, to the client.
async fn down(
    from_gateway: &mut Lines<impl AsyncRead + Send + Unpin + 'static>,
    carryover: &Mutex<Carryover>,
    output: &LineWriter,
    write: &Upwards,
) -> Ended {
    let owed = || carryover.lock().owes();
    loop {
        room(output).await;
        let line = tokio::select! {
            biased;
            line = from_gateway.next() => line,
            () = fallen_silent(write, owed) => return Ended::Silent,
        };
        let Ok(Some(line)) = line else {
            return Ended::ByGateway;
        };
        if !pass(carryover, output, line) {
            return Ended::ByGateway;
        }
    }
}

/// Passes on what came from the gateway, as far as it is for the client. False if
/// the gateway does not take the client.
fn pass(carryover: &Mutex<Carryover>, output: &LineWriter, line: Bytes) -> bool {
    let heard = carryover.lock().heard(line);
    let lines = match heard {
        Heard::Nothing => Vec::new(),
        Heard::Line(line) => vec![line],
        Heard::Met(changes) => changes,
        Heard::Refused => return false,
    };
    for line in lines {
        // One that cannot take it has a way of its own to notice.
        let _ = output.send(line);
    }
    true
}

/// Waits while too much waits for the client.
async fn room(output: &LineWriter) {
    if output.queued() > limits::RELAY_WAITING_BYTES {
        output.drained().await;
    }
}

fn unreadable() -> io::Error {
    io::Error::other("nothing can be written to the client any more")
}

/// Returns when nothing came for a while although the client is owed an answer,
/// and the gateway does not say either that it is there. Begins anew with
/// whatever comes, the answer to its question included.
async fn fallen_silent(write: &Upwards, owed: impl Fn() -> bool) {
    loop {
        sleep(limits::RELAY_SILENCE).await;
        if owed() {
            break;
        }
    }
    let asked = async { send(&mut *write.lock().await, &question()).await };
    // Whatever it says to it, and be it that it does not know the method.
    let _ = timeout(limits::RELAY_PROBE, asked).await;
    sleep(limits::RELAY_PROBE).await;
}

/// Asks the gateway whether it is there.
fn question() -> Payload {
    Message::request(&ping(), Method::Ping, "{}").payload()
}

async fn send(to: &mut (impl AsyncWrite + Unpin + ?Sized), line: &Payload) -> io::Result<()> {
    for piece in line.pieces() {
        to.write_all(piece).await?;
    }
    to.write_all(b"\n").await?;
    to.flush().await
}
