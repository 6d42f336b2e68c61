//! Cassettes that are written: as one text, or one file after the other in a folder.

use super::{Answer, Between, Call, ENDING, Header, Hello, line::Line, redact};
use crate::limits;
use bytes::Bytes;
use chrono::{DateTime, SecondsFormat, Utc};
use std::{
    fs::{self, File},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};
use switchboard_local::private;

/// What the names of files begin with that are recorded into a folder. Others are not ours.
const BEGINNING: &str = "calls-";

/// The text of a cassette of these calls, without secrets.
pub fn text(by: &str, at: DateTime<Utc>, hellos: &[Hello], calls: &[Call]) -> String {
    let mut text = first_line(by, at, hellos.to_vec());
    for call in calls {
        text.push_str(&line_of(call.clone()));
    }
    text
}

/// What a cassette begins with, without secrets.
pub(super) fn first_line(by: &str, at: DateTime<Utc>, hellos: Vec<Hello>) -> String {
    let hellos = hellos.into_iter().map(shown_hello).collect();
    Line::Header(header(by, at), hellos).text()
}

/// The line of a call, without secrets.
pub(super) fn line_of(call: Call) -> String {
    Line::Call(shown_call(call)).text()
}

fn header(by: &str, at: DateTime<Utc>) -> Header {
    Header {
        recorded: at.to_rfc3339_opts(SecondsFormat::Millis, true),
        by: format!("switchboard {by}"),
    }
}

/// The same without secrets.
pub(super) fn shown(line: Line) -> Line {
    match line {
        Line::Hello(hello) => Line::Hello(shown_hello(hello)),
        Line::Call(call) => Line::Call(shown_call(call)),
        Line::Notice(server, mut notice) => {
            notice.params = cut(notice.params);
            Line::Notice(server, notice)
        }
        Line::Header(header, hellos) => {
            Line::Header(header, hellos.into_iter().map(shown_hello).collect())
        }
    }
}

fn cut(raw: Option<Bytes>) -> Option<Bytes> {
    raw.map(|raw| redact(&raw))
}

fn shown_hello(mut hello: Hello) -> Hello {
    hello.params = cut(hello.params);
    hello.result = redact(&hello.result);
    hello
}

fn shown_answer(answer: &Answer) -> Answer {
    match answer {
        Answer::Result(raw) => Answer::Result(redact(raw)),
        Answer::Error(raw) => Answer::Error(redact(raw)),
    }
}

fn shown_call(mut call: Call) -> Call {
    call.params = cut(call.params);
    call.answer = shown_answer(&call.answer);
    for between in &mut call.between {
        match between {
            Between::Notice(notice) => notice.params = cut(notice.params.take()),
            Between::Question(question) => {
                question.params = cut(question.params.take());
                if let Some((_, answer)) = &mut question.answered {
                    *answer = shown_answer(answer);
                }
            }
        }
    }
    call
}

/// Lines that are not on disk.
#[derive(Debug, thiserror::Error)]
#[error("{lines} lines are lost: {error}")]
pub(super) struct Unwritten {
    /// How many.
    pub(super) lines: u64,
    /// Why the last of them is not.
    #[source]
    pub(super) error: io::Error,
}

/// Files in a folder, of which one is written.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    by: String,
    begun: DateTime<Utc>,
    /// How many were begun.
    count: u32,
    /// What every file begins with: each can be used alone.
    hellos: Vec<Hello>,
    open: Option<(File, u64)>,
    /// What the one that is written is called.
    name: String,
    /// From how many bytes on the next one is begun.
    pub(super) full: u64,
}

impl Files {
    /// Files in this folder, which is made where it is missing. None is begun before
    /// there is anything to write.
    pub(super) fn new(folder: &Path, by: &str) -> io::Result<Self> {
        private::make_folder(folder)?;
        let there = fs::metadata(folder)?;
        if !there.is_dir() {
            return Err(io::Error::other("it is not a folder"));
        }
        Ok(Self {
            folder: folder.to_owned(),
            by: by.to_owned(),
            begun: Utc::now(),
            count: 0,
            hellos: Vec::new(),
            open: None,
            name: String::new(),
            full: limits::CASSETTE_FILE_BYTES,
        })
    }

