//! Lines of a client, some of which are read before anybody asks for them: so that
//! its end is known while what it said before is still being worked on.

use crate::limits;
use bytes::Bytes;
use std::collections::VecDeque;
use switchboard_transport::stdio::{LineError, Lines};
use tokio::io::AsyncRead;

/// Lines, and those that were read ahead.
pub(super) struct Ahead<R> {
    lines: Lines<R>,
    waiting: VecDeque<Bytes>,
    /// How the input ended, once it has.
    end: Option<Result<(), LineError>>,
}

impl<R: AsyncRead + Unpin> Ahead<R> {
    pub(super) fn new(lines: Lines<R>) -> Self {
        Self {
            lines,
            waiting: VecDeque::new(),
            end: None,
        }
    }

    /// The next line; `None` when there will be no other.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        if let Some(line) = self.waiting.pop_front() {
            return Some(line);
        }
        if self.end.is_none() {
            match self.lines.next().await {
                Ok(Some(line)) => return Some(line),
                Ok(None) => self.end = Some(Ok(())),
                Err(fault) => self.end = Some(Err(fault)),
            }
        }
        None
    }

    /// A line that has been read already.
    pub(super) fn waiting(&mut self) -> Option<Bytes> {
        self.waiting.pop_front()
    }

    /// Reads on until the input ends, or as far as is good.
    pub(super) async fn ended(&mut self) {
        while self.end.is_none() {
            if self.waiting.len() >= limits::LINES_AHEAD {
                std::future::pending::<()>().await;
            }
            match self.lines.next().await {
                Ok(Some(line)) => self.waiting.push_back(line),
                Ok(None) => self.end = Some(Ok(())),
                Err(fault) => self.end = Some(Err(fault)),
            }
        }
    }

    /// What ended the input, if that was no ordinary end.
    pub(super) fn fault(&mut self) -> Option<LineError> {
        self.end.take()?.err()
    }
}
