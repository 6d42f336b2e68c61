//! Reading a whole cassette, within bounds. Whatever is wrong is told with its place.

use super::{Cassette, LineFault, Recorded, line::Line};
use crate::limits;
use bytes::Bytes;
use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    sync::Arc,
};
use switchboard_wire::json;

/// Why a cassette cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file cannot be read.
    #[error("{}: {error}", file.display())]
    File {
        /// Which one.
        file: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A line is not what it should be.
    #[error("{}:{line}: {what}", file.display())]
    Line {
        /// In which file.
        file: PathBuf,
        /// Which one, from 1.
        line: usize,
        /// What is wrong.
        what: LineFault,
    },
}

/// What is known while a file is read.
#[derive(Default)]
struct Reading {
    has_header: bool,
    /// The last call of each server so far.
    last: HashMap<Arc<str>, usize>,
}

impl Cassette {
    /// Reads a file.
    pub fn open(file: &Path) -> Result<Self, CassetteError> {
        let opened = File::open(file).map_err(|error| CassetteError::File {
            file: file.to_owned(),
            error,
        })?;
        Self::read(file, BufReader::new(opened))
    }

    /// Reads what is in `file`.
    pub fn read(file: &Path, from: impl BufRead) -> Result<Self, CassetteError> {
        let mut from = from.take(limits::CASSETTE_BYTES + 1);
        let (mut cassette, mut reading) = (Self::default(), Reading::default());
        let fault = |line: usize, what: LineFault| CassetteError::Line {
            file: file.to_owned(),
            line,
            what,
        };
        for number in 1.. {
            let mut raw = Vec::new();
            let most = limits::CASSETTE_LINE as u64 + 1;
            let read = (&mut from).take(most).read_until(b'\n', &mut raw);
            read.map_err(|error| CassetteError::File {
                file: file.to_owned(),
                error,
            })?;
            if from.limit() == 0 {
                return Err(fault(number, LineFault::LongFile));
            }
            if raw.is_empty() {
                break;
            }
            if number > limits::CASSETTE_LINES {
                return Err(fault(number, LineFault::ManyLines));
            }
            if raw.len() > limits::CASSETTE_LINE {
                return Err(fault(number, LineFault::LongLine));
            }
            let line = read_line(raw).map_err(|what| fault(number, what))?;
            if let Some(line) = line {
                let added = cassette.add(number, line, &mut reading);
                added.map_err(|what| fault(number, what))?;
            }
        }
        match reading.has_header {
            true => Ok(cassette),
            false => Err(fault(1, LineFault::Empty)),
        }
    }

    fn add(&mut self, number: usize, line: Line, reading: &mut Reading) -> Result<(), LineFault> {
        match (line, reading.has_header) {
            (Line::Header(header, hellos), false) => {
                reading.has_header = true;
                self.header = header;
                self.hellos = hellos;
            }
            (Line::Header(..), true) => return Err(LineFault::SecondHeader),
            (_, false) => return Err(LineFault::NoCassette),
            (Line::Hello(hello), true) => self.hellos.push(hello),
            (Line::Notice(server, notice), true) => {
                // Before the first call nobody was there to hear it.
                let last = reading.last.get(&server);
                if let Some(last) = last.and_then(|at| self.calls.get_mut(*at)) {
                    last.after.push(notice);
                }
            }
            (Line::Call(call), true) => {
                reading.last.insert(call.server.clone(), self.calls.len());
                self.calls.push(Recorded {
                    line: number,
                    call,
                    after: Vec::new(),
                });
            }
        }
        Ok(())
    }
}

/// Nothing is on an empty line.
fn read_line(raw: Vec<u8>) -> Result<Option<Line>, LineFault> {
    if raw.trim_ascii().is_empty() {
        return Ok(None);
    }
    let raw = Bytes::from(raw);
    let (span, kind) = json::check(&raw).map_err(|fault| match raw.last() {
        Some(b'\n') => LineFault::Syntax(fault),
        _ => LineFault::Cut(fault),
    })?;
    if kind != json::ValueKind::Object {
        return Err(LineFault::NoObject);
    }
    if std::str::from_utf8(&raw).is_err() {
        return Err(LineFault::NoText);
    }
    Line::read(&raw.slice(span.start..span.end)).map(Some)
}
