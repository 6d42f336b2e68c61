//! The legacy sessions of the HTTP face.

use super::{Face, adopt::Coming, events::EventLog, handshake_era::path_of, own_ids::ByOwnId};
use crate::{
    admission::Admission,
    kept::{Ended, Hold, Keeping},
    limits,
    session::legacy::Session,
};
use parking_lot::{Mutex, RwLock};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};
use switchboard_host::Place;
use switchboard_local::random;
use switchboard_tasks as tasks;
use switchboard_wire::Id;

/// All sessions, by id.
#[derive(Default)]
pub(super) struct Sessions {
    pub(super) by_id: RwLock<ByOwnId<Arc<Held>>>,
    /// Those that are just brought back from disk, or end.
    pub(super) coming: Mutex<HashSet<String>>,
    /// Those that have ended, with their principals, where that could not be written yet:
    /// nobody brings them back meanwhile.
    unwritten: Mutex<HashMap<String, String>>,
}

/// What is kept of a session on disk.
pub(super) struct OnDisk {
    pub hold: Arc<Hold>,
    /// When it was last noted there that it is in use.
    touched: Mutex<Instant>,
}

impl OnDisk {
    pub(super) fn new(hold: Arc<Hold>) -> Self {
        Self {
            hold,
            touched: Mutex::new(Instant::now()),
        }
    }

    /// What writes its events down.
    pub(super) fn recorder(&self) -> &Arc<Hold> {
        &self.hold
    }
}

/// A session with its event streams.
pub(super) struct Held {
    pub session: Arc<Session>,
    /// The stream for what belongs to no request.
    pub general: Arc<EventLog>,
    pub(super) admission: Admission,
    /// Those of requests.
    pub(super) streams: Mutex<BTreeMap<u64, Arc<EventLog>>>,
    next: AtomicU64,
    pub(super) used: Mutex<Instant>,
    /// Where it outlives this process.
    pub(super) on_disk: Option<OnDisk>,
    /// Its place among the sessions of its principal.
    _place: Place,
}

impl Held {
    pub(super) fn new(
        session: Arc<Session>,
        general: Arc<EventLog>,
        admission: Admission,
        place: Place,
        (on_disk, numbered_from): (Option<OnDisk>, u64),
    ) -> Self {
        // Looked after from now on, so that it ends with its token.
        let _ = admission.is_revoked();
        admission
            .share()
            .keeps(Arc::<EventLog>::downgrade(&general));
        Self {
            session,
            general,
            admission,
            streams: Mutex::default(),
            next: AtomicU64::new(numbered_from + 1),
            used: Mutex::new(Instant::now()),
            on_disk,
            _place: place,
        }
    }

    /// Where the numbers of streams begin in this life.
    pub(super) fn first(&self) -> u64 {
        self.next.load(Ordering::Relaxed) >> 32 << 32
    }

    /// A log for one request's events, not yet known to anybody.
    pub(super) fn log(&self) -> Arc<EventLog> {
        let share = self.admission.share().clone();
        EventLog::new(self.next.fetch_add(1, Ordering::Relaxed), share)
    }

    /// The same, also after the end of this process, which owes the answers to these
    /// requests on it. That is on disk before anybody is told of the log.
    pub(super) async fn keep_owing(&self, log: &Arc<EventLog>, owed: &[Id]) {
        self.keep(log);
        if let Some(on_disk) = &self.on_disk {
            let token = |id: &Id| String::from_utf8_lossy(id.token()).into_owned();
            let owed: Vec<String> = owed.iter().map(token).collect();
            if !on_disk.hold.opens(log.number(), owed.clone()).await {
                log.owes(&owed);
            }
            log.record(&on_disk.hold);
        }
    }

    /// Keeps a log so that it can be resumed. The oldest finished one gives way,
    /// and so does what is in it when its principal's share is full.
    pub(super) fn keep(&self, log: &Arc<EventLog>) {
        let share = self.admission.share();
        share.keeps(Arc::<EventLog>::downgrade(log));
        let mut streams = self.streams.lock();
        // One is for what belongs to no request.
        if streams.len() + 1 >= limits::STREAMS
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
        match number {
            0 => Some(self.general.clone()),
            _ => self.streams.lock().get(&number).cloned(),
        }
    }
}

impl Sessions {
    /// Adds a session under its id.
    pub(super) fn add(&self, id: String, held: Held) -> Arc<Held> {
        let held = Arc::new(held);
        self.by_id.write().insert(id, held.clone());
        held
    }

    /// The session of this id, if it is this principal's and was opened at this path.
    pub(super) fn get(&self, id: &str, principal: &str, path: &str) -> Option<Arc<Held>> {
        let held = self.by_id.read().get(id).cloned()?;
        if **held.admission.principal() != *principal || path_of(held.session.scope()) != path {
            return None;
        }
        *held.used.lock() = Instant::now();
        Some(held)
    }

    /// Whether there is one of this id, whoever's it is.
    pub(super) fn has(&self, id: &str) -> bool {
        self.by_id.read().contains_key(id)
    }

