//! What a gateway takes that does nothing, and what each session adds.

use super::servers::quiet;
use crate::bench::measure::Gated;
use crate::bench::subjects::{Programs, Subject};
use anyhow::Result;
use std::path::Path;

/// As many as a gateway keeps (`gateway/src/limits.rs`).
pub const SESSIONS: usize = 10_000;

/// Memory of one gateway.
pub struct Memory {
    /// Before anybody has come, in MiB.
    pub idle_mib: f64,
    /// For each of [`SESSIONS`], in KiB.
    pub session_kib: f64,
}

/// Measures a gateway that has just been started.
pub fn memory(programs: &Programs, scratch: &Path) -> Result<Memory> {
    let running = Subject::Stdio.start(programs, scratch)?;
    quiet(&running)?;
    let idle = running.pss_kib()?;
    // What the first client brings with it is not a session's.
    let first = Gated::start(programs, &running, |command| {
        command.args(["--clients", "8"]);
    })?;
    first.end()?;
    quiet(&running)?;
    let before = running.pss_kib()?;
    let number = SESSIONS.to_string();
    let open = Gated::start(programs, &running, |command| {
        command.args(["--sessions", &number]);
    })?;
    quiet(&running)?;
    let after = running.pss_kib()?;
    open.end()?;
    let memory = Memory {
        idle_mib: idle / 1024.0,
        session_kib: (after - before) / SESSIONS as f64,
    };
    eprintln!(
        "idle {:.1} MiB PSS; with {SESSIONS} sessions {:.1} MiB: {:.2} KiB each",
        memory.idle_mib,
        after / 1024.0,
        memory.session_kib
    );
    Ok(memory)
}
