//! Cutting a byte stream into lines, with a cap.

use crate::{
    budget::{Budget, Charge, Share},
    full::Full,
    limits,
};
use bytes::{Buf, Bytes, BytesMut};
use std::{io, time::Duration};
use switchboard_wire::Whole;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    time::{Instant, timeout_at},
};

/// Reads lines of at most a given length.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: BytesMut,
    /// A line that has become long, in a buffer of its own, and what came with its end;
    /// then there is nothing in `buffer`.
    long: Option<Vec<u8>>,
    /// How long the last of those was: the next has room for as much from the beginning.
    last_long: usize,
    /// How much of what came is known to hold no line end.
    searched: usize,
    cap: usize,
    counts: Counts,
    /// What makes room between the peer and us once a line has become long.
    widen: Option<fn(&R)>,
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
    /// A line is longer than the cap. It can be left out.
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
            long: None,
            last_long: 0,
            searched: 0,
            cap,
            counts,
            widen: None,
        }
    }

    /// The same; `widen` is called when the first line has become long.
    pub(super) fn widened_by(self, widen: Option<fn(&R)>) -> Self {
        Self { widen, ..self }
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
            let came = self.came().len();
            if came > self.cap {
                return Err(LineError::TooLong(self.cap));
            }
            self.afford(came).await?;
            if self.read().await? == 0 {
                let rest = trim(self.came()).to_vec();
                (self.buffer, self.long, self.searched) = (BytesMut::new(), None, 0);
                return Ok((!rest.is_empty()).then(|| self.counts.hold(rest)));
            }
        }
    }

    /// The first bytes of a line that is too long.
    pub(super) fn beginning(&self) -> Vec<u8> {
        let came = trim(self.came());
        came[..came.len().min(limits::CUT_LINE_ENDS)].to_vec()
    }

    /// Reads on to the end of a line that is too long, without keeping it; its last bytes, and
    /// whether it was one value all along. Fails where there is no end to be seen.
    pub(super) async fn leave_out(&mut self) -> Result<(Vec<u8>, bool), LineError> {
        self.leave_out_within(limits::CUT_LINE_STALL, limits::CUT_LINE_TIME)
            .await
    }

    async fn leave_out_within(
        &mut self,
        stall: Duration,
        time: Duration,
    ) -> Result<(Vec<u8>, bool), LineError> {
        let too_long = || LineError::TooLong(self.cap);
        let (mut end, mut whole) = (Vec::new(), Whole::default());
        keep_end(&mut end, self.came());
        whole.read(trim(self.came()));
        let mut length = self.came().len() as u64;
        if let Some(long) = self.long.take() {
            self.counts.reuse(long);
        }
        (self.buffer, self.searched) = (BytesMut::new(), 0);
        let latest = Instant::now() + time;
        while length <= limits::CUT_LINE_BYTES {
            self.buffer.reserve(limits::READ_CHUNK);
            let read = self.reader.read_buf(&mut self.buffer);
            let until = latest.min(Instant::now() + stall);
            let read = timeout_at(until, read).await.map_err(|_| too_long())??;
            let found = memchr::memchr(b'\n', &self.buffer);
            let more = &self.buffer[..found.unwrap_or(self.buffer.len())];
            keep_end(&mut end, more);
            whole.read(more);
            length += more.len() as u64;
            if let Some(found) = found {
                self.buffer.advance(found + 1);
            } else {
                self.buffer.clear();
            }
            if found.is_some() || read == 0 {
                return Ok((end, whole.is_whole()));
            }
        }
        Err(too_long())
    }

    /// Reads what there is; nothing at the end of the stream.
    async fn read(&mut self) -> io::Result<usize> {
        if self.long.is_none() && self.buffer.len() > limits::LONG_LINE {
            if let Some(widen) = self.widen.take() {
                widen(&self.reader);
            }
            let expected = self.last_long.min(limits::ALLOCATED_BYTES);
            let room = room_for(expected.max(self.buffer.len()));
            let mut long = self.counts.buffer(room.max(limits::LONG_LINE_ROOM));
            long.extend_from_slice(&self.buffer);
            self.buffer = BytesMut::new();
            self.long = Some(long);
        }
        match &mut self.long {
            Some(long) => {
                if long.capacity() - long.len() < limits::LEAST_READ {
                    long.reserve(limits::READ_CHUNK);
                }
                // However much room there is, no line becomes much longer than it may.
                let most = self.cap.saturating_sub(long.len()) + limits::READ_CHUNK.min(self.cap);
                (&mut self.reader).take(most as u64).read_buf(long).await
            }
            None => {
                self.buffer.reserve(limits::READ_CHUNK.min(self.cap));
                self.reader.read_buf(&mut self.buffer).await
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
        let came = self.came();
        let found = memchr::memchr(b'\n', &came[self.searched..]);
        // Found again at once, should somebody stop waiting in between.
        self.searched = found.map_or(came.len(), |found| self.searched + found);
        found.map(|_| self.searched)
    }

    /// The first line. Blank lines come out empty.
    fn take_line(&mut self, length: usize) -> Bytes {
        self.searched = 0;
        if let Some(long) = self.long.take() {
            self.hand_over(long, length)
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
    /// What was read and not taken yet.
    fn came(&self) -> &[u8] {
        self.long.as_deref().unwrap_or(&self.buffer)
    }

    /// A long line takes its buffer along, so that it is never there twice; what follows it
    /// is short by comparison, and begins a new one.
    fn hand_over(&mut self, mut line: Vec<u8>, length: usize) -> Bytes {
        self.buffer = BytesMut::from(&line[length + 1..]);
        self.last_long = length.max(self.last_long / 2);
        line.truncate(length);
        let trimmed = trim(&line);
        // Much room for little is not held for as long as somebody needs the line.
        if trimmed.len() < length || length < line.capacity() / 2 {
            let copy = trimmed.to_vec();
            self.counts.reuse(line);
            return self.counts.hold(copy);
        }
        // What grew by doubling has room for what nobody will put there.
        line.shrink_to(room_for(length));
        self.counts.hold(line)
    }
}

impl Counts {
    /// An empty buffer for so many bytes.
    fn buffer(&self, bytes: usize) -> Vec<u8> {
        match self {
            Self::All(budget) => budget.buffer(bytes),
            Self::Own(_) => Vec::with_capacity(bytes),
        }
    }

    /// Takes one back that is not needed.
    fn reuse(&self, buffer: Vec<u8>) {
        if let Self::All(budget) = self {
            budget.reuse(buffer);
        }
    }

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

/// The room for a line of about this length, and for what comes with its end.
fn room_for(length: usize) -> usize {
    (length + limits::READ_CHUNK).next_multiple_of(limits::READ_CHUNK)
}

/// Adds to the last bytes of something, and forgets those before them.
fn keep_end(end: &mut Vec<u8>, more: &[u8]) {
    let more = &more[more.len().saturating_sub(limits::CUT_LINE_ENDS)..];
    let room = limits::CUT_LINE_ENDS - more.len();
    end.drain(..end.len().saturating_sub(room));
    end.extend_from_slice(more);
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
    async fn long_lines_take_their_buffer_along_and_lose_nothing() {
        let large = "x".repeat(limits::SPARE_FROM);
        let text = format!("one\n{large}\n\u{feff} {large}y \r\ntwo\n\n{large}z\nthree");
        for chunk in [1 << 21, 1000, 64 * 1024] {
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
    /// One long line, many of the same length: the second has the buffer of the first, and
    /// what is held of each is hardly more than its length.
    #[tokio::test]
    async fn buffers_of_long_lines_are_used_again() {
        let (mut write, read) = tokio::io::duplex(64 * 1024);
        let long = "x".repeat((1 << 20) + 70);
        let sent = format!("{long}\n{long}\n{}\n{long}\n", "y".repeat(80 * 1024));
        let writing = tokio::spawn(async move {
            tokio::io::AsyncWriteExt::write_all(&mut write, sent.as_bytes()).await
        });
        let budget = Budget::default();
        let mut lines = Lines::new(read, 1 << 22, budget.clone());
        // Nothing was known of the first.
        drop(lines.next().await.unwrap().unwrap());
        let second = lines.next().await.unwrap().unwrap();
        assert!(second == long && budget.used() < long.len() + 3 * 64 * 1024);
        drop(second);
        // One that is much shorter is copied out of the room that was made for it.
        let short = lines.next().await.unwrap().unwrap();
        assert!(short.len() == 80 * 1024 && budget.used() < 96 * 1024);
        let third = lines.next().await.unwrap().unwrap();
        assert!(third == long);
        drop((short, third));
        assert_eq!(budget.used(), 0);
        assert!(lines.next().await.unwrap().is_none());
        writing.await.unwrap().unwrap();
    }

    /// A line that grows for ever, by however little, is given up.
    #[tokio::test]
    async fn the_end_of_a_line_is_not_waited_for_for_ever() {
        let (mut write, read) = tokio::io::duplex(1024);
        let writing = tokio::spawn(async move {
            while tokio::io::AsyncWriteExt::write_all(&mut write, &[b'x'; 100])
                .await
                .is_ok()
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        let mut lines = Lines::new(read, 1000, Budget::default());
        assert!(matches!(lines.next().await, Err(LineError::TooLong(1000))));
        let ended = lines
            .leave_out_within(Duration::from_secs(3600), Duration::from_millis(100))
            .await;
        assert!(matches!(ended, Err(LineError::TooLong(1000))));
        drop(lines);
        writing.await.unwrap();
    }
}
