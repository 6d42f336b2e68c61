//! A stream that notes when something was last heard on it: also the middle of
//! a large message shows that the peer is there.

use super::arriving::Arriving;
use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// When something was last heard.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    start: Instant,
    heard: Arc<AtomicU64>,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            heard: Arc::default(),
        }
    }

    fn hear(&self) {
        self.heard.store(self.now(), Ordering::Relaxed);
    }

    /// How long it has been silent.
    pub(super) fn silence(&self) -> Duration {
        Duration::from_millis(self.now() - self.heard.load(Ordering::Relaxed))
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }
}

/// A stream with a clock.
pub(super) struct Heard<S> {
    pub(super) stream: S,
    pub(super) clock: Clock,
    /// Counts what is read, where it is a client's.
    pub(super) arriving: Option<Arriving>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Heard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(arriving) = &self.arriving {
            ready!(arriving.poll_room(context)).map_err(io::Error::other)?;
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.clock.hear();
            if let Some(arriving) = &self.arriving {
                arriving.add(buffer.filled().len() - before);
            }
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Heard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
