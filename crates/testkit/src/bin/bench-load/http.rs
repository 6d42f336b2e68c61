//! One keep-alive HTTP/1.1 connection, as little as a client can do.

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

/// What a connection is read from and written to.
pub type Stream = Either<TcpStream, TlsStream<TcpStream>>;

/// A connection and what has been read from it.
pub struct Connection {
    stream: Stream,
    /// Bytes read; those before `start` have been used.
    buffer: Vec<u8>,
    start: usize,
    /// The body of the last response, framing removed.
    pub body: Vec<u8>,
}

/// The head of a response.
pub struct Head {
    /// The status code.
    pub status: u16,
    /// `Mcp-Session-Id`
    pub session: Option<String>,
    /// Whether the body is an event stream.
    pub events: bool,
    framing: Framing,
}

enum Framing {
    Length(usize),
    Chunked,
}

impl Connection {
    /// On this stream.
    pub fn new(stream: Stream) -> Self {
        Self {
            stream,
            buffer: Vec::with_capacity(64 * 1024),
            start: 0,
            body: Vec::new(),
        }
    }

    /// Sends a whole request and reads the whole response; the body is left in
    /// `self.body`.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<Head> {
        self.stream.write_all(request).await.context("sending")?;
        self.stream.flush().await.context("sending")?;
        self.body.clear();
        let end = self.find(b"\r\n\r\n").await?;
        let head = Head::parse(&self.buffer[self.start..end])?;
        self.start = end + 4;
        match head.framing {
            Framing::Length(length) => self.take(length).await?,
            Framing::Chunked => self.chunks().await?,
        }
        Ok(head)
    }

    async fn chunks(&mut self) -> Result<()> {
        loop {
            let end = self.find(b"\r\n").await?;
            let line = std::str::from_utf8(&self.buffer[self.start..end])?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16)
                .with_context(|| format!("{size:?} is not a chunk's size"))?;
            self.start = end + 2;
            if size > 0 {
                self.take(size).await?;
            }
            let end = self.find(b"\r\n").await?;
            ensure!(end == self.start, "a chunk without its end, or a trailer");
            self.start = end + 2;
            if size == 0 {
                return Ok(());
            }
        }
    }

    /// Moves the next `length` bytes to the body.
    async fn take(&mut self, length: usize) -> Result<()> {
        let have = (self.buffer.len() - self.start).min(length);
        self.body
            .extend_from_slice(&self.buffer[self.start..self.start + have]);
        self.start += have;
        let mut missing = length - have;
        self.body.reserve(missing);
        while missing > 0 {
            // The buffer is used up here: large bodies are read in place.
            let mut limited = (&mut self.stream).take(missing as u64);
            let read = limited.read_buf(&mut self.body).await?;
            ensure!(read > 0, "the connection ended inside a body");
            missing -= read;
        }
        Ok(())
    }

    /// The position of `mark` at or after `start`, reading until it is there.
    async fn find(&mut self, mark: &[u8]) -> Result<usize> {
        let mut from = self.start;
        loop {
            let found = self.buffer[from..]
                .windows(mark.len())
                .position(|window| window == mark);
            if let Some(at) = found {
                return Ok(from + at);
            }
            if self.start > 0 {
                self.buffer.drain(..self.start);
                self.start = 0;
            }
            ensure!(self.buffer.len() < 1 << 20, "a head or line without an end");
            from = self.buffer.len().saturating_sub(mark.len() - 1);
            let read = self.stream.read_buf(&mut self.buffer).await?;
            ensure!(read > 0, "the connection ended before a response");
        }
    }
}

impl Head {
    /// One whose body has been read already.
    pub fn new(status: u16, session: Option<String>, events: bool) -> Self {
        Self {
            status,
            session,
            events,
            framing: Framing::Length(0),
        }
    }

    fn parse(text: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(text).context("a head that is not text")?;
        let mut lines = text.split("\r\n");
        let status = lines.next().unwrap_or_default();
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut head = Self {
            status: status.context("no status line")?,
            session: None,
            events: false,
            framing: Framing::Length(0),
        };
        for line in lines {
            let Some((name, value)) = line.split_once(':') else {
                bail!("{line:?} is not a header");
            };
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                head.framing = Framing::Length(value.parse().context("content-length")?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                head.framing = Framing::Chunked;
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                head.session = Some(value.to_owned());
            } else if name.eq_ignore_ascii_case("content-type") {
                head.events = value.starts_with("text/event-stream");
            }
        }
        Ok(head)
    }
}
