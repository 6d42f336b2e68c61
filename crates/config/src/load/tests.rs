use super::world::{World, lines, one};
use super::*;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt};

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
    assert_eq!(loaded.servers.len(), 9);
    let shadowed = |server: &&Configured| matches!(server.standing, Standing::Shadowed(_));
    assert_eq!(loaded.servers.iter().filter(shadowed).count(), 8);
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
    world.write("home/.cache/switchboard/connectors.json", &json!({"mcpServers": {
        "web2": {"type": "http", "url": "https://x/mcp/"}, "other": {"type": "http", "url": "https://y/mcp"}}}));
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
        own.command.unwrap(),
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
        world.write(
            "home/.cache/switchboard/connectors.json",
            &json!({"mcpServers": {"ok": {"url": "https://x"}, "bad": bad}}),
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

/// Where an approval list stands, and whether it counts.
#[test]
fn approval_lists_count_only_where_a_repository_cannot_write() {
    let named = json!({"enabledMcpjsonServers": ["p"]});
    let all = json!({"enableAllProjectMcpServers": true});
    let here = |lists: &Value| json!({"projects": {"REPO": lists}});
    let other = json!({"projects": {"/elsewhere": named}});
    for (file, lists, expected) in [
        (
            "home/.claude/settings.json",
            named.clone(),
            Standing::Active,
        ),
        ("home/.claude/settings.json", all.clone(), Standing::Active),
        ("home/.claude.json", here(&named), Standing::Active),
        ("home/.claude.json", here(&all), Standing::Active),
        (
            "home/.config/switchboard/settings.json",
            here(&named),
            Standing::Active,
        ),
        ("etc/managed-settings.json", named.clone(), Standing::Active),
        ("home/.claude.json", other, Standing::PendingApproval),
        (
            "home/repo/.claude/settings.json",
            named.clone(),
            Standing::PendingApproval,
        ),
        (
            "home/repo/.claude/settings.json",
            all.clone(),
            Standing::PendingApproval,
        ),
        (
            "home/repo/.claude/settings.local.json",
            named.clone(),
            Standing::PendingApproval,
        ),
        (
            "home/repo/.claude/settings.local.json",
            all,
            Standing::PendingApproval,
        ),
        (
            "home/.claude/settings.json",
            json!({"disabledMcpjsonServers": ["p"]}),
            Standing::Rejected,
        ),
        (
            "home/repo/.claude/settings.json",
            json!({"disabledMcpjsonServers": ["p"]}),
            Standing::Rejected,
        ),
        (
            "home/repo/.claude/settings.json",
            json!({"disabledMcpServers": ["p"]}),
            Standing::Disabled,
        ),
    ] {
        let world = World::new();
        world.write("home/repo/.mcp.json", &one("p", "sh"));
        world.write(file, &lists);
        let loaded = world.load();
        assert_eq!(loaded.servers[0].standing, expected, "{file} {lists}");
        assert_eq!(
            loaded.pins.len(),
            usize::from(expected == Standing::Active),
            "{file} {lists}"
        );
        // Once it was used like this, a change asks again.
        let pins: Vec<_> = loaded.pins.into_iter().map(|pin| (pin, true)).collect();
        crate::approval::Store::decide(&world.places.approvals(), &pins).unwrap();
        assert_eq!(world.load().servers[0].standing, expected);
        world.write("home/repo/.mcp.json", &one("p", "ls"));
        let changed = if expected == Standing::Active {
            Standing::PendingApproval
        } else {
            expected
        };
        assert_eq!(world.load().servers[0].standing, changed, "{file} {lists}");
    }
}

#[test]
fn files_of_others_are_skipped_with_a_word() {
    let world = World::new();
    let file = world.write("home/repo/.mcp.json", &one("p", "sh"));
    for (path, mode) in [
        (file.clone(), 0o666),
        (file.parent().unwrap().to_owned(), 0o777),
    ] {
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let loaded = world.load();
        assert!(loaded.servers.is_empty());
        assert!(
            loaded.faults[0]
                .1
                .to_string()
                .contains("can be written by every user"),
            "{:?}",
            loaded.faults
        );
        fs::set_permissions(&path, before).unwrap();
    }
    if guard::me() == 0 {
        std::os::unix::fs::chown(&file, Some(4242), None).unwrap();
        let loaded = world.load();
        assert!(
            loaded.servers.is_empty()
                && loaded.faults[0]
                    .1
                    .problem
                    .contains("belongs to another user")
        );
    }
    // A pipe in the place of a file stops nobody.
    fs::remove_file(&file).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &file,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    assert!(world.load().faults[0].1.problem.contains("is not a file"));
}

#[test]
fn a_folder_of_settings_inside_the_tree_is_the_projects() {
    let mut world = World::new();
    let all = json!({"mcpServers": {"e": {"command": "sh"}}, "enableAllProjectMcpServers": true,
        "enabledMcpjsonServers": ["e"], "projects": {"REPO": {"mcpServers": {"l": {"command": "sh"}}}}});
    let file = world.write("home/repo/evil/settings.json", &all);
    world.places.strays.push(file);
    assert_eq!(
        lines(&world.load()),
        [
            "e project sh PendingApproval",
            "l project sh PendingApproval"
        ]
    );
    // So is a user file that is a link into the tree.
    let world = World::new();
    let file = world.write("home/repo/evil/settings.json", &all);
    std::os::unix::fs::symlink(file, world.path("home/.claude.json")).unwrap();
    assert_eq!(
        lines(&world.load()),
        [
            "l project sh PendingApproval",
            "e project sh PendingApproval"
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
