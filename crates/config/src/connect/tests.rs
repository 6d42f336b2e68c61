use super::*;
use crate::clients::Homes;
use serde_json::json;
use std::fs;

fn client(name: &str) -> Client {
    Client::parse(name).unwrap()
}

/// Every client reads back what would be written for it, and nothing of it is lost.
#[test]
fn each_client_understands_our_entry() {
    let dir = tempfile::tempdir().unwrap();
    let homes = Homes::at(dir.path());
    for client in Client::all() {
        let file = client.file(&homes);
        let mut change = Change::begin(client, &file).unwrap();
        let entry = client.entry(NAME, "/opt/switchboard", &["serve", "--gateway"]);
        change.put(NAME, entry.clone()).unwrap();
        let found = import::in_text(client, change.after(), &file, &homes);
        assert_eq!(found.len(), 1, "{client:?}: {}", change.after());
        let mut expected =
            json!({"type": "stdio", "command": "/opt/switchboard", "args": ["serve", "--gateway"]});
        // What goose lets a tool take.
        if client.as_str() == "goose" {
            expected["timeout"] = 300_000.into();
            expected["env"] = json!({});
        }
        assert_eq!(found[0].entry, expected, "{client:?}");
        assert_eq!(found[0].written_name, NAME);
        assert_eq!(found[0].left_out, None);
        // A second time there is nothing to do.
        let before = change.steps.len();
        change.put(NAME, entry).unwrap();
        assert_eq!(change.steps.len(), before);
    }
}

/// What stays when others write: their changes, and the places of comments.
#[test]
fn only_our_own_steps_are_undone() {
    let dir = tempfile::tempdir().unwrap();
    let homes = Homes::at(dir.path());
    let cursor = client("cursor");
    let file = cursor.file(&homes);
    fs::create_dir_all(file.path.parent().unwrap()).unwrap();
    let before = "{\n  // mine\n  \"mcpServers\": {\n    // first\n    \"a\": {\"command\": \"x\"}, // why\n    \"b\": {\"command\": \"y\"}\n  }\n}\n";
    fs::write(&file.path, before).unwrap();
    let mut change = Change::begin(cursor, &file).unwrap();
    change.put(NAME, json!({"command": "/s"})).unwrap();
    change.take_off(cursor, "a").unwrap();
    let mut record = Record::default();
    record.add(&change).unwrap();
    change.write().unwrap();
    // Exactly, while nobody else has written.
    let undone = record.files[0].undone().unwrap();
    assert!(undone.exact && undone.after.as_deref() == Some(before));
    // Another program adds a server, and a field to ours.
    let theirs = change
        .after()
        .replace("\"b\": {", "\"new\": {\"command\": \"n\"},\n    \"b\": {");
    let theirs = theirs.replace("\"command\": \"/s\"", "\"command\": \"/s\", \"tools\": []");
    assert_ne!(theirs, change.after());
    fs::write(&file.path, &theirs).unwrap();
    let undone = record.files[0].undone().unwrap();
    assert!(!undone.exact);
    let servers = change.place.servers();
    let now = servers.value(undone.after.as_deref()).unwrap();
    assert_eq!(
        now,
        json!({"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "new": {"command": "n"}}})
    );
    undone.write(&record.files[0]).unwrap();
    // And once more there is nothing left to undo.
    let again = record.files[0].undone().unwrap();
    assert!(again.is_none(), "{again:?}");
}

/// A line of somebody else's next to ours: comments of what was taken come back too.
#[test]
fn comments_come_back_where_lines_still_fit() {
    let dir = tempfile::tempdir().unwrap();
    let homes = Homes::at(dir.path());
    let goose = client("goose");
    let file = goose.file(&homes);
    fs::create_dir_all(file.path.parent().unwrap()).unwrap();
    let before = "extensions:\n  a:\n    enabled: true # why\n    type: stdio\n    cmd: x\n\n# last\nmodel: m\n";
    fs::write(&file.path, before).unwrap();
    let mut change = Change::begin(goose, &file).unwrap();
    change.put(NAME, goose.entry(NAME, "/s", &[])).unwrap();
    change.take_off(goose, "a").unwrap();
    let mut record = Record::default();
    record.add(&change).unwrap();
    let theirs = change.after().replace("model: m", "model: other");
    fs::write(&file.path, theirs).unwrap();
    let undone = record.files[0].undone().unwrap();
    assert_eq!(
        undone.after.unwrap(),
        before.replace("model: m", "model: other")
    );
}

#[test]
fn what_is_somebody_elses_by_now_stays() {
    let dir = tempfile::tempdir().unwrap();
    let homes = Homes::at(dir.path());
    let cursor = client("cursor");
    let file = cursor.file(&homes);
    let mut change = Change::begin(cursor, &file).unwrap();
    change.put(NAME, json!({"command": "/s"})).unwrap();
    let mut record = Record::default();
    record.add(&change).unwrap();
    change.write().unwrap();
    let other = "{\"mcpServers\": {\"switchboard\": {\"command\": \"another\"}}}";
    fs::write(&file.path, other).unwrap();
    let undone = record.files[0].undone().unwrap();
    assert!(undone.is_none() && undone.left.len() == 1, "{undone:?}");
    // Written by somebody between our look and our write: left alone.
    fs::write(&file.path, "{}").unwrap();
    let error = change.write().unwrap_err();
    assert!(matches!(error, EditError::Changed(_)), "{error}");
    assert_eq!(fs::read_to_string(&file.path).unwrap(), "{}");
}

/// A second connect adds to what the first did, also where others wrote in between.
#[test]
fn two_changes_are_one_way_back() {
    let dir = tempfile::tempdir().unwrap();
    let homes = Homes::at(dir.path());
    let codex = client("codex");
    let file = codex.file(&homes);
    fs::create_dir_all(file.path.parent().unwrap()).unwrap();
    let before = "# mine\n[mcp_servers.a]\ncommand = \"x\" # why\n";
    fs::write(&file.path, before).unwrap();
    let mut record = Record::default();
    let mut first = Change::begin(codex, &file).unwrap();
    first.put(NAME, json!({"command": "/s"})).unwrap();
    record.add(&first).unwrap();
    first.write().unwrap();
    let add = |text: &str| {
        let now = fs::read_to_string(&file.path).unwrap();
        fs::write(&file.path, format!("{text}{now}")).unwrap();
    };
    add("model = \"m\"\n");
    let mut second = Change::begin(codex, &file).unwrap();
    second.take_off(codex, "a").unwrap();
    record.add(&second).unwrap();
    second.write().unwrap();
    assert_eq!(record.files.len(), 1);
    let undone = record.files[0].undone().unwrap();
    assert!(undone.exact);
    assert_eq!(
        undone.after.unwrap().trim_end(),
        format!("model = \"m\"\n{before}").trim_end()
    );
}
