//! A ledger in a file, which its owner alone can read.
//!
//! Whatever is asked for waits in a line; one thread at a time takes the line and does
//! all of it in one transaction, so that many who write at once pay for one. What has
//! been answered survives the death of the process. It need not survive that of the
//! machine: the file is synced when its journal is folded in, not with each change.

mod jobs;
mod schema;

use crate::{
    Clock, Entry, Item, Keep, Key, Ledger, LedgerError, Pending, Revision, fits, limits, refused,
};
use bytes::Bytes;
use jobs::{Fault, Line};
use rusqlite::{Connection, OptionalExtension, params};
use std::{fmt, path::Path, sync::Arc, time::Duration};
use tokio::sync::Notify;

/// Entries and streams in a file.
pub struct Sqlite {
    clock: Clock,
    line: Arc<Line>,
    changed: Arc<Notify>,
}

type Done<T> = Result<T, Fault>;

impl Sqlite {
    /// Opens the file; makes it, and the folder that it is in, where they are missing.
    pub fn open(file: &Path, clock: Clock) -> Result<Self, LedgerError> {
        Self::open_within(file, clock, limits::FILE_BYTES)
    }

    /// The same of a file that has so many bytes at most. What is over is counted until it
    /// is swept away.
    pub fn open_within(file: &Path, clock: Clock, most: u64) -> Result<Self, LedgerError> {
        let connection = schema::open(file)?;
        Ok(Self {
            clock,
            line: Arc::new(Line::new(connection, most)),
            changed: Arc::default(),
        })
    }

    fn asks<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Done<T> + Send + 'static,
    ) -> Pending<T> {
        self.line.add(job, None)
    }

    /// The same of something that others may want to hear of.
    fn writes<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Done<T> + Send + 'static,
    ) -> Pending<T> {
        self.line.add(job, Some(self.changed.clone()))
    }

    /// The same of something that makes the file larger, where it may become so.
    fn adds<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Done<T> + Send + 'static,
    ) -> Pending<T> {
        let room = self.line.room().clone();
        self.writes(move |file| match room.is_left() {
            true => job(file),
            false => Err(Fault::Full),
        })
    }

    fn until(&self, life: Option<Duration>) -> Option<i64> {
        life.map(|life| signed(self.clock.after(life)))
    }

    fn now(&self) -> i64 {
        signed(self.clock.now())
    }
}

impl Ledger for Sqlite {
    fn read(&self, key: &Key) -> Pending<Option<Entry>> {
        let (key, now) = (key.clone(), self.now());
        self.asks(move |file| {
            let sql = "SELECT revision, value FROM entry
                WHERE space = ?1 AND name = ?2 AND (until IS NULL OR until > ?3)";
            let mut read = file.prepare_cached(sql)?;
            let found = read.query_row(params![key.space, key.name, now], |row| {
                Ok(Entry {
                    revision: unsigned(row.get(0)?),
                    value: Bytes::from(row.get::<_, Vec<u8>>(1)?),
                })
            });
            Ok(found.optional()?)
        })
    }

    fn create(&self, key: &Key, value: Bytes, life: Option<Duration>) -> Pending<Option<Revision>> {
        if let Err(why) = fits(std::slice::from_ref(&value)) {
            return refused(why);
        }
        let (key, now, until) = (key.clone(), self.now(), self.until(life));
        self.adds(move |file| {
            let over = "DELETE FROM entry WHERE space = ?1 AND name = ?2 AND until <= ?3";
            let place = params![key.space, key.name, now];
            file.prepare_cached(over)?.execute(place)?;
            let sql = "INSERT INTO entry (space, name, revision, value, until)
                VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
            let revision = next_revision(file)?;
            let row = params![key.space, key.name, revision, &value[..], until];
            let made = file.prepare_cached(sql)?.execute(row)?;
            Ok((made > 0).then_some(unsigned(revision)))
        })
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
        let (key, now, until) = (key.clone(), self.now(), self.until(life));
        self.writes(move |file| {
            let sql = "UPDATE entry SET revision = ?1, value = ?2, until = ?3
                WHERE space = ?4 AND name = ?5 AND revision = ?6 AND (until IS NULL OR until > ?7)";
            let next = next_revision(file)?;
            let (space, name, old) = (key.space, key.name, signed(revision));
            let row = params![next, &value[..], until, space, name, old, now];
            let set = file.prepare_cached(sql)?.execute(row)?;
            Ok((set > 0).then_some(unsigned(next)))
        })
    }

    fn renew(&self, keys: Vec<(Key, Revision)>, life: Duration) -> Pending<Vec<Option<Revision>>> {
        let (now, until) = (self.now(), self.until(Some(life)));
        self.asks(move |file| {
            let sql = "UPDATE entry SET until = ?1
                WHERE space = ?2 AND name = ?3 AND revision = ?4 AND (until IS NULL OR until > ?5)";
            let mut renew = file.prepare_cached(sql)?;
            let renewed = keys.into_iter().map(|(key, revision)| {
                let row = params![until, key.space, key.name, signed(revision), now];
                Ok((renew.execute(row)? > 0).then_some(revision))
            });
            renewed.collect::<Done<_>>()
        })
    }

    fn remove(&self, key: &Key, revision: Option<Revision>) -> Pending<bool> {
        let (key, now) = (key.clone(), self.now());
        self.writes(move |file| {
            let sql = "DELETE FROM entry WHERE space = ?1 AND name = ?2
                AND (?3 IS NULL OR revision = ?3) AND (until IS NULL OR until > ?4)";
            let row = params![key.space, key.name, revision.map(signed), now];
            Ok(file.prepare_cached(sql)?.execute(row)? > 0)
        })
    }

