//! The keeper and its worker, killed in every order.

#![allow(unreachable_pub, reason = "a program has no outside")]
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod support;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use support::{KeptProgram, all_dead, clinger, example, field, is_alive, pids, signal, wait_until};

const SECOND: Duration = Duration::from_secs(1);

/// A kept program with two servers that cling with all they have.
fn with_clingers(directory: &Path) -> (KeptProgram, Vec<i32>) {
    let mut program = KeptProgram::start();
    let mut all = vec![program.keeper, program.worker];
    for name in ["a", "b"] {
        let file = directory.join(name);
        let flags = "--ignore-signals --setsid --no-pipe --daemonise";
        all.push(program.server(&clinger(flags, &file)));
        all.extend(pids(&file, 5));
    }
    (program, all)
}

#[test]
fn whoever_is_killed_takes_everything_along() {
    let mut slowest = Duration::ZERO;
    for round in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let (mut program, all) = with_clingers(directory.path());
        let victim = if round % 2 == 0 {
            program.keeper
        } else {
            program.worker
        };
        signal(victim, Signal::KILL);
        let took = wait_until(20 * SECOND, "everything to die", || all_dead(&all));
        slowest = slowest.max(took);
        assert_eq!(program.ended().signal(), Some(9), "round {round}");
    }
    println!("slowest of 20: {slowest:?}");
}

#[test]
fn one_that_lost_its_environment_dies_with_us_too() {
    for victim in [0, 1] {
        let directory = tempfile::tempdir().unwrap();
        let mut program = KeptProgram::start();
        let file = directory.path().join("pids");
        program.server(&clinger("--daemonise --clear-env", &file));
        let pids = pids(&file, 2);
        signal([program.keeper, program.worker][victim], Signal::KILL);
        wait_until(20 * SECOND, "everything to die", || all_dead(&pids));
    }
}

#[test]
fn sigterm_is_passed_on_and_the_status_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let (mut program, all) = with_clingers(directory.path());
    signal(program.keeper, Signal::TERM);
    assert_eq!(program.ended().code(), Some(7));
    assert!(all_dead(&all));
}

#[test]
fn the_exit_is_the_workers() {
    let mut program = KeptProgram::start();
    program.tell("exit 42");
    assert_eq!(program.ended().code(), Some(42));

    let mut program = KeptProgram::start();
    program.tell("abort");
    assert_eq!(program.ended().signal(), Some(6));

    let mut program = KeptProgram::start();
    signal(program.keeper, Signal::USR1);
    assert_eq!(program.ended().signal(), Some(10));
}

#[test]
fn a_stopped_worker_does_not_escape() {
    let directory = tempfile::tempdir().unwrap();
    let (program, all) = with_clingers(directory.path());
    signal(program.worker, Signal::STOP);
    signal(program.keeper, Signal::KILL);
    wait_until(20 * SECOND, "everything to die", || all_dead(&all));
}

#[test]
fn stopping_one_server_leaves_the_other_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (mut program, all) = with_clingers(directory.path());
    let (first, second) = (&all[2..8], &all[8..14]);
    let ended = program.ask("stop 0");
    assert!(ended.starts_with("Kill"), "{ended}");
    wait_until(20 * SECOND, "the first to die", || all_dead(first));
    assert!(second.iter().all(|pid| is_alive(*pid)));
    assert_eq!(program.ask("drop 1"), "dropped");
    wait_until(20 * SECOND, "the second to die", || all_dead(second));
    wait_until(3 * SECOND, "no zombie", || program.ask("zombies") == "0");
}

#[test]
fn ten_thousand_orphans_are_buried() {
    let mut program = KeptProgram::start();
    // In the server's group, and in groups of their own.
    program.server("i=0; while [ $i -lt 9000 ]; do (true &); i=$((i+1)); done; echo; read x");
    program.server("i=0; while [ $i -lt 1000 ]; do (setsid true &); i=$((i+1)); done; read x");
    program.server("for i in 1 2 3; do (sleep 0.2 &); done");
    std::thread::sleep(SECOND);
    wait_until(60 * SECOND, "no zombie", || {
        std::thread::sleep(Duration::from_millis(200));
        program.ask("zombies") == "0" && children(program.worker).len() <= 2
    });
}

