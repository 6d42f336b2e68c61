//! Room in the folder of what is remembered of servers. Servers come and go; what nobody
//! has written for longest is forgotten.
//!
//! Looking at the folder costs as much as there is in it, and a start with many servers
//! writes many files: so it is looked at once, and again when as many have come as there
//! was room for.

use crate::limits;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

/// Files that may still come into each folder before it is looked at again.
#[derive(Debug, Default)]
pub(super) struct Rooms(Mutex<HashMap<PathBuf, usize>>);

impl Rooms {
    /// Makes room for a file. Whether the folder had to be looked at.
    pub(super) fn make(&self, file: &Path) -> io::Result<bool> {
        // It takes the place of what is there.
        if file.exists() {
            return Ok(false);
        }
        let folder = file.parent().unwrap_or(Path::new("."));
        let mut rooms = self.0.lock();
        if let Some(left) = rooms.get_mut(folder)
            && let Some(rest) = left.checked_sub(1)
        {
            *left = rest;
            return Ok(false);
        }
        let room = clear(folder)?;
        if rooms.len() >= limits::MEMORY_FOLDERS {
            rooms.clear();
        }
        rooms.insert(folder.to_owned(), room.saturating_sub(1));
        Ok(true)
    }
}

/// Removes the oldest where there are too many, and some more, so that this is not to be
/// done for each that comes. For how many there is room then.
fn clear(folder: &Path) -> io::Result<usize> {
    let mut files: Vec<_> = fs::read_dir(folder)?
        .filter_map(|file| {
            let file = file.ok()?;
            Some((file.metadata().ok()?.modified().ok()?, file.path()))
        })
        .collect();
    if files.len() < limits::MEMORIES {
        return Ok(limits::MEMORIES - files.len());
    }
    files.sort();
    let stay = limits::MEMORIES - limits::MEMORIES_CLEARED;
    for (_, file) in files.iter().take(files.len() - stay) {
        match fs::remove_file(file) {
            // Another program was first.
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
            _ => {}
        }
    }
    Ok(limits::MEMORIES_CLEARED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_files_take_one_look_and_never_become_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let rooms = Rooms::default();
        let count = || fs::read_dir(folder.path()).unwrap().count();
        let come = |n: usize| {
            let file = folder.path().join(format!("{n:05}.json"));
            let looked = rooms.make(&file).unwrap();
            fs::write(&file, "{}").unwrap();
            usize::from(looked)
        };
        assert_eq!((0..1000).map(come).sum::<usize>(), 1);
        // Written again they take no room.
        assert_eq!((0..1000).map(come).sum::<usize>(), 0);
        assert_eq!(count(), 1000);
        let most = limits::MEMORIES + 2 * limits::MEMORIES_CLEARED;
        let looks: usize = (1000..most).map(come).sum();
        assert_eq!((looks, count()), (2, limits::MEMORIES));
        // The newest are there.
        assert!(folder.path().join(format!("{:05}.json", most - 1)).exists());
        assert!(!folder.path().join("00000.json").exists());
    }
}
