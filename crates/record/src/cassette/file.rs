//! Cassettes that are written: as one text, or one file after the other in a folder.

use super::{Answer, Between, Call, ENDING, Header, Hello, line::Line, redact};
use crate::limits;
use bytes::Bytes;
use chrono::{DateTime, SecondsFormat, Utc};
use std::{
    fs::{self, File},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};
use switchboard_local::private;

/// What the names of files begin with that are recorded into a folder. Others are not ours.
const BEGINNING: &str = "calls-";

/// The text of a cassette of these calls, without secrets.
pub fn text(by: &str, at: DateTime<Utc>, hellos: &[Hello], calls: &[Call]) -> String {
    let hellos = hellos.iter().cloned().map(shown_hello).collect();
    let mut text = Line::Header(header(by, at), hellos).text();
    for call in calls {
        text.push_str(&Line::Call(shown_call(call.clone())).text());
    }
    text
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
        let path = self.folder.join(name);
        let mut file = private::create(&path)?;
        let header = Line::Header(header(&self.by, Utc::now()), self.hellos.clone()).text();
        if let Err(error) = file.write_all(header.as_bytes()) {
            // On a full disk there would be one more of these for each call, and in the end
            // the oldest would go for them.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        self.clear();
        Ok((file, header.len() as u64))
    }

    /// Removes the oldest of ours where there are too many.
    fn clear(&self) {
        let Ok(there) = fs::read_dir(&self.folder) else {
            return;
        };
        let names = there.flatten().map(|entry| entry.file_name());
        let mut ours: Vec<String> = names
            .filter_map(|name| name.into_string().ok())
            .filter(|name| name.starts_with(BEGINNING) && name.ends_with(ENDING))
            .collect();
        ours.sort_unstable();
        let surplus = ours.len().saturating_sub(limits::CASSETTE_FILES);
        for name in ours.into_iter().take(surplus) {
            let _ = fs::remove_file(self.folder.join(name));
        }
    }
}
