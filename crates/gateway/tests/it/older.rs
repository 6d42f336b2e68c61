//! Clients of older revisions: what their revision has no word for becomes text.

use crate::support::scripted::{Scripted, tools};
use crate::support::served::Served;
use serde_json::{Value, json};
use switchboard_testkit::world::servers;

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A tool and a prompt that have everything in them.
fn scripted(era: &'static str) -> Scripted {
    let done = |mut result: Value| {
        result["resultType"] = json!("complete");
        result.to_string()
    };
    let content = json!([
        {"type": "text", "text": "first"},
        {"type": "audio", "data": "AAECAw==", "mimeType": "audio/wav",
         "annotations": {"audience": ["user"]}},
        {"type": "resource_link", "uri": "x://1", "name": "one", "description": "the first"},
        {"type": "image", "data": "AAECAw==", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "x://2", "text": "t"}},
        {"type": "hologram", "depth": 3},
    ]);
    let messages: Vec<Value> = content
        .as_array()
        .unwrap()
        .iter()
        .map(|content| json!({"role": "user", "content": content}))
        .collect();
    let prompts = json!({"prompts": [{"name": "p"}], "ttlMs": 0, "cacheScope": "private"});
    let structured = json!({"content": [], "structuredContent": {"n": 1}});
    let alone = json!({"structuredContent": {"n": 2}});
    let mixed = json!({"content": content});
    Scripted::new(
        era,
        &[
            tools(&["mixed", "structured", "alone"]),
            json!({"method": "tools/call", "match": "\"mixed\"", "reply": done(mixed)}),
            json!({"method": "tools/call", "match": "\"structured\"", "reply": done(structured)}),
            json!({"method": "tools/call", "match": "\"alone\"", "reply": done(alone)}),
            json!({"method": "prompts/list", "reply": done(prompts)}),
            json!({"method": "prompts/get", "reply": done(json!({"messages": messages}))}),
        ],
    )
}

/// What each piece became: its type, or its text where it was another.
fn told(content: &[Value]) -> Vec<String> {
    let short = |piece: &Value| match piece["text"].as_str() {
        Some(text) => text.to_owned(),
        None => piece["type"].as_str().unwrap().to_owned(),
    };
    content.iter().map(short).collect()
}

#[tokio::test]
async fn what_a_revision_lacks_becomes_text_with_the_link() {
    for era in ["legacy", "modern"] {
        let server = scripted(era);
        let gateway = Served::start(&servers([("s", server.stdio())])).await;
        // The newest comes first, so that the server's one connection speaks that.
        for revision in REVISIONS.iter().rev() {
            for (path, prefix) in [("/mcp", "s__"), ("/mcp/s", "")] {
                let mut client = gateway.client(path);
                client.initialize(revision).await;
                let name = |own: &str| format!("{prefix}{own}");
                let called = client.call(&name("mixed"), json!({})).await;
                let content = called["result"]["content"].as_array().unwrap().clone();
                let got = client
                    .request("prompts/get", json!({"name": name("p")}))
                    .await;
                let said = got["result"]["messages"].as_array().unwrap().iter();
                let said: Vec<Value> = said.map(|said| said["content"].clone()).collect();
                let what = format!("{era} server, client of {revision} at {path}");
                // On all servers as one an address that nobody lists says whose it is.
                let address = if prefix.is_empty() {
                    "x://1"
                } else {
                    "s+x://1"
                };
                let link = format!("[Resource link: one] {address} (the first)");
                let audio =
                    "[Audio: audio/wav, 4 bytes, which protocol revision 2024-11-05 cannot carry]";
                let expected = match *revision {
                    "2024-11-05" => [audio, &link],
                    "2025-03-26" => ["audio", &link],
                    _ => ["audio", "resource_link"],
                };
                let rest = ["image", "resource", "hologram"];
                let expected = [&["first"][..], &expected, &rest].concat();
                assert_eq!(told(&content), expected, "{what}: tool");
                assert_eq!(told(&said), expected, "{what}: prompt");
                assert_eq!(
                    content[1]["annotations"],
                    json!({"audience": ["user"]}),
                    "{what}"
                );
                for (tool, text) in [("structured", r#"{"n":1}"#), ("alone", r#"{"n":2}"#)] {
                    let called = client.call(&name(tool), json!({})).await;
                    let older = *revision < "2025-06-18";
                    let shown = called["result"]["content"][0]["text"].as_str();
                    assert_eq!(shown, older.then_some(text), "{what}: {called}");
                }
            }
        }
    }
}
