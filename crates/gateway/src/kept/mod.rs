//! Sessions that outlive the process that opened them.
//!
//! A session is written when it begins, when its log level or what it listens to
//! changes, and when it ends; never for a call. Whoever is asked for a session that it
//! does not have looks here, and takes it over where the process that had it has died,
//! is ending, or was itself. Where nothing can be written, sessions are as long as the
//! process, and it is said.

mod record;
mod stream;
mod tasks;
#[cfg(test)]
mod tests;

pub(crate) use record::{Record, Secret};
pub(crate) use stream::{Opened, Stored};

use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use record::{Found, VERSION, space_of};
use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};
use stream::Behind;
use switchboard_ledger::{Key, Ledger, LedgerError, Lives, Revision};
use switchboard_wire::{Message, json};

/// How long a session is kept that nobody uses. Longer than one lives in memory, since
/// that it is used is noted only now and then.
const LIFE: Duration =
    Duration::from_secs(limits::SESSION_IDLE.as_secs() + 2 * limits::SESSION_TOUCHED.as_secs());

/// The space of processes that end and give their sessions away.
const LEAVING: &str = "leaving";

/// Where sessions are kept. Cheap to clone.
#[derive(Clone)]
pub struct Keeping(Arc<Inner>);

struct Inner {
    ledger: Arc<dyn Ledger>,
    lives: Lives,
    behind: Arc<Behind>,
    /// The process whose place this one takes.
    before: OnceLock<String>,
    /// When it was last said that something cannot be kept.
    told: Mutex<Option<Instant>>,
}

/// A session that is kept, as the process knows it that has it.
/// There is one for each session in memory, so it has only what cannot be had otherwise.
pub(crate) struct Hold {
    keeping: Keeping,
    principal: Arc<str>,
    secret: Secret,
    /// What is written. Locked while it is changed, so that what is written last is
    /// what is wanted last.
    written: tokio::sync::Mutex<Written>,
}

/// What is written of a session, as far as it changes.
struct Written {
    revision: Revision,
    level: Option<u8>,
    subscriptions: Vec<(String, String)>,
}

/// What became of the attempt to have a session.
pub(crate) enum Taken {
    /// It is ours from now on.
    Ours(Box<Record>, Arc<Hold>),
    /// There is none, or none that this client could mean.
    Unknown,
    /// This process has it, which lives and does not give it away.
    Elsewhere(String),
    /// Somebody else was faster, will give it away soon, or nothing can be read just now.
    NotNow,
}

/// What became of a session that was to end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Nobody has it any more.
    Everywhere,
    /// This process has it, which lives: it is the one to end it.
    Elsewhere(String),
}

impl Keeping {
    /// In this ledger, shared by these processes.
    pub fn new(ledger: Arc<dyn Ledger>, lives: Lives) -> Self {
        let behind = Behind::new(ledger.clone());
        Self(Arc::new(Inner {
            ledger,
            lives,
            behind,
            before: OnceLock::new(),
            told: Mutex::default(),
        }))
    }

    /// Whose the sessions are that this process has.
    pub fn life(&self) -> &str {
        self.0.lives.own().id()
    }

    /// This process takes the place of another, which will give its sessions away: they
    /// are waited for.
    pub fn follows(&self, life: &str) {
        let _ = self.0.before.set(life.to_owned());
    }

    /// Whether a principal has as many as it may.
    pub(crate) async fn is_full(&self, principal: &str) -> bool {
        let count = self.0.ledger.count(&space_of(principal)).await;
        count.is_ok_and(|count| count >= limits::SESSIONS_KEPT)
    }

    /// Writes a new session down. Nothing where that is impossible.
    pub(crate) async fn begin(
        &self,
        id: &str,
        principal: &Arc<str>,
        path: &str,
        initialize: &Message,
    ) -> Option<Arc<Hold>> {
        let record = Record {
            version: VERSION,
            path: path.to_owned(),
            greeting: greeting(initialize),
            level: None,
            subscriptions: Vec::new(),
            owner: self.0.lives.own().id().to_owned(),
            epoch: 0,
        };
        let secret = Secret::of(id);
        let (key, sealed) = (secret.key(principal), secret.close_record(&record));
        match self.0.ledger.create(&key, sealed, Some(LIFE)).await {
            Ok(Some(revision)) => Some(self.hold(principal, secret, record, revision)),
            Ok(None) => None,
            Err(fault) => {
                if self.is_to_be_told() {
                    tracing::warn!(%fault, "sessions cannot be kept: those that are opened now end with this process");
                }
                None
            }
        }
    }

