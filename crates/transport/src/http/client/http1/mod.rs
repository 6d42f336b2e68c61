//! One connection of HTTP/1.1, the client's side: a request is written in one piece, its
//! answer read from one buffer. Nothing runs beside whoever asked: no task, no channel,
//! and what comes of a body goes straight to where it is collected. Why not hyper's:
//! `docs/design/decisions/0012-http1-upstream.md`.

mod framing;
mod head;
mod request;
#[cfg(test)]
mod tests;

pub use framing::Misdivided;
pub use head::HeadError;
pub use request::Request;

use crate::limits;
use bytes::{Buf, Bytes, BytesMut};
use framing::{Framing, Next};
use head::Head;
use http::{HeaderMap, StatusCode};
use std::{
    future::poll_fn,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, Waker, ready},
};
use switchboard_wire::Payload;
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio_util::io::poll_read_buf;

/// Why there is no answer, or no more of one.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The peer hung up.
    #[error("the server closed the connection before answering")]
    Closed,
    /// What came is no answer.
    #[error("the server's answer is not HTTP: {0}")]
    Head(#[from] HeadError),
    /// The body cannot be told from what follows.
    #[error("{0}")]
    Body(#[from] Misdivided),
    /// The body is shorter than was said.
    #[error("the connection ended before all of it was there")]
    Short,
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
}

/// One connection.
pub struct Connection<S> {
    stream: S,
    /// What came and was not taken yet.
    came: BytesMut,
    /// How much room the next read has, at least half of it.
    room: usize,
    /// What is written, where it was put into one piece: kept for the next request.
    out: Vec<u8>,
    framing: Framing,
    /// Whether anything of the last request has left.
    wrote: bool,
    /// Whether another request can follow.
    keeps: bool,
}

impl<S: tokio::io::AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// On a stream that nothing was said on.
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            came: BytesMut::new(),
            room: limits::HTTP_FIRST_READ,
            out: Vec::new(),
            framing: Framing::ENDED,
            wrote: false,
            keeps: true,
        }
    }

    /// Whether anything of the last request has left: only if not is it certain that the
    /// server has not seen it.
    pub fn has_written(&self) -> bool {
        self.wrote
    }

    /// Sends a request and reads the head of its answer. One that comes before all of the
    /// request has left is an answer, too, and the last on this connection.
    pub async fn ask(&mut self, request: &Request<'_>) -> Result<(StatusCode, HeaderMap), Fault> {
        self.wrote = false;
        // Until all is well.
        self.keeps = false;
        self.out.clear();
        request.write_head(&mut self.out);
        let mut rest = match request.payload.len() <= limits::COPY_BELOW {
            true => {
                for piece in request.payload.pieces() {
                    self.out.extend_from_slice(piece);
                }
                Rest::default()
            }
            false => Rest::of(request.payload),
        };
        let early = poll_fn(|context| self.poll_write(context, &mut rest)).await?;
        if self.out.capacity() > limits::COPY_BELOW * 2 {
            self.out = Vec::new();
        }
        let mut head = early;
        let is_whole = head.is_none();
        for _ in 0..limits::HTTP_INFORMATIONAL {
            let found = match head.take() {
                Some(found) => found,
                None => self.head().await?,
            };
            if found.status.is_informational() {
                continue;
            }
            self.framing = found.framing;
            self.keeps = found.keeps && is_whole;
            return Ok((found.status, found.headers));
        }
        Err(HeadError::TooLarge.into())
    }

    /// Writes until all has left, or an answer comes before that.
    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        rest: &mut Rest<'_>,
    ) -> Poll<Result<Option<Head>, Fault>> {
        loop {
            let slices = rest.slices(&self.out);
            let stream = Pin::new(&mut self.stream);
            let written = match slices {
                // What is encrypted may not have left yet.
                None => match stream.poll_flush(context) {
                    Poll::Ready(Ok(())) => return Poll::Ready(Ok(None)),
                    Poll::Ready(Err(fault)) => Poll::Ready(Err(fault)),
                    Poll::Pending => Poll::Pending,
                },
                Some((slices, 1)) => stream.poll_write(context, &slices[0]),
                Some((slices, count)) => stream.poll_write_vectored(context, &slices[..count]),
            };
            match written {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(Fault::Closed)),
                Poll::Ready(Ok(written)) => {
                    self.wrote = true;
                    rest.wrote(written);
                }
                Poll::Ready(Err(fault)) => return self.poll_last_words(context, fault),
                Poll::Pending => {
                    // It may have said no already, and wait for us to read that.
                    while let Some(head) = self.take_head()? {
                        if !head.status.is_informational() {
                            return Poll::Ready(Ok(Some(head)));
                        }
                    }
                    ready!(self.poll_read(context))?;
                }
            }
        }
    }

    /// What was said before the connection broke while a request was being written.
    fn poll_last_words(
        &mut self,
        context: &mut Context<'_>,
        fault: io::Error,
    ) -> Poll<Result<Option<Head>, Fault>> {
        while let Ok(head) = self.take_head() {
            match head {
                Some(head) if head.status.is_informational() => {}
                Some(head) => return Poll::Ready(Ok(Some(head))),
                None if matches!(self.poll_read(context), Poll::Ready(Ok(()))) => {}
                None => break,
            }
        }
        Poll::Ready(Err(fault.into()))
    }

    /// The next head.
    async fn head(&mut self) -> Result<Head, Fault> {
        loop {
            if let Some(head) = self.take_head()? {
                return Ok(head);
            }
            poll_fn(|context| self.poll_read(context)).await?;
        }
    }

    fn take_head(&mut self) -> Result<Option<Head>, Fault> {
        if self.came.is_empty() {
            return Ok(None);
        }
        let Some((head, length)) = head::read(&self.came)? else {
            return Ok(None);
        };
        self.came.advance(length);
        Ok(Some(head))
    }

    /// Reads what there is. An error where nothing more comes.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        if self.came.capacity() - self.came.len() < self.room / 2 {
            self.came.reserve(self.room);
        }
        let spare = self.came.capacity() - self.came.len();
        let read = ready!(poll_read_buf(
            Pin::new(&mut self.stream),
            context,
            &mut self.came
        ));
        Poll::Ready(match read {
            Ok(0) => Err(Fault::Closed),
            Ok(read) => {
                // As much as there was room for may mean that there is more.
                if read == spare {
                    self.room = (self.room * 2).min(limits::HTTP_READ_BUFFER);
                }
                Ok(())
            }
            Err(fault) => Err(fault.into()),
        })
    }

    /// How many bytes of the body are left, where that was said.
    pub fn left(&self) -> Option<u64> {
        match self.framing {
            Framing::Length(left) => Some(left),
            _ => None,
        }
    }

    /// Whether all of the body was taken.
    pub fn is_ended(&self) -> bool {
        self.framing.is_ended()
    }

    /// The next piece of the body; `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            match self.framing.next(&mut self.came)? {
                Next::End => return Ok(None),
                Next::Data(length) => {
                    self.framing.took(length);
                    return Ok(Some(self.taken(length)));
                }
                Next::More => {
                    if !self.more().await? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Takes what came from the front. Little is copied, so that the buffer stays.
    fn taken(&mut self, length: usize) -> Bytes {
        if length >= limits::COPIED_BYTES {
            return self.came.split_to(length).freeze();
        }
        let piece = Bytes::copy_from_slice(&self.came[..length]);
        self.came.advance(length);
        piece
    }

    /// Adds what there is of the body to `body`, waiting only where there is nothing; a
    /// body whose length was said is read straight into it. Whether there may be more.
    pub async fn collect_into(&mut self, body: &mut Vec<u8>) -> Result<bool, Fault> {
        let mut took = false;
        loop {
            match self.framing.next(&mut self.came)? {
                Next::End => return Ok(false),
                Next::Data(length) => {
                    body.extend_from_slice(&self.came[..length]);
                    self.came.advance(length);
                    self.framing.took(length);
                    took = true;
                }
                Next::More if took => return Ok(true),
                Next::More => {
                    let Framing::Length(left) = self.framing else {
                        if !self.more().await? {
                            return Ok(false);
                        }
                        continue;
                    };
                    if body.capacity() == body.len() {
                        body.reserve(limits::HTTP_READ_BUFFER);
                    }
                    let read = (&mut self.stream).take(left).read_buf(body).await?;
                    if read == 0 {
                        return Err(Fault::Short);
                    }
                    self.framing.took(read);
                    took = true;
                }
            }
        }
    }

    /// Waits for more of a body. Whether any came: one may end with its connection.
    async fn more(&mut self) -> Result<bool, Fault> {
        match poll_fn(|context| self.poll_read(context)).await {
            Ok(()) => Ok(true),
            Err(Fault::Closed) if self.framing == Framing::UntilClose => {
                self.framing = Framing::ENDED;
                Ok(false)
            }
            Err(Fault::Closed) => Err(Fault::Short),
            Err(fault) => Err(fault),
        }
    }

    /// Whether another request could follow: the last answer is complete, and nothing came
    /// after it.
    pub fn is_complete(&self) -> bool {
        self.keeps && self.is_ended() && self.came.is_empty()
    }

    /// Whether another request can be sent now: besides, the peer has neither hung up nor
    /// said anything that nobody asked for.
    pub fn is_ready(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        self.is_complete() && self.poll_read(&mut context).is_pending()
    }

    /// Gives back what it does not need while nobody uses it.
    pub fn rest(&mut self) {
        if self.room > limits::HTTP_FIRST_READ {
            self.room = limits::HTTP_FIRST_READ;
            self.came = BytesMut::new();
        }
    }
}

/// What of a large request is still to be written, after its head.
#[derive(Default)]
struct Rest<'a> {
    pieces: &'a [Bytes],
    /// Bytes that were written, of the head and of all pieces.
    written: usize,
}

/// Pieces that are written at once.
// tidy: how a list on the stack is laid out, not a cap
const AT_ONCE: usize = 8;

impl<'a> Rest<'a> {
    fn of(payload: &'a Payload) -> Self {
        Self {
            pieces: payload.pieces(),
            written: 0,
        }
    }

    fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
    }

    /// What comes next, the head first; nothing once all has left.
    fn slices<'b>(&self, head: &'b [u8]) -> Option<([IoSlice<'b>; AT_ONCE], usize)>
    where
        'a: 'b,
    {
        let mut skip = self.written;
        let mut slices = [IoSlice::new(&[]); AT_ONCE];
        let mut count = 0;
        for piece in std::iter::once(head).chain(self.pieces.iter().map(AsRef::as_ref)) {
            if skip >= piece.len() {
                skip -= piece.len();
                continue;
            }
            slices[count] = IoSlice::new(&piece[skip..]);
            skip = 0;
            count += 1;
            if count == AT_ONCE {
                break;
            }
        }
        (count > 0).then_some((slices, count))
    }
}
