//! Processes that go on while other requests are answered.

use crate::{answer::Failure, limits};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};
use switchboard_process::{Exit, ServerCommand, ServerProcess};
use switchboard_tasks as tasks;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{ChildStdin, ChildStdout},
    sync::{Mutex as AsyncMutex, Notify, OnceCell},
};

/// The processes of one connection.
#[derive(Debug, Default)]
pub(super) struct Processes {
    all: Mutex<Table>,
    closed: OnceCell<()>,
}

#[derive(Debug, Default)]
struct Table {
    last: u32,
    by_id: BTreeMap<u32, Arc<Background>>,
    is_closed: bool,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Background {
    pub(super) id: u32,
    pub(super) command: String,
    pub(super) started: Instant,
    process: ServerProcess,
    stdin: AsyncMutex<Option<ChildStdin>>,
    output: Arc<Output>,
}

/// What it has written and nobody has read yet.
#[derive(Debug, Default)]
struct Output {
    state: Mutex<Unread>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Unread {
    bytes: VecDeque<u8>,
    dropped: u64,
    is_ended: bool,
}

/// A part of a process's output.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) bytes: Vec<u8>,
    /// Bytes before these that nobody read in time.
    pub(super) dropped: u64,
    /// There is more to read at once.
    pub(super) has_more: bool,
}

impl Processes {
    /// Starts one. The oldest that has ended makes room for it.
    pub(super) fn start(
        &self,
        text: &str,
        command: &ServerCommand,
    ) -> Result<Arc<Background>, Failure> {
        let mut table = self.all.lock();
        if table.is_closed {
            return Err(Failure::new("the connection is closing"));
        }
        if table.by_id.len() >= limits::PROCESSES {
            let ended = table.by_id.values().find(|one| one.exit().is_some());
            let Some(ended) = ended.map(|one| one.id) else {
                return Err(Failure::new("too many background processes")
                    .hint(format!("at most {}; stop one first", limits::PROCESSES)));
            };
            table.by_id.remove(&ended);
        }
        let mut process =
            ServerProcess::spawn(command).map_err(|fault| Failure::new(fault.to_string()))?;
        let output = Arc::new(Output::default());
        let collecting = collect(process.take_stdout(), Arc::clone(&output));
        tasks::spawn(tasks::Kind::Builtin, collecting);
        table.last += 1;
        let background = Arc::new(Background {
            id: table.last,
            command: text.to_owned(),
            started: Instant::now(),
            stdin: AsyncMutex::new(Some(process.take_stdin())),
            process,
            output,
        });
        table.by_id.insert(background.id, Arc::clone(&background));
        Ok(background)
    }

    pub(super) fn get(&self, id: u32) -> Result<Arc<Background>, Failure> {
        let found = self.all.lock().by_id.get(&id).cloned();
        found.ok_or_else(|| {
            Failure::new(format!("there is no process {id}")).hint("listProcesses shows them")
        })
    }

    pub(super) fn forget(&self, id: u32) {
        // Dropped after the lock is free: that may take a moment.
        let _gone = self.all.lock().by_id.remove(&id);
    }

    pub(super) fn list(&self) -> Vec<Arc<Background>> {
        self.all.lock().by_id.values().cloned().collect()
    }

    /// Stops all of them and lets no other start. Whoever calls it second
    /// waits for the first.
    pub(super) async fn close(&self) {
        let close = async || {
            let all = {
                let mut table = self.all.lock();
                table.is_closed = true;
                std::mem::take(&mut table.by_id)
            };
            let stopping = all.values().map(|background| background.stop());
            futures_util::future::join_all(stopping).await;
        };
        self.closed.get_or_init(close).await;
    }
}

impl Background {
    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(super) fn exit(&self) -> Option<Exit> {
        self.process.try_exited()
    }

