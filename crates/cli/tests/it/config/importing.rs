//! `import` with the real program: what comes of other clients' servers once they
//! are ours.

use serde_json::{Value, json};
use switchboard_testkit::world::{World, echo};

fn settings(home: &World) -> Value {
    serde_json::from_str(&home.read("home/.config/switchboard/settings.json")).unwrap()
}

/// A server that says on stderr what its variables are, and ends.
fn telling(words: &str) -> Value {
    json!({"command": "sh", "args": ["-c", format!("echo \"told {words}\" >&2; exit 3")]})
}

/// What `list` knows of a server that has ended.
fn told(home: &World) -> String {
    let list = home
        .command(&["list", "--json"])
        .env("FROM_ENV", "by-env")
        .output();
    String::from_utf8(list.unwrap().stdout).unwrap()
}

#[test]
fn the_table_names_what_is_lost_and_ends_with_a_sum() {
    let home = World::repository();
    home.write(
        "home/.config/zed/settings.json",
        r#"{"context_servers": {"z": {"command": "x", "timeout": 60, "zzNew": 1}, "ext": {"settings": {}}}}"#,
    );
    home.write(
        "home/.codeium/windsurf/mcp_config.json",
        r#"{"mcpServers": {"w": {"command": "y", "disabledTools": ["echo"]}}}"#,
    );
    let shown = home.show(&["import"]).ok().out;
    for part in [
        "server  client    outcome   taken  translated  lost\n",
        "w       windsurf  imported  1      1           0\n",
        "  translated: disabledTools → tools.deny\n",
        "z       zed       imported  1      1           1\n",
        "  translated: timeout → timeout in milliseconds\n",
        "  lost: zzNew: it is not known\n",
        "ext     zed       left out  0      0           1\n",
        "  left out: an extension of Zed starts it\n",
        "3 servers of 2 clients: 2 imported, 1 left out; fields: 2 taken, 2 translated, 2 lost\n",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let kept = settings(&home);
    assert_eq!(
        kept["mcpServers"]["z"],
        json!({"type": "stdio", "command": "x", "timeout": 60000})
    );
    // Again: nothing is done twice.
    let again = home.show(&["import", "--json"]).ok().json();
    let outcomes: Vec<&str> = again
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(
        outcomes,
        [
            "there already",
            "there already",
            "left out: an extension of Zed starts it"
        ]
    );
    assert_eq!(settings(&home), kept);
}

#[test]
fn the_same_name_with_other_content_is_told() {
    let home = World::repository();
    home.write(
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "x"}}}"#,
    );
    home.write(
        "home/.kiro/settings/mcp.json",
        r#"{"mcpServers": {"a": {"command": "y"}}}"#,
    );
    home.write(
        "home/.junie/mcp/mcp.json",
        r#"{"mcpServers": {"a": {"command": "x"}}}"#,
    );
    for dry in [&["--dry-run"][..], &[]] {
        let rows = home
            .show(&[&["import", "--json"], dry].concat())
            .ok()
            .json();
        let outcome = |at: usize| rows[at]["outcome"].as_str().unwrap();
        assert!(outcome(0).ends_with("imported"), "{rows}");
        assert!(outcome(1).contains("another server called \"a\""), "{rows}");
        assert_eq!(outcome(2), "there already");
    }
    home.show(&["import", "kiro", "--rename"]).ok();
    assert_eq!(settings(&home)["mcpServers"]["a-kiro"]["command"], "y");
}

