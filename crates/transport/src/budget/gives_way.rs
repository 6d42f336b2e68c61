//! What is kept for somebody who may come back, and gives way before anybody
//! waits for room or is refused.

use super::{
    Shared,
    share::{Own, Share},
};
use crate::limits;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    time::Instant,
};

/// Something that holds messages which it could do without.
pub trait GivesWay: Send + Sync {
    /// Lets go of what goes in this pass. Whether there may ever be more.
    fn give_way(&self, pass: Pass) -> bool;
}

/// What gives way, one after the other, until there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// What has ended and was handed to its reader as a whole.
    Read,
    /// What was handed to its reader and is followed by more.
    Sent,
    /// What nobody reads.
    Left,
    /// What a reader who is behind can do without.
    Behind,
}

const PASSES: [Pass; 4] = [Pass::Read, Pass::Sent, Pass::Left, Pass::Behind];

/// A principal's things of that kind, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    things: VecDeque<Weak<dyn GivesWay>>,
    /// From this many on those that are gone are taken out.
    crowd: usize,
    /// When it was looked in vain.
    vain: Option<Instant>,
}

impl Kept {
    fn add(&self, thing: Weak<dyn GivesWay>) {
        let mut state = self.0.lock();
        if state.things.len() >= state.crowd {
            state.things.retain(|thing| thing.strong_count() > 0);
            state.crowd = 64.max(2 * state.things.len());
        }
        state.things.push_back(thing);
    }

    /// Lets things go until it is enough; whether it is.
    fn give_way(&self, enough: &dyn Fn() -> bool) -> bool {
        let is_recent = |at: Instant| at.elapsed() < limits::GIVE_WAY_PAUSE;
        if self.0.lock().vain.is_some_and(is_recent) {
            return enough();
        }
        for pass in PASSES {
            let many = self.0.lock().things.len();
            for _ in 0..many {
                if enough() {
                    return true;
                }
                let Some(next) = self.0.lock().things.pop_front() else {
                    break;
                };
                // Outside of the lock: with it may go whatever it belongs to.
                if next.upgrade().is_some_and(|thing| thing.give_way(pass)) {
                    self.0.lock().things.push_back(next);
                }
            }
        }
        let is_enough = enough();
        self.0.lock().vain = (!is_enough).then(Instant::now);
        is_enough
    }
}

impl Share {
    /// From now on this gives way when there is no room, after what came before it.
    pub fn keeps(&self, thing: Weak<dyn GivesWay>) {
        self.0.kept.add(thing);
    }

    /// Something can give way that could not before: at once, if somebody may wait for it.
    pub fn can_give_way(&self) {
        if !self.has_room_now() || self.0.budget.is_full() {
            self.0.kept.0.lock().vain = None;
            let enough = || self.has_room_now() && !self.0.budget.is_full();
            self.0.kept.give_way(&enough);
        }
    }

    /// What is kept gives way: the principal's own, and everybody's where all is full.
    pub(super) fn make_room(&self) -> bool {
        let enough = || self.has_room_now();
        self.0.kept.give_way(&enough)
            || (self.0.budget.is_full() && self.0.budget.make_room(&enough))
    }
}

impl Shared {
    /// What is kept for anybody gives way until it is enough; whether it is.
    pub(super) fn make_room(&self, enough: &dyn Fn() -> bool) -> bool {
        let owners = self.owners.lock();
        let owners: Vec<Arc<Own>> = owners.values().filter_map(Weak::upgrade).collect();
        owners.iter().any(|own| own.kept.give_way(enough)) || enough()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Budget;
    use bytes::Bytes;

    const MIB: usize = 1 << 20;

    /// Holds something until it gives way.
    struct Thing(Mutex<Option<Bytes>>, Pass);

    impl GivesWay for Thing {
        fn give_way(&self, pass: Pass) -> bool {
            if pass == self.1 {
                self.0.lock().take();
            }
            self.0.lock().is_some()
        }
    }

    fn keep(share: &Share, pass: Pass) -> Arc<Thing> {
        let bytes = share.keep(vec![b'a'; 4 * MIB].into());
        let thing = Arc::new(Thing(Mutex::new(Some(bytes)), pass));
        share.keeps(Arc::<Thing>::downgrade(&thing));
        thing
    }

    fn held(things: &[Arc<Thing>]) -> Vec<bool> {
        let held = things.iter().map(|thing| thing.0.lock().is_some());
        held.collect()
    }

    #[tokio::test]
    async fn what_is_kept_gives_way_in_its_order_before_anybody_waits() {
        let budget = Budget::new(32 * MIB);
        let alice = budget.share_of(&"alice".into(), true);
        let kinds = [Pass::Left, Pass::Read, Pass::Sent, Pass::Read];
        let things = kinds.map(|pass| keep(&alice, pass));
        assert!(alice.has_room());
        assert_eq!(held(&things), [true, false, true, true]);
        let more = alice.keep(vec![b'a'; 12 * MIB].into());
        assert!(alice.has_room());
        assert_eq!(held(&things), [false; 4]);
        drop(more);
        assert_eq!((budget.used(), alice.used()), (0, 0));
    }

    /// Where all is full, everybody's gives way; so it does for what servers send.
    #[tokio::test]
    async fn where_all_is_full_everybodys_gives_way() {
        let budget = Budget::new(8 * MIB);
        let alice = budget.share_of(&"alice".into(), false);
        let bob = budget.share_of(&"bob".into(), false);
        let things = [keep(&alice, Pass::Read), keep(&bob, Pass::Read)];
        let reserved = budget.reserve(5 * MIB).await;
        assert_eq!(held(&things).iter().filter(|held| **held).count(), 1);
        drop(reserved);
    }
}
