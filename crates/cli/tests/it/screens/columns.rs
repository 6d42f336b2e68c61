//! What commands look like on a terminal of 80 columns.

use serde_json::json;
use switchboard_testkit::world::{Ran, World};

/// Runs the program on a terminal.
#[track_caller]
fn on_terminal(home: &World, words: &str, variables: &[(&str, &str)]) -> Ran {
    let mut command = home.on_terminal(40, 80, words);
    command.envs(variables.iter().copied());
    Ran::of(command.output().unwrap()).without(&home.root)
}

fn with_servers() -> World {
    let home = World::repository();
    let settings = json!({"mcpServers": {
        "memory": {"type": "builtin"},
        "a-server-with-a-longer-name": {"type": "builtin", "builtin": "files"},
        "program": {"command": env!("CARGO_BIN_EXE_switchboard"), "args": ["builtin", "system"]},
    }});
    home.write(
        "home/.config/switchboard/settings.json",
        settings.to_string(),
    );
    home
}

#[test]
fn a_row_of_list_is_one_row() {
    let home = with_servers();
    let ran = on_terminal(&home, "list", &[("NO_COLOR", "1")]);
    assert!(!ran.out.contains('\u{1b}'), "{ran:?}");
    let rows: Vec<&str> = ran.out.lines().map(str::trim_end).collect();
    assert_eq!(rows.len(), 3, "{ran:?}");
    for row in rows {
        assert!(row.chars().count() <= 80, "{row:?}");
        assert!(
            row.contains("connected  ") && row.contains(" tools"),
            "{row:?}"
        );
    }
    // Where nobody looks, nothing is left out.
    let whole = home.show(&["list"]).ok();
    let complete = |row: &str| {
        let is_program = row.starts_with("program");
        let ends = if is_program { " s CPU" } else { " ms" };
        row.contains(" tokens)") && row.ends_with(ends)
    };
    assert!(whole.out.lines().all(complete), "{whole:?}");
}

#[test]
fn a_wrong_name_is_told_before_the_right_one_is_asked_for() {
    let home = with_servers();
    let words = "call a-server-with-a-longer-name__read -a pth=x";
    let ran = on_terminal(&home, words, &[]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.out.contains("no argument \"pth\""), "{ran:?}");
    assert!(
        !ran.out.contains("path\u{1b}[0m (string)"),
        "asked: {ran:?}"
    );
}

#[test]
fn what_is_wrong_or_missing_is_said_with_what_to_do() {
    let home = World::repository();
    for (words, code, says) in [
        (
            &["tools"][..],
            0,
            "no servers are configured; add one: switchboard add",
        ),
        (
            &["prompts"],
            0,
            "no servers are configured; add one: switchboard add",
        ),
        (
            &["resources"],
            0,
            "no servers are configured; add one: switchboard add",
        ),
        (
            &["list"],
            0,
            "no servers are configured; add one: switchboard add",
        ),
        (&["serve", "--http", "3700"], 2, "such as 127.0.0.1:3700"),
        (
            &["up", "--root", "nowhere"],
            2,
            "--root nowhere: there is no such directory",
        ),
        (&["lst"], 2, "list"),
        (&["get", "x"], 2, "see switchboard list"),
    ] {
        let ran = home.show(words);
        assert_eq!(ran.code, Some(code), "{words:?}: {ran:?}");
        assert!(ran.err.contains(says), "{words:?}: {ran:?}");
    }
}

/// No line of any help is wider than the terminal.
#[test]
fn help_fits_the_terminal() {
    let home = World::repository();
    let all = home.show(&["--help"]).ok().out;
    let (_, commands) = all.split_once("Commands:\n").unwrap();
    let names = commands.lines().take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    for name in names.chain([""]) {
        let ran = on_terminal(&home, &format!("{name} --help"), &[("NO_COLOR", "1")]);
        let wide = ran
            .out
            .lines()
            .find(|line| line.trim_end().chars().count() > 80);
        assert_eq!(wide, None, "{name} --help");
    }
}
