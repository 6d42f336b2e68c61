//! Bringing a session back that this process does not have: it rests on disk, or the
//! process that had it has ended.

use super::{
    Face,
    events::EventLog,
    handshake_era::{Refusal, path_of},
    sessions::{Held, OnDisk, Sessions},
};
use crate::{
    admission::Admission,
    kept::{Opened, Record, Stored, Taken},
    limits,
    session::{Outlet, Weight, legacy::Session},
};
use std::{sync::Arc, time::Instant};
use switchboard_host::{CallError, Full, Place, Scope};
use switchboard_ledger::LedgerError;
use switchboard_tasks as tasks;
use switchboard_transport::Whose;
use switchboard_wire::{Id, Message, Method};

/// Where the numbers of streams and events begin in this life of a session: behind all
/// that one before could have used.
fn numbered_from(epoch: u32) -> u64 {
    u64::from(epoch) << 32
}

/// A place for one more session. Where there is none, others move to disk.
pub(super) fn place(face: &Face, admission: &Admission) -> Result<Place, Full> {
    let (principal, several) = (admission.principal(), face.has_several_principals());
    let take = || face.held.take(principal, several);
    take().or_else(|full| {
        let of = (full.whose == Whose::Principal).then_some(&**principal);
        let most = limits::SESSIONS_MOVED;
        match face.sessions.rest(most, std::time::Duration::ZERO, of) {
            0 => Err(full),
            _ => take(),
        }
    })
}

/// One who brings a session back, or ends it; others wait meanwhile.
pub(super) struct Coming<'a>(&'a Sessions, &'a str);

impl<'a> Coming<'a> {
    pub(super) fn new(sessions: &'a Sessions, id: &'a str) -> Option<Self> {
        let is_first = sessions.coming.lock().insert(id.to_owned());
        is_first.then_some(Self(sessions, id))
    }
}

impl Drop for Coming<'_> {
    fn drop(&mut self) {
        self.0.coming.lock().remove(self.1);
    }
}

/// The session of this id, if it is kept somewhere and this client may have it.
pub(super) async fn adopt(
    face: &Face,
    scope: &Scope,
    admission: &Admission,
    id: &str,
) -> Result<Arc<Held>, Refusal> {
    let keeping = face.gateway.keeping().ok_or(Refusal::Unknown)?;
    if let Some(cluster) = face.gateway.cluster()
        && cluster.first_owner(id).is_none()
    {
        return Err(Refusal::Unknown);
    }
    let (principal, path) = (admission.principal(), path_of(scope));
    let begun = Instant::now();
    while begun.elapsed() < limits::SESSION_COMES {
        if let Some(held) = face.sessions.get(id, principal, path) {
            return Ok(held);
        }
        let Some(coming) = Coming::new(&face.sessions, id) else {
            tokio::time::sleep(limits::SESSION_LOOK).await;
            continue;
        };
        // It may have come in between, or ended.
        if let Some(held) = face.sessions.get(id, principal, path) {
            return Ok(held);
        }
        if face.sessions.has_ended(id) {
            return Err(Refusal::Unknown);
        }
        match keeping.take(id, principal, path).await {
            Taken::Ours(record, hold) => {
                let place = place(face, admission).map_err(Refusal::Full)?;
                let on_disk = OnDisk::new(hold);
                let held = bring_back(face, scope, admission, &record, on_disk, place);
                let held = face.sessions.add(id.to_owned(), held);
                drop(coming);
                return Ok(held);
            }
            Taken::Unknown => return Err(Refusal::Unknown),
            Taken::Elsewhere(owner) => return Err(Refusal::Elsewhere(owner)),
            Taken::NotNow => {}
        }
        drop(coming);
        tokio::time::sleep(limits::SESSION_LOOK).await;
    }
    Err(Refusal::NotNow)
}