    /// Adds whole lines. Says how many could not be, and why the last of them.
    pub(super) fn write(&mut self, lines: Vec<Line>) -> Result<(), Unwritten> {
        let mut lost: Option<Unwritten> = None;
        for line in lines {
            let line = shown(line);
            if let Line::Hello(hello) = &line {
                if self.hellos.contains(hello) {
                    continue;
                }
                let is_same = |one: &Hello| one.server == hello.server && one.era == hello.era;
                self.hellos.retain(|one| !is_same(one));
                if self.hellos.len() < limits::CASSETTE_SERVERS {
                    self.hellos.push(hello.clone());
                }
                if self.open.is_none() {
                    continue;
                }
            }
            let text = line.text();
            if text.len() > limits::CASSETTE_LINE {
                tracing::warn!("a call is too large for a cassette and was left out");
                continue;
            }
            if let Err(error) = self.append(text.as_bytes()) {
                let before = lost.map_or(0, |lost| lost.lines);
                let lines = before + 1;
                lost = Some(Unwritten { lines, error });
            }
        }
        lost.map_or(Ok(()), Err)
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let full = self.full;
        let is_full = |(_, bytes): &(File, u64)| bytes.saturating_add(line.len() as u64) > full;
        if self.open.as_ref().is_none_or(is_full) {
            self.open = Some(self.next()?);
        }
        let Some((file, bytes)) = &mut self.open else {
            return Ok(());
        };
        let written = file.write_all(line);
        if written.is_ok() {
            *bytes += line.len() as u64;
            return written;
        }
        // Half a line may be there, and nobody could read a file with it.
        let back = file
            .set_len(*bytes)
            .and_then(|()| file.seek(SeekFrom::Start(*bytes)));
        if back.is_err() {
            self.open = None;
        }
        written
    }

    /// Begins the next file.
    fn next(&mut self) -> io::Result<(File, u64)> {
        self.count += 1;
        let stamp = self.begun.format("%Y%m%dT%H%M%SZ");
        let (process, count) = (std::process::id(), self.count);
        let name = format!("{BEGINNING}{stamp}-{process}-{count:04}{ENDING}");
        let path = self.folder.join(&name);
        let mut file = private::create(&path)?;
        let header = Line::Header(header(&self.by, Utc::now()), self.hellos.clone()).text();
        if let Err(error) = file.write_all(header.as_bytes()) {
            // On a full disk there would be one more of these for each call, and in the end
            // the oldest would go for them.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        self.name = name;
        self.clear();
        Ok((file, header.len() as u64))
    }

    /// Removes the oldest of ours where there are too many: by when they were last written,
    /// since clocks are set and processes have any number. Never the one that is written.
    fn clear(&self) {
        let Ok(there) = fs::read_dir(&self.folder) else {
            return;
        };
        let mut ours: Vec<(SystemTime, String)> = there
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                (name != self.name && is_ours(&name)).then_some((about.modified().ok()?, name))
            })
            .collect();
        ours.sort_unstable();
        let surplus = (ours.len() + 1).saturating_sub(limits::CASSETTE_FILES);
        for (_, name) in ours.into_iter().take(surplus) {
            let _ = fs::remove_file(self.folder.join(name));
        }
    }
}

/// Whether a file is called as we call ours: `calls-20260102T030405Z-123-0001`. What somebody
/// else has put there, or named themselves, is not ours to remove.
fn is_ours(name: &str) -> bool {
    let inner = name.strip_prefix(BEGINNING);
    let Some(inner) = inner.and_then(|name| name.strip_suffix(ENDING)) else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut parts = inner.split('-');
    let (stamp, process, count) = (parts.next(), parts.next(), parts.next());
    let is_stamp = |stamp: &str| {
        let stamp = stamp
            .strip_suffix('Z')
            .and_then(|stamp| stamp.split_once('T'));
        stamp.is_some_and(|(day, time)| {
            (day.len(), time.len()) == (8, 6) && is_number(day) && is_number(time)
        })
    };
    parts.next().is_none()
        && stamp.is_some_and(is_stamp)
        && process.is_some_and(is_number)
        && count.is_some_and(|count| count.len() >= 4 && is_number(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_we_wrote_is_removed_and_never_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let put = |name: &str, age: u64| {
            let file = File::create(path.join(name)).unwrap();
            let at = SystemTime::now() - std::time::Duration::from_secs(age);
            file.set_modified(at).unwrap();
        };
        let theirs = [
            format!("calls-mine{ENDING}"),
            format!("calls-20200101T000000Z-1-0001-kept{ENDING}"),
            format!("calls-20200101T000000Z-1-one{ENDING}"),
            format!("calls-2020-1-0001{ENDING}"),
        ];
        for name in &theirs {
            put(name, 9_000_000);
        }
        // Of a clock that was ahead: last by name, and first by time.
        let name = |n: usize| format!("calls-20990101T000000Z-1-{n:04}{ENDING}");
        for n in 0..limits::CASSETTE_FILES {
            put(&name(n), 1_000_000 - n as u64);
        }
        let mut files = Files::new(path, "0").unwrap();
        files.append(b"line\n").unwrap();
        let there = |name: &str| path.join(name).exists();
        assert!(there(&files.name), "what is written stays");
        assert!(!there(&name(0)) && there(&name(1)), "the oldest goes");
        for name in &theirs {
            assert!(there(name), "{name}");
        }
    }
}
