//! Who can come in, as far as that decides what an id may be taken for.

use super::Host;
use parking_lot::Mutex;
use std::{
    fmt,
    sync::{Arc, Weak},
};

/// A way in that lets in several principals, or may do so later.
pub trait Comers: Send + Sync {
    /// Those that can come in now; `None` where nobody can count them.
    fn principals(&self) -> Option<Vec<Arc<str>>>;
}

/// All who can come in.
#[derive(Default)]
pub(super) struct Principals {
    /// Those who are in by name. No more than it takes to be several.
    named: Mutex<Vec<Arc<str>>>,
    doors: Mutex<Vec<Weak<dyn Comers>>>,
}

impl Host {
    /// Notes that this principal uses the servers.
    pub fn serves(&self, principal: &Arc<str>) {
        let mut named = self.principals.named.lock();
        if named.len() < 2 && !named.contains(principal) {
            named.push(principal.clone());
        }
    }

    /// Notes a way in, for as long as it is there.
    pub fn serves_all(&self, door: Weak<dyn Comers>) {
        let mut doors = self.principals.doors.lock();
        doors.retain(|door| door.strong_count() > 0);
        doors.push(door);
    }

    /// Whether more than one principal can come in. Where it is one, whatever a
    /// server knows can only be that one's.
    pub fn has_several_principals(&self) -> bool {
        let mut all = self.principals.named.lock().clone();
        let doors = self.principals.doors.lock().clone();
        for door in doors.iter().filter_map(Weak::upgrade) {
            match door.principals() {
                Some(theirs) => all.extend(theirs),
                None => return true,
            }
        }
        all.iter().any(|one| *one != all[0])
    }
}

impl fmt::Debug for Principals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Principals")
    }
}