fn bring_back(
    face: &Face,
    scope: &Scope,
    admission: &Admission,
    record: &Record,
    on_disk: OnDisk,
    place: Place,
) -> Held {
    let from = numbered_from(record.epoch);
    let share = admission.share().clone();
    let general = EventLog::starting(0, from + 1, share);
    let session = Session::resume(
        face.gateway.clone(),
        scope.clone(),
        admission,
        record,
        general.clone(),
    );
    tracing::debug!(epoch = record.epoch, "a session is brought back");
    Held::new(
        session,
        general,
        admission.clone(),
        place,
        (Some(on_disk), from),
    )
}

impl Held {
    /// A stream of an earlier life, if something of it is kept, or if its client knows what was
    /// owed on it. What was owed and never came is told to be unknown.
    pub(super) async fn earlier(
        self: &Arc<Self>,
        number: u64,
        owed: &[String],
    ) -> Result<Option<Arc<EventLog>>, LedgerError> {
        let Some(on_disk) = &self.on_disk else {
            return Ok(None);
        };
        // One that began here and is not here any more was read to its end.
        let is_told = !owed.is_empty() && number < self.first();
        let by_client = is_told.then(|| Opened {
            // Of nobody who is known: it could not say that it began.
            by: String::new(),
            owed: owed.to_vec(),
        });
        let stored = on_disk.recorder().stored(number).await?;
        let stored = match (stored, &by_client) {
            (Some(stored), _) => stored,
            (None, Some(_)) => Stored::default(),
            (None, None) => return Ok(None),
        };
        let (opened, is_whole) = (stored.opened.clone().or(by_client), stored.is_whole);
        let next = self.log().number().max(numbered_from(1));
        let share = self.admission.share().clone();
        let last = stored.events.last().map_or(0, |(number, _)| *number);
        let log = EventLog::restored(number, next, share, stored);
        self.keep(&log);
        if let Some(opened) = opened.filter(|_| !is_whole) {
            let is_over = opened.by.is_empty() || opened.by == on_disk.hold.owner();
            if is_over || !on_disk.hold.is_alive(&opened.by) {
                give_up(&log, &opened);
            } else {
                let (held, log) = (self.clone(), log.clone());
                let rest = async move { held.follow(&log, &opened, last).await };
                tasks::spawn(tasks::Kind::Background, rest);
            }
        } else {
            // Nothing more comes: it was whole, or nobody knows what was to come.
            log.finish();
        }
        Ok(Some(log))
    }

    /// Somebody reads what belongs to no request: from now on that is kept, and what an
    /// earlier life has kept behind the last event that was seen is there again.
    pub(super) async fn keep_general(&self, seen: Option<u64>) {
        let Some(on_disk) = &self.on_disk else {
            return;
        };
        let number = self.general.number();
        if seen.is_some_and(|seen| self.general.is_earlier(seen))
            && let Ok(Some(stored)) = on_disk.recorder().stored(number).await
        {
            self.general.recall(stored);
        }
        self.general.record(on_disk.recorder());
    }

    /// Takes over what a process that ends still writes, until it has ended.
    async fn follow(&self, log: &EventLog, opened: &Opened, mut last: u64) {
        let Some(on_disk) = &self.on_disk else {
            return;
        };
        loop {
            // Before it is read: what the other wrote before it died is read then.
            let is_alive = on_disk.hold.is_alive(&opened.by);
            if let Ok(Some(stored)) = on_disk.recorder().stored(log.number()).await {
                last = log.take_over(stored, last);
            }
            if log.finished().is_some() {
                return;
            }
            if !is_alive {
                return give_up(log, opened);
            }
            tokio::time::sleep(limits::STREAM_LOOK).await;
        }
    }
}

/// Tells what became of requests whose process has died: nobody knows.
fn give_up(log: &EventLog, opened: &Opened) {
    let error = CallError::gateway_ended().to_error();
    for token in &opened.owed {
        log.send(error.response(id_of(token).as_ref()), Weight::Reply);
    }
    log.finish();
}

/// An id as its client wrote it.
fn id_of(token: &str) -> Option<Id> {
    let method = Method::Ping.as_str();
    let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{token},\"method\":\"{method}\"}}");
    Message::parse(text.into()).ok()?.id()
}
