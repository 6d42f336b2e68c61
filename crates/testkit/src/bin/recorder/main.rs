//! A server that records the exact bytes it receives and answers with exact
//! bytes from a script: the far end of the lossless test.
//!
//! The script is JSON lines; the first entry that fits a request answers it:
//!
//! - `method`: the method it is for
//! - `match`: text that the raw request must contain (optional)
//! - `reply`: the raw text of the `result` or `error` member
//! - `kind`: `"result"` (default) or `"error"`
//! - `message`: a whole reply instead, with `@ID@` where the id goes
//! - `before`: raw messages to send first; `@ID@` and `@TOKEN@` stand for the
//!   id and the progress token of the request as they were written. The reply
//!   waits until those that are requests have been answered
//! - `times`: how often the entry may answer (default: always)
//! - `status`: the HTTP status of the reply (default: 200)
//! - `hold`: no reply ever comes
//!
//! `initialize`, `server/discover`, `ping` and the lists are answered in a
//! minimal way unless the script has them. The record file is described in
//! `switchboard_testkit::record`.

#![allow(unreachable_pub, reason = "a program has no outside")]

mod defaults;
mod http;
mod script;
mod stdio;

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Parser;
use switchboard_testkit::json::Message;
use switchboard_testkit::record;
use tokio::sync::oneshot;

use crate::script::{Answer, Script};

/// Records what it receives, answers what the script says.
#[derive(Parser)]
struct Args {
    /// Speak newline-delimited JSON on stdin and stdout.
    #[arg(long, conflicts_with = "http")]
    stdio: bool,
    /// Serve http://127.0.0.1:PORT/mcp (0 picks a free port).
    #[arg(long, value_name = "PORT", required_unless_present = "stdio")]
    http: Option<u16>,
    /// The answers, as JSON lines.
    #[arg(long)]
    script: Option<PathBuf>,
    /// Where to append what was received.
    #[arg(long)]
    record: PathBuf,
    /// legacy, modern or both.
    #[arg(long, default_value = "both")]
    era: String,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let script = match &args.script {
        Some(path) => Script::read(&std::fs::read(path)?)?,
        None => Script::default(),
    };
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&args.record)?;
    let recorder = Arc::new(Recorder {
        script,
        legacy: args.era != "modern",
        modern: args.era != "legacy",
        file: Mutex::new(file),
        waiting: Mutex::default(),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    match args.http {
        Some(port) => runtime.block_on(http::serve(recorder, port))?,
        None => stdio::serve(&recorder, &runtime)?,
    }
    Ok(())
}

/// What both transports share.
pub struct Recorder {
    script: Script,
    /// Whether it answers `initialize`.
    pub legacy: bool,
    /// Whether it answers `server/discover`.
    pub modern: bool,
    file: Mutex<File>,
    /// Our own requests that wait for an answer, by their id as written.
    waiting: Mutex<HashMap<Vec<u8>, oneshot::Sender<()>>>,
}

impl Recorder {
    /// Records a message; gives the answer if it was a request.
    pub fn received(&self, bytes: &[u8]) -> Option<Answer> {
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            record::append(&mut *file, bytes).expect("the record file can be written");
        }
        let message = Message::read(bytes)?;
        let id = message.id?;
        let Some(method) = &message.method else {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(sender) = waiting.remove(id) {
                let _ = sender.send(());
            }
            return None;
        };
        Some(match self.script.find(method, bytes) {
            Some(entry) => entry.answer(&message),
            None => defaults::answer(self, &message),
        })
    }

    /// Notes the requests in `before`, so that the reply can wait for them.
    pub fn expect(&self, before: &[Vec<u8>]) -> Vec<oneshot::Receiver<()>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let ids = before.iter().filter_map(|text| {
            let message = Message::read(text)?;
            message.method.as_ref().and(message.id).map(<[u8]>::to_vec)
        });
        ids.map(|id| {
            let (sender, receiver) = oneshot::channel();
            waiting.insert(id, sender);
            receiver
        })
        .collect()
    }
}
