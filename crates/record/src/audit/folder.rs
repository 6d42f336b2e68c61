//! The folder of the records. Several programs append to it: each takes the lock, goes
//! on where the chain is, and gives the lock back.
//!
//! | file | what |
//! |---|---|
//! | `audit.jsonl` | the records that are written now |
//! | `audit-NUMBER.jsonl` | those before, by the number of their first |
//! | `head` | how far the chain has come, signed |
//! | `key` | what signs it |
//! | `lock` | held while somebody appends |

use super::{
    batch::Batch,
    chain::{Chain, Clock, Link, Linked, Record, hash},
    head::{self, Found, Head, Key},
};
use crate::limits;
use serde_json::json;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};
use switchboard_local::private::{self, Lock};

/// How records are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep {
    /// The folder, its owner's alone.
    pub folder: PathBuf,
    /// A file is put aside from this many bytes on.
    pub bytes: u64,
    /// And from this age on.
    pub age: Duration,
    /// How many of those are kept.
    pub files: usize,
    /// A file, elsewhere at best, to which each head is added.
    pub heads: Option<PathBuf>,
}

impl Keep {
    /// In this folder, as it is usual.
    pub fn within(folder: PathBuf) -> Self {
        Self {
            folder,
            bytes: limits::AUDIT_BYTES,
            age: limits::AUDIT_AGE,
            files: limits::AUDIT_FILES,
            heads: None,
        }
    }

    pub(super) fn current(&self) -> PathBuf {
        self.folder.join("audit.jsonl")
    }

    pub(super) fn head(&self) -> PathBuf {
        self.folder.join("head")
    }

    /// All files of records, the oldest first.
    pub fn files(&self) -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for file in fs::read_dir(&self.folder)? {
            let file = file?.path();
            let name = file.file_name().and_then(|name| name.to_str());
            let is_aside = |name: &str| {
                let number = name.strip_prefix("audit-")?.strip_suffix(".jsonl")?;
                number.parse::<u64>().ok()
            };
            if name.and_then(is_aside).is_some() {
                files.push(file);
            }
        }
        files.sort();
        let current = self.current();
        if current.exists() {
            files.push(current);
        }
        Ok(files)
    }

    fn aside(&self, first: u64) -> PathBuf {
        self.folder.join(format!("audit-{first:020}.jsonl"))
    }
}

/// What a line has besides what its record says.
// tidy: a size to begin with, no cap.
const LINE: usize = 160;

/// Appends records.
#[derive(Debug)]
pub struct Appender {
    keep: Keep,
    key: Key,
    open: Option<Open>,
    clock: Clock,
    /// Room for lines, used again.
    text: Vec<u8>,
}

/// The file that is written, as it was when we last wrote to it.
#[derive(Debug)]
struct Open {
    file: File,
    length: u64,
    /// When it was begun.
    begun: SystemTime,
    /// The number of its first record, once there is one.
    first: Option<u64>,
    last: Link,
    before: Link,
    /// Which of the two heads is the newest, and what it says.
    head: (Head, u64),
}

impl Appender {
    /// For this folder, which is made where it is missing.
    pub fn new(keep: Keep) -> io::Result<Self> {
        private::folder(&keep.folder)?;
        let _lock = lock(&keep.folder)?;
        let key = match Key::of(&keep.folder)? {
            Some(key) => key,
            None => {
                let key = Key::make(&keep.folder)?;
                // There is a head as long as there is a key: where it is missing later,
                // somebody took it away.
                head::write(&keep.head(), &Head::default(), &key, 1)?;
                key
            }
        };
        Ok(Self {
            keep,
            key,
            open: None,
            clock: Clock::default(),
            text: Vec::new(),
        })
    }

    /// Appends these in this order. With `sync` they are on disk when this returns, and
    /// the head says so. Where that fails, nothing of them is left.
    pub fn append(&mut self, records: &[Record], sync: bool) -> io::Result<()> {
        let mut batch = Batch::default();
        for record in records {
            batch.add(record);
        }
        self.append_each(&[&batch], sync)
    }

