//! What outlives a process.
//!
//! A [`Ledger`] holds small *entries*, each in a *space* and under a key, which are
//! read, made with a lifetime, and changed only by whoever knows their revision; and
//! *streams*, which are appended to and read from a number on. There is one in memory
//! ([`Memory`]), one in a file ([`Sqlite`]) and one that machines share ([`Nats`]), and
//! all do the same. Which processes share it, and which of them live, is known by their
//! [`Lives`].

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod clock;
mod faulty;
pub mod limits;
mod lives;
mod memory;
#[cfg(feature = "cluster")]
mod nats;
mod post;
#[cfg(feature = "sqlite")]
mod sqlite;
mod watch;

pub use clock::Clock;
pub use faulty::Faulty;
pub use lives::{Life, Lives, Others};
pub use memory::Memory;
#[cfg(feature = "cluster")]
pub use nats::{Joining, Nats, Store};
pub use post::{Arrival, Post};
#[cfg(feature = "sqlite")]
pub use sqlite::Sqlite;
pub use watch::{Change, Watch};

use bytes::Bytes;
use futures_util::{
    FutureExt,
    future::{BoxFuture, ready},
};
use std::{fmt, time::Duration};
use tokio::sync::Notify;

/// What a ledger will say.
pub type Pending<T> = BoxFuture<'static, Result<T, LedgerError>>;

/// When an entry was last changed: of two changes of a ledger the later has the larger.
pub type Revision = u64;

/// The place of an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// What it belongs to; the entries of a space are counted.
    pub space: String,
    /// Its name there.
    pub name: String,
}

impl Key {
    /// This name in this space.
    pub fn new(space: impl Into<String>, name: impl Into<String>) -> Self {
        let (space, name) = (space.into(), name.into());
        Self { space, name }
    }
}

/// What is kept under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it was last changed.
    pub revision: Revision,
    /// What it holds.
    pub value: Bytes,
}

/// One of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its number, larger than those before it.
    pub number: u64,
    /// What it holds.
    pub value: Bytes,
}

/// How much of a stream is kept, and for how long after the last of it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// So many of its items; the oldest give way.
    pub items: u64,
    /// So long.
    pub life: Duration,
}

/// Why a ledger does not do what it is asked for. What it was asked to write may have
/// been written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// Too many are waiting.
    #[error("too much waits to be written")]
    Busy,
    /// A value that no ledger takes.
    #[error("a value can have {} bytes at most", limits::VALUE)]
    TooLarge,
    /// The file is as large as it may be, or its disk is full. What is there can be read,
    /// changed and removed.
    #[error(
        "there is no room: the disk is full, or the file has {} GiB, which is the most that it may have",
        limits::FILE_BYTES >> 30
    )]
    Full,
    /// Whoever keeps it elsewhere is there, and cannot say what holds: mostly since several
    /// keep it, and none of them leads at this moment.
    #[error("NATS answers, and cannot say what is kept there: {0}")]
    Unled(String),
    /// The file, the disk that it is on, or whoever keeps it elsewhere.
    #[error("{0}")]
    Storage(String),
    /// Whoever was to write has gone.
    #[error("it was not written: the program ends, or has broken off")]
    Gone,
}

/// Entries and streams that outlive whoever wrote them.
pub trait Ledger: fmt::Debug + Send + Sync {
    /// What is kept there now, as whoever wrote last left it.
    fn read(&self, key: &Key) -> Pending<Option<Entry>>;

    /// Makes an entry, for as long as `life` says. Nothing where there is one.
    fn create(&self, key: &Key, value: Bytes, life: Option<Duration>) -> Pending<Option<Revision>>;

    /// Changes an entry, and for how long it lives, if it is of this revision still.
    fn compare_and_set(
        &self,
        key: &Key,
        revision: Revision,
        value: Bytes,
        life: Option<Duration>,
    ) -> Pending<Option<Revision>>;

    /// Lets entries of these revisions live this long from now on. The revision that
    /// each has then, which may be another one; nothing for those that are gone.
    fn renew(&self, keys: Vec<(Key, Revision)>, life: Duration) -> Pending<Vec<Option<Revision>>>;

    /// Removes an entry, if it is of this revision still; whatever it is where none is
    /// named. Whether there was one.
    fn remove(&self, key: &Key, revision: Option<Revision>) -> Pending<bool>;

    /// The names and revisions in a space behind a name, in their order.
    fn list(&self, space: &str, after: &str, most: usize) -> Pending<Vec<(String, Revision)>>;

    /// The same with what they hold, from the first on.
    fn entries(&self, space: &str, most: usize) -> Pending<Vec<(String, Entry)>>;

    /// How many are in a space. Those whose time is over are counted until they are
    /// swept away.
    fn count(&self, space: &str) -> Pending<u64>;

    /// Adds to a stream, behind all that was to be added before; the number of the last.
    fn append(&self, stream: &str, values: Vec<Bytes>, keep: Keep) -> Pending<u64>;

    /// What a stream has from a number on.
    fn read_from(&self, stream: &str, number: u64, most: usize) -> Pending<Vec<Item>>;

    /// Ends a stream.
    fn forget(&self, stream: &str) -> Pending<()>;

    /// Removes some of what has outlived its time; whether there may be more.
    fn sweep(&self) -> Pending<bool>;

    /// Told whenever something was changed by this process.
    fn changed(&self) -> &Notify;
}

/// Refuses what no ledger takes.
fn fits(values: &[Bytes]) -> Result<(), LedgerError> {
    match values.iter().any(|value| value.len() > limits::VALUE) {
        true => Err(LedgerError::TooLarge),
        false => Ok(()),
    }
}

/// What is not done at all.
fn refused<T: Send + 'static>(why: LedgerError) -> Pending<T> {
    ready(Err(why)).boxed()
}
