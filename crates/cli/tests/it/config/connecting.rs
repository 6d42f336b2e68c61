//! `connect` and `disconnect` with the real program: what is in each client's file
//! before, between and after.

use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};
use switchboard_testkit::world::World;

/// A client: its name, its file, and a text of it with a server called `own`. Each is
/// written as its users do, comments and odd spacing included.
struct Case(&'static str, &'static str, &'static str);

const JSON: &str = "{\n  \"mcpServers\": {\n    \"own\":   {\"command\": \"x\", \"args\": [\"1\"]}\n  },\n  \"zz\": [1,2]\n}";
const COMMENTS: &str = "// mine\n{\n\t\"theme\": \"dark\", // why\n\t\"mcpServers\": {\n\t\t/* first */\n\t\t\"own\": {\"command\": \"x\", \"args\": [\"1\"]},\n\t},\n}\n";
const CODE: &str = "{\n\t\"servers\": {\n\t\t\"own\": {\"type\": \"stdio\", \"command\": \"x\", \"args\": [\"1\"]} // here\n\t},\n\t\"inputs\": []\n}\n";

const CASES: [Case; 25] = [
    Case(
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        "{\"mcpServers\":{\"own\":{\"command\":\"x\",\"args\":[\"1\"]}},\"globalShortcut\":\"\"}",
    ),
    Case(
        "claude-code",
        ".claude.json",
        "{\n  \"numStartups\": 5,\n  \"mcpServers\": {\n    \"own\": {\n      \"type\": \"stdio\",\n      \"command\": \"x\",\n      \"args\": [\n        \"1\"\n      ],\n      \"env\": {}\n    }\n  },\n  \"projects\": {\"/p\": {\"mcpServers\": {\"local\": {\"command\": \"l\"}}}}\n}",
    ),
    Case("cursor", ".cursor/mcp.json", JSON),
    Case("vscode", ".config/Code/User/mcp.json", CODE),
    Case(
        "vscode-insiders",
        ".config/Code - Insiders/User/mcp.json",
        CODE,
    ),
    Case("vscodium", ".config/VSCodium/User/mcp.json", CODE),
    Case(
        "codex",
        ".codex/config.toml",
        "# mine\nmodel = \"m\" # why\n\n[mcp_servers.own]\ncommand = \"x\"\nargs = [\n  \"1\", # one\n]\n\n# about projects\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n",
    ),
    Case("windsurf", ".codeium/windsurf/mcp_config.json", JSON),
    Case(
        "zed",
        ".config/zed/settings.json",
        "// Zed settings\n{\n  \"context_servers\": {\n    \"own\": {\"source\": \"custom\", \"command\": \"x\", \"args\": [\"1\"], \"enabled\": true}\n  },\n  \"theme\": \"One\",\n}\n",
    ),
    Case(
        "goose",
        ".config/goose/config.yaml",
        "GOOSE_MODEL: m\nextensions:\n  # mine\n  own:\n    enabled: true\n    type: stdio\n    name: own\n    description: 'It is: mine'\n    cmd: x\n    args:\n    - '1'\n  developer: {enabled: true, type: builtin, name: developer}\n\n# end\nGOOSE_PROVIDER: p\n",
    ),
    Case("gemini", ".gemini/settings.json", COMMENTS),
    Case("qwen", ".qwen/settings.json", JSON),
    Case(
        "opencode",
        ".config/opencode/opencode.jsonc",
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  // mine\n  \"mcp\": {\n    \"own\": {\"type\": \"local\", \"command\": [\"x\", \"1\"]},\n  },\n}\n",
    ),
    Case(
        "cline",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        "{\n  \"mcpServers\": {\n    \"own\": {\"autoApprove\": [], \"disabled\": false, \"timeout\": 60, \"type\": \"stdio\", \"command\": \"x\", \"args\": [\"1\"]}\n  }\n}\n",
    ),
    Case(
        "cline-cli",
        ".cline/data/settings/cline_mcp_settings.json",
        JSON,
    ),
    Case(
        "roo",
        ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        JSON,
    ),
    Case(
        "continue",
        ".continue/config.yaml",
        "name: Local Config\nversion: 1.0.0\nschema: v1\nmodels: []\nmcpServers:\n  # mine\n  - name: own\n    command: x\n    args: [\"1\"]\n\nrules:\n  - be short\n",
    ),
    Case(
        "copilot-cli",
        ".copilot/mcp-config.json",
        "{\n  \"mcpServers\": {\n    \"own\": {\"type\": \"local\", \"command\": \"x\", \"args\": [\"1\"], \"tools\": [\"*\"]}\n  }\n}\n",
    ),
    Case(
        "copilot-jetbrains",
        ".config/github-copilot/intellij/mcp.json",
        CODE,
    ),
    Case("kiro", ".kiro/settings/mcp.json", JSON),
    Case("junie", ".junie/mcp/mcp.json", JSON),
    Case("warp", ".warp/.mcp.json", JSON),
    Case("lm-studio", ".lmstudio/mcp.json", JSON),
    Case(
        "amp",
        ".config/amp/settings.json",
        "{\n  \"amp.mcpServers\": {\"own\": {\"command\": \"x\", \"args\": [\"1\"]}},\n  \"amp.tools.disable\": []\n}\n",
    ),
    Case("mcporter", ".mcporter/mcporter.json", JSON),
];

impl Case {
    fn file(&self) -> String {
        format!("home/{}", self.1)
    }
}

fn settings(home: &World) -> Value {
    let text = fs::read_to_string(home.settings()).unwrap_or_else(|_| "{}".to_owned());
    serde_json::from_str(&text).unwrap()
}

fn rights(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

/// All files but those of our own.
fn files(home: &World) -> Vec<(PathBuf, Vec<u8>)> {
    let all = home.everything().into_iter();
    let ours = |path: &Path| {
        path.components()
            .any(|part| part.as_os_str() == "switchboard")
    };
    let all = all.filter(|(path, _)| path.is_file() && !ours(path));
    all.collect()
}

fn records(home: &World) -> usize {
    let folder = home.path("home/.local/state/switchboard/connected");
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// What a client has, as `import` reads it: names with whether they are on.
fn has(home: &World, client: &str) -> Vec<(String, bool)> {
    let rows = home
        .show(&["import", client, "--dry-run", "--json"])
        .ok()
        .json();
    let rows = rows.as_array().unwrap().iter();
    let one = |row: &Value| {
        let name = row["name"].as_str().unwrap().to_owned();
        (name, row["entry"]["disabled"] != true)
    };
    rows.map(one).collect()
}

#[test]
fn each_client_is_connected_and_left_as_it_was() {
    let home = World::repository();
    for case in &CASES {
        let file = home.write(case.file(), case.2);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    }
    let before = files(&home);
    for case in &CASES {
        let Case(client, _, text) = case;
        let row = &home
            .show(&["connect", client, "--yes", "--json"])
            .ok()
            .json()[0];
        assert_eq!(row["outcome"], "written", "{row}");
        assert_eq!(row["file"], format!("/{}", case.file()));
        let written = home.read(case.file());
        assert!(
            written.contains(env!("CARGO_BIN_EXE_switchboard")),
            "{written}"
        );
        assert!(written.contains("--gateway"), "{written}");
        let own = ("own".to_owned(), true);
        let ours = ("switchboard".to_owned(), true);
        let servers = has(&home, client);
        assert!(
            servers.contains(&own) && servers.contains(&ours),
            "{client}: {servers:?}"
        );
        // Again: nothing changes.
        let row = &home
            .show(&["connect", client, "--yes", "--json"])
            .ok()
            .json()[0];
        assert_eq!(row["outcome"], "unchanged", "{row}");
        assert_eq!(home.read(case.file()), written);
        let record = home.path(format!(
            "home/.local/state/switchboard/connected/{client}.json"
        ));
        assert_eq!(rights(&record), 0o600);
        let row = &home
            .show(&["disconnect", client, "--yes", "--json"])
            .ok()
            .json()[0];
        assert_eq!(row["outcome"], "disconnected", "{row}");
        assert_eq!(row["files"][0]["exact"], true, "{row}");
        assert_eq!(home.read(case.file()), **text, "{client}");
        assert_eq!(rights(&home.path(case.file())), 0o640, "{client}");
    }
    assert_eq!(files(&home), before);
}

/// Where there was nothing, nothing stays: no file, and no folder of ours.
#[test]
fn a_client_without_a_file_gets_one_and_loses_it() {
    let home = World::repository();
    let before = files(&home);
    let names: Vec<&str> = CASES.iter().map(|case| case.0).collect();
    home.show(&[&["connect"], names.as_slice(), &["--yes"]].concat())
        .ok();
    let rows = home.show(&["connect", "--json"]).ok().json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), CASES.len(), "{rows:?}");
    for row in rows {
        assert_eq!(row["state"], "connected", "{row}");
        assert_eq!(row["servers"], json!([]), "{row}");
    }
    // What a new file of Continue must have.
    assert!(
        home.read("home/.continue/config.yaml")
            .starts_with("name: ")
    );
    let ran = home.show(&["disconnect", "all", "--yes"]).ok();
    assert!(ran.out.contains("as it was before"), "{ran:?}");
    assert_eq!(files(&home), before);
    assert!(!home.path("home/.config").exists());
    assert_eq!(home.show(&["connect", "--json"]).ok().json(), json!([]));
    let not = home.show(&["disconnect", "cursor", "--yes"]).ok();
    assert!(not.out.contains("Cursor is not connected."), "{not:?}");
}

#[test]
fn servers_are_taken_over_and_given_back() {
    for case in &CASES {
        let Case(client, _, text) = case;
        let home = World::repository();
        home.write(case.file(), text);
        let before = files(&home);
        let row = &home
            .show(&["connect", client, "--take-over", "--yes", "--json"])
            .ok()
            .json()[0];
        let own = row["servers"].as_array().unwrap().iter();
        let own: Vec<&Value> = own.filter(|server| server["name"] == "own").collect();
        assert_eq!(own.len(), 1, "{row}");
        assert_eq!(own[0]["stays"], Value::Null, "{row}");
        let here = &settings(&home)["mcpServers"]["own"];
        assert_eq!(
            (&here["command"], &here["args"]),
            (&json!("x"), &json!(["1"])),
            "{client}"
        );
        // It is off there, or gone.
        let there = has(&home, client);
        assert!(
            !there.contains(&("own".to_owned(), true)),
            "{client}: {there:?}"
        );
        let again = &home
            .show(&["connect", client, "--take-over", "--yes", "--json"])
            .ok()
            .json()[0];
        assert_eq!(again["outcome"], "unchanged", "{again}");
        home.show(&["disconnect", client, "--yes"]).ok();
        assert_eq!(home.read(case.file()), **text, "{client}");
        assert_eq!(settings(&home)["mcpServers"].as_object().unwrap().len(), 0);
        assert_eq!(records(&home), 0);
        assert_eq!(files(&home), before, "{client}");
    }
}

#[test]
fn what_is_not_taken_whole_stays_and_is_named() {
    let home = World::repository();
    home.configure(&json!({"same": {"type": "stdio", "command": "s"}, "other": {"type": "stdio", "command": "mine"}}));
    home.write(
        "home/.cursor/mcp.json",
        json!({"mcpServers": {
            "whole": {"command": "w"},
            "lost": {"command": "l", "zzNew": 1},
            "asks": {"command": "a", "env": {"K": "${input:key}"}},
            "same": {"command": "s"},
            "other": {"command": "theirs"},
            "off": {"command": "o", "disabled": true},
        }})
        .to_string(),
    );
    home.write(
        "home/repo/.cursor/mcp.json",
        r#"{"mcpServers": {"project": {"command": "p"}}}"#,
    );
    let project = home.read("home/repo/.cursor/mcp.json");
    let ran = home
        .show(&["connect", "cursor", "--take-over", "--yes"])
        .ok();
    for line in [
        "whole: taken over\n",
        "lost: stays: zzNew would be lost: it is not known\n",
        "asks: stays: set the variable",
        "same: taken over, it is here already\n",
        "other: stays: /home/.config/switchboard/settings.json has another server called \"other\"",
    ] {
        assert!(ran.out.contains(line), "{line}: {ran:?}");
    }
    let names: Vec<String> = has(&home, "cursor")
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        ["lost", "asks", "other", "off", "switchboard", "project"]
    );
    let here = settings(&home)["mcpServers"].clone();
    let names: Vec<&String> = here.as_object().unwrap().keys().collect();
    assert_eq!(names, ["same", "other", "whole"]);
    assert_eq!(here["other"]["command"], "mine");
    assert_eq!(home.read("home/repo/.cursor/mcp.json"), project);
    // What was the user's own before is still here afterwards.
    home.show(&["disconnect", "cursor", "--yes"]).ok();
    let here = settings(&home)["mcpServers"].clone();
    let names: Vec<&String> = here.as_object().unwrap().keys().collect();
    assert_eq!(names, ["same", "other"]);
}

