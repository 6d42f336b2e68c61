//! Reading records behind whoever appends them, for somebody who keeps a copy elsewhere. What
//! is not known to be on disk yet is left for later, so that a copy is never ahead of what a
//! power cut would leave.

use super::{
    chain::{Linked, hash, sha256},
    folder::{Keep, line_of},
    head::{self, Found, Key},
};
use std::{
    fs::{self, File},
    io::{self, BufReader, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::PathBuf,
};
use switchboard_local::hex;

/// Digits of what a chain is called.
const NAME: usize = 16; // tidy: a form

/// Reads the records of a folder, one after the other.
#[derive(Debug)]
pub struct Follower {
    keep: Keep,
    key: Key,
    chain: String,
    /// The last record that was read.
    last: u64,
    /// Where the next one is looked for: the file and a place in it.
    place: Option<(u64, u64)>,
}

/// Some records that stand one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of the first.
    pub from: u64,
    /// The number of the last.
    pub to: u64,
    /// The hash of the last.
    pub hash: String,
    /// Their lines.
    pub text: Vec<u8>,
}

impl Follower {
    /// Of this folder; nothing where nobody has recorded anything there.
    pub fn open(keep: &Keep) -> io::Result<Option<Self>> {
        let Some(key) = Key::of(&keep.folder)? else {
            return Ok(None);
        };
        let secret = fs::read(keep.folder.join("key"))?;
        let named = sha256(&[b"switchboard audit chain ", &*secret].concat());
        let mut chain = hex(named);
        chain.truncate(NAME);
        Ok(Some(Self {
            keep: keep.clone(),
            key,
            chain,
            last: 0,
            place: None,
        }))
    }

    /// What the chain of these records is called: always the same, and nobody else's.
    pub fn chain(&self) -> &str {
        &self.chain
    }

    /// The number of the last record that is on disk; nothing where nobody can tell.
    pub fn written(&self) -> io::Result<Option<u64>> {
        Ok(match head::find(&self.keep.head(), &self.key)? {
            Found::Head(head, _) | Found::Spoiled(head, _) => Some(head.last.count),
            Found::Missing | Found::Forged => None,
        })
    }

    /// What a record's hash is, if it is there.
    pub fn hash_of(&self, number: u64) -> io::Result<Option<String>> {
        for file in self.files(number)? {
            let mut reader = BufReader::new(File::open(file)?);
            while let Some(line) = line_of(&mut reader)? {
                let line = line.trim_ascii_end();
                if Linked::of(line).is_some_and(|linked| linked.n == number) {
                    return Ok(Some(hash(line)));
                }
            }
        }
        Ok(None)
    }

    /// Goes on behind this one.
    pub fn go_behind(&mut self, number: u64) {
        (self.last, self.place) = (number, None);
    }

    /// The next records that are on disk, of about so many bytes; nothing where there are none.
    pub fn next(&mut self, bytes: usize) -> io::Result<Option<Piece>> {
        let written = self.written()?.unwrap_or(0);
        if written <= self.last {
            return Ok(None);
        }
        for path in self.files(self.last + 1)? {
            let mut file = File::open(path)?;
            let inode = file.metadata()?.ino();
            let at = self.place.filter(|(known, _)| *known == inode);
            let mut at = at.map_or(0, |(_, at)| at);
            file.seek(SeekFrom::Start(at))?;
            let mut reader = BufReader::new(file);
            let mut piece: Option<Piece> = None;
            while let Some(line) = line_of(&mut reader)? {
                let Some(whole) = line.strip_suffix(b"\n") else {
                    break;
                };
                let number = Linked::of(whole).map(|linked| linked.n);
                if number.is_some_and(|number| number > written) {
                    break;
                }
                at += line.len() as u64;
                let Some(number) = number.filter(|number| *number > self.last) else {
                    continue;
                };
                let piece = piece.get_or_insert_with(|| Piece {
                    from: number,
                    to: number,
                    hash: String::new(),
                    text: Vec::new(),
                });
                piece.to = number;
                piece.hash = hash(whole);
                piece.text.extend_from_slice(&line);
                self.last = number;
                if piece.text.len() >= bytes {
                    break;
                }
            }
            self.place = Some((inode, at));
            if piece.is_some() {
                return Ok(piece);
            }
        }
        Ok(None)
    }

    /// The files that may have this record and those behind it, the oldest first.
    fn files(&self, number: u64) -> io::Result<Vec<PathBuf>> {
        let mut files = self.keep.files()?;
        // One that was put aside is called by its first record.
        let first = |file: &PathBuf| {
            let name = file.file_stem()?.to_str()?;
            name.strip_prefix("audit-")?.parse::<u64>().ok()
        };
        let starts = |file: &PathBuf| first(file).is_some_and(|first| first <= number);
        let before = files.iter().take_while(|file| starts(file)).count();
        Ok(files.split_off(before.saturating_sub(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Appender, Record};

    #[test]
    fn all_that_is_on_disk_is_read_once_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut keep = Keep::within(folder.path().join("audit"));
        assert!(Follower::open(&keep).unwrap().is_none());
        keep.bytes = 2000;
        let mut appender = Appender::new(keep.clone()).unwrap();
        let mut follower = Follower::open(&keep).unwrap().unwrap();
        assert_eq!(follower.chain().len(), NAME);
        assert_eq!(follower.next(1000).unwrap(), None);
        let (mut read, mut last) = (Vec::new(), String::new());
        let mut take = |follower: &mut Follower, read: &mut Vec<u64>| {
            while let Some(piece) = follower.next(500).unwrap() {
                let text = String::from_utf8(piece.text.clone()).unwrap();
                let numbers = text.lines().map(|line| {
                    let linked = Linked::of(line.as_bytes()).unwrap();
                    if linked.n > 1 {
                        assert_eq!(linked.prev, last);
                    }
                    last = hash(line.as_bytes());
                    linked.n
                });
                let numbers: Vec<u64> = numbers.collect();
                assert_eq!(
                    (numbers[0], *numbers.last().unwrap()),
                    (piece.from, piece.to)
                );
                assert_eq!(piece.hash, last);
                read.extend(numbers);
            }
        };
        // Files are put aside meanwhile.
        for round in 0..30 {
            let records = [Record::new("one"), Record::new("two").with("round", round)];
            appender.append(&records, true).unwrap();
            if round % 3 == 0 {
                take(&mut follower, &mut read);
            }
        }
        take(&mut follower, &mut read);
        assert_eq!(read, (1..=60).collect::<Vec<u64>>());
        assert!(keep.files().unwrap().len() > 2);
        // What may not be on disk yet is left.
        appender.append(&[Record::new("later")], false).unwrap();
        assert_eq!(follower.next(500).unwrap(), None);
        appender.sync().unwrap();
        take(&mut follower, &mut read);
        assert_eq!(read.len(), 61);
        // Another goes on where one has been.
        let mut other = Follower::open(&keep).unwrap().unwrap();
        assert_eq!(other.chain(), follower.chain());
        other.go_behind(55);
        assert_eq!(other.next(10_000).unwrap().unwrap().from, 56);
        let known = follower.hash_of(61).unwrap();
        assert!(known.is_some());
        assert_eq!(follower.hash_of(62).unwrap(), None);
    }
}
