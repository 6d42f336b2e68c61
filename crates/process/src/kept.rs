//! What a server writes to stderr, kept in a file that its user alone can read.
//!
//! The file is bounded: once it is half of what may be kept, it is put aside and
//! a new one begun, in the place of what was put aside before. Several programs
//! may write to one file. All files in the folder together are bounded as well.
//!
//! Every line has the time before it at which its beginning came, so that what
//! several servers wrote can be put in order.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, OFlags, flock};
use switchboard_local::private;
use switchboard_tasks as tasks;
use tokio::time::timeout;

use crate::limits;

/// The file that is put aside.
pub fn put_aside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// One server's part in it.
pub(crate) struct KeptStderr {
    path: PathBuf,
    pid: u32,
    file: Option<File>,
    /// Whether what comes next goes on in a line that has its time already.
    is_within: bool,
    is_lost: bool,
}

impl KeptStderr {
    /// Nothing is made before there is something to keep.
    pub(super) fn new(path: PathBuf, pid: u32) -> Self {
        Self {
            path,
            pid,
            file: None,
            is_within: false,
            is_lost: false,
        }
    }

    /// Adds to it. What cannot be kept is said once, and nothing waits for it.
    pub(super) async fn add(&mut self, bytes: &[u8]) {
        if self.is_lost {
            return;
        }
        let (path, pid, file) = (self.path.clone(), self.pid, self.file.take());
        let bytes = stamped(bytes, &stamp(SystemTime::now()), &mut self.is_within);
        let adding = tasks::blocking(move || append(&path, pid, file, &bytes));
        let why = match timeout(limits::STDERR_DISK, adding).await {
            Ok(Ok(Ok(file))) => {
                self.file = Some(file);
                return;
            }
            Ok(Ok(Err(error))) => error.to_string(),
            Ok(Err(_)) => return,
            Err(_) => format!("the disk took longer than {:?}", limits::STDERR_DISK),
        };
        self.is_lost = true;
        let file = self.path.display().to_string();
        tracing::warn!(file, why, "what a server writes to stderr is not kept");
    }
}

fn append(path: &Path, pid: u32, file: Option<File>, bytes: &[u8]) -> io::Result<File> {
    let mut file = match file {
        Some(file) => file,
        None => {
            let mut file = open(path)?;
            let now = stamp(SystemTime::now());
            writeln!(file, "{now} --- process {pid} ---")?;
            file
        }
    };
    let length = file.metadata()?.len();
    if length > 0 && length + bytes.len() as u64 > limits::STDERR_KEPT / 2 {
        file = turn(path, file)?;
    }
    file.write_all(bytes)?;
    Ok(file)
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        private::make_folder(folder)?;
        make_room(folder, path);
    }
    let nofollow = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    options.custom_flags(nofollow).open(path)
}

/// Puts a full file aside. Whoever else has done so meanwhile has begun the next.
fn turn(path: &Path, file: File) -> io::Result<File> {
    flock(&file, FlockOperation::LockExclusive)?;
    let ours = file.metadata()?;
    let is_there = fs::metadata(path)
        .is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()));
    if is_there {
        fs::rename(path, put_aside(path))?;
    }
    // Closing it gives the lock back.
    drop(file);
    open(path)
}

/// Takes the oldest files away while there is too much in all.
fn make_room(folder: &Path, but: &Path) {
    let Ok(files) = fs::read_dir(folder) else {
        return;
    };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = files
        .flatten()
        .filter_map(|file| {
            let about = file.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((about.modified().ok()?, about.len(), file.path()))
        })
        .collect();
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_, length, _)| length).sum();
    let mut count = files.len();
    for (_, length, path) in files {
        if bytes <= limits::STDERR_KEPT_ALL && count <= limits::STDERR_FILES {
            return;
        }
        if path != but && fs::remove_file(&path).is_ok() {
            bytes -= length;
            count -= 1;
        }
    }
}

/// The same with this time before every line that begins in it.
fn stamped(bytes: &[u8], now: &str, is_within: &mut bool) -> Vec<u8> {
    let mut all = Vec::with_capacity(bytes.len() + now.len() + 1);
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        if !*is_within {
            all.extend_from_slice(now.as_bytes());
            all.push(b' ');
        }
        all.extend_from_slice(piece);
        *is_within = !piece.ends_with(b"\n");
    }
    all
}

/// A time in UTC, as RFC 3339 has it: always of the same length.
fn stamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, micros) = (since.as_secs(), since.subsec_micros());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days of the civil calendar, counted from the first of March of the year 0.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, (month + 2) % 12 + 1);
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |millis| stamp(UNIX_EPOCH + Duration::from_millis(millis));
        assert_eq!(at(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(at(951_782_400_000), "2000-02-29T00:00:00.000000Z");
        assert_eq!(at(1_767_225_599_987), "2025-12-31T23:59:59.987000Z");
        assert_eq!(at(4_107_542_400_000), "2100-03-01T00:00:00.000000Z");
    }

    #[test]
    fn every_line_has_the_time_at_which_it_began() {
        let mut is_within = false;
        let mut all = stamped(b"one\ntw", "T1", &mut is_within);
        all.extend(stamped(b"o\n\n", "T2", &mut is_within));
        all.extend(stamped(b"end", "T3", &mut is_within));
        assert_eq!(all, b"T1 one\nT1 two\nT2 \nT3 end");
    }

    #[tokio::test]
    async fn the_end_is_kept_and_no_more_than_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("logs/a.log");
        let mut kept = KeptStderr::new(file.clone(), 7);
        let piece = vec![b'x'; 1024 * 1024];
        for _ in 0..limits::STDERR_KEPT / 1024 / 1024 + 10 {
            kept.add(&piece).await;
        }
        kept.add(b"the end\n").await;
        assert!(!kept.is_lost);
        let length = |file: &Path| fs::metadata(file).unwrap().len();
        let all = length(&file) + length(&put_aside(&file));
        assert!(
            all > limits::STDERR_KEPT / 2 && all <= limits::STDERR_KEPT,
            "{all}"
        );
        assert!(fs::read(&file).unwrap().ends_with(b"the end\n"));
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(
            fs::metadata(folder.path().join("logs")).unwrap().mode() & 0o777,
            0o700
        );
    }

    #[tokio::test]
    async fn two_writers_lose_nothing_of_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.log");
        let (mut one, mut two) = (
            KeptStderr::new(file.clone(), 1),
            KeptStderr::new(file.clone(), 2),
        );
        let piece = vec![b'x'; 4 * 1024 * 1024];
        for _ in 0..limits::STDERR_KEPT / 2 / piece.len() as u64 {
            one.add(&piece).await;
        }
        two.add(b"two\n").await;
        one.add(b"one\n").await;
        two.add(b"two again\n").await;
        let mut all = fs::read(put_aside(&file)).unwrap();
        all.extend(fs::read(&file).unwrap());
        let text = String::from_utf8(all).unwrap();
        for word in ["two\n", "one\n", "two again\n"] {
            assert!(text.contains(word), "{word}");
        }
    }

    #[test]
    fn the_oldest_give_way() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..limits::STDERR_FILES + 5 {
            fs::write(folder.path().join(format!("{n}.log")), "x").unwrap();
        }
        let but = folder.path().join("0.log");
        make_room(folder.path(), &but);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            limits::STDERR_FILES
        );
        assert!(but.exists());
    }
}
