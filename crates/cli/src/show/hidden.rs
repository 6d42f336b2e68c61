//! Asking for a secret: from the environment, or on a terminal without showing
//! what is typed. Never from an argument, which every process could read.

use super::term;
use crate::failure::Failure;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{BufRead, Write};
use switchboard::auth::Secret;

/// The secret in `variable`, or what somebody types.
pub fn ask(variable: &str, what: &str) -> Result<Secret, Failure> {
    if let Ok(secret) = std::env::var(variable)
        && !secret.is_empty()
    {
        return Ok(Secret::new(secret));
    }
    if !term::can_ask() {
        let text = format!(
            "nobody is there to be asked for the {}",
            what.to_lowercase()
        );
        return Err(Failure::usage(text).hint(format!("set {variable}")));
    }
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "{what}: ");
    let _ = err.flush();
    let silence = Silence::new();
    let mut line = zeroized();
    let read = std::io::stdin().lock().read_line(&mut line);
    drop(silence);
    let _ = writeln!(err);
    let secret = line.trim_end_matches(['\n', '\r']);
    match read {
        Ok(_) if !secret.is_empty() => Ok(Secret::new(secret)),
        _ => Err(Failure::usage("no secret was given")),
    }
}

/// Large enough that it need not move while somebody types.
fn zeroized() -> zeroize::Zeroizing<String> {
    zeroize::Zeroizing::new(String::with_capacity(4096))
}

/// The terminal shows nothing until this is dropped.
struct Silence(Option<Termios>);

impl Silence {
    fn new() -> Self {
        let Ok(before) = tcgetattr(std::io::stdin()) else {
            return Self(None);
        };
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &silent);
        Self(Some(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, before);
        }
    }
}