    /// The same of what says already what stands in its lines.
    pub(super) fn append_each(&mut self, batches: &[&Batch], sync: bool) -> io::Result<()> {
        let _lock = lock(&self.keep.folder)?;
        let (mut open, problem) = self.follow()?;
        let mut first = Batch::default();
        if let Some(problem) = problem {
            // That the head was gone is part of the record from then on.
            first.add(&Record::new(HEAD).with("problem", problem));
        }
        let batches = || std::iter::once(&first).chain(batches.iter().copied());
        if batches().any(|batch| !batch.is_empty()) {
            open.first.get_or_insert(open.last.count + 1);
        }
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        text.reserve(batches().map(|it| it.bytes() + LINE * it.len()).sum());
        let mut chain = Chain::after(&open.last, &mut self.clock);
        for record in batches().flat_map(Batch::iter) {
            chain.add(record, &mut text);
        }
        let last = chain.link();
        let is_old = || open.begun.elapsed().is_ok_and(|age| age > self.keep.age);
        let is_full = open.length + text.len() as u64 > self.keep.bytes || is_old();
        if open.length > 0 && is_full {
            open = self.turn(open)?;
            open.first = Some(open.last.count + 1);
        }
        if let Err(error) = open.file.write_all(&text) {
            // Half a line would hide the next one.
            let _ = open.file.set_len(open.length);
            return Err(error);
        }
        open.length += text.len() as u64;
        open.last = last;
        if text.capacity() <= limits::AUDIT_WAITING {
            self.text = text;
        }
        if sync {
            self.settle(&mut open)?;
        }
        self.open = Some(open);
        Ok(())
    }

    /// Sees to it that all that was appended is on disk, and writes the head.
    pub fn sync(&mut self) -> io::Result<()> {
        let _lock = lock(&self.keep.folder)?;
        let (mut open, _) = self.follow()?;
        self.settle(&mut open)?;
        self.open = Some(open);
        Ok(())
    }

    fn settle(&self, open: &mut Open) -> io::Result<()> {
        let head = Head {
            last: open.last.clone(),
            before: open.before.clone(),
        };
        if head == open.head.0 {
            return Ok(());
        }
        open.file.sync_data()?;
        let place = head::write(&self.keep.head(), &head, &self.key, open.head.1)?;
        if let Some(elsewhere) = &self.keep.heads {
            let line = json!({"count": head.last.count, "hash": head.last.hash});
            let mut file = OpenOptions::new();
            let file = file.append(true).create(true).mode(0o600).open(elsewhere);
            file.and_then(|mut file| writeln!(file, "{line}"))
                .map_err(|error| {
                    io::Error::new(error.kind(), format!("{}: {error}", elsewhere.display()))
                })?;
        }
        open.head = (head, place);
        Ok(())
    }

