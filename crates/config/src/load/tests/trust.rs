//! What a repository, or another user, could have written.

use super::super::world::{World, lines, one};
use super::super::*;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt};

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
    if safe_read::me() == 0 {
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
