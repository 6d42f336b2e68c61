//! A ledger in memory: for as long as the process, and what the other is held to.

use crate::{Clock, Entry, Item, Keep, Key, Ledger, Pending, Revision, fits, limits, refused};
use bytes::Bytes;
use futures_util::{FutureExt, future::ready};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    ops::Bound,
    time::Duration,
};
use tokio::sync::Notify;

/// Entries and streams of this process.
pub struct Memory {
    clock: Clock,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    revision: Revision,
    spaces: BTreeMap<String, BTreeMap<String, Held>>,
    streams: BTreeMap<String, Stream>,
}

struct Held {
    entry: Entry,
    /// Nothing for one that stays.
    until: Option<u64>,
}

#[derive(Default)]
struct Stream {
    last: u64,
    items: VecDeque<Item>,
    until: u64,
}

impl Memory {
    /// An empty one, whose entries live by this clock.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    fn said<T: Send + 'static>(&self, said: T) -> Pending<T> {
        ready(Ok(said)).boxed()
    }

    fn written<T: Send + 'static>(&self, said: T) -> Pending<T> {
        self.changed.notify_waiters();
        self.said(said)
    }
}

impl State {
    fn live(&mut self, key: &Key, now: u64) -> Option<&mut Held> {
        let held = self.spaces.get_mut(&key.space)?.get_mut(&key.name)?;
        held.until.is_none_or(|until| until > now).then_some(held)
    }

    fn put(&mut self, key: &Key, value: Bytes, until: Option<u64>) -> Revision {
        self.revision += 1;
        let revision = self.revision;
        let entry = Entry { revision, value };
        let space = self.spaces.entry(key.space.clone()).or_default();
        space.insert(key.name.clone(), Held { entry, until });
        revision
    }
}

impl Ledger for Memory {
    fn read(&self, key: &Key) -> Pending<Option<Entry>> {
        let now = self.clock.now();
        let held = self
            .state
            .lock()
            .live(key, now)
            .map(|held| held.entry.clone());
        self.said(held)
    }

    fn create(&self, key: &Key, value: Bytes, life: Option<Duration>) -> Pending<Option<Revision>> {
        if let Err(why) = fits(std::slice::from_ref(&value)) {
            return refused(why);
        }
        let (now, until) = (self.clock.now(), life.map(|life| self.clock.after(life)));
        let mut state = self.state.lock();
        if state.live(key, now).is_some() {
            return self.said(None);
        }
        let made = state.put(key, value, until);
        drop(state);
        self.written(Some(made))
    }

    fn compare_and_set(
        &self,
        key: &Key,
        revision: Revision,
        value: Bytes,
        life: Option<Duration>,
    ) -> Pending<Option<Revision>> {
        if let Err(why) = fits(std::slice::from_ref(&value)) {
            return refused(why);
        }
        let (now, until) = (self.clock.now(), life.map(|life| self.clock.after(life)));
        let mut state = self.state.lock();
        let is_same = |held: &mut Held| held.entry.revision == revision;
        if !state.live(key, now).is_some_and(is_same) {
            return self.said(None);
        }
        let set = state.put(key, value, until);
        drop(state);
        self.written(Some(set))
    }

    fn renew(&self, keys: Vec<(Key, Revision)>, life: Duration) -> Pending<Vec<Option<Revision>>> {
        let (now, until) = (self.clock.now(), self.clock.after(life));
        let mut state = self.state.lock();
        let renewed = keys.into_iter().map(|(key, revision)| {
            let held = state.live(&key, now)?;
            let is_meant = held.entry.revision == revision;
            is_meant.then(|| {
                held.until = Some(until);
                revision
            })
        });
        let renewed = renewed.collect();
        drop(state);
        self.said(renewed)
    }

    fn remove(&self, key: &Key, revision: Option<Revision>) -> Pending<bool> {
        let now = self.clock.now();
        let mut state = self.state.lock();
        let is_meant =
            |held: &mut Held| revision.is_none_or(|revision| held.entry.revision == revision);
        if !state.live(key, now).is_some_and(is_meant) {
            return self.said(false);
        }
        if let Some(space) = state.spaces.get_mut(&key.space) {
            space.remove(&key.name);
        }
        drop(state);
        self.written(true)
    }

    fn list(&self, space: &str, after: &str, most: usize) -> Pending<Vec<(String, Revision)>> {
        let now = self.clock.now();
        let state = self.state.lock();
        let behind = (Bound::Excluded(after), Bound::Unbounded);
        let entries = state
            .spaces
            .get(space)
            .map(|all| all.range::<str, _>(behind));
        let live = |held: &Held| held.until.is_none_or(|until| until > now);
        let listed = entries
            .into_iter()
            .flatten()
            .filter(|(_, held)| live(held))
            .take(most)
            .map(|(name, held)| (name.clone(), held.entry.revision));
        self.said(listed.collect())
    }

    fn entries(&self, space: &str, most: usize) -> Pending<Vec<(String, Entry)>> {
        let now = self.clock.now();
        let state = self.state.lock();
        let entries = state.spaces.get(space).into_iter().flatten();
        let live = entries.filter(|(_, held)| held.until.is_none_or(|until| until > now));
        let listed = live
            .take(most)
            .map(|(name, held)| (name.clone(), held.entry.clone()));
        self.said(listed.collect())
    }

    fn count(&self, space: &str) -> Pending<u64> {
        let state = self.state.lock();
        let count = state.spaces.get(space).map_or(0, BTreeMap::len);
        self.said(count as u64)
    }

    fn append(&self, stream: &str, values: Vec<Bytes>, keep: Keep) -> Pending<u64> {
        if let Err(why) = fits(&values) {
            return refused(why);
        }
        let (now, until) = (self.clock.now(), self.clock.after(keep.life));
        let mut state = self.state.lock();
        let stream = state.streams.entry(stream.to_owned()).or_default();
        if stream.until <= now {
            *stream = Stream::default();
        }
        stream.until = until;
        for value in values {
            stream.last += 1;
            let number = stream.last;
            stream.items.push_back(Item { number, value });
        }
        while stream.items.len() as u64 > keep.items {
            stream.items.pop_front();
        }
        let last = stream.last;
        drop(state);
        self.written(last)
    }

    fn read_from(&self, stream: &str, number: u64, most: usize) -> Pending<Vec<Item>> {
        let now = self.clock.now();
        let state = self.state.lock();
        let stream = state
            .streams
            .get(stream)
            .filter(|stream| stream.until > now);
        let items = stream.into_iter().flat_map(|stream| &stream.items);
        let items = items.filter(|item| item.number >= number).take(most);
        self.said(items.cloned().collect())
    }

    fn forget(&self, stream: &str) -> Pending<()> {
        self.state.lock().streams.remove(stream);
        self.written(())
    }

    fn sweep(&self) -> Pending<bool> {
        let now = self.clock.now();
        let mut state = self.state.lock();
        let mut left = limits::SWEPT;
        let mut over = |until: Option<u64>| {
            let is_over = left > 0 && until.is_some_and(|until| until <= now);
            left -= usize::from(is_over);
            is_over
        };
        for space in state.spaces.values_mut() {
            space.retain(|_, held| !over(held.until));
        }
        state.streams.retain(|_, stream| !over(Some(stream.until)));
        state.spaces.retain(|_, space| !space.is_empty());
        drop(state);
        self.written(left == 0)
    }

    fn changed(&self) -> &Notify {
        &self.changed
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}
