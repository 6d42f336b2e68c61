//! Keeper and guard: each starts the next process, passes signals on, and clears
//! up after it.
//!
//! They have one thread and hardly any memory of their own. They hold none of the
//! program's pipes, so that a peer sees their end when the worker closes them.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_process, set_child_subreaper,
    set_parent_process_death_signal, setpgid, waitid,
};
use signal_hook::consts::{
    SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2,
    SIGWINCH,
};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::emulate_default_handler;
use signal_hook::low_level::siginfo::{Cause, Origin};

use super::{KeeperError, hide_memory, job, linux, refused};
use crate::table::{self, ProcessId, Table};
use crate::{Exit, descendants};
use switchboard_local::signals;

/// The signals that are meant for the program, and so for the worker.
const PASSED_ON: [i32; 8] = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT,
];

/// The keeper's part: to keep the guard.
pub(super) fn keep(forget: &[&str]) -> Result<Infallible, KeeperError> {
    // First of all: our environment is the worker's too.
    hide_memory();
    let mut signals = catch_signals(&[SIGTSTP])?;
    let inherited = children_before_us();
    let terminal = job::Terminal::remember();
    let guard = start(linux::GUARD, getpid(), forget)?;
    let_go_of_pipes();
    let ended = until_ended(&mut signals, guard, || {});
    descendants::kill_all_except(&inherited);
    if let Exit::Signal(_) = ended {
        terminal.give_back();
    }
    end_like(ended)
}

/// The guard's part: to keep the worker, and to notice the keeper's end.
pub(super) fn guard(keeper: Pid, forget: &[&str]) -> Result<Infallible, KeeperError> {
    let mut signals = catch_signals(&[])?;
    // Wakes us also if somebody has stopped us. It comes to the thread that the
    // keeper's only thread has started, so to us, and when that ends, so the keeper.
    set_parent_process_death_signal(Some(Signal::CONT)).map_err(refused("watch the keeper"))?;
    let with_keeper = || {
        if getppid() != Some(keeper) {
            descendants::kill_all();
            end_like(Exit::Signal(SIGKILL));
        }
    };
    with_keeper();
    // The name first: of a process with hidden memory it belongs to the system.
    super::take_own_name();
    hide_memory();
    let worker = start(linux::WORKER, keeper, forget)?;
    let_go_of_pipes();
    // The worker stays in the terminal's foreground group; we need no terminal.
    let _ = setpgid(None, None);
    let ended = until_ended(&mut signals, worker, with_keeper);
    descendants::kill_all();
    end_like(ended)
}

fn catch_signals(more: &[i32]) -> Result<SignalsInfo<WithOrigin>, KeeperError> {
    let ignored = signals::ignored();
    let caught = PASSED_ON
        .into_iter()
        .chain(more.iter().copied())
        .filter(|signal| !ignored.contains(*signal));
    let signals = SignalsInfo::<WithOrigin>::new(caught.chain([SIGCHLD]))
        .map_err(refused("catch signals"))?;
    set_child_subreaper(Some(getpid())).map_err(refused("adopt orphans"))?;
    Ok(signals)
}

/// Passes signals on until the one below has ended; `at_each` is looked at first
/// whenever anything happens.
fn until_ended(signals: &mut SignalsInfo<WithOrigin>, below: Pid, at_each: impl Fn()) -> Exit {
    loop {
        let news = signals.wait();
        at_each();
        for origin in news {
            let told = reached_worker_already(&origin);
            match origin.signal {
                SIGCHLD => {}
                SIGTSTP => job::stop(below, told),
                signal if !told => pass_on(below, signal),
                _ => {}
            }
        }
        if let Some(exit) = how_it_ended(below) {
            return exit;
        }
    }
}

/// The same program with the same arguments, told what it is to be and who keeps it.
fn start(part: &str, keeper: Pid, forget: &[&str]) -> Result<Pid, KeeperError> {
    let me = getpid().as_raw_nonzero().get();
    let started = table::started(me).ok_or_else(|| KeeperError::System {
        what: "read /proc",
        source: std::io::ErrorKind::NotFound.into(),
    })?;
    // This name means the very file that we run, even if it was replaced since.
    #[expect(clippy::disallowed_methods, reason = "our own program once more")]
    let mut command = Command::new("/proc/self/exe");
    let mut arguments = std::env::args_os();
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    for name in forget {
        command.env_remove(name);
    }
    let child = command
        .args(arguments)
        .env(
            linux::VARIABLE,
            format!("{me}:{started}:{part}:{}", keeper.as_raw_nonzero()),
        )
        .spawn()
        .map_err(refused("start the worker"))?;
    Ok(Pid::from_child(&child))
}

/// A signal that the terminal sent went to the whole foreground group, so to
/// the worker too. Only that it is gone, it tells the leader of the session
/// alone.
fn reached_worker_already(origin: &Origin) -> bool {
    let leads_session = table::own().is_some_and(|own| own.session == own.id.pid);
    origin.cause == Cause::Kernel && !(origin.signal == SIGHUP && leads_session)
}

fn pass_on(below: Pid, number: i32) {
    if let Some(signal) = Signal::from_named_raw(number) {
        // Not reaped yet, so the number is still its own.
        let _ = kill_process(below, signal);
    }
}

fn how_it_ended(below: Pid) -> Option<Exit> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(below), options) {
        Ok(Some(status)) => Some(Exit::of(&status)),
        Ok(None) | Err(rustix::io::Errno::INTR) => None,
        Err(_) => Some(Exit::Unknown),
    }
}

/// Ends as the worker did, so that a shell sees the same.
#[expect(clippy::exit, reason = "the worker has ended, and all that it started")]
fn end_like(ended: Exit) -> ! {
    match ended {
        Exit::Code(code) => exit(code),
        Exit::Signal(number) => {
            if getpid().is_init() {
                // The first process of a container cannot die by a signal.
            } else if number != SIGKILL {
                let _ = emulate_default_handler(number);
            } else if let Some(signal) = Signal::from_named_raw(number) {
                let _ = kill_process(getpid(), signal);
            }
            exit(128 + number)
        }
        Exit::Unknown => exit(1),
    }
}

/// Pipes that we also held would stay open when the worker closes them.
fn let_go_of_pipes() {
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// Children from before we were this program (`job & exec switchboard`) are
/// not ours to kill.
fn children_before_us() -> HashSet<ProcessId> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if waitid(WaitId::All, options).is_err() {
        return HashSet::new();
    }
    let me = getpid().as_raw_nonzero().get();
    Table::read()
        .map(|table| table.children_of(me).map(|child| child.id).collect())
        .unwrap_or_default()
}
