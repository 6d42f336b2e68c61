//! A response that is read event by event.

use std::time::Duration;

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use serde_json::Value;

use crate::Reply;
use crate::sse::{Decoder, Event};

/// A response whose body is read event by event; dropping it disconnects.
#[derive(Debug)]
pub struct EventStream {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    decoder: Decoder,
    deadline: Duration,
    _connection: SendRequest<Full<Bytes>>,
}

impl EventStream {
    /// What follows the head of a response, on a connection of its own.
    pub(crate) fn new(
        head: Parts,
        body: Incoming,
        connection: SendRequest<Full<Bytes>>,
        deadline: Duration,
    ) -> Self {
        Self {
            status: head.status,
            headers: head.headers,
            body,
            decoder: Decoder::default(),
            deadline,
            _connection: connection,
        }
    }

    /// The next event or comment; `None` when the stream ends.
    ///
    /// # Panics
    /// At the deadline.
    pub async fn next(&mut self) -> Option<Event> {
        let limit = self.deadline;
        match tokio::time::timeout(limit, self.read()).await {
            Ok(event) => event,
            Err(_) => panic!("no event within {limit:?}"),
        }
    }

    /// The next event, or `None` when none comes in time or the stream ends.
    pub async fn next_within(&mut self, limit: Duration) -> Option<Event> {
        tokio::time::timeout(limit, self.read())
            .await
            .ok()
            .flatten()
    }

    /// The next event with data, as JSON; `None` when the stream ends.
    ///
    /// # Panics
    /// At the deadline, and when the data is not JSON.
    pub async fn message(&mut self) -> Option<Value> {
        loop {
            let event = self.next().await?;
            if event.data.as_ref().is_some_and(|data| !data.is_empty()) {
                return Some(event.json());
            }
        }
    }

    /// Whether the body is an event stream at all.
    pub fn is_events(&self) -> bool {
        let kind = self.headers.get("content-type");
        kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
    }

    /// The whole body of an answer that is no event stream.
    ///
    /// # Panics
    /// At the deadline and when the connection fails.
    pub async fn body(self) -> Bytes {
        match tokio::time::timeout(self.deadline, self.body.collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) => panic!("the body broke off: {error}"),
            Err(_) => panic!("no whole body within {:?}", self.deadline),
        }
    }

    /// The whole response, where it is no event stream.
    ///
    /// # Errors
    /// What the connection suffered from.
    pub async fn whole(self) -> anyhow::Result<Reply> {
        let body = tokio::time::timeout(self.deadline, self.body.collect()).await??;
        Ok(Reply {
            status: self.status,
            headers: self.headers,
            body: body.to_bytes(),
        })
    }

    async fn read(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.decoder.next_event() {
                return Some(event);
            }
            let frame = self.body.frame().await?.ok()?;
            if let Some(data) = frame.data_ref() {
                self.decoder.push(data);
            }
        }
    }
}
