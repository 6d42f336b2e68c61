//! Lines in, lines out, as they are.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Runtime;

use crate::Recorder;

/// Serves until stdin ends.
pub fn serve(recorder: &Arc<Recorder>, runtime: &Runtime) -> std::io::Result<()> {
    let stdin = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let stdout = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let stdout = Arc::new(Mutex::new(stdout));
    let mut input = BufReader::with_capacity(64 * 1024, stdin);
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        let bytes = line.strip_suffix(b"\n").unwrap_or(&line);
        if let Some(answer) = recorder.received(bytes) {
            let answers = recorder.expect(&answer.before);
            for message in &answer.before {
                send(&stdout, message);
            }
            let stdout = Arc::clone(&stdout);
            if !answer.hold {
                runtime.spawn(async move {
                    for answered in answers {
                        let _ = answered.await;
                    }
                    send(&stdout, &answer.reply);
                });
            }
        }
        line.clear();
    }
    Ok(())
}

/// A raw line end between tokens would break the framing: it becomes a space.
fn send(stdout: &Mutex<File>, message: &[u8]) {
    let mut line: Vec<u8> = message
        .iter()
        .map(|b| if matches!(b, b'\n' | b'\r') { b' ' } else { *b })
        .collect();
    line.push(b'\n');
    let mut stdout = stdout.lock().unwrap_or_else(PoisonError::into_inner);
    // A client that is gone is noticed on stdin.
    let _ = stdout.write_all(&line);
}