fn children(parent: i32) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").unwrap();
    all.flatten()
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .filter(|pid| field(*pid, 1).is_some_and(|it| it == parent.to_string()))
        .collect()
}

#[test]
fn a_program_below_a_worker_gets_a_keeper_of_its_own() {
    let mut command = Command::new(example("kept"));
    // As a shell would inherit it; and one that names a keeper long dead.
    let me = std::process::id();
    command.env("SWITCHBOARD_KEEPER", format!("{me}:1:worker:{me}"));
    let mut program = KeptProgram::start_with(command);
    program.tell("exit 0");
    assert!(program.ended().success());
}

#[test]
fn a_worker_whose_keeper_died_first_does_not_run() {
    for part in ["guard", "worker"] {
        let mut keeper = Command::new("sleep").arg("60").spawn().unwrap();
        let started = field(keeper.id().cast_signed(), 19).unwrap();
        let variable = format!("{0}:{started}:{part}:{0}", keeper.id());
        keeper.kill().unwrap();
        keeper.wait().unwrap();
        let mut worker = Command::new(example("kept"))
            .env("SWITCHBOARD_KEEPER", variable)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut status = None;
        wait_until(20 * SECOND, "a worker without a keeper to end", || {
            status = worker.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.and_then(|status| status.code()), Some(1), "{part}");
    }
}

#[test]
fn a_sent_signal_reaches_the_worker_once() {
    let mut program = KeptProgram::start();
    signal(program.keeper, Signal::INT);
    wait_until(20 * SECOND, "the signal", || {
        program.ask("interrupts") == "1"
    });
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(program.ask("interrupts"), "1");
}

#[test]
fn a_key_on_the_terminal_reaches_the_worker_once() {
    let mut program = KeptProgram::start_on_terminal(&[]);
    program.press(3);
    wait_until(20 * SECOND, "the signal", || {
        program.ask("interrupts") == "1"
    });
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(program.ask("interrupts"), "1");
}

#[test]
fn a_terminal_that_goes_away_ends_the_program() {
    let mut program = KeptProgram::start_on_terminal(&[]);
    let server = program.server("exec sleep 600");
    program.hang_up();
    assert_eq!(program.ended().code(), Some(9));
    assert!(!is_alive(server));
}

/// The kernel hangs up on the worker when a keeper on a terminal is killed.
#[test]
fn a_keeper_killed_on_a_terminal_takes_everything_along() {
    for _ in 0..5 {
        let mut program = KeptProgram::start_on_terminal(&["--deaf"]);
        let server = program.server("exec sleep 600");
        signal(program.keeper, Signal::KILL);
        wait_until(20 * SECOND, "everything to die", || {
            all_dead(&[program.worker, server])
        });
    }
}

#[test]
fn what_we_were_told_to_ignore_stays_ignored() {
    let mut command = Command::new("sh");
    let kept = example("kept");
    command
        .arg("-c")
        .arg(format!("trap '' HUP; exec {}", kept.display()));
    let mut program = KeptProgram::start_with(command);
    signal(program.keeper, Signal::HUP);
    signal(program.worker, Signal::HUP);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(program.ask("zombies"), "0");
}

/// Each generation leaves the group, starts the next and ends.
#[test]
fn runners_are_caught() {
    for victim in [0, 1, 2] {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("run");
        let alive = directory.path().join("alive");
        let text = format!(
            "echo x >>{}; setsid sh {} & exit",
            alive.display(),
            script.display()
        );
        std::fs::write(&script, text).unwrap();
        let mut program = KeptProgram::start();
        program.server(&format!("sh {}; read x", script.display()));
        let length = || std::fs::metadata(&alive).map_or(0, |found| found.len());
        wait_until(5 * SECOND, "it to run", || length() > 40);
        let runs_on = || {
            let before = length();
            std::thread::sleep(Duration::from_millis(300));
            length() != before
        };
        let is_over = match victim {
            0 => {
                signal(program.keeper, Signal::KILL);
                false
            }
            1 => {
                signal(program.worker, Signal::KILL);
                false
            }
            // On a busy machine the time for it may not be enough. Then that is said, and
            // the rest is done behind its back.
            _ => program.ask("stop 0").ends_with("true"),
        };
        if is_over {
            assert!(!runs_on(), "said to be over");
        } else {
            wait_until(20 * SECOND, "it to be caught", || !runs_on());
        }
    }
}

#[test]
fn what_ran_before_us_is_not_ours_to_kill() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!(
        "sleep 600 >/dev/null 2>&1 & echo $! >{}; exec {}",
        file.display(),
        example("kept").display()
    ));
    let mut program = KeptProgram::start_with(command);
    let before: i32 = std::fs::read_to_string(&file)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    program.tell("exit 0");
    assert!(program.ended().success());
    assert!(is_alive(before));
    signal(before, Signal::KILL);
}

