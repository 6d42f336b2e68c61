//! What else the page does with calls and their results: it holds them, copies them, makes
//! them again elsewhere, hands them on, and shows whatever they bring.

use crate::Desk;
use serde_json::{Value, json};
use switchboard_testkit::{
    bin,
    world::{World, answering, echo, servers, shell_server},
};

/// An agent's call, and what it gets in the end.
fn calls(desk: &Desk, tool: &'static str, arguments: Value) -> tokio::task::JoinHandle<Value> {
    let world = desk.world.clone();
    tokio::spawn(async move {
        let mut agent = world.attached(&[]).await;
        agent.call(tool, arguments).await
    })
}

#[tokio::test]
async fn a_call_is_held_changed_and_let_go() {
    let desk = Desk::with(World::with(&servers([("left", echo(&[]))]))).await;
    let page = &desk.browser;
    desk.go("#/traffic").await;
    page.type_into("[data-testid=filter]", "tool:echo").await;
    page.until("return location.hash.includes('tool%3Aecho')")
        .await;
    page.click("[data-testid=break]").await;
    page.until(
        "return document.querySelector('[data-testid=break-filter]')?.value === 'tool:echo'",
    )
    .await;
    page.click("[data-testid=break-set]").await;
    page.says("[data-testid=break-bar]", "tool:echo").await;
    // It waits, on every page it is told, and what is changed is what its server gets.
    let answer = calls(&desk, "left__echo", json!({"nonce": "as it was"}));
    page.says("[data-testid=break-held]", "1 held").await;
    page.click("[data-testid=break-held]").await;
    page.click("[data-testid=question]").await;
    page.until("return document.querySelector('[data-testid=held]')?.value.includes('as it was')")
        .await;
    page.until("return document.querySelector('[data-testid=answer-edit]').disabled")
        .await;
    page.fill(
        "[data-testid=held]",
        "{\"nonce\": \"as somebody wants it\"}",
    )
    .await;
    page.says("[data-testid=answer-release]", "as it was").await;
    page.click("[data-testid=answer-edit]").await;
    let answer = answer.await.expect("an answer").to_string();
    assert!(answer.contains("as somebody wants it"), "{answer}");
    page.says("[data-testid=answered]", "Send as edited").await;
    // The next one is let go as it is, and then nothing is held any more.
    let answer = calls(&desk, "left__echo", json!({"nonce": "as it was"}));
    page.says("[data-testid=break-held]", "1 held").await;
    page.click("[data-testid=break-held]").await;
    page.click("[data-testid=question]").await;
    page.click("[data-testid=answer-release]").await;
    let answer = answer.await.expect("an answer").to_string();
    assert!(answer.contains("as it was"), "{answer}");
    page.click("[data-testid=break-clear]").await;
    page.until("return !document.querySelector('[data-testid=break-bar]')")
        .await;
    let mut client = desk.world.attached(&[]).await;
    client.call("left__echo", json!({"nonce": "n"})).await;
    desk.is_quiet().await;
}

#[tokio::test]
async fn a_call_is_copied_made_again_elsewhere_and_handed_on() {
    let world = World::with(&servers([("left", echo(&[])), ("right", echo(&[]))]));
    let program = format!("#!/bin/sh\nexec {} \"$@\"\n", bin("switchboard").display());
    world.program("switchboard", &program);
    let desk = Desk::with(world).await;
    let page = &desk.browser;
    desk.go("#/traffic").await;
    page.says("main", "No calls yet").await;
    let mut client = desk.world.attached(&[]).await;
    let words = json!({"nonce": "words of a client's"});
    client.call("left__echo", words).await;
    page.says("[data-testid=call]", "echo").await;
    page.click("[data-testid=call]").await;
    page.wait("[data-edge=to-client]").await;
    // The command that it is copied as does the same.
    page.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        .await;
    page.click_now(".copies button").await;
    let line = page.until("return window.copied").await;
    let line = line.as_str().expect("a command");
    assert!(line.starts_with("switchboard call "), "{line}");
    let ran = desk.world.any("/bin/sh", &["-c", line]).output();
    let ran = ran.expect("it runs");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(said.contains("words of a client's"), "{line}: {ran:?}");
    // Three times at another server, of which each run is a call of its own.
    page.click("[data-testid=replay]").await;
    page.wait("[data-testid=replay-form] select").await;
    page.run("const where = document.querySelector('[data-testid=replay-form] select'); where.value = 'right'; where.dispatchEvent(new Event('change', { bubbles: true }))")
        .await;
    page.fill("[data-testid=replay-form] input[type=number]", "3")
        .await;
    if page.count("[data-testid=replay-sure]").await > 0 {
        page.click("[data-testid=replay-sure]").await;
    }
    page.click("[data-testid=replay-run]").await;
    page.says("[data-testid=same]", "the same").await;
    let runs = "return document.querySelectorAll('[data-testid=replay-form] a[href^=\"#/traffic/\"]').length === 3";
    page.until(runs).await;
    desk.go("#/traffic?filter=server%3Aright%20tool%3Aecho")
        .await;
    page.says("[data-testid=matching]", "3 of").await;
    // Handed on as a file that others can play.
    page.run("URL.createObjectURL = (blob) => { window.handed = blob; return '#/traffic'; }")
        .await;
    page.run("[...document.querySelectorAll('.bar button')].find((one) => one.innerText === 'Export').click()")
        .await;
    let file = page.until("return window.handed?.text()").await;
    let file = file.as_str().expect("a file");
    let lines: Vec<Value> = file
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    assert!(lines.len() > 3, "{file}");
    assert!(file.contains("words of a client's"), "{file}");
    desk.is_quiet().await;
}

