//! What one principal holds of the budget: bytes of its messages and of the
//! answers to them, and calls in flight.
//!
//! Where two or more principals are known, one has at most half. Who has filled
//! its half is held back, and nobody else: what it holds beyond that does not
//! count for all, so that it cannot fill what is everybody's. Who holds next to
//! nothing is let through even where all of it is full.

use super::{Shared, gives_way::Kept};
use crate::{
    full::{Full, Whose},
    limits,
};
use bytes::Bytes;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use tokio::{sync::Notify, time::timeout};

const BYTES: &str = "bytes of messages";
const CALLS: &str = "calls in flight";

/// One principal's part. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Share(pub(super) Arc<Own>);

#[derive(Debug)]
pub(super) struct Own {
    pub(super) budget: Arc<Shared>,
    bytes: AtomicUsize,
    calls: AtomicUsize,
    /// Whether a message that had begun goes on although there is no room.
    overdrawn: AtomicBool,
    /// Bytes of small messages that wait in queues.
    pub(super) waiting: AtomicUsize,
    /// What is kept and can be done without.
    pub(super) kept: Kept,
    freed: Notify,
}

impl Own {
    pub(super) fn new(budget: Arc<Shared>) -> Self {
        Self {
            budget,
            bytes: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            overdrawn: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            kept: Kept::default(),
            freed: Notify::new(),
        }
    }

    pub(super) fn part(&self, whole: usize) -> usize {
        if self.budget.several.load(Ordering::Relaxed) {
            whole / 2
        } else {
            whole
        }
    }
}

