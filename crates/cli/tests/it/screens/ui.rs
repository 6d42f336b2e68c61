//! The screen on a real terminal: opened, used, resized, stopped, ended in every way.

use crate::support::tty::Tty;
use rustix::process::Signal;
use std::time::{Duration, Instant};
use switchboard_testkit::{
    bin,
    world::{World, echo, servers, shell_server},
};

#[test]
fn the_bare_program_is_the_screen_on_a_terminal_and_usage_elsewhere() {
    let world = World::new();
    let plain = world.show(&[]);
    assert_eq!(plain.code, Some(2), "{plain:?}");
    assert!(plain.err.contains("Usage"), "{plain:?}");
    let asked = world.show(&["ui"]);
    assert_eq!(asked.code, Some(2), "{asked:?}");
    assert!(asked.err.contains("wants a terminal"), "{asked:?}");
    let mut tty = Tty::start(&world, &[]);
    tty.sees("host inside");
    tty.sees("No server is configured here yet.");
    // Nobody else finds the host inside.
    assert!(world.notes().is_empty());
    tty.quits();
    let mut tty = Tty::start(&world, &["ui"]);
    tty.sees("host inside");
    tty.types("q");
    assert_eq!(tty.ended(), Some(0));
    assert!(tty.is_restored());
}

/// From an empty home to a tool's answer, without leaving the screen.
#[test]
fn a_new_users_story() {
    let world = World::new();
    let mut tty = Tty::start(&world, &[]);
    tty.sees("No server is configured here yet.");
    tty.types("n");
    tty.sees(":add");
    let program = bin("switchboard");
    let program = program.display();
    tty.types(&format!("notes -- {program} builtin memory --data notes\r"));
    tty.sees("done · switchboard");
    let listed = world.show(&["list", "--no-connect", "--json"]).ok().json();
    assert_eq!(listed[0]["name"], "notes", "{listed}");
    tty.types("q");
    tty.sees_line(&["notes", "connected", "yes"]);
    tty.types("2");
    tty.sees("recall");
    tty.types("/remem\r");
    tty.sees("mcp__notes__remember");
    tty.types("\r");
    tty.sees("text*");
    tty.types("The moon is far.\x13");
    tty.sees("· done in");
    // Any view is one key away.
    tty.types("2/recal\r");
    tty.sees("mcp__notes__recall");
    tty.types("\r");
    tty.sees("query*");
    tty.types("moon\x13");
    tty.sees("The moon is far.");
    // What passed is there, with both its sides.
    tty.types("3");
    tty.sees_line(&["recall", "notes", "ok"]);
    tty.types("\r");
    tty.sees("us → server");
    tty.quits();
    let text = world
        .show(&["call", "mcp__notes__recall", "-a", "query=moon"])
        .ok();
    assert!(text.out.contains("The moon is far."), "{text:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_attaches_to_a_gateway_and_survives_its_restart() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let gateway = world.gateway().await;
    let mut tty = Tty::start(&world, &[]);
    tty.sees("at 127.0.0.1:");
    // Looking does not wake it.
    tty.sees_line(&["echo", "asleep"]);
    tty.types("r");
    tty.sees_line(&["echo", "connected"]);
    drop(gateway);
    tty.sees("gateway gone");
    let gateway = world.gateway().await;
    tty.sees("at 127.0.0.1:");
    tty.sees_line(&["echo", "asleep"]);
    tty.types("r");
    tty.sees_line(&["echo", "connected"]);
    tty.quits();
    drop(gateway);
}

#[test]
fn what_is_named_is_opened() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let mut tty = Tty::start(&world, &["ui", "servers/echo"]);
    tty.sees("[overview]");
    tty.sees("echo-server");
    tty.quits();
}

