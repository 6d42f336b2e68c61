//! The answer to one HTTP request, and reading its body within the limits.

use super::{
    http1::Fault,
    pool::{Kept, Pool},
};
use crate::{
    budget::{Budget, Reserved},
    limits,
    limits::COUNTED_BYTES,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The head of an answer and the connection that its body comes on.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    connection: Box<Kept>,
}

/// Why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("the server's answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the server's answer broke off: {0}")]
    Broken(#[from] Fault),
    #[error("the server's answer stood still for {0:?}")]
    Stalled(Duration),
}

/// What an answer claims to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Json,
    Events,
    /// Not said.
    Unstated,
    Other,
}

impl Answer {
    pub(super) fn new(status: StatusCode, headers: HeaderMap, connection: Box<Kept>) -> Self {
        Self {
            status,
            headers,
            connection,
        }
    }

    /// A header as text.
    pub(super) fn text(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(super) fn content(&self) -> Content {
        let Some(kind) = self.headers.get(header::CONTENT_TYPE) else {
            return Content::Unstated;
        };
        let kind = kind
            .as_bytes()
            .split(|byte| *byte == b';')
            .next()
            .unwrap_or_default()
            .trim_ascii();
        if kind.eq_ignore_ascii_case(b"application/json") {
            Content::Json
        } else if kind.eq_ignore_ascii_case(b"text/event-stream") {
            Content::Events
        } else {
            Content::Other
        }
    }

    /// The content's encoding, where there is one although we asked for none.
    pub(super) fn encoding(&self) -> Option<&str> {
        let encoding = self.text(header::CONTENT_ENCODING)?;
        (!encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity")).then_some(encoding)
    }

    /// The next piece of the body; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Option<Result<Bytes, Fault>> {
        self.connection.line.chunk().await.transpose()
    }

    /// How many bytes of the body are left, where that was said.
    pub(super) fn left(&self) -> Option<u64> {
        self.connection.line.left()
    }

    /// Adds what comes of the body next; whether there may be more. A body may be long in
    /// coming; once it `has_begun` it must not stop.
    pub(super) async fn read_more(
        &mut self,
        buffer: &mut Vec<u8>,
        has_begun: bool,
        stall: Duration,
    ) -> Result<bool, BodyError> {
        let more = self.connection.line.collect_into(buffer);
        Ok(match has_begun {
            false => more.await?,
            true => timeout(stall, more)
                .await
                .map_err(|_| BodyError::Stalled(stall))??,
        })
    }

    /// The whole body, of which this has come already. It is copied once: from what came
    /// with the head, and straight from the connection.
    pub(super) async fn collect(
        &mut self,
        begun: Vec<u8>,
        cap: usize,
        stall: Duration,
        budget: &Budget,
    ) -> Result<Bytes, BodyError> {
        let announced = usize::try_from(self.left().unwrap_or_default()).unwrap_or(usize::MAX);
        let announced = announced.saturating_add(begun.len());
        if announced > cap {
            return Err(BodyError::TooLarge(cap));
        }
        let mut reserved = None;
        if announced >= COUNTED_BYTES {
            reserved = reserve(budget, announced).await;
        }
        let mut buffer = begun;
        if buffer.capacity() < announced {
            let begun = buffer;
            buffer = budget.buffer(announced.min(limits::ALLOCATED_BYTES));
            buffer.extend_from_slice(&begun);
            budget.reuse(begun);
        }
        while !self.is_ended() {
            let has_begun = !buffer.is_empty();
            let more = self.read_more(&mut buffer, has_begun, stall).await?;
            if buffer.len() > cap {
                return Err(BodyError::TooLarge(cap));
            }
            if !more {
                break;
            }
            if reserved.is_none() && buffer.len() >= COUNTED_BYTES {
                reserved = reserve(budget, limits::RESERVED_BYTES).await;
            }
        }
        drop(reserved);
        Ok(match buffer.len() {
            COUNTED_BYTES.. => budget.hold(buffer),
            _ => buffer.into(),
        })
    }

    /// At most `cap` bytes from the beginning of the body, for people to read.
    pub(super) async fn beginning(&mut self, cap: usize, patience: Duration) -> Vec<u8> {
        let mut start = Vec::new();
        let deadline = Instant::now() + patience;
        while start.len() < cap {
            match timeout(
                deadline.saturating_duration_since(Instant::now()),
                self.chunk(),
            )
            .await
            {
                Ok(Some(Ok(chunk))) => {
                    start.extend_from_slice(&chunk[..chunk.len().min(cap - start.len())]);
                }
                _ => break,
            }
        }
        start
    }

    /// Whether all of the body was read.
    pub(super) fn is_ended(&self) -> bool {
        self.connection.line.is_ended()
    }

    /// Waits a moment for the end of a body that nobody needs, so that the
    /// connection can be kept; closes it where the end does not come.
    pub(super) async fn discard(mut self, pool: &Pool, patience: Duration) {
        if !self.is_ended() && self.beginning(64 * 1024, patience).await.len() == 64 * 1024 {
            return;
        }
        self.finish(pool);
    }

    /// Gives the connection back. It is kept only if the body was read to its end.
    pub(super) fn finish(self, pool: &Pool) {
        // `Keep-Alive: timeout=5`: sending at the last moment would cross the
        // server's closing, so a second is left.
        let announced = self.headers.get("keep-alive").and_then(|value| {
            let value = value.to_str().ok()?;
            let seconds = value
                .split(',')
                .find_map(|part| part.trim().strip_prefix("timeout="))?;
            Some(Duration::from_secs(
                seconds.parse::<u64>().ok()?.saturating_sub(1),
            ))
        });
        // Nothing is left of what was read, so that its buffer ends here.
        drop(self.headers);
        pool.keep(self.connection, announced);
    }
}

/// Counts a large answer before it is read. Where the budget stays full it is
/// read anyway: a slow reader elsewhere must not stop this server for ever.
pub(super) async fn reserve(budget: &Budget, bytes: usize) -> Option<Reserved> {
    timeout(
        limits::RESERVE_WAIT,
        budget.reserve(bytes.min(limits::RESERVED_BYTES)),
    )
    .await
    .ok()
}