impl Share {
    /// Bytes that the principal holds.
    pub fn used(&self) -> usize {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Whether it may have more than it has. Where it may not, what is kept gives
    /// way first.
    pub fn has_room(&self) -> bool {
        self.has_room_now() || self.make_room()
    }

    pub(super) fn has_room_now(&self) -> bool {
        let used = self.used();
        used < limits::FREE_BYTES.min(self.0.part(self.0.budget.cap))
            || (used < self.0.part(self.0.budget.cap) && !self.0.budget.is_full())
    }

    /// Waits until there is room, for as long as anybody waits for that.
    pub async fn room(&self) -> Result<(), Full> {
        if self.has_room() {
            return Ok(());
        }
        let waiting = async {
            while !self.has_room() {
                self.freed().await;
            }
        };
        let found = timeout(limits::ROOM_WAIT, waiting).await;
        self.wake_next();
        found.map_err(|_| self.full())
    }

    /// Counts a call for as long as it is in flight.
    pub fn begin_call(&self) -> Result<InFlight, Full> {
        let (own, all) = (&self.0.calls, &self.0.budget.calls);
        let limit = self.0.part(limits::CALLS);
        // Taken first, so that two at once cannot both have the last place.
        let taken = InFlight(self.clone());
        let own = own.fetch_add(1, Ordering::Relaxed);
        let all = all.fetch_add(1, Ordering::Relaxed);
        let (limit, whose) = match () {
            () if own >= limit => (limit, Whose::Principal),
            () if all >= limits::CALLS && own >= limits::FREE_CALLS => (limits::CALLS, Whose::All),
            () => return Ok(taken),
        };
        let what = CALLS;
        Err(Full { what, limit, whose })
    }

    /// A message that arrives: nothing of it is counted yet.
    pub fn charge(&self) -> Charge {
        Charge {
            share: self.clone(),
            bytes: 0,
            of_all: 0,
            overdrawn: false,
        }
    }

    /// Counts bytes of an answer of our own.
    pub fn keep(&self, bytes: Bytes) -> Bytes {
        if bytes.len() < limits::COUNTED_BYTES {
            return bytes;
        }
        let mut charge = self.charge();
        charge.count(bytes.len());
        Bytes::from_owner(Held { bytes, charge })
    }

    /// Counts bytes of an answer, which count for all already, for whom they are.
    pub fn attribute(&self, bytes: Bytes) -> Bytes {
        if bytes.len() < limits::COUNTED_BYTES {
            return bytes;
        }
        let mut charge = self.charge();
        let beyond = self.add(bytes.len());
        // Who is alone holds up nobody else: all of it counts, so that servers are
        // read no faster than their answers are.
        let several = self.0.budget.several.load(Ordering::Relaxed);
        let beyond = if several { beyond } else { 0 };
        charge.bytes = bytes.len();
        charge.of_all = -(beyond as isize);
        self.0.budget.release(beyond as isize);
        Bytes::from_owner(Held { bytes, charge })
    }

    /// Why there is no room.
    pub fn full(&self) -> Full {
        let part = self.0.part(self.0.budget.cap);
        let (limit, whose) = if self.used() >= part {
            (part, Whose::Principal)
        } else {
            (self.0.budget.cap, Whose::All)
        };
        let what = BYTES;
        Full { what, limit, whose }
    }

    /// Why an answer cannot be kept for it, if that is so. Who is alone keeps
    /// nobody out, and loses no answer.
    pub fn overfull(&self) -> Option<Full> {
        let limit = limits::ANSWER_BYTES;
        let several = self.0.budget.several.load(Ordering::Relaxed);
        (several && self.used() >= limit).then_some(Full {
            what: "bytes of answers that are not read",
            limit,
            whose: Whose::Principal,
        })
    }

    /// Waits until something may have changed.
    pub(crate) async fn freed(&self) {
        let own_is_full = self.used() >= self.0.part(self.0.budget.cap);
        let freed = if own_is_full {
            &self.0.freed
        } else {
            &self.0.budget.freed
        };
        let _ = timeout(limits::ROOM_LOOK, freed.notified()).await;
    }

    /// Who found room, or gave up, wakes the next.
    fn wake_next(&self) {
        if self.used() < self.0.part(self.0.budget.cap) {
            self.0.freed.notify_one();
        }
        self.0.budget.wake_next();
    }

    /// Counts bytes; how many of them are beyond the principal's part.
    fn add(&self, bytes: usize) -> usize {
        let before = self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        let part = self.0.part(self.0.budget.cap);
        (before + bytes).saturating_sub(before.max(part))
    }
}

/// A call that is counted until this is dropped.
#[derive(Debug)]
pub struct InFlight(Share);

impl Drop for InFlight {
    fn drop(&mut self) {
        let own = &self.0.0;
        own.calls.fetch_sub(1, Ordering::Relaxed);
        own.budget.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The bytes of one message, counted as they arrive and until this is dropped.
#[derive(Debug)]
pub struct Charge {
    share: Share,
    bytes: usize,
    /// Those among them that count for all.
    of_all: isize,
    /// Whether it goes on although there is no room.
    overdrawn: bool,
}

impl Charge {
    /// Counts so many bytes in all, as soon as there is room for them.
    pub async fn grow_to(&mut self, bytes: usize) -> Result<(), Full> {
        if self.try_grow_to(bytes) {
            return Ok(());
        }
        let share = self.share.clone();
        let waiting = async {
            while !self.try_grow_to(bytes) {
                share.freed().await;
            }
        };
        let found = timeout(limits::ROOM_WAIT, waiting).await;
        share.wake_next();
        found.map_err(|_| share.full())
    }

    /// The same where there is room now. Of one principal's messages that have
    /// begun to arrive one goes on without: else two large ones could wait for
    /// each other, and one larger than the principal's part for itself.
    pub(crate) fn try_grow_to(&mut self, bytes: usize) -> bool {
        if bytes <= self.bytes {
            return true;
        }
        if !self.overdrawn && !self.share.has_room() {
            let overdrawn = &self.share.0.overdrawn;
            self.overdrawn = self.bytes > 0 && !overdrawn.swap(true, Ordering::Relaxed);
            if !self.overdrawn {
                return false;
            }
        }
        self.count(bytes);
        true
    }

    pub(super) fn count(&mut self, bytes: usize) {
        let more = bytes.saturating_sub(self.bytes);
        let beyond = self.share.add(more);
        let of_all = (more - beyond) as isize;
        self.share.0.budget.add(of_all);
        self.of_all += of_all;
        self.bytes += more;
    }

    /// Whose it is.
    pub(crate) fn share(&self) -> &Share {
        &self.share
    }

    /// The whole message, counted for as long as any of it is referenced.
    pub fn hold(mut self, buffer: Vec<u8>) -> Bytes {
        self.count(buffer.capacity());
        Bytes::from_owner(Held {
            bytes: buffer,
            charge: self,
        })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let own = &self.share.0;
        own.budget.release(self.of_all);
        let before = own.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        if self.overdrawn {
            own.overdrawn.store(false, Ordering::Relaxed);
        }
        if self.overdrawn || before >= own.part(own.budget.cap) {
            own.freed.notify_one();
        }
    }
}

struct Held<T> {
    bytes: T,
    /// Ends with the bytes.
    #[expect(dead_code, reason = "it is held, not read")]
    charge: Charge,
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for Held<T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Budget;
    use super::*;

    const MIB: usize = 1 << 20;

    fn two() -> (Budget, Share, Share) {
        let budget = Budget::new(32 * MIB);
        let alice = budget.share_of(&"alice".into(), false);
        let bob = budget.share_of(&"bob".into(), false);
        (budget, alice, bob)
    }

    fn message(share: &Share, bytes: usize) -> Option<Charge> {
        let mut charge = share.charge();
        (charge.try_grow_to(limits::COUNTED_BYTES) && charge.try_grow_to(bytes)).then_some(charge)
    }

    #[tokio::test]
    async fn who_has_filled_its_part_is_held_back_and_nobody_else() {
        let (budget, alice, bob) = two();
        let held: Vec<Charge> = (0..100).map_while(|_| message(&alice, 8 * MIB)).collect();
        assert_eq!(held.len(), 2);
        assert!(!alice.has_room() && bob.has_room());
        let full = alice.room().await.unwrap_err();
        assert!(full.to_string().contains("yours are 16777216"), "{full}");
        let theirs = message(&bob, 4 * MIB).expect("bob has room");
        assert_eq!(budget.used(), 20 * MIB);
        drop((held, theirs));
        assert!(alice.room().await.is_ok());
        assert_eq!((budget.used(), alice.used()), (0, 0));
    }

    /// One that is larger than all that its principal may have still gets through,
    /// and does not count for the others.
    #[tokio::test]
    async fn one_message_at_a_time_goes_on_without_room() {
        let (budget, alice, bob) = two();
        let large = message(&alice, 30 * MIB).expect("the first step has room");
        assert!(message(&alice, 30 * MIB).is_none());
        let (mut one, mut two) = (bob.charge(), bob.charge());
        for at in 1..=10 {
            assert!(one.try_grow_to(at * MIB) && two.try_grow_to(at * MIB) || at > 8);
        }
        // One of the two goes on, and the other after it.
        assert!(one.try_grow_to(20 * MIB) ^ two.try_grow_to(20 * MIB));
        drop(one);
        assert!(two.grow_to(20 * MIB).await.is_ok());
        drop((large, two));
        assert_eq!((budget.used(), alice.used(), bob.used()), (0, 0, 0));
    }

    #[tokio::test]
    async fn answers_that_nobody_reads_fill_no_more_than_one_part() {
        let (budget, alice, bob) = two();
        let answer = || alice.attribute(budget.hold(vec![b'a'; 4 * MIB]));
        let unread: Vec<Bytes> = (0..20).map(|_| answer()).collect();
        assert_eq!(alice.used(), 80 * MIB);
        assert_eq!(budget.used(), 16 * MIB);
        assert!(!alice.has_room() && bob.has_room());
        assert!(alice.overfull().is_none());
        let more: Vec<Bytes> = (0..20).map(|_| answer()).collect();
        assert!(alice.overfull().is_some());
        drop((unread, more));
        assert_eq!((budget.used(), alice.used()), (0, 0));
    }

    #[test]
    fn calls_in_flight_are_counted_for_all_and_for_one() {
        let (_, alice, bob) = two();
        let calls: Vec<InFlight> = (0..limits::CALLS / 2)
            .map(|_| alice.begin_call().unwrap())
            .collect();
        let full = alice.begin_call().unwrap_err();
        assert!(
            full.to_string()
                .starts_with("too many calls in flight: yours are")
        );
        assert!(bob.begin_call().is_ok());
        drop(calls);
        assert!(alice.begin_call().is_ok());
    }

    /// All wait for the bytes of one; each gets its turn.
    #[tokio::test]
    async fn all_who_wait_get_their_turn() {
        let budget = Budget::new(10);
        let alice = budget.share_of(&"alice".into(), false);
        let mut first = alice.charge();
        assert!(first.try_grow_to(10));
        let mut waiting = tokio::task::JoinSet::new();
        for n in 0..100 {
            let alice = alice.clone();
            waiting.spawn(async move {
                if n % 3 == 0 {
                    alice.room().await.unwrap();
                } else {
                    let mut charge = alice.charge();
                    charge.grow_to(10).await.unwrap();
                    tokio::task::yield_now().await;
                }
            });
        }
        tokio::task::yield_now().await;
        drop(first);
        waiting.join_all().await;
        assert_eq!((budget.used(), alice.used()), (0, 0));
    }
}
