//! Where memories are kept: one SQLite file with a full-text index, readable
//! by its owner alone.

use crate::{answer::Failure, limits, serve::BuiltinError};
use rmcp::schemars::{self, JsonSchema};
use rusqlite::{
    Connection, ErrorCode, InterruptHandle, OpenFlags, OptionalExtension, Row, ToSql,
    TransactionBehavior, params,
};
use serde::Serialize;
use std::{
    fs::Permissions,
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    time::Instant,
};
use switchboard_local::private;

/// The file's name in the data directory.
const FILE: &str = "memory.sqlite3";

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS entry (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT UNIQUE,
        text TEXT NOT NULL,
        tags TEXT NOT NULL,
        created TEXT NOT NULL,
        updated TEXT NOT NULL
    );
    CREATE VIRTUAL TABLE IF NOT EXISTS entry_words USING fts5(
        key, text, tags, content='entry', content_rowid='id', tokenize='unicode61 remove_diacritics 2'
    );
    CREATE TRIGGER IF NOT EXISTS entry_added AFTER INSERT ON entry BEGIN
        INSERT INTO entry_words(rowid, key, text, tags) VALUES (new.id, new.key, new.text, new.tags);
    END;
    CREATE TRIGGER IF NOT EXISTS entry_removed AFTER DELETE ON entry BEGIN
        INSERT INTO entry_words(entry_words, rowid, key, text, tags)
            VALUES ('delete', old.id, old.key, old.text, old.tags);
    END;
    CREATE TRIGGER IF NOT EXISTS entry_changed AFTER UPDATE ON entry BEGIN
        INSERT INTO entry_words(entry_words, rowid, key, text, tags)
            VALUES ('delete', old.id, old.key, old.text, old.tags);
        INSERT INTO entry_words(rowid, key, text, tags) VALUES (new.id, new.key, new.text, new.tags);
    END;
    PRAGMA user_version = 1;
";

/// The version of that.
const VERSION: i64 = 1;

const COLUMNS: &str = "entry.id, entry.key, entry.text, entry.tags, entry.created, entry.updated";

/// One memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Entry {
    /// Its number.
    pub id: i64,
    /// Its address as a resource.
    pub uri: String,
    /// The name it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What is remembered.
    pub text: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// When it was first remembered, in UTC.
    pub created: String,
    /// When it was last changed, in UTC.
    pub updated: String,
}

/// The open file.
#[derive(Debug)]
pub(super) struct Store(Connection);

