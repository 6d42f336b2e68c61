//! Without `http`: nobody can have one of these.

use super::{Carrier, NotBuilt};
use crate::{Budget, Link, Outgoing, Receive, SendError, http::HttpTarget};
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use switchboard_wire::Revision;

/// A link over streamable HTTP, which this build cannot make.
#[derive(Clone, Copy, Debug)]
pub enum HttpLink {}

/// A link over HTTP+SSE, which this build cannot make.
pub(crate) type SseLink = HttpLink;

/// A link over WebSocket, which this build cannot make.
pub(crate) type WsLink = HttpLink;

/// A connection that could not be made, which this build does not try.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub enum DialError {}

/// A request that has to be driven, which no link of this build has.
#[derive(Debug)]
pub enum Driving {}

impl Driving {
    /// Nothing to do.
    pub fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        match *self {}
    }
}

impl HttpLink {
    pub(crate) fn begin(&self, _: Outgoing) -> Result<Option<Driving>, SendError> {
        match *self {}
    }

    pub(crate) fn send(&self, _: Outgoing) -> Result<(), SendError> {
        match *self {}
    }

    pub(crate) fn speak(&self, _: Revision) {
        match *self {}
    }

    pub(crate) fn abandon(&self, _: u64) {
        match *self {}
    }

    pub(crate) async fn close(&self) {
        match *self {}
    }

    /// Opens the stream for what the server says by itself.
    pub fn open_stream(&self) {
        match *self {}
    }
}

pub(super) fn open(
    _: Carrier,
    _: HttpTarget,
    _: Budget,
    _: Arc<dyn Receive>,
) -> Result<Link, NotBuilt> {
    Err(NotBuilt("http"))
}
