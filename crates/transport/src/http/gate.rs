//! Order where it matters: each message is a POST of its own, so a request can
//! overtake the `notifications/initialized` that was sent before it, and servers
//! that want that first refuse the request. Requests wait for it here.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use switchboard_wire::{Message, Method, Payload};
use tokio::{sync::Notify, time::timeout};

/// How long requests wait at most.
const LIMIT: Duration = Duration::from_secs(5);

/// Open, but for the moment that `notifications/initialized` takes.
#[derive(Clone, Default)]
pub(super) struct Gate(Arc<State>);

#[derive(Default)]
struct State {
    shut: AtomicBool,
    opened: Notify,
}

/// Keeps the gate shut until it is dropped.
pub(super) struct Shut(Gate);

impl Gate {
    pub(super) fn shut(&self) -> Shut {
        self.0.shut.store(true, Ordering::Release);
        Shut(self.clone())
    }

    pub(super) async fn pass(&self) {
        if !self.0.shut.load(Ordering::Acquire) {
            return;
        }
        let _ = timeout(LIMIT, async {
            loop {
                let opened = self.0.opened.notified();
                if !self.0.shut.load(Ordering::Acquire) {
                    return;
                }
                opened.await;
            }
        })
        .await;
    }
}

impl Drop for Shut {
    fn drop(&mut self) {
        self.0.0.shut.store(false, Ordering::Release);
        self.0.0.opened.notify_waiters();
    }
}

/// Whether this is the notification that requests wait for.
pub(super) fn is_initialized(payload: &Payload) -> bool {
    // It is short; anything long need not be copied to know that it is not.
    payload.len() < 1024
        && Message::parse(payload.clone().into_bytes())
            .is_ok_and(|message| message.method() == Method::Initialized)
}
