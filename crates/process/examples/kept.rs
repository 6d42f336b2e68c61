//! A program under the keeper that starts servers on command, for the tests.
//!
//! It says `keeper PID` and `worker PID`, then reads lines on stdin and answers
//! each with one line: `start SCRIPT` (run by `sh -c`), `stop N`, `drop N`,
//! `zombies`, `interrupts` (how many came), `exit CODE`, `abort`. SIGTERM
//! stops all servers and exits with code 7, SIGHUP with code 9
//! (with `--deaf` it does not catch that). The end of stdin means nothing.

#![allow(clippy::exit, reason = "it ends as it is told to")]

use std::io::Write as _;
use std::process::exit;

use switchboard_process::keeper::{self, KeeperError, Kept};
use switchboard_process::{ServerCommand, ServerProcess};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::signal::unix::{Signal, SignalKind, signal};

fn main() -> Result<(), KeeperError> {
    let kept = keeper::enter(&["KEPT_FORGETS"])?;
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|source| KeeperError::System {
            what: "build a runtime",
            source,
        })?
        .block_on(run(kept));
    Ok(())
}

async fn run(kept: Kept) {
    let mut servers: Vec<Option<ServerProcess>> = Vec::new();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut input_open = true;
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        exit(2);
    };
    let is_deaf = kept.ignores_hangup() || std::env::args().any(|argument| argument == "--deaf");
    let mut hangup = if is_deaf {
        None
    } else {
        signal(SignalKind::hangup()).ok()
    };
    let mut interrupts = 0;
    say(format_args!(
        "keeper {}",
        kept.keeper_pid().unwrap_or_default()
    ));
    say(format_args!("worker {}", std::process::id()));
    loop {
        tokio::select! {
            _ = terminate.recv() => end(&kept, servers, 7).await,
            () = caught(&mut hangup) => end(&kept, servers, 9).await,
            _ = interrupt.recv() => interrupts += 1,
            line = lines.next_line(), if input_open => match line {
                Ok(Some(line)) if line == "interrupts" => say(format_args!("{interrupts}")),
                Ok(Some(line)) => obey(&line, &mut servers).await,
                _ => input_open = false,
            },
        }
    }
}

/// Waits for a signal, or for ever.
async fn caught(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

async fn obey(line: &str, servers: &mut Vec<Option<ServerProcess>>) {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let number = rest.parse::<usize>().ok();
    match verb {
        "start" => {
            let command = ServerCommand {
                program: "sh".into(),
                args: vec!["-c".into(), rest.into()],
                ..ServerCommand::default()
            };
            match ServerProcess::spawn(&command) {
                Ok(server) => {
                    say(format_args!("started {}", server.pid()));
                    servers.push(Some(server));
                }
                Err(error) => say(format_args!("failed {error}")),
            }
        }
        "stop" | "drop" => {
            let server = number.and_then(|number| servers.get_mut(number)?.take());
            if let (Some(server), "stop") = (server, verb) {
                let stopped = server.stop().await;
                say(format_args!("{:?} {}", stopped.rung, stopped.is_complete));
            } else {
                say(format_args!("dropped"));
            }
        }
        "zombies" => say(format_args!("{}", zombies())),
        "exit" => exit(number.and_then(|code| code.try_into().ok()).unwrap_or(1)),
        "abort" => std::process::abort(),
        _ => say(format_args!("what?")),
    }
}

async fn end(kept: &Kept, servers: Vec<Option<ServerProcess>>, code: i32) -> ! {
    for server in servers.into_iter().flatten() {
        server.stop().await;
    }
    exit(if kept.kill_all() == 0 { code } else { 8 })
}

/// How many dead children of ours nobody has waited for.
fn zombies() -> usize {
    let mine = format!(" Z {} ", std::process::id());
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return usize::MAX;
    };
    processes
        .flatten()
        .filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok())
        .filter(|stat| stat.contains(&mine))
        .count()
}

fn say(what: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{what}");
}
