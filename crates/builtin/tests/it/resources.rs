//! Files as resources: lists, templates, subscriptions and prompts.

use crate::common::{self, Client, connected};
use serde_json::json;
use std::{fs, path::Path};
use switchboard_builtin::Files;

#[tokio::test]
async fn resources_and_prompts() {
    let (directory, mut client) = connected().await;
    for number in 0..250 {
        fs::write(directory.path().join(format!("f{number:03}.txt")), "text").unwrap();
    }
    fs::write(directory.path().join("a.bin"), b"\0\xff").unwrap();
    let first = client.request("resources/list", json!({})).await["result"].clone();
    assert_eq!(first["resources"].as_array().unwrap().len(), 200);
    let next = client
        .request("resources/list", json!({ "cursor": first["nextCursor"] }))
        .await;
    assert_eq!(next["result"]["resources"].as_array().unwrap().len(), 51);
    let wrong = client
        .request("resources/list", json!({ "cursor": "x" }))
        .await;
    assert_eq!(wrong["error"]["code"], -32602);

    let blob = client
        .request(
            "resources/read",
            json!({ "uri": first["resources"][0]["uri"] }),
        )
        .await;
    assert_eq!(blob["result"]["contents"][0]["blob"], "AP8=");
    let text = client
        .request(
            "resources/read",
            json!({ "uri": first["resources"][1]["uri"] }),
        )
        .await;
    assert_eq!(text["result"]["contents"][0]["text"], "text");
    for uri in [
        "file:///etc/passwd",
        "file:///nowhere",
        "memory:///1",
        "f000.txt",
    ] {
        let wrong = client
            .request("resources/read", json!({ "uri": uri }))
            .await;
        assert_eq!(wrong["error"]["code"], -32002, "{wrong}");
    }
    let templates = client.request("resources/templates/list", json!({})).await;
    assert_eq!(
        templates["result"]["resourceTemplates"][0]["uriTemplate"],
        "file:///{+path}"
    );
    let typed = directory.path().canonicalize().unwrap().join("f24");
    let completed = client
        .request(
            "completion/complete",
            json!({
                "ref": { "type": "ref/resource", "uri": "file:///{+path}" },
                "argument": { "name": "path", "value": &typed.to_str().unwrap()[1..] },
            }),
        )
        .await;
    let values = completed["result"]["completion"]["values"]
        .as_array()
        .unwrap();
    assert_eq!(values.len(), 10, "{completed}");

    let prompts = client.request("prompts/list", json!({})).await;
    assert_eq!(prompts["result"]["prompts"][0]["name"], "explain-file");
    let prompt = client
        .request(
            "prompts/get",
            json!({ "name": "explain-file", "arguments": { "path": "f000.txt" } }),
        )
        .await;
    assert_eq!(
        prompt["result"]["messages"][1]["content"]["resource"]["text"],
        "text"
    );
    for params in [
        json!({ "name": "explain-file" }),
        json!({ "name": "explain-file", "arguments": { "path": "/etc/passwd" } }),
        json!({ "name": "no-such" }),
    ] {
        let wrong = client.request("prompts/get", params).await;
        assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    }
}

#[tokio::test]
async fn subscriptions() {
    let (directory, mut client) = connected().await;
    let file = directory.path().canonicalize().unwrap().join("f");
    fs::write(&file, "1").unwrap();
    let uri = format!("file://{}", file.display());
    let answer = client
        .request("resources/subscribe", json!({ "uri": uri }))
        .await;
    assert!(answer["result"].is_object(), "{answer}");
    let wrong = client
        .request(
            "resources/subscribe",
            json!({ "uri": "file:///etc/passwd" }),
        )
        .await;
    assert_eq!(wrong["error"]["code"], -32002);
    // When something changes that may not be read is nobody's business either.
    let root = directory.path().canonicalize().unwrap();
    fs::write(root.join(".mcp.json"), "{}").unwrap();
    fs::hard_link(root.join(".mcp.json"), root.join("twin")).unwrap();
    for name in [".mcp.json", ".MCP.json", "twin", ".ssh/id", "crush.json"] {
        let uri = format!("file://{}/{name}", root.display());
        let answer = client
            .request("resources/subscribe", json!({ "uri": uri }))
            .await;
        assert_eq!(answer["error"]["code"], -32002, "{name}: {answer}");
    }
    fs::write(&file, "22").unwrap();
    let notice = client.notice("notifications/resources/updated").await;
    assert_eq!(notice["params"]["uri"], uri);
    fs::remove_file(&file).unwrap();
    client.notice("notifications/resources/updated").await;
    client
        .request("resources/unsubscribe", json!({ "uri": uri }))
        .await;
    fs::write(&file, "333").unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1200)).await;
    client.request("ping", json!({})).await;
    assert!(client.notices.is_empty(), "{:?}", client.notices);
}

#[tokio::test]
async fn several_roots_and_read_only() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(two.path().join("f"), "two").unwrap();
    let roots = [one.path().to_path_buf(), two.path().to_path_buf()];
    let files = Files::new("1", &roots, common::protection())
        .unwrap()
        .read_only();
    let mut client = Client::connect(files.session()).await;
    assert_eq!(client.tools().await.len(), 6);
    assert!(
        client
            .error("write", json!({ "path": "x", "content": "" }))
            .await
            .contains("Unknown tool")
    );
    assert_eq!(client.call("list", json!({})).await["total"], 2);
    let path = two.path().join("f");
    assert_eq!(
        client.call("read", json!({ "path": path })).await["text"],
        "two"
    );
    assert!(
        Files::new(
            "1",
            &[Path::new("/no/such/root").to_path_buf()],
            common::protection()
        )
        .is_err()
    );
    assert!(Files::new("1", &[], common::protection()).is_err());
}

#[tokio::test]
async fn names_are_protected_in_any_case() {
    let (directory, mut client) = connected().await;
    for name in [
        ".MCP.json",
        ".Vs/MCP.json",
        "Crush.json",
        ".crush.JSON",
        ".SSH/id_ed25519",
    ] {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "secret").unwrap();
        let said = client.error("read", json!({ "path": name })).await;
        assert!(said.contains("protected"), "{name}: {said}");
    }
    let listed = client.call("list", json!({})).await.to_string();
    assert!(
        !listed.contains("rush.") && !listed.contains(".MCP"),
        "{listed}"
    );
    for name in [
        ".devcontainer.json",
        ".DevContainer/devcontainer.json",
        "my.code-workspace",
        "MY.Code-Workspace",
        ".claude/commands/x.md",
        ".claude/skills/x/SKILL.md",
        ".claude/agents/x.md",
        ".claude/hooks/x.sh",
        ".Git/hooks/pre-commit",
    ] {
        let said = client
            .error("write", json!({ "path": name, "content": "x" }))
            .await;
        assert!(said.contains("protected"), "{name}: {said}");
    }
}
