//! What all servers have in common: good descriptions, and errors in the four
//! patterns.

use crate::common::{self, Client};
use serde_json::{Value, json};
use switchboard_builtin::{Files, Memory, Server, ServerKind, Setup, Shell, System, Toolbox};

/// All servers, each with the number of its tools.
async fn all(directory: &std::path::Path) -> Vec<(&'static str, Client, usize)> {
    let roots = [directory.to_path_buf()];
    let manifests = directory.join("manifests");
    std::fs::create_dir_all(&manifests).expect("a folder");
    let manifest = json!({
        "name": "echo", "description": "Says it again.", "command": ["echo", "{text}"],
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] },
    });
    std::fs::write(manifests.join("echo.tool.json"), manifest.to_string()).expect("written");
    let files = Files::new("1", &roots, common::protection())
        .expect("files")
        .session();
    let shell = Shell::enabled("1", &roots, common::protection())
        .expect("shell")
        .session();
    let memory = Memory::open("1", &directory.join("data"))
        .expect("memory")
        .session();
    let tools = Toolbox::open("1", &manifests, common::workplace(&manifests))
        .expect("tools")
        .session();
    vec![
        ("files", Client::connect(files).await, 10),
        ("shell", Client::connect(shell).await, 6),
        ("system", Client::connect(System::new("1")).await, 4),
        ("memory", Client::connect(memory).await, 4),
        ("tools", Client::connect(tools).await, 1),
    ]
}

#[tokio::test]
async fn every_tool_is_described() {
    let directory = tempfile::tempdir().unwrap();
    let mut count = 0;
    for (server, mut client, expected) in all(directory.path()).await {
        assert_eq!(
            client.hello["serverInfo"]["name"],
            format!("switchboard-{server}")
        );
        let tools = client.tools().await;
        assert_eq!(tools.len(), expected, "{server}");
        if server == "tools" {
            continue;
        }
        count += tools.len();
        for tool in tools {
            let name = format!("{server} {}", tool["name"]);
            assert!(tool["title"].is_string(), "{name}");
            let hints = &tool["annotations"];
            for hint in [
                "readOnlyHint",
                "destructiveHint",
                "idempotentHint",
                "openWorldHint",
            ] {
                assert!(hints[hint].is_boolean(), "{name} {hint}");
            }
            assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
            let properties = tool["inputSchema"]["properties"].as_object();
            let has_arguments = properties.is_some_and(|named| !named.is_empty());
            let description = tool["description"].as_str().unwrap();
            if has_arguments {
                assert!(description.contains("Example"), "{name}: {description}");
                let described = |argument: &Value| argument["description"].is_string();
                assert!(properties.unwrap().values().all(described), "{name}");
                assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
                examples_fit(&name, description, &tool["inputSchema"]);
            }
        }
    }
    assert!(count >= 16, "{count} tools");
}

/// Whatever stands in braces in a description is valid input.
fn examples_fit(name: &str, description: &str, schema: &Value) {
    let examples = description.split("Example").nth(1).expect("examples");
    let mut found = 0;
    for (at, _) in examples.match_indices('{') {
        let mut values = serde_json::Deserializer::from_str(&examples[at..]).into_iter::<Value>();
        let Some(Ok(example)) = values.next() else {
            continue;
        };
        let fault = jsonschema::validate(schema, &example)
            .err()
            .map(|fault| fault.to_string());
        assert_eq!(fault, None, "{name}: {example}");
        found += 1;
    }
    assert!(found > 0, "{name}");
}

#[tokio::test]
async fn an_unknown_tool_is_a_result() {
    let directory = tempfile::tempdir().unwrap();
    for (server, mut client, _) in all(directory.path()).await {
        let text = client.fail("nothing\u{1b}[31m", json!({})).await;
        let body: Value = serde_json::from_str(&text).unwrap();
        let error = body["error"].as_str().unwrap();
        assert!(
            error.starts_with("Unknown tool: nothing"),
            "{server}: {text}"
        );
        assert!(!error.contains('\u{1b}'), "{server}: {text}");
    }
}

#[tokio::test]
async fn missing_and_wrong_arguments_are_results() {
    let directory = tempfile::tempdir().unwrap();
    for (server, mut client, _) in all(directory.path()).await {
        for tool in client.tools().await {
            let name = tool["name"].as_str().unwrap();
            let schema = &tool["inputSchema"];
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            if !required.is_empty() {
                let answer = client.request("tools/call", json!({ "name": name })).await;
                assert_eq!(
                    answer["result"]["isError"], true,
                    "{server} {name}: {answer}"
                );
                let text = &answer["result"]["content"][0]["text"];
                assert_eq!(
                    text, "{\"error\":\"No arguments provided\"}",
                    "{server} {name}"
                );

                let text = client.fail(name, json!({})).await;
                assert!(
                    text.starts_with("Validation error: "),
                    "{server} {name}: {text}"
                );
                let field = required[0].as_str().unwrap();
                assert!(text.contains(field), "{server} {name}: {text}");

                let text = client.fail(name, json!({ field: { "no": "such" } })).await;
                assert!(
                    text.starts_with("Validation error: "),
                    "{server} {name}: {text}"
                );
            }
            if schema["additionalProperties"] == false {
                let text = client.fail(name, json!({ "no_such_argument": 1 })).await;
                assert!(
                    text.starts_with("Validation error: "),
                    "{server} {name}: {text}"
                );
                assert!(text.contains("no_such_argument"), "{server} {name}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn system_answers() {
    let mut client = Client::connect(System::new("9.9")).await;
    assert_eq!(client.call("health", json!({})).await["status"], "ok");
    assert_eq!(client.call("info", json!({})).await["version"], "9.9");
    assert!(client.call("time", json!({})).await["utc"].is_string());
    let answer = client
        .call("environment", json!({ "filter": "path" }))
        .await;
    let names: Vec<&str> = answer["variables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"PATH"), "{names:?}");
    let answer = client.request("ping", json!({})).await;
    assert!(answer["result"].is_object());
}

#[test]
fn what_a_server_lacks_is_said() {
    let setup = Setup::default();
    for (kind, expected) in [
        (ServerKind::Files, "no root"),
        (ServerKind::Shell, "switched on"),
        (ServerKind::Memory, "data"),
        (ServerKind::Tools, "folder"),
    ] {
        let fault = Server::new(kind, &setup).unwrap_err().to_string();
        assert!(fault.contains(expected), "{fault}");
        assert_eq!(ServerKind::parse(kind.name()), Some(kind));
    }
    assert!(Server::new(ServerKind::System, &setup).is_ok());
    assert!(!ServerKind::Shell.is_on_by_default());
}
