//! Whether the records are all there, unchanged and in order.

use super::{
    chain::{Link, Linked, hash},
    folder::{HEAD, Keep, line_of},
    head::{self, Found, Key},
};
use crate::limits;
use serde::Deserialize;
use std::{
    fmt,
    fs::File,
    io::{self, BufReader},
    iter::Peekable,
    path::{Path, PathBuf},
};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// How many records were read.
    pub records: u64,
    /// The number of the last.
    pub last: u64,
    /// Records behind the head: a program ended before it could write the head.
    pub after_head: u64,
    /// Whether the file ends in the middle of a record, which nobody was told of.
    pub is_torn: bool,
    /// All that is wrong; the first of them, where it is a lot.
    pub problems: Vec<Problem>,
    /// How many that is.
    pub problem_count: usize,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A line is no record.
    Unreadable {
        /// File and line.
        place: String,
    },
    /// A record is not what it was when the next one was written.
    Altered {
        /// Its number.
        record: u64,
        /// File and line of what shows it.
        place: String,
    },
    /// Records are not there.
    Missing {
        /// The first.
        from: u64,
        /// The last.
        to: u64,
        /// File and line of what follows.
        place: String,
    },
    /// A record stands where it does not belong.
    Misplaced {
        /// Its number.
        record: u64,
        /// File and line.
        place: String,
    },
    /// The last records are not there.
    Cut {
        /// The last one that is.
        last: u64,
        /// How many there were.
        count: u64,
    },
    /// The head is not there, although there is a key that signed one.
    NoHead,
    /// The key of the folder is not there, although there are records.
    NoKey,
    /// The head was not signed with the key of the folder.
    ForgedHead,
    /// One of the two heads was not signed with the key of the folder: a power cut, or
    /// somebody who wants an older one to count.
    SpoiledHead,
    /// The head was gone when this record was written.
    HeadWasGone {
        /// Its number.
        record: u64,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { place } => write!(f, "{place}: this is no record"),
            Self::Altered { record, place } => {
                write!(f, "{place}: record {record} is not what it was")
            }
            Self::Missing { from, to, place } if from == to => {
                write!(f, "{place}: record {from} is missing before this")
            }
            Self::Missing { from, to, place } => {
                write!(f, "{place}: records {from} to {to} are missing before this")
            }
            Self::Misplaced { record, place } => {
                write!(f, "{place}: record {record} does not belong here")
            }
            Self::Cut { last, count } => write!(
                f,
                "the end is missing: there were {count} records, and the last one is {last}"
            ),
            Self::NoHead => {
                f.write_str("the head is missing: it cannot be told how many records there were")
            }
            Self::NoKey => f.write_str(
                "the key of this folder is missing: nothing shows that these are all its records",
            ),
            Self::ForgedHead => f.write_str("the head is not signed with the key of this folder"),
            Self::SpoiledHead => f.write_str(
                "one of the two heads is damaged: by a power cut, or by somebody who cut off the last records",
            ),
            Self::HeadWasGone { record } => write!(
                f,
                "the head was missing or not ours when record {record} was written: records before it may have been cut off"
            ),
        }
    }
}

/// Reads all records. `elsewhere` is a file to which heads were sent.
pub fn verify(keep: &Keep, elsewhere: Option<&Path>) -> io::Result<Verified> {
    let Some(key) = Key::of(&keep.folder)? else {
        let mut none = Verified::default();
        if !keep.files()?.is_empty() {
            none.problems.push(Problem::NoKey);
            none.problem_count = 1;
        }
        return Ok(none);
    };
    // First, so that what is appended meanwhile is not taken for a crash's.
    let found = head::find(&keep.head(), &key)?;
    let head = match &found {
        Found::Head(head, _) | Found::Spoiled(head, _) => Some(head),
        _ => None,
    };
    let mut walk = Walk {
        verified: Verified::default(),
        last: head.map(|head| head.before.clone()),
        head: head.map(|head| head.last.clone()),
        sent: Heads::open(elsewhere)?.peekable(),
        skip: head.map_or(0, |head| head.before.count),
    };
    for file in keep.files()? {
        walk.file(&file)?;
    }
    walk.end(&found);
    Ok(walk.verified)
}

/// Records that are kept elsewhere than in a folder, looked at as they come.
pub struct Checking(Walk);

impl Checking {
    /// The last of them should have this number and this hash.
    pub fn of(count: u64, hash: &str) -> Self {
        let hash = hash.to_owned();
        Self(Walk {
            verified: Verified::default(),
            last: None,
            head: Some(Link { count, hash }),
            sent: Heads(None).peekable(),
            skip: 0,
        })
    }

    /// The lines that come next, and what their place is called.
    pub fn lines(&mut self, text: &[u8], place: &str) {
        let lines = text.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.is_empty()) {
            let place = || place.to_owned();
            match Linked::of(line) {
                Some(linked) => self.0.record(&linked, line, &place),
                None => self.0.problem(Problem::Unreadable { place: place() }),
            }
        }
    }

    /// There are no more.
    pub fn end(mut self) -> Verified {
        self.0.ends();
        self.0.verified
    }
}

