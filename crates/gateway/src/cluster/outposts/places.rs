//! The right to run a server of which only so many copies may run at a time. It is an
//! entry of the ledger that ends by itself, and whoever holds it says again and again that
//! it does. One that could not say so, because it was paused or cut off, stops before the
//! entry ends, and before it has looked at anything else.

use crate::{cluster::keys::ClusterKeys, limits};
use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant, SystemTime},
};
use switchboard_ledger::{Key, Ledger, LedgerError, Revision};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

/// The space of these rights.
const PLACES: &str = "places";

/// The rights of one outpost.
pub(super) struct Rights {
    ledger: Arc<dyn Ledger>,
    keys: Arc<ClusterKeys>,
    holder: Holder,
    held: Mutex<HashMap<String, Arc<Right>>>,
    /// Whoever takes one does it alone.
    turn: tokio::sync::Mutex<()>,
}

/// Who holds a right.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Holder {
    pub(super) id: String,
    pub(super) name: String,
}

/// The rights that a ledger knows: what each is for, the name of who has it, and its number.
pub(in crate::cluster) async fn placed(
    ledger: &Arc<dyn Ledger>,
    keys: &ClusterKeys,
) -> Result<Vec<(String, String, Revision)>, LedgerError> {
    let all = ledger.entries(PLACES, limits::LEASES_SHOWN).await?;
    let held = all.into_iter().filter_map(|(name, entry)| {
        let text = keys.open(&entry.value, &format!("{PLACES} {name}"))?;
        let holder: Holder = serde_json::from_slice(&text).ok()?;
        Some((name, holder.name, entry.revision))
    });
    Ok(held.collect())
}

/// One right, as long as it lasts.
pub(super) struct Right {
    key: Key,
    /// Which of the copies it is for.
    at: u32,
    /// Which time this is: larger than that of whoever had it before.
    number: Revision,
    now: Mutex<Now>,
    users: AtomicUsize,
    /// Another may have it.
    pub(super) lost: CancellationToken,
}

#[derive(Clone, Copy)]
struct Now {
    revision: Revision,
    /// When it was last said that it is held, by both clocks: one of them stands still while
    /// a machine sleeps.
    said: (Instant, SystemTime),
}

/// Why there is no right.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoRight {
    /// These have them all.
    #[error("it runs on as many workers as it may: {}", .0.join(", "))]
    Taken(Vec<String>),
    /// Nobody can tell.
    #[error("who else runs it cannot be looked up: {0}")]
    Unknown(#[from] LedgerError),
}