    fn list(&self, space: &str, after: &str, most: usize) -> Pending<Vec<(String, Revision)>> {
        let (space, after, now) = (space.to_owned(), after.to_owned(), self.now());
        self.asks(move |file| {
            let sql = "SELECT name, revision FROM entry
                WHERE space = ?1 AND name > ?2 AND (until IS NULL OR until > ?3)
                ORDER BY name LIMIT ?4";
            let mut list = file.prepare_cached(sql)?;
            let rows = list.query_map(params![space, after, now, signed(most as u64)], |row| {
                Ok((row.get(0)?, unsigned(row.get(1)?)))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn entries(&self, space: &str, most: usize) -> Pending<Vec<(String, Entry)>> {
        let (space, now) = (space.to_owned(), self.now());
        self.asks(move |file| {
            let sql = "SELECT name, revision, value FROM entry
                WHERE space = ?1 AND (until IS NULL OR until > ?2)
                ORDER BY name LIMIT ?3";
            let mut list = file.prepare_cached(sql)?;
            let rows = list.query_map(params![space, now, signed(most as u64)], |row| {
                let entry = Entry {
                    revision: unsigned(row.get(1)?),
                    value: Bytes::from(row.get::<_, Vec<u8>>(2)?),
                };
                Ok((row.get(0)?, entry))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn count(&self, space: &str) -> Pending<u64> {
        let space = space.to_owned();
        self.asks(move |file| {
            let sql = "SELECT entries FROM tally WHERE space = ?1";
            let mut count = file.prepare_cached(sql)?;
            let found = count.query_row([space], |row| row.get(0)).optional()?;
            Ok(found.map_or(0, unsigned))
        })
    }

    fn append(&self, stream: &str, values: Vec<Bytes>, keep: Keep) -> Pending<u64> {
        if let Err(why) = fits(&values) {
            return refused(why);
        }
        let (stream, now) = (stream.to_owned(), self.now());
        let until = signed(self.clock.after(keep.life));
        self.adds(move |file| append(file, &stream, &values, keep.items, (now, until)))
    }

    fn read_from(&self, stream: &str, number: u64, most: usize) -> Pending<Vec<Item>> {
        let (stream, now) = (stream.to_owned(), self.now());
        self.asks(move |file| {
            let sql = "SELECT item.number, item.value FROM item, stream
                WHERE item.stream = ?1 AND item.number >= ?2
                    AND stream.name = item.stream AND stream.until > ?3
                ORDER BY item.number LIMIT ?4";
            let mut read = file.prepare_cached(sql)?;
            let row = params![stream, signed(number), now, signed(most as u64)];
            let items = read.query_map(row, |row| {
                Ok(Item {
                    number: unsigned(row.get(0)?),
                    value: Bytes::from(row.get::<_, Vec<u8>>(1)?),
                })
            })?;
            Ok(items.collect::<Result<_, _>>()?)
        })
    }

    fn forget(&self, stream: &str) -> Pending<()> {
        let stream = stream.to_owned();
        self.writes(move |file| forget(file, &stream))
    }

    fn sweep(&self) -> Pending<bool> {
        let now = self.now();
        self.writes(move |file| {
            let most = signed(limits::SWEPT as u64);
            let sql = "DELETE FROM entry WHERE (space, name) IN
                (SELECT space, name FROM entry WHERE until <= ?1 LIMIT ?2)";
            let entries = file.prepare_cached(sql)?.execute([now, most])?;
            let sql = "SELECT name FROM stream WHERE until <= ?1 LIMIT ?2";
            let mut over = file.prepare_cached(sql)?;
            let over = over.query_map([now, most], |row| row.get(0))?;
            let over: Vec<String> = over.collect::<Result<_, _>>()?;
            for stream in &over {
                forget(file, stream)?;
            }
            Ok(entries >= limits::SWEPT || over.len() >= limits::SWEPT)
        })
    }

    fn changed(&self) -> &Notify {
        &self.changed
    }
}

fn append(
    file: &Connection,
    stream: &str,
    values: &[Bytes],
    most: u64,
    (now, until): (i64, i64),
) -> Done<u64> {
    let sql = "SELECT last, until FROM stream WHERE name = ?1";
    let mut found = file.prepare_cached(sql)?;
    let found = found.query_row([stream], |row| Ok((row.get(0)?, row.get(1)?)));
    let (mut last, was_until): (i64, i64) = found.optional()?.unwrap_or((0, i64::MAX));
    if was_until <= now {
        forget(file, stream)?;
        last = 0;
    }
    let sql = "INSERT INTO item (stream, number, value) VALUES (?1, ?2, ?3)";
    let mut add = file.prepare_cached(sql)?;
    for value in values {
        last += 1;
        add.execute(params![stream, last, &value[..]])?;
    }
    let sql = "INSERT INTO stream (name, last, until) VALUES (?1, ?2, ?3)
        ON CONFLICT (name) DO UPDATE SET last = excluded.last, until = excluded.until";
    file.prepare_cached(sql)?
        .execute(params![stream, last, until])?;
    let sql = "DELETE FROM item WHERE stream = ?1 AND number <= ?2";
    let oldest = last.saturating_sub(signed(most));
    file.prepare_cached(sql)?.execute(params![stream, oldest])?;
    Ok(unsigned(last))
}

fn forget(file: &Connection, stream: &str) -> Done<()> {
    file.prepare_cached("DELETE FROM item WHERE stream = ?1")?
        .execute([stream])?;
    file.prepare_cached("DELETE FROM stream WHERE name = ?1")?
        .execute([stream])?;
    Ok(())
}

fn next_revision(file: &Connection) -> Done<i64> {
    let sql = "UPDATE clock SET revision = revision + 1 RETURNING revision";
    Ok(file.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// SQLite's integers have a sign; ours never come near it.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sqlite")
    }
}
