use super::*;
use crate::load::{
    Standing,
    world::{World, one},
};
use std::fs;

fn standing(world: &World) -> (Standing, Option<String>) {
    let loaded = world.load();
    (
        loaded.servers[0].standing.clone(),
        loaded.servers[0].because.clone(),
    )
}

#[test]
fn any_change_of_an_approved_entry_asks_again() {
    let entry = json!({"type": "stdio", "command": "sh", "args": ["-c", "x"], "env": {"K": "${V}"}, "cwd": ".",
        "timeout": 5, "headersHelper": "/bin/h", "oauth": {"clientId": "a"}, "headers": {"H": "1"}, "alwaysLoad": false});
    let edits = [
        ("command", json!("ls")),
        ("args", json!(["-c", "y"])),
        ("env", json!({"K": "${W}"})),
        ("env", json!({"L": "${V}"})),
        ("cwd", json!("..")),
        ("type", json!("http")),
        ("headers", json!({"H": "2"})),
        ("headersHelper", json!("/bin/other")),
        ("oauth", json!({"clientId": "b"})),
        ("url", json!("https://x")),
        ("unknown", json!(1)),
    ];
    for (field, value) in edits {
        let world = World::new();
        let file = |entry: &Value| json!({"mcpServers": {"p": entry}});
        world.write("home/repo/.mcp.json", &file(&entry));
        assert_eq!(standing(&world).0, Standing::PendingApproval);
        world.approve();
        assert_eq!(standing(&world).0, Standing::Active);
        let mut changed = entry.clone();
        changed[field] = value;
        world.write("home/repo/.mcp.json", &file(&changed));
        let (standing_now, because) = standing(&world);
        assert_eq!(standing_now, Standing::PendingApproval, "{field}");
        let because = because.unwrap();
        assert!(
            because.starts_with("changed since you approved it: ") && because.contains(field),
            "{because}"
        );
        world.write("home/repo/.mcp.json", &file(&entry));
        assert_eq!(standing(&world).0, Standing::Active);
    }
}

#[test]
fn the_order_of_keys_is_no_change() {
    let world = World::new();
    world.write(
        "home/repo/.mcp.json",
        &json!({"mcpServers": {"p": {"command": "sh", "args": []}}}),
    );
    world.approve();
    world.write(
        "home/repo/.mcp.json",
        &json!({"mcpServers": {"p": {"args": [], "command": "sh"}}}),
    );
    assert_eq!(standing(&world).0, Standing::Active);
}

#[test]
fn another_directory_or_another_program_is_another_server() {
    let mut world = World::new();
    world.write("home/repo/.mcp.json", &one("p", "sh"));
    world.approve();
    let loaded = world.load();
    let program = loaded.servers[0].entry.program.clone().unwrap();
    assert!(program.ends_with("sh") && program.is_absolute());
    // Elsewhere on the search path.
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/sh", bin.join("sh")).unwrap();
    let usual = world.places.path.clone();
    world.places.path = bin.into_os_string();
    let (now, because) = standing(&world);
    assert_eq!(
        (now, because.as_deref()),
        (
            Standing::PendingApproval,
            Some("changed since you approved it: (program)")
        )
    );
    world.places.path = usual;
    // The same text in another directory.
    fs::remove_file(world.path("home/repo/.mcp.json")).unwrap();
    world.write("home/repo/sub/.mcp.json", &one("p", "sh"));
    assert_eq!(standing(&world).0, Standing::PendingApproval);
}

#[test]
fn a_corrupt_store_approves_nothing_and_is_kept() {
    let world = World::new();
    world.write("home/repo/.mcp.json", &one("p", "sh"));
    world.write(
        "home/.claude/settings.json",
        &json!({"enableAllProjectMcpServers": true}),
    );
    let file = world.places.approvals();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{").unwrap();
    let loaded = world.load();
    assert_eq!(loaded.servers[0].standing, Standing::PendingApproval);
    assert!(
        loaded.faults[0].1.to_string().contains("approvals.json"),
        "{:?}",
        loaded.faults
    );
    assert!(Store::decide(&file, &[]).is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), "{");
}

