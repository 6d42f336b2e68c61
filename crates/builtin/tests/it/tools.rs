//! Manifests as tools: programs, good and hostile. Fault 87.

use crate::common::{self, Client, is_alive, until};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};
use switchboard_builtin::Toolbox;
use tempfile::TempDir;

fn put(folder: &Path, file: &str, manifest: &Value) {
    // All at once, as an editor does.
    let beside = folder.join(format!(".{file}"));
    fs::write(&beside, manifest.to_string()).expect("written");
    fs::rename(beside, folder.join(file)).expect("renamed");
}

fn tool(name: &str, command: Value, properties: Value) -> Value {
    json!({
        "name": name, "description": "A test.", "command": command,
        "inputSchema": { "type": "object", "properties": properties },
    })
}

async fn connected(manifests: &[(&str, Value)]) -> (TempDir, Client) {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, manifest) in manifests {
        put(folder.path(), file, manifest);
    }
    let toolbox =
        Toolbox::open("1", folder.path(), common::workplace(folder.path())).expect("a toolbox");
    assert_eq!(toolbox.faults(), []);
    let client = Client::connect(toolbox.session()).await;
    (folder, client)
}

async fn text(client: &mut Client, tool: &str, arguments: Value) -> String {
    let result = client.raw_call(tool, arguments).await;
    assert_ne!(result["isError"], true, "{result}");
    result["content"][0]["text"]
        .as_str()
        .expect("text")
        .to_owned()
}

#[tokio::test]
async fn arguments_reach_the_program_as_they_are() {
    let string = json!({ "x": { "type": "string" }, "list": { "type": "array", "items": { "type": "string" } } });
    let show = json!(["printf", "--", "[%s]", "{x}", "--opt={x}", "{list}"]);
    let (folder, mut client) =
        connected(&[("show.tool.json", tool("show", show, string.clone()))]).await;
    let hostile = "a b\"'; touch owned $(touch owned) `touch owned` && *\n{list}";
    let said = text(
        &mut client,
        "show",
        json!({ "x": hostile, "list": ["1", "2 3"] }),
    )
    .await;
    assert_eq!(said, format!("[{hostile}][--opt={hostile}][1][2 3]"));
    assert!(!folder.path().join("owned").exists());
    assert_eq!(text(&mut client, "show", json!({})).await, "[]");
    let error = client.error("show", json!({ "x": "a\0b" })).await;
    assert!(error.contains("NUL"), "{error}");
    let fault = client.fail("show", json!({ "x": 5 })).await;
    assert!(fault.starts_with("Validation error"), "{fault}");

    put(
        folder.path(),
        "ls.tool.json",
        &tool("ls", json!(["ls", "{x}"]), string),
    );
    let error = client.error("ls", json!({ "x": "--help" })).await;
    assert!(error.contains("option"), "{error}");
}

