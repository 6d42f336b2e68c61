//! The answer to one HTTP request, and reading its body within the limits.

use super::pool::{Connection, Pool};
use crate::{
    budget::{Budget, Reserved},
    limits,
    limits::{COPIED_BYTES, COUNTED_BYTES},
};
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, header};
use http_body::Body;
use hyper::body::Incoming;
use std::{
    future::poll_fn,
    pin::Pin,
    task::ready,
    time::{Duration, Instant},
};
use tokio::time::timeout;

/// The head of an answer and the connection that its body comes on.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    body: Incoming,
    connection: Box<Connection>,
}

/// Why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("the server's answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the server's answer broke off: {0}")]
    Broken(#[from] hyper::Error),
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
    pub(super) fn new(response: Response<Incoming>, connection: Box<Connection>) -> Self {
        let (head, body) = response.into_parts();
        Self {
            status: head.status,
            headers: head.headers,
            body,
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
    pub(super) async fn chunk(&mut self) -> Option<Result<Bytes, hyper::Error>> {
        let body = &mut self.body;
        self.connection
            .drive(poll_fn(|context| {
                loop {
                    // Trailers mean nothing here.
                    match ready!(Pin::new(&mut *body).poll_frame(context)) {
                        Some(Ok(frame)) => {
                            if let Ok(data) = frame.into_data()
                                && !data.is_empty()
                            {
                                return Some(Ok(data)).into();
                            }
                        }
                        Some(Err(fault)) => return Some(Err(fault)).into(),
                        None => return None.into(),
                    }
                }
            }))
            .await
    }

    /// The whole body.
    pub(super) async fn collect(
        &mut self,
        cap: usize,
        stall: Duration,
        budget: &Budget,
    ) -> Result<Bytes, BodyError> {
        let announced = usize::try_from(self.body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > cap {
            return Err(BodyError::TooLarge(cap));
        }
        let mut reserved = None;
        if announced >= COUNTED_BYTES {
            reserved = reserve(budget, announced).await;
        }
        // The body may be long in coming; once it has begun it must not stop.
        let Some(first) = self.chunk().await.transpose()? else {
            return Ok(Bytes::new());
        };
        let Some(second) = self.soon(stall).await? else {
            return Ok(match first.len() {
                COUNTED_BYTES.. => budget.hold(first.to_vec()),
                COPIED_BYTES.. => first,
                _ => Bytes::copy_from_slice(&first),
            });
        };
        let mut buffer = Vec::with_capacity(
            announced
                .min(limits::ALLOCATED_BYTES)
                .max(first.len() + second.len()),
        );
        buffer.extend_from_slice(&first);
        drop(first);
        let mut next = Some(second);
        while let Some(chunk) = next {
            let length = buffer.len() + chunk.len();
            if length > cap {
                return Err(BodyError::TooLarge(cap));
            }
            buffer.extend_from_slice(&chunk);
            drop(chunk);
            if reserved.is_none() && length >= COUNTED_BYTES {
                reserved = reserve(budget, limits::RESERVED_BYTES).await;
            }
            next = self.soon(stall).await?;
        }
        drop(reserved);
        Ok(budget.hold(buffer))
    }

    async fn soon(&mut self, stall: Duration) -> Result<Option<Bytes>, BodyError> {
        match timeout(stall, self.chunk()).await {
            Ok(chunk) => Ok(chunk.transpose()?),
            Err(_) => Err(BodyError::Stalled(stall)),
        }
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

    /// Waits a moment for the end of a body that nobody needs, so that the
    /// connection can be kept; closes it where the end does not come.
    pub(super) async fn discard(mut self, pool: &Pool, patience: Duration) {
        if !self.body.is_end_stream()
            && self.beginning(64 * 1024, patience).await.len() == 64 * 1024
        {
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
        drop((self.headers, self.body));
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
