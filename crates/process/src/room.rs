//! An empty directory for a process that must not find anything where it starts.

use crate::limits;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};
use switchboard_local::private;

/// An empty directory for the user alone, removed with what was put into it
/// when this is dropped. Those of programs that were killed are removed by the
/// next one.
#[derive(Debug)]
pub struct Room {
    path: PathBuf,
    /// Locked as long as somebody is in the room.
    _lock: File,
}

impl Room {
    /// Makes one in this folder; `None` where that cannot be.
    pub fn make(folder: &Path) -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let made = private::folder(folder).and_then(|()| {
            tidy(folder);
            let mut last = io::ErrorKind::AlreadyExists.into();
            for _ in 0..limits::ROOM_TRIES {
                let number = NEXT.fetch_add(1, Ordering::Relaxed);
                match enter(folder.join(format!("{}-{number}", std::process::id()))) {
                    Ok(room) => return Ok(room),
                    Err(error) => last = error,
                }
            }
            Err(last)
        });
        made.inspect_err(|error| {
            let folder = folder.display();
            tracing::debug!(%error, "no empty directory can be made in {folder}");
        })
        .ok()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn enter(path: PathBuf) -> io::Result<Room> {
    private::make_new_folder(&path)?;
    let lock = File::open(&path)?;
    lock.try_lock()?;
    // Another program may have tidied it away before it was locked.
    fs::metadata(&path)?;
    Ok(Room { path, _lock: lock })
}

/// Removes rooms that nobody is in. One that was made this very moment and is
/// not locked yet may go with them: its maker makes another.
fn tidy(folder: &Path) {
    let rooms = fs::read_dir(folder).into_iter().flatten().flatten();
    for room in rooms.take(limits::ROOMS_TIDIED) {
        let path = room.path();
        let left = File::open(&path).is_ok_and(|lock| lock.try_lock().is_ok());
        if left && room.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_empty_private_and_goes_with_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("rooms");
        let room = Room::make(&base).unwrap();
        assert_eq!(fs::read_dir(room.path()).unwrap().count(), 0);
        let mode = fs::metadata(room.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(room.path().join("left"), "").unwrap();
        drop(room);
        assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
    }

    #[test]
    fn rooms_of_the_dead_are_removed_and_those_in_use_stay() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("1-1")).unwrap();
        fs::write(folder.path().join("1-1/left"), "").unwrap();
        fs::write(folder.path().join("not a room"), "").unwrap();
        let first = Room::make(folder.path()).unwrap();
        let second = Room::make(folder.path()).unwrap();
        assert!(!folder.path().join("1-1").exists());
        assert!(folder.path().join("not a room").exists());
        assert!(first.path().exists() && second.path().exists());
    }

    #[test]
    fn where_none_can_be_made_there_is_none() {
        assert!(Room::make(Path::new("/proc/no/such")).is_none());
    }
}