impl Store {
    /// Opens the file in this directory; makes both where they are missing.
    pub(super) fn open(directory: &Path) -> Result<Self, BuiltinError> {
        let wrong = |fault: &dyn std::fmt::Display| {
            BuiltinError(format!(
                "the memory in {} cannot be used: {fault}",
                directory.display()
            ))
        };
        let file = prepare(directory).map_err(|fault| wrong(&fault))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let open = || {
            let connection = Connection::open_with_flags(&file, flags)?;
            connection.busy_timeout(limits::MEMORY_BUSY)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "trusted_schema", false)?;
            let version: i64 =
                connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
            if version < VERSION {
                connection.execute_batch(&format!("BEGIN IMMEDIATE; {SCHEMA} COMMIT;"))?;
            }
            Ok((connection, version))
        };
        match open() {
            Ok((_, version)) if version > VERSION => {
                Err(wrong(&"a newer version of Switchboard has made it"))
            }
            Ok((connection, _)) => Ok(Self(connection)),
            Err(fault) if is_damaged(&fault) => Err(wrong(&format!(
                "{fault}; move {FILE} away to begin with an empty one"
            ))),
            Err(fault) => Err(wrong(&fault)),
        }
    }

    /// Ends what it is doing, from another thread.
    pub(super) fn interrupt(&self) -> InterruptHandle {
        self.0.get_interrupt_handle()
    }

    /// Remembers a text. One with the same key is replaced; says so.
    pub(super) fn remember(
        &mut self,
        key: Option<&str>,
        text: &str,
        tags: &[String],
    ) -> Result<(Entry, bool), Failure> {
        let now = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        let tags = serde_json::to_string(tags).map_err(|fault| Failure::new(fault.to_string()))?;
        // Immediate: one that begins by reading cannot wait for another writer.
        let change = self
            .0
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(fault)?;
        let before: Option<i64> = change
            .query_row("SELECT id FROM entry WHERE key = ?1", [key], |row| {
                row.get(0)
            })
            .optional()
            .map_err(fault)?;
        let id = match before {
            Some(id) => {
                let update = "UPDATE entry SET text = ?2, tags = ?3, updated = ?4 WHERE id = ?1";
                change
                    .execute(update, params![id, text, tags, now])
                    .map_err(fault)?;
                id
            }
            None => {
                let count: i64 = change
                    .query_row("SELECT count(*) FROM entry", [], |row| row.get(0))
                    .map_err(fault)?;
                if count >= limits::MEMORY_ENTRIES {
                    return Err(Failure::new("the memory is full").hint("forget something first"));
                }
                let insert = "INSERT INTO entry(key, text, tags, created, updated) VALUES (?1, ?2, ?3, ?4, ?4)";
                change
                    .execute(insert, params![key, text, tags, now])
                    .map_err(fault)?;
                change.last_insert_rowid()
            }
        };
        change.commit().map_err(fault)?;
        let entry = self
            .get(id)?
            .ok_or_else(|| Failure::new("the entry is gone again"))?;
        Ok((entry, before.is_some()))
    }

    /// The entry with this number.
    pub(super) fn get(&self, id: i64) -> Result<Option<Entry>, Failure> {
        let query = format!("SELECT {COLUMNS} FROM entry WHERE id = ?1");
        self.0
            .query_row(&query, [id], read)
            .optional()
            .map_err(fault)
    }

    /// The entry with this key.
    pub(super) fn named(&self, key: &str) -> Result<Option<Entry>, Failure> {
        let query = format!("SELECT {COLUMNS} FROM entry WHERE key = ?1");
        self.0
            .query_row(&query, [key], read)
            .optional()
            .map_err(fault)
    }

    /// Forgets an entry.
    pub(super) fn forget(&self, id: i64) -> Result<bool, Failure> {
        let count = self
            .0
            .execute("DELETE FROM entry WHERE id = ?1", [id])
            .map_err(fault)?;
        Ok(count > 0)
    }

    /// Entries that hold these words, the best first: all of the words, else
    /// some of them, else the text as it stands.
    pub(super) fn recall(
        &self,
        query: &str,
        tags: &[String],
        limit: u32,
    ) -> Result<Found, Failure> {
        let words: Vec<String> = query
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .take(32)
            // Quoted, so that no word is taken for an operator.
            .map(|word| format!("\"{word}\"*"))
            .collect();
        let by_words = format!(
            "SELECT {COLUMNS} FROM entry_words JOIN entry ON entry.id = entry_words.rowid
             WHERE entry_words MATCH ?1 AND {TAGGED} ORDER BY bm25(entry_words, 4.0, 1.0, 2.0), entry.id DESC LIMIT ?3"
        );
        for connective in [" AND ", " OR "] {
            if words.is_empty() {
                break;
            }
            let found = self.select(&by_words, &words.join(connective), tags, limit)?;
            if !found.entries.is_empty() {
                return Ok(found);
            }
        }
        let as_it_stands = format!(
            "SELECT {COLUMNS} FROM entry WHERE instr(text, ?1) > 0 AND {TAGGED} ORDER BY id DESC LIMIT ?3"
        );
        self.select(&as_it_stands, query, tags, limit)
    }

    /// Entries, the newest first, and how many there are.
    pub(super) fn list(
        &self,
        tags: &[String],
        offset: u32,
        limit: u32,
    ) -> Result<(Vec<Entry>, u32), Failure> {
        let tags = json(tags)?;
        let count = format!("SELECT count(*) FROM entry WHERE {TAGGED} AND ?1 IS NULL");
        let total: u32 = self
            .0
            .query_row(&count, params![None::<String>, tags], |row| row.get(0))
            .map_err(fault)?;
        let page = format!(
            "SELECT {COLUMNS} FROM entry WHERE {TAGGED} AND ?1 IS NULL ORDER BY id DESC LIMIT ?3 OFFSET ?4"
        );
        let found = self.rows(&page, params![None::<String>, tags, limit, offset])?;
        Ok((found.entries, total))
    }

    fn select(
        &self,
        query: &str,
        first: &str,
        tags: &[String],
        limit: u32,
    ) -> Result<Found, Failure> {
        self.rows(query, params![first, json(tags)?, limit])
    }

    fn rows(&self, query: &str, parameters: &[&dyn ToSql]) -> Result<Found, Failure> {
        let mut statement = self.0.prepare(query).map_err(fault)?;
        let rows = statement.query_map(parameters, read).map_err(fault)?;
        let mut found = Found::default();
        let mut bytes = 0;
        for row in rows {
            let entry = row.map_err(fault)?;
            bytes += entry.text.len();
            if bytes > limits::MEMORY_BYTES && !found.entries.is_empty() {
                found.is_cut = true;
                break;
            }
            found.entries.push(entry);
        }
        Ok(found)
    }
}

