//! How the screen ends when its terminal does, or when somebody ends it from outside: what
//! it started ends too, the terminal is a shell's again, and nothing goes on in vain.

use crate::support::tty::Tty;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::time::{Duration, Instant};
use switchboard_testkit::{
    bin,
    world::{World, alive, echo, servers, worker_of},
};

/// A server that says which process it is.
fn noted(world: &World) {
    let script = format!(
        "echo $$ > {}/pid; exec {} --stdio",
        world.root.display(),
        bin("echo-server").display()
    );
    let entry = json!({"command": "sh", "args": ["-c", script]});
    world.configure(&servers([("noted", entry)]));
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_terminal_that_is_closed_ends_the_screen() {
    let world = World::new();
    noted(&world);
    let program = bin("switchboard");
    let program = program.display();
    for line in [
        format!("exec {program} ui"),
        // Whoever does not hear of it finds out.
        format!("trap '' HUP; exec {program} ui"),
    ] {
        let mut tty = Tty::any(&world, (80, 24), &["sh", "-c", &line]);
        tty.sees_line(&["noted", "connected"]);
        let server: i32 = world.read("pid").trim().parse().unwrap();
        let mut orphan = tty.closes();
        let code = orphan.ended();
        assert!(code != Some(0), "{line}: {code:?}");
        until("its servers end", || !alive(server));
    }
}

#[test]
fn a_terminal_that_is_closed_ends_up_unless_it_is_to_stay() {
    let world = World::new();
    noted(&world);
    let program = bin("switchboard");
    let program = program.display();
    for on_screen in [false, true] {
        let line = format!("exec {program} up --port 0 --no-builtins");
        let mut tty = Tty::any(&world, (80, 24), &["sh", "-c", &line]);
        tty.sees("Ready.");
        if on_screen {
            tty.types("s");
            tty.sees_line(&["noted", "connected", "yes"]);
        }
        let server: i32 = world.read("pid").trim().parse().unwrap();
        let mut orphan = tty.closes();
        orphan.ended();
        until("its servers end", || !alive(server));
    }
    // What was begun under nohup goes on, and does not run in circles.
    let line = format!("trap '' HUP; exec {program} up --port 0 --no-builtins");
    for on_screen in [false, true] {
        let mut tty = Tty::any(&world, (80, 24), &["sh", "-c", &line]);
        tty.sees("Ready.");
        if on_screen {
            tty.types("s");
            tty.sees_line(&["noted", "connected", "yes"]);
        }
        let mut orphan = tty.closes();
        let called = world.show(&["call", "mcp__noted__echo", "-a", "nonce=n1"]);
        assert!(called.out.contains("n1"), "{called:?}");
        let spent = spent(&world, orphan.pid());
        std::thread::sleep(Duration::from_secs(2));
        let later = self::spent(&world, orphan.pid());
        assert!(
            later - spent < 100,
            "{spent} {later} hundredths of a second"
        );
        orphan.signal(Signal::TERM);
        assert_eq!(orphan.ended(), Some(0));
    }
}

/// Hundredths of a second that the worker below a keeper has used.
fn spent(_: &World, keeper: i32) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let worker = runtime.block_on(worker_of(keeper));
    let stat = std::fs::read_to_string(format!("/proc/{worker}/stat")).unwrap();
    let after = stat.rsplit_once(") ").unwrap().1;
    let fields: Vec<u64> = after
        .split(' ')
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    fields[11] + fields[12]
}

/// Even where the screen cannot give the terminal back itself.
#[test]
fn a_worker_that_is_killed_leaves_a_usable_terminal() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let program = bin("switchboard");
    for words in ["ui", "up --port 0 --no-builtins"] {
        let line = format!("{} {words}; echo ended-with-$?", program.display());
        let mut tty = Tty::any(&world, (80, 24), &["sh", "-c", &line]);
        tty.sees_line(&["echo", "connected"]);
        let keeper = *switchboard_testkit::world::children(tty.pid())
            .first()
            .expect("the program below its shell");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let worker = runtime.block_on(worker_of(keeper));
        kill_process(Pid::from_raw(worker).unwrap(), Signal::KILL).unwrap();
        tty.sees("ended-with-137");
        assert_eq!(tty.ended(), Some(0));
        assert!(tty.is_restored(), "{words}: {}", tty.text());
    }
}

/// Stopped by others than the key: the shell that is told of it has its terminal.
#[test]
fn stopped_from_outside_it_gives_the_terminal_back() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let program = bin("switchboard");
    for words in ["ui", "up --port 0 --no-builtins"] {
        let line = format!(
            "set -m; {} {words}; echo stopped-here; read answer; fg; echo gone-on",
            program.display()
        );
        let mut tty = Tty::any(&world, (80, 24), &["sh", "-c", &line]);
        tty.sees_line(&["echo", "connected"]);
        tty.waits("keys are read", |tty| !tty.is_restored());
        let keeper = *switchboard_testkit::world::children(tty.pid())
            .first()
            .expect("the program below its shell");
        kill_process(Pid::from_raw(keeper).unwrap(), Signal::TSTP).unwrap();
        tty.sees("stopped-here");
        assert!(tty.is_restored(), "{words}: {}", tty.text());
        tty.types("\r");
        tty.waits("it goes on", |tty| !tty.is_restored());
        tty.sees_line(&["echo", "connected"]);
        tty.types("\x03");
        tty.sees("gone-on");
        assert!(tty.is_restored(), "{words}: {}", tty.text());
    }
}
