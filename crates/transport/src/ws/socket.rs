//! One WebSocket after its handshake, for either side.

use super::{
    WsOptions,
    arriving::Arriving,
    heard::{Clock, Heard},
};
use crate::{
    budget::{Budget, Share},
    full::Full,
    limits,
    link::SendError,
};
use bytes::Bytes;
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use parking_lot::Mutex;
use std::{collections::VecDeque, fmt, io, sync::Arc, time::Duration};
use switchboard_local::visible;
use switchboard_tasks as tasks;
use switchboard_wire::Payload;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Notify,
    time::{Instant, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error, Message, Utf8Bytes,
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};
use tokio_util::sync::CancellationToken;

/// What a socket reads and writes: a name for the traits that that takes.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin + 'static {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Wire for T {}

type Socket = WebSocketStream<Heard<Box<dyn Wire>>>;

/// Why no further message comes.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WsEnd {
    /// The peer closed it, perhaps with a reason.
    #[error("the peer closed the connection{0}")]
    Closed(String),
    /// A message is larger than the cap.
    #[error("a message is larger than {0} bytes")]
    TooLarge(usize),
    /// The peer does not keep to the protocol.
    #[error("the peer broke the WebSocket protocol: {0}")]
    Protocol(String),
    /// The peer has too many bytes in memory here.
    #[error(transparent)]
    Full(Full),
    /// It broke.
    #[error("the connection broke: {0}")]
    Broken(String),
}

/// The sending half. Cheap to clone; sending never waits.
#[derive(Clone)]
pub struct WsWriter(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    wake: Notify,
    /// Ends when nothing can be written any more.
    over: CancellationToken,
    why: Mutex<Option<WsEnd>>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Payload>,
    bytes: usize,
    closing: Option<CloseFrame>,
    ended: bool,
}

impl fmt::Debug for WsWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WsWriter")
            .field("queued", &self.queued())
            .finish()
    }
}

/// The receiving half.
pub struct WsReader {
    stream: SplitStream<Socket>,
    shared: Arc<Shared>,
    cap: usize,
    counts: Counts,
}

/// Where the bytes of large messages are counted.
pub(super) enum Counts {
    /// For all, once a message is there.
    All(Budget),
    /// For a principal too, as they arrive.
    Own(Arriving),
}

impl fmt::Debug for WsReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WsReader").finish_non_exhaustive()
    }
}

/// The server's side of a connection whose handshake is done. The client's bytes
/// count in its share as they arrive.
pub async fn serve(stream: impl Wire, options: &WsOptions, share: &Share) -> (WsWriter, WsReader) {
    let (clock, arriving) = (Clock::new(), Arriving::new(share));
    let mut heard = heard(stream, clock.clone());
    heard.arriving = Some(arriving.clone());
    let socket = WebSocketStream::from_raw_socket(heard, Role::Server, Some(config(options))).await;
    open(socket, clock, options, Counts::Own(arriving))
}

pub(super) fn heard(stream: impl Wire, clock: Clock) -> Heard<Box<dyn Wire>> {
    Heard {
        stream: Box::new(stream),
        clock,
        arriving: None,
    }
}

pub(super) fn config(options: &WsOptions) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(limits::WS_READ_BUFFER)
        .write_buffer_size(limits::WS_READ_BUFFER)
        .max_message_size(Some(options.message_cap))
        .max_frame_size(Some(options.message_cap))
}

/// Starts the writer of a socket.
pub(super) fn open(
    socket: Socket,
    clock: Clock,
    options: &WsOptions,
    counts: Counts,
) -> (WsWriter, WsReader) {
    let (sink, stream) = socket.split();
    let shared = Arc::new(Shared {
        queue: Mutex::default(),
        wake: Notify::new(),
        over: CancellationToken::new(),
        why: Mutex::default(),
    });
    let broken = shared.clone();
    let writing = write(sink, shared.clone(), clock, options.clone());
    tasks::spawn_or(tasks::Kind::Writer, writing, move || {
        broken.end(WsEnd::Broken("a bug in Switchboard".into()));
    });
    let reader = WsReader {
        stream,
        shared: shared.clone(),
        cap: options.message_cap,
        counts,
    };
    (WsWriter(shared), reader)
}

