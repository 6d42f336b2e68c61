//! A client's stream that is not cut off while the client still sends. Closing a socket
//! in which bytes lie unread resets the connection, and the client's system then throws
//! away what the client has not read yet: our answer, which says why no more is taken.
//! So the rest is read away for a moment.

use crate::limits;
use std::{
    io,
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll},
};
use switchboard_tasks as tasks;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::TcpStream,
    runtime::Handle,
    time::timeout,
};

/// How many streams are being read away.
static LINGERING: AtomicUsize = AtomicUsize::new(0);

/// A client's stream; empty only while it is dropped.
pub(super) struct Lingering(Option<TcpStream>);

impl Lingering {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self(Some(stream))
    }

    #[inline]
    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        let stream = self.0.as_mut().map(Pin::new);
        stream.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        if let Some(stream) = self.0.take()
            && rustix::io::ioctl_fionread(&stream).is_ok_and(|unread| unread > 0)
            && Handle::try_current().is_ok()
            && let Some(place) = Place::take()
        {
            tasks::spawn(tasks::Kind::Upkeep, linger(stream, place));
        }
    }
}

/// One of those that may linger at once.
struct Place;

impl Place {
    fn take() -> Option<Self> {
        let taken = LINGERING.fetch_add(1, Ordering::Relaxed);
        // Given back at once where there are too many.
        Some(Self).filter(|_| taken < limits::LINGERING)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        LINGERING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Says that no more comes, and reads away what the client has sent meanwhile.
async fn linger(mut stream: TcpStream, _place: Place) {
    let rest = async {
        stream.shutdown().await?;
        let mut buffer = vec![0; limits::LINGER_BUFFER];
        let mut left = limits::LINGER_BYTES;
        while left > 0 {
            match stream.read(&mut buffer).await? {
                0 => break,
                some => left = left.saturating_sub(some),
            }
        }
        Ok::<(), io::Error>(())
    };
    let _ = timeout(limits::LINGER, rest).await;
}

impl AsyncRead for Lingering {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream()?.poll_read(context, buffer)
    }
}

impl AsyncWrite for Lingering {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write(context, buffer)
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write_vectored(context, buffers)
    }

    #[inline]
    fn is_write_vectored(&self) -> bool {
        self.0.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::Lingering;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
    };

    /// More than the buffers of both systems hold.
    const LOAD: usize = 16 * 1024 * 1024;

    #[tokio::test]
    async fn who_still_sends_reads_the_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let mut served = Lingering::new(listener.accept().await.unwrap().0);
        let (mut reading, mut writing) = client.split();
        let answer = async {
            served.read_exact(&mut [0; 1]).await.unwrap();
            served.write_all(b"no more").await.unwrap();
            drop(served);
        };
        let load = vec![0; LOAD];
        let (sent, ()) = tokio::join!(writing.write_all(&load), answer);
        sent.unwrap();
        let mut told = String::new();
        reading.read_to_string(&mut told).await.unwrap();
        assert_eq!(told, "no more");
    }
}
