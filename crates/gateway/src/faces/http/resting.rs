//! Sessions that nobody uses move out of memory: what makes them what they are is on
//! disk already, and whoever asks for one brings it back.

use super::sessions::{Held, Sessions};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

impl Held {
    /// Whether nothing would be missed if it were on disk alone. What servers say to it
    /// meanwhile is not heard there, so one that listens to something stays.
    fn can_rest(&self) -> bool {
        self.on_disk.is_some()
            && !self.session.is_busy()
            && !self.general.is_read()
            && !self.session.listens()
            && self
                .streams
                .lock()
                .values()
                .all(|log| log.finished().is_some())
            && !self.session.has_servers_of_its_own()
    }
}

impl Sessions {
    /// Moves as many as `most` of those out of memory that nobody has used for `idle`,
    /// the longest unused first; only this principal's where one is named. How many.
    pub(super) fn rest(&self, most: usize, idle: Duration, of: Option<&str>) -> usize {
        let now = Instant::now();
        let mut unused: Vec<(Instant, String)> = {
            let sessions = self.by_id.read();
            let theirs = sessions.iter().filter(|(_, held)| {
                of.is_none_or(|principal| **held.admission.principal() == *principal)
            });
            theirs
                .map(|(id, held)| (*held.used.lock(), id))
                .filter(|(used, _)| now.saturating_duration_since(*used) >= idle)
                .map(|(used, id)| (used, id.clone()))
                .collect()
        };
        unused.sort_unstable();
        let mut resting: Vec<Arc<Held>> = Vec::new();
        for (_, id) in unused {
            if resting.len() >= most {
                break;
            }
            resting.extend(self.take_unused(&id));
        }
        for held in &resting {
            held.end();
        }
        resting.len()
    }

    /// Takes a session out if nobody uses it: then we alone have it.
    fn take_unused(&self, id: &str) -> Option<Arc<Held>> {
        // Asked before all are locked: it looks at every server.
        let can_rest = self
            .by_id
            .read()
            .get(id)
            .is_some_and(|held| held.can_rest());
        if !can_rest {
            return None;
        }
        let mut sessions = self.by_id.write();
        let held = sessions.get(id)?;
        let is_unused = Arc::strong_count(held) == 1 && !held.session.is_busy();
        is_unused.then(|| sessions.remove(id)).flatten()
    }
}
