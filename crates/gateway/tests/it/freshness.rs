//! How long lists are good for: what servers say of theirs is heeded, and what
//! clients are told of all of them together is no better than the worst.

use crate::support::served::Served;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};
use switchboard_testkit::record;
use switchboard_testkit::world::{Client, command, servers};

/// A server that says this of its tools, and records what it is asked.
fn saying(folder: &Path, name: &str, said: Option<(u64, &str)>) -> (Value, PathBuf) {
    let (script, record) = (folder.join(format!("{name}.script")), folder.join(name));
    let mut tools = json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
    let mut era = "legacy";
    if let Some((ttl, scope)) = said {
        tools["resultType"] = "complete".into();
        tools["ttlMs"] = ttl.into();
        tools["cacheScope"] = scope.into();
        era = "modern";
    }
    let line = json!({"method": "tools/list", "reply": tools.to_string()});
    let mut lines = vec![line.to_string()];
    if era == "legacy" {
        let hello = json!({"protocolVersion": "2025-11-25", "serverInfo": {"name": "r", "version": "1"},
            "capabilities": {"tools": {"listChanged": name == "tells"}}});
        lines.push(json!({"method": "initialize", "reply": hello.to_string()}).to_string());
    }
    fs::write(&script, lines.join("\n")).unwrap();
    let args = [
        "--stdio",
        "--era",
        era,
        "--script",
        script.to_str().unwrap(),
        "--record",
        record.to_str().unwrap(),
    ];
    (command("recorder", args), record)
}

/// How often a server was asked for its tools.
fn asked(record: &Path) -> usize {
    let messages = record::read(record).unwrap_or_default();
    let parsed = messages
        .iter()
        .filter_map(|raw| serde_json::from_slice::<Value>(raw).ok());
    parsed
        .filter(|message| message["method"] == "tools/list")
        .count()
}

#[tokio::test]
async fn a_list_is_asked_for_anew_when_its_time_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let (long, of_long) = saying(folder.path(), "long", Some((3_600_000, "public")));
    let (none, of_none) = saying(folder.path(), "none", Some((0, "private")));
    let (tells, of_tells) = saying(folder.path(), "tells", None);
    let gateway = Served::start(&servers([("long", long), ("none", none), ("tells", tells)])).await;
    let mut client = Client::new(&gateway, "/mcp", true).await;
    for _ in 0..4 {
        assert_eq!(client.list("tools/list", "tools", "name").await.len(), 3);
    }
    // Once when it was met, and then for each list that has to be true.
    assert_eq!(asked(&of_long), 1);
    assert_eq!(asked(&of_tells), 1);
    let before = asked(&of_none);
    assert!((4..=5).contains(&before), "{before}");
    // A call needs no list that is younger than its server allows.
    for _ in 0..3 {
        client.try_call("none__t", json!({})).await;
    }
    assert_eq!(asked(&of_none), before);
}

#[tokio::test]
async fn the_merged_list_is_as_good_as_its_worst_part() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, said| saying(folder.path(), name, said).0;
    let (long, short) = (
        make("long", Some((3_600_000, "public"))),
        make("short", Some((60_000, "public"))),
    );
    let private = make("private", Some((3_600_000, "private")));
    let (tells, silent) = (make("tells", None), make("silent", None));
    let broken = json!({"command": "/nowhere/at-all"});
    for (entries, ttl, scope) in [
        (vec![("long", &long)], 3_500_000..=3_600_000, "public"),
        (
            vec![("long", &long), ("short", &short)],
            50_000..=60_000,
            "public",
        ),
        (
            vec![("long", &long), ("private", &private)],
            3_500_000..=3_600_000,
            "private",
        ),
        (
            vec![("long", &long), ("tells", &tells)],
            3_500_000..=3_600_000,
            "private",
        ),
        (vec![("tells", &tells)], 300_000..=300_000, "private"),
        (vec![("long", &long), ("silent", &silent)], 0..=0, "private"),
        (vec![("long", &long), ("broken", &broken)], 0..=0, "private"),
    ] {
        let names: Vec<&str> = entries.iter().map(|(name, _)| *name).collect();
        let all: serde_json::Map<String, Value> = entries
            .iter()
            .map(|(name, entry)| ((*name).to_owned(), (*entry).clone()))
            .collect();
        let gateway = Served::start(&Value::Object(all)).await;
        let mut client = Client::new(&gateway, "/mcp", true).await;
        let said = client.result("tools/list", json!({})).await;
        assert!(
            ttl.contains(&said["ttlMs"].as_u64().unwrap()),
            "{names:?}: {said}"
        );
        assert_eq!(said["cacheScope"], scope, "{names:?}");
    }
}

/// Fault 38: however often a server says that its list has changed, it is asked
/// when somebody wants to know, and once.
#[tokio::test]
async fn row_38_two_hundred_changes_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let (entry, record) = saying(folder.path(), "tells", None);
    let script = folder.path().join("tells.script");
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let call =
        json!({"method": "tools/call", "before": vec![changed; 200], "reply": r#"{"content":[]}"#});
    let lines = fs::read_to_string(&script).unwrap();
    fs::write(&script, format!("{lines}\n{call}")).unwrap();
    let gateway = Served::start(&servers([("tells", entry)])).await;
    let mut client = Client::new(&gateway, "/mcp", false).await;
    client.list("tools/list", "tools", "name").await;
    let before = asked(&record);
    assert_eq!(before, 1);
    client.try_call("tells__t", json!({})).await;
    for _ in 0..3 {
        client.list("tools/list", "tools", "name").await;
    }
    let after = asked(&record) - before;
    assert!((1..=2).contains(&after), "asked {after} times");
}
