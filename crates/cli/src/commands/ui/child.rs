//! Commands that are typed on the screen: this very program, as if they were typed in a shell.

use crate::limits;
use futures_util::StreamExt;
use std::{io, path::Path, process::Stdio};
use switchboard_screen::Message;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::Command,
    sync::mpsc,
};
use tokio_util::codec::{FramedRead, LinesCodec};

/// The program with a command and what every command is told.
pub fn command(program: &Path, global: &[String], words: &[String]) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "this very program, with the environment that its user gave it; it ends with us"
    )]
    let mut command = Command::new(program);
    // Global options may stand before the command, whatever that takes.
    command.args(global).args(words).kill_on_drop(true);
    command
}

/// Runs a command without a terminal, and tells what it writes.
pub async fn run(mut command: Command, run: u64, tell: mpsc::Sender<Message>) {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let lines = vec![error.to_string()];
            let _ = tell.send(Message::Wrote { run, lines }).await;
            let _ = tell.send(Message::Ended { run, code: None }).await;
            return;
        }
    };
    let out: Option<Written> = child.stdout.take().map(|out| Box::new(out) as _);
    let err: Option<Written> = child.stderr.take().map(|err| Box::new(err) as _);
    tokio::join!(read(out, run, &tell), read(err, run, &tell));
    let code = child.wait().await.ok().and_then(|status| status.code());
    let _ = tell.send(Message::Ended { run, code }).await;
}

/// What a command writes, here or there.
type Written = Box<dyn AsyncRead + Send + Unpin>;

/// Tells lines as they come.
async fn read(stream: Option<Written>, run: u64, tell: &mpsc::Sender<Message>) {
    let Some(stream) = stream else { return };
    let codec = LinesCodec::new_with_max_length(limits::COMMAND_LINE);
    let mut lines = FramedRead::new(stream, codec).ready_chunks(limits::SCREEN_MESSAGES);
    while let Some(some) = lines.next().await {
        let some = some.into_iter();
        let lines = some.map(|line| line.unwrap_or_else(|error| format!("[{error}]")));
        let lines = lines.collect();
        if tell.send(Message::Wrote { run, lines }).await.is_err() {
            return;
        }
    }
}

/// What `doctor` found, as text of JSON.
pub async fn examined(mut command: Command) -> io::Result<Vec<u8>> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    let mut text = Vec::new();
    if let Some(out) = child.stdout.take() {
        let mut out = out.take(limits::FINDINGS as u64);
        out.read_to_end(&mut text).await?;
    }
    let _ = child.wait().await;
    Ok(text)
}