    /// The file as it is now: others may have written to it, or put it aside. With what
    /// is wrong with the head.
    fn follow(&mut self) -> io::Result<(Open, Option<&'static str>)> {
        let path = self.keep.current();
        if let Some(open) = self.open.take() {
            let ours = open.file.metadata()?;
            let is_ours = fs::metadata(&path)
                .is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()));
            if is_ours && ours.len() == open.length {
                return Ok((open, None));
            }
        }
        let mut file = open_file(&path)?;
        let found = head::find(&self.keep.head(), &self.key)?;
        let (head, problem) = match &found {
            Found::Head(head, place) | Found::Spoiled(head, place) => {
                (Some((head.clone(), *place)), None)
            }
            Found::Missing => (None, Some("missing")),
            Found::Forged => (None, Some("not signed with our key")),
        };
        let mut tail = tail(&mut file)?;
        if tail.is_none() {
            // Nothing in it yet: the chain goes on from the file before.
            let files = self.keep.files()?;
            let before = files.iter().rev().find(|file| **file != path);
            if let Some(before) = before {
                tail = self::tail(&mut File::open(before)?)?;
            }
        }
        let at_head = head.as_ref().map(|(head, _)| head.last.clone());
        let last = match (tail, at_head) {
            // What the head says is there should be: where it is not, that shows.
            (Some(tail), Some(head)) if tail.count > head.count => tail,
            (_, Some(head)) => head,
            (Some(tail), None) => tail,
            (None, None) => Link::default(),
        };
        let is_new = last.count == 0;
        let (head, place) = match head {
            Some(found) => found,
            None => {
                let none = Head::default();
                let place = match is_new {
                    true => head::write(&self.keep.head(), &none, &self.key, 1)?,
                    false => 1,
                };
                (none, place)
            }
        };
        let about = file.metadata()?;
        let open = Open {
            length: about.len(),
            begun: about.created().unwrap_or_else(|_| SystemTime::now()),
            first: first(&path)?,
            file,
            last,
            before: head.before.clone(),
            head: (head, place),
        };
        Ok((open, problem))
    }

    /// Puts a full file aside and begins the next. Of those that are too many the
    /// oldest go, after the head says so.
    fn turn(&self, mut open: Open) -> io::Result<Open> {
        self.settle(&mut open)?;
        let first = open.first.unwrap_or(open.last.count);
        let path = self.keep.current();
        fs::rename(&path, self.keep.aside(first))?;
        open.file = open_file(&path)?;
        private::sync_folder(&self.keep.folder);
        open.length = 0;
        open.begun = SystemTime::now();
        open.first = None;
        let mut files = self.keep.files()?;
        files.pop();
        let excess = files.len().saturating_sub(self.keep.files);
        if excess > 0 {
            if let Some(kept) = files.get(excess) {
                open.before = before(kept)?;
            }
            self.settle(&mut open)?;
            for file in &files[..excess] {
                fs::remove_file(file)?;
            }
        }
        Ok(open)
    }
}

/// Said where the head was gone or not ours when records were appended.
pub(super) const HEAD: &str = "audit.head";

fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    options.open(path)
}

/// The lock on the folder. Whoever holds it writes a few lines and is done.
fn lock(folder: &Path) -> io::Result<Lock> {
    let mut waiting = Lock::ask(&folder.join("lock"))?;
    let started = Instant::now();
    loop {
        match waiting.take()? {
            Ok(lock) => return Ok(lock),
            Err(again) => waiting = again,
        }
        if started.elapsed() > limits::AUDIT_LOCK {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "another program holds the lock of the record",
            ));
        }
        #[expect(clippy::disallowed_methods, reason = "a thread that writes files")]
        std::thread::sleep(limits::AUDIT_LOCK_PAUSE);
    }
}

/// The last whole record of a file. What stands behind it was never acknowledged,
/// and is taken away where the file can be written.
fn tail(file: &mut File) -> io::Result<Option<Link>> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(2 * limits::AUDIT_RECORD as u64);
    file.seek(SeekFrom::Start(from))?;
    let mut text = Vec::new();
    file.take(length - from).read_to_end(&mut text)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n');
    let whole = whole.map_or(0, |end| end + 1);
    if whole < text.len() {
        // A file that was put aside is only read here, and is whole.
        let _ = file.set_len(from + whole as u64);
    }
    let mut lines = text[..whole].split(|byte| *byte == b'\n');
    let last = lines.rfind(|line| !line.is_empty());
    Ok(last.and_then(|line| {
        let count = Linked::of(line)?.n;
        let hash = hash(line);
        Some(Link { count, hash })
    }))
}

/// The number of the first record of a file.
fn first(path: &Path) -> io::Result<Option<u64>> {
    let count = before(path).map(|link| link.count + 1);
    match count {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        other => other.map(Some),
    }
}

/// Where the chain was before a file.
fn before(path: &Path) -> io::Result<Link> {
    let mut reader = io::BufReader::new(File::open(path)?);
    let line = line_of(&mut reader)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let linked = Linked::of(&line).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Link {
        count: linked.n.saturating_sub(1),
        hash: linked.prev,
    })
}

/// The next line, with its break; one that is too long comes in parts.
pub(super) fn line_of(reader: &mut impl io::BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let most = 2 * limits::AUDIT_RECORD as u64;
    let read = io::BufRead::read_until(&mut reader.take(most), b'\n', &mut line)?;
    if read == 0 {
        return Ok(None);
    }
    Ok(Some(line))
}