#[test]
fn decisions_are_kept_for_the_user_alone_and_forgotten_on_request() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.write("home/repo/.mcp.json", &one("p", "sh"));
    let binding = Binding::of(&world.load().servers[0].entry, &world.places);
    let file = world.places.approvals();
    Store::decide(&file, &[(binding.clone(), false)]).unwrap();
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(standing(&world).0, Standing::Rejected);
    assert_eq!(
        Store::forget(&file, std::slice::from_ref(&binding.directory)).unwrap(),
        1
    );
    assert_eq!(standing(&world).0, Standing::PendingApproval);
    assert_eq!(Store::forget(&file, &[binding.directory]).unwrap(), 0);
}

#[test]
fn the_prompt_shows_all_that_matters_and_expands_nothing() {
    let world = World::new();
    fs::write(world.path("home/repo/sub/server.js"), "").unwrap();
    world.write("home/repo/.mcp.json", &json!({"mcpServers": {
        "p": {"command": "sh", "args": ["server.js", "${PATH}"], "env": {"T": "${HOME:-x}"}},
        "q": {"url": "https://evil/?s=${SECRET}", "headers": {"A": "${B}"}, "headersHelper": "./h ${C}"}}}));
    let loaded = world.load();
    let local = Prompt::of(&loaded.servers[0].entry, &world.places);
    assert_eq!(local.argv, ["sh", "server.js", "${PATH}"]);
    assert_eq!(
        local.from_the_repository,
        [world.path("home/repo/sub/server.js")]
    );
    let reads: Vec<String> = local
        .reads
        .iter()
        .map(|read| format!("{} {} {}", read.variable, read.field, read.to))
        .collect();
    assert_eq!(reads, ["PATH args[1] sh", "HOME env.T sh"]);
    let remote = Prompt::of(&loaded.servers[1].entry, &world.places);
    assert_eq!(remote.helpers, ["./h ${C}"]);
    let reads: Vec<&str> = remote
        .reads
        .iter()
        .map(|read| read.variable.as_str())
        .collect();
    assert_eq!(reads, ["SECRET", "B", "C"]);
}

/// What of the repository an entry is bound to, and what is warned of.
fn bound(world: &World, entry: Value) -> (Vec<String>, Vec<String>) {
    world.write("home/repo/.mcp.json", &json!({"mcpServers": {"p": entry}}));
    let loaded = world.load();
    let prompt = Prompt::of(&loaded.servers[0].entry, &world.places);
    let here = world.path("home/repo/sub");
    let name = |path: &PathBuf| {
        let path = path.strip_prefix(&here).unwrap_or(path);
        path.display().to_string()
    };
    let mut files: Vec<String> = prompt.from_the_repository.iter().map(name).collect();
    files.sort();
    (files, prompt.warnings)
}

