//! What an administrator says, and what policy says in every file.

use super::super::world::{World, lines, one};
use super::super::*;
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt};

#[test]
fn a_managed_file_is_exclusive_and_closed_when_unreadable() {
    let typed = one("t", "typed").to_string();
    for (text, active) in [
        (r#"{"mcpServers": {"m": {"command": "managed"}}}"#, 1),
        ("{}", 0),
        ("{", 0),
        ("", 0),
        (r#"{"mcpServers": []}"#, 0),
        (r#"{"deniedMcpServers": [{"name": "x"}]}"#, 0),
    ] {
        let world = World::new();
        world.write("home/.claude.json", &one("a", "user"));
        fs::write(world.path("etc/managed-mcp.json"), text).unwrap();
        for strict in [false, true] {
            let mut request = world.request(&[&typed]);
            request.strict = strict;
            let loaded = load(&request);
            assert!(loaded.exclusive.is_some());
            assert_eq!(loaded.active().count(), active, "{text}");
            assert_eq!(
                loaded.faults.is_empty(),
                text == "{}" || active == 1,
                "{text}"
            );
        }
    }
    // Settings that cannot be read could have forbidden anything.
    let world = World::new();
    world.write("home/.claude.json", &one("a", "user"));
    fs::write(world.path("etc/managed-settings.json"), "{").unwrap();
    assert_eq!(world.load().active().count(), 0);
    fs::write(world.path("etc/managed-settings.json"), "{}").unwrap();
    assert_eq!(world.load().active().count(), 1);
    // Somebody else could write it.
    fs::set_permissions(
        world.path("etc/managed-settings.json"),
        fs::Permissions::from_mode(0o664),
    )
    .unwrap();
    assert_eq!(world.load().active().count(), 0);
}

#[test]
fn policy_from_every_file() {
    let servers =
        json!({"mcpServers": {"a": {"command": "x"}, "b": {"url": "${B:-https://b.example/}"}}});
    let deny = |name: &str| json!({"deniedMcpServers": [{"serverName": name}]});
    for (file, rules, expected) in [
        ("etc/managed-settings.json", deny("a"), "Denied Active"),
        ("home/.claude/settings.json", deny("a"), "Denied Active"),
        // To forbid is everybody's right, to allow is not.
        (
            "home/repo/.claude/settings.json",
            deny("a"),
            "Denied Active",
        ),
        (
            "home/repo/.claude/settings.json",
            json!({"allowedMcpServers": []}),
            "Active Active",
        ),
        (
            "home/.claude/settings.json",
            json!({"allowedMcpServers": [{"serverName": "b"}]}),
            "Denied Active",
        ),
        (
            "etc/managed-settings.json",
            json!({"allowManagedMcpServersOnly": true}),
            "Denied Denied",
        ),
        // Addresses are judged by where they lead.
        (
            "etc/managed-settings.json",
            json!({"deniedMcpServers": [{"serverUrl": "https://b.example/*"}]}),
            "Active Denied",
        ),
    ] {
        let world = World::new();
        world.write("home/.claude.json", &servers);
        world.write(file, &rules);
        let found: Vec<String> = lines(&world.load())
            .iter()
            .map(|line| line.rsplit(' ').next().unwrap().to_owned())
            .collect();
        assert_eq!(found.join(" "), expected, "{file} {rules}");
    }
    // The user adds to the list, unless only the managed one counts.
    for (only, active) in [(false, 2), (true, 1)] {
        let world = World::new();
        world.write("home/.claude.json", &servers);
        world.write(
            "home/.claude/settings.json",
            &json!({"allowedMcpServers": [{"serverName": "b"}]}),
        );
        world.write("etc/managed-settings.json", &json!({"allowedMcpServers": [{"serverName": "a"}], "allowManagedMcpServersOnly": only}));
        assert_eq!(world.load().active().count(), active);
    }
}
