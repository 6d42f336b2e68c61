//! Writes of many books at once. When a gateway starts, each of its servers is pinned in the
//! same moment, and a disk takes about as long for one file as for several that it is given
//! together: whoever comes while files are written is in the next batch.
//!
//! A file is written beside its name at once, put in place when it is on disk, and the lock
//! between programs is held until then, so that nobody changes what is about to be replaced.
//! Whoever shows what was pinned waits for that ([`Written`]).

use super::file::{self, FileFault};
use crate::limits;
use parking_lot::{Condvar, Mutex};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    fs::Metadata,
    io, mem,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    thread,
};
use switchboard_local::private::{self, Lock, Unfinished};
use tokio::sync::Notify;

/// Who writes.
#[derive(Default)]
pub(super) struct Writer {
    queue: Mutex<Queue>,
    /// The locks of folders in which something waits to be put in place. Whoever takes one
    /// has this for as long as another program makes it wait.
    locks: Mutex<HashMap<PathBuf, Weak<Lock>>>,
}

/// What is to be written next: at most one file of each book.
#[derive(Default)]
struct Queue {
    files: Vec<File>,
    batch: Arc<Batch>,
    is_writing: bool,
}

struct File {
    content: Unfinished,
    path: PathBuf,
    /// Until it is in place.
    lock: Arc<Lock>,
}

/// Files that are on disk together.
#[derive(Default)]
struct Batch {
    state: Mutex<State>,
    done: Condvar,
    told: Notify,
}

#[derive(Default)]
struct State {
    is_done: bool,
    faults: HashMap<PathBuf, io::Error>,
}

/// A change that is on disk, or soon will be.
#[derive(Clone)]
pub(crate) struct Written(Arc<Batch>);

impl Written {
    pub(super) fn is_done(&self) -> bool {
        self.0.state.lock().is_done
    }

    /// Waits until it is, on this thread.
    pub(crate) fn wait(&self) {
        let mut state = self.0.state.lock();
        self.0.done.wait_while(&mut state, |state| !state.is_done);
    }

    /// Waits until it is.
    pub(crate) async fn done(&self) {
        loop {
            let told = self.0.told.notified();
            if self.is_done() {
                return;
            }
            told.await;
        }
    }

