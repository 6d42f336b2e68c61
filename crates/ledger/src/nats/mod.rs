//! A ledger that machines share: entries and streams in NATS JetStream.
//!
//! Entries are the last messages of their subjects in one stream, whose sequence numbers
//! are their revisions; changes name the number that they expect. They are read where the
//! stream's leader is, never from a copy, which may be behind. What ends by itself has a
//! lifetime that NATS watches over, by its own clock. What has been answered survives the
//! death of any one process; whether it survives that of machines is a matter of how NATS
//! is set up.

mod joining;
mod line;
mod names;
mod posted;
mod reading;

pub use joining::{Joining, Store};

use crate::{Entry, Item, Keep, Key, Ledger, LedgerError, Pending, Revision, limits, refused};
use async_nats::{
    Client,
    connection::State,
    jetstream::{
        Context, Error, ErrorCode,
        context::PublishErrorKind,
        message::PublishMessage,
        stream::{DeleteMessageErrorKind, LastRawMessageErrorKind, Stream},
    },
};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, TryStreamExt, future::ready, stream};
use line::Line;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{Notify, OnceCell};

/// Entries and streams in NATS.
pub struct Nats {
    shared: Arc<Shared>,
    line: Line,
    changed: Arc<Notify>,
}

/// What requests need that are under way.
struct Shared {
    client: Client,
    /// Where NATS says that nobody has heard a message.
    unheard: String,
    context: Context,
    /// What NATS has refused last, for want of a right.
    denied: Arc<Mutex<Option<String>>>,
    /// Whether NATS lets us have consumers. A worker may have none: NATS would send what they
    /// read to any subject that it is told.
    has_readers: bool,
    streams: OnceCell<Streams>,
    /// How many entries spaces had, and when that was counted.
    counts: Mutex<HashMap<String, (u64, Instant)>>,
}

struct Streams {
    entries: Stream,
    events: Stream,
}

impl Nats {
    /// Whether it can be asked at this moment.
    pub fn is_connected(&self) -> bool {
        self.shared.client.connection_state() == State::Connected
    }

    /// What went wrong, with whether anybody is there at all.
    pub fn told(&self, fault: LedgerError) -> LedgerError {
        self.shared.told(fault)
    }

    /// Does something with what is shared, for as long as that takes.
    fn asks<T, F>(&self, job: impl FnOnce(Arc<Shared>) -> F) -> Pending<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, LedgerError>> + Send + 'static,
    {
        job(self.shared.clone()).boxed()
    }

    /// The same of something that others may want to hear of.
    fn writes<T, F>(&self, job: impl FnOnce(Arc<Shared>) -> F) -> Pending<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, LedgerError>> + Send + 'static,
    {
        let (done, changed) = (job(self.shared.clone()), self.changed.clone());
        done.inspect(move |_| changed.notify_waiters()).boxed()
    }
}

/// What faults begin with.
const WHO: &str = "NATS: ";

fn fault(why: impl fmt::Display) -> LedgerError {
    LedgerError::Storage(format!("{WHO}{why}"))
}

fn fits(value: &Bytes) -> Result<(), LedgerError> {
    match value.len() > limits::NATS_VALUE {
        true => Err(LedgerError::TooLarge),
        false => Ok(()),
    }
}

/// Lifetimes are whole seconds there, and none is shorter than it should be.
fn living(message: PublishMessage, life: Option<Duration>) -> PublishMessage {
    let Some(life) = life else { return message };
    let more = u64::from(life.subsec_nanos() > 0);
    message.ttl(Duration::from_secs((life.as_secs() + more).max(1)))
}

impl Shared {
    fn told(&self, fault: LedgerError) -> LedgerError {
        match fault {
            LedgerError::Storage(why) if self.client.connection_state() == State::Connected => {
                let why = why.strip_prefix(WHO).unwrap_or(&why);
                LedgerError::Unled(why.to_owned())
            }
            other => other,
        }
    }

    async fn read(&self, subject: &str) -> Result<Option<Entry>, LedgerError> {
        let entries = &self.streams().await?.entries;
        let found = entries.get_last_raw_message_by_subject(subject).await;
        match found {
            Ok(message) => Ok(Some(Entry {
                revision: message.sequence,
                value: message.payload,
            })),
            Err(why) if why.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(why) => Err(fault(why)),
        }
    }

