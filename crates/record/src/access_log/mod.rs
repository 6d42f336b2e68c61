//! A line for each request: who asked for what, how it ended, how long it took.
//! Never what was asked with or answered.
//!
//! Lines are made from plain values by one task, which takes them from a bounded
//! queue. What finds the queue full is dropped; how many were is said in the log itself.

mod line;
#[cfg(test)]
mod tests;

pub use line::Format;

use crate::{
    limits,
    log_files::{LogFile, Rotation},
};
use line::{Line, Outcome};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};
use switchboard_host::observe::{Begin, End, Follow, Happened, Observer};
use switchboard_tasks as tasks;
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Where lines go.
    pub to: Place,
    /// What they look like.
    pub format: Format,
}

/// Where lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// To stderr: stdout is the protocol's.
    Stderr,
    /// To this file.
    File(PathBuf),
}

impl Wanted {
    /// Lines in the file of this name; `-` is stderr.
    pub fn named(file: &Path, format: Format) -> Self {
        let to = match file == Path::new("-") {
            true => Place::Stderr,
            false => Place::File(file.to_owned()),
        };
        Self { to, format }
    }
}

/// The access log of one gateway.
#[derive(Debug)]
pub struct AccessLog {
    queue: mpsc::Sender<Told>,
    dropped: Arc<AtomicU64>,
}

/// What the task is told.
#[derive(Debug)]
enum Told {
    /// A request is over.
    Line(Box<Line>),
    /// Everything before this is to be written.
    Flush(oneshot::Sender<()>),
}

impl AccessLog {
    /// Opens it, and begins the task that writes it.
    pub fn begin(wanted: &Wanted) -> io::Result<Arc<Self>> {
        let to = match &wanted.to {
            Place::Stderr => None,
            Place::File(path) => Some(LogFile::open(path, Rotation::default())?),
        };
        let (queue, waiting) = mpsc::channel(limits::ACCESS_QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let writer = Writer {
            to,
            format: wanted.format,
            dropped: dropped.clone(),
            is_failing: false,
        };
        tasks::spawn(tasks::Kind::Upkeep, write_all(waiting, writer));
        Ok(Arc::new(Self { queue, dropped }))
    }

    /// Waits until all that was queued before is written.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        let flush = async {
            if self.queue.send(Told::Flush(done)).await.is_ok() {
                let _ = written.await;
            }
        };
        if timeout(limits::ACCESS_CLOSE, flush).await.is_err() {
            tracing::warn!("the last lines of the access log could not be written in time");
        }
    }

    /// Lines that found the queue full since the last one that says so.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn add(queue: &mpsc::Sender<Told>, dropped: &AtomicU64, line: Box<Line>) {
        if queue.try_send(Told::Line(line)).is_err() {
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Observer for AccessLog {
    fn begin(&self, call: &Begin<'_>) -> Option<Box<dyn Follow>> {
        Some(Box::new(Following {
            line: Box::new(Line::of(call)),
            queue: self.queue.clone(),
            dropped: self.dropped.clone(),
        }))
    }
}

/// One request.
struct Following {
    line: Box<Line>,
    queue: mpsc::Sender<Told>,
    dropped: Arc<AtomicU64>,
}

impl Follow for Following {
    fn event(&mut self, event: &Happened<'_>) {
        if let Happened::Left { server, .. } = event {
            self.line.server = Some((*server).clone());
        }
    }

    fn end(self: Box<Self>, end: &End<'_>) {
        let Self {
            mut line,
            queue,
            dropped,
        } = *self;
        line.outcome = Outcome::of(end);
        line.fault = end.fault;
        line.took = end.took;
        line.at_server = end.at_server;
        line.waited = end.waited;
        line.bytes = (end.bytes_in, end.bytes_out);
        AccessLog::add(&queue, &dropped, line);
    }
}

/// Where lines are written.
struct Writer {
    /// The file; stderr without one.
    to: Option<LogFile>,
    format: Format,
    dropped: Arc<AtomicU64>,
    /// Whether the last lines could not be written: it is said once.
    is_failing: bool,
}

async fn write_all(mut waiting: mpsc::Receiver<Told>, mut writer: Writer) {
    let mut batch = Vec::new();
    while waiting.recv_many(&mut batch, limits::ACCESS_BATCH).await > 0 {
        let told = std::mem::take(&mut batch);
        let written = tasks::blocking(move || {
            let done = writer.write(told);
            (writer, done)
        });
        let Ok((same, done)) = written.await else {
            return;
        };
        writer = same;
        for done in done {
            let _ = done.send(());
        }
    }
}

impl Writer {
    /// Writes these, and gives whom to tell of it.
    fn write(&mut self, told: Vec<Told>) -> Vec<oneshot::Sender<()>> {
        let (mut text, mut done) = (String::new(), Vec::new());
        for one in told {
            match one {
                Told::Line(line) => self.format.push(&mut text, &line),
                Told::Flush(flushed) => done.push(flushed),
            }
        }
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            self.format
                .push_dropped(&mut text, SystemTime::now(), dropped);
            tracing::warn!(
                dropped,
                "lines of the access log were dropped: the disk is too slow"
            );
        }
        if text.is_empty() {
            return done;
        }
        let written = match &mut self.to {
            Some(file) => file.write(text.as_bytes()),
            None => io::stderr().lock().write_all(text.as_bytes()),
        };
        match written {
            Ok(()) => self.is_failing = false,
            Err(error) if !self.is_failing => {
                self.is_failing = true;
                let file = self
                    .to
                    .as_ref()
                    .map(|file| file.path().display().to_string());
                tracing::warn!(file, %error, "the access log cannot be written");
            }
            Err(_) => {}
        }
        done
    }
}
