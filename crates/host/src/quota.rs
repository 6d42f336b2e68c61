//! Caps that exist twice: for all, and for one principal. Where two or more
//! principals are known, one of them has at most half, so that none can keep the
//! others out. Of places ([`Quota`]) it is half of what the others leave: two that
//! took a half each would leave nothing to a third.

pub use switchboard_transport::Full;
pub(crate) use switchboard_transport::Whose;

use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc};

/// How much of something is held.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    /// By everybody.
    pub all: usize,
    /// By the one who asks for more.
    pub own: usize,
    /// Whether others than the one who asks are known.
    pub several: bool,
}

impl Held {
    /// Counts what is held by these, for whom this principal asks.
    pub(crate) fn count<'a, T: HeldBy + 'a>(
        &mut self,
        held: impl Iterator<Item = &'a T>,
        principal: &str,
    ) {
        for one in held {
            self.all += 1;
            if one.held_by() == principal {
                self.own += 1;
            } else {
                self.several = true;
            }
        }
    }

    /// Why there is no room for one more, if that is so.
    pub(crate) fn full(&self, what: &'static str, most: usize) -> Option<Full> {
        let half = if self.several { most / 2 } else { most };
        self.full_beyond(what, most, half)
    }

    /// The same where one has at most half of what the others leave; of the last one all.
    fn full_of_what_is_left(&self, what: &'static str, most: usize) -> Option<Full> {
        let left = most.saturating_sub(self.all - self.own);
        let half = if self.several { left.div_ceil(2) } else { most };
        self.full_beyond(what, most, half)
    }

    fn full_beyond(&self, what: &'static str, most: usize, half: usize) -> Option<Full> {
        let whose = if self.all >= most {
            Whose::All
        } else if self.own >= half {
            Whose::Principal
        } else {
            return None;
        };
        let limit = if whose == Whose::All { most } else { half };
        Some(Full { what, limit, whose })
    }
}

/// Something that somebody holds.
pub(crate) trait HeldBy {
    /// Who.
    fn held_by(&self) -> &str;
}

/// Places of one kind, each taken by a principal until it is dropped.
#[derive(Debug)]
pub struct Quota {
    what: &'static str,
    most: usize,
    /// How many of them are kept for those who come first.
    reserve: usize,
    taken: Mutex<HashMap<Arc<str>, usize>>,
}

/// A place; free again when it is dropped.
#[derive(Debug)]
pub struct Place {
    quota: Arc<Quota>,
    principal: Arc<str>,
}

impl Quota {
    /// So many of these in all.
    pub fn new(what: &'static str, most: usize) -> Arc<Self> {
        Self::with_reserve(what, most, 0)
    }

    /// The same, of which so many are kept for those who come first: see
    /// [`take_first`](Self::take_first).
    pub fn with_reserve(what: &'static str, most: usize, reserve: usize) -> Arc<Self> {
        Arc::new(Self {
            what,
            most,
            reserve: reserve.min(most),
            taken: Mutex::default(),
        })
    }

    /// Takes a place. `several` says whether more than one principal is known.
    pub fn take(self: &Arc<Self>, principal: &Arc<str>, several: bool) -> Result<Place, Full> {
        self.take_of(principal, several, self.most - self.reserve)
    }

    /// Takes one for somebody who comes before others: also of those that are kept.
    pub fn take_first(
        self: &Arc<Self>,
        principal: &Arc<str>,
        several: bool,
    ) -> Result<Place, Full> {
        self.take_of(principal, several, self.most)
    }

    fn take_of(
        self: &Arc<Self>,
        principal: &Arc<str>,
        several: bool,
        most: usize,
    ) -> Result<Place, Full> {
        let mut taken = self.taken.lock();
        let held = Held {
            all: taken.values().sum(),
            own: taken.get(principal).copied().unwrap_or_default(),
            several: several || taken.keys().any(|other| other != principal),
        };
        if let Some(full) = held.full_of_what_is_left(self.what, most) {
            return Err(full);
        }
        *taken.entry(principal.clone()).or_default() += 1;
        Ok(Place {
            quota: self.clone(),
            principal: principal.clone(),
        })
    }
}

impl Place {
    /// Whose it is.
    pub fn principal(&self) -> &str {
        &self.principal
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.quota.taken.lock();
        if let Some(count) = taken.get_mut(&self.principal) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(name: &str) -> Arc<str> {
        name.into()
    }

    #[test]
    fn one_alone_may_have_all() {
        let quota = Quota::new("things", 4);
        let taken: Vec<Place> = (0..4)
            .map(|_| quota.take(&who("a"), false).unwrap())
            .collect();
        let full = quota.take(&who("a"), false).unwrap_err();
        assert_eq!((full.whose, full.limit), (Whose::All, 4));
        drop(taken);
        assert!(quota.take(&who("a"), false).is_ok());
    }

    #[test]
    fn one_of_several_has_half_and_the_error_says_so() {
        let quota = Quota::new("things", 4);
        let _first = quota.take(&who("a"), true).unwrap();
        let _second = quota.take(&who("a"), true).unwrap();
        let full = quota.take(&who("a"), true).unwrap_err();
        assert_eq!((full.whose, full.limit), (Whose::Principal, 2));
        assert!(
            full.to_string().starts_with("too many things: yours are 2"),
            "{full}"
        );
        let _other = quota.take(&who("b"), true).unwrap();
        // Another that holds something is known by that.
        let full = quota.take(&who("a"), false).unwrap_err();
        assert_eq!(full.whose, Whose::Principal);
    }

    /// Each takes all that it can, one after the other: there is still room for the next.
    #[test]
    fn several_that_take_all_they_can_leave_room_for_others() {
        let quota = Quota::with_reserve("streams", 256, 32);
        let mut taken = Vec::new();
        for name in ["a", "b", "c", "d"] {
            let before = taken.len();
            while let Ok(place) = quota.take(&who(name), true) {
                taken.push(place);
            }
            assert!(taken.len() > before, "{name} has none");
        }
        let next = quota.take(&who("e"), true);
        assert!(next.is_ok(), "{} are taken: {next:?}", taken.len());
        // What nobody else is given there is for those who come first.
        for number in 0..300 {
            taken.extend(quota.take(&who(&format!("p{number}")), true));
        }
        assert!(quota.take(&who("last"), true).is_err());
        assert!(quota.take_first(&who("operator"), true).is_ok());
    }

    /// Whoever has left leaves its places to the others.
    #[test]
    fn what_one_gives_back_is_for_the_others() {
        let quota = Quota::new("things", 8);
        let take = |name: &str| -> Vec<Place> {
            std::iter::from_fn(|| quota.take(&who(name), true).ok()).collect()
        };
        let first = take("a");
        let second = take("b");
        assert_eq!((first.len(), second.len()), (4, 2));
        drop(first);
        assert_eq!(take("b").len(), 2);
    }
}
