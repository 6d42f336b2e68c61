//! Running a program to its end: with a time-out, a cap on what is kept of its
//! output, and nothing left behind. How processes are started and ended is
//! `switchboard-transport`'s.

mod capture;

pub(crate) use capture::{Capture, decode};

use crate::{answer::Failure, limits};
use parking_lot::Mutex;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use switchboard_process::{Exit, ServerCommand, ServerProcess};
use switchboard_tasks as tasks;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    sync::Semaphore,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// What to run, and how long and how loud it may be.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) command: ServerCommand,
    pub(crate) stdin: Vec<u8>,
    pub(crate) timeout: Duration,
    pub(crate) keep: usize,
    /// The caller has lost interest.
    pub(crate) cancel: CancellationToken,
    /// The client has gone.
    pub(crate) over: CancellationToken,
}

/// How it went.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) ending: Ending,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
    pub(crate) took: Duration,
}

/// How a program came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself.
    Exited(Exit),
    /// It was stopped after the time-out.
    TimedOut,
    /// It was stopped because nobody waits for it any more.
    Cancelled,
}

/// Runs it. When this returns, or is dropped, nothing of it is left.
pub(crate) async fn run(job: Job) -> Result<Done, Failure> {
    static AT_ONCE: Semaphore = Semaphore::const_new(limits::COMMANDS_AT_ONCE);
    let _turn = AT_ONCE
        .try_acquire()
        .map_err(|_| Failure::new("too many programs are running").hint("wait for one to end"))?;
    let begun = Instant::now();
    let mut process =
        ServerProcess::spawn(&job.command).map_err(|fault| Failure::new(fault.to_string()))?;
    let mut stdin = process.take_stdin();
    let feeding = AbortOnDropHandle::new(tasks::spawn(tasks::Kind::Builtin, async move {
        // A program that does not read to the end is no fault.
        let _ = stdin.write_all(&job.stdin).await;
    }));
    let stdout = Arc::new(Mutex::new(Capture::new(job.keep)));
    let reading = read_into(process.take_stdout(), Arc::clone(&stdout));
    let mut reading = AbortOnDropHandle::new(tasks::spawn(tasks::Kind::Builtin, reading));
    let stderr = process.stderr();
    let stderr_head = Arc::new(Mutex::new(Capture::new(2 * limits::STDERR_HEAD)));
    let head = Arc::clone(&stderr_head);
    stderr.on_line(Box::new(move |line| {
        let mut head = head.lock();
        head.push(line);
        head.push(b"\n");
    }));

    let client_gone = async {
        job.over.cancelled().await;
        tokio::time::sleep(limits::CLIENT_GONE_GRACE).await;
    };
    let ending = tokio::select! {
        exit = process.exited() => Ending::Exited(exit),
        () = tokio::time::sleep(job.timeout) => Ending::TimedOut,
        () = job.cancel.cancelled() => Ending::Cancelled,
        () = client_gone => Ending::Cancelled,
    };
    if let Ending::Exited(_) = ending {
        settle(&mut reading).await;
    }
    drop(feeding);
    process.stop().await;
    stderr.ended(limits::OUTPUT_GRACE).await;
    settle(&mut reading).await;

    let stdout = std::mem::replace(&mut *stdout.lock(), Capture::new(0));
    let stderr = stderr_head.lock().with_end(&stderr.bytes(), stderr.total());
    Ok(Done {
        ending,
        stdout,
        stderr,
        took: begun.elapsed(),
    })
}

/// Waits a little for the rest of the output.
async fn settle(reading: &mut AbortOnDropHandle<()>) {
    if !reading.is_finished() {
        let _ = tokio::time::timeout(limits::OUTPUT_GRACE, reading).await;
    }
}

async fn read_into(mut from: impl AsyncRead + Unpin, into: Arc<Mutex<Capture>>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        into.lock().push(&buffer[..read]);
    }
}

/// Text for an argument vector or an environment, where NUL ends everything.
pub(crate) fn no_nul<'t>(what: &str, text: &'t str) -> Result<&'t str, Failure> {
    match text.contains('\0') {
        true => Err(Failure::new(format!("{what} holds a NUL byte"))),
        false => Ok(text),
    }
}