    /// What it has written since the last time. Waits for something, if there
    /// is nothing yet.
    pub(super) async fn read(&self, most: usize, wait: Duration) -> Part {
        let deadline = tokio::time::Instant::now() + wait;
        loop {
            let news = self.output.news.notified();
            {
                let mut unread = self.output.state.lock();
                if !unread.bytes.is_empty() || unread.is_ended {
                    return unread.take(most);
                }
            }
            if tokio::time::timeout_at(deadline, news).await.is_err() {
                return self.output.state.lock().take(most);
            }
        }
    }

    /// Gives it something to read.
    pub(super) async fn write(&self, bytes: &[u8], and_close: bool) -> Result<(), Failure> {
        let mut stdin = self.stdin.lock().await;
        let pipe = stdin
            .as_mut()
            .ok_or_else(|| Failure::new("its standard input is closed"))?;
        let writing = async {
            pipe.write_all(bytes).await?;
            pipe.flush().await
        };
        match tokio::time::timeout(limits::PROCESS_WAIT, writing).await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => {
                return Err(Failure::new(format!(
                    "process {} does not take it: {fault}",
                    self.id
                )));
            }
            Err(_) => {
                return Err(Failure::new(format!(
                    "process {} does not read its input",
                    self.id
                )));
            }
        }
        if and_close {
            *stdin = None;
        }
        Ok(())
    }

    /// Ends it and all that it started.
    pub(super) async fn stop(&self) -> Option<Exit> {
        // Whoever writes right now will see that the other end is gone.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            *stdin = None;
        }
        self.process.stop().await.exit
    }
}

impl Unread {
    fn push(&mut self, bytes: &[u8]) {
        let bytes_kept = &bytes[bytes.len().saturating_sub(limits::PROCESS_BUFFER)..];
        let excess = (self.bytes.len() + bytes_kept.len()).saturating_sub(limits::PROCESS_BUFFER);
        self.bytes.drain(..excess);
        self.bytes.extend(bytes_kept);
        self.dropped += (excess + bytes.len() - bytes_kept.len()) as u64;
    }

    /// Takes what there is, but no half of a character.
    fn take(&mut self, most: usize) -> Part {
        let count = self.bytes.len().min(most);
        let mut bytes: Vec<u8> = self.bytes.drain(..count).collect();
        let may_go_on = !self.is_ended || !self.bytes.is_empty();
        let half = half_character(&bytes);
        if may_go_on && half > 0 && half < bytes.len() {
            for byte in bytes.drain(bytes.len() - half..).rev() {
                self.bytes.push_front(byte);
            }
        }
        Part {
            bytes,
            dropped: std::mem::take(&mut self.dropped),
            has_more: self.bytes.len() > 3,
        }
    }
}

/// How many bytes at the end begin a character that is not complete.
fn half_character(bytes: &[u8]) -> usize {
    let end = &bytes[bytes.len().saturating_sub(3)..];
    (1..=end.len())
        .find(|back| end[end.len() - back] & 0xc0 != 0x80)
        .filter(|back| match end[end.len() - back] {
            0xc0..=0xdf => *back < 2,
            0xe0..=0xef => *back < 3,
            0xf0..=0xf7 => *back < 4,
            _ => false,
        })
        .unwrap_or(0)
}

async fn collect(mut from: ChildStdout, into: Arc<Output>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        into.state.lock().push(&buffer[..read]);
        into.news.notify_waiters();
    }
    into.state.lock().is_ended = true;
    into.news.notify_waiters();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_half_characters_and_no_more_than_the_buffer() {
        let mut unread = Unread::default();
        unread.push("aü".as_bytes());
        let part = unread.take(2);
        assert_eq!(part.bytes, b"a");
        assert_eq!(unread.take(9).bytes, "ü".as_bytes());
        for _ in 0..100 {
            unread.push(&vec![b'x'; limits::PROCESS_BUFFER / 10]);
        }
        let part = unread.take(usize::MAX);
        assert_eq!(
            part.bytes.len() as u64 + part.dropped,
            100 * (limits::PROCESS_BUFFER as u64 / 10)
        );
        assert!(part.bytes.len() <= limits::PROCESS_BUFFER);
        assert_eq!(half_character("€".as_bytes()), 0);
        assert_eq!(half_character(&"€".as_bytes()[..2]), 2);
    }
}
