//! The official inspector's command line in front of our built-in servers: to
//! it they are servers like any other.

use serde_json::Value;
use std::{path::Path, process::Command};
use switchboard_testkit::world::switchboard;

/// What the inspector prints for one method of a server that it starts.
fn inspect(server: &[&str], method: &[&str]) -> Value {
    inspect_at(
        &[&[env!("CARGO_BIN_EXE_switchboard")], server].concat(),
        method,
    )
}

/// The same for a server that runs, or a command.
fn inspect_at(target: &[&str], method: &[&str]) -> Value {
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
        .args(target)
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

/// Each of them: its tools are listed, and one is called.
#[test]
fn every_server() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let say = r#"{"name": "say", "description": "Says it.", "command": ["echo", "said so"]}"#;
    std::fs::write(folder.path().join("say.tool.json"), say).unwrap();
    let run = "command=echo $((6 * 7))";
    for (server, tool, argument, word) in [
        (
            &["shell", "--enable-shell", "--root", root][..],
            "runShellCommand",
            Some(run),
            "42",
        ),
        (&["system"], "health", None, "ok"),
        (
            &["memory", "--data", root],
            "remember",
            Some("text=the moon"),
            "moon",
        ),
        (&["tools", "--folder", root], "say", None, "said so"),
    ] {
        let server = [&["builtin"], server].concat();
        let tools = inspect(&server, &["--method", "tools/list"]);
        assert!(tools.to_string().contains(tool), "{server:?}: {tools}");
        let mut call = vec!["--method", "tools/call", "--tool-name", tool];
        call.extend(
            argument
                .into_iter()
                .flat_map(|argument| ["--tool-arg", argument]),
        );
        let result = inspect(&server, &call);
        assert!(result.to_string().contains(word), "{server:?}: {result}");
        assert_ne!(result["isError"], true, "{server:?}: {result}");
    }
}

/// What it has to say about schemas that not every client can read: nothing.
#[test]
fn every_schema_is_portable() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    for server in [
        &["files", "--root", root][..],
        &["shell", "--enable-shell", "--root", root],
        &["system"],
        &["memory", "--data", root],
    ] {
        let node = installed("SWITCHBOARD_TEST_NODE");
        let output = Command::new(&node)
            .arg(installed("SWITCHBOARD_TEST_INSPECTOR"))
            .args(["--cli", env!("CARGO_BIN_EXE_switchboard"), "builtin"])
            .args(server)
            .args(["--method", "tools/list", "--strict"])
            .env("HOME", root)
            .output()
            .expect("node runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{server:?}: {said}");
        assert!(!said.contains("Warning: tool"), "{server:?}: {said}");
    }
}

/// One that listens, with its token.
#[tokio::test]
async fn a_server_that_listens() {
    let program = switchboard()
        .args(["builtin", "system", "--http", "127.0.0.1:0"])
        .spawn();
    let url = format!("{}/mcp", program.url().await);
    let token = program
        .home()
        .join(".local/share/switchboard/tokens/default");
    let token = std::fs::read_to_string(token).unwrap();
    let header = format!("Authorization: Bearer {}", token.trim());
    let target = [url.as_str(), "--transport", "http", "--header", &header];
    let tools = inspect_at(&target, &["--method", "tools/list"]);
    assert!(tools.to_string().contains("\"health\""), "{tools}");
    let call = ["--method", "tools/call", "--tool-name", "health"];
    let result = inspect_at(&target, &call);
    assert!(result.to_string().contains("ok"), "{result}");
}
