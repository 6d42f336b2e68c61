use super::*;
use crate::load::world::World;
use crate::load::{Configured, load};
use serde_json::{Value, json};

fn world() -> World {
    let world = World::new();
    world.write(
        "home/.config/switchboard/settings.json",
        &json!({"mcpServers": {"mine": {"command": "npx", "args": ["-y", "x"]}}}),
    );
    world
}

fn trust_of(world: &World) -> Trust {
    judge(&world.places).0
}

fn is_trusted(world: &World) -> bool {
    matches!(trust_of(world), Trust::Trusted(_))
}

fn find<'a>(loaded: &'a Loaded, name: &str) -> &'a Configured {
    loaded.find(name).unwrap()
}

fn elsewhere(loaded: &Loaded) -> Vec<&str> {
    let mut names: Vec<&str> = loaded
        .elsewhere()
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn without_a_word_servers_start_elsewhere() {
    let world = world();
    let loaded = world.load();
    assert_eq!(loaded.folder.trust, Some(Trust::Open));
    assert!(find(&loaded, "mine").entry.starts_elsewhere());
    assert_eq!(elsewhere(&loaded), ["mine"]);
    let repo = world.path("home/repo").display().to_string();
    let said = loaded.about_folder().unwrap();
    assert!(
        said.starts_with(&format!(
            "{repo}/sub is not a trusted folder, so server mine is "
        )) && said.ends_with(&format!(": switchboard trust {repo}")),
        "{said}"
    );
    assert!(loaded.folder_is_open());
}

#[test]
fn the_users_word_is_good_for_what_lies_in_the_folder() {
    for folder in ["home/repo", "home/repo/sub", "home"] {
        let world = world();
        Store::say(&world.places, &world.path(folder), true).unwrap();
        assert!(is_trusted(&world), "{folder}");
        let loaded = world.load();
        assert_eq!(loaded.about_folder(), None, "{folder}");
        assert!(!find(&loaded, "mine").entry.wary, "{folder}");
    }
    for folder in ["home/repo/sub/deeper", "home/rep", "home/other"] {
        let world = world();
        Store::say(&world.places, &world.path(folder), true).unwrap();
        assert_eq!(trust_of(&world), Trust::Open, "{folder}");
    }
}

#[test]
fn the_nearest_word_counts() {
    let world = world();
    Store::say(&world.places, &world.path("home"), true).unwrap();
    Store::say(&world.places, &world.path("home/repo"), false).unwrap();
    assert_eq!(trust_of(&world), Trust::Refused(world.path("home/repo")));
    assert!(!world.load().folder_is_open(), "it was answered");
    // Also against what was said to others.
    world.write(
        "home/.claude.json",
        &json!({"projects": {"REPO": {"hasTrustDialogAccepted": true}}}),
    );
    assert!(!is_trusted(&world));
    Store::say(&world.places, &world.path("home/repo/sub"), true).unwrap();
    assert!(is_trusted(&world));
}

#[test]
fn what_was_said_to_claude_code_and_servers_for_a_folder_count() {
    let claude = |said: Value| json!({"projects": {"REPO": said}});
    for (file, text, trusted) in [
        (
            ".claude.json",
            claude(json!({"hasTrustDialogAccepted": true})),
            true,
        ),
        (
            ".claude.json",
            claude(json!({"hasTrustDialogAccepted": false})),
            false,
        ),
        (
            ".claude.json",
            claude(json!({"hasTrustDialogAccepted": "true"})),
            false,
        ),
        (
            ".claude.json",
            claude(json!({"mcpServers": {}, "history": []})),
            false,
        ),
        (
            ".claude.json",
            claude(json!({"mcpServers": {"a": {"command": "a"}}})),
            true,
        ),
        (
            ".config/switchboard/settings.json",
            claude(json!({"mcpServers": {"a": {"command": "a"}}})),
            true,
        ),
        // Ours has no such key.
        (
            ".config/switchboard/settings.json",
            claude(json!({"hasTrustDialogAccepted": true})),
            false,
        ),
    ] {
        let world = World::new();
        world.write(&format!("home/{file}"), &text);
        assert_eq!(is_trusted(&world), trusted, "{file} {text}");
    }
}

#[test]
fn home_and_root_count_alone() {
    let world = world();
    let at = |directory: &Path| {
        let mut places = world.places.clone();
        places.directory = directory.to_owned();
        matches!(judge(&places).0, Trust::Trusted(_))
    };
    assert!(at(&world.path("home")) && at(Path::new("/")));
    // What others were told about them is not about all that lies there.
    let home = world.path("home").display().to_string();
    world.write(
        "home/.claude.json",
        &json!({"projects": {
            &home: {"hasTrustDialogAccepted": true, "mcpServers": {"a": {"command": "a"}}},
            "/": {"hasTrustDialogAccepted": true},
        }}),
    );
    assert!(at(&world.path("home")));
    assert_eq!(trust_of(&world), Trust::Open);
}

#[test]
fn a_folder_that_only_root_can_write_counts_for_others() {
    let nobody = 65534;
    assert!(only_root_writes(Path::new("/usr/bin"), nobody));
    assert!(!only_root_writes(Path::new("/usr/bin"), 0));
    assert!(!only_root_writes(Path::new("/tmp"), nobody));
    assert!(!only_root_writes(
        World::new().path("home").as_path(),
        nobody
    ));
    assert!(!only_root_writes(Path::new("/no/such/folder"), nobody));
}

#[test]
fn a_repository_says_nothing_about_itself() {
    let word = json!({"folders": {"REPO": true}, "projects": {"REPO": {"hasTrustDialogAccepted": true,
        "mcpServers": {"a": {"command": "a"}}}}});
    let mut world = World::new();
    for file in [
        "home/repo/sub/.claude.json",
        "home/repo/.claude.json",
        "home/repo/settings.json",
        "home/repo/switchboard/folders.json",
        "home/repo/.claude/settings.json",
    ] {
        world.write(file, &word);
    }
    // As the environment could say.
    let repo = world.path("home/repo");
    world.places.data = repo.join("switchboard");
    assert_eq!(trust_of(&world), Trust::Open);
    world.places.claude_json = repo.join(".claude.json");
    world.places.config = repo.clone();
    assert_eq!(trust_of(&world), Trust::Open);
    // Nor is anything kept there.
    let kept = Store::say(&world.places, &repo, true);
    assert!(matches!(kept, Err(FoldersError::Inside(_))), "{kept:?}");
}

#[test]
fn a_damaged_record_trusts_nothing_and_is_kept() {
    for text in [
        "{",
        "[]",
        r#"{"folders": {"/": "yes"}}"#,
        r#"{"folders": 1}"#,
    ] {
        let world = world();
        world.write(
            "home/.claude.json",
            &json!({"projects": {"REPO": {"hasTrustDialogAccepted": true}}}),
        );
        assert!(is_trusted(&world));
        let file = world.places.folders();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        let loaded = world.load();
        assert_eq!(loaded.folder.trust, Some(Trust::Open), "{text}");
        let fault = loaded.faults[0].1.to_string();
        assert!(
            fault.contains("folders.json: ") && fault.contains("delete it"),
            "{fault}"
        );
        assert!(Store::say(&world.places, &world.path("home/repo"), true).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn the_record_is_the_users_alone() {
    use std::os::unix::fs::PermissionsExt;
    let world = world();
    Store::say(&world.places, &world.path("home/repo"), true).unwrap();
    let mode = std::fs::metadata(world.places.folders())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_names_the_folder_fails_and_says_what_to_do() {
    let world = World::new();
    for file in ["server.py", "conf/a.json", "bin/run", "tools/a.tool.json"] {
        world.write(&format!("home/repo/sub/{file}"), &json!({}));
    }
    let entries = json!({
        "arg": {"command": "python3", "args": ["-u", "server.py"]},
        "dot": {"command": "npx", "args": ["-y", "files", "."]},
        "up": {"command": "npx", "args": ["../sub/server.py"]},
        "option": {"command": "x", "args": ["--config=conf/a.json"]},
        "command": {"command": "./bin/run"},
        "deep": {"command": "bin/run"},
        "whole": {"command": "${workspaceFolder}/sub/bin/run"},
        "helper": {"url": "http://127.0.0.1:9/", "headersHelper": "sh ./bin/run --json"},
        "tools": {"type": "builtin", "builtin": "tools", "folder": "tools"},
        "tools-here": {"type": "builtin", "builtin": "tools", "folder": "/usr", "cwd": "."},
        "data": {"command": "x", "args": ["${workspaceFolder}"]},
        "own": {"command": "./bin/run", "args": ["server.py"], "cwd": "${workspaceFolder}/sub"},
        "dot-cwd": {"command": "npx", "args": ["x"], "cwd": "."},
        "text": {"command": "sh", "args": ["-c", "exec '${workspaceFolder}/sub/bin/run'"]},
        "prefix": {"command": "npx", "args": ["--prefix=${workspaceFolder}", "x"]},
        "from-home": {"command": "node", "args": ["repo/sub/server.js"], "cwd": "${userHome}"},
        "variable": {"command": "python3", "env": {"PYTHONPATH": "/usr/lib:${workspaceFolder}"}},
        "code": {"command": "sh", "args": ["-c", "exec $RUN"], "env": {"RUN": "${workspaceFolder}/x"}},
    });
    let fine = json!({
        "bare": {"command": "server.py"},
        "absent": {"command": "x", "args": ["other.py", "-", "--x", ""]},
        "root": {"command": "x", "env": {"ROOT": "${workspaceFolder}"}},
        "own-place": {"command": "./bin/run", "args": ["server.py"], "cwd": "/usr"},
        "far": {"command": "/usr/bin/env", "args": ["x"]},
    });
    world.write("home/.claude.json", &json!({"mcpServers": entries}));
    world.write(
        "home/.config/switchboard/settings.json",
        &json!({"mcpServers": fine}),
    );
    let loaded = world.load();
    for name in entries.as_object().unwrap().keys() {
        let faults = &find(&loaded, name).entry.faults;
        let [fault] = faults.as_slice() else {
            panic!("{name}: {faults:?}");
        };
        let repo = world.path("home/repo").display().to_string();
        let text = fault.to_string();
        assert!(
            text.contains("is not a trusted folder; ")
                && text.ends_with(&format!(": switchboard trust {repo}")),
            "{text}"
        );
    }
    for name in fine.as_object().unwrap().keys() {
        assert_eq!(find(&loaded, name).entry.faults, [], "{name}");
    }
    assert_eq!(elsewhere(&loaded), ["absent", "bare", "far", "root"]);
    Store::say(&world.places, &world.path("home/repo"), true).unwrap();
    assert!(
        world
            .load()
            .active()
            .all(|entry| entry.faults.is_empty() && !entry.wary)
    );
}

#[test]
fn what_the_tree_or_the_user_brings_here_starts_here() {
    let world = World::new();
    world.write(
        "home/repo/.mcp.json",
        &json!({"mcpServers": {"theirs": {"command": "npx"}}}),
    );
    world.approve();
    world.write(
        "home/repo/named.json",
        &json!({"mcpServers": {"named": {"command": "npx"}}}),
    );
    world.write(
        "home/elsewhere.json",
        &json!({"mcpServers": {"far": {"command": "npx"}}}),
    );
    let far = world.path("home/elsewhere.json").display().to_string();
    let typed = json!({"mcpServers": {"typed": {"command": "npx"}}}).to_string();
    let mut request = world.request(&["../named.json", &far, &typed]);
    for strict in [false, true] {
        request.strict = strict;
        let loaded = load(&request);
        assert_eq!(elsewhere(&loaded), ["far", "typed"], "{strict}");
        assert_eq!(loaded.find("theirs").is_some(), !strict);
    }
}

#[test]
fn a_command_can_be_typed_as_it_is_shown() {
    for (path, shown) in [
        ("/a/b-c_d.e", "/a/b-c_d.e"),
        ("/a b", "'/a b'"),
        ("/it's; rm -rf ~", r"'/it'\''s; rm -rf ~'"),
    ] {
        assert_eq!(quoted(Path::new(path)), shown);
    }
}
