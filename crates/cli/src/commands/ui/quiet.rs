//! What would be written to stderr while the screen is there: it would be drawn over. It is
//! kept instead, and printed where the screen ends badly.

use super::thread;
use crate::{
    limits,
    show::{live, safe},
};
use parking_lot::Mutex;
use rustix::{
    fd::OwnedFd,
    io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd},
    pipe::pipe,
    stdio::{dup2_stderr, stderr},
};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufRead, BufReader},
    sync::Arc,
    thread::{JoinHandle, sleep},
    time::{Duration, Instant},
};

/// Stderr leads here until this ends.
pub struct Quiet {
    before: OwnedFd,
    /// Reads until nothing more can come; none where stderr stayed as it was.
    reader: Option<JoinHandle<()>>,
    kept: Arc<Mutex<VecDeque<String>>>,
}

impl Quiet {
    /// Leads stderr into a pipe that is always read. One that does not lead to a terminal
    /// disturbs nobody and stays as it is.
    pub fn begin() -> io::Result<Self> {
        let before = fcntl_dupfd_cloexec(stderr(), 3)?;
        let kept = Arc::default();
        if !rustix::termios::isatty(&before) {
            return Ok(Self {
                before,
                reader: None,
                kept,
            });
        }
        let (read, write) = pipe()?;
        for end in [&read, &write] {
            fcntl_setfd(end, FdFlags::CLOEXEC)?;
        }
        let keeps: Arc<Mutex<VecDeque<String>>> = Arc::clone(&kept);
        let reader = thread("stderr", move || keep(File::from(read), &keeps))?;
        dup2_stderr(&write)?;
        Ok(Self {
            before,
            reader: Some(reader),
            kept,
        })
    }

    /// Stderr is what it was; `tell` prints what was kept.
    pub fn end(mut self, tell: bool) {
        self.undo();
        if tell {
            for line in self.kept.lock().iter() {
                live::stderr_line(&safe::line(line));
            }
        }
    }

    fn undo(&mut self) {
        if let Some(reader) = self.reader.take() {
            // Ours was the last end that writes, unless a process has taken it along.
            let _ = dup2_stderr(&self.before);
            let until = Instant::now() + limits::STDERR_END;
            while !reader.is_finished() && Instant::now() < until {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the screen is over, and what was kept is whole before it is printed"
                )]
                sleep(Duration::from_millis(1));
            }
        }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        self.undo();
    }
}

fn keep(read: File, kept: &Mutex<VecDeque<String>>) {
    for line in BufReader::new(read).split(b'\n') {
        let Ok(line) = line else { return };
        let mut kept = kept.lock();
        if kept.len() >= limits::KEPT_STDERR {
            kept.pop_front();
        }
        kept.push_back(String::from_utf8_lossy(&line).into_owned());
    }
}
