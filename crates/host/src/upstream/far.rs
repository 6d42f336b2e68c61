//! A server on another machine, reached through whoever runs it there: lines, as a
//! process of our own would speak them, over streams that somebody else carries.

use super::{connection::Connection, health::ServerState, server::Server, slots::Key};
use crate::limits;
use parking_lot::Mutex;
use std::{
    fmt, io,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Instant,
};
use switchboard_tasks as tasks;
use tokio::io::{AsyncRead, DuplexStream, ReadBuf, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

/// A server of another machine, as its entry says it.
#[derive(Clone, Debug, Default)]
pub struct Far {
    /// What it is called there.
    pub server: Arc<str>,
    /// Which machines may run it, by their names, with `*`; any where none is named.
    pub machines: Vec<String>,
    /// What those machines say of themselves.
    pub labels: Vec<(String, String)>,
    /// On how many machines it may run at a time; on any number where nothing is said.
    pub copies: Option<u32>,
    /// What exactly they are to run, as a hash, where that is said; what they have under
    /// its name otherwise.
    pub what: Option<Arc<str>>,
    /// The way there.
    pub way: FarWay,
}

/// On whose behalf a connection is wanted.
#[derive(Clone, Debug)]
pub struct FarOwner {
    /// The principal.
    pub principal: Arc<str>,
    /// Whether one client alone has it.
    pub alone: bool,
}

/// A connection that is wanted.
pub(super) struct FarAsk {
    pub(super) owner: FarOwner,
    pub(super) end: FarEnd,
}

/// Whoever knows ways to other machines.
pub trait FarReach: Send + Sync {
    /// Leads one end of a pipe to the server. Returns at once; where there is no way, the
    /// pipe ends, and `why` says so.
    fn lead(&self, far: &Far, owner: FarOwner, pipe: DuplexStream, why: FarEnd);
}

/// The way to other machines; there is none until somebody has been found who knows it.
#[derive(Clone, Default)]
pub struct FarWay(Arc<OnceLock<Arc<dyn FarReach>>>);

impl FarWay {
    /// From now on it is known by this one. The first stays.
    pub fn set(&self, reach: Arc<dyn FarReach>) {
        let _ = self.0.set(reach);
    }

    pub(super) fn get(&self) -> Option<&Arc<dyn FarReach>> {
        self.0.get()
    }
}

impl fmt::Debug for FarWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FarWay")
    }
}

/// The end of such a connection, told by whoever carries it.
#[derive(Clone, Debug, Default)]
pub struct FarEnd {
    why: Arc<Mutex<Option<String>>>,
    nears: CancellationToken,
}

impl FarEnd {
    /// It will end soon, and nothing new is to begin on it.
    pub fn nears(&self) {
        self.nears.cancel();
    }

    /// It has ended; why. The first reason counts.
    pub fn say(&self, why: impl Into<String>) {
        self.why.lock().get_or_insert_with(|| why.into());
        self.nears.cancel();
    }
}

impl Server {
    /// A connection whose end nears gives way to another: what is under way on it finishes,
    /// and the next request finds a new one.
    pub(super) fn gives_way(&self, key: &Key, connection: &Arc<Connection>, end: FarEnd) {
        let (me, connection) = (self.weak(), Arc::downgrade(connection));
        let key = key.clone();
        tasks::spawn(tasks::Kind::Background, async move {
            end.nears.cancelled().await;
            let both = me.upgrade().zip(connection.upgrade());
            let Some((server, connection)) = both else {
                return;
            };
            let is_over = end.why.lock().is_some() || connection.has_ended();
            if !is_over && !server.is_retired() {
                server.let_finish(&key, connection).await;
            }
        });
    }

    async fn let_finish(&self, key: &Key, connection: Arc<Connection>) {
        let slot = self.slots().get(key).and_then(|slot| slot.working());
        if slot.is_some_and(|working| Arc::ptr_eq(&working, &connection)) {
            self.slots().remove(key);
            self.start_over(key, Some(connection.clone()));
        }
        let begun = Instant::now();
        while !connection.has_ended() && begun.elapsed() < limits::FAR_FINISHES {
            if connection.ends_unused() {
                connection.close_link().await;
                self.note_copies();
                self.note(ServerState::Asleep);
                break;
            }
            tokio::time::sleep(limits::FAR_LOOK).await;
        }
    }
}

/// Our end of the pipe: what is read from it, and what is written to it. Its end is told
/// with the reason for it.
pub(super) fn halves(pipe: DuplexStream, why: FarEnd) -> (FarRead, WriteHalf<DuplexStream>) {
    let (read, write) = tokio::io::split(pipe);
    (FarRead { read, why }, write)
}

pub(super) struct FarRead {
    read: ReadHalf<DuplexStream>,
    why: FarEnd,
}

impl AsyncRead for FarRead {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.read).poll_read(context, buffer))?;
        let is_over = buffer.filled().len() == before && buffer.remaining() > 0;
        let why = is_over.then(|| self.why.why.lock().clone()).flatten();
        Poll::Ready(why.map_or(Ok(()), |why| Err(io::Error::other(why))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn the_end_is_told_with_its_reason_behind_all_that_was_said() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let why = FarEnd::default();
        let (mut read, _write) = halves(ours, why.clone());
        theirs.write_all(b"said").await.unwrap();
        why.say("the first");
        why.say("the second");
        drop(theirs);
        let mut said = [0; 4];
        read.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"said");
        let fault = read.read(&mut said).await.unwrap_err();
        assert_eq!(fault.to_string(), "the first");
    }
}