impl Rights {
    pub(super) fn new(ledger: Arc<dyn Ledger>, keys: Arc<ClusterKeys>, holder: Holder) -> Self {
        Self {
            ledger,
            keys,
            holder,
            held: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// The right to run a server, for as long as what is returned is kept.
    pub(super) async fn take(&self, server: &str, copies: u32) -> Result<InUse, NoRight> {
        let _alone = self.turn.lock().await;
        let held = self.held.lock().get(server).cloned();
        if let Some(right) = held.filter(|right| right.is_good()) {
            return Ok(InUse::new(right));
        }
        let mut taken = Vec::new();
        for at in 0..copies {
            let key = Key::new(PLACES, format!("{server}/{at}"));
            let said = (Instant::now(), SystemTime::now());
            let made = self
                .ledger
                .create(&key, self.sealed(&key), Some(limits::PLACE_LIFE));
            if let Some(number) = made.await? {
                let right = Arc::new(Right {
                    key,
                    at,
                    number,
                    now: Mutex::new(Now {
                        revision: number,
                        said,
                    }),
                    users: AtomicUsize::new(0),
                    lost: CancellationToken::new(),
                });
                let used = InUse::new(right.clone());
                self.held.lock().insert(server.to_owned(), right);
                return Ok(used);
            }
            let found = self.ledger.read(&key).await?;
            let holder = found.and_then(|entry| self.opened(&key, &entry.value));
            taken.extend(holder.map(|holder| holder.name));
        }
        Err(NoRight::Taken(taken))
    }

    fn sealed(&self, key: &Key) -> Bytes {
        let text = serde_json::to_vec(&self.holder).unwrap_or_default();
        Bytes::from(self.keys.close(&text, &format!("{PLACES} {}", key.name)))
    }

    fn opened(&self, key: &Key, sealed: &[u8]) -> Option<Holder> {
        let text = self.keys.open(sealed, &format!("{PLACES} {}", key.name))?;
        serde_json::from_slice(&text).ok()
    }

    /// Says what is held, again, where that is due; what nobody uses is given back. The
    /// servers whose rights were lost.
    pub(super) async fn renew(&self) -> Vec<String> {
        let all: Vec<(String, Arc<Right>)> = {
            let held = self.held.lock();
            let all = held.iter();
            all.map(|(server, right)| (server.clone(), right.clone()))
                .collect()
        };
        let mut lost = Vec::new();
        for (server, right) in all {
            if right.users.load(Ordering::Relaxed) == 0 {
                let _alone = self.turn.lock().await;
                // Somebody may have taken it up meanwhile.
                if right.users.load(Ordering::Relaxed) == 0 {
                    self.held.lock().remove(&server);
                    self.give_back(&right).await;
                }
            } else if !self.still_has(&right).await {
                right.lost.cancel();
                self.held.lock().remove(&server);
                lost.push(server);
            }
        }
        lost
    }

    async fn still_has(&self, right: &Right) -> bool {
        let now = *right.now.lock();
        if !right.is_good() {
            return false;
        }
        if now.said.0.elapsed() < limits::PLACE_BEAT {
            return true;
        }
        let said = (Instant::now(), SystemTime::now());
        let (value, life) = (self.sealed(&right.key), Some(limits::PLACE_LIFE));
        let set = self
            .ledger
            .compare_and_set(&right.key, now.revision, value, life);
        match set.await {
            Ok(Some(revision)) => {
                *right.now.lock() = Now { revision, said };
                true
            }
            Ok(None) => false,
            // It is good for as long as it was.
            Err(_) => right.is_good(),
        }
    }

    async fn give_back(&self, right: &Right) {
        let revision = right.now.lock().revision;
        let value = self.sealed(&right.key);
        let given =
            self.ledger
                .compare_and_set(&right.key, revision, value, Some(limits::PLACE_OVER));
        let _ = given.await;
    }

    /// Gives back all of them.
    pub(super) async fn end(&self) {
        let all: Vec<Arc<Right>> = self.held.lock().drain().map(|(_, right)| right).collect();
        for right in all {
            right.lost.cancel();
            self.give_back(&right).await;
        }
    }
}

impl Right {
    /// Whether nobody else can have it yet.
    pub(super) fn is_good(&self) -> bool {
        let (steady, clock) = self.now.lock().said;
        let good_for = limits::PLACE_LIFE.saturating_sub(limits::PLACE_MARGIN);
        // A clock that was set back says nothing.
        let by_clock = clock.elapsed().unwrap_or(Duration::ZERO);
        !self.lost.is_cancelled() && steady.elapsed() < good_for && by_clock < good_for
    }

    /// The same for a replica: which copy, and which time.
    pub(super) fn place(&self) -> String {
        format!("{} {}", self.at, self.number)
    }
}

/// A right that is used.
pub(super) struct InUse(Arc<Right>);

impl InUse {
    fn new(right: Arc<Right>) -> Self {
        right.users.fetch_add(1, Ordering::Relaxed);
        Self(right)
    }

    pub(super) fn right(&self) -> &Arc<Right> {
        &self.0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream that carries nothing once the right to it has ended.
pub(super) struct Fenced<S> {
    pub(super) stream: S,
    pub(super) right: Option<Arc<Right>>,
}

impl<S> Fenced<S> {
    fn check(&self) -> io::Result<()> {
        match self.right.as_ref().is_none_or(|right| right.is_good()) {
            true => Ok(()),
            false => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "another worker may run this server by now",
            )),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Fenced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        std::task::ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.check())
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Fenced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_ledger::{Clock, Memory};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn rights(ledger: &Arc<Memory>, key: &str, name: &str) -> Rights {
        let keys = Arc::new(ClusterKeys::read(key).unwrap());
        let holder = Holder {
            id: format!("{name}-1"),
            name: name.into(),
        };
        Rights::new(ledger.clone(), keys, holder)
    }

    async fn taken(rights: &Rights, copies: u32) -> Vec<String> {
        match rights.take("notes", copies).await {
            Err(NoRight::Taken(by)) => by,
            _ => panic!("it is free"),
        }
    }

    #[tokio::test]
    async fn as_many_run_a_server_as_may_and_one_that_was_away_runs_it_no_more() {
        let clock = Clock::by_hand();
        let ledger = Arc::new(Memory::new(clock.clone()));
        let key = ClusterKeys::make().unwrap();
        let [one, two, three] = ["one", "two", "three"].map(|name| rights(&ledger, &key, name));
        let first = one.take("notes", 2).await.unwrap();
        let again = one.take("notes", 2).await.unwrap();
        assert_eq!(first.right().place(), again.right().place());
        let second = two.take("notes", 2).await.unwrap();
        assert_ne!(first.right().at, second.right().at);
        assert_eq!(taken(&three, 2).await, ["one", "two"]);
        // The first is away for longer than its right lasts.
        clock.pass(limits::PLACE_LIFE * 2);
        let third = three.take("notes", 1).await.unwrap();
        assert_eq!(third.right().at, first.right().at);
        assert!(third.right().number > first.right().number);
        first.right().now.lock().said.0 -= limits::PLACE_LIFE;
        let (mut far, near) = tokio::io::duplex(64);
        let mut fenced = Fenced {
            stream: near,
            right: Some(first.right().clone()),
        };
        far.write_all(b"do it").await.unwrap();
        assert!(fenced.read_u8().await.is_err() && fenced.write_u8(1).await.is_err());
        assert_eq!(one.renew().await, ["notes"]);
        assert!(first.right().lost.is_cancelled());
        // One that is held still goes on; what nobody uses is free a moment later.
        assert!(three.renew().await.is_empty() && third.right().is_good());
        drop(third);
        three.renew().await;
        clock.pass(limits::PLACE_OVER * 2);
        assert!(one.take("notes", 1).await.is_ok());
    }

    #[tokio::test]
    async fn a_clock_that_jumped_ahead_is_believed() {
        let ledger = Arc::new(Memory::new(Clock::by_hand()));
        let rights = rights(&ledger, &ClusterKeys::make().unwrap(), "one");
        let held = rights.take("notes", 1).await.unwrap();
        assert!(held.right().is_good());
        // The machine has slept meanwhile.
        held.right().now.lock().said.1 -= limits::PLACE_LIFE;
        assert!(!held.right().is_good());
    }
}
