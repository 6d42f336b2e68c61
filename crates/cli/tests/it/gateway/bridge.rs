//! A modern client's questions and answers across eras: tickets, parts, leaving.

use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::{Channel, HttpClient, Program, bin, text_of, world::Gateway};

const TOOL: &str = "test_interview";

/// The entry for the fixture, held to one era; over HTTP it must stay alive meanwhile.
async fn fixture(era: &str, http: bool) -> (Value, Option<Program>) {
    let program = bin("conformance-server");
    if !http {
        return (
            json!({"command": program, "args": ["--stdio", "--era", era]}),
            None,
        );
    }
    let server = Program::new(&program)
        .args(["--http", "0", "--era", era])
        .spawn();
    let url = server.url().await;
    (json!({"type": "http", "url": url}), Some(server))
}

fn switchboard(entry: &Value) -> switchboard_testkit::Launch {
    let config = json!({"mcpServers": {"fixture": entry}}).to_string();
    switchboard_testkit::world::switchboard().args([
        "--strict-mcp-config",
        "--mcp-config",
        &config,
        "serve",
        "--only",
        "fixture",
    ])
}

async fn gateway(entry: &Value) -> Gateway {
    let launch = switchboard(entry).args(["--http", "127.0.0.1:0", "--no-auth"]);
    Gateway::launch(launch).await
}

fn call() -> Value {
    json!({"name": TOOL, "arguments": {}})
}

#[tokio::test]
async fn a_ticket_is_good_once_and_for_its_own_request_only() {
    let (entry, _) = fixture("legacy", false).await;
    let gateway = gateway(&entry).await;
    let url = format!("{}/mcp/fixture", gateway.url);
    let mut client = HttpClient::new(&url);
    let first = client.modern("tools/call", call()).await.message();
    let state = first["result"]["requestState"]
        .as_str()
        .expect("a state")
        .to_owned();
    let answers = json!({"first": {"action": "accept", "content": {"name": "Ada"}}});
    let retry = |name: &str, arguments: Value, state: &str| json!({"name": name, "arguments": arguments, "inputResponses": answers, "requestState": state});
    // Moved to another tool, to other arguments, or altered: refused, and the call still waits.
    let mut altered = state.clone();
    let last = altered.pop().expect("a character");
    altered.push(if last == 'A' { 'B' } else { 'A' });
    for (params, what) in [
        (retry("test_simple_text", json!({}), &state), "another tool"),
        (retry(TOOL, json!({"x": 1}), &state), "other arguments"),
        (retry(TOOL, json!({}), &altered), "altered"),
        (retry(TOOL, json!({}), "made up"), "invented"),
    ] {
        let refused = client.modern("tools/call", params).await.message();
        assert_eq!(refused["error"]["code"], -32602, "{what}: {refused}");
    }
    let second = client
        .modern("tools/call", retry(TOOL, json!({}), &state))
        .await
        .message();
    assert_eq!(second["result"]["resultType"], "input_required", "{second}");
    assert!(
        second["result"]["inputRequests"]["opinion"].is_object(),
        "{second}"
    );
    let replayed = client
        .modern("tools/call", retry(TOOL, json!({}), &state))
        .await
        .message();
    assert_eq!(replayed["error"]["code"], -32602, "replayed: {replayed}");
}

