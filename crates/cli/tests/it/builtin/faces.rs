//! All built-in tools through every face, with good, bad and hostile arguments:
//! faults 86 and 87, and that nothing without a limit comes back.

mod hostile;
mod setting;

use serde_json::json;
use setting::{ALL, Face, Setting};
use std::collections::BTreeSet;
use switchboard_testkit::world;

#[tokio::test]
async fn every_tool_through_every_face() {
    let world = Setting::start().await;
    for (at, how) in ALL.into_iter().enumerate() {
        let mut face = Face::open(&world, how).await;
        good(&mut face, &format!("d{at}")).await;
    }
}

/// Every tool does what it is for.
async fn good(face: &mut Face, folder: &str) {
    let (a, b) = (format!("{folder}/a.txt"), format!("{folder}/b.txt"));
    let key = format!("note-{folder}");
    let calls = [
        (
            "files",
            "write",
            json!({"path": a, "content": "one\ntwo\n"}),
            "8",
        ),
        ("files", "read", json!({"path": a}), "two"),
        (
            "files",
            "edit",
            json!({"path": a, "oldText": "two", "newText": "three"}),
            "a.txt",
        ),
        ("files", "list", json!({"path": folder}), "a.txt"),
        ("files", "tree", json!({"path": folder}), "a.txt"),
        (
            "files",
            "search",
            json!({"pattern": "a.*", "path": folder}),
            "a.txt",
        ),
        (
            "files",
            "grep",
            json!({"pattern": "thr.e", "path": folder}),
            "three",
        ),
        ("files", "info", json!({"path": a}), "10"),
        ("files", "move", json!({"from": a, "to": b}), "b.txt"),
        (
            "shell",
            "runShellCommand",
            json!({"command": "echo $((6 * 7))"}),
            "42",
        ),
        ("system", "health", json!({}), "ok"),
        ("system", "info", json!({}), "os"),
        ("system", "environment", json!({}), "PATH"),
        ("system", "time", json!({}), "utc"),
        (
            "memory",
            "remember",
            json!({"text": "the moon is far", "key": key}),
            "moon",
        ),
        ("memory", "recall", json!({"query": "moon"}), "far"),
        ("memory", "list", json!({}), "moon"),
        ("memory", "forget", json!({"key": key}), "moon"),
        ("tools", "say", json!({"text": "hello"}), "hello"),
        // A flow: reads by way of one server and remembers by way of another.
        (
            "tools",
            "note-file",
            json!({"path": b, "key": key}),
            "remembered",
        ),
        ("memory", "recall", json!({"query": "three"}), "three"),
        ("files", "delete", json!({"path": b}), "b.txt"),
    ];
    let promised = face.promised().await;
    let mut used: BTreeSet<String> = BTreeSet::new();
    for (server, tool, arguments, word) in calls {
        let result = face.call(server, tool, arguments).await;
        let text = result.to_string();
        assert_ne!(
            result["isError"],
            true,
            "{}: {server} {tool}: {text}",
            face.how()
        );
        assert!(
            text.contains(word),
            "{}: {server} {tool}: {text}",
            face.how()
        );
        if let Some(schema) = promised.get(&format!("{server}__{tool}")) {
            // Clients check this, and refuse what does not fit.
            let structured = &result["structuredContent"];
            let checked = jsonschema::validate(schema, structured);
            assert!(
                checked.is_ok(),
                "{server} {tool}: {checked:?}: {structured}"
            );
        }
        used.insert(format!("{server}__{tool}"));
    }
    for tool in background(face).await {
        used.insert(format!("shell__{tool}"));
    }
    assert_eq!(
        used,
        face.tools().await,
        "{}: a tool was left out",
        face.how()
    );
}

/// A process that goes on while others are answered.
async fn background(face: &mut Face) -> [&'static str; 5] {
    let started = face
        .call("shell", "startProcess", json!({"command": "cat"}))
        .await;
    let id = &started["structuredContent"]["id"];
    assert!(id.is_number(), "{started}");
    let write = json!({"id": id, "text": "to and fro\n"});
    face.call("shell", "writeProcess", write).await;
    let read = json!({"id": id, "waitMs": 20_000});
    let read = face.call("shell", "readProcess", read).await;
    assert_eq!(
        read["structuredContent"]["output"], "to and fro\n",
        "{read}"
    );
    let listed = face.call("shell", "listProcesses", json!({})).await;
    assert!(listed.to_string().contains("\"running\":true"), "{listed}");
    let stopped = face.call("shell", "stopProcess", json!({"id": id})).await;
    assert_ne!(stopped["isError"], true, "{stopped}");
    [
        "startProcess",
        "writeProcess",
        "readProcess",
        "listProcesses",
        "stopProcess",
    ]
}

