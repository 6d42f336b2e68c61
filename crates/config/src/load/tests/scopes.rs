//! Which scope wins, and what gives way.

use super::super::world::{World, lines, one};
use super::super::*;
use serde_json::json;
use std::fs;

#[test]
fn every_scope_in_its_order_and_ours_before_theirs() {
    // From the lowest to the highest: each one that is added wins.
    let world = World::new();
    let project =
        |command: &str| json!({"projects": {"REPO": {"mcpServers": {"a": {"command": command}}}}});
    let both = |command: &str| {
        let mut whole = project(&format!("{command}-local"));
        whole["mcpServers"] = json!({"a": {"command": format!("{command}-user")}});
        whole
    };
    let winner = |world: &World, approve: bool| {
        if approve {
            world.approve();
        }
        let loaded = world.load();
        assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
        let found = loaded.find("a").unwrap();
        (found.entry.command.clone().unwrap(), found.standing.clone())
    };
    let active = |command: &str| (command.to_owned(), Standing::Active);
    world.write("home/.claude/settings.json", &one("a", "claude-settings"));
    assert_eq!(winner(&world, false), active("claude-settings"));
    world.write("home/.claude.json", &one("a", "claude-user"));
    assert_eq!(winner(&world, false), active("claude-user"));
    world.write(
        "home/.config/switchboard/settings.json",
        &one("a", "our-user"),
    );
    assert_eq!(winner(&world, false), active("our-user"));
    world.write("home/.mcp.json", &one("a", "far"));
    // An unapproved project entry does not shadow a user one.
    assert_eq!(winner(&world, false), active("our-user"));
    assert_eq!(winner(&world, true), active("far"));
    world.write("home/repo/.mcp.json", &one("a", "near"));
    assert_eq!(winner(&world, true), active("near"));
    world.write("home/repo/sub/.mcp.json", &one("a", "nearest"));
    assert_eq!(winner(&world, true), active("nearest"));
    world.write("home/.claude.json", &both("claude"));
    assert_eq!(winner(&world, false), active("claude-local"));
    world.write("home/.config/switchboard/settings.json", &both("our"));
    assert_eq!(winner(&world, false), active("our-local"));

    let text = one("a", "typed").to_string();
    let later = one("a", "typed-later").to_string();
    let loaded = load(&world.request(&[&text, &later]));
    assert_eq!(
        loaded.find("a").unwrap().entry.command.as_deref(),
        Some("typed-later")
    );
    assert_eq!(loaded.servers.len(), 10);
    let shadowed = |server: &&Configured| matches!(server.standing, Standing::Shadowed(_));
    assert_eq!(loaded.servers.iter().filter(shadowed).count(), 9);
    let mut strict = world.request(&[&text]);
    strict.strict = true;
    assert_eq!(lines(&load(&strict)), ["a dynamic typed Active"]);
}

#[test]
fn whole_entries_win_and_fields_are_not_merged() {
    let world = World::new();
    world.write(
        "home/.claude.json",
        &json!({"mcpServers": {"a": {"command": "x", "env": {"K": "v"}}}}),
    );
    world.write("home/.config/switchboard/settings.json", &one("a", "y"));
    assert!(world.load().find("a").unwrap().entry.env.is_empty());
}

#[test]
fn what_is_switched_off_stays_off() {
    let world = World::new();
    world.write("home/.claude.json", &json!({"mcpServers": {
        "me": {"command": "switchboard", "args": ["serve"]}, "off": {"command": "x", "disabled": true}, "named": {"command": "x"}}}));
    world.write(
        "home/.config/switchboard/settings.json",
        &json!({"projects": {"REPO": {"disabledMcpServers": ["named"]}}}),
    );
    assert_eq!(
        lines(&world.load()),
        [
            "me user switchboard Itself",
            "off user x Disabled",
            "named user x Disabled"
        ]
    );
}

#[test]
fn one_bad_file_hides_no_other() {
    let world = World::new();
    fs::write(world.path("home/.claude.json"), "{").unwrap();
    world.write("home/.config/switchboard/settings.json", &one("a", "x"));
    let loaded = world.load();
    assert_eq!(loaded.active().count(), 1);
    assert!(
        loaded.faults[0]
            .1
            .to_string()
            .contains(".claude.json:1:1: not JSON"),
        "{:?}",
        loaded.faults
    );
    let request = world.request(&["none.json", r#"{"mcpServers":{"b":{"command":"x"}}}"#]);
    let loaded = load(&request);
    assert_eq!(loaded.active().count(), 2);
    assert!(
        loaded.faults[0]
            .1
            .to_string()
            .contains("none.json: cannot be read")
    );
}