#[test]
fn what_an_interpreter_would_find_is_bound() {
    let world = World::new();
    let here = world.path("home/repo/sub");
    for (path, text) in [
        ("lib/i.mjs", ""),
        ("lib/index.js", ""),
        ("lib/mod.lua", ""),
        ("lib/__init__.py", ""),
        ("lib/evil.py", ""),
        ("lib/Foo.pm", ""),
        ("lib/Main.class", ""),
        ("pack/package.json", "{\"main\": \"m\"}"),
        ("pack/m.js", ""),
        ("evil.py", ""),
        ("s.sh", ""),
        ("c.sh", "#!./interp\n"),
        ("interp", "#! ./inner -x\n"),
        ("inner", ""),
        ("e.sh", "#!/usr/bin/env -S sh ./in2\n"),
        ("in2", ""),
    ] {
        let file = here.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let url = format!("file://{}/lib/%69.mjs", here.display());
    for (argv, expected) in [
        (
            &["node", "--import=./lib/i.mjs#a", "-e", "0"][..],
            &["lib/i.mjs"][..],
        ),
        (
            &["node", "--import", "./lib/i.mjs?1", "-e", "0"],
            &["lib/i.mjs"],
        ),
        (
            &["node", "--import=./lib/%69.mjs", "-e", "0"],
            &["lib/i.mjs"],
        ),
        (&["node", "--import", &url, "-e", "0"], &["lib/i.mjs"]),
        (&["node", "-r./lib/i", "x"], &["lib/i.mjs"]),
        (&["node", "--require=./lib", "x"], &["lib/index.js"]),
        (&["node", "lib"], &["lib/index.js"]),
        (&["node", "pack"], &["pack/m.js", "pack/package.json"]),
        (&["./c.sh"], &["c.sh", "inner", "interp"]),
        (&["./e.sh"], &["e.sh", "in2"]),
        (&["python3", "-mevil"], &["evil.py"]),
        (&["python3", "-Imevil"], &["evil.py"]),
        (
            &["python3", "-m", "lib.evil"],
            &["lib/__init__.py", "lib/evil.py"],
        ),
        (&["env", "-Ssh\\_./s.sh"], &["s.sh"]),
        (&["lua", "-l", "lib.mod"], &["lib/mod.lua"]),
        (&["lua", "-llib.mod"], &["lib/mod.lua"]),
        (&["perl", "-Ilib", "-MFoo", "-e1"], &["lib/Foo.pm"]),
        (&["java", "-cp", "lib", "Main"], &["lib/Main.class"]),
    ] {
        let (files, _) = bound(&world, json!({"command": argv[0], "args": argv[1..]}));
        for file in expected {
            assert!(files.contains(&(*file).to_owned()), "{argv:?}: {files:?}");
        }
    }
}

#[test]
fn what_a_server_is_trusted_by_is_bound() {
    let world = World::new();
    let here = world.path("home/repo/sub");
    fs::create_dir_all(&here).unwrap();
    fs::write(here.join("ca.pem"), "one").unwrap();
    let entry = json!({"type": "http", "url": "https://x.example/mcp",
        "tls": {"ca": "ca.pem"}});
    let (files, _) = bound(&world, entry);
    assert!(
        files.iter().any(|file| file.ends_with("ca.pem")),
        "{files:?}"
    );
}

#[test]
fn what_a_variable_makes_an_interpreter_load_is_bound() {
    let world = World::new();
    let here = world.path("home/repo/sub");
    fs::create_dir_all(&here).unwrap();
    fs::write(here.join("hook.js"), "").unwrap();
    for options in ["--require ./hook", "-r ./hook", "--require=./hook"] {
        let entry = json!({"command": "a-server", "env": {"NODE_OPTIONS": options}});
        assert_eq!(bound(&world, entry).0, ["hook.js"], "{options}");
    }
    // They may take their code from where they work, whatever they are called: only
    // what is known not to is not warned of.
    for (command, is_told) in [
        ("uvicorn", true),
        ("terraform", true),
        ("never-heard-of-it", true),
        ("/opt/bin/never-heard-of-it", true),
        ("java", true),
        ("lua", true),
        ("node", false),
        ("python3.12", false),
    ] {
        let entry = json!({"command": command, "args": ["/opt/app"]});
        let (_, warnings) = bound(&world, entry);
        let told = warnings
            .iter()
            .any(|told| told.contains("code and settings from the directory"));
        assert_eq!(told, is_told, "{command}: {warnings:?}");
    }
}

#[test]
fn what_cannot_be_bound_is_warned_of() {
    let world = World::new();
    for entry in [
        json!({"command": "node", "args": ["--import", "data:text/javascript,import(x)", "a"]}),
        json!({"command": "node", "args": ["--import=DATA:text/javascript,import(x)", "a"]}),
    ] {
        let (_, warnings) = bound(&world, entry);
        let told = warnings
            .iter()
            .any(|text| text.contains("is code in itself"));
        assert!(told, "{warnings:?}");
    }
    let (_, warnings) = bound(&world, json!({"command": "node", "args": ["metadata:x"]}));
    assert!(
        !warnings
            .iter()
            .any(|text| text.contains("is code in itself"))
    );
}

#[test]
fn what_manifests_run_is_bound_alike() {
    let world = World::new();
    let here = world.path("home/repo/sub");
    fs::create_dir_all(here.join("t")).unwrap();
    for (path, text) in [
        ("i.mjs", ""),
        ("t/c.sh", "#!./interp\n"),
        ("interp", ""),
        (
            "t/a.tool.json",
            r#"{"command": ["node", "--import", "./i.mjs?1", "-e", "0"]}"#,
        ),
        ("t/b.tool.json", r#"{"command": ["./c.sh"]}"#),
        (
            "t/d.tool.json",
            r#"{"command": ["node", "--import", "data:text/javascript,1"]}"#,
        ),
    ] {
        fs::write(here.join(path), text).unwrap();
    }
    let entry = json!({"type": "builtin", "builtin": "tools", "folder": "t"});
    let (files, warnings) = bound(&world, entry);
    for file in ["i.mjs", "t/c.sh", "interp"] {
        assert!(files.contains(&file.to_owned()), "{file}: {files:?}");
    }
    let told = |what: &str| warnings.iter().any(|text| text.contains(what));
    assert!(
        told("is code in itself") && told("a.tool.json: node takes code"),
        "{warnings:?}"
    );
}