    /// Why this file is not what it should be, if so.
    pub(super) fn fault(&self, path: &Path) -> Option<FileFault> {
        let mut state = self.0.state.lock();
        let path = path.to_owned();
        let fault = state.faults.remove(&path)?;
        Some(FileFault::Io { path, fault })
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Written").field(&self.is_done()).finish()
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    /// Reads a file and changes it, while no other program does, and has it written. What it
    /// will look like is known at once. Nothing of the same file may be under way.
    pub(super) fn change<T>(
        self: &Arc<Self>,
        path: &Path,
        absent: impl FnOnce() -> T,
        change: impl FnOnce(&mut T),
    ) -> Result<(Written, Metadata), FileFault>
    where
        T: DeserializeOwned + Serialize,
    {
        let io = |fault: io::Error| FileFault::Io {
            path: path.to_owned(),
            fault,
        };
        let folder = file::folder(path).map_err(io)?;
        let lock = self.lock(folder).map_err(io)?;
        let text = file::changed(path, absent, change)?;
        let content = Unfinished::write(path, &text).map_err(io)?;
        let look = content.metadata().map_err(io)?;
        let written = self.add(File {
            content,
            path: path.to_owned(),
            lock,
        });
        Ok((written, look))
    }

    /// The lock of a folder, which all have together who change something there.
    fn lock(&self, folder: &Path) -> io::Result<Arc<Lock>> {
        let mut locks = self.locks.lock();
        if let Some(lock) = locks.get(folder).and_then(Weak::upgrade) {
            return Ok(lock);
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(file::lock(folder)?);
        locks.insert(folder.to_owned(), Arc::downgrade(&lock));
        Ok(lock)
    }

    fn add(self: &Arc<Self>, file: File) -> Written {
        let mut queue = self.queue.lock();
        queue.files.push(file);
        let written = Written(queue.batch.clone());
        let begins = !mem::replace(&mut queue.is_writing, true);
        drop(queue);
        if begins {
            let me = self.clone();
            let thread = thread::Builder::new().name("pins".into());
            // A thread of its own, and not of a runtime that may end before it has begun.
            if thread.spawn(move || me.write_all()).is_err() {
                self.write_all();
            }
        }
        written
    }

    /// Writes what there is until there is nothing more.
    fn write_all(&self) {
        loop {
            let (files, batch) = {
                let mut queue = self.queue.lock();
                if queue.files.is_empty() {
                    queue.is_writing = false;
                    return;
                }
                (mem::take(&mut queue.files), mem::take(&mut queue.batch))
            };
            let faults = write(files);
            *batch.state.lock() = State {
                is_done: true,
                faults,
            };
            batch.done.notify_all();
            batch.told.notify_waiters();
        }
    }
}

/// Puts files in place, all of them on disk first. Says which are not.
fn write(files: Vec<File>) -> HashMap<PathBuf, io::Error> {
    let at_once = files.len().div_ceil(limits::PINS_SYNCED).max(1);
    // Side by side: a disk, or its journal, then has one round for several.
    let synced: Vec<io::Result<()>> = thread::scope(|scope| {
        let parts = files.chunks(at_once);
        let threads = parts.map(|part| scope.spawn(move || part.iter().map(sync).collect()));
        let threads: Vec<thread::ScopedJoinHandle<'_, Vec<_>>> = threads.collect();
        let done = threads.into_iter().zip(files.chunks(at_once));
        let done = done.map(|(thread, part)| {
            let lost = |_| part.iter().map(sync).collect();
            thread.join().unwrap_or_else(lost)
        });
        done.flatten().collect()
    });
    let (mut faults, mut folders) = (HashMap::new(), BTreeSet::new());
    // Their locks last until all of it is done.
    let mut locks = Vec::with_capacity(files.len());
    for (file, synced) in files.into_iter().zip(synced) {
        let File {
            content,
            path,
            lock,
        } = file;
        locks.push(lock);
        match synced.and_then(|()| content.place(&path)) {
            Ok(()) => folders.extend(path.parent().map(Path::to_owned)),
            Err(fault) => drop(faults.insert(path, fault)),
        }
    }
    for folder in &folders {
        private::sync_folder(folder);
    }
    faults
}

fn sync(file: &File) -> io::Result<()> {
    file.content.sync()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn add(writer: &Arc<Writer>, path: &Path, one: u32) -> Written {
        let change = |all: &mut Vec<u32>| all.push(one);
        writer.change(path, Vec::new, change).unwrap().0
    }

    #[test]
    fn many_at_once_are_all_there_and_leave_nothing_beside_them() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("pins");
        let writer = Arc::<Writer>::default();
        for round in 0..3 {
            let written: Vec<Written> = (0..50)
                .map(|at| add(&writer, &dir.join(format!("{at}.json")), round))
                .collect();
            written.iter().for_each(Written::wait);
        }
        for at in 0..50 {
            let text = fs::read(dir.join(format!("{at}.json"))).unwrap();
            let all: Vec<u32> = serde_json::from_slice(&text).unwrap();
            assert_eq!(all, [0, 1, 2]);
        }
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 51, "and the lock");
        // Nobody holds that any more.
        file::change(&dir.join("0.json"), |all: &mut Vec<u32>| all.push(3)).unwrap();
    }

    #[tokio::test]
    async fn whoever_waits_is_told_and_what_cannot_be_put_in_place_is_said() {
        let home = tempfile::tempdir().unwrap();
        let writer = Arc::<Writer>::default();
        let (good, bad) = (home.path().join("good.json"), home.path().join("bad.json"));
        let held = file::lock(home.path()).unwrap();
        let (blocked, path) = (writer.clone(), bad.clone());
        let waits = thread::spawn(move || add(&blocked, &path, 1));
        // Nothing can be read there before another program lets go of it.
        assert!(!waits.is_finished());
        drop(held);
        let written = waits.join().unwrap();
        written.done().await;
        assert!(written.fault(&bad).is_none());
        fs::remove_file(&bad).unwrap();
        let one = add(&writer, &bad, 2);
        let other = add(&writer, &good, 2);
        one.done().await;
        other.done().await;
        assert!(other.fault(&good).is_none() && good.exists());
        fs::remove_file(&bad).unwrap();
        let content = Unfinished::write(&bad, b"[]").unwrap();
        fs::create_dir(&bad).unwrap();
        let written = writer.add(File {
            content,
            path: bad.clone(),
            lock: writer.lock(home.path()).unwrap(),
        });
        written.done().await;
        assert!(written.fault(&bad).is_some(), "a folder is there");
    }
}