/// Variables in every spelling reach the server, also from files.
#[test]
fn variables_and_files_reach_the_server() {
    let home = World::repository();
    let env = home.write("home/vars.env", "# mine\nFILE_ONE='from file'\nBOTH=file\n");
    home.write("home/secret.txt", "of-a-file\n");
    let mut code = telling("$FILE_ONE/$BOTH");
    code["envFile"] = env.display().to_string().into();
    code["env"] = json!({"BOTH": "entry"});
    home.write(
        "home/.config/Code/User/mcp.json",
        json!({"servers": {"code": code}}).to_string(),
    );
    let mut gem = telling("$KEY");
    gem["env"] = json!({"KEY": "$FROM_ENV"});
    home.write(
        "home/.gemini/settings.json",
        json!({"mcpServers": {"gem": gem}}).to_string(),
    );
    let open = json!({"type": "local", "command": ["sh", "-c", "echo \"told $A $B\" >&2; exit 3"],
        "environment": {"A": "{env:FROM_ENV}", "B": "{file:~/secret.txt}"}});
    home.write(
        "home/.config/opencode/opencode.jsonc",
        json!({"mcp": {"open": open}}).to_string(),
    );
    home.show(&["import"]).ok();
    let list = told(&home);
    for part in [
        "told from file/entry",
        "told by-env",
        "told by-env of-a-file",
    ] {
        assert!(list.contains(part), "{part}: {list}");
    }
    // A file that is gone is named, and nothing starts without it.
    std::fs::remove_file(env).unwrap();
    let list = told(&home);
    assert!(
        list.contains("envFile") && list.contains("vars.env: cannot be read"),
        "{list}"
    );
}

