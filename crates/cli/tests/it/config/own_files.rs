//! What is the user's own: a local entry beside one of the tree's, and servers
//! taken over from other clients.

use serde_json::{Value, json};
use switchboard_testkit::world::World;

fn entry(word: &str) -> Value {
    json!({"command": "echo", "args": [word]})
}

/// In the scope `local` our own file beats what lies in the repository, also
/// where that was approved.
#[test]
fn our_own_local_file_beats_the_trees() {
    let home = World::repository();
    home.write(
        "home/repo/.claude/settings.local.json",
        json!({"mcpServers": {"both": entry("theirs"), "alone": entry("theirs")}}).to_string(),
    );
    home.approve("all");
    let used = || {
        let rows = home.show(&["list", "--no-connect", "--json"]).ok().json();
        let used = rows.as_array().unwrap().iter();
        let used = used.filter(|row| row["state"] == "not-connected");
        used.map(|row| format!("{} {}", row["name"], row["target"]).replace('"', ""))
            .collect::<Vec<_>>()
    };
    let mut before = used();
    before.sort();
    assert_eq!(before, ["alone echo theirs", "both echo theirs"]);
    let ours = json!({"projects": {home.path("home/repo").display().to_string():
        {"mcpServers": {"both": entry("ours")}}}});
    for file in [
        "home/.config/switchboard/settings.json",
        "home/.claude.json",
    ] {
        home.write(file, ours.to_string());
        let mut after = used();
        after.sort();
        assert_eq!(after, ["alone echo theirs", "both echo ours"], "{file}");
        std::fs::remove_file(home.path(file)).unwrap();
    }
}

/// The variables of editors are ours after an import, or are told about.
#[test]
fn variables_of_editors_are_translated() {
    let home = World::repository();
    home.write(
        "home/.cursor/mcp.json",
        json!({"mcpServers": {"a": {"command": "sh", "args": ["-c", "x ${input:api-key}"],
            "env": {"TOKEN": "${env:MY_TOKEN}", "WHERE": "${workspaceFolder}/x", "SEP": "a${pathSeparator}b"}}}})
        .to_string(),
    );
    let out = home.show(&["import", "cursor"]).ok().out;
    for note in [
        "API_KEY",
        "${workspaceFolder} is the folder",
        "${pathSeparator} means",
    ] {
        assert!(out.contains(note), "{note}: {out}");
    }
    let kept: Value =
        serde_json::from_str(&home.read("home/.config/switchboard/settings.json")).unwrap();
    let kept = &kept["mcpServers"]["a"];
    assert_eq!(kept["env"]["TOKEN"], "${MY_TOKEN}", "{kept}");
    assert_eq!(kept["args"][1], "x ${API_KEY}", "{kept}");
    // The server gets what they stand for.
    let echo = json!({"mcpServers": {"a": {"command": "sh",
        "args": ["-c", "echo \"$GREETING $WHERE\" >&2; exit 3"],
        "env": {"GREETING": "${env:MY_GREETING}", "WHERE": "${workspaceFolder}/x"}}}});
    home.write("home/.cursor/mcp.json", echo.to_string());
    std::fs::remove_file(home.path("home/.config/switchboard/settings.json")).unwrap();
    home.show(&["import", "cursor"]).ok();
    let mut list = home.command(&["list", "--json"]);
    let list = list.env("MY_GREETING", "plain-word").output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("plain-word"), "{list}");
    assert!(list.contains("home/repo/x"), "{list}");
}
