//! How many ask the issuer at once for people who sign in: anybody may begin a sign-in, and
//! nobody is to have us flood the issuer.

use super::PeopleError;
use crate::limits;
use parking_lot::Mutex;
use std::collections::VecDeque;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

/// Places to ask the issuer from. A few more wait for one for a while.
pub(super) struct Places {
    asking: Semaphore,
    waiting: Semaphore,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            asking: Semaphore::new(limits::PEOPLE_ASKING),
            waiting: Semaphore::new(limits::PEOPLE_WAITING),
        }
    }
}

impl Places {
    /// A place, or that there is none.
    pub(super) async fn take(&self) -> Result<SemaphorePermit<'_>, PeopleError> {
        let waiting = self.waiting.try_acquire();
        let _waiting = waiting.map_err(|_| PeopleError::Busy)?;
        match timeout(limits::PEOPLE_TURN, self.asking.acquire()).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(PeopleError::Busy),
        }
    }
}

/// Which sign-ins were ended lately. Where there are too many, the oldest is forgotten: the
/// issuer takes no code twice, and places are few.
#[derive(Default)]
pub(super) struct Once(Mutex<VecDeque<String>>);

impl Once {
    /// Whether this proof is seen for the first time.
    pub(super) fn is_first(&self, proof: &str) -> bool {
        let mut seen = self.0.lock();
        if seen.iter().any(|other| other == proof) {
            return false;
        }
        if seen.len() >= limits::PEOPLE_ENDED {
            seen.pop_front();
        }
        seen.push_back(proof.to_owned());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many come, the issuer is asked by few; whoever finds no place hears so.
    #[tokio::test]
    async fn few_ask_at_once_and_a_few_more_wait() {
        let places = Places::default();
        let mut held = Vec::new();
        for _ in 0..limits::PEOPLE_ASKING {
            held.push(places.take().await.unwrap());
        }
        let all_wait = places
            .waiting
            .try_acquire_many(limits::PEOPLE_WAITING as u32);
        let all_wait = all_wait.unwrap();
        assert!(matches!(places.take().await, Err(PeopleError::Busy)));
        drop(all_wait);
        let (next, ()) = tokio::join!(places.take(), async { drop(held.pop()) });
        assert!(next.is_ok());
    }

    #[test]
    fn what_was_seen_is_seen_once_and_no_more_is_kept_than_needed() {
        let once = Once::default();
        assert!(once.is_first("a"));
        assert!(!once.is_first("a"));
        for number in 0..2 * limits::PEOPLE_ENDED {
            assert!(once.is_first(&number.to_string()));
        }
        assert_eq!(once.0.lock().len(), limits::PEOPLE_ENDED);
    }
}
