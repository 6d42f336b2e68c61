//! `up` on a terminal: a key opens the screen, and the gateway goes on below it.

use crate::support::tty::Tty;
use std::time::{Duration, Instant};
use switchboard_testkit::{
    bin,
    world::{World, echo, servers},
};

const UP: [&str; 4] = ["up", "--port", "0", "--no-builtins"];

fn calls_go_through(world: &World) {
    let called = world
        .show(&["call", "mcp__echo__echo", "-a", "nonce=n1"])
        .ok();
    assert!(called.out.contains("n1"), "{called:?}");
}

#[test]
fn a_key_opens_the_screen_and_the_gateway_goes_on() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let mut tty = Tty::start(&world, &UP);
    tty.sees("Ready. s opens a screen, Ctrl-C ends it.");
    assert!(tty.shows_lines());
    // Keys that mean nothing leave nothing behind.
    tty.types("xyz\r");
    calls_go_through(&world);
    assert!(!tty.text().contains("xyz"), "{}", tty.text());
    let notes = world.notes();
    assert_eq!(notes.len(), 1);

    tty.types("s");
    tty.sees("at 127.0.0.1:");
    tty.sees_line(&["echo", "connected", "yes"]);
    calls_go_through(&world);
    tty.types("3");
    tty.sees_line(&["echo", "ok"]);
    // A command has the terminal, and what Ctrl-C ends is that command.
    tty.types(":!builtin memory --data d\r");
    tty.waits("it has the terminal", Tty::shows_lines);
    tty.until_typed("\x03", "press a key to go back");
    tty.types(" ");
    tty.sees("3 Traffic");
    tty.types("q");
    // What the command wrote stays, and the table comes once more below it.
    tty.until("the table is back", |text| {
        let below = text.rsplit("press a key").next().unwrap_or_default();
        below.contains("Ready. s opens a screen")
    });
    tty.waits("the table is back", Tty::shows_lines);
    calls_go_through(&world);

    // Both ways out of the screen lead to where one came from.
    tty.types("s");
    tty.sees_line(&["echo", "connected", "yes"]);
    tty.types("\x03");
    tty.waits("the table is back", Tty::shows_lines);
    calls_go_through(&world);
    assert_eq!(world.notes(), notes);

    tty.types("\x03");
    assert_eq!(tty.ended(), Some(0), "{}", tty.text());
    assert!(tty.is_restored());
    let text = tty.text();
    let (_, after) = text.rsplit_once("Ready.").unwrap();
    assert!(!after.contains("^C"), "{text}");
    assert!(world.notes().is_empty());
}

#[test]
fn what_was_logged_meanwhile_is_there_afterwards() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let mut tty = Tty::start(&world, &UP);
    tty.sees("Ready.");
    tty.types("s");
    tty.sees_line(&["echo", "connected", "yes"]);
    // Settings that nobody can read are worth a line.
    world.write("home/.config/switchboard/settings.json", "{ nonsense");
    tty.sees_line(&["echo"]);
    tty.types("q");
    tty.sees("settings.json");
    tty.sees("Ready. s opens a screen");
    tty.types("\x03");
    assert_eq!(tty.ended(), Some(0), "{}", tty.text());
}

#[test]
fn plain_lines_read_no_keys() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let mut words = UP.to_vec();
    words.push("--plain");
    let mut tty = Tty::start(&world, &words);
    tty.sees("Ready. Ctrl-C ends it.");
    assert!(tty.is_restored());
    tty.types("s");
    calls_go_through(&world);
    assert!(tty.is_restored());
    assert!(!tty.text().contains("1 Servers"), "{}", tty.text());
    tty.types("\x03");
    assert_eq!(tty.ended(), Some(0), "{}", tty.text());
}

#[test]
fn a_signal_ends_the_screen_and_the_gateway() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    for on_screen in [false, true] {
        let mut tty = Tty::start(&world, &UP);
        tty.sees("Ready.");
        if on_screen {
            tty.types("s");
            tty.sees_line(&["echo", "connected", "yes"]);
        }
        tty.signal(rustix::process::Signal::TERM);
        assert_eq!(tty.ended(), Some(0), "{}", tty.text());
        assert!(tty.is_restored());
    }
}

#[test]
fn it_stops_and_goes_on() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let program = bin("switchboard");
    let line = format!(
        "set -m; {} {}; echo stopped-here; read answer; echo got-$answer; fg; echo gone-on",
        program.display(),
        UP.join(" ")
    );
    let mut tty = Tty::any(&world, (80, 24), &["sh", "-c", &line]);
    tty.sees("Ready.");
    tty.types("\x1a");
    tty.sees("stopped-here");
    assert!(tty.is_restored());
    tty.types("word\r");
    tty.sees("got-word");
    let until = Instant::now() + Duration::from_secs(60);
    while tty.is_restored() {
        assert!(Instant::now() < until, "{}", tty.text());
        std::thread::sleep(Duration::from_millis(20));
    }
    tty.types("s");
    tty.sees_line(&["echo", "connected", "yes"]);
    tty.types("q");
    tty.waits("the table is back", Tty::shows_lines);
    tty.types("\x03");
    tty.sees("gone-on");
    assert!(tty.is_restored());
}

/// Whoever runs in the background is not stopped for taking keys.
#[test]
fn in_the_background_it_runs_without_keys() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let program = bin("switchboard");
    let line = format!(
        "set -m; {} {} & read answer; jobs; fg; echo gone-on",
        program.display(),
        UP.join(" ")
    );
    let mut tty = Tty::any(&world, (80, 24), &["sh", "-c", &line]);
    tty.sees("Ready.");
    calls_go_through(&world);
    tty.types("\r");
    tty.sees("Running");
    tty.waits("it is in front", |tty| !tty.is_restored());
    tty.types("s");
    tty.sees_line(&["echo", "connected", "yes"]);
    tty.types("\x03");
    tty.waits("the table is back", Tty::shows_lines);
    tty.types("\x03");
    tty.sees("gone-on");
}