    /// Writes an entry if its last revision is this one; 0 where there must be none.
    async fn put(
        &self,
        subject: &str,
        last: Revision,
        value: Bytes,
        life: Option<Duration>,
    ) -> Result<Option<Revision>, LedgerError> {
        let begun = Instant::now();
        self.streams().await?;
        loop {
            let message = PublishMessage::build().payload(value.clone());
            let message = living(message, life).expected_last_subject_sequence(last);
            let sent = self.context.send_publish(subject.to_owned(), message).await;
            let acknowledged = match sent {
                Ok(acknowledged) => acknowledged.await,
                Err(why) => Err(why),
            };
            let why = match acknowledged {
                Ok(acknowledged) => return Ok(Some(acknowledged.sequence)),
                Err(why) => why,
            };
            match why.kind() {
                PublishErrorKind::WrongLastSequence => return Ok(None),
                // Nobody leads at this moment, so that nothing was written.
                PublishErrorKind::StreamNotFound if begun.elapsed() < limits::NATS_ANSWER => {
                    tokio::time::sleep(limits::NATS_LOOK).await;
                }
                PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => {
                    // It may have been written. Values are like no other, being sealed.
                    let found = self.read(subject).await?;
                    let ours = found.filter(|entry| entry.value == value && !value.is_empty());
                    return match ours {
                        Some(entry) => Ok(Some(entry.revision)),
                        None => Err(fault(why)),
                    };
                }
                _ if is_another(&why) => return Ok(None),
                _ => return Err(fault(why)),
            }
        }
    }

    async fn remove(&self, subject: &str, revision: Option<Revision>) -> Result<bool, LedgerError> {
        let entries = &self.streams().await?.entries;
        let Some(revision) = revision else {
            let purged = entries.purge().filter(subject).await.map_err(fault)?;
            return Ok(purged.purged > 0);
        };
        let found = self.read(subject).await?;
        if found.is_none_or(|entry| entry.revision != revision) {
            return Ok(false);
        }
        // A number is never used twice, so that this removes that revision or nothing.
        match entries.delete_message(revision).await {
            Ok(done) => Ok(done),
            Err(why) => match why.kind() {
                DeleteMessageErrorKind::JetStream(error) if is_gone(&error) => Ok(false),
                _ => Err(fault(why)),
            },
        }
    }

    /// Lets an entry live on, which gives it another revision.
    async fn renew(
        &self,
        key: Key,
        revision: Revision,
        life: Duration,
    ) -> Result<Option<Revision>, LedgerError> {
        let subject = names::entry(&key);
        let found = self.read(&subject).await?;
        match found.filter(|entry| entry.revision == revision) {
            Some(entry) => self.put(&subject, revision, entry.value, Some(life)).await,
            None => Ok(None),
        }
    }

    async fn count(&self, space: &str) -> Result<u64, LedgerError> {
        let known = self.counts.lock().get(space).copied();
        if let Some((count, at)) = known
            && at.elapsed() < limits::NATS_COUNTED
        {
            return Ok(count);
        }
        let entries = &self.streams().await?.entries;
        let count = reading::count(entries, names::space(space)).await?;
        let mut counts = self.counts.lock();
        if counts.len() >= limits::NATS_COUNTS {
            counts.clear();
        }
        counts.insert(space.to_owned(), (count, Instant::now()));
        Ok(count)
    }

    /// What this process changes need not be counted again.
    fn counted(&self, space: &str, change: impl FnOnce(u64) -> u64) {
        if let Some((count, _)) = self.counts.lock().get_mut(space) {
            *count = change(*count);
        }
    }

    async fn read_from(
        &self,
        subject: &str,
        number: u64,
        most: usize,
    ) -> Result<Vec<Item>, LedgerError> {
        let events = &self.streams().await?.events;
        // As the leader has it, so that what was acknowledged is not left out.
        let last = match events.get_last_raw_message_by_subject(subject).await {
            Ok(message) => message.sequence,
            Err(why) if why.kind() == LastRawMessageErrorKind::NoMessageFound => {
                return Ok(Vec::new());
            }
            Err(why) => return Err(fault(why)),
        };
        if number > last || most == 0 {
            return Ok(Vec::new());
        }
        let begun = Instant::now();
        loop {
            let items = reading::items(events, subject, number, most).await?;
            let is_whole = items.len() >= most || items.last().is_some_and(|it| it.number >= last);
            if is_whole || begun.elapsed() > limits::NATS_ANSWER {
                return Ok(items);
            }
            tokio::time::sleep(limits::NATS_LOOK).await;
        }
    }
}

/// Whether somebody else was faster, in the words of newer servers.
fn is_another(why: &async_nats::jetstream::context::PublishError) -> bool {
    let source = std::error::Error::source(why);
    let error = source.and_then(|source| source.downcast_ref::<Error>());
    error.is_some_and(|error| error.error_code() == ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT)
}

