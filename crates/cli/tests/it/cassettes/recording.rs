//! What the tests here share: a server that somebody else wrote, a client that somebody else
//! wrote, and a cassette of the two.

use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use switchboard_testkit::world::{World, config, servers};

/// `cargo xtask test` installs what somebody else wrote and says where it is.
pub fn installed(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: `cargo xtask test` sets it"))
}

/// The command of `server-everything`.
pub fn server() -> Vec<String> {
    vec![
        installed("SWITCHBOARD_TEST_NODE"),
        installed("SWITCHBOARD_TEST_EVERYTHING"),
        "stdio".to_owned(),
    ]
}

/// What is asked of it: every feature that says the same each time.
pub fn script() -> Value {
    let call = |name: &str, arguments: Value| json!({"method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let ask = |method: &str, params: Value| json!({"method": method, "params": params});
    json!({
        "requests": [
            ask("tools/list", json!({})),
            ask("resources/list", json!({})),
            ask("resources/templates/list", json!({})),
            ask("prompts/list", json!({})),
            call("echo", json!({"message": "one"})),
            call("echo", json!({"message": "two"})),
            call("echo", json!({"message": 3})),
            call("get-sum", json!({"a": 2, "b": 40})),
            call("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
            call("get-tiny-image", json!({})),
            call("get-structured-content", json!({"location": "Chicago"})),
            call("get-resource-links", json!({"count": 3})),
            call("no-such-tool", json!({})),
            call("trigger-long-running-operation", json!({"duration": 1, "steps": 4})),
            call("trigger-elicitation-request", json!({})),
            call("trigger-sampling-request", json!({"prompt": "say it", "maxTokens": 10})),
            ask("resources/read", json!({"uri": "demo://resource/static/document/architecture.md"})),
            ask("resources/read", json!({"uri": "demo://nowhere/at/all"})),
            ask("prompts/get", json!({"name": "simple-prompt"})),
            ask("prompts/get", json!({"name": "args-prompt", "arguments": {"city": "Ghent"}})),
            ask("completion/complete", json!({
                "ref": {"type": "ref/prompt", "name": "completable-prompt"},
                "argument": {"name": "department", "value": "S"},
            })),
            ask("logging/setLevel", json!({"level": "error"})),
            ask("resources/subscribe", json!({"uri": "demo://resource/static/document/architecture.md"})),
            ask("resources/unsubscribe", json!({"uri": "demo://resource/static/document/architecture.md"})),
        ],
        "answers": {
            "elicitation/create": {"action": "accept", "content": {"name": "Ada", "check": true}},
            "sampling/createMessage": {
                "role": "assistant", "model": "none", "content": {"type": "text", "text": "It."},
            },
            "roots/list": {"roots": [{"uri": "file:///srv", "name": "srv"}]},
        },
    })
}

/// Runs the real client with this script in front of a server that it starts.
pub fn real_client(world: &World, script: &Value, command: &[String]) -> Value {
    let node = installed("SWITCHBOARD_TEST_NODE");
    let everything = installed("SWITCHBOARD_TEST_EVERYTHING");
    let sdk = Path::new(&everything)
        .ancestors()
        .find(|above| above.ends_with("@modelcontextprotocol"))
        .expect("it is a package")
        .join("sdk/dist/esm");
    let file = world.write("home/script.json", script.to_string());
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/cassettes/client.mjs");
    let output = Command::new(node)
        .arg(client)
        .arg(sdk)
        .arg(file)
        .args(command)
        .env_clear()
        .envs(world.environment())
        .current_dir(world.home())
        .output()
        .expect("node runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The words of our program's command line.
pub fn ours(args: &[&str]) -> Vec<String> {
    let mut words = vec![env!("CARGO_BIN_EXE_switchboard").to_owned()];
    words.extend(args.iter().map(ToString::to_string));
    words
}

/// The cassette that was recorded into a folder.
pub fn recorded_in(folder: &Path) -> PathBuf {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.pop().unwrap()
}

/// Has the real client tour the real server through a gateway that records it. Gives the
/// cassette, and what the client saw.
pub fn record(world: &World) -> (PathBuf, Value) {
    let words = server();
    let entry = json!({"command": words[0], "args": words[1..]});
    let folder = world.path("tapes");
    let folder_text = folder.display().to_string();
    let text = config(&servers([("everything", entry)]));
    let serve = ours(&[
        "--strict-mcp-config",
        "--mcp-config",
        &text,
        "serve",
        "--only",
        "everything",
        "--record",
        &folder_text,
    ]);
    let seen = real_client(world, &script(), &serve);
    (recorded_in(&folder), seen)
}

/// The lines of a cassette.
pub fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Writes lines as a cassette.
pub fn write(world: &World, path: &str, lines: &[Value]) -> PathBuf {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    world.write(path, text)
}