#[test]
fn the_keeper_is_small_holds_no_pipes_and_hides_its_trick() {
    let mut program = KeptProgram::start();
    for fd in 0..3 {
        // Its memory is hidden, and with it what it has open: root alone can look.
        match std::fs::read_link(format!("/proc/{}/fd/{fd}", program.keeper)) {
            Ok(target) => assert_eq!(target, Path::new("/dev/null")),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
                assert!(!rustix::process::geteuid().is_root());
            }
        }
    }
    let name = std::fs::read_to_string(format!("/proc/{}/comm", program.worker)).unwrap();
    assert_eq!(name, "kept\n");
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.keeper)).unwrap();
    let kilobytes = |key: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    println!(
        "keeper: RSS {} kB, of its own {} kB",
        kilobytes("VmRSS:"),
        kilobytes("RssAnon:")
    );
    assert!(kilobytes("RssAnon:") < 1024);
    program.tell("exit 0");
    assert!(program.ended().success());
}

#[test]
fn memory_is_hidden_and_what_is_not_needed_is_not_handed_on() {
    let mut command = Command::new(example("kept"));
    command
        .env("KEPT_FORGETS", "a-secret")
        .env("KEPT_KEEPS", "needed");
    let mut program = KeptProgram::start_with(command);
    for pid in [program.keeper, program.worker] {
        use std::os::unix::fs::MetadataExt;
        // What lies in the folder of a process that hides its memory is the system's.
        let environ = std::fs::metadata(format!("/proc/{pid}/environ")).unwrap();
        assert_eq!(environ.uid(), 0);
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let core = limits
            .lines()
            .find(|line| line.starts_with("Max core"))
            .unwrap();
        assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    }
    if rustix::process::geteuid().is_root() {
        let environ = std::fs::read(format!("/proc/{}/environ", program.worker)).unwrap();
        let environ = String::from_utf8_lossy(&environ);
        assert!(
            environ.contains("KEPT_KEEPS") && !environ.contains("KEPT_FORGETS"),
            "{environ}"
        );
    }
    program.tell("exit 0");
    assert!(program.ended().success());
}

/// Started with `docker exec`, we are in a group and a session whose leaders
/// have no number that we can see.
#[test]
fn a_signal_inside_a_container_is_passed_on() {
    let directory = tempfile::tempdir().unwrap();
    let script = format!(
        "mkfifo {pipe}; exec 3<>{pipe}; {kept} <{pipe} >&2 & sleep 0.5; kill -TERM $!; wait $!; echo $?",
        pipe = directory.path().join("pipe").display(),
        kept = example("kept").display()
    );
    let run = Command::new("unshare")
        .args(["--map-root-user", "--pid", "--fork", "--mount-proc"])
        .args(["sh", "-c", &script])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert_eq!(said.trim(), "7", "{}", String::from_utf8_lossy(&run.stderr));
}
