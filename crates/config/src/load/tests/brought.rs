//! Servers that plugins and accounts bring along.

use super::super::world::{World, lines};
use super::super::*;
use serde_json::{Value, json};

/// A list that was fetched once, and the address that the user has configured.
fn connectors(world: &World, configured: &str, servers: &Value) {
    world.write(
        "home/.config/switchboard/settings.json",
        &json!({"connectors": {"url": configured}}),
    );
    world.write(
        "home/.cache/switchboard/connectors.json",
        &json!({"from": "https://c.example/", "mcpServers": servers}),
    );
}

#[test]
fn plugins_and_connectors_give_way_and_stay_visible() {
    let world = World::new();
    world.write(
        "home/.claude.json",
        &json!({"mcpServers": {
        "mine": {"command": "srv"}, "again": {"command": "srv"}, "web": {"url": "https://x/mcp"}}}),
    );
    let folder = world.path("home/p1");
    world.write(
        "home/.claude/plugins/installed_plugins.json",
        &json!({"plugins": {
        "p1@m": [{"installPath": folder}], "off@m": [{"installPath": folder}]}}),
    );
    world.write(
        "home/.claude/settings.json",
        &json!({"enabledPlugins": {"p1@m": true, "off@m": false}}),
    );
    world.write(
        "home/p1/.claude-plugin/plugin.json",
        &json!({"name": "p1", "mcpServers": {
        "same": {"command": "srv"}, "own": {"command": "${CLAUDE_PLUGIN_ROOT}/run"}}}),
    );
    world.write(
        "home/.config/switchboard/plugins/p2/.mcp.json",
        &json!({"x": {"command": "bare"}}),
    );
    connectors(
        &world,
        "https://c.example/",
        &json!({"web2": {"type": "http", "url": "https://x/mcp/"}, "other": {"type": "http", "url": "https://y/mcp"}}),
    );
    let loaded = world.load();
    assert_eq!(
        lines(&loaded),
        [
            "mine user srv Active",
            "again user srv Active",
            "web user  Active",
            "plugin:p1:same plugin srv Duplicate",
            "plugin:p1:own plugin ${CLAUDE_PLUGIN_ROOT}/run Active",
            "plugin:p2:x plugin bare Active",
            "web2 claudeai  Duplicate",
            "other claudeai  Active",
        ]
    );
    let own = crate::expand::expand(&loaded.servers[4].entry, &|_| None).unwrap();
    assert_eq!(
        own.command.clone().unwrap(),
        folder.join("run").display().to_string()
    );
}

#[test]
fn a_connectors_list_with_a_command_is_refused() {
    for bad in [
        json!({"command": "x"}),
        json!({"type": "http", "url": "https://x", "headersHelper": "x"}),
        json!({"type": "builtin"}),
    ] {
        let world = World::new();
        connectors(
            &world,
            "https://c.example/",
            &json!({"ok": {"url": "https://x"}, "bad": bad}),
        );
        let loaded = world.load();
        assert!(loaded.servers.is_empty());
        assert!(
            loaded.faults[0]
                .1
                .problem
                .contains("the whole list is refused"),
            "{:?}",
            loaded.faults
        );
    }
}

/// What was fetched once counts only as long as its address does.
#[test]
fn a_list_counts_for_its_address_alone() {
    let servers = json!({"a": {"type": "http", "url": "https://x/mcp"}});
    let world = World::new();
    connectors(&world, "https://c.example/", &servers);
    assert_eq!(lines(&world.load()), ["a claudeai  Active"]);
    connectors(&world, "https://other.example/", &servers);
    assert!(world.load().servers.is_empty());
    world.write("home/.config/switchboard/settings.json", &json!({}));
    let loaded = world.load();
    assert!(loaded.servers.is_empty() && loaded.connectors.is_none());
}

#[test]
fn where_connectors_are_is_for_the_user_and_the_administrator_to_say() {
    let says = |url: &str| json!({"connectors": {"url": url}});
    let (user, admin) = ("https://user.example/", "https://admin.example/");
    let world = World::new();
    let found = |world: &World| Some(world.load().connectors?.url.to_string());
    for file in [
        "home/repo/.mcp.json",
        "home/repo/.claude/settings.json",
        "home/repo/.claude/settings.local.json",
        "home/.claude/settings.json",
        "home/.claude.json",
    ] {
        world.write(file, &says("https://evil.example/"));
    }
    assert_eq!(found(&world), None);
    world.write("home/.config/switchboard/settings.json", &says(user));
    assert_eq!(found(&world).as_deref(), Some(user));
    world.write("etc/managed-settings.json", &says(admin));
    assert_eq!(found(&world).as_deref(), Some(admin));
    let mut strict = world.request(&[]);
    strict.strict = true;
    assert!(load(&strict).connectors.is_none());
    world.write("etc/managed-mcp.json", &json!({}));
    assert_eq!(found(&world), None);
}
