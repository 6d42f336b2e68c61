//! Small messages in queues. One that passes straight through is not worth a
//! count; a queue that is behind can hold thousands of them.

use super::share::{Charge, Own, Share};
use crate::{
    full::{Full, Whose},
    limits,
};
use bytes::Bytes;
use std::sync::{Arc, atomic::Ordering};
use switchboard_wire::Payload;

impl Share {
    /// Counts a message for as long as it waits in a queue that is behind. Large
    /// ones are counted already.
    pub fn queue(&self, payload: Payload) -> Payload {
        if payload.len() >= limits::COUNTED_BYTES {
            return payload;
        }
        Payload::from(self.queue_bytes(payload.into_bytes()))
    }

    /// The same with the bytes of a message.
    pub fn queue_bytes(&self, bytes: Bytes) -> Bytes {
        if bytes.len() >= limits::COUNTED_BYTES {
            return bytes;
        }
        let cost = bytes.len() + limits::QUEUED_MESSAGE;
        let mut charge = self.charge();
        charge.count(cost);
        let own = self.0.clone();
        own.waiting.fetch_add(cost, Ordering::Relaxed);
        own.budget.waiting.fetch_add(cost, Ordering::Relaxed);
        Bytes::from_owner(Queued {
            // A copy: it may be a small part of what was read at once, which
            // would be held as a whole.
            bytes: bytes.as_ref().into(),
            cost,
            own,
            charge,
        })
    }

    /// Why a queue that is behind may have no more, if that is so.
    pub fn overcrowded(&self) -> Option<Full> {
        let own = self.0.waiting.load(Ordering::Relaxed);
        let all = self.0.budget.waiting.load(Ordering::Relaxed);
        let part = self.0.part(limits::WAITING_BYTES);
        let (limit, whose) = match () {
            () if own >= part => (part, Whose::Principal),
            () if all >= limits::WAITING_BYTES && own >= limits::FREE_BYTES => {
                (limits::WAITING_BYTES, Whose::All)
            }
            () => return None,
        };
        let what = "bytes of messages that are not read";
        Some(Full { what, limit, whose })
    }
}

struct Queued {
    bytes: Box<[u8]>,
    cost: usize,
    own: Arc<Own>,
    /// Ends with the bytes.
    #[expect(dead_code, reason = "it is held, not read")]
    charge: Charge,
}

impl AsRef<[u8]> for Queued {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.own.waiting.fetch_sub(self.cost, Ordering::Relaxed);
        let all = &self.own.budget.waiting;
        all.fetch_sub(self.cost, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Budget;

    #[test]
    fn small_messages_that_wait_count_whatever_their_size_and_have_a_limit() {
        let budget = Budget::default();
        let alice = budget.share_of(&"alice".into(), true);
        let message = || alice.queue(Payload::from("x".repeat(1000)));
        let mut queue = Vec::new();
        while alice.has_room() {
            queue.push(message());
        }
        assert!((13_000..14_000).contains(&queue.len()), "{}", queue.len());
        assert!(alice.overcrowded().is_none());
        while alice.overcrowded().is_none() {
            queue.push(message());
        }
        let full = alice.overcrowded().unwrap().to_string();
        assert!(full.contains("yours are 33554432"), "{full}");
        // Another who holds next to nothing is not meant.
        let bob = budget.share_of(&"bob".into(), true);
        assert!(bob.overcrowded().is_none() && bob.has_room());
        drop(queue);
        assert!(alice.has_room() && alice.overcrowded().is_none());
        assert_eq!((budget.used(), alice.used()), (0, 0));
    }
}
