//! Folders and files that are their owner's alone, written whole or not at all;
//! and locks between programs.
//!
//! A file is 0600 from the first byte. It is written beside its name and renamed
//! when it is on disk, and then the folder is synced too: neither a crash nor a
//! power cut leaves half of it, and nobody ever reads half of it.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
    time::{Duration, Instant},
};

/// What the names of files begin with that are being written.
const UNFINISHED: &str = ".new-";

/// Makes a folder of ours, with those above it, or sees to it that the one that is
/// there is open to its owner alone.
pub fn folder(path: &Path) -> io::Result<()> {
    make_folder(path)?;
    if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Makes a folder for its owner alone, with those above it. One that is there stays
/// as it is: it may be anybody's, such as a home.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes a folder for its owner alone, which must not be there yet.
pub fn make_new_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Opens a new file for writing, which only its owner can read. It must not be there.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600).open(path)
}

/// Puts a file of this content in the place of what is there.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    let file = unfinished(folder, content)?;
    file.persist(path).map_err(|fault| fault.error)?;
    sync_folder(folder);
    Ok(())
}

/// The same without waiting for the disk, where a power cut may leave an empty file: for
/// what is checked when it is read, and found out anew where it is not whole.
pub fn write_unsynced(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = beside(folder_of(path))?;
    file.write_all(content)?;
    file.persist(path).map_err(|fault| fault.error)?;
    Ok(())
}

/// Makes a file of this content. Where one is there, whoever made it was first:
/// that is [`io::ErrorKind::AlreadyExists`].
pub fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut new = New::begin(path)?;
    new.add(content)?;
    new.place()
}

/// The same for what comes piece by piece. What is never put in place goes.
#[derive(Debug)]
pub struct New<'a> {
    path: &'a Path,
    file: tempfile::NamedTempFile,
}

impl<'a> New<'a> {
    /// Begins to write beside this path.
    pub fn begin(path: &'a Path) -> io::Result<Self> {
        let file = beside(folder_of(path))?;
        Ok(Self { path, file })
    }

    /// Writes more of it.
    pub fn add(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)
    }

    /// Puts all of it there, unless something is there already.
    pub fn place(self) -> io::Result<()> {
        let folder = folder_of(self.path);
        self.file.as_file().sync_all()?;
        let placed = self.file.persist_noclobber(self.path);
        placed.map_err(|fault| fault.error)?;
        sync_folder(folder);
        Ok(())
    }
}

/// A file that is written beside its name and waits to be put in place. It goes where it
/// never is.
#[derive(Debug)]
pub struct Unfinished(tempfile::TempPath);

impl Unfinished {
    /// Writes what is to be at this place, without waiting for the disk. Nothing stays open.
    pub fn write(to: &Path, content: &[u8]) -> io::Result<Self> {
        let mut file = beside(folder_of(to))?;
        file.write_all(content)?;
        Ok(Self(file.into_temp_path()))
    }

    /// What it looks like, here and in its place.
    pub fn metadata(&self) -> io::Result<fs::Metadata> {
        fs::metadata(&self.0)
    }

    /// Waits until it is on disk.
    pub fn sync(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }

    /// Puts it in the place of what is there. Its folder has to be synced, too
    /// ([`sync_folder`]).
    pub fn place(self, to: &Path) -> io::Result<()> {
        self.0.persist(to).map_err(|fault| fault.error)
    }
}

fn beside(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut named = tempfile::Builder::new();
    named.prefix(UNFINISHED).tempfile_in(folder)
}

fn unfinished(folder: &Path, content: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut file = beside(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A new name must outlive a power cut, too. Where a folder cannot be synced the
/// file is in place nevertheless.
pub fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// A lock between programs. The system gives it back when its holder dies.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "open files hold their lock")] File);

impl Lock {
    /// Waits for the lock on a file of its own, which is made where it is missing and
    /// never removed: removing it would let two programs lock two files of one name.
    pub fn wait(path: &Path) -> io::Result<Self> {
        let file = lock_file(path)?;
        file.lock()?;
        Ok(Self(file))
    }

    /// Waits for the lock on an open folder: that needs no file of its own, and
    /// replacing what lies in it does not lose it. `None` after `limit`.
    pub fn of_folder(folder: File, limit: Duration, pause: Duration) -> io::Result<Option<Self>> {
        let started = Instant::now();
        let mut waiting = Waiting(folder);
        loop {
            match waiting.take()? {
                Ok(lock) => return Ok(Some(lock)),
                Err(_) if started.elapsed() > limit => return Ok(None),
                Err(again) => waiting = again,
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "there is no async here: callers that have it use `ask`"
            )]
            std::thread::sleep(pause);
        }
    }

    /// The lock on a file of its own, to be asked for again and again: a thread that
    /// is blocked could not be given up when whoever waits is.
    pub fn ask(path: &Path) -> io::Result<Waiting> {
        lock_file(path).map(Waiting)
    }
}

/// A lock that somebody else may hold.
#[derive(Debug)]
pub struct Waiting(File);

impl Waiting {
    /// The lock if it is free now, else what to ask again.
    pub fn take(self) -> io::Result<Result<Lock, Self>> {
        match self.0.try_lock() {
            Ok(()) => Ok(Ok(Lock(self.0))),
            Err(TryLockError::WouldBlock) => Ok(Err(self)),
            Err(TryLockError::Error(fault)) => Err(fault),
        }
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_folder_of_ours_is_made_and_mended() {
        let home = tempfile::tempdir().unwrap();
        let ours = home.path().join("a/b");
        folder(&ours).unwrap();
        assert_eq!((mode(&ours), mode(&home.path().join("a"))), (0o700, 0o700));
        fs::set_permissions(&ours, fs::Permissions::from_mode(0o755)).unwrap();
        make_folder(&ours).unwrap();
        assert_eq!(mode(&ours), 0o755);
        folder(&ours).unwrap();
        assert_eq!(mode(&ours), 0o700);
        assert!(make_new_folder(&ours).is_err());
    }

    #[test]
    fn files_are_private_whole_and_leave_nothing_beside_them() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        write_new(&file, b"one").unwrap();
        let again = write_new(&file, b"two").unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&file).unwrap(), b"one");
        write(&file, b"three").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"three");
        write_unsynced(&file, b"four").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"four");
        let waits = Unfinished::write(&file, b"fifth").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"four");
        waits.sync().unwrap();
        let look = waits.metadata().unwrap().modified().unwrap();
        waits.place(&file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"fifth");
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), look);
        drop(Unfinished::write(&file, b"never").unwrap());
        assert_eq!(mode(&file), 0o600);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        assert!(create(&file).is_err());
    }

    #[test]
    fn a_lock_is_one_holders() {
        let home = tempfile::tempdir().unwrap();
        let (short, pause) = (Duration::from_millis(20), Duration::from_millis(5));
        let file = home.path().join("lock");
        let held = Lock::wait(&file).unwrap();
        assert_eq!(mode(&file), 0o600);
        let waiting = Lock::ask(&file).unwrap().take().unwrap().unwrap_err();
        drop(held);
        assert!(waiting.take().unwrap().is_ok());
        let ask = || Lock::of_folder(File::open(home.path()).unwrap(), short, pause).unwrap();
        let held = ask().unwrap();
        assert!(ask().is_none());
        drop(held);
        assert!(ask().is_some());
    }
}