#[test]
fn other_sizes_and_no_colour() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let world = world.variable("NO_COLOR", "1");
    let mut tty = Tty::start(&world, &[]);
    tty.sees_line(&["echo", "connected", "none", "yes"]);
    let colours = [
        b"\x1b[38;5;".as_slice(),
        b"\x1b[32m",
        b"\x1b[31m",
        b"\x1b[33m",
    ];
    let bytes = tty.bytes();
    for colour in colours {
        assert!(!bytes.windows(colour.len()).any(|it| it == colour));
    }
    tty.resize(40, 12);
    tty.until("narrow", |text| {
        text.contains("1:Servers") && text.contains("echo")
    });
    tty.resize(120, 40);
    tty.until("wide", |text| {
        text.contains("memory") && text.contains("era")
    });
    tty.resize(10, 3);
    tty.sees("too small");
    tty.resize(80, 24);
    tty.sees_line(&["echo", "connected", "none", "yes"]);
    tty.quits();
}

#[test]
fn nothing_is_drawn_when_nothing_happens() {
    let world = World::new();
    let mut tty = Tty::start(&world, &[]);
    tty.sees("No server is configured here yet.");
    // Whatever was still on its way has come when it has been quiet for a second.
    let mut before = tty.bytes().len();
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let now = tty.bytes().len();
        if now == before {
            break;
        }
        before = now;
        assert!(
            Instant::now() < until,
            "it draws and draws: {} frames",
            tty.frames()
        );
    }
    assert!(tty.frames() >= 1 && tty.frames() < 20, "{}", tty.frames());
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(tty.bytes().len(), before);
    // As fast as somebody can press keys, there are no more than ten frames in a second.
    let (start, frames) = (Instant::now(), tty.frames());
    for _ in 0..100 {
        tty.types("?q:x\x7f\x7f");
        std::thread::sleep(Duration::from_millis(10));
    }
    let seconds = start.elapsed().as_secs_f64();
    let drawn = f64::from(u32::try_from(tty.frames() - frames).unwrap());
    assert!(
        drawn <= seconds * 10.0 + 2.0,
        "{drawn} frames in {seconds} s"
    );
    tty.quits();
}

#[test]
fn the_terminal_is_given_back_however_it_ends() {
    let world = World::new();
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let mut tty = Tty::start(&world, &[]);
        tty.sees("No server is configured here yet.");
        tty.signal(signal);
        assert_eq!(tty.ended(), Some(code), "{signal:?}: {}", tty.text());
        assert!(tty.is_restored(), "{signal:?}");
    }
    // A fault of ours: it is told below what was there before, not drawn over.
    let world = world.variable("SWITCHBOARD_TEST_PANIC", "screen");
    let mut tty = Tty::start(&world, &[]);
    tty.sees("No server is configured here yet.");
    tty.types("?");
    assert_eq!(tty.ended(), Some(1), "{}", tty.text());
    assert!(tty.is_restored());
    let said = String::from_utf8_lossy(&tty.bytes()).into_owned();
    let (_, after) = said.rsplit_once("\x1b[?1049l").unwrap();
    assert!(after.contains("panicked at"), "{after}");
}

#[test]
fn it_stops_and_goes_on() {
    let world = World::new();
    let program = bin("switchboard");
    // A shell with jobs, as people have one.
    let line = format!(
        "set -m; {} ui; echo stopped-here; read answer; fg; echo gone-on",
        program.display()
    );
    let mut tty = Tty::any(&world, (80, 24), &["sh", "-c", &line]);
    tty.sees("No server is configured here yet.");
    tty.types("\x1a");
    tty.sees("stopped-here");
    assert!(tty.is_restored());
    tty.types("\r");
    tty.sees("No server is configured here yet.");
    assert!(!tty.is_restored());
    tty.types("q");
    tty.sees("gone-on");
    assert!(tty.is_restored());
}

