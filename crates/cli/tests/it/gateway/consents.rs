//! A person who is asked sees everything that the answer is about, and nothing
//! that pretends to be something else.

use crate::support::{echo, homes::Home};
use serde_json::{Value, json};
use switchboard_testkit::StdioClient;

fn home(ask: &str) -> Home {
    let home = Home::new();
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

#[tokio::test]
async fn all_arguments_are_shown() {
    let home = home("mcp__e__count");
    let mut client = home.serve(&[]).await;
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
    let mut client = home.serve(&[]).await;
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
    let mut client = home.serve(&["--only", "e"]).await;
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
    let mut client = home.serve(&["--only", "e"]).await;
    yes(&mut client);
    let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
    client.request("prompts/get", params).await;
    let asked = asked(&client).remove(0);
    assert!(asked.contains(r#"Arguments: {"name":"Ada"}"#), "{asked}");
}
