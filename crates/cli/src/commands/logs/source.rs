//! One log: files that follow each other, read line by line.

use crate::{
    failure::{Code, Failure},
    limits,
};
use chrono::{DateTime, Utc};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Whose log it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The gateways'.
    Gateway,
    /// What a server writes to stderr.
    Server(String),
}

/// A line, and when it was written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// None where neither it nor one before it says.
    pub(super) time: Option<DateTime<Utc>>,
    /// What it says besides.
    pub(super) text: String,
}

/// The files of one log, and how far they are read.
pub(super) struct Source {
    pub(super) whose: Whose,
    path: PathBuf,
    /// Those that are not read to their end, the oldest first.
    files: VecDeque<BufReader<File>>,
    /// What is there of a line that is not whole.
    line: Vec<u8>,
    time: Option<DateTime<Utc>>,
}

impl Source {
    /// The log at this path, with those that were put aside before, the oldest first.
    /// What was written to last before `since` is left out.
    pub(super) fn open(
        whose: Whose,
        path: &Path,
        aside: &[PathBuf],
        since: Option<DateTime<Utc>>,
    ) -> Result<Self, Failure> {
        // The newest first, so that what is put aside meanwhile is not missed.
        let mut files = VecDeque::new();
        for path in [path]
            .into_iter()
            .chain(aside.iter().rev().map(PathBuf::as_path))
        {
            let Some(file) = open(path)? else {
                continue;
            };
            let is_old = |since: DateTime<Utc>| {
                let written = file.metadata().and_then(|about| about.modified()).ok()?;
                Some(DateTime::<Utc>::from(written) < since)
            };
            if since.and_then(is_old) != Some(true) {
                files.push_front(BufReader::new(file));
            }
        }
        Ok(Self {
            whose,
            path: path.to_owned(),
            files,
            line: Vec::new(),
            time: None,
        })
    }

    /// Whether there is nothing to read.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The next whole line, if there is one by now.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, Failure> {
        while let Some(file) = self.files.front_mut() {
            let room = limits::LOG_LINE.saturating_sub(self.line.len()) as u64;
            let read = file.take(room).read_until(b'\n', &mut self.line);
            let read = read.map_err(|error| unreadable(&self.path, &error))?;
            if self.line.ends_with(b"\n") || self.line.len() >= limits::LOG_LINE {
                return Ok(Some(self.entry()));
            }
            if read == 0 && self.files.len() == 1 {
                return Ok(None);
            }
            if read == 0 {
                self.files.pop_front();
            }
        }
        Ok(None)
    }

    /// The next line, where nothing more is waited for: also one that nobody has ended.
    pub(super) fn last(&mut self) -> Result<Option<Entry>, Failure> {
        let next = self.next()?;
        Ok(next.or_else(|| (!self.line.is_empty()).then(|| self.entry())))
    }

    /// Goes on in another file where the last was put aside, or where there was none.
    pub(super) fn turn(&mut self) -> Result<(), Failure> {
        let is_the_same = |file: &File| {
            let (now, then) = (std::fs::metadata(&self.path).ok()?, file.metadata().ok()?);
            Some((now.dev(), now.ino()) == (then.dev(), then.ino()))
        };
        let last = self.files.back().map(BufReader::get_ref);
        if last.is_none_or(|file| is_the_same(file) == Some(false))
            && let Some(next) = open(&self.path)?
        {
            self.files.push_back(BufReader::new(next));
        }
        Ok(())
    }

    fn entry(&mut self) -> Entry {
        let text = String::from_utf8_lossy(&self.line);
        let text = text.trim_end_matches(['\r', '\n']);
        let (time, text) = match timed(text) {
            Some((time, text)) => (Some(time), text),
            None => (self.time, text),
        };
        let text = text.to_owned();
        self.time = time;
        self.line.clear();
        Entry { time, text }
    }
}

/// The time that a line begins with, and the rest of it.
fn timed(line: &str) -> Option<(DateTime<Utc>, &str)> {
    let (time, rest) = line.split_once(' ')?;
    if !time.ends_with('Z') {
        return None;
    }
    Some((time.parse().ok()?, rest))
}

fn open(path: &Path) -> Result<Option<File>, Failure> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let text = format!("{} cannot be read: {error}", path.display());
    Failure::new(Code::Configuration, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn texts(source: &mut Source) -> Vec<String> {
        std::iter::from_fn(|| source.next().unwrap().map(|entry| entry.text)).collect()
    }

    #[test]
    fn files_follow_each_other_and_lines_have_the_time_before_them() {
        let home = tempfile::tempdir().unwrap();
        let (path, aside) = (home.path().join("log"), home.path().join("log.1"));
        std::fs::write(&aside, "no time\n2026-01-01T00:00:00.000Z one\nmore\n").unwrap();
        std::fs::write(&path, "2026-01-02T00:00:00.123456Z  INFO two\nhal").unwrap();
        let mut source = Source::open(Whose::Gateway, &path, &[aside], None).unwrap();
        let all: Vec<Entry> = std::iter::from_fn(|| source.next().unwrap()).collect();
        let texts: Vec<&str> = all.iter().map(|entry| entry.text.as_str()).collect();
        assert_eq!(texts, ["no time", "one", "more", " INFO two"]);
        assert_eq!(all[0].time, None);
        assert_eq!(all[1].time, all[2].time);
        assert!(all[2].time < all[3].time);
        assert_eq!(source.last().unwrap().unwrap().text, "hal");
        assert_eq!(source.last().unwrap(), None);
    }

    #[test]
    fn what_is_written_later_is_read_also_in_the_next_file() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        let mut source = Source::open(Whose::Gateway, &path, &[], None).unwrap();
        assert!(source.is_empty());
        source.turn().unwrap();
        assert_eq!(texts(&mut source), [""; 0]);
        let mut file = File::create(&path).unwrap();
        writeln!(file, "one").unwrap();
        source.turn().unwrap();
        assert_eq!(texts(&mut source), ["one"]);
        writeln!(file, "two").unwrap();
        std::fs::rename(&path, home.path().join("log.1")).unwrap();
        std::fs::write(&path, "three\n").unwrap();
        source.turn().unwrap();
        assert_eq!(texts(&mut source), ["two", "three"]);
    }

    #[test]
    fn a_line_without_end_comes_in_pieces() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        std::fs::write(&path, vec![b'x'; 2 * limits::LOG_LINE + 5]).unwrap();
        let mut source = Source::open(Whose::Gateway, &path, &[], None).unwrap();
        let lengths: Vec<usize> = texts(&mut source).iter().map(String::len).collect();
        assert_eq!(lengths, [limits::LOG_LINE; 2]);
        assert_eq!(source.last().unwrap().unwrap().text.len(), 5);
    }
}