/// One server that two clients had runs here once, until neither needs it.
#[test]
fn what_two_clients_gave_up_stays_until_both_have_it_again() {
    let home = World::repository();
    let text = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    for file in ["home/.cursor/mcp.json", "home/.junie/mcp/mcp.json"] {
        home.write(file, text);
    }
    home.show(&["connect", "cursor", "junie", "--take-over", "--yes"])
        .ok();
    assert_eq!(settings(&home)["mcpServers"].as_object().unwrap().len(), 1);
    let first = home.show(&["disconnect", "cursor", "--yes"]).ok();
    assert!(
        first.out.contains("taken over from JetBrains Junie too"),
        "{first:?}"
    );
    assert_eq!(settings(&home)["mcpServers"]["a"]["command"], "x");
    home.show(&["disconnect", "junie", "--yes"]).ok();
    assert_eq!(settings(&home)["mcpServers"], json!({}));
    for file in ["home/.cursor/mcp.json", "home/.junie/mcp/mcp.json"] {
        assert_eq!(home.read(file), text);
    }
    // One that was changed here meanwhile is the user's, and stays.
    home.show(&["connect", "cursor", "--take-over", "--yes"])
        .ok();
    home.configure(&json!({"a": {"type": "stdio", "command": "x", "timeout": 5}}));
    let ran = home.show(&["disconnect", "cursor", "--yes"]).ok();
    assert!(ran.out.contains("was changed here"), "{ran:?}");
    assert_eq!(settings(&home)["mcpServers"]["a"]["timeout"], 5);
    assert_eq!(home.read("home/.cursor/mcp.json"), text);
}