#[tokio::test]
async fn bad_arguments_are_results_that_say_what_is_wrong() {
    let world = Setting::start().await;
    for how in ALL {
        let mut face = Face::open(&world, how).await;
        for name in face.tools().await {
            let (server, tool) = name.split_once("__").expect("a server and a tool");
            if ["health", "info", "time", "listProcesses"].contains(&tool) && server != "files" {
                continue; // They take no arguments, and mind none.
            }
            for arguments in [
                json!({"nope": 1}),
                json!({"path": 5, "command": [], "id": "x"}),
            ] {
                let result = face.call(server, tool, arguments).await;
                assert_eq!(result["isError"], true, "{}: {name}: {result}", face.how());
            }
        }
        // A tool that is not there: the server itself answers with a result,
        // the aggregate with an error.
        let answer = face.answer("files", "raed", json!({})).await;
        if face.alone() {
            assert_eq!(
                answer["result"]["isError"],
                true,
                "{}: {answer}",
                face.how()
            );
        } else {
            assert_eq!(answer["error"]["code"], -32602, "{}: {answer}", face.how());
        }
    }
}

#[tokio::test]
async fn hostile_paths_reach_nothing() {
    let world = Setting::start().await;
    for how in ALL {
        let mut face = Face::open(&world, how).await;
        hostile::paths(&world, &mut face).await;
    }
}

#[tokio::test]
async fn a_link_that_is_swapped_leads_nowhere() {
    let world = Setting::start().await;
    for how in ALL {
        let mut face = Face::open(&world, how).await;
        hostile::swap(&world, &mut face).await;
    }
}

#[tokio::test]
async fn what_is_huge_binary_or_oddly_named_has_an_answer_of_bounded_size() {
    let world = Setting::start().await;
    for how in ALL {
        let mut face = Face::open(&world, how).await;
        hostile::odd_files(&world, &mut face).await;
    }
}

#[tokio::test]
async fn commands_that_never_end_or_flood_are_stopped() {
    let world = Setting::start().await;
    for how in ALL {
        let mut face = Face::open(&world, how).await;
        hostile::commands(&mut face).await;
        hostile::leftovers(&mut face).await;
        hostile::words(&mut face).await;
    }
}

#[tokio::test]
async fn memories_are_text_and_come_in_parts() {
    let world = Setting::start().await;
    for how in ALL {
        let mut face = Face::open(&world, how).await;
        hostile::memories(&mut face).await;
    }
}

/// A flow is refused what everybody is refused, and its circles end.
#[tokio::test]
async fn flows_call_under_the_same_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let flow = |name: &str, server: &str, tool: &str| {
        let manifest = json!({
            "name": name, "description": "One step.",
            "steps": [{"id": "only", "server": server, "tool": tool, "arguments": {}}],
        });
        let file = folder.path().join(format!("{name}.flow.json"));
        std::fs::write(file, manifest.to_string()).unwrap();
    };
    flow("allowed", "system", "time");
    flow("denied", "system", "environment");
    flow("hidden", "system", "info");
    flow("nowhere", "nobody", "time");
    flow("circle", "tools", "circle");
    let servers = world::config(&json!({
        "system": {"type": "builtin", "tools": {"deny": ["info"]}},
        "tools": {"type": "builtin", "folder": folder.path()},
    }));
    let launch = world::switchboard().args(["--mcp-config", &servers]);
    let settings = launch.home().join(".config/switchboard/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let rules = json!({"permissions": {"deny": ["mcp__system__environment"]}});
    std::fs::write(settings, rules.to_string()).unwrap();
    let program = launch
        .args(["serve", "--http", "127.0.0.1:0", "--no-auth"])
        .spawn();
    let url = format!("{}/mcp/tools", program.url().await);
    let mut client = switchboard_testkit::HttpClient::new(&url);
    client.initialize(switchboard_testkit::LEGACY).await;
    for (tool, is_error, says) in [
        ("allowed", false, "utc"),
        ("denied", true, "is not permitted"),
        ("hidden", true, "step only failed"),
        ("nowhere", true, "there is no server"),
        ("circle", true, "flows call each other"),
    ] {
        let answer = client.call(tool, json!({})).await;
        let text = answer["result"].to_string();
        assert_eq!(
            answer["result"]["isError"] == true,
            is_error,
            "{tool}: {answer}"
        );
        assert!(text.contains(says), "{tool}: {answer}");
        // Where a rule is written is no business of a client's.
        assert!(!text.contains("settings.json"), "{tool}: {answer}");
    }
}
