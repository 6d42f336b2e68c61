//! An answer that is passed on before its end: nobody between server and client needs it
//! whole. What follows its call ends with it, and so does its place among calls in flight.

use super::{Exchange, Outcome};
use crate::{error::CallError, observe::Watched, upstream::PassedOn};
use bytes::Bytes;
use std::{fmt, sync::Arc, time::Duration};
use switchboard_transport::{self as transport, BrokenOff, InFlight, Share};
use switchboard_wire::{Edits, Id, Payload};
use tokio::time::{Instant, timeout};

/// An answer that has begun. Dropped before its end it was given up.
pub struct Begun {
    coming: transport::Begun,
    server: Arc<str>,
    /// Where what waits for its client is counted.
    share: Option<Share>,
    /// Those who watch its call, until they are told how it ended.
    watched: Option<Box<Watched>>,
    /// Its place among the calls of its principal.
    counted: Option<InFlight>,
    /// Its place among what is under way on its connection.
    passed_on: Option<PassedOn>,
    /// How long its server may still take, and might in all.
    left: Duration,
    allowed: Duration,
    /// Bytes of the answer so far.
    bytes: usize,
}

impl Begun {
    pub(crate) fn new(
        coming: transport::Begun,
        server: Arc<str>,
        share: Option<Share>,
        passed_on: PassedOn,
    ) -> Self {
        Self {
            bytes: coming.beginning.len(),
            coming,
            server,
            share,
            watched: None,
            counted: None,
            passed_on: Some(passed_on),
            left: Duration::MAX,
            allowed: Duration::MAX,
        }
    }

    /// Whose answer it is.
    pub fn server(&self) -> &Arc<str> {
        &self.server
    }

    /// What came of it so far, under the client's own id.
    pub fn beginning(&self, id: &Id) -> Payload {
        let mut edits = Edits::new();
        edits.replace(self.coming.id, id.token().clone());
        edits.apply(&self.coming.beginning)
    }

    /// How long all of it is under the client's own id, where that is known.
    pub fn length(&self, id: &Id) -> Option<u64> {
        let (ours, theirs) = (self.coming.id.len() as u64, id.token().len() as u64);
        Some(self.coming.length? - ours + theirs)
    }

    /// What comes next. After the end, or a fault, there is nothing.
    pub async fn next(&mut self) -> Option<Result<Bytes, CallError>> {
        let since = Instant::now();
        let came = timeout(self.left, self.coming.next()).await;
        self.left = self.left.saturating_sub(since.elapsed());
        let came = match came {
            Ok(None) => return None,
            Ok(Some(Ok(came))) => came,
            Ok(Some(Err(fault))) => return Some(Err(self.broke_off(&fault))),
            Err(_) => {
                let (server, allowed) = (self.server.to_string(), self.allowed);
                return Some(Err(self.failed(CallError::TimedOut { server, allowed })));
            }
        };
        self.bytes += came.bytes.len();
        if let Some(is_error) = came.ended {
            (self.counted, self.passed_on) = (None, None);
            let watched = self.watched.take();
            let told = watched.and_then(|watched| watched.passed_on(is_error, self.bytes));
            // Its last piece leaves once that is kept.
            if let Some(told) = told
                && let Err(fault) = told.await
            {
                return Some(Err(fault));
            }
        }
        Some(Ok(match &self.share {
            Some(share) => share.attribute(came.bytes),
            None => came.bytes,
        }))
    }

    /// All of it, under the client's own id, for whoever needs it whole after all.
    pub async fn whole(mut self, id: &Id) -> Result<Payload, CallError> {
        let mut whole = self.beginning(id);
        while let Some(came) = self.next().await {
            whole.push(came?);
        }
        Ok(whole)
    }

    fn broke_off(&mut self, fault: &BrokenOff) -> CallError {
        let (server, reason) = (self.server.to_string(), fault.to_string());
        tracing::warn!(server, reason, "an answer broke off while it was passed on");
        self.failed(CallError::Unreadable { server, reason })
    }

    /// Tells those who watch.
    fn failed(&mut self, fault: CallError) -> CallError {
        (self.counted, self.passed_on) = (None, None);
        if let Some(watched) = self.watched.take() {
            // The client has a part of it: there is nothing to hold back.
            drop(watched.broke_off(&fault, self.bytes));
        }
        fault
    }
}

impl Exchange {
    /// Hands over what ends with an answer that has begun.
    pub(super) fn hand_over(&mut self, outcome: &mut Outcome) {
        let Outcome::Begun(begun) = outcome else {
            return;
        };
        begun.watched = self.watched.take();
        begun.counted = self.counted.take();
        begun.allowed = self.allowed;
        begun.left = self.deadline.saturating_duration_since(Instant::now());
        self.leave_stage();
    }
}

impl fmt::Debug for Begun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begun")
            .field("server", &self.server)
            .field("coming", &self.coming)
            .finish_non_exhaustive()
    }
}
