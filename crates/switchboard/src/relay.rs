//! Standing between a stdio client and a running gateway: lines go both ways as
//! they are. What is unanswered when the gateway ends is answered here, so that
//! no client waits for ever.

use crate::attached::{Attached, PROMPT};
use bytes::Bytes;
use parking_lot::Mutex;
use std::{collections::HashSet, io, pin::pin, time::Duration};
use switchboard_gateway::faces::http::{ATTACH_ANNOUNCEMENT, ATTACH_PROTOCOL};
use switchboard_transport::{Budget, stdio::Lines};
use switchboard_wire::{ErrorObject, Id, Kind, Message, Method, code, limits::MESSAGE_BYTES};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// How long nothing may come while an answer is owed before the gateway is asked
/// whether it is there.
const SILENCE: Duration = Duration::from_secs(5);
/// How long that may take. While somebody is let in nothing else is read.
const PATIENCE: Duration = Duration::from_secs(15);
/// What our own questions are known by; no client has such ids.
const PING: &str = "switchboard-relay-ping";
/// No answer to the handshake is longer.
const HEAD: usize = 16 * 1024;
/// How long the gateway may take to finish once the client has closed its end.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long a client may still be writing when the gateway has ended.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// Requests whose answers are waited for; more than a client may have in flight.
const UNANSWERED: usize = 64 * 1024;

/// A connection to a gateway that carries one stdio client.
#[derive(Debug)]
pub struct Attachment {
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
    /// What came right after the handshake.
    early: Vec<u8>,
}

/// How the relaying ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client closed its end, or we were told to stop.
    ByClient,
    /// The gateway is not there any more.
    ByGateway,
    /// The gateway is there, and does not answer.
    Silent,
}