/// Whoever has written meanwhile keeps what they wrote.
#[test]
fn changes_of_others_are_kept() {
    for (client, file, text, from, to) in [
        (
            "gemini",
            "home/.gemini/settings.json",
            COMMENTS,
            "\"dark\"",
            "\"light\"",
        ),
        (
            "codex",
            "home/.codex/config.toml",
            CASES[6].2,
            "model = \"m\"",
            "model = \"other\"",
        ),
        (
            "goose",
            "home/.config/goose/config.yaml",
            CASES[9].2,
            "GOOSE_PROVIDER: p",
            "GOOSE_PROVIDER: q",
        ),
        (
            "continue",
            "home/.continue/config.yaml",
            CASES[16].2,
            "be short",
            "be long",
        ),
    ] {
        let home = World::repository();
        home.write(file, text);
        home.show(&["connect", client, "--take-over", "--yes"]).ok();
        let now = home.read(file);
        assert!(now.contains(from), "{now}");
        home.write(file, now.replace(from, to));
        let ran = home.show(&["disconnect", client, "--yes"]).ok();
        assert!(
            ran.out.contains("only our own changes are undone"),
            "{ran:?}"
        );
        assert_eq!(home.read(file), text.replace(from, to), "{client}");
        assert_eq!(records(&home), 0);
    }
}

