//! Commands that are typed on the screen: this very program, as if they were typed in a shell.

use crate::limits;
use std::{io, path::Path, pin::Pin, process::Stdio};
use switchboard_screen::Message;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::Command,
    sync::mpsc,
};

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
    let both = [out, err].map(|stream| Box::pin(read(stream, run, tell.clone())) as Reading);
    let [out, err] = both;
    tokio::join!(out, err);
    let code = child.wait().await.ok().and_then(|status| status.code());
    let _ = tell.send(Message::Ended { run, code }).await;
}

/// What a command writes, here or there.
type Written = Box<dyn AsyncRead + Send + Unpin>;

type Reading = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tells lines as they come.
async fn read(stream: Option<Written>, run: u64, tell: mpsc::Sender<Message>) {
    let Some(mut stream) = stream else { return };
    let mut text = Vec::new();
    loop {
        let read = stream.read_buf(&mut text).await;
        let is_end = !matches!(read, Ok(1..));
        let mut lines = taken(&mut text, is_end);
        if let Err(error) = read {
            lines.push(format!("[{error}]"));
        }
        let told = match lines.is_empty() {
            true => Ok(()),
            false => tell.send(Message::Wrote { run, lines }).await,
        };
        if is_end || told.is_err() {
            return;
        }
    }
}

/// The lines that are there to their end, and the last one too where nothing more comes or it is
/// longer than one may be.
fn taken(text: &mut Vec<u8>, is_end: bool) -> Vec<String> {
    let is_all = is_end || text.len() >= limits::COMMAND_LINE;
    let end = match text.iter().rposition(|byte| *byte == b'\n') {
        _ if is_all => text.len(),
        Some(at) => at + 1,
        None => 0,
    };
    let whole = String::from_utf8_lossy(&text[..end]);
    let lines = whole.lines().map(str::to_owned).collect();
    text.drain(..end);
    lines
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_when_they_are_whole() {
        let mut text = b"one\r\ntwo\nthr".to_vec();
        assert_eq!(taken(&mut text, false), ["one", "two"]);
        assert_eq!(taken(&mut text, false), [""; 0]);
        text.extend(b"ee \xff");
        assert_eq!(taken(&mut text, true), ["three \u{fffd}"]);
        assert_eq!(taken(&mut text, true), [""; 0]);
        // One that never ends is not waited for.
        let mut text = vec![b'x'; limits::COMMAND_LINE];
        assert_eq!(taken(&mut text, false).len(), 1);
        assert!(text.is_empty());
    }
}
