//! Cutting a byte stream into lines, with a cap.

use crate::{
    budget::{Budget, Charge, Share},
    full::Full,
    limits,
};
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
    counts: Counts,
}

/// Where the bytes of large lines are counted.
#[derive(Debug)]
enum Counts {
    /// For all, once a line is there.
    All(Budget),
    /// For a principal too, as they arrive.
    Own(Charge),
}

/// Why no further line can be read.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// A line is longer than the cap: the framing is lost.
    #[error("a line is longer than {0} bytes")]
    TooLong(usize),
    /// Whose lines they are has too many bytes in memory.
    #[error(transparent)]
    Full(#[from] Full),
    /// The stream broke.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of `reader`, each at most `cap` bytes long.
    pub fn new(reader: R, cap: usize, budget: Budget) -> Self {
        Self::counted(reader, cap, Counts::All(budget))
    }

    /// The same for a client, whose bytes count from the first on.
    pub fn charged(reader: R, cap: usize, share: &Share) -> Self {
        Self::counted(reader, cap, Counts::Own(share.charge()))
    }

    fn counted(reader: R, cap: usize, counts: Counts) -> Self {
        Self {
            reader,
            buffer: BytesMut::new(),
            searched: 0,
            cap,
            counts,
        }
    }

    /// The next line that is not blank, without its line end; `None` at the end
    /// of the stream. A last line without a line end counts.
    pub async fn next(&mut self) -> Result<Option<Bytes>, LineError> {
        loop {
            if let Some(length) = self.find_line() {
                self.afford(length).await?;
                let line = self.take_line(length);
                if !line.is_empty() {
                    return Ok(Some(line));
                }
                continue;
            }
            if self.buffer.len() > self.cap {
                return Err(LineError::TooLong(self.cap));
            }
            self.afford(self.buffer.len()).await?;
            self.buffer.reserve(limits::READ_CHUNK.min(self.cap));
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                let rest = self.buffer.split();
                self.searched = 0;
                let rest = trim(&rest).to_vec();
                return Ok((!rest.is_empty()).then(|| self.counts.hold(rest)));
            }
        }
    }

    /// Waits until so many bytes of one line may be in memory.
    async fn afford(&mut self, length: usize) -> Result<(), Full> {
        match &mut self.counts {
            Counts::Own(charge) if length >= limits::COUNTED_BYTES => charge.grow_to(length).await,
            _ => Ok(()),
        }
    }

    /// How long the first line is that has already been read, if there is one.
    fn find_line(&mut self) -> Option<usize> {
        let found = memchr::memchr(b'\n', &self.buffer[self.searched..]);
        // Found again at once, should somebody stop waiting in between.
        self.searched = found.map_or(self.buffer.len(), |found| self.searched + found);
        found.map(|_| self.searched)
    }

    /// The first line. Blank lines come out empty.
    fn take_line(&mut self, length: usize) -> Bytes {
        self.searched = 0;
        if length >= limits::HANDED_BYTES {
            self.hand_over(length)
        } else if length >= limits::COUNTED_BYTES {
            // A copy of its own, counted; the reading buffer keeps its size.
            let line = self.counts.hold(trim(&self.buffer[..length]).to_vec());
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
        }
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
        self.counts.hold(line)
    }
}

impl Counts {
    /// A whole line, counted. The next one begins at nothing.
    fn hold(&mut self, line: Vec<u8>) -> Bytes {
        match self {
            Self::All(budget) => budget.hold(line),
            Self::Own(charge) => {
                let next = charge.share().charge();
                let charge = std::mem::replace(charge, next);
                if line.len() < limits::COUNTED_BYTES {
                    return Bytes::from(line);
                }
                charge.hold(line)
            }
        }
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
