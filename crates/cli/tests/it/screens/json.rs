//! `--json`: as it came for programs, harmless on a terminal.

use serde_json::{Value, json};
use switchboard_testkit::bin;
use switchboard_testkit::world::{Ran, World};

/// C1, bidirectional, invisible and astral characters.
const HOSTILE: &str = "\u{9b}31m \u{202e}txt.exe \u{200b} \u{e0041} \u{7f}";

fn home() -> World {
    let home = World::repository();
    let entry = json!({"command": bin("echo-server"), "args": ["--stdio"]});
    let servers = json!({"mcpServers": {"echo": entry, "odd": {"command": "true",
        "args": [HOSTILE], "disabled": true}}});
    home.write(
        "home/.config/switchboard/settings.json",
        servers.to_string(),
    );
    home
}

const COMMANDS: [&[&str]; 2] = [
    &["call", "echo", "@ARGS", "--json"],
    &["get", "odd", "--json"],
];

#[test]
fn on_a_terminal_nothing_is_obeyed_and_nothing_is_lost() {
    let home = home();
    let arguments = json!({"nonce": HOSTILE}).to_string();
    for words in COMMANDS {
        let words: Vec<String> = words
            .iter()
            .map(|word| match *word {
                "@ARGS" => format!("'{arguments}'"),
                word => format!("'{word}'"),
            })
            .collect();
        let ran = home
            .on_terminal(50, 400, &words.join(" "))
            .output()
            .unwrap();
        let shown = Ran::of(ran).without(&home.root).out;
        let hostile = shown
            .chars()
            .find(|c| HOSTILE.contains(*c) && !c.is_ascii_graphic() && *c != ' ');
        assert_eq!(hostile, None, "{words:?}: {shown:?}");
        let document = shown.lines().find(|line| line.starts_with(['{', '[']));
        let value: Value = serde_json::from_str(document.unwrap()).unwrap();
        let whole = value.to_string();
        assert!(whole.contains('\u{202e}'), "{words:?}: {whole}");
    }
}

#[test]
fn a_program_gets_what_came() {
    let home = home();
    let arguments = json!({"nonce": HOSTILE}).to_string();
    let ran = home.show(&["call", "echo", &arguments, "--json"]).ok();
    assert!(ran.out.contains(HOSTILE), "{ran:?}");
}