    /// Ends a session, and what it has in flight: nobody can come back for the answers.
    /// Another process that has it by now, which is the one to end it.
    ///
    /// Nobody brings it back while that is under way: its client may ask for its streams
    /// again as soon as they end.
    pub(super) async fn remove(
        &self,
        id: &str,
        held: &Held,
        keeping: Option<&Keeping>,
    ) -> Option<String> {
        let begun = Instant::now();
        let mut ending = Coming::new(self, id);
        while ending.is_none() && begun.elapsed() < limits::SESSION_COMES {
            tokio::time::sleep(limits::SESSION_LOOK).await;
            ending = Coming::new(self, id);
        }
        // First, so that it has ended also where its client does not wait for the answer.
        let principal = held.admission.principal();
        if keeping.is_some() {
            let mut unwritten = self.unwritten.lock();
            if unwritten.len() < limits::SESSIONS_UNWRITTEN {
                unwritten.insert(id.to_owned(), principal.to_string());
            }
        }
        let now = self.by_id.write().remove(id);
        for held in [Some(held), now.as_deref()].into_iter().flatten() {
            held.session.give_up_all();
            held.end();
        }
        // Also where nothing is known to be kept: it may have been, with nobody to say so.
        let ended = keeping?.end(id, principal).await;
        if let Err(fault) = &ended {
            tracing::warn!(%fault, "that a session has ended could not be kept yet; it is tried again");
            return None;
        }
        self.unwritten.lock().remove(id);
        match ended {
            Ok(Ended::Elsewhere(owner)) => Some(owner),
            _ => None,
        }
    }

    /// Another process has this one: what is here ends, but for calls that are under way.
    pub(super) fn give_up(&self, id: &str, held: &Arc<Held>) {
        {
            let mut sessions = self.by_id.write();
            if sessions.get(id).is_some_and(|it| Arc::ptr_eq(it, held)) {
                sessions.remove(id);
            }
        }
        held.leave();
    }

    /// Whether it has ended here, and that could not be written yet.
    pub(super) fn has_ended(&self, id: &str) -> bool {
        self.unwritten.lock().contains_key(id)
    }

    /// Writes down that sessions have ended, where that was not possible before.
    async fn write_ends(&self, keeping: &Keeping) {
        let ended: Vec<(String, String)> = {
            let unwritten = self.unwritten.lock();
            let ended = unwritten.iter();
            ended.map(|(id, by)| (id.clone(), by.clone())).collect()
        };
        for (id, principal) in ended {
            // Where one is impossible, so are the others.
            if keeping.end(&id, &principal).await.is_err() {
                return;
            }
            self.unwritten.lock().remove(&id);
        }
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
        for held in &theirs {
            held.session.give_up_all();
            held.end();
        }
        tasks::spawn(tasks::Kind::Background, forget(theirs));
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

    /// Ends those that nobody has used for long; which.
    fn sweep(&self) -> Vec<Arc<Held>> {
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
        old
    }

    /// Those that were used since that was last noted on disk, where that is long ago.
    fn used_unnoted(&self) -> Vec<Arc<Hold>> {
        let sessions = self.by_id.read();
        let used = sessions.values().filter_map(|held| {
            let on_disk = held.on_disk.as_ref()?;
            let (used, mut touched) = (*held.used.lock(), on_disk.touched.lock());
            let is_due = used > *touched && touched.elapsed() > limits::SESSION_TOUCHED;
            is_due.then(|| {
                *touched = Instant::now();
                on_disk.hold.clone()
            })
        });
        used.collect()
    }
}

/// These have ended, and nobody is to bring them back.
async fn forget(ended: Vec<Arc<Held>>) {
    for held in ended {
        if let Some(on_disk) = &held.on_disk {
            on_disk.hold.end().await;
        }
    }
}

impl Held {
    /// Ends what it has in this process.
    pub(super) fn end(&self) {
        self.session.close();
        self.general.finish();
        for log in self.streams.lock().values() {
            log.finish();
        }
    }

    /// The same where another process has it. Whoever waits here for the answer to a call
    /// gets it, and nothing of that is written to what is the other's now.
    fn leave(&self) {
        self.session.close();
        self.general.finish();
        for log in self.streams.lock().values() {
            log.is_not_kept();
        }
    }
}

/// Ends what nobody has used for long, until it is stopped itself.
pub(super) async fn sweep(face: Arc<Face>) {
    loop {
        tokio::time::sleep(limits::SESSIONS_LOOK).await;
        forget(face.sessions.sweep()).await;
        if let Some(keeping) = face.gateway.keeping() {
            face.sessions.write_ends(keeping).await;
            face.sessions
                .rest(limits::SESSIONS, limits::SESSION_RESTS, None);
            keeping.touch(face.sessions.used_unnoted()).await;
            keeping.sweep().await;
        }
    }
}

/// 128 random bits.
pub(super) fn random_id() -> String {
    // Without randomness there is no safe session; the operating system always has some.
    random::id().expect("the operating system gives random bytes")
}