fn is_gone(error: &Error) -> bool {
    let gone = [ErrorCode::SEQUENCE_NOT_FOUND, ErrorCode::NO_MESSAGE_FOUND];
    gone.contains(&error.error_code())
}

impl Ledger for Nats {
    fn read(&self, key: &Key) -> Pending<Option<Entry>> {
        let subject = names::entry(key);
        self.asks(move |shared| async move { shared.read(&subject).await })
    }

    fn create(&self, key: &Key, value: Bytes, life: Option<Duration>) -> Pending<Option<Revision>> {
        if let Err(why) = fits(&value) {
            return refused(why);
        }
        let (subject, space) = (names::entry(key), key.space.clone());
        self.writes(move |shared| async move {
            let made = shared.put(&subject, 0, value, life).await?;
            if made.is_some() {
                shared.counted(&space, |count| count + 1);
            }
            Ok(made)
        })
    }

    fn compare_and_set(
        &self,
        key: &Key,
        revision: Revision,
        value: Bytes,
        life: Option<Duration>,
    ) -> Pending<Option<Revision>> {
        if let Err(why) = fits(&value) {
            return refused(why);
        }
        let subject = names::entry(key);
        self.writes(move |shared| async move {
            match revision {
                // There it would mean that there is none.
                0 => Ok(None),
                _ => shared.put(&subject, revision, value, life).await,
            }
        })
    }

    fn renew(&self, keys: Vec<(Key, Revision)>, life: Duration) -> Pending<Vec<Option<Revision>>> {
        self.asks(move |shared| async move {
            let each = stream::iter(keys).map(|(key, revision)| {
                let shared = shared.clone();
                async move { shared.renew(key, revision, life).await }
            });
            each.buffered(limits::NATS_RENEWALS).try_collect().await
        })
    }

    fn remove(&self, key: &Key, revision: Option<Revision>) -> Pending<bool> {
        let (subject, space) = (names::entry(key), key.space.clone());
        self.writes(move |shared| async move {
            let removed = shared.remove(&subject, revision).await?;
            if removed {
                shared.counted(&space, |count| count.saturating_sub(1));
            }
            Ok(removed)
        })
    }

    fn list(&self, space: &str, after: &str, most: usize) -> Pending<Vec<(String, Revision)>> {
        let (subjects, after) = (names::space(space), after.to_owned());
        self.asks(move |shared| async move {
            let entries = &shared.streams().await?.entries;
            let listed = reading::entries(entries, subjects, &after, most, true).await?;
            let listed = listed.into_iter();
            Ok(listed.map(|(name, entry)| (name, entry.revision)).collect())
        })
    }

    fn entries(&self, space: &str, most: usize) -> Pending<Vec<(String, Entry)>> {
        let subjects = names::space(space);
        self.asks(move |shared| async move {
            let entries = &shared.streams().await?.entries;
            let listed = match shared.has_readers {
                true => reading::entries(entries, subjects, "", most, false).await,
                false => reading::one_by_one(entries, &subjects, most).await,
            };
            Ok(listed?.into_iter().collect())
        })
    }

    fn count(&self, space: &str) -> Pending<u64> {
        let space = space.to_owned();
        self.asks(move |shared| async move { shared.count(&space).await })
    }

    fn append(&self, stream: &str, values: Vec<Bytes>, keep: Keep) -> Pending<u64> {
        if let Some(why) = values.iter().find_map(|value| fits(value).err()) {
            return refused(why);
        }
        let appended = self.line.add(names::stream(stream), values, keep);
        let changed = self.changed.clone();
        appended.inspect(move |_| changed.notify_waiters()).boxed()
    }

    fn read_from(&self, stream: &str, number: u64, most: usize) -> Pending<Vec<Item>> {
        let subject = names::stream(stream);
        self.asks(move |shared| async move { shared.read_from(&subject, number, most).await })
    }

    fn forget(&self, stream: &str) -> Pending<()> {
        let subject = names::stream(stream);
        self.writes(move |shared| async move {
            let events = &shared.streams().await?.events;
            let purged = events.purge().filter(subject).await;
            purged.map(drop).map_err(fault)
        })
    }

    /// NATS sees to that itself; what was counted is counted anew.
    fn sweep(&self) -> Pending<bool> {
        self.shared.counts.lock().clear();
        ready(Ok(false)).boxed()
    }

    fn changed(&self) -> &Notify {
        &self.changed
    }
}

impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nats")
    }
}
