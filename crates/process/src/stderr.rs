//! What a server writes to stderr: always read, the end of it kept.
//!
//! A server that writes to a full pipe stops, so stderr is drained whether or
//! not anyone looks, and whatever it contains: no newline, NULs, no text.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use switchboard_local::{secret, visible};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

use crate::{kept::KeptStderr, limits};

pub use crate::limits::STDERR_IN_MEMORY as KEPT;

/// Receives each line as it was written, without its newline.
pub type LineSink = Box<dyn FnMut(&[u8]) + Send>;

/// The last 64 KiB that a server wrote to stderr. Clones share the same ring.
#[derive(Clone)]
pub struct StderrRing {
    shared: Arc<Mutex<Ring>>,
    ended: watch::Receiver<bool>,
}

#[derive(Default)]
struct Ring {
    bytes: VecDeque<u8>,
    total: u64,
    line: Vec<u8>,
    sink: Option<LineSink>,
}

impl std::fmt::Debug for StderrRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StderrRing")
            .field("total", &self.total())
            .finish_non_exhaustive()
    }
}

impl StderrRing {
    /// A ring, and the task that fills it until `from` ends.
    pub(crate) fn drain(
        from: impl AsyncRead + Unpin + Send + 'static,
        kept: Option<KeptStderr>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (end, ended) = watch::channel(false);
        let ring = Self {
            shared: Arc::default(),
            ended,
        };
        let shared = Arc::clone(&ring.shared);
        let task = async move {
            read_all(from, &shared, kept).await;
            end.send_replace(true);
        };
        (ring, task)
    }

    /// Also hands every line to `sink` from now on, beginning with what is
    /// kept already. The sink runs on the task that drains: it must be quick
    /// and must not block, and must not use this ring.
    pub fn on_line(&self, mut sink: LineSink) {
        let mut ring = self.shared.lock();
        let kept: Vec<u8> = ring.bytes.iter().copied().collect();
        let whole = kept.len().saturating_sub(ring.line.len());
        for line in kept[..whole].split_inclusive(|byte| *byte == b'\n') {
            sink(line.strip_suffix(b"\n").unwrap_or(line));
        }
        ring.sink = Some(sink);
    }

    /// How many bytes the server has written in all.
    pub fn total(&self) -> u64 {
        self.shared.lock().total
    }

    /// The bytes that are kept, as they were written.
    pub fn bytes(&self) -> Vec<u8> {
        self.shared.lock().bytes.iter().copied().collect()
    }

    /// The last `n` lines that are not blank, for an error message: control
    /// sequences escaped, long lines cut, without what looks like a secret.
    pub fn tail_lines(&self, n: usize) -> String {
        let bytes = self.bytes();
        let text = String::from_utf8_lossy(&bytes);
        let mut lines: Vec<String> = text
            .rsplit('\n')
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
            .take(n)
            .map(|line| shown(&secret::text(line)))
            .collect();
        lines.reverse();
        lines.join("\n")
    }

    /// Waits until everything that was written has been read (stderr has
    /// ended), but not longer than `most`. For messages about a server that
    /// has just died: its last words may still be in the pipe.
    pub async fn ended(&self, most: Duration) {
        let mut ended = self.ended.clone();
        let _ = tokio::time::timeout(most, ended.wait_for(|ended| *ended)).await;
    }
}

impl Ring {
    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let new = &bytes[bytes.len().saturating_sub(KEPT)..];
        let room = KEPT - new.len();
        let excess = self.bytes.len().saturating_sub(room);
        self.bytes.drain(..excess);
        self.bytes.extend(new);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.push_line(piece);
        }
    }

    fn push_line(&mut self, piece: &[u8]) {
        for part in piece.chunks(limits::STDERR_LINE) {
            if self.line.len() + part.len() > limits::STDERR_LINE {
                self.emit();
            }
            self.line.extend_from_slice(part);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            self.emit();
        }
    }

    fn emit(&mut self) {
        if let Some(sink) = &mut self.sink {
            sink(&self.line);
        }
        self.line.clear();
    }
}

async fn read_all(
    mut from: impl AsyncRead + Unpin,
    shared: &Mutex<Ring>,
    mut kept: Option<KeptStderr>,
) {
    let mut buffer = vec![0; limits::STDERR_LINE];
    loop {
        match from.read(&mut buffer).await {
            Ok(0) => break,
            Ok(n) => {
                shared.lock().push(&buffer[..n]);
                if let Some(kept) = &mut kept {
                    kept.add(&buffer[..n]).await;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let mut ring = shared.lock();
    if !ring.line.is_empty() {
        ring.emit();
    }
}

/// A line that is safe on a terminal: a server must not move the cursor, set
/// the title, or turn the reading direction of what we say about it.
fn shown(line: &str) -> String {
    let mut safe = String::with_capacity(line.len());
    for (count, c) in line.chars().enumerate() {
        if count == limits::STDERR_LINE_SHOWN {
            safe.push('…');
            break;
        }
        match c {
            '\t' => safe.push(' '),
            c => visible::push(&mut safe, c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(
        from: impl AsyncRead + Unpin + Send + 'static,
    ) -> (StderrRing, impl Future<Output = ()> + Send + 'static) {
        StderrRing::drain(from, None)
    }

    #[tokio::test]
    async fn flood_without_newline_is_bounded_and_its_end_is_kept() {
        let flood = [vec![b'x'; 3_000_000], b"the end".to_vec()].concat();
        let (ring, task) = drain(std::io::Cursor::new(flood));
        task.await;
        assert_eq!(ring.total(), 3_000_007);
        assert_eq!(ring.bytes().len(), KEPT);
        assert!(ring.bytes().ends_with(b"xthe end"));
        assert!(ring.shared.lock().line.capacity() <= 2 * limits::STDERR_LINE);
    }

    #[tokio::test]
    async fn lines_reach_the_sink_also_early_and_unfinished_ones() {
        let (mut write, read) = tokio::io::duplex(64);
        let (ring, task) = drain(read);
        let task = tokio::spawn(task);
        tokio::io::AsyncWriteExt::write_all(&mut write, b"one\ntw")
            .await
            .unwrap();
        while ring.total() < 6 {
            tokio::task::yield_now().await;
        }
        let lines = Arc::new(Mutex::new(Vec::new()));
        let copy = Arc::clone(&lines);
        ring.on_line(Box::new(move |line| copy.lock().push(line.to_vec())));
        tokio::io::AsyncWriteExt::write_all(&mut write, b"o\n\0three")
            .await
            .unwrap();
        drop(write);
        task.await.unwrap();
        assert_eq!(
            *lines.lock(),
            [b"one".to_vec(), b"two".to_vec(), b"\0three".to_vec()]
        );
    }

    #[tokio::test]
    async fn the_tail_cannot_control_a_terminal() {
        let text = b"old\n\n\x1b]0;title\x07\x1b[2J red\xff\nlast \xe2\x80\xae\r\n".to_vec();
        let (ring, task) = drain(std::io::Cursor::new(text));
        task.await;
        let tail = ring.tail_lines(2);
        assert!(
            !tail.chars().any(|c| c.is_control() && c != '\n'),
            "{tail:?}"
        );
        assert_eq!(
            tail,
            "\\u{1b}]0;title\\u{7}\\u{1b}[2J red\u{fffd}\nlast \\u{202e}"
        );
    }
}