    /// Takes a session over that this principal has opened at this path.
    pub(crate) async fn take(&self, id: &str, principal: &Arc<str>, path: &str) -> Taken {
        match self.try_take(id, principal, path).await {
            Ok(taken) => taken,
            Err(fault) => {
                tracing::warn!(%fault, "whether there is a session cannot be looked up");
                Taken::NotNow
            }
        }
    }

    async fn try_take(
        &self,
        id: &str,
        principal: &Arc<str>,
        path: &str,
    ) -> Result<Taken, LedgerError> {
        let secret = Secret::of(id);
        let key = secret.key(principal);
        let Some(entry) = self.0.ledger.read(&key).await? else {
            return Ok(Taken::Unknown);
        };
        let mut record = match secret.open_record(&entry.value) {
            Some(Found::Known(record)) => record,
            Some(Found::Newer { version, owner }) => {
                if self.is_to_be_told() {
                    tracing::warn!(
                        version,
                        "a session was written by a newer version, which this one does not understand: it is left alone"
                    );
                }
                return Ok(Taken::Elsewhere(owner));
            }
            None => {
                tracing::warn!("what is kept of a session is not what was written: it is not used");
                return Ok(Taken::Unknown);
            }
        };
        if record.path != path {
            return Ok(Taken::Unknown);
        }
        if !self.is_free(&record.owner).await? {
            let gives_it_away = self.0.before.get() == Some(&record.owner);
            return Ok(match gives_it_away {
                true => Taken::NotNow,
                false => Taken::Elsewhere(record.owner),
            });
        }
        self.0.lives.own().id().clone_into(&mut record.owner);
        record.epoch += 1;
        record.version = VERSION;
        let sealed = secret.close_record(&record);
        let set = self
            .0
            .ledger
            .compare_and_set(&key, entry.revision, sealed, Some(LIFE));
        Ok(match set.await? {
            Some(revision) => {
                let hold = self.hold(principal, secret, (*record).clone(), revision);
                Taken::Ours(record, hold)
            }
            None => Taken::NotNow,
        })
    }

    /// Whether what this process has may be taken over.
    async fn is_free(&self, owner: &str) -> Result<bool, LedgerError> {
        if owner == self.0.lives.own().id() {
            return Ok(true);
        }
        // Whoever is not known may have come a moment ago.
        if !self.0.lives.is_alive(owner) && !self.0.lives.lives_now(owner).await? {
            return Ok(true);
        }
        Ok(self
            .0
            .ledger
            .read(&Key::new(LEAVING, owner))
            .await?
            .is_some())
    }

    /// A session has ended, whatever was written of it since, and nobody is to bring it
    /// back. Another process that has it by now is to end it.
    pub(crate) async fn end(&self, id: &str, principal: &str) -> Result<Ended, LedgerError> {
        let secret = Secret::of(id);
        let key = secret.key(principal);
        for _ in 0..limits::SESSION_END_TRIES {
            let Some(entry) = self.0.ledger.read(&key).await? else {
                return Ok(Ended::Everywhere);
            };
            if let Some(found) = secret.open_record(&entry.value)
                && !self.is_free(found.owner()).await?
            {
                return Ok(Ended::Elsewhere(found.owner().to_owned()));
            }
            if self.0.ledger.remove(&key, Some(entry.revision)).await? {
                return Ok(Ended::Everywhere);
            }
        }
        Err(LedgerError::Busy)
    }

    /// Whether that something cannot be kept was not said for a while.
    fn is_to_be_told(&self) -> bool {
        let mut told = self.0.told.lock();
        let is_new = told.is_none_or(|at| at.elapsed() >= limits::KEEPING_TOLD);
        if is_new {
            *told = Some(Instant::now());
        }
        is_new
    }

    fn hold(
        &self,
        principal: &Arc<str>,
        secret: Secret,
        record: Record,
        revision: Revision,
    ) -> Arc<Hold> {
        Arc::new(Hold {
            keeping: self.clone(),
            principal: principal.clone(),
            secret,
            written: tokio::sync::Mutex::new(Written {
                revision,
                level: record.level,
                subscriptions: record.subscriptions,
            }),
        })
    }

