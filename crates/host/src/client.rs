//! Who is asking: one client of ours, as the upstream side sees it.

use crate::exchange::{Input, Notice};
use bytes::Bytes;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use switchboard_wire::{Era, Revision, json};

/// Tells clients apart for as long as this process runs.
pub type ClientId = u64;

/// A client: a session, a connection, or (modern HTTP) a principal with its key.
pub struct Client {
    /// Ours, never reused.
    pub id: ClientId,
    /// On whose behalf it acts.
    pub principal: Arc<str>,
    /// The revision it speaks.
    pub revision: Revision,
    /// The text of the capabilities it declared.
    pub capabilities: Bytes,
    /// The text of its `initialize` parameters. Servers that serve this client alone are greeted with them.
    pub greeting: Option<Bytes>,
    /// Whether its servers are its own and shared with nobody (the stdio face).
    pub exclusive: bool,
    /// Whether it can hear of anything outside its requests.
    pub addressable: bool,
    sink: Arc<dyn ClientSink>,
}

/// Where things go that belong to no request of the client's.
pub trait ClientSink: Send + Sync {
    /// A notification from `server`. Must not block.
    fn notice(&self, server: &Arc<str>, notice: Notice);

    /// A question from a server outside any call. Must not block.
    fn ask(&self, input: Input);
}

/// For clients that can only be answered, not addressed.
#[derive(Debug)]
pub struct NoSink;

impl ClientSink for NoSink {
    fn notice(&self, _: &Arc<str>, _: Notice) {}

    fn ask(&self, input: Input) {
        input.refuse_unsupported();
    }
}

impl Client {
    /// A client that shares servers with others of its principal.
    pub fn new(
        principal: Arc<str>,
        revision: Revision,
        capabilities: Bytes,
        sink: Arc<dyn ClientSink>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id, principal, revision, capabilities, greeting: None, exclusive: false, addressable: true, sink }
    }

    /// The same client with servers of its own, greeted as it greeted us.
    pub fn exclusive(mut self, greeting: Option<Bytes>) -> Self {
        self.exclusive = true;
        self.greeting = greeting;
        self
    }

    /// The same client, known to hear only answers: no connection needs to remember it.
    pub fn unaddressable(mut self) -> Self {
        self.addressable = false;
        self
    }

    /// Legacy or modern.
    pub fn era(&self) -> Era {
        self.revision.era()
    }

    /// Whether it declared this capability.
    pub fn declares(&self, capability: &str) -> bool {
        json::members(&self.capabilities)
            .any(|member| json::text(member.key.of(&self.capabilities)).is_some_and(|key| key == capability))
    }

    /// Where to reach it outside its requests.
    pub fn sink(&self) -> &dyn ClientSink {
        self.sink.as_ref()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("id", &self.id)
            .field("principal", &self.principal)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}
