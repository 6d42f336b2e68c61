//! What else a server can do, by hand: resources that change, completion, how much it logs;
//! and servers that other clients have.

use crate::Desk;
use serde_json::json;
use switchboard_testkit::world::{World, answering, echo, servers};

#[tokio::test]
async fn a_resource_that_changes_is_read_again() {
    let desk = Desk::with(World::with(&servers([("left", echo(&[]))]))).await;
    let page = &desk.browser;
    desk.go("#/servers/left/resources/echo%3A%2F%2F1").await;
    page.click("[data-testid=run]").await;
    page.wait("[data-testid=result]").await;
    page.click("[data-testid=watch]").await;
    page.until("return document.querySelector('[data-testid=watch][data-on=true]') !== null")
        .await;
    // It changes at the copy of the server that the page itself uses.
    for uri in ["echo://2", "echo://1"] {
        let touch = json!({"server": "left", "name": "touch", "arguments": {"uri": uri}, "confirmed": true});
        let script = format!(
            "return (await fetch('/api/v1/calls', {{ method: 'POST', body: JSON.stringify({touch}), headers: {{ 'content-type': 'application/json', authorization: `Bearer ${{sessionStorage.getItem('switchboard.token')}}` }} }})).status"
        );
        assert_eq!(page.run(&script).await, 200);
    }
    page.says("[data-testid=changes]", "1 change so far").await;
    desk.is_quiet().await;
}

#[tokio::test]
async fn arguments_are_completed_and_the_log_is_told_how_much() {
    let desk = Desk::with(World::with(&servers([("left", echo(&[]))]))).await;
    let page = &desk.browser;
    desk.go("#/servers/left/prompts/greet").await;
    page.type_into("[data-path='/name'] textarea", "o").await;
    page.says("[data-testid=completions]", "two").await;
    page.click("[data-testid=completions] button").await;
    page.until("return document.querySelector(\"[data-path='/name'] textarea\").value === 'one'")
        .await;
    page.click("[data-testid=run]").await;
    page.says("[data-testid=result]", "one").await;
    desk.go("#/servers/left/stderr").await;
    page.type_into("[data-testid=log-level]", "error").await;
    page.says(".toasts", "was told to log error and worse")
        .await;
    desk.go("#/servers/left").await;
    page.says("main", "Roots").await;
    desk.is_quiet().await;
}

/// How a task is written.
const TASK: &str = r#"task='{"taskId":"t-1","status":"'$state'","statusMessage":"half of it","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000}'"#;

/// A server whose one tool is run as a task and no other way.
const TASKS: &str = r#"
    *'"initialize"'*) answer='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer='"result":{"tools":[{"name":"work","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}' ;;
    *'"tools/call"'*'"task"'*) answer='"result":{"task":'$task'}' ;;
    *'"tasks/list"'*) answer='"result":{"tasks":['$task']}' ;;
    *'"tasks/get"'*) answer='"result":'$task ;;
    *'"tasks/cancel"'*) state=cancelled; answer='"result":'$(printf %s "$task" | sed s/working/cancelled/) ;;
    *'"tasks/result"'*) answer='"result":{"content":[{"type":"text","text":"the work is done"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}}}' ;;
"#;

#[tokio::test]
async fn a_task_is_begun_looked_at_and_ended() {
    let script = format!("state=working\n{}", answering(TASK, TASKS));
    let entry = json!({"command": "sh", "args": ["-c", script], "roots": ["/srv/work"]});
    let desk = Desk::with(World::with(&servers([("slow", entry)]))).await;
    let page = &desk.browser;
    desk.go("#/servers/slow/tools/work").await;
    page.until("return document.querySelector('[data-testid=as-task]')?.checked")
        .await;
    page.click("[data-testid=run]").await;
    page.click("[data-testid=to-tasks]").await;
    page.says("[data-testid=task]", "working").await;
    page.says("[data-testid=task]", "half of it").await;
    page.click("[data-testid=task] button").await;
    page.says("main", "the work is done").await;
    page.click("[data-testid=task] button.danger").await;
    page.says("[data-testid=task]", "cancelled").await;
    // And the folders that it is told of are those of its entry.
    desk.go("#/servers/slow").await;
    page.says("main", "/srv/work").await;
    desk.is_quiet().await;
}

#[tokio::test]
async fn what_another_client_has_is_added_without_telling_its_secrets() {
    let secret = "sk-kNq8Zr3vT6yWb1xD5hJm9pLs2uGc7aEf";
    let world = World::with(&servers([("left", echo(&[]))]));
    let mut entry = echo(&[]);
    entry["env"] = json!({"API_KEY": secret});
    world.write(
        "home/.cursor/mcp.json",
        json!({"mcpServers": {"theirs": entry}}).to_string(),
    );
    let desk = Desk::with(world).await;
    let page = &desk.browser;
    desk.go("#/setup/import").await;
    page.says("[data-testid=importable]", "cursor").await;
    page.click("[data-testid=importable] button").await;
    page.says("[data-proposed=theirs] [data-testid=explained]", "--stdio")
        .await;
    page.click("[data-testid=show-difference]").await;
    page.wait("[data-testid=patch]").await;
    page.click("[data-testid=write]").await;
    let told = page.run("return document.documentElement.outerHTML").await;
    assert!(!told.to_string().contains(secret), "it is on the page");
    page.click("[data-testid=to-approval]").await;
    page.click("[data-testid=answer-approve]").await;
    page.says("[data-testid=answered]", "Approve").await;
    let told = page.run("return document.documentElement.outerHTML").await;
    assert!(!told.to_string().contains(secret), "it is on the page");
    let written = desk.world.read(desk.world.settings());
    assert!(written.contains(secret), "{written}");
    let mut client = desk.world.attached(&[]).await;
    let said = client.call("theirs__echo", json!({"nonce": "n"})).await;
    assert!(said.get("result").is_some(), "{said}");
}