/// Killed at any step of connecting: nothing is lost, and both going on and going back
/// lead where they should. The same for disconnecting.
#[test]
fn killed_at_every_step() {
    let case = &CASES[2];
    let connect = ["connect", "cursor", "--take-over", "--yes"];
    let disconnect = ["disconnect", "cursor", "--yes"];
    let killed = |home: &World, words: &[&str], step: usize| {
        use std::os::unix::process::ExitStatusExt;
        let mut command = home.command(words);
        let command = command.env("SWITCHBOARD_FAILPOINT", step.to_string());
        command.output().unwrap().status.signal() == Some(9)
    };
    // `own` is on in one of the two places, or in both.
    let runs = |home: &World, step: usize| {
        let there = home.read(case.file()).contains("\"own\"");
        let here = settings(home)["mcpServers"].get("own").is_some();
        assert!(there || here, "step {step}");
    };
    let mut steps = 0;
    for step in 1.. {
        let home = World::repository();
        home.write(case.file(), case.2);
        let was_killed = killed(&home, &connect, step);
        runs(&home, step);
        if step % 2 == 0 {
            home.show(&connect).ok();
            assert!(!home.read(case.file()).contains("\"own\""), "step {step}");
        }
        home.show(&disconnect).ok();
        assert_eq!(home.read(case.file()), case.2, "step {step}");
        let left = settings(&home)["mcpServers"].get("own").cloned();
        assert_eq!(left, None, "step {step}");
        if !was_killed {
            break;
        }
        steps += 1;
    }
    assert!(steps >= 30, "{steps}");
    let mut steps = 0;
    for step in 1.. {
        let home = World::repository();
        home.write(case.file(), case.2);
        home.show(&connect).ok();
        let was_killed = killed(&home, &disconnect, step);
        runs(&home, step);
        home.show(&disconnect).ok();
        assert_eq!(home.read(case.file()), case.2, "step {step}");
        assert_eq!(settings(&home)["mcpServers"], json!({}), "step {step}");
        assert_eq!(records(&home), 0);
        if !was_killed {
            break;
        }
        steps += 1;
    }
    assert!(steps >= 20, "{steps}");
}

