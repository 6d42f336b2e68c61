//! The head: how far the chain had come when it was last known to be on disk. It is
//! kept apart from the records, signed with a key of the folder, and written after
//! them. More records than the head says are a crash; fewer are a cut.
//!
//! Two heads stand in the file and are written in turn, so that a power cut spoils
//! one of them at most.

use super::chain::Link;
use aws_lc_rs::hmac;
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};
use switchboard_local::{hex, private, random};

/// The length of one, with its line break: two numbers, three hashes.
// tidy: a form, no cap.
const LENGTH: usize = 20 + 1 + 64 + 1 + 20 + 1 + 64 + 1 + 64 + 1;

/// How far the chain has come, and where it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// The last record.
    pub last: Link,
    /// What was before the first record that is kept: older ones were put away.
    pub before: Link,
}

/// Signs heads.
#[derive(Debug)]
pub(super) struct Key(hmac::Key);

impl Key {
    /// The key of this folder, if it has one.
    pub(super) fn of(folder: &Path) -> io::Result<Option<Self>> {
        let file = folder.join("key");
        let bytes = match std::fs::read(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        if bytes.len() != 32 {
            let text = format!("{} is no key", file.display());
            return Err(io::Error::other(text));
        }
        Ok(Some(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes))))
    }

    /// A key for a folder that has none.
    pub(super) fn make(folder: &Path) -> io::Result<Self> {
        let new = random::bytes::<32>()?;
        private::write_new(&folder.join("key"), &new)?;
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &new)))
    }

    fn sign(&self, text: &str) -> String {
        hex(hmac::sign(&self.0, text.as_bytes()))
    }
}

impl Head {
    fn text(&self) -> String {
        let Self { last, before } = self;
        format!(
            "{:020} {} {:020} {}",
            last.count, last.hash, before.count, before.hash
        )
    }

    fn signed(&self, key: &Key) -> String {
        let text = self.text();
        let signature = key.sign(&text);
        format!("{text} {signature}\n")
    }

    fn read(line: &str, key: &Key) -> Option<Self> {
        let (text, signature) = line.trim_end().rsplit_once(' ')?;
        if key.sign(text) != signature {
            return None;
        }
        let words: Vec<&str> = text.split(' ').collect();
        let [count, hash, first, before] = words.as_slice() else {
            return None;
        };
        let link = |count: &str, hash: &str| {
            let count = count.parse().ok()?;
            let hash = hash.to_owned();
            Some(Link { count, hash })
        };
        Some(Self {
            last: link(count, hash)?,
            before: link(first, before)?,
        })
    }
}

/// What a file of heads says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// This one, from this place.
    Head(Head, u64),
    /// The same, and the other one is not ours: a newer one may have been there.
    Spoiled(Head, u64),
    /// There is none.
    Missing,
    /// None of those that are there has our signature.
    Forged,
}

pub(super) fn find(file: &Path, key: &Key) -> io::Result<Found> {
    let text = match std::fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Missing),
        other => other?,
    };
    let heads = text.chunks(LENGTH).zip(0..).filter_map(|(line, place)| {
        let head = Head::read(std::str::from_utf8(line).ok()?, key)?;
        Some((head, place))
    });
    let heads: Vec<(Head, u64)> = heads.collect();
    let is_whole = heads.len() == 2 && text.len() == 2 * LENGTH;
    let newest = heads
        .into_iter()
        .max_by_key(|(head, _)| (head.last.count, head.before.count));
    Ok(match newest {
        Some((head, place)) if is_whole => Found::Head(head, place),
        Some((head, place)) => Found::Spoiled(head, place),
        None => Found::Forged,
    })
}

/// Writes a head beside the one that is at `place`; gives where it is now.
pub(super) fn write(file: &Path, head: &Head, key: &Key, place: u64) -> io::Result<u64> {
    let next = 1 - place.min(1);
    let open: File = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(file)?;
    if open.metadata()?.len() == 0 {
        // Both places, so that the second is where it is looked for.
        open.write_all_at(head.signed(key).repeat(2).as_bytes(), 0)?;
        return Ok(next);
    }
    open.write_all_at(head.signed(key).as_bytes(), next * LENGTH as u64)?;
    Ok(next)
}