/// A dot, and a hundredth of a second of silence.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRnQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YVAAAACAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgA==";

#[tokio::test]
async fn whatever_a_call_brings_is_shown() {
    let blocks = json!([
        {"type": "text", "text": "{\"deep\": {\"number\": 1.50}}"},
        {"type": "image", "mimeType": "image/png", "data": PNG},
        {"type": "audio", "mimeType": "audio/wav", "data": WAV},
        {"type": "resource_link", "uri": "kinds://one", "name": "one of them"},
        {"type": "resource", "resource": {"uri": "kinds://two", "text": "inside it"}},
        {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zy8+"},
    ]);
    let cases = format!(
        r#"
    *'"initialize"'*) answer='"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}},"resources":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}' ;;
    *'"tools/list"'*) answer='"result":{{"tools":[{{"name":"all","inputSchema":{{"type":"object"}},"outputSchema":{{"type":"object","properties":{{"total":{{"type":"integer"}}}},"required":["total"]}}}}]}}' ;;
    *'"resources/list"'*) answer='"result":{{"resources":[{{"uri":"kinds://one","name":"one of them"}}]}}' ;;
    *'"resources/read"'*) answer='"result":{{"contents":[{{"uri":"kinds://one","text":"what it holds"}}]}}' ;;
    *'"tools/call"'*) answer='"result":{{"content":{blocks},"structuredContent":{{"total":"many"}}}}' ;;
"#
    );
    let script = answering(":", &cases);
    let entry = json!({"command": "sh", "args": ["-c", script]});
    let desk = Desk::with(World::with(&servers([("kinds", entry)]))).await;
    let page = &desk.browser;
    desk.go("#/servers/kinds/tools/all").await;
    page.click("[data-testid=run]").await;
    page.says("[data-testid=result]", "1.50").await;
    // An image and a sound are there, drawn and playable; a drawing with scripts is not.
    page.until("return document.querySelector('[data-testid=result] img')?.naturalWidth === 1")
        .await;
    assert_eq!(page.count("[data-testid=result] img").await, 1);
    page.until("return document.querySelector('[data-testid=result] audio')?.readyState > 0")
        .await;
    page.says("[data-testid=result]", "inside it").await;
    // What the tool promised of its result does not hold, and that is said.
    page.says("[data-testid=result]", "does not fit the tool's own schema")
        .await;
    page.says("[data-testid=result]", "total").await;
    // A link is followed on the page itself.
    page.click("[data-testid=result] a[href*='resources']")
        .await;
    page.click("[data-testid=run]").await;
    page.says("[data-testid=result]", "what it holds").await;
    desk.is_quiet().await;
}

#[tokio::test]
async fn a_definition_that_changed_stands_beside_what_it_was() {
    let world = World::repository();
    world.write("home/repo/says", "lists what is there");
    let entry = shell_server("", "", &world.path("home/repo"));
    world.write_settings(&json!({"mcpServers": {"s": entry}, "permissions": {"pins": "hold"}}));
    let desk = Desk::with(world).await;
    let page = &desk.browser;
    let mut client = desk.world.attached(&[]).await;
    let before = client.request("tools/list", json!({})).await.to_string();
    assert!(before.contains("lists what is there"), "{before}");
    desk.world
        .write("home/repo/says", "sends\u{200b} what is there");
    desk.world.run(&["reconnect", "s"]).await.ok();
    client.request("tools/list", json!({})).await;
    page.says("[data-testid=waiting]", "1").await;
    page.click("[data-testid=place-inbox]").await;
    page.click("[data-testid=question]").await;
    // What it was, what it is, and what nobody would see in it.
    page.says("[data-testid=change] del", "lists").await;
    page.says("[data-testid=change] ins", "sends").await;
    page.says("[data-testid=change]", "hidden characters").await;
    page.says("[data-testid=change] ins", "\\u{200b}").await;
    page.click("[data-testid=answer-approve]").await;
    page.says("[data-testid=answered]", "Approve").await;
    let after = client.request("tools/list", json!({})).await.to_string();
    assert!(after.contains("sends"), "{after}");
    desk.is_quiet().await;
}
