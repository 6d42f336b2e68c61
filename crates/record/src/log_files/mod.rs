//! Files of lines that are their owner's alone, and are put aside when they are large
//! or old: `name` becomes `name.1`, that becomes `name.2`, and the last of them goes.
//!
//! Several programs may write to one file, and others may put it aside as well:
//! whoever finds that the name leads elsewhere goes on there.

use crate::limits;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};
use switchboard_local::private;

/// When a file is put aside, and how many of those are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// From this many bytes on.
    pub bytes: u64,
    /// From this age on.
    pub age: Duration,
    /// How many are kept besides the one that is written.
    pub kept: usize,
}

impl Default for Rotation {
    fn default() -> Self {
        Self {
            bytes: limits::LOG_FILE_BYTES,
            age: limits::LOG_FILE_AGE,
            kept: limits::LOG_FILES_KEPT,
        }
    }
}

/// A file of lines.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    rotation: Rotation,
    file: File,
    /// Whether it is a file at all, and not a device or a pipe.
    is_plain: bool,
    /// When it was begun.
    begun: SystemTime,
}

impl LogFile {
    /// Opens it, and makes it where it is missing. Folders above it are made too.
    pub fn open(path: &Path, rotation: Rotation) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
            private::make_folder(folder)?;
        }
        // Whoever can put a link into the folder would choose what is written to.
        let is_link = fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink());
        if is_link && !path.starts_with("/dev") {
            return Err(io::Error::other(
                "it is a link; name the file that it leads to",
            ));
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?;
        let about = file.metadata()?;
        if about.is_file() && about.permissions().mode() & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
        let begun = about.created().or_else(|_| about.modified());
        Ok(Self {
            path: path.to_owned(),
            rotation,
            is_plain: about.is_file(),
            begun: begun.unwrap_or_else(|_| SystemTime::now()),
            file,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds whole lines, after putting the file aside where it is time.
    pub fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.is_plain {
            self.turn(lines.len() as u64)?;
        }
        self.file.write_all(lines)
    }

    fn turn(&mut self, more: u64) -> io::Result<()> {
        let ours = self.file.metadata()?;
        let is_ours = fs::metadata(&self.path)
            .is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()));
        if is_ours {
            let large = ours.len() + more > self.rotation.bytes;
            let old = || {
                self.begun
                    .elapsed()
                    .is_ok_and(|age| age > self.rotation.age)
            };
            if ours.len() == 0 || !(large || old()) {
                return Ok(());
            }
            put_aside(&self.path, self.rotation.kept)?;
        }
        *self = Self::open(&self.path, self.rotation)?;
        Ok(())
    }
}

/// A file of lines with all that were put aside of it, there or not.
pub fn rotated(path: &Path) -> Vec<PathBuf> {
    let aside = (1..=limits::LOG_FILES_KEPT).map(|number| aside(path, number));
    std::iter::once(path.to_owned()).chain(aside).collect()
}

/// The file of this name that was put aside, the last one being the first.
pub fn aside(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

fn put_aside(path: &Path, kept: usize) -> io::Result<()> {
    if kept == 0 {
        return fs::remove_file(path);
    }
    for number in (1..kept).rev() {
        match fs::rename(aside(path, number), aside(path, number + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::rename(path, aside(path, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(kept: usize) -> Rotation {
        Rotation {
            bytes: 10,
            kept,
            ..Rotation::default()
        }
    }

    #[test]
    fn a_file_is_private_and_put_aside_when_it_is_large() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/log");
        let mut file = LogFile::open(&path, small(2)).unwrap();
        for line in ["one 11\n", "two 22\n", "three\n", "four 4\n"] {
            file.write(line.as_bytes()).unwrap();
        }
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!(read(&path), "four 4\n");
        assert_eq!(read(&aside(&path, 1)), "three\n");
        assert_eq!(read(&aside(&path, 2)), "two 22\n");
        assert!(!aside(&path, 3).exists());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn one_that_others_could_read_is_mended_and_goes_on() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        fs::write(&path, "old\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let mut file = LogFile::open(&path, Rotation::default()).unwrap();
        file.write(b"new\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old\nnew\n");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn an_old_file_is_put_aside_and_one_that_went_is_made_again() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        let mut file = LogFile::open(&path, Rotation::default()).unwrap();
        file.write(b"one\n").unwrap();
        file.begun -= limits::LOG_FILE_AGE + Duration::from_secs(1);
        file.write(b"two\n").unwrap();
        assert_eq!(fs::read_to_string(aside(&path, 1)).unwrap(), "one\n");
        fs::remove_file(&path).unwrap();
        file.write(b"three\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");
    }

    #[test]
    fn what_is_no_file_is_never_put_aside() {
        let mut file = LogFile::open(Path::new("/dev/null"), small(1)).unwrap();
        for _ in 0..3 {
            file.write(b"0123456789\n").unwrap();
        }
    }
}
