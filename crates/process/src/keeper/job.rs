//! The program as a job of a shell: the keeper is whom the shell sees. It stops after the
//! worker, which has a terminal to give back first, and gives the terminal back itself for a
//! worker that was killed.

use std::fs::File;
use std::io::Write;
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, getpid, kill_process};
use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, OutputModes, Termios, tcgetattr, tcsetattr};

use crate::limits;
use crate::table::{self, Entry, ProcessId, Table};

/// Ends whatever a screen has asked of a terminal: a frame that is held back, pasted text in
/// brackets, a second page, no cursor.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[?2004l\x1b[?1049l\x1b[?25h";

/// The terminal as it was, where there is one.
pub(super) struct Terminal(Option<Termios>);

impl Terminal {
    /// Looks at it before anybody changes it.
    pub(super) fn remember() -> Self {
        Self(tcgetattr(stdin()).ok())
    }

    /// Gives it back as it was, if it was left otherwise and is still ours.
    pub(super) fn give_back(&self) {
        let Some(before) = &self.0 else { return };
        let opened = File::options().read(true).write(true).open("/dev/tty");
        let Ok(mut terminal) = opened else { return };
        let Ok(now) = tcgetattr(&terminal) else {
            return;
        };
        let same = now.local_modes == before.local_modes && now.output_modes == before.output_modes;
        if same || !super::is_in_front_of(&terminal) {
            return;
        }
        let _ = tcsetattr(&terminal, OptionalActions::Now, before);
        // Only a screen writes lines that the terminal does not end by itself.
        let drawn = |modes: OutputModes| !modes.contains(OutputModes::OPOST);
        if drawn(now.output_modes) && !drawn(before.output_modes) {
            let _ = terminal.write_all(LEAVE);
        }
    }
}

/// Stops, once the worker below the guard has; `told` says that it knows already.
pub(super) fn stop(guard: Pid, told: bool) {
    if !super::has_shell() {
        return;
    }
    if let Some(worker) = worker_below(guard) {
        if !told {
            table::signal(worker, Signal::TSTP);
        }
        let until = Instant::now() + limits::STOPS_WITHIN;
        while !is_stopped(worker.pid) && Instant::now() < until {
            #[expect(
                clippy::disallowed_methods,
                reason = "the keeper has this thread alone"
            )]
            thread::sleep(limits::STOPPED_LOOK);
        }
    }
    let _ = kill_process(getpid(), Signal::STOP);
}

/// The guard may have adopted others; the worker is the one that stayed in our group.
fn worker_below(guard: Pid) -> Option<ProcessId> {
    let (own, table) = (table::own()?, Table::read().ok()?);
    let mut below = table.children_of(guard.as_raw_nonzero().get());
    let worker = below.find(|entry: &&Entry| entry.group == own.group)?;
    Some(worker.id)
}

fn is_stopped(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, after)| after);
    state.is_none_or(|after| after.starts_with(['T', 't']))
}