#[tokio::test]
async fn a_restart_of_the_gateway_says_ask_again() {
    let (entry, _) = fixture("legacy", false).await;
    let before = gateway(&entry).await;
    let url = format!("{}/mcp/fixture", before.url);
    let first = HttpClient::new(&url)
        .modern("tools/call", call())
        .await
        .message();
    let state = first["result"]["requestState"].clone();
    drop(before);
    let after = gateway(&entry).await;
    let url = format!("{}/mcp/fixture", after.url);
    let mut params = call();
    params["requestState"] = state;
    params["inputResponses"] = json!({"first": {"action": "accept", "content": {"name": "Ada"}}});
    let refused = HttpClient::new(&url)
        .modern("tools/call", params)
        .await
        .message();
    assert_eq!(refused["error"]["code"], -32602);
    assert!(
        refused["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("ask again")),
        "{refused}"
    );
}

#[tokio::test]
async fn answers_may_come_in_parts() {
    let (mut entry, _) = fixture("legacy", false).await;
    // Roots are among what it asks for, and reach only a server that is not shared.
    entry["isolation"] = "session".into();
    let gateway = gateway(&entry).await;
    let url = format!("{}/mcp/@one/fixture", gateway.url);
    let mut client = HttpClient::new(&url);
    let tool = "test_input_required_result_multiple_inputs";
    let call = || json!({"name": tool, "arguments": {}});
    let first = client.modern("tools/call", call()).await.message();
    let questions = first["result"]["inputRequests"]
        .as_object()
        .expect("questions")
        .clone();
    assert!(questions.len() >= 2, "asked together: {first}");
    let answer = |question: &Value| match question["method"].as_str() {
        Some("elicitation/create") => json!({"action": "accept", "content": {"name": "Ada"}}),
        Some("sampling/createMessage") => {
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "tea"}})
        }
        _ => json!({"roots": []}),
    };
    let mut state = first["result"]["requestState"].clone();
    let mut left = questions.len();
    for (key, question) in &questions {
        let mut params = call();
        params["requestState"] = state;
        // An extra key is ignored.
        params["inputResponses"] = json!({key: answer(question), "nobody-asked": {}});
        let next = client.modern("tools/call", params).await.message();
        left -= 1;
        if left == 0 {
            assert_eq!(next["result"]["resultType"], "complete", "{next}");
            return;
        }
        let open = next["result"]["inputRequests"]
            .as_object()
            .expect("the rest");
        assert_eq!(open.len(), left, "{next}");
        assert!(!open.contains_key(key), "{next}");
        state = next["result"]["requestState"].clone();
    }
}

#[tokio::test]
async fn a_modern_client_that_leaves_cancels_at_a_legacy_server() {
    let program = bin("echo-server");
    let entry = json!({"command": program, "args": ["--stdio", "--era", "legacy"]});
    let gateway = gateway(&entry).await;
    let url = format!("{}/mcp/fixture", gateway.url);
    let mut client = HttpClient::new(&url);
    let slow = json!({"name": "sleep", "arguments": {"ms": 60_000}});
    let left = tokio::time::timeout(
        Duration::from_millis(700),
        client.modern("tools/call", slow),
    )
    .await;
    assert!(
        left.is_err(),
        "the call is still running when the client leaves"
    );
    drop(client);
    let mut other = HttpClient::new(&url);
    for _ in 0..50 {
        let count = other
            .modern("tools/call", json!({"name": "cancelled", "arguments": {}}))
            .await
            .message();
        if text_of(&count) == "1" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the server never heard that the call was cancelled");
}

/// Tools that a modern server has only as tasks, for a client that knows no such tasks.
#[tokio::test]
async fn a_task_is_run_to_its_end_for_a_legacy_client() {
    for http in [false, true] {
        let (entry, _fixture) = fixture("modern", http).await;
        let gateway = gateway(&entry).await;
        let url = format!("{}/mcp/fixture", gateway.url);
        let mut client = Channel::http(&url, &[]);
        client.on_request(|method, _| {
            assert_eq!(method, "elicitation/create");
            json!({"result": {"action": "accept", "content": {"name": "Ada"}}})
        });
        client.initialize("2025-11-25").await;
        let done = client.call("test_tool_with_task", json!({})).await;
        assert_eq!(text_of(&done), "The task was done for \"Ada\"", "{done}");
        assert_eq!(client.requests.len(), 1, "asked once");
        let failed = client.call("failing_job", json!({})).await;
        assert_eq!(failed["result"]["isError"], true, "{failed}");
    }
}
