//! The official inspector's command line in front of our built-in servers: to
//! it they are servers like any other.
#![allow(
    clippy::unwrap_used,
    reason = "this is test code; the lint knows only test functions"
)]

use serde_json::Value;
use std::{path::Path, process::Command};

/// What the inspector prints for one method.
fn inspect(server: &[&str], method: &[&str]) -> Value {
    let node = installed("SWITCHBOARD_TEST_NODE");
    let inspector = installed("SWITCHBOARD_TEST_INSPECTOR");
    let home = tempfile::tempdir().expect("a home");
    let folder = Path::new(&node)
        .parent()
        .expect("a folder")
        .display()
        .to_string();
    let mut command = Command::new(&node);
    command
        .arg(inspector)
        .arg("--cli")
        .arg(env!("CARGO_BIN_EXE_switchboard"))
        .args(server)
        .args(method)
        .env("HOME", home.path())
        .env("PATH", format!("{folder}:/usr/bin:/bin"));
    let output = command.output().expect("node runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = serde_json::from_str(&text);
    value.unwrap_or_else(|error| panic!("{method:?}: {error}: {output:?}"))
}

fn installed(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: `cargo xtask test` sets it"))
}

#[test]
fn the_files_server() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("poem.txt"), "so much depends upon\n").unwrap();
    let root = folder.path().to_str().unwrap();
    let server = ["builtin", "files", "--root", root];
    let tools = inspect(&server, &["--method", "tools/list"]);
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 10, "{names:?}");
    let call = [
        "--method",
        "tools/call",
        "--tool-name",
        "read",
        "--tool-arg",
        "path=poem.txt",
    ];
    let read = inspect(&server, &call);
    assert!(
        read["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("so much depends"),
        "{read}"
    );
    let resources = inspect(&server, &["--method", "resources/list"]);
    assert!(
        resources["resources"].to_string().contains("poem.txt"),
        "{resources}"
    );
    let prompts = inspect(&server, &["--method", "prompts/list"]);
    assert!(prompts["prompts"].is_array(), "{prompts}");
}
