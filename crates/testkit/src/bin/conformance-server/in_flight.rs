//! The requests being worked on, so that a cancellation finds them.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::Value;
use tokio::task::AbortHandle;

use crate::lock;

/// More than this at once is refused.
const MAX_REQUESTS: usize = 512;

/// Requests of one client connection or session, by id.
#[derive(Default)]
pub(crate) struct InFlight {
    requests: Mutex<HashMap<String, Option<AbortHandle>>>,
}

impl InFlight {
    /// Takes a place for request `id`; false if it is taken or all are.
    pub(crate) fn reserve(&self, id: &Value) -> bool {
        let mut requests = lock(&self.requests);
        if requests.len() >= MAX_REQUESTS || requests.contains_key(&id.to_string()) {
            return false;
        }
        requests.insert(id.to_string(), None);
        true
    }

    /// Says how to abort a request whose place was reserved. One that is
    /// already done has given its place back and is left alone.
    pub(crate) fn set_handle(&self, id: &Value, handle: AbortHandle) {
        if let Some(place) = lock(&self.requests).get_mut(&id.to_string()) {
            *place = Some(handle);
        }
    }

    pub(crate) fn release(&self, id: &Value) {
        lock(&self.requests).remove(&id.to_string());
    }

    /// Aborts the request if it is still being worked on.
    pub(crate) fn cancel(&self, id: &Value) -> bool {
        match lock(&self.requests).remove(&id.to_string()) {
            Some(Some(handle)) => {
                handle.abort();
                true
            }
            _ => false,
        }
    }

    pub(crate) fn cancel_all(&self) {
        for handle in lock(&self.requests)
            .drain()
            .filter_map(|(_, handle)| handle)
        {
            handle.abort();
        }
    }
}