impl WsWriter {
    /// Queues one message.
    pub fn send(&self, payload: Payload) -> Result<(), SendError> {
        let mut queue = self.0.queue.lock();
        if queue.ended || queue.closing.is_some() {
            return Err(SendError::Closed);
        }
        if queue.bytes + payload.len() > limits::SEND_QUEUE_BYTES {
            return Err(SendError::Full(queue.bytes));
        }
        queue.bytes += payload.len();
        queue.waiting.push_back(payload);
        drop(queue);
        self.0.wake.notify_one();
        Ok(())
    }

    /// Bytes that wait to be written.
    pub fn queued(&self) -> usize {
        self.0.queue.lock().bytes
    }

    /// Writes what is queued, then says goodbye with this code. Does not wait for it.
    pub fn close(&self, code: u16, reason: &str) {
        self.0.close(code, reason);
    }

    /// Waits until everything is written and the goodbye said.
    pub async fn closed(&self) {
        self.0.over.cancelled().await;
    }
}

impl Shared {
    fn close(&self, code: u16, reason: &str) {
        let mut queue = self.queue.lock();
        if queue.closing.is_none() {
            // A control frame holds 125 bytes, two of them the code.
            let cut = reason.floor_char_boundary(120);
            queue.closing = Some(CloseFrame {
                code: CloseCode::from(code),
                reason: Utf8Bytes::from(&reason[..cut]),
            });
        }
        drop(queue);
        self.wake.notify_one();
    }

    fn end(&self, why: WsEnd) {
        let mut queue = self.queue.lock();
        queue.ended = true;
        queue.waiting.clear();
        queue.bytes = 0;
        drop(queue);
        self.why.lock().get_or_insert(why);
        self.over.cancel();
        self.wake.notify_one();
    }
}

enum Next {
    Write(Payload),
    Close(CloseFrame),
    Wait,
    End,
}

impl Queue {
    fn next(&mut self) -> Next {
        if let Some(payload) = self.waiting.pop_front() {
            return Next::Write(payload);
        }
        match &self.closing {
            Some(frame) => Next::Close(frame.clone()),
            None if self.ended => Next::End,
            None => Next::Wait,
        }
    }
}

/// Writes what is queued, and asks now and then whether the peer is there.
async fn write(
    mut sink: SplitSink<Socket, Message>,
    shared: Arc<Shared>,
    clock: Clock,
    options: WsOptions,
) {
    let mut ping = Instant::now() + options.ping_every;
    let ended = loop {
        if clock.silence() > options.silence {
            shared.queue.lock().waiting.clear();
            shared.close(CloseCode::Protocol.into(), "no pong");
            let text = format!("nothing was heard for {:?}", options.silence);
            shared.why.lock().get_or_insert(WsEnd::Broken(text));
        } else if Instant::now() >= ping {
            ping = Instant::now() + options.ping_every;
            if let Err(why) = put(&mut sink, Message::Ping(Bytes::new())).await {
                break why;
            }
        }
        let next = shared.queue.lock().next();
        match next {
            Next::Write(payload) => {
                let size = payload.len();
                // What we send was read as JSON, so it is UTF-8.
                let Ok(text) = Utf8Bytes::try_from(payload.into_bytes()) else {
                    continue;
                };
                let put = put(&mut sink, Message::Text(text)).await;
                let mut queue = shared.queue.lock();
                queue.bytes = queue.bytes.saturating_sub(size);
                drop(queue);
                if let Err(why) = put {
                    break why;
                }
            }
            Next::Close(frame) => {
                let _ = timeout(limits::WS_FAREWELL, sink.send(Message::Close(Some(frame)))).await;
                break WsEnd::Closed(String::new());
            }
            Next::End => return,
            Next::Wait => {
                let rest = options.silence.saturating_sub(clock.silence());
                let until = ping.min(Instant::now() + rest + Duration::from_millis(1));
                let _ = tokio::time::timeout_at(until, shared.wake.notified()).await;
            }
        }
    };
    shared.end(ended);
    // The peer's goodbye is read by the reader; the socket goes with it.
}

