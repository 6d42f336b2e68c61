//! A ledger that tests can let be away, or slow.

use crate::{Entry, Item, Keep, Key, Ledger, LedgerError, Pending, Revision, refused};
use bytes::Bytes;
use futures_util::FutureExt;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;

/// Another ledger, as it is to whoever cannot always reach it.
#[derive(Debug)]
pub struct Faulty {
    inner: Arc<dyn Ledger>,
    is_away: AtomicBool,
    slow: AtomicU64,
}

impl Faulty {
    /// This one.
    pub fn new(inner: Arc<dyn Ledger>) -> Self {
        Self {
            inner,
            is_away: AtomicBool::new(false),
            slow: AtomicU64::new(0),
        }
    }

    /// From now on it cannot be reached, or can again.
    pub fn is_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
    }

    /// From now on it takes this long until something is removed.
    pub fn removes_after(&self, pause: Duration) {
        let pause = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        self.slow.store(pause, Ordering::Relaxed);
    }

    fn ask<T: Send + 'static>(&self, asked: impl FnOnce(&dyn Ledger) -> Pending<T>) -> Pending<T> {
        match self.is_away.load(Ordering::Relaxed) {
            true => refused(away()),
            false => asked(&*self.inner),
        }
    }
}

fn away() -> LedgerError {
    LedgerError::Storage("it is away".into())
}

impl Ledger for Faulty {
    fn read(&self, key: &Key) -> Pending<Option<Entry>> {
        self.ask(|inner| inner.read(key))
    }

    fn create(&self, key: &Key, value: Bytes, life: Option<Duration>) -> Pending<Option<Revision>> {
        self.ask(|inner| inner.create(key, value, life))
    }

    fn compare_and_set(
        &self,
        key: &Key,
        revision: Revision,
        value: Bytes,
        life: Option<Duration>,
    ) -> Pending<Option<Revision>> {
        self.ask(|inner| inner.compare_and_set(key, revision, value, life))
    }

    fn renew(&self, keys: Vec<(Key, Revision)>, life: Duration) -> Pending<Vec<Option<Revision>>> {
        self.ask(|inner| inner.renew(keys, life))
    }

    fn remove(&self, key: &Key, revision: Option<Revision>) -> Pending<bool> {
        let pause = Duration::from_millis(self.slow.load(Ordering::Relaxed));
        let (inner, key) = (self.inner.clone(), key.clone());
        self.ask(|_| {
            let removing = async move {
                tokio::time::sleep(pause).await;
                inner.remove(&key, revision).await
            };
            removing.boxed()
        })
    }

    fn list(&self, space: &str, after: &str, most: usize) -> Pending<Vec<(String, Revision)>> {
        self.ask(|inner| inner.list(space, after, most))
    }

    fn entries(&self, space: &str, most: usize) -> Pending<Vec<(String, Entry)>> {
        self.ask(|inner| inner.entries(space, most))
    }

    fn count(&self, space: &str) -> Pending<u64> {
        self.ask(|inner| inner.count(space))
    }

    fn append(&self, stream: &str, values: Vec<Bytes>, keep: Keep) -> Pending<u64> {
        self.ask(|inner| inner.append(stream, values, keep))
    }

    fn read_from(&self, stream: &str, number: u64, most: usize) -> Pending<Vec<Item>> {
        self.ask(|inner| inner.read_from(stream, number, most))
    }

    fn forget(&self, stream: &str) -> Pending<()> {
        self.ask(|inner| inner.forget(stream))
    }

    fn sweep(&self) -> Pending<bool> {
        match self.is_away.load(Ordering::Relaxed) {
            true => refused(away()),
            false => self.inner.sweep(),
        }
    }

    fn changed(&self) -> &Notify {
        self.inner.changed()
    }
}
