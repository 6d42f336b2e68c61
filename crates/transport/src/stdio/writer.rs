//! Writing lines without waiting.
//!
//! [`LineWriter::send`] writes at once where the pipe takes it, in the caller's
//! own thread: no task is woken for an ordinary message. What does not fit is
//! queued, up to a cap, and a flusher task writes it when the peer reads again.

use crate::{budget::Share, limits, link::SendError};
use bytes::{Buf, Bytes};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    fmt,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};
use switchboard_tasks as tasks;
use switchboard_wire::Payload;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::Notify,
    time::timeout,
};

use tokio_util::sync::CancellationToken;

/// Pieces that are written at once.
// tidy: how a list on the stack is laid out, not a cap
const AT_ONCE: usize = 8;

/// The sending half of a line-framed stream. Cheap to clone.
#[derive(Clone)]
pub struct LineWriter(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Rung when the flusher has something to do.
    wake: Notify,
    /// The stream broke.
    over: CancellationToken,
    /// The flusher has ended, and the stream is closed.
    closed: CancellationToken,
}

struct State {
    /// `None` while the flusher writes, and after the end.
    stream: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    queue: VecDeque<Bytes>,
    queued: usize,
    closing: bool,
    ended: bool,
}

impl fmt::Debug for LineWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineWriter")
            .field("queued", &self.queued())
            .finish()
    }
}

impl LineWriter {
    /// Writes lines to `stream`. Must be called inside a runtime, which runs the flusher.
    pub fn new(stream: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                stream: Some(Box::new(stream)),
                queue: VecDeque::new(),
                queued: 0,
                closing: false,
                ended: false,
            }),
            wake: Notify::new(),
            over: CancellationToken::new(),
            closed: CancellationToken::new(),
        });
        let broken = shared.clone();
        let closed = shared.closed.clone().drop_guard();
        let flushing = flush(shared.clone());
        let flushing = async move {
            flushing.await;
            drop(closed);
        };
        tasks::spawn_or(tasks::Kind::Writer, flushing, move || {
            broken.state.lock().end();
            broken.over.cancel();
        });
        Self(shared)
    }

    /// Queues one message as a line of its own.
    pub fn send(&self, payload: Payload) -> Result<(), SendError> {
        self.send_counted(payload, None)
    }

    /// The same; while it waits it counts in this share, if there is one.
    pub fn send_counted(&self, payload: Payload, share: Option<&Share>) -> Result<(), SendError> {
        let line = payload.into_line();
        let line = match share {
            Some(share) => share.queue(line),
            None => line,
        };
        let mut state = self.0.state.lock();
        if state.ended || state.closing {
            return Err(SendError::Closed);
        }
        if state.queued + line.len() > limits::SEND_QUEUE_BYTES {
            return Err(SendError::Full(state.queued));
        }
        state.queued += line.len();
        state.queue.extend(line.into_pieces());
        if state.write_now().is_err() {
            state.end();
            drop(state);
            self.0.over.cancel();
            return Err(SendError::Closed);
        }
        if !state.queue.is_empty() {
            drop(state);
            self.0.wake.notify_one();
        }
        Ok(())
    }

    /// Bytes that wait to be written.
    pub fn queued(&self) -> usize {
        self.0.state.lock().queued
    }

    /// Writes what is queued, then closes the stream. Does not wait for it.
    pub fn close(&self) {
        self.0.state.lock().closing = true;
        self.0.wake.notify_one();
    }

    /// Waits until nothing can be written any more, because the stream broke.
    pub async fn broken(&self) {
        self.0.over.cancelled().await;
    }

    /// Waits, after [`close`](Self::close), until the stream itself says that it has
    /// everything.
    pub async fn closed(&self) {
        self.0.closed.cancelled().await;
    }

    /// Waits until everything queued is written or the stream has ended.
    pub async fn drained(&self) {
        // The flusher has no reason to tell us each time; draining is rare and short.
        while !self.0.state.lock().is_idle() {
            tokio::time::sleep(limits::DRAIN_LOOK).await;
        }
    }
}