#[test]
fn what_cannot_be_read_or_written_is_left_alone() {
    let home = World::repository();
    let file = "home/.cursor/mcp.json";
    for (text, problem) in [
        ("{ not json", "not JSON"),
        ("[]", "expected an object, found a list"),
        ("{\"mcpServers\": []}", "\"mcpServers\" must be an object"),
        (
            "{\"mcpServers\": {\"switchboard\": {\"command\": \"telephone\"}}}",
            "another server called \"switchboard\"",
        ),
    ] {
        home.write(file, text);
        let ran = home.show(&["connect", "cursor", "--yes"]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.err.contains(problem), "{problem}: {ran:?}");
        assert_eq!(home.read(file), text);
        assert_eq!(records(&home), 0);
    }
    // One that is not to be written, and one that others can write.
    for (mode, problem) in [
        (0o400, "read-only"),
        (0o666, "can be written by every user"),
    ] {
        let path = home.write(file, "{}");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let ran = home.show(&["connect", "cursor", "--yes"]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.err.contains(problem), "{ran:?}");
        assert_eq!(home.read(file), "{}");
        assert_eq!(records(&home), 0, "{problem}");
        fs::remove_file(path).unwrap();
    }
    // Somebody else's.
    if rustix::process::geteuid().is_root() {
        let path = home.write(file, "{}");
        std::os::unix::fs::chown(&path, Some(4242), None).unwrap();
        let ran = home.show(&["connect", "cursor", "--yes"]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.err.contains("belongs to another user"), "{ran:?}");
        fs::remove_file(path).unwrap();
    }
    // A link leads where it leads; one that leads nowhere is no place to write.
    home.write("home/dotfiles/mcp.json", "{}\n");
    symlink(home.path("home/dotfiles/mcp.json"), home.path(file)).unwrap();
    home.show(&["connect", "cursor", "--yes"]).ok();
    assert!(fs::symlink_metadata(home.path(file)).unwrap().is_symlink());
    assert!(home.read("home/dotfiles/mcp.json").contains("switchboard"));
    home.show(&["disconnect", "cursor", "--yes"]).ok();
    assert_eq!(home.read("home/dotfiles/mcp.json"), "{}\n");
    assert!(fs::symlink_metadata(home.path(file)).unwrap().is_symlink());
    fs::remove_file(home.path("home/dotfiles/mcp.json")).unwrap();
    let ran = home.show(&["connect", "cursor", "--yes"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("leads nowhere"), "{ran:?}");
}

/// Without a word nothing is written: a script says so, a person is asked.
#[test]
fn nothing_is_written_unasked() {
    let home = World::repository();
    for case in [&CASES[2], &CASES[6]] {
        home.write(case.file(), case.2);
    }
    let before = home.everything();
    let ran = home.show(&["connect"]).ok();
    assert!(
        ran.out.contains(
            "cursor             not connected  ~/.cursor/mcp.json, 1 server of its own\n"
        ),
        "{ran:?}"
    );
    let ran = home.show(&["connect", "cursor", "--dry-run"]).ok();
    assert!(
        ran.out.contains("+     \"switchboard\": {") && ran.out.contains("not written"),
        "{ran:?}"
    );
    assert!(ran.err.contains("--take-over"), "{ran:?}");
    for words in [&["connect", "all"][..], &["connect", "cursor", "--json"]] {
        let ran = home.show(words);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("nobody is here to be asked"), "{ran:?}");
    }
    assert_eq!(home.show(&["connect", "notepad"]).code, Some(2));
    assert_eq!(home.everything(), before);
    // On a terminal: which, whether to take over, and whether to write.
    let said = by_hand(&home, "connect", "codex\ny\ny\n");
    assert!(said.contains("written: ~/.codex/config.toml"), "{said}");
    assert_eq!(settings(&home)["mcpServers"]["own"]["command"], "x");
    assert!(
        home.read("home/.codex/config.toml")
            .contains("enabled = false")
    );
    let said = by_hand(&home, "connect cursor", "n\nn\n");
    assert!(said.contains("not written: ~/.cursor/mcp.json"), "{said}");
    assert_eq!(home.read(CASES[2].file()), CASES[2].2);
    let said = by_hand(&home, "disconnect codex", "y\n");
    assert!(said.contains("as it was before"), "{said}");
    assert_eq!(home.read("home/.codex/config.toml"), CASES[6].2);
}