    /// Notes that these are in use.
    pub(crate) async fn touch(&self, used: Vec<Arc<Hold>>) {
        let held = used
            .iter()
            .filter_map(|hold| Some((hold.key(), hold.written.try_lock().ok()?)));
        // Each is locked until its revision is known, which may be another then.
        let mut held: Vec<_> = held.collect();
        let keys = held
            .iter()
            .map(|(key, written)| (key.clone(), written.revision));
        match self.0.ledger.renew(keys.collect(), LIFE).await {
            Ok(renewed) => {
                for ((_, written), revision) in held.iter_mut().zip(renewed) {
                    written.revision = revision.unwrap_or(written.revision);
                }
            }
            Err(fault) => {
                tracing::warn!(%fault, "that sessions are in use could not be noted");
            }
        }
    }

    /// Gives all sessions away: whoever is asked for one may take it.
    pub(crate) async fn leave(&self) {
        let own = Key::new(LEAVING, self.0.lives.own().id());
        let left = self.0.ledger.create(&own, Bytes::new(), Some(LIFE)).await;
        if let Err(fault) = left {
            tracing::warn!(%fault, "sessions could not be given away");
        }
        self.0.behind.flush_all().await;
    }

    /// Removes what has outlived its time.
    pub(crate) async fn sweep(&self) {
        while matches!(self.0.ledger.sweep().await, Ok(true)) {
            tokio::task::yield_now().await;
        }
    }
}

impl Hold {
    /// Writes down what its client wants to hear of; whether this process has it still.
    pub(crate) async fn wants(
        &self,
        level: Option<u8>,
        subscriptions: Vec<(String, String)>,
    ) -> bool {
        let mut written = self.written.lock().await;
        if (written.level, &written.subscriptions) == (level, &subscriptions) {
            return true;
        }
        match self
            .set_wanted(written.revision, level, &subscriptions)
            .await
        {
            Ok(Some(revision)) => {
                *written = Written {
                    revision,
                    level,
                    subscriptions,
                };
            }
            Ok(None) => return self.is_ours().await,
            Err(fault) => {
                tracing::warn!(%fault, "what a session listens to could not be kept");
            }
        }
        true
    }

    /// Writes that where it is still what was written at this revision.
    async fn set_wanted(
        &self,
        revision: Revision,
        level: Option<u8>,
        subscriptions: &[(String, String)],
    ) -> Result<Option<Revision>, LedgerError> {
        let (ledger, key) = (&self.keeping.0.ledger, self.key());
        // The rest of it is not in memory: it is read only here.
        let found = ledger.read(&key).await?;
        let record = found.and_then(|entry| self.secret.open_record(&entry.value));
        let Some(Found::Known(mut record)) = record else {
            return Ok(None);
        };
        (record.level, record.subscriptions) = (level, subscriptions.to_vec());
        record.version = VERSION;
        let sealed = self.secret.close_record(&record);
        ledger
            .compare_and_set(&key, revision, sealed, Some(LIFE))
            .await
    }

    fn key(&self) -> Key {
        self.secret.key(&self.principal)
    }

    fn behind(&self) -> &Arc<Behind> {
        &self.keeping.0.behind
    }

    /// It has ended, and nobody is to bring it back.
    pub(crate) async fn end(&self) {
        let revision = self.written.lock().await.revision;
        let ledger = &self.keeping.0.ledger;
        let removed = ledger.remove(&self.key(), Some(revision)).await;
        if let Err(fault) = removed {
            tracing::warn!(%fault, "that a session has ended could not be kept");
        }
    }

    /// Whether this process has it still. Who cannot be asked has not said otherwise.
    pub(crate) async fn is_ours(&self) -> bool {
        let Ok(found) = self.keeping.0.ledger.read(&self.key()).await else {
            return true;
        };
        let record = found.and_then(|entry| self.secret.open_record(&entry.value));
        record.is_some_and(|record| record.owner() == self.owner())
    }

    /// Whether the process lives that wrote this.
    pub(crate) fn is_alive(&self, owner: &str) -> bool {
        self.keeping.0.lives.is_alive(owner)
    }

    /// The process that has it now.
    pub(crate) fn owner(&self) -> &str {
        self.keeping.0.lives.own().id()
    }
}

/// What a client says of itself, without what belongs to the one request: it may hold
/// what is not for the disk.
fn greeting(initialize: &Message) -> String {
    let body = initialize.body();
    let members = json::members(body).filter_map(|member| {
        let key = member.key.of(body);
        let is_meta = json::text(key).is_some_and(|key| key == "_meta");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (!is_meta).then(|| format!("{}:{}", text(key), text(member.value.of(body))))
    });
    let members: Vec<String> = members.collect();
    format!("{{{}}}", members.join(","))
}

impl fmt::Debug for Keeping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keeping").field(&self.0.ledger).finish()
    }
}