async fn put(sink: &mut SplitSink<Socket, Message>, message: Message) -> Result<(), WsEnd> {
    match timeout(limits::WRITE_STALL, sink.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(fault)) => Err(WsEnd::Broken(fault.to_string())),
        Err(_) => Err(WsEnd::Broken("the peer does not read".into())),
    }
}

impl WsReader {
    /// The next message. A peer that breaks the rules is told so.
    pub async fn next(&mut self) -> Result<Bytes, WsEnd> {
        loop {
            let over = self.shared.over.clone();
            let item = tokio::select! {
                item = self.stream.next() => item,
                () = over.cancelled() => None,
            };
            let end = match item {
                Some(Ok(Message::Text(text))) => match self.hold(text.into()).await {
                    Ok(bytes) => return Ok(bytes),
                    Err(full) => self.refuse(&Error::Io(io::Error::other(full))),
                },
                // Not what the subprotocol says, and clear all the same.
                Some(Ok(Message::Binary(bytes))) => match self.hold(bytes).await {
                    Ok(bytes) => return Ok(bytes),
                    Err(full) => self.refuse(&Error::Io(io::Error::other(full))),
                },
                Some(Ok(Message::Ping(carried) | Message::Pong(carried))) => {
                    if let Counts::Own(arriving) = &self.counts {
                        arriving.skip(&carried);
                    }
                    continue;
                }
                Some(Ok(Message::Frame(_))) => continue,
                Some(Ok(Message::Close(frame))) => {
                    // The answer to a goodbye is sent by reading on.
                    let _ = timeout(limits::WS_FAREWELL, self.stream.next()).await;
                    WsEnd::Closed(frame.map_or_else(String::new, said))
                }
                Some(Err(fault)) => self.refuse(&fault),
                None => WsEnd::Closed(String::new()),
            };
            let end = self.shared.why.lock().clone().unwrap_or(end);
            self.shared.end(end.clone());
            return Err(end);
        }
    }

    async fn hold(&self, bytes: Bytes) -> Result<Bytes, Full> {
        match &self.counts {
            Counts::Own(arriving) => arriving.whole(bytes).await,
            Counts::All(_) if bytes.len() < limits::COUNTED_BYTES => Ok(bytes),
            Counts::All(budget) => Ok(budget.hold(Vec::from(bytes))),
        }
    }

    /// What a fault means, and the code with which the peer is told.
    fn refuse(&self, fault: &Error) -> WsEnd {
        let (code, end) = match fault {
            Error::Capacity(_) => (CloseCode::Size, WsEnd::TooLarge(self.cap)),
            Error::Protocol(fault) => (CloseCode::Protocol, WsEnd::Protocol(fault.to_string())),
            Error::Io(fault) if let Some(full) = full_of(fault) => {
                (CloseCode::Again, WsEnd::Full(full))
            }
            Error::Io(_) | Error::ConnectionClosed | Error::AlreadyClosed => {
                return WsEnd::Broken(fault.to_string());
            }
            other => (CloseCode::Invalid, WsEnd::Protocol(other.to_string())),
        };
        self.shared.queue.lock().waiting.clear();
        self.shared.why.lock().get_or_insert(end.clone());
        self.shared.close(code.into(), &end.to_string());
        end
    }
}

/// The cap that was met, if that is why nothing more is read.
fn full_of(fault: &io::Error) -> Option<Full> {
    fault.get_ref()?.downcast_ref().cloned()
}

fn said(frame: CloseFrame) -> String {
    let reason = visible::line(frame.reason.trim());
    match reason.as_str() {
        "" => format!(" ({})", u16::from(frame.code)),
        reason => format!(" ({}: {reason})", u16::from(frame.code)),
    }
}
