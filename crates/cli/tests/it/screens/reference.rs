//! `docs/reference` is what the program and its sources say. `cargo xtask docs`
//! writes it; this says when that was forgotten.

mod pages;
mod scan;

use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use switchboard::config::{BuiltinOptions, WorkerOptions};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn schema() -> Value {
    let file = root().join("docs/reference/settings.schema.json");
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn every_page_is_up_to_date() {
    let write = std::env::var_os("SWITCHBOARD_WRITE_DOCS").is_some();
    let folder = root().join("docs/reference");
    for (name, text) in pages::all(&root(), &schema()) {
        let file = folder.join(name);
        if write {
            fs::write(&file, &text).unwrap();
        }
        let there = fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(
            there, text,
            "docs/reference/{name} is stale: run cargo xtask docs"
        );
    }
}

/// The schema knows every field that the program reads, and no other.
#[test]
fn the_schema_is_complete() {
    let config = root().join("crates/config/src");
    let fields = scan::arms(&config.join("read/fields.rs"), "match key {");
    let own = BuiltinOptions::KEYS.map(String::from);
    let workers = WorkerOptions::KEYS.map(String::from);
    let read: BTreeSet<String> = fields.into_iter().chain(own).chain(workers).collect();
    let schema = schema();
    let known = pages::keys(&schema["$defs"]["server"]["properties"]);
    assert_eq!(known, read);
    let mut top = pages::keys(&schema["properties"]);
    top.extend(pages::keys(&schema["$defs"]["project"]["properties"]));
    top.extend(pages::keys(&schema["$defs"]["permissions"]["properties"]));
    top.extend(pages::keys(&schema["$defs"]["observe"]["properties"]));
    // How names are written is no name.
    let is_key = |word: &str| {
        word.chars().skip(1).any(char::is_uppercase) && word.is_ascii() && word != "camelCase"
    };
    for file in [
        "settings.rs",
        "settings/permissions.rs",
        "settings/observe.rs",
    ] {
        let settings = fs::read_to_string(config.join(file)).unwrap();
        let settings = settings.split("#[cfg(test)]").next().unwrap();
        // The word for how names are written is none of them.
        for key in scan::quoted(settings, |word| is_key(word) && word != "camelCase") {
            assert!(top.contains(&key), "{key} ({file}) is not in the schema");
        }
    }
}

#[test]
fn the_schema_takes_what_the_program_takes() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let entry = |entry: Value| json!({"mcpServers": {"a": entry}});
    for good in [
        json!({}),
        entry(json!({"command": "x", "args": ["y"], "env": {"A": "${B:-c}"}})),
        entry(json!({"url": "https://x/mcp", "headers": {"A": "b"}, "tls": {"ca": "f"}})),
        entry(json!({"type": "builtin", "builtin": "files", "roots": ["."], "readOnly": true})),
        json!({"projects": {"/p": {"disabledMcpServers": ["a"]}}, "deniedMcpServers": [{"serverName": "x"}]}),
    ] {
        assert!(validator.is_valid(&good), "{good}");
    }
    for bad in [
        entry(json!({"command": ["x"]})),
        entry(json!({"type": "tcp"})),
        entry(json!({"timeout": 0})),
        entry(json!({"tools": {"permit": []}})),
        json!({"deniedMcpServers": ["x"]}),
    ] {
        assert!(!validator.is_valid(&bad), "{bad}");
    }
}

/// Every variable that the program looks up is in the table, and no other.
#[test]
fn every_environment_variable_is_listed() {
    let found = scan::variables(&root());
    let listed: BTreeSet<String> = pages::VARIABLES
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(
        missing.is_empty(),
        "not in the table of crates/cli/tests/it/screens/reference/pages.rs: {missing:?}"
    );
}