#[tokio::test]
async fn json_in_and_out() {
    let mut manifest = tool(
        "sum",
        json!(["./sum.sh"]),
        json!({ "a": { "type": "number" } }),
    );
    manifest["stdin"] = "json".into();
    manifest["outputSchema"] = json!({
        "type": "object", "properties": { "got": { "type": "object" } }, "required": ["got"],
    });
    let mut wrong = manifest.clone();
    wrong["name"] = "wrong".into();
    wrong["command"] = json!(["echo", "{{}}"]);
    wrong["stdin"] = "none".into();
    let (folder, mut client) =
        connected(&[("sum.tool.json", manifest), ("wrong.tool.json", wrong)]).await;
    let script = folder.path().join("sum.sh");
    fs::write(&script, "#!/bin/sh\nprintf '{\"got\": '; cat; printf '}'\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let answer = client.call("sum", json!({ "a": 1.5, "b": "\u{1b}" })).await;
    assert_eq!(answer, json!({ "got": { "a": 1.5, "b": "\u{1b}" } }));
    let error = client.error("wrong", json!({})).await;
    assert!(error.contains("outputSchema"), "{error}");
}

#[tokio::test]
async fn failures_time_outs_and_floods() {
    let mut slow = tool(
        "slow",
        json!(["sh", "-c", "echo $$ > pid; sleep 1000"]),
        json!({}),
    );
    slow["timeoutMs"] = 300.into();
    let mut loud = tool(
        "loud",
        json!(["sh", "-c", "echo first; yes | head -c 1000000; echo last"]),
        json!({}),
    );
    loud["maxOutputBytes"] = 500.into();
    let bad = tool(
        "bad",
        json!(["sh", "-c", "printf '\\033[31mno luck' >&2; exit 7"]),
        json!({}),
    );
    let missing = tool("missing", json!(["no-such-program-at-all"]), json!({}));
    let mut env = tool("env", json!(["env"]), json!({}));
    env["env"] = json!(["CARGO_PKG_NAME"]);
    let (folder, mut client) = connected(&[
        ("slow.tool.json", slow),
        ("loud.tool.json", loud),
        ("bad.tool.json", bad),
        ("missing.tool.json", missing),
        ("env.tool.json", env),
    ])
    .await;
    let error = client.error("slow", json!({})).await;
    assert!(error.contains("stopped after 300 ms"), "{error}");
    let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
    until("it is gone", || !is_alive(&pid)).await;
    let said = text(&mut client, "loud", json!({})).await;
    assert!(
        said.len() < 700 && said.starts_with("first") && said.ends_with("last\n"),
        "{said}"
    );
    let error = client.error("bad", json!({})).await;
    assert!(
        error.contains("exited with code 7") && error.contains("\\u{1b}[31mno luck"),
        "{error}"
    );
    let error = client.error("missing", json!({})).await;
    assert!(error.contains("not found on PATH"), "{error}");
    assert!(std::env::var("CARGO_PKG_NAME").is_ok(), "run by cargo");
    let said = text(&mut client, "env", json!({})).await;
    assert!(
        said.contains("CARGO_PKG_NAME=switchboard-builtin"),
        "{said}"
    );
    assert!(!said.contains("CARGO_MANIFEST_DIR"), "{said}");
}

#[tokio::test]
async fn the_folder_is_read_again_when_it_changes() {
    let (folder, mut client) =
        connected(&[("a.tool.json", tool("a", json!(["echo", "1"]), json!({})))]).await;
    assert_eq!(client.tools().await.len(), 1);
    put(
        folder.path(),
        "b.tool.json",
        &tool("b", json!(["echo", "2"]), json!({})),
    );
    client.notice("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await.len(), 2);
    put(
        folder.path(),
        "a.tool.json",
        &tool("a", json!(["echo", "changed"]), json!({})),
    );
    assert_eq!(
        text(&mut client, "a", json!({})).await,
        "changed\n",
        "at once"
    );
    client.notice("notifications/tools/list_changed").await;
    fs::write(folder.path().join("b.tool.json"), "{ half").unwrap();
    client.notice("notifications/tools/list_changed").await;
    assert!(client.error("b", json!({})).await.contains("Unknown tool"));
    fs::remove_dir_all(folder.path()).unwrap();
    client.notice("notifications/tools/list_changed").await;
    assert_eq!(client.tools().await.len(), 0);
}

#[tokio::test]
async fn manifests_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut manifest = tool(
            "t",
            json!(["echo", "{x}"]),
            json!({ "x": { "type": "string" } }),
        );
        change(&mut manifest);
        manifest
    };
    let flow = |steps: Value| json!({ "name": "f", "description": "A test.", "steps": steps });
    let cases: Vec<(&str, Value, &str)> = vec![
        (
            "01.tool.json",
            with(&|m| m["command"] = json!([])),
            "no program",
        ),
        (
            "02.tool.json",
            with(&|m| m["command"] = json!(["{x}"])),
            "program itself",
        ),
        (
            "03.tool.json",
            with(&|m| m["command"] = json!(["echo", "{y}"])),
            "{y}",
        ),
        (
            "04.tool.json",
            with(&|m| m["command"] = json!("echo x")),
            "invalid type",
        ),
        (
            "05.tool.json",
            with(&|m| m["name"] = "a b".into()),
            "`name`",
        ),
        (
            "06.tool.json",
            with(&|m| m["description"] = " ".into()),
            "`description`",
        ),
        (
            "07.tool.json",
            with(&|m| m["inputSchema"] = json!({ "type": "array" })),
            "`inputSchema`",
        ),
        (
            "08.tool.json",
            with(&|m| m["inputSchema"]["properties"]["x"]["type"] = "strin".into()),
            "`inputSchema`",
        ),
        (
            "09.tool.json",
            with(&|m| m["shell"] = true.into()),
            "unknown field",
        ),
        (
            "10.tool.json",
            with(&|m| m["inputSchema"]["$ref"] = "http://127.0.0.1:9/x".into()),
            "`inputSchema`",
        ),
        ("11.flow.json", flow(json!([])), "`steps`"),
        (
            "12.flow.json",
            flow(
                json!([{ "id": "a", "server": "s", "tool": "t", "arguments": { "x": "${args.no}" } }]),
            ),
            "no no",
        ),
        (
            "13.flow.json",
            flow(
                json!([{ "id": "a", "server": "s", "tool": "t", "arguments": { "x": "${steps.b.y}" } }]),
            ),
            "earlier step b",
        ),
        (
            "14.flow.json",
            flow(
                json!([{ "id": "a", "server": "s", "tool": "t", "arguments": { "x": "${env.HOME}" } }]),
            ),
            "neither",
        ),
    ];
    for (file, manifest, _) in &cases {
        put(folder.path(), file, manifest);
    }
    put(
        folder.path(),
        "98.tool.json",
        &with(&|m| m["name"] = "open".into()),
    );
    fs::set_permissions(
        folder.path().join("98.tool.json"),
        fs::Permissions::from_mode(0o666),
    )
    .unwrap();
    put(folder.path(), "good.tool.json", &with(&|_| {}));
    put(folder.path(), "same.tool.json", &with(&|_| {}));
    let toolbox = Toolbox::open("1", folder.path(), common::workplace(folder.path())).unwrap();
    let faults = toolbox.faults();
    let problem = |file: &str| {
        let found = faults.iter().find(|fault| fault.file.ends_with(file));
        found
            .unwrap_or_else(|| panic!("{file} has a fault"))
            .problem
            .clone()
    };
    for (file, _, expected) in &cases {
        assert!(
            problem(file).contains(expected),
            "{file}: {}",
            problem(file)
        );
    }
    assert!(problem("98.tool.json").contains("everybody"));
    assert!(problem("same.tool.json").contains("already"));
    let mut client = Client::connect(toolbox.session()).await;
    assert_eq!(client.tools().await.len(), 1, "the good one is there");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(
        Toolbox::open("1", folder.path(), common::workplace(folder.path())).is_err(),
        "anyone could put a program there"
    );
}