impl Attachment {
    /// Asks to be let in; `segment` names the one server that the client wants, if
    /// so, and `announcement` is what it is told when it has come in.
    pub async fn open(
        gateway: &Attached,
        segment: Option<&str>,
        announcement: Option<&str>,
    ) -> io::Result<Self> {
        let opening = open(gateway, segment, announcement);
        timeout(PROMPT, opening)
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    /// Carries lines until one side ends.
    pub async fn relay(
        self,
        input: impl AsyncRead + Send + Unpin,
        output: impl AsyncWrite + Send + Unpin,
        stop: CancellationToken,
        lost: impl Fn(&Ended) -> String,
    ) -> io::Result<Ended> {
        let Self { read, write, early } = self;
        let write = tokio::sync::Mutex::new(write);
        let budget = Budget::default();
        let mut from_client = Lines::new(input, MESSAGE_BYTES, budget.clone());
        let early = io::Cursor::new(early);
        let mut from_gateway = Lines::new(early.chain(read), MESSAGE_BYTES, budget);
        let mut to_client = output;
        let unanswered: Mutex<HashSet<Id>> = Mutex::default();
        // Side by side: a client that does not read may still write, and the other way round.
        let ended = {
            let up = async {
                while let Ok(Some(line)) = from_client.next().await {
                    if let Some(id) = asks(&line) {
                        let mut unanswered = unanswered.lock();
                        if unanswered.len() < UNANSWERED {
                            unanswered.insert(id);
                        }
                    }
                    if send(&mut *write.lock().await, &line).await.is_err() {
                        return Ended::ByGateway;
                    }
                }
                Ended::ByClient
            };
            let down = async {
                let owed = || !unanswered.lock().is_empty();
                loop {
                    let line = {
                        let mut next = pin!(from_gateway.next());
                        tokio::select! {
                            biased;
                            line = &mut next => line,
                            () = fallen_silent(&write, owed) => return Ok(Ended::Silent),
                        }
                    };
                    let Ok(Some(line)) = line else {
                        return io::Result::Ok(Ended::ByGateway);
                    };
                    match answers(&line) {
                        Some(id) if id == ping() => continue,
                        Some(id) => unanswered.lock().remove(&id),
                        None => false,
                    };
                    send(&mut to_client, &line).await?;
                }
            };
            tokio::select! {
                ended = up => ended,
                ended = down => ended?,
                () = stop.cancelled() => Ended::ByClient,
            }
        };
        if ended != Ended::ByClient {
            let error = ErrorObject::new(code::INTERNAL, lost(&ended));
            let open = std::mem::take(&mut *unanswered.lock());
            for id in open {
                send(&mut to_client, &error.response(Some(&id)).into_bytes()).await?;
            }
            // What the client has just written is owed an answer as well.
            while let Ok(Ok(Some(line))) = timeout(LAST_WORDS, from_client.next()).await {
                if let Some(id) = asks(&line) {
                    send(&mut to_client, &error.response(Some(&id)).into_bytes()).await?;
                }
            }
            return Ok(ended);
        }
        // The gateway ends what the client had under way, and then the connection.
        let _ = write.into_inner().shutdown().await;
        let rest = async {
            while let Ok(Some(line)) = from_gateway.next().await {
                send(&mut to_client, &line).await?;
            }
            io::Result::Ok(())
        };
        let _ = timeout(FAREWELL, rest).await;
        Ok(Ended::ByClient)
    }
}

/// Returns when nothing came for a while although the client is owed an answer,
/// and the gateway does not say either that it is there. Begins anew with
/// whatever comes, the answer to its question included.
async fn fallen_silent(write: &tokio::sync::Mutex<OwnedWriteHalf>, owed: impl Fn() -> bool) {
    loop {
        sleep(SILENCE).await;
        if owed() {
            break;
        }
    }
    let question = Message::request(&ping(), Method::Ping, "{}").raw().clone();
    let asked = async { send(&mut *write.lock().await, &question).await };
    // Whatever it says to it, and be it that it does not know the method.
    let _ = timeout(PATIENCE, asked).await;
    sleep(PATIENCE).await;
}

fn ping() -> Id {
    Id::string(PING)
}

async fn open(
    gateway: &Attached,
    segment: Option<&str>,
    announcement: Option<&str>,
) -> io::Result<Attachment> {
    let address = &gateway.running.address;
    let mut stream = TcpStream::connect(address).await?;
    let _ = stream.set_nodelay(true);
    let path = segment
        .map(|segment| format!("/{segment}"))
        .unwrap_or_default();
    let query = announcement
        .map(|text| {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.append_pair(ATTACH_ANNOUNCEMENT, text);
            format!("?{}", query.finish())
        })
        .unwrap_or_default();
    let token = gateway
        .client_token()
        .map(|token| format!("Authorization: Bearer {token}\r\n"))
        .unwrap_or_default();
    let request = format!(
        "GET /attach{path}{query} HTTP/1.1\r\nHost: {address}\r\n{token}Connection: Upgrade\r\n\
         Upgrade: {ATTACH_PROTOCOL}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    let end = loop {
        if let Some(at) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if head.len() > HEAD || stream.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let early = head.split_off(end);
    if !head.starts_with(b"HTTP/1.1 101 ") {
        let first = String::from_utf8_lossy(&head);
        let first = first.lines().next().unwrap_or_default().to_owned();
        return Err(io::Error::other(first));
    }
    let (read, write) = stream.into_split();
    Ok(Attachment { read, write, early })
}

async fn send(to: &mut (impl AsyncWrite + Unpin), line: &Bytes) -> io::Result<()> {
    to.write_all(line).await?;
    to.write_all(b"\n").await?;
    to.flush().await
}

fn asks(line: &Bytes) -> Option<Id> {
    let message = Message::parse(line.clone()).ok()?;
    (message.kind() == Kind::Request).then(|| message.id())?
}

fn answers(line: &Bytes) -> Option<Id> {
    let message = Message::parse(line.clone()).ok()?;
    matches!(message.kind(), Kind::Response | Kind::Error).then(|| message.id())?
}
