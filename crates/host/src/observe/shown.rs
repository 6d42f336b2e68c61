//! A call whose messages somebody sees: what each of them is shown under.

use super::{Edge, Observers, Passing};
use bytes::Bytes;
use std::{
    fmt, slice,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use switchboard_wire::{Message, Payload};

/// A number that no other call has.
pub(super) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// One call whose messages are shown. Whoever speaks with its client shows there what
/// crosses as it is on the wire; what crosses at its server is shown under its number.
pub struct Shown {
    observers: Arc<Observers>,
    number: u64,
    principal: Arc<str>,
    server: Option<Arc<str>>,
}

impl Shown {
    pub(crate) fn new(
        observers: &Arc<Observers>,
        principal: &Arc<str>,
        server: Option<&Arc<str>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            observers: observers.clone(),
            number: next_number(),
            principal: principal.clone(),
            server: server.cloned(),
        })
    }

    /// The call's number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its client has said this.
    pub fn from_client(&self, message: &Message) {
        self.show(Edge::FromClient, slice::from_ref(message.raw()));
    }

    /// Its client is told this.
    pub fn to_client(&self, payload: &Payload) {
        self.show(Edge::ToClient, payload.pieces());
    }

    fn show(&self, edge: Edge, pieces: &[Bytes]) {
        self.observers.show(&Passing {
            edge,
            call: Some(self.number),
            principal: Some(&self.principal),
            server: self.server.as_deref(),
            connection: None,
            during: None,
            pieces,
        });
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// Whether messages are shown, for one who does not always want to see them.
pub struct MessageSwitch {
    observers: Arc<Observers>,
    is_on: parking_lot::Mutex<bool>,
}

impl MessageSwitch {
    pub(crate) fn new(observers: Arc<Observers>) -> Self {
        Self {
            observers,
            is_on: parking_lot::Mutex::new(false),
        }
    }

    /// From now on messages are shown, or no longer. Calls that have begun before stay
    /// as they are.
    pub fn set(&self, on: bool) {
        let mut is_on = self.is_on.lock();
        if *is_on != on {
            *is_on = on;
            self.observers.add_taps(on);
        }
    }
}

impl Drop for MessageSwitch {
    fn drop(&mut self) {
        self.set(false);
    }
}

impl fmt::Debug for MessageSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageSwitch")
            .field("is_on", &*self.is_on.lock())
            .finish_non_exhaustive()
    }
}
