//! Turns: what one of several replicas does at a time. A turn is an entry of the ledger
//! that ends by itself; whoever has it says again and again that it does, and its number is
//! larger than that of whoever had it before.

use super::keys::ClusterKeys;
use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};
use switchboard_ledger::{Key, Ledger, LedgerError, Revision};
use switchboard_tasks as tasks;
use tokio::task::AbortHandle;
use tokio_util::task::TaskTracker;

/// The space of turns.
pub(super) const TURNS: &str = "turns";

/// The turns of one process.
pub(super) struct Turns {
    ledger: Arc<dyn Ledger>,
    keys: Arc<ClusterKeys>,
    holder: String,
    /// The numbers of those that are held.
    held: Mutex<HashMap<String, Revision>>,
    /// Those that are given back.
    given_back: TaskTracker,
}

/// A turn that is held; dropping it gives it back.
pub(super) struct Turn {
    turns: Arc<Turns>,
    name: String,
    held: Arc<Held>,
    beat: AbortHandle,
}

struct Held {
    now: Mutex<Now>,
    lost: AtomicBool,
}

#[derive(Clone, Copy)]
struct Now {
    revision: Revision,
    /// When it was last said that it is held, by both clocks: one of them stands still
    /// while a machine sleeps.
    said: (Instant, SystemTime),
}

/// Why it is not our turn.
#[derive(Debug)]
pub(super) enum NoTurn {
    /// Another's has not ended in all that time.
    Busy,
    /// Nobody can tell whose it is.
    Unknown(LedgerError),
}

impl Turns {
    pub(super) fn new(ledger: Arc<dyn Ledger>, keys: Arc<ClusterKeys>, holder: &str) -> Arc<Self> {
        Arc::new(Self {
            ledger,
            keys,
            holder: holder.to_owned(),
            held: Mutex::default(),
            given_back: TaskTracker::new(),
        })
    }

    /// Waits for a turn, and takes it.
    pub(super) async fn take(self: Arc<Self>, name: &str, limit: Duration) -> Result<Turn, NoTurn> {
        let key = Key::new(TURNS, name);
        let begun = Instant::now();
        let mut pause = limits::TURN_PAUSE;
        loop {
            let said = (Instant::now(), SystemTime::now());
            let made = self
                .ledger
                .create(&key, self.sealed(name), Some(limits::TURN_LIFE));
            if let Some(number) = made.await.map_err(NoTurn::Unknown)? {
                return Ok(self.taken(name, number, said));
            }
            if begun.elapsed() >= limit {
                return Err(NoTurn::Busy);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(limits::TURN_LONGEST_PAUSE);
        }
    }

    fn taken(self: Arc<Self>, name: &str, number: Revision, said: (Instant, SystemTime)) -> Turn {
        let held = Arc::new(Held {
            now: Mutex::new(Now {
                revision: number,
                said,
            }),
            lost: AtomicBool::new(false),
        });
        self.held.lock().insert(name.to_owned(), number);
        let (turns, said, its_name) = (self.clone(), held.clone(), name.to_owned());
        let beat = tasks::spawn(tasks::Kind::Background, async move {
            while said.is_good() {
                tokio::time::sleep(limits::TURN_BEAT).await;
                turns.say_again(&its_name, &said).await;
            }
        });
        Turn {
            turns: self,
            name: name.to_owned(),
            held,
            beat: beat.abort_handle(),
        }
    }

    async fn say_again(&self, name: &str, held: &Held) {
        let before = held.now.lock().revision;
        let said = (Instant::now(), SystemTime::now());
        let (key, life) = (Key::new(TURNS, name), Some(limits::TURN_LIFE));
        let set = self
            .ledger
            .compare_and_set(&key, before, self.sealed(name), life);
        match set.await {
            Ok(Some(revision)) => *held.now.lock() = Now { revision, said },
            Ok(None) => held.lost.store(true, Ordering::Relaxed),
            // It is good for as long as it was.
            Err(_) => {}
        }
    }

    fn sealed(&self, name: &str) -> Bytes {
        let name = format!("{TURNS} {name}");
        Bytes::from(self.keys.close(self.holder.as_bytes(), &name))
    }

    /// The number of a turn that is held here.
    pub(super) fn number(&self, name: &str) -> Option<Revision> {
        self.held.lock().get(name).copied()
    }

    /// Waits until all that was dropped has been given back.
    pub(super) async fn settle(&self) {
        self.given_back.close();
        let _ = tokio::time::timeout(limits::LINK_CONNECT, self.given_back.wait()).await;
    }
}

impl Held {
    fn is_good(&self) -> bool {
        let (steady, clock) = self.now.lock().said;
        let good_for = limits::TURN_LIFE.saturating_sub(limits::TURN_MARGIN);
        // A clock that was set back says nothing.
        let by_clock = clock.elapsed().unwrap_or(Duration::ZERO);
        let is_lost = self.lost.load(Ordering::Relaxed);
        !is_lost && steady.elapsed() < good_for && by_clock < good_for
    }
}

impl switchboard_auth::Turn for Turn {
    fn is_good(&self) -> bool {
        self.held.is_good()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.beat.abort();
        self.turns.held.lock().remove(&self.name);
        let (ledger, key) = (self.turns.ledger.clone(), Key::new(TURNS, &self.name));
        let held = self.held.clone();
        tasks::spawn_in(
            &self.turns.given_back,
            tasks::Kind::Background,
            async move {
                let revision = held.now.lock().revision;
                let _ = ledger.remove(&key, Some(revision)).await;
            },
        );
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Turn").field(&self.name).finish()
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Turns").field(&self.holder).finish()
    }
}
