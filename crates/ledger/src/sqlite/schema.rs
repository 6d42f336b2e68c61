//! The file and its tables.

use crate::{LedgerError, limits};
use rusqlite::{Connection, OpenFlags};
use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::Path,
};
use switchboard_local::private;

/// The version of the tables.
const VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS entry (
        space TEXT NOT NULL,
        name TEXT NOT NULL,
        revision INTEGER NOT NULL,
        value BLOB NOT NULL,
        until INTEGER,
        PRIMARY KEY (space, name)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS entry_until ON entry (until) WHERE until IS NOT NULL;
    CREATE TABLE IF NOT EXISTS tally (space TEXT PRIMARY KEY, entries INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TRIGGER IF NOT EXISTS entry_added AFTER INSERT ON entry BEGIN
        INSERT INTO tally (space, entries) VALUES (new.space, 1)
            ON CONFLICT (space) DO UPDATE SET entries = entries + 1;
    END;
    CREATE TRIGGER IF NOT EXISTS entry_removed AFTER DELETE ON entry BEGIN
        UPDATE tally SET entries = entries - 1 WHERE space = old.space;
        DELETE FROM tally WHERE space = old.space AND entries <= 0;
    END;
    CREATE TABLE IF NOT EXISTS stream (
        name TEXT PRIMARY KEY, last INTEGER NOT NULL, until INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS stream_until ON stream (until);
    CREATE TABLE IF NOT EXISTS item (
        stream TEXT NOT NULL, number INTEGER NOT NULL, value BLOB NOT NULL,
        PRIMARY KEY (stream, number)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS clock (revision INTEGER NOT NULL);
    INSERT INTO clock SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM clock);
    PRAGMA user_version = 1;
";

/// Opens the file with its tables.
pub(super) fn open(file: &Path) -> Result<Connection, LedgerError> {
    let wrong = |fault: &dyn std::fmt::Display| {
        LedgerError::Storage(format!("{} cannot be used: {fault}", file.display()))
    };
    prepare(file).map_err(|fault| wrong(&fault))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let open = || {
        let connection = Connection::open_with_flags(file, flags)?;
        connection.busy_timeout(limits::FILE_BUSY)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // Synced when the journal is folded in: what is written outlives the process at
        // once, and the machine soon.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "secure_delete", "FAST")?;
        connection.set_prepared_statement_cache_capacity(32);
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version < VERSION {
            connection.execute_batch(&format!("BEGIN IMMEDIATE; {TABLES} COMMIT;"))?;
        }
        Ok::<_, rusqlite::Error>((connection, version))
    };
    match open() {
        Ok((_, version)) if version > VERSION => {
            Err(wrong(&"a newer version of Switchboard has made it"))
        }
        Ok((connection, _)) => Ok(connection),
        Err(fault) => Err(wrong(&fault)),
    }
}

/// Makes the file, for its owner alone.
fn prepare(file: &Path) -> io::Result<()> {
    private::folder(file.parent().unwrap_or(Path::new(".")))?;
    match private::create(file) {
        Ok(_) => Ok(()),
        Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {
            let found = fs::symlink_metadata(file)?;
            if !found.is_file() {
                return Err(io::Error::other("it is no file"));
            }
            if found.permissions().mode() & 0o077 != 0 {
                fs::set_permissions(file, Permissions::from_mode(0o600))?;
            }
            Ok(())
        }
        Err(fault) => Err(fault),
    }
}