/// Whoever writes the folder may do so at any moment: each call meets one
/// whole manifest, the old one or the new one, or none.
#[tokio::test]
async fn a_manifest_that_changes_while_it_is_called() {
    let say = |word: &str| tool("say", json!(["printf", word]), json!({}));
    let (folder, mut client) = connected(&[("say.tool.json", say("old"))]).await;
    let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writing = {
        let (over, path) = (over.clone(), folder.path().to_owned());
        let (old, new) = (say("old"), say("new-and-longer"));
        std::thread::spawn(move || {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                put(&path, "say.tool.json", &new);
                fs::write(path.join("say.tool.json"), "{ half").unwrap();
                put(&path, "say.tool.json", &old);
                fs::remove_file(path.join("say.tool.json")).unwrap();
                put(&path, "say.tool.json", &old);
            }
        })
    };
    let mut said = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let result = client.raw_call("say", json!({})).await;
        said.insert(result["content"][0]["text"].as_str().unwrap().to_owned());
    }
    over.store(true, std::sync::atomic::Ordering::Relaxed);
    writing.join().unwrap();
    let allowed = |text: &String| {
        ["old", "new-and-longer"].contains(&text.as_str()) || text.contains("Unknown tool")
    };
    assert!(said.iter().all(allowed), "{said:?}");
    assert_eq!(text(&mut client, "say", json!({})).await, "old");
}

/// What is no file is no manifest, and nobody waits for it.
#[tokio::test]
async fn a_pipe_is_no_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.tool.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.tool.json")).unwrap();
    fs::create_dir(folder.path().join("folder.tool.json")).unwrap();
    let path = folder.path().to_owned();
    let opened =
        tokio::task::spawn_blocking(move || Toolbox::open("1", &path, common::workplace(&path)));
    let opened = tokio::time::timeout(std::time::Duration::from_secs(20), opened);
    let toolbox = opened.await.expect("it does not wait").unwrap().unwrap();
    assert_eq!(toolbox.faults().len(), 3, "{:?}", toolbox.faults());
}
