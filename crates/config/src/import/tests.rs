use super::*;
use serde_json::json;
use std::fs;

mod corpus;

/// A home with one file of a client.
fn home_with(path: &str, text: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), path, text);
    home
}

fn write(home: &Path, path: &str, text: &str) {
    let file = home.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
}

fn client(word: &str) -> Client {
    Client::parse(word).unwrap()
}

fn found_in(word: &str, home: &Path) -> Vec<Found> {
    let mut faults = Vec::new();
    let found = find(client(word), &Homes::at(home), &mut faults);
    assert!(faults.is_empty(), "{faults:?}");
    found
}

/// What became of a server, in few words.
fn summary(found: &Found) -> Value {
    let mut translated = Map::new();
    let mut lost = Map::new();
    for field in &found.fields {
        match &field.became {
            Became::Taken => {}
            Became::Translated(to) => {
                translated.insert(field.name.clone(), to.clone().into());
            }
            Became::Lost(why) => {
                lost.insert(field.name.clone(), why.clone().into());
            }
        }
    }
    let mut summary = json!({"entry": found.entry});
    for (key, map) in [("translated", translated), ("lost", lost)] {
        if !map.is_empty() {
            summary[key] = Value::Object(map);
        }
    }
    if let Some(why) = &found.left_out {
        summary["left_out"] = why.clone().into();
    }
    if !found.notes.is_empty() {
        summary["notes"] = found.notes.clone().into();
    }
    summary
}

/// A file of each client with every field that it documents, and what becomes of it.
#[test]
fn every_field_of_every_client_is_accounted_for() {
    let mut seen = std::collections::HashSet::new();
    for case in corpus::cases() {
        seen.insert(case.client);
        let home = home_with(case.path, case.text);
        let found = found_in(case.client, home.path());
        let whole: Map<String, Value> = found
            .iter()
            .map(|found| (found.name.clone(), summary(found)))
            .collect();
        assert_eq!(Value::Object(whole), case.expected, "{}", case.client);
        for found in &found {
            // As many accounts as fields: none is silent.
            let parsed = parse(case.text, &found.file).unwrap();
            let file = client(case.client).files(&Homes::at(home.path()));
            let file = file.iter().find(|file| file.path == found.file).unwrap();
            let there = match listed(&parsed, file.key).unwrap() {
                Value::Array(items) => items
                    .iter()
                    .find(|item| item["name"] == found.written_name.as_str())
                    .unwrap()
                    .clone(),
                object => object[&found.written_name].clone(),
            };
            for key in there.as_object().unwrap().keys() {
                let accounts = found.fields.iter().filter(|field| field.name == *key);
                assert_eq!(accounts.count(), 1, "{} {key}", case.client);
            }
            if found.left_out.is_some() {
                continue;
            }
            // What comes out is an entry that we can read, and knows all keys of.
            let whole = json!({"mcpServers": {"a": found.entry}}).to_string();
            let entries = read(&whole, &Source::Ours, crate::Scope::User).unwrap();
            assert!(entries[0].faults.is_empty(), "{:?}", entries[0].faults);
            assert!(entries[0].unknown.is_empty(), "{:?}", entries[0].unknown);
        }
    }
    for client in Client::all() {
        assert!(seen.contains(client.as_str()), "no file of {client:?}");
    }
}

/// A field that nobody knows is named as lost, whoever's it is.
#[test]
fn a_field_that_nobody_knows_is_named_as_lost() {
    for case in corpus::cases() {
        let more = match Format::of(Path::new(case.path)) {
            Format::Json => case.text.replacen("/*+*/", "\"zzNew\": {\"a\": [1]}, ", 1),
            Format::Toml => case.text.replacen("#+", "zzNew = [1]", 1),
            Format::Yaml => case.text.replacen("#+", "zzNew: [1]", 1),
        };
        assert_ne!(more, case.text, "{}", case.client);
        let home = home_with(case.path, &more);
        let found = found_in(case.client, home.path());
        let lost = found.iter().flat_map(|found| &found.fields);
        let lost: Vec<&Field> = lost.filter(|field| field.name == "zzNew").collect();
        let expected = Became::Lost("it is not known".to_owned());
        assert_eq!(lost.len(), 1, "{}", case.client);
        assert_eq!(lost[0].became, expected, "{}", case.client);
        assert!(found.iter().all(|found| found.entry.get("zzNew").is_none()));
    }
}

