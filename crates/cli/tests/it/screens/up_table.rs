//! Servers that are not used are in the table of `up`, with why; and what is
//! wrong is said once, however often the files are read.

use crate::support::screen::Shown;
use serde_json::{Value, json};
use switchboard_testkit::bin;
use switchboard_testkit::world::World;

fn write(home: &World, more: Value) {
    let echo = json!({"command": bin("echo-server"), "args": ["--stdio"]});
    let mut settings = json!({
        "mcpServers": {"echo": echo, "lab": echo, "wrong": {"command": "x", "env": {"A": "${NOT_SET}"}}},
        "deniedMcpServers": [{"serverName": "lab"}],
    });
    let more = more.as_object().unwrap().clone();
    settings.as_object_mut().unwrap().extend(more);
    home.write(
        "home/.config/switchboard/settings.json",
        settings.to_string(),
    );
}

#[test]
fn disabled_and_denied_servers_are_there() {
    let home = World::repository();
    write(&home, json!({}));
    // Warnings are on stderr; here they are to be seen with the rest.
    let program = env!("CARGO_BIN_EXE_switchboard");
    let line = format!("exec {program} up --port 0 --no-builtins 2>&1");
    let command = home.any("sh", &["-c", &line]);
    let mut shown = Shown::log(command);
    shown.until("all are there", |rows| {
        rows.says("echo", "connected") && rows.says("lab", "denied") && rows.has("Ready.")
    });
    assert!(shown.rows().has("settings.json:1"), "{}", shown.rows());
    home.show(&["disable", "echo"]).ok();
    shown.until("it is switched off", |rows| rows.says("echo", "disabled"));
    assert!(!shown.rows().has("removed"), "{}", shown.rows());
    assert!(
        shown.rows().has("switchboard enable echo"),
        "{}",
        shown.rows()
    );
    home.show(&["enable", "echo"]).ok();
    shown.until("it is back", |rows| rows.says("echo", "connected"));
    // Two more changes, each of which reads everything again.
    for names in [json!(["other"]), json!([])] {
        write(&home, json!({"disabledMcpServers": names}));
        let echo = json!({"command": bin("echo-server"), "args": ["--stdio"]});
        let (file, name) = ("home/.claude.json", names.to_string().len().to_string());
        let name = format!("new{name}");
        home.write(
            file,
            json!({"mcpServers": {name.as_str(): echo}}).to_string(),
        );
        shown.until("it was read", |rows| rows.says(&name, "connected"));
    }
    let rows = shown.rows();
    let warnings = rows.lines_that(|line| line.contains("warning:") && line.contains("NOT_SET"));
    assert_eq!(warnings, 1, "{rows}");
    assert_eq!(shown.end(), Some(0));
}