/// Entries, as many as fit into one answer.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) entries: Vec<Entry>,
    /// There are others, which did not fit.
    pub(super) is_cut: bool,
}

/// Holds where an entry has all the tags of the second parameter.
const TAGGED: &str = "NOT EXISTS (SELECT 1 FROM json_each(?2) AS wanted WHERE wanted.value NOT IN
                      (SELECT value FROM json_each(entry.tags)))";

fn json(tags: &[String]) -> Result<String, Failure> {
    serde_json::to_string(tags).map_err(|fault| Failure::new(fault.to_string()))
}

fn read(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let id: i64 = row.get(0)?;
    let tags: String = row.get(3)?;
    Ok(Entry {
        id,
        uri: super::address(id),
        key: row.get(1)?,
        text: row.get(2)?,
        tags: serde_json::from_str(&tags).unwrap_or_default(),
        created: row.get(4)?,
        updated: row.get(5)?,
    })
}

fn fault(fault: rusqlite::Error) -> Failure {
    if fault.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
        return Failure::new("the memory took too long").hint(DAMAGED);
    }
    let failure = Failure::new(format!("the memory could not be used: {fault}"));
    if is_damaged(&fault) {
        return failure.hint(DAMAGED);
    }
    failure
}

const DAMAGED: &str =
    "its file may be damaged: the person who runs this server can move memory.sqlite3 away";

fn is_damaged(fault: &rusqlite::Error) -> bool {
    let damaged = [
        ErrorCode::NotADatabase,
        ErrorCode::DatabaseCorrupt,
        ErrorCode::SystemIoFailure,
    ];
    fault
        .sqlite_error_code()
        .is_some_and(|code| damaged.contains(&code))
}

/// The directory and the file, for their owner alone.
fn prepare(directory: &Path) -> io::Result<std::path::PathBuf> {
    private::make_folder(directory)?;
    let file = directory.canonicalize()?.join(FILE);
    match private::create(&file) {
        Ok(_) => return Ok(file),
        Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {}
        Err(fault) => return Err(fault),
    }
    let found = file.symlink_metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("memory.sqlite3 is no ordinary file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("memory.sqlite3 belongs to someone else"));
    }
    // Another program may be making it this very moment.
    let deadline = Instant::now() + limits::MEMORY_MADE;
    while file.symlink_metadata()?.len() == 0 {
        if Instant::now() >= deadline {
            return Err(io::Error::other(format!(
                "{FILE} is empty, and no memory ever is; move it away to begin with a new one"
            )));
        }
        #[expect(clippy::disallowed_methods, reason = "a thread for what blocks")]
        std::thread::sleep(limits::MEMORY_PAUSE);
    }
    if found.mode() & 0o077 != 0 {
        std::fs::set_permissions(&file, Permissions::from_mode(0o600))?;
    }
    Ok(file)
}
