//! Order where it matters: each message is a POST of its own, so a request can
//! overtake the `notifications/initialized` that was sent before it, and servers
//! that want that first refuse the request. It can also overtake the GET of the
//! server's stream, and what the server says there during the request is then
//! lost. Requests wait for both here.

use crate::limits;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use switchboard_wire::{Message, Method, Payload};
use tokio::{sync::Notify, time::timeout};

/// Open, but for the moment that `notifications/initialized` and the server's stream take.
#[derive(Clone, Default)]
pub(super) struct Gate(Arc<State>);

#[derive(Default)]
struct State {
    holders: AtomicUsize,
    changed: Notify,
}

/// Keeps the gate shut until it is dropped.
pub(super) struct Shut(Gate);

impl Gate {
    pub(super) fn shut(&self) -> Shut {
        self.0.holders.fetch_add(1, Ordering::AcqRel);
        Shut(self.clone())
    }

    pub(super) async fn pass(&self) {
        self.wait(0).await;
    }

    /// Waits until at most this many keep it shut.
    async fn wait(&self, holders: usize) {
        let few = || self.0.holders.load(Ordering::Acquire) <= holders;
        if few() {
            return;
        }
        let _ = timeout(limits::GATE, async {
            loop {
                let changed = self.0.changed.notified();
                if few() {
                    return;
                }
                changed.await;
            }
        })
        .await;
    }
}

impl Shut {
    /// Waits until nobody else keeps it shut.
    pub(super) async fn alone(&self) {
        self.0.wait(1).await;
    }
}

impl Drop for Shut {
    fn drop(&mut self) {
        self.0.0.holders.fetch_sub(1, Ordering::AcqRel);
        self.0.0.changed.notify_waiters();
    }
}

/// Whether this is the notification that requests wait for.
pub(super) fn is_initialized(payload: &Payload) -> bool {
    // It is short; anything long need not be copied to know that it is not.
    payload.len() < 1024
        && Message::parse(payload.clone().into_bytes())
            .is_ok_and(|message| message.method() == Method::Initialized)
}
