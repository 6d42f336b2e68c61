//! The legacy sessions of the HTTP face.

use super::{Face, events::EventLog};
use crate::{admission::Admission, limits, session::legacy::Session};
use parking_lot::{Mutex, RwLock};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};
use switchboard_host::Place;
use switchboard_local::random;

/// All sessions, by id.
#[derive(Default)]
pub(super) struct Sessions {
    by_id: RwLock<HashMap<String, Arc<Held>>>,
}

/// A session with its event streams.
pub(super) struct Held {
    pub session: Arc<Session>,
    /// The stream for what belongs to no request.
    pub general: Arc<EventLog>,
    admission: Admission,
    path: String,
    streams: Mutex<BTreeMap<u64, Arc<EventLog>>>,
    next: AtomicU64,
    used: Mutex<Instant>,
    /// Its place among the sessions of its principal.
    _place: Place,
}

impl Held {
    pub(super) fn new(
        session: Arc<Session>,
        general: Arc<EventLog>,
        admission: Admission,
        path: String,
        place: Place,
    ) -> Self {
        // Looked after from now on, so that it ends with its token.
        let _ = admission.is_revoked();
        admission
            .share()
            .keeps(Arc::<EventLog>::downgrade(&general));
        let streams = Mutex::new(BTreeMap::from([(0, general.clone())]));
        Self {
            session,
            general,
            admission,
            path,
            streams,
            next: AtomicU64::new(1),
            used: Mutex::new(Instant::now()),
            _place: place,
        }
    }

    /// A log for one request's events, not yet known to anybody.
    pub(super) fn log(&self) -> Arc<EventLog> {
        let share = self.admission.share().clone();
        EventLog::new(self.next.fetch_add(1, Ordering::Relaxed), share)
    }

    /// Keeps a log so that it can be resumed. The oldest finished one gives way,
    /// and so does what is in it when its principal's share is full.
    pub(super) fn keep(&self, log: &Arc<EventLog>) {
        let share = self.admission.share();
        share.keeps(Arc::<EventLog>::downgrade(log));
        let mut streams = self.streams.lock();
        if streams.len() >= limits::STREAMS
            && let Some(oldest) = streams
                .values()
                .find(|log| log.finished().is_some())
                .map(|log| log.number())
        {
            streams.remove(&oldest);
        }
        streams.insert(log.number(), log.clone());
    }

    /// A log of this session.
    pub(super) fn stream(&self, number: u64) -> Option<Arc<EventLog>> {
        self.streams.lock().get(&number).cloned()
    }
}

impl Sessions {
    /// Adds a session and returns its id.
    pub(super) fn add(&self, held: Held) -> String {
        let id = random_id();
        self.by_id.write().insert(id.clone(), Arc::new(held));
        id
    }

    /// The session of this id, if it is this principal's and was opened at this path.
    pub(super) fn get(&self, id: &str, principal: &str, path: &str) -> Option<Arc<Held>> {
        let held = self.by_id.read().get(id).cloned()?;
        if **held.admission.principal() != *principal || held.path != path {
            return None;
        }
        *held.used.lock() = Instant::now();
        Some(held)
    }

    /// Ends a session of this principal's, and what it has in flight: nobody can
    /// come back for the answers.
    pub(super) fn remove(&self, id: &str, principal: &str, path: &str) -> bool {
        let Some(held) = self.get(id, principal, path) else {
            return false;
        };
        self.by_id.write().remove(id);
        held.session.give_up_all();
        held.end();
        true
    }

    /// Ends those whose token was revoked, and what they have in flight.
    pub(super) fn close_revoked(&self) {
        let theirs: Vec<Arc<Held>> = {
            let mut sessions = self.by_id.write();
            let ids: Vec<String> = sessions
                .iter()
                .filter(|(_, held)| held.admission.is_revoked())
                .map(|(id, _)| id.clone())
                .collect();
            ids.iter().filter_map(|id| sessions.remove(id)).collect()
        };
        for held in theirs {
            held.session.give_up_all();
            held.end();
        }
    }

    /// Ends the streams that belong to no request: they would never end by themselves.
    pub(super) fn hush(&self) {
        for held in self.by_id.read().values() {
            held.general.finish();
        }
    }

    /// Ends all.
    pub(super) fn close_all(&self) {
        for (_, held) in self.by_id.write().drain() {
            held.end();
        }
    }

    fn sweep(&self) {
        let now = Instant::now();
        let idle = |held: &Held| {
            now.duration_since(*held.used.lock()) > limits::SESSION_IDLE && !held.session.is_busy()
        };
        let old: Vec<Arc<Held>> = {
            let mut sessions = self.by_id.write();
            let ids: Vec<String> = sessions
                .iter()
                .filter(|(_, held)| idle(held))
                .map(|(id, _)| id.clone())
                .collect();
            ids.iter().filter_map(|id| sessions.remove(id)).collect()
        };
        old.iter().for_each(|held| held.end());
        for held in self.by_id.read().values() {
            held.streams.lock().retain(|_, log| {
                log.finished()
                    .is_none_or(|at| now.duration_since(at) < limits::STREAM_KEPT)
            });
        }
    }
}

impl Held {
    fn end(&self) {
        self.session.close();
        for log in self.streams.lock().values() {
            log.finish();
        }
    }
}

/// Ends what nobody has used for long, until it is stopped itself.
pub(super) async fn sweep(face: Arc<Face>) {
    loop {
        tokio::time::sleep(limits::SESSIONS_LOOK).await;
        face.sessions.sweep();
    }
}

/// 128 random bits.
pub(super) fn random_id() -> String {
    // Without randomness there is no safe session; the operating system always has some.
    random::id().expect("the operating system gives random bytes")
}