impl State {
    /// Writes as much as the stream takes without waiting.
    fn write_now(&mut self) -> io::Result<()> {
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        let mut context = Context::from_waker(Waker::noop());
        while let Some(first) = self.queue.front() {
            let stream = Pin::new(&mut *stream);
            // The pieces of one message together, where the stream takes several.
            let written = if self.queue.len() > 1 && stream.is_write_vectored() {
                let mut slices = [IoSlice::new(&[]); AT_ONCE];
                let mut count = 0;
                for (slice, piece) in slices.iter_mut().zip(&self.queue) {
                    *slice = IoSlice::new(piece);
                    count += 1;
                }
                stream.poll_write_vectored(&mut context, &slices[..count])
            } else {
                stream.poll_write(&mut context, first)
            };
            match written {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(written)) => {
                    self.queued -= written;
                    advance(&mut self.queue, written);
                }
                Poll::Ready(Err(fault)) => return Err(fault),
                Poll::Pending => break,
            }
        }
        Ok(())
    }

    /// Nothing is written any more.
    fn end(&mut self) {
        self.ended = true;
        self.stream = None;
        self.queue.clear();
        self.queued = 0;
    }

    fn is_idle(&self) -> bool {
        self.ended || (self.queue.is_empty() && self.stream.is_some())
    }
}

/// Takes so many bytes from the front.
fn advance(queue: &mut VecDeque<Bytes>, mut written: usize) {
    while let Some(piece) = queue.front_mut() {
        if written < piece.len() {
            piece.advance(written);
            return;
        }
        written -= piece.len();
        queue.pop_front();
    }
}

/// What the flusher does next.
enum Next {
    Wait,
    Write(Box<dyn AsyncWrite + Send + Unpin>, VecDeque<Bytes>),
    Close(Option<Box<dyn AsyncWrite + Send + Unpin>>),
    End,
}

impl State {
    fn next(&mut self) -> Next {
        if !self.queue.is_empty() {
            return match self.stream.take() {
                Some(stream) => Next::Write(stream, std::mem::take(&mut self.queue)),
                None => Next::End,
            };
        }
        if self.closing {
            self.ended = true;
            return Next::Close(self.stream.take());
        }
        if self.ended { Next::End } else { Next::Wait }
    }
}

/// Writes what could not be written at once, and closes in the end.
async fn flush(shared: Arc<Shared>) {
    loop {
        let next = shared.state.lock().next();
        match next {
            Next::Wait => shared.wake.notified().await,
            Next::End => return,
            Next::Close(stream) => {
                if let Some(mut stream) = stream {
                    // First flushed: our own output hands what it took to a thread, and takes
                    // itself for closed before that has written it.
                    let closing = async {
                        stream.flush().await?;
                        stream.shutdown().await
                    };
                    let _ = timeout(limits::WRITE_STALL, closing).await;
                }
                return;
            }
            Next::Write(mut stream, batch) => {
                let size: usize = batch.iter().map(Bytes::len).sum();
                let written = write_all(&mut stream, batch).await;
                let mut state = shared.state.lock();
                state.queued = state.queued.saturating_sub(size);
                if written.is_err() {
                    state.end();
                    drop(state);
                    shared.over.cancel();
                    return;
                }
                state.stream = Some(stream);
            }
        }
    }
}

async fn write_all(
    stream: &mut (dyn AsyncWrite + Send + Unpin),
    batch: VecDeque<Bytes>,
) -> io::Result<()> {
    for piece in batch {
        timeout(limits::WRITE_STALL, stream.write_all(&piece))
            .await
            .map_err(|_| io::ErrorKind::TimedOut)??;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    /// Whatever is taken at once, of one piece or of several.
    #[tokio::test]
    async fn pieces_arrive_whole_and_in_order() {
        let mut whole = String::new();
        let mut payload = Payload::default();
        for piece in 0..20 {
            let piece = format!("[{piece}]").repeat(1000);
            whole.push_str(&piece);
            payload.push(piece);
        }
        whole.push('\n');
        for room in [1, 100, 4096, 1 << 20] {
            let (write, mut read) = tokio::io::duplex(room);
            let writer = LineWriter::new(write);
            writer.send(payload.clone()).unwrap();
            writer.send(payload.clone()).unwrap();
            writer.close();
            let mut came = String::new();
            read.read_to_string(&mut came).await.unwrap();
            assert!(came == whole.repeat(2), "with room for {room}");
        }
    }

    /// As our own output is: it has what it took only when it was flushed.
    #[derive(Default)]
    struct Late {
        taken: Vec<u8>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl AsyncWrite for Late {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.taken.extend_from_slice(bytes);
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            let taken = std::mem::take(&mut self.taken);
            self.written.lock().extend(taken);
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn what_was_taken_is_written_before_it_is_closed() {
        let stream = Late::default();
        let written = stream.written.clone();
        let writer = LineWriter::new(stream);
        writer
            .send(Payload::from("the last answer".to_owned()))
            .unwrap();
        writer.close();
        writer.closed().await;
        assert_eq!(&*written.lock(), b"the last answer\n");
    }
}