#[test]
fn commands_get_a_page_or_the_terminal() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let mut tty = Tty::start(&world, &[]);
    tty.sees_line(&["echo", "connected"]);
    tty.types(":li\t --json\r");
    tty.sees("done · switchboard");
    tty.sees("\"name\":\"echo\"");
    tty.types("q:nonsense\r");
    tty.sees("exit code 2");
    tty.types("q:!list\r");
    tty.sees("press a key to go back");
    tty.types(" ");
    tty.sees("1 Servers");
    // What Ctrl-C ends there is the command, and not the screen.
    tty.types(":!builtin memory --data d\r");
    let until = Instant::now() + Duration::from_secs(60);
    while !tty.is_restored() {
        assert!(Instant::now() < until, "{}", tty.text());
        std::thread::sleep(Duration::from_millis(20));
    }
    // The first time is the other command's, which still stands there.
    let is_over = |tty: &Tty| tty.text().matches("press a key").count() > 1;
    while !is_over(&tty) {
        assert!(Instant::now() < until, "{}", tty.text());
        tty.types("\x03");
        let soon = Instant::now() + Duration::from_secs(5);
        while !is_over(&tty) && Instant::now() < soon {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    tty.types(" ");
    tty.sees("1 Servers");
    tty.sees_line(&["echo", "connected"]);
    tty.quits();
}

#[test]
fn hostile_servers_move_no_cursor() {
    let world = World::new();
    let evil = "\u{1b}[2J\u{1b}[HGOTCHA\u{1b}]0;title\u{7}\u{202e}";
    let script = shell_server("", "", &world.root);
    world.write(
        "says",
        evil.replace('\u{1b}', "\\u001b")
            .replace('\u{7}', "\\u0007"),
    );
    world.configure(&servers([("evil", script)]));
    let mut tty = Tty::start(&world, &[]);
    tty.sees_line(&["evil", "connected"]);
    tty.types("2");
    tty.sees("GOTCHA");
    tty.sees("1 Servers");
    let bytes = tty.bytes();
    assert!(!bytes.windows(4).any(|it| it == b"\x1b]0;"));
    assert!(tty.text().contains("\\u{1b}[2J"), "{}", tty.text());
    tty.quits();
}

#[test]
fn tokens_and_findings() {
    let world = World::new();
    let mut tty = Tty::start(&world, &[]);
    tty.sees("No server is configured here yet.");
    tty.types("5");
    tty.sees_line(&["default", "token"]);
    tty.types("n");
    tty.sees("name of the new token");
    tty.types("laptop\r");
    tty.sees("the only time that it is shown");
    let listed = world.show(&["token", "list"]).ok();
    assert!(listed.out.contains("laptop"), "{listed:?}");
    tty.types("q");
    tty.sees_line(&["laptop", "token"]);
    tty.types("/laptop\r");
    tty.sees("/ laptop");
    tty.types("x");
    tty.sees("Revoke the token laptop?");
    tty.types("y");
    tty.sees("Nobody is connected.");
    let listed = world.show(&["token", "list"]).ok();
    assert!(!listed.out.contains("laptop"), "{listed:?}");
    tty.types("6");
    tty.sees_line(&["level", "area", "found"]);
    tty.sees_line(&["ok", "processes"]);
    tty.quits();
}

/// Whoever tells of keys and of sizes must not lose one of them when both come at once.
#[test]
fn keys_and_sizes_that_come_together_both_count() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let mut tty = Tty::start(&world, &[]);
    tty.sees_line(&["echo", "connected", "none", "yes"]);
    let marks = ["r reconnect", "keep messages"];
    for round in 0..24 {
        let (key, columns) = [("3", 100), ("1", 80)][round % 2];
        let mark = marks[(round + 1) % 2];
        // Either may be the first.
        if round % 4 < 2 {
            tty.resize(columns, 24);
            tty.types(key);
        } else {
            tty.types(key);
            tty.resize(columns, 24);
        }
        let whole = |text: &str| {
            let wide = text.lines().any(|line| line.chars().count() > 80);
            text.contains(mark) && wide == (columns > 80)
        };
        tty.until("view and width", whole);
    }
    tty.quits();
}
