//! A person who is asked sees everything that the answer is about, and nothing
//! that pretends to be something else.

use serde_json::{Value, json};
use switchboard_testkit::StdioClient;
use switchboard_testkit::world::{World, echo};

fn home(ask: &str) -> World {
    let home = World::repository();
    let settings = json!({"mcpServers": {"e": echo(&[])}, "permissions": {"ask": [ask]}});
    home.write(
        "home/.config/switchboard/settings.json",
        settings.to_string(),
    );
    home
}

/// Says yes to everything, and keeps what was asked.
fn yes(client: &mut StdioClient) {
    client.on_request(
        |_, _| json!({"result": {"action": "accept", "content": {"answer": "yes, this time"}}}),
    );
}

fn asked(client: &StdioClient) -> Vec<String> {
    let requests = client.requests.iter();
    let text = |request: &Value| request["params"]["message"].as_str().unwrap().to_owned();
    requests.map(text).collect()
}

/// The next message that is the one looked for.
async fn message(client: &mut StdioClient, is_it: impl Fn(&Value) -> bool) -> Value {
    loop {
        let message: Value = serde_json::from_slice(&client.next_raw().await).unwrap();
        if is_it(&message) {
            return message;
        }
    }
}

/// A person may think for long. What has been denied meanwhile is not done.
#[tokio::test]
async fn a_rule_that_comes_while_somebody_is_asked_counts() {
    let home = home("mcp__e__count");
    let mut client = home.beside_a_second(&[]).await;
    let call = json!({"jsonrpc": "2.0", "id": "held", "method": "tools/call", "params": {"name": "e__count", "arguments": {}}});
    client.send_raw(call.to_string()).await;
    let question = message(&mut client, |it| it["method"] == "elicitation/create").await;
    let settings =
        json!({"mcpServers": {"e": echo(&[])}, "permissions": {"deny": ["mcp__e__count"]}});
    home.write(
        "home/.config/switchboard/settings.json",
        settings.to_string(),
    );
    // Until the rule counts.
    loop {
        let list = json!({"jsonrpc": "2.0", "id": "list", "method": "tools/list"});
        client.send_raw(list.to_string()).await;
        let listed = message(&mut client, |it| it["id"] == "list").await;
        if !listed.to_string().contains("\"e__count\"") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let yes = json!({"action": "accept", "content": {"answer": "yes, this time"}});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": yes});
    client.send_raw(answer.to_string()).await;
    let outcome = message(&mut client, |it| it["id"] == "held").await;
    assert!(outcome.get("error").is_some(), "{outcome}");
    let answer = client.call("e__counted", json!({})).await;
    assert!(
        answer.to_string().contains("\"0\""),
        "nothing reached the server: {answer}"
    );
}

#[tokio::test]
async fn all_arguments_are_shown() {
    let home = home("mcp__e__count");
    let mut client = home.beside_a_second(&[]).await;
    yes(&mut client);
    let long = format!("{}the-end", "x".repeat(30_000));
    let arguments =
        json!({"a": "first", "long": long, "hidden": "a\u{202e}b\u{200b}c", "last": "rm -rf"});
    let answer = client.call("e__count", arguments).await;
    assert!(answer.get("result").is_some(), "{answer}");
    let asked = asked(&client).remove(0);
    assert!(
        asked.contains("the-end\"") && asked.contains("\"last\":\"rm -rf\""),
        "{asked}"
    );
    assert!(asked.contains("a\\u{202e}b\\u{200b}c"), "{asked}");
    assert!(!asked.contains(['\u{202e}', '\u{200b}', '\n']), "{asked}");
}

#[tokio::test]
async fn what_cannot_be_shown_cannot_be_allowed() {
    let home = home("mcp__e__count");
    let mut client = home.beside_a_second(&[]).await;
    yes(&mut client);
    let answer = client
        .call("e__count", json!({"long": "x".repeat(70_000)}))
        .await;
    let text = answer["error"]["message"].as_str().unwrap();
    assert!(
        text.contains("more than a client is asked to show"),
        "{text}"
    );
    assert!(asked(&client).is_empty());
    let answer = client.call("e__counted", json!({})).await;
    assert!(
        answer.to_string().contains("\"0\""),
        "nothing reached the server: {answer}"
    );
}

#[tokio::test]
async fn an_address_cannot_write_the_question() {
    let home = home("mcp__e");
    let mut client = home.beside_a_second(&["--only", "e"]).await;
    yes(&mut client);
    let uri = "echo://1\u{202e}\" of server \"harmless\"?\n\u{1b}[2K";
    client
        .request("resources/read", json!({ "uri": uri }))
        .await;
    let asked = asked(&client).remove(0);
    assert!(
        asked.contains(
            r#"resource "echo://1\u{202e}\" of server \"harmless\"?\n\u{1b}[2K" of server "e"?"#
        ),
        "{asked}"
    );
    assert!(!asked.contains(['\u{202e}', '\u{1b}', '\n']), "{asked}");
}

#[tokio::test]
async fn the_arguments_of_a_prompt_are_shown_too() {
    let home = home("mcp__e");
    let mut client = home.beside_a_second(&["--only", "e"]).await;
    yes(&mut client);
    let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
    client.request("prompts/get", params).await;
    let asked = asked(&client).remove(0);
    assert!(asked.contains(r#"Arguments: {"name":"Ada"}"#), "{asked}");
}
