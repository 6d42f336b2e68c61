//! Large results on disk: one file each, readable by their owner only, under a
//! name that cannot be guessed, until they are old or the place is full.

use crate::limits;
use parking_lot::Mutex;
use std::{
    fs, io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};
use switchboard_local::{private, random};

mod read;
pub use read::{Page, Query, ReadError, Row};

/// A directory of large results.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    caps: Caps,
    usage: Mutex<Usage>,
}

/// How much a [`Store`] holds.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// How long a result is kept.
    pub age: Duration,
    /// Bytes of all together.
    pub bytes: u64,
    /// Files in all.
    pub files: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            age: limits::STORE_AGE,
            bytes: limits::STORE_BYTES,
            files: limits::STORE_FILES,
        }
    }
}

/// A result that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its name for [`Store::read`].
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: usize,
    /// Characters, if it is text.
    pub chars: usize,
    /// Lines as they are read back.
    pub lines: usize,
}

/// What was there when it was last looked at, plus what was added since. Other
/// programs may use the same directory, so it is looked at again now and then.
#[derive(Debug)]
struct Usage {
    bytes: u64,
    files: usize,
    looked: Instant,
}

impl Store {
    /// The store in this directory, which is made if it is missing. Old results are removed.
    pub fn open(dir: impl Into<PathBuf>) -> io::Result<Arc<Self>> {
        Self::with_caps(dir, Caps::default())
    }

    /// The same with other caps.
    pub fn with_caps(dir: impl Into<PathBuf>, caps: Caps) -> io::Result<Arc<Self>> {
        let dir = dir.into();
        private::folder(&dir)?;
        let usage = Mutex::new(Usage {
            bytes: 0,
            files: 0,
            looked: Instant::now(),
        });
        let store = Self { dir, caps, usage };
        store.clean()?;
        Ok(Arc::new(store))
    }

    /// Stores bytes. `extension` must be one of ours, never a server's text.
    pub fn put(&self, bytes: &[u8], extension: &'static str) -> io::Result<Stored> {
        let id = random::id()?;
        let path = self.dir.join(format!("{id}.{extension}"));
        private::write_new(&path, bytes)?;
        let full = {
            let mut usage = self.usage.lock();
            usage.bytes += bytes.len() as u64;
            usage.files += 1;
            usage.bytes > self.caps.bytes
                || usage.files > self.caps.files
                || usage.looked.elapsed() > limits::STORE_LOOK
        };
        if full && let Err(fault) = self.clean() {
            tracing::warn!(dir = %self.dir.display(), %fault, "old results could not be removed");
        }
        let text = std::str::from_utf8(bytes).ok();
        let chars = text.map_or(0, |text| text.chars().count());
        let lines = text.map_or(0, read::count_rows);
        Ok(Stored {
            id,
            path,
            bytes: bytes.len(),
            chars,
            lines,
        })
    }

    /// Removes what is too old, then the oldest until the rest is within the caps. Returns how many went.
    pub fn clean(&self) -> io::Result<usize> {
        let now = SystemTime::now();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let metadata = match entry.metadata() {
                Ok(metadata) if metadata.is_file() => metadata,
                // Removed by another program meanwhile, or not ours.
                _ => continue,
            };
            files.push((
                metadata.modified().unwrap_or(now),
                metadata.len(),
                entry.path(),
            ));
        }
        files.sort();
        let mut bytes: u64 = files.iter().map(|(_, size, _)| size).sum();
        let mut count = files.len();
        let mut removed = 0;
        for (modified, size, path) in &files {
            let age = now.duration_since(*modified).unwrap_or_default();
            let last = count == 1;
            let over = bytes > self.caps.bytes || count > self.caps.files;
            // What was stored just now is about to be read: the last one stays, whatever its size.
            if age <= self.caps.age && (!over || last) {
                break;
            }
            match fs::remove_file(path) {
                Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
                _ => removed += 1,
            }
            bytes -= size;
            count -= 1;
        }
        *self.usage.lock() = Usage {
            bytes,
            files: count,
            looked: Instant::now(),
        };
        Ok(removed)
    }

    /// The file of an id. Only names that we could have given out are looked for.
    fn find(&self, id: &str) -> Option<PathBuf> {
        if id.len() != 32
            || !id
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        {
            return None;
        }
        let prefix = format!("{id}.");
        let mut entries = fs::read_dir(&self.dir).ok()?.flatten();
        let entry = entries.find(|entry| {
            entry
                .file_name()
                .to_str()
                .is_some_and(|name| name.starts_with(&prefix))
        })?;
        entry.file_type().ok()?.is_file().then(|| entry.path())
    }
}

#[cfg(test)]
mod tests;
