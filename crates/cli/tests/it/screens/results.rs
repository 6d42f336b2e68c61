//! `call` says something for every result, and ends as the result does, in
//! every format.

use crate::support::scripted::{Scripted, call_with, tools};
use serde_json::{Value, json};
use switchboard_testkit::world::run_with;

/// A tool that answers so.
fn answering(member: &str, answer: &Value) -> Value {
    let message = format!("{{\"jsonrpc\":\"2.0\",\"id\":@ID@,\"{member}\":{answer}}}");
    call_with("t", &message)
}

#[tokio::test]
async fn every_result_says_something_and_has_its_code() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let odd = "Unexpected response format from tool t";
    for (result, said, code) in [
        (json!({"content": text("a")}), "a", 0),
        (json!({"content": []}), "the result is empty", 0),
        (json!({"content": text("")}), "the result is empty", 0),
        (
            json!({"content": [], "structuredContent": {"b": 1}}),
            "\"b\": 1",
            0,
        ),
        (json!({"toolResult": "old"}), "old", 0),
        (
            json!({"toolResult": "old", "content": text("new")}),
            "old",
            0,
        ),
        (json!({"content": text("bad"), "isError": true}), "bad", 1),
        (json!({"error": "why", "isError": true}), "why", 1),
        (json!({"isError": true}), "Unknown error", 1),
        (json!({"content": [], "isError": true}), "Unknown error", 1),
        (json!({"foo": 1}), odd, 1),
        (json!({"content": "text"}), odd, 1),
        (json!({}), odd, 1),
    ] {
        let script = Scripted::new("legacy", &[tools(&["t"]), answering("result", &result)]);
        let servers = json!({"s": script.stdio()});
        let run = run_with(&servers, &["call", "t"]).await;
        assert_eq!(run.code, Some(code), "{result}: {run:?}");
        let all = format!("{}{}", run.out, run.err);
        assert!(all.contains(said), "{result}: {run:?}");
        let run = run_with(&servers, &["call", "t", "--json"]).await;
        assert_eq!(run.code, Some(code), "{result}: {run:?}");
        assert_eq!(run.json(), result);
        let run = run_with(&servers, &["call", "t", "--format", "anthropic"]).await;
        assert_eq!(run.code, Some(code), "{result}: {run:?}");
        assert_eq!(
            run.json()["is_error"],
            json!(code == 1),
            "{result}: {run:?}"
        );
    }
}

/// Codes that are a server's to choose are shown run_with what they may mean.
#[tokio::test]
async fn errors_are_shown_with_what_their_code_may_mean() {
    for (code, words) in [
        (-32000, Some("\"Connection closed\"")),
        (-32001, Some("\"Request timeout\"")),
        (-32002, Some("\"Method not supported\" or")),
        (-32003, Some("\"Resource not found\"")),
        (-32603, None),
        (7, None),
    ] {
        let error = json!({"code": code, "message": "gone"});
        let script = Scripted::new("legacy", &[tools(&["t"]), answering("error", &error)]);
        let run = run_with(&json!({"s": script.stdio()}), &["call", "t"]).await;
        assert_eq!(run.code, Some(1), "{run:?}");
        // What the server says comes first, and nothing that is guessed stands in between.
        assert!(run.err.contains(&format!("({code}): gone")), "{run:?}");
        let hint = words.map(|words| format!("hint: by {code} servers may mean {words}"));
        match hint {
            Some(hint) => assert!(run.err.contains(&hint), "{hint}: {run:?}"),
            None => assert!(!run.err.contains("hint:"), "{run:?}"),
        }
    }
}