/// What a terminal shows of a command that is given these answers.
fn by_hand(home: &World, words: &str, answers: &str) -> String {
    use std::io::Write;
    let mut command = home.on_terminal(60, 150, words);
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut running = command.spawn().unwrap();
    let mut stdin = running.stdin.take().unwrap();
    stdin.write_all(answers.as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    drop(stdin);
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}

/// `up --write` is the same: what it wrote can be taken back.
#[test]
fn an_entry_from_before_is_replaced_and_removed() {
    let home = World::repository();
    let old = "{\n  \"mcpServers\": {\n    \"switchboard\": {\"command\": \"/old/switchboard\", \"args\": [\"serve\"]}\n  }\n}\n";
    home.write("home/.cursor/mcp.json", old);
    let row = &home
        .show(&["connect", "cursor", "--yes", "--json"])
        .ok()
        .json()[0];
    assert_eq!(row["outcome"], "written", "{row}");
    let ran = home.show(&["disconnect", "cursor", "--yes"]).ok();
    assert_eq!(home.read("home/.cursor/mcp.json"), old);
    assert!(
        ran.out.contains("disconnect cursor once more removes it"),
        "{ran:?}"
    );
    home.show(&["disconnect", "cursor", "--yes"]).ok();
    assert!(!home.read("home/.cursor/mcp.json").contains("switchboard"));
    // Gemini's own list of what it starts counts on.
    home.write(
        "home/.gemini/settings.json",
        r#"{"mcp": {"allowed": ["a"]}}"#,
    );
    let ran = home.show(&["connect", "gemini", "--yes"]).ok();
    assert!(
        ran.out
            .contains("Gemini CLI has it switched off all the same: mcp.allowed"),
        "{ran:?}"
    );
    // OpenCode has two forms of the same object.
    home.write(
        "home/.config/opencode/opencode.json",
        r#"{"mcp": {"servers": {"own": {"type": "local", "command": ["x"]}}}}"#,
    );
    home.show(&["connect", "opencode", "--yes"]).ok();
    let written: Value =
        serde_json::from_str(&home.read("home/.config/opencode/opencode.json")).unwrap();
    assert_eq!(written["mcp"]["servers"]["switchboard"]["type"], "local");
}

/// A client in two editors is two clients, and each of them gets our entry. What lies in
/// a file that does not is not taken over.
#[test]
fn each_installation_is_connected() {
    let home = World::repository();
    let of = |editor: &str| {
        format!(
            "home/.config/{editor}/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
        )
    };
    for editor in ["Code", "Cursor"] {
        home.write(of(editor), JSON);
    }
    home.show(&["connect", "cline", "--take-over", "--yes"])
        .ok();
    for editor in ["Code", "Cursor"] {
        let text = home.read(of(editor));
        assert!(
            text.contains("--gateway") && text.contains("\"disabled\": true"),
            "{text}"
        );
    }
    home.show(&["disconnect", "cline", "--yes"]).ok();
    for editor in ["Code", "Cursor"] {
        assert_eq!(home.read(of(editor)), JSON);
    }
    let profile = "home/.config/Code/User/profiles/p/mcp.json";
    home.write(profile, CODE);
    let ran = home
        .show(&["connect", "vscode", "--take-over", "--yes"])
        .ok();
    assert!(
        ran.out
            .contains("own: stays: it is in ~/.config/Code/User/profiles/p/mcp.json"),
        "{ran:?}"
    );
    assert_eq!(home.read(profile), CODE);
    // All files of OpenCode count at once.
    for ending in ["json", "jsonc"] {
        let text =
            format!("{{\"mcp\": {{\"{ending}\": {{\"type\": \"local\", \"command\": [\"x\"]}}}}}}");
        home.write(format!("home/.config/opencode/opencode.{ending}"), text);
    }
    let row = &home
        .show(&["connect", "opencode", "--take-over", "--yes", "--json"])
        .ok()
        .json()[0];
    assert_eq!(row["changed"].as_array().unwrap().len(), 2, "{row}");
    assert!(
        home.read("home/.config/opencode/opencode.jsonc")
            .contains("\"enabled\": false")
    );
    home.show(&["disconnect", "opencode", "--yes"]).ok();
    assert!(
        !home
            .read("home/.config/opencode/opencode.jsonc")
            .contains("enabled")
    );
}
