//! What would be written to stderr while the screen is there: it would be drawn over. It is
//! kept instead, and printed where the screen ends badly.

use crate::{limits, show::safe};
use rustix::{
    fd::OwnedFd,
    io::dup,
    pipe::pipe,
    stdio::{dup2_stderr, stderr},
};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufRead, BufReader, Write},
    thread::{self, JoinHandle},
};

/// Stderr leads here until this ends.
pub struct Quiet {
    before: OwnedFd,
    reader: Option<JoinHandle<VecDeque<String>>>,
}

impl Quiet {
    /// Leads stderr into a pipe that is always read. One that does not lead to a terminal
    /// disturbs nobody and stays as it is.
    pub fn begin() -> io::Result<Self> {
        let before = dup(stderr())?;
        if !rustix::termios::isatty(&before) {
            return Ok(Self {
                before,
                reader: None,
            });
        }
        let (read, write) = pipe()?;
        let reader = thread::Builder::new().name("stderr".to_owned());
        let reader = reader.spawn(move || keep(File::from(read)))?;
        dup2_stderr(&write)?;
        Ok(Self {
            before,
            reader: Some(reader),
        })
    }

    /// Stderr is what it was; `tell` prints what was kept.
    pub fn end(mut self, tell: bool) {
        let kept = self.undo();
        if tell {
            let mut out = io::stderr().lock();
            for line in kept {
                let _ = writeln!(out, "{}", safe::line(&line));
            }
        }
    }

    fn undo(&mut self) -> VecDeque<String> {
        let Some(reader) = self.reader.take() else {
            return VecDeque::new();
        };
        // The last end that writes goes with this, so that the reader ends.
        let _ = dup2_stderr(&self.before);
        reader.join().unwrap_or_default()
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        self.undo();
    }
}

fn keep(read: File) -> VecDeque<String> {
    let mut kept = VecDeque::new();
    for line in BufReader::new(read).split(b'\n') {
        let Ok(line) = line else { break };
        if kept.len() >= limits::KEPT_STDERR {
            kept.pop_front();
        }
        kept.push_back(String::from_utf8_lossy(&line).into_owned());
    }
    kept
}