/// What was switched off stays off, and tools that were cannot be called.
#[test]
fn what_was_switched_off_stays_off() {
    let home = World::repository();
    let mut off = echo(&[]);
    off["disabledTools"] = json!(["echo"]);
    home.write(
        "home/.codeium/windsurf/mcp_config.json",
        json!({"mcpServers": {"w": off}}).to_string(),
    );
    home.write(
        "home/.gemini/settings.json",
        json!({"mcpServers": {"g": echo(&[])}, "mcp": {"excluded": ["g"]}}).to_string(),
    );
    home.show(&["import"]).ok();
    let rows = home.show(&["list", "--no-connect", "--json"]).ok().json();
    let state = |name: &str| {
        let rows = rows.as_array().unwrap().iter();
        let row = rows.clone().find(|row| row["name"] == name);
        row.unwrap()["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state("g"), "disabled");
    let called = home.show(&["call", "w__echo", "-a", "nonce=x"]);
    assert_ne!(called.code, Some(0), "{called:?}");
    home.show(&["call", "w__count"]).ok();
}

/// A repository's files become nobody's own by an import: they wait for a yes.
#[test]
fn what_a_repository_brings_waits_for_approval() {
    let home = World::repository();
    let marks = home.path("home/ran");
    let planted =
        json!({"command": "sh", "args": ["-c", format!("touch {}; exit 3", marks.display())]});
    for (file, text) in [
        (
            "home/repo/.cursor/mcp.json",
            json!({"mcpServers": {"c": planted}}),
        ),
        (
            "home/repo/.vscode/mcp.json",
            json!({"servers": {"v": planted}}),
        ),
        (
            "home/repo/opencode.json",
            json!({"mcp": {"o": {"type": "local", "command": ["sh", "-c", "exit 3"],
            "environment": {"K": "{file:/etc/hostname}"}}}}),
        ),
    ] {
        home.write(file, text.to_string());
    }
    home.write(
        "home/repo/.codex/config.toml",
        "[mcp_servers.x]\ncommand = 'false'\n",
    );
    let shown = home.show(&["import"]).ok().out;
    assert!(
        shown.contains("waits for your approval: switchboard approve c"),
        "{shown}"
    );
    let kept = settings(&home);
    let repo = home.path("home/repo").display().to_string();
    assert!(kept.get("mcpServers").is_none(), "{kept}");
    let mine = &kept["projects"][&repo]["mcpServers"];
    assert_eq!(
        mine["c"]["importedFrom"],
        format!("{repo}/.cursor/mcp.json")
    );
    let states = || -> Vec<(String, String)> {
        let rows = home.show(&["list", "--json"]).json();
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| (row["name"].to_string(), row["state"].to_string()))
            .collect()
    };
    let before = states();
    assert_eq!(before.len(), 4, "{before:?}");
    assert!(
        before
            .iter()
            .all(|(_, state)| state == "\"pending-approval\""),
        "{before:?}"
    );
    assert!(!marks.exists(), "it ran");
    home.approve("c");
    let after = states();
    assert!(marks.exists(), "{after:?}");
    // Files of this machine are not for a repository to read, whoever says yes.
    home.approve("o");
    let list = home.show(&["list", "--json"]).out;
    assert!(
        list.contains("files are read for servers of your own files only"),
        "{list}"
    );
}

/// A project's own file may not name a file of variables either.
#[test]
fn a_file_of_variables_counts_in_files_of_the_users_own() {
    let home = World::repository();
    home.write("home/repo/.env", "LD_PRELOAD=/x\n");
    let mut entry = telling("x");
    entry["envFile"] = ".env".into();
    home.write(
        "home/repo/.mcp.json",
        json!({"mcpServers": {"p": entry}}).to_string(),
    );
    home.approve("p");
    let list = home.show(&["list", "--json"]).out;
    assert!(
        list.contains("`envFile`: counts in files of your own only"),
        "{list}"
    );
}

/// What a repository has written for another client is taken over as what it is: no word
/// of the user's about the folder, and no way to any file of theirs.
#[test]
fn what_a_repository_brings_gets_neither_trust_nor_files() {
    let home = World::untrusted();
    let planted = json!({"command": "sh", "args": ["-c", "pwd; exit 3"]});
    home.write(
        "home/.config/switchboard/settings.json",
        json!({"mcpServers": {"own": planted}}).to_string(),
    );
    home.write("home/secret.env", "KEY=CANARY-ONE\n");
    home.write("home/repo/inner.env", "KEY=inner\n");
    std::os::unix::fs::symlink("../secret.env", home.path("home/repo/link.env")).unwrap();
    let secret = home.path("home/secret.env").display().to_string();
    let named = |file: &str| json!({"command": "x", "envFile": file});
    let brought = json!({"mcpServers": {
        "docs": {"url": "https://docs.example.com/mcp"},
        "whole": named(&secret),
        "above": named("../secret.env"),
        "link": named("${workspaceFolder}/link.env"),
        "inner": named("inner.env"),
    }});
    home.write("home/repo/.cursor/mcp.json", brought.to_string());
    let shown = home.show(&["import"]).ok().out;
    let lost = shown.matches("does not lie in the project").count();
    assert_eq!(lost, 3, "{shown}");
    let kept = home.read("home/.config/switchboard/settings.json");
    assert!(!kept.contains("CANARY"), "{kept}");
    assert!(kept.contains(r#""KEY": "inner""#), "{kept}");
    // The user's own server is still started elsewhere.
    let list = home.show(&["list", "--no-connect"]);
    assert!(list.err.contains("is not a trusted folder"), "{list:?}");
    // Nor does what it holds get into a file that the repository keeps.
    let shown = home.show(&["import", "--scope", "project"]).ok().out;
    assert!(
        shown.contains("would be written into a file of the repository"),
        "{shown}"
    );
    assert!(!home.read("home/repo/.mcp.json").contains("KEY"));
}

/// A client's file in the home that is really one of the repository's is the repository's.
#[test]
fn a_file_that_leads_into_the_project_is_the_projects() {
    let home = World::repository();
    let brought = json!({"mcpServers": {"k": {"command": "false"}}});
    home.write("home/repo/dot/settings/mcp.json", brought.to_string());
    std::os::unix::fs::symlink("repo/dot", home.path("home/.kiro")).unwrap();
    home.show(&["import", "kiro"]).ok();
    let kept = settings(&home);
    assert!(kept.get("mcpServers").is_none(), "{kept}");
    let list = home.show(&["list", "--json"]).json();
    assert_eq!(list[0]["state"], "pending-approval", "{list}");
}
