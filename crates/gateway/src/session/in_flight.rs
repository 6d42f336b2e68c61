//! The requests of one client that are not answered yet, by the client's own ids,
//! and how each is given up.

use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, hash_map::Entry},
    ops::Deref,
};
use switchboard_wire::{ErrorObject, Id, Message, Method, code};
use tokio::sync::oneshot;

/// All of them.
#[derive(Default)]
pub(crate) struct InFlight(Mutex<HashMap<Bytes, oneshot::Sender<Message>>>);

/// A request's place among them, which ends with it.
pub(crate) struct Place<F: Deref<Target = InFlight>> {
    all: F,
    id: Option<Id>,
}

/// What a client says that gives its request up, once it does.
pub(crate) struct GivenUp(Option<oneshot::Receiver<Message>>);

/// Why there is no place for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// The client has too many.
    Full,
    /// Two under one id cannot both be answered. The first goes on as if nothing
    /// had happened.
    InUse,
}

impl NoPlace {
    /// What the client is told.
    pub(crate) fn to_error(self) -> ErrorObject {
        let (code, text) = match self {
            Self::Full => (
                code::INTERNAL,
                "too many requests of this client are in flight",
            ),
            Self::InUse => (
                code::INVALID_REQUEST,
                "this id is in use by a request that is not answered yet",
            ),
        };
        ErrorObject::new(code, text)
    }
}

impl InFlight {
    /// Begins a request.
    pub(crate) fn enter<F>(all: F, id: &Id) -> Result<(Place<F>, GivenUp), NoPlace>
    where
        F: Deref<Target = Self>,
    {
        let (give_up, given_up) = oneshot::channel();
        {
            let mut requests = all.0.lock();
            if requests.len() >= limits::IN_FLIGHT {
                return Err(NoPlace::Full);
            }
            match requests.entry(id.token().clone()) {
                Entry::Occupied(_) => return Err(NoPlace::InUse),
                Entry::Vacant(place) => place.insert(give_up),
            };
        }
        let id = Some(id.clone());
        Ok((Place { all, id }, GivenUp(Some(given_up))))
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Gives up the request of this id; whether there was one to tell.
    pub(crate) fn give_up(&self, id: &[u8], notice: &Message) -> bool {
        let given_up = self.0.lock().remove(id);
        given_up.is_some_and(|given_up| given_up.send(notice.clone()).is_ok())
    }

    /// Gives up all: their client may not have the answers.
    pub(crate) fn give_up_all(&self) {
        let all: Vec<_> = self.0.lock().drain().collect();
        for (id, given_up) in all {
            let id = String::from_utf8_lossy(&id);
            let params = format!("{{\"requestId\":{id}}}");
            let _ = given_up.send(Message::notification(Method::Cancelled, &params));
        }
    }
}

impl<F: Deref<Target = InFlight>> Place<F> {
    /// Ends it, so that the client can use the id again; whether the request was
    /// still awaited.
    pub(crate) fn end(mut self) -> bool {
        self.leave()
    }

    fn leave(&mut self) -> bool {
        let id = self.id.take();
        id.is_some_and(|id| self.all.0.lock().remove(id.token()).is_some())
    }
}

impl<F: Deref<Target = InFlight>> Drop for Place<F> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl GivenUp {
    /// Waits for it. Does not end if it never comes, and may be asked again.
    pub(crate) async fn notice(&mut self) -> Message {
        if let Some(given_up) = &mut self.0 {
            let notice = given_up.await;
            self.0 = None;
            if let Ok(notice) = notice {
                return notice;
            }
        }
        std::future::pending().await
    }

    /// What comes of this, or what gave it up before. Work that is large is pinned where it
    /// is, since it would be moved twice here.
    pub(crate) async fn or<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Message> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            notice = self.notice() => Err(notice),
        }
    }
}

#[cfg(test)]
mod tests;
