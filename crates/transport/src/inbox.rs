//! Handing over what arrives on a link that carries everything on one channel.

use crate::link::{Inbound, Receive};
use bytes::Bytes;
use std::sync::atomic::{AtomicBool, Ordering};
use switchboard_wire::{ParseError, Received, Revision, salvage_id};

/// Whether the revision that was agreed on has batches.
#[derive(Debug, Default)]
pub(crate) struct Batches(AtomicBool);

impl Batches {
    pub(crate) fn speak(&self, revision: Revision) {
        self.0.store(revision.has_batches(), Ordering::Relaxed);
    }

    pub(crate) fn are_spoken(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reads a message, or a batch where there are such, and hands it over.
pub(crate) fn deliver(receive: &dyn Receive, batches: &Batches, bytes: Bytes) {
    deliver_during(receive, batches, bytes, None);
}

/// The same where it is known which request it belongs to.
pub(crate) fn deliver_during(
    receive: &dyn Receive,
    batches: &Batches,
    bytes: Bytes,
    during: Option<u64>,
) {
    match Received::parse(bytes.clone()) {
        Ok(Received::One(message)) => receive.message(Inbound { message, during }),
        Ok(Received::Batch(batch)) if batches.are_spoken() => {
            for item in batch {
                match item {
                    Ok(message) => receive.message(Inbound { message, during }),
                    Err(fault) => receive.unreadable(fault, None),
                }
            }
        }
        Ok(Received::Batch(_)) => {
            let what = "a batch, which this protocol revision does not have".into();
            receive.unreadable(ParseError::Invalid { what, id: None }, None);
        }
        Err(fault) => receive.unreadable(fault, salvage_id(&bytes)),
    }
}
