//! Cutting a byte stream into lines, with a cap.

use crate::{budget::Budget, limits};
use bytes::{Buf, Bytes, BytesMut};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Reads lines of at most a given length.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: BytesMut,
    /// How much of `buffer` is known to hold no line end.
    searched: usize,
    cap: usize,
    budget: Budget,
}

/// Why no further line can be read.
#[derive(Debug, thiserror::Error)]
pub enum LineFault {
    /// A line is longer than the cap: the framing is lost.
    #[error("a line is longer than {0} bytes")]
    TooLong(usize),
    /// The stream broke.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of `reader`, each at most `cap` bytes long.
    pub fn new(reader: R, cap: usize, budget: Budget) -> Self {
        Self {
            reader,
            buffer: BytesMut::new(),
            searched: 0,
            cap,
            budget,
        }
    }

    /// The next line that is not blank, without its line end; `None` at the end
    /// of the stream. A last line without a line end counts.
    pub async fn next(&mut self) -> Result<Option<Bytes>, LineFault> {
        loop {
            if let Some(line) = self.take_line() {
                if !line.is_empty() {
                    return Ok(Some(line));
                }
                continue;
            }
            if self.buffer.len() > self.cap {
                return Err(LineFault::TooLong(self.cap));
            }
            self.buffer.reserve(limits::READ_CHUNK.min(self.cap));
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                let rest = self.buffer.split();
                self.searched = 0;
                let rest = trim(&rest).to_vec();
                return Ok((!rest.is_empty()).then(|| self.budget.hold(rest)));
            }
        }
    }

    /// A line that has already been read, if there is one. Blank lines come out empty.
    fn take_line(&mut self) -> Option<Bytes> {
        let found = memchr::memchr(b'\n', &self.buffer[self.searched..]);
        let Some(found) = found else {
            self.searched = self.buffer.len();
            return None;
        };
        let length = self.searched + found;
        self.searched = 0;
        let line = if length >= limits::HANDED_BYTES {
            self.hand_over(length)
        } else if length >= limits::COUNTED_BYTES {
            // A copy of its own, counted; the reading buffer keeps its size.
            let line = self.budget.hold(trim(&self.buffer[..length]).to_vec());
            self.buffer.advance(length + 1);
            if self.buffer.is_empty() {
                self.buffer = BytesMut::new();
            }
            line
        } else {
            let line = self.buffer.split_to(length).freeze();
            self.buffer.advance(1);
            let trimmed = trim(&line);
            line.slice_ref(trimmed)
        };
        Some(line)
    }
}

impl<R> Lines<R> {
    /// A large line takes the buffer along, so that it is never there twice; what
    /// follows it is short by comparison, and begins a new one.
    fn hand_over(&mut self, length: usize) -> Bytes {
        let rest = BytesMut::from(&self.buffer[length + 1..]);
        let mut line = Vec::from(std::mem::replace(&mut self.buffer, rest));
        line.truncate(length);
        if trim(&line).len() < length {
            line = trim(&line).to_vec();
        }
        line.shrink_to_fit();
        self.budget.hold(line)
    }
}

/// Without white space at either end, and without a byte order mark.
fn trim(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(line)
        .trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_lines_take_their_buffer_along_and_lose_nothing() {
        let large = "x".repeat(limits::HANDED_BYTES);
        let text = format!("one\n{large}\n\u{feff} {large}y \r\ntwo\n\n{large}z\nthree");
        for chunk in [1 << 20, 1000, 64 * 1024] {
            let (mut write, read) = tokio::io::duplex(chunk);
            let sent = text.clone();
            let writing = tokio::spawn(async move {
                tokio::io::AsyncWriteExt::write_all(&mut write, sent.as_bytes()).await
            });
            let mut lines = Lines::new(read, 1 << 20, Budget::default());
            for right in [
                "one",
                &large,
                &format!("{large}y"),
                "two",
                &format!("{large}z"),
                "three",
            ] {
                let line = lines.next().await.unwrap().unwrap();
                assert!(line == right, "{} bytes for {}", line.len(), right.len());
            }
            assert!(lines.next().await.unwrap().is_none());
            writing.await.unwrap().unwrap();
        }
    }
}