#[test]
fn names_become_ours_and_bad_files_are_named() {
    let home = home_with(
        ".claude.json",
        r#"{"mcpServers": {"My Server!": {"command": "x"}}}"#,
    );
    write(home.path(), ".codex/config.toml", "a = 1\nb = = 2\n");
    let found = found_in("claude-code", home.path());
    assert_eq!(
        (found[0].name.as_str(), &found[0].notes[..]),
        (
            "My-Server",
            &["it was called \"My Server!\"".to_owned()][..]
        )
    );
    let mut faults = Vec::new();
    assert!(find(client("codex"), &Homes::at(home.path()), &mut faults).is_empty());
    assert!(
        faults[0]
            .to_string()
            .contains(".codex/config.toml:2: not TOML"),
        "{}",
        faults[0]
    );
}

/// What the client keeps off somewhere else stays off.
#[test]
fn what_is_off_elsewhere_stays_off() {
    let servers = r#""mcpServers": {"On": {"command": "x"}, "Off": {"command": "y"}}"#;
    let off = |found: &[Found]| -> Vec<bool> {
        found
            .iter()
            .map(|found| found.entry["disabled"] == true)
            .collect()
    };
    for more in [
        r#""mcp": {"excluded": ["Off"]}"#,
        r#""mcp": {"allowed": ["On"]}"#,
        r#""excludeMCPServers": ["Off"]"#,
        r#""allowMCPServers": ["On"]"#,
    ] {
        let text = format!("{{{servers}, {more}}}");
        for (word, path) in [
            ("gemini", ".gemini/settings.json"),
            ("qwen", ".qwen/settings.json"),
        ] {
            let home = home_with(path, &text);
            let found = found_in(word, home.path());
            assert_eq!(off(&found), [false, true], "{more}");
            assert_eq!(found[1].counts(), [1, 1, 0], "{more}");
        }
    }
    let home = home_with(".gemini/settings.json", &format!("{{{servers}}}"));
    write(
        home.path(),
        ".gemini/mcp-server-enablement.json",
        r#"{"off": {"enabled": false}}"#,
    );
    assert_eq!(off(&found_in("gemini", home.path())), [false, true]);
    let home = home_with(
        ".config/opencode/opencode.json",
        r#"{"mcp": {"a": {"type": "local", "command": ["x"]}, "b c": {"type": "local", "command": ["y"]}},
            "tools": {"a_danger": false, "a_fine": true, "b_c_*": false, "bash": false}}"#,
    );
    let found = found_in("opencode", home.path());
    assert_eq!(off(&found), [false, true]);
    assert_eq!(found[0].entry["tools"], json!({"deny": ["danger"]}));
}

/// OpenCode has two forms, and two files.
#[test]
fn both_forms_of_opencode_are_read() {
    for path in [
        ".config/opencode/opencode.json",
        ".config/opencode/opencode.jsonc",
    ] {
        let text = r#"{ // of mine
            "mcp": {"servers": {"a": {"type": "remote", "url": "https://x"}}}}"#;
        let home = home_with(path, text);
        let found = found_in("opencode", home.path());
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].entry, json!({"type": "http", "url": "https://x"}));
        // A server that is called so is a server.
        let home = home_with(
            path,
            r#"{"mcp": {"servers": {"type": "local", "command": ["x"]}}}"#,
        );
        assert_eq!(found_in("opencode", home.path())[0].name, "servers");
    }
}

/// A project's files are told apart, and a file of variables in one is read now.
#[test]
fn files_of_a_project_are_marked() {
    let home = tempfile::tempdir().unwrap();
    let repo = home.path().join("repo");
    write(
        home.path(),
        "repo/.vscode/mcp.json",
        r#"{"servers": {"a": {"command": "x", "env": {"K": "mine"}, "envFile": "${workspaceFolder}/.env"},
            "b": {"command": "y", "envFile": "gone.env"}}}"#,
    );
    write(home.path(), "repo/.env", "K=theirs\nT='to ken'\n");
    let homes = Homes::at(home.path()).in_project(&repo);
    let found = find(client("vscode"), &homes, &mut Vec::new());
    assert!(found.iter().all(|found| found.workspace));
    assert_eq!(
        found[0].entry,
        json!({"type": "stdio", "command": "x", "env": {"K": "mine", "T": "to ken"}})
    );
    let lost = &found[1].fields[1].became;
    assert!(
        matches!(lost, Became::Lost(why) if why.starts_with("gone.env: cannot be read")),
        "{lost:?}"
    );
}
