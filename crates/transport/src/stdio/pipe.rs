//! A server's output, whose pipe is made larger once something large comes through
//! it: what fits into the pipe is neither waited for nor woken up for.

use crate::limits;
use std::{
    os::fd::AsFd,
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, ReadBuf};

/// How many pipes are large. The system counts their memory for each user, and who
/// has too much of it gets tiny pipes for everything.
static LARGE: AtomicUsize = AtomicUsize::new(0);

/// A pipe that is read.
#[derive(Debug)]
pub(super) struct Widening<P> {
    pipe: P,
    /// What was read since a read last ended where a line does.
    unended: usize,
    /// Whether it counts among the large ones; none before that was tried.
    large: Option<bool>,
}

impl<P: AsFd> Widening<P> {
    /// As large as the system made it, for now.
    pub(super) fn new(pipe: P) -> Self {
        Self {
            pipe,
            unended: 0,
            large: None,
        }
    }

    /// Looks at what was just read.
    fn saw(&mut self, bytes: &[u8]) {
        if self.large.is_some() {
            return;
        }
        self.unended = match bytes.last() {
            Some(b'\n') => 0,
            _ => self.unended + bytes.len(),
        };
        if self.unended >= limits::HANDED_BYTES {
            self.large = Some(self.widen());
        }
    }

    fn widen(&self) -> bool {
        if LARGE.fetch_add(1, Ordering::Relaxed) >= limits::LARGE_PIPES {
            LARGE.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        #[cfg(target_os = "linux")]
        if rustix::pipe::fcntl_setpipe_size(&self.pipe, limits::LARGE_PIPE).is_ok() {
            return true;
        }
        // Not allowed, or no pipe: as it was.
        LARGE.fetch_sub(1, Ordering::Relaxed);
        false
    }
}

impl<P> Drop for Widening<P> {
    fn drop(&mut self) {
        if self.large == Some(true) {
            LARGE.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl<P: AsyncRead + AsFd + Unpin> AsyncRead for Widening<P> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.pipe).poll_read(cx, buffer))?;
        self.saw(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::pipe::{fcntl_getpipe_size, pipe};

    #[test]
    fn a_pipe_grows_with_what_is_large_and_with_nothing_else() {
        let (reads, _writes) = pipe().expect("a pipe");
        let mut pipe = Widening::new(&reads);
        let small = fcntl_getpipe_size(&reads).expect("a size");
        let line = vec![b'x'; limits::HANDED_BYTES / 2];
        let ended = [&line[..], b"\n"].concat();
        for _ in 0..8 {
            pipe.saw(&ended);
        }
        assert_eq!(fcntl_getpipe_size(&reads).expect("a size"), small);
        pipe.saw(&line);
        pipe.saw(&line);
        assert_eq!(
            fcntl_getpipe_size(&reads).expect("a size"),
            limits::LARGE_PIPE
        );
    }
}