impl fmt::Debug for Checking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Checking").field(&self.0.verified).finish()
    }
}

struct Walk {
    verified: Verified,
    /// Where the chain is.
    last: Option<Link>,
    head: Option<Link>,
    sent: Peekable<Heads>,
    /// Records up to this one were put away, and may not be gone yet.
    skip: u64,
}

impl Walk {
    fn file(&mut self, file: &Path) -> io::Result<()> {
        let mut reader = BufReader::new(File::open(file)?);
        let mut number = 0;
        while let Some(line) = line_of(&mut reader)? {
            number += 1;
            let place = || format!("{}:{number}", file.display());
            let Some(line) = line.strip_suffix(b"\n") else {
                self.verified.is_torn = true;
                break;
            };
            match Linked::of(line) {
                Some(linked) => self.record(&linked, line, &place),
                None => self.problem(Problem::Unreadable { place: place() }),
            }
        }
        Ok(())
    }

    fn record(&mut self, linked: &Linked, line: &[u8], place: &dyn Fn() -> String) {
        let (n, hash) = (linked.n, hash(line));
        if n <= self.skip {
            return;
        }
        let last = self.last.take().unwrap_or(Link {
            count: n.saturating_sub(1),
            hash: linked.prev.clone(),
        });
        let expected = last.count + 1;
        if n > expected {
            self.problem(Problem::Missing {
                from: expected,
                to: n - 1,
                place: place(),
            });
        } else if n < expected {
            self.problem(Problem::Misplaced {
                record: n,
                place: place(),
            });
        } else if linked.prev != last.hash {
            self.problem(Problem::Altered {
                record: last.count,
                place: place(),
            });
        }
        if self
            .head
            .as_ref()
            .is_some_and(|head| head.count == n && head.hash != hash)
        {
            self.problem(Problem::Altered {
                record: n,
                place: place(),
            });
        }
        while let Some(sent) = self.sent.next_if(|sent| sent.count <= n) {
            if sent.count == n && sent.hash != hash {
                self.problem(Problem::Altered {
                    record: n,
                    place: place(),
                });
            }
        }
        if is_about_head(line) {
            self.problem(Problem::HeadWasGone { record: n });
        }
        self.verified.records += 1;
        self.last = Some(Link { count: n, hash });
    }

    fn end(&mut self, found: &Found) {
        match found {
            Found::Missing => self.problem(Problem::NoHead),
            Found::Forged => self.problem(Problem::ForgedHead),
            Found::Spoiled(..) => self.problem(Problem::SpoiledHead),
            _ => {}
        }
        self.ends();
    }

    fn ends(&mut self) {
        let last = self.last.as_ref().map_or(0, |last| last.count);
        self.verified.last = last;
        let heads = self.head.iter().map(|head| head.count);
        let sent = self.sent.by_ref().map(|sent| sent.count);
        let count = heads.chain(sent).max().unwrap_or_default();
        if count > last {
            self.problem(Problem::Cut { last, count });
        }
        if let Some(head) = &self.head {
            self.verified.after_head = last.saturating_sub(head.count);
        }
    }

    fn problem(&mut self, problem: Problem) {
        self.verified.problem_count += 1;
        if self.verified.problems.len() < limits::AUDIT_PROBLEMS {
            self.verified.problems.push(problem);
        }
    }
}

fn is_about_head(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Event<'a> {
        #[serde(borrow)]
        event: std::borrow::Cow<'a, str>,
    }
    serde_json::from_slice::<Event<'_>>(line).is_ok_and(|said| said.event == HEAD)
}

/// Heads that were sent elsewhere, in the order in which they came.
struct Heads(Option<BufReader<File>>);

#[derive(Deserialize)]
struct Sent {
    count: u64,
    hash: String,
}

impl Heads {
    fn open(file: Option<&Path>) -> io::Result<Self> {
        let named = |error: io::Error, file: &Path| {
            io::Error::new(error.kind(), format!("{}: {error}", file.display()))
        };
        let open = file.map(|file| File::open(file).map_err(|error| named(error, file)));
        Ok(Self(open.transpose()?.map(BufReader::new)))
    }
}

impl Iterator for Heads {
    type Item = Sent;

    fn next(&mut self) -> Option<Sent> {
        loop {
            let line = line_of(self.0.as_mut()?).ok()??;
            // One that was torn says nothing.
            if let Ok(sent) = serde_json::from_slice(&line) {
                return Some(sent);
            }
        }
    }
}

/// Every record as it is written, the oldest first, until `each` says that it is enough.
pub fn read(keep: &Keep, mut each: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let files = match keep.files() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::<PathBuf>::new(),
        other => other?,
    };
    for file in files {
        let mut reader = BufReader::new(File::open(file)?);
        while let Some(line) = line_of(&mut reader)? {
            if line.ends_with(b"\n") && !each(line.trim_ascii_end()) {
                return Ok(());
            }
        }
    }
    Ok(())
}
