//! Calls that are made by hand, on the page or the screen: what their servers ask waits in
//! the inbox.

use super::{Stage, text};
use http::Method;
use serde_json::json;

#[tokio::test]
async fn a_form_of_a_call_by_hand_is_answered_in_the_inbox() {
    for server in [["--era", "legacy"], ["--era", "modern"]] {
        let stage = Stage::new(&json!({"askAt": "both"}), &server).await;
        let call = json!({"server": "e", "name": "elicit", "arguments": {}});
        let calling = stage.api(Method::POST, "calls", &call);
        let answering = async {
            let form = stage.question("form").await;
            let said = json!({"action": "accept", "content": {"answer": "forty-two"}});
            stage.answer(&form, &said).await
        };
        let ((status, made), (answered, said)) = tokio::join!(calling, answering);
        assert_eq!(answered, 200, "{said}");
        assert_eq!(status, 200, "{made}");
        assert!(text(&made).contains("forty-two"), "{server:?}: {made}");
        stage.nothing_waits().await;
    }
}

/// Where the inbox is left out, nobody can be asked.
#[tokio::test]
async fn without_the_inbox_such_a_form_is_refused() {
    let stage = Stage::new(&json!({"askAt": "client"}), &["--era", "legacy"]).await;
    let call = json!({"server": "e", "name": "elicit", "arguments": {}});
    let (status, made) = stage.api(Method::POST, "calls", &call).await;
    assert_eq!(status, 200, "{made}");
    assert!(made.to_string().contains("does not support"), "{made}");
}

/// Whether it is meant is asked of whoever makes it, and of nobody else.
#[tokio::test]
async fn whether_a_call_by_hand_is_meant_is_no_question_for_the_inbox() {
    let stage = Stage::new(&json!({"askAt": "both"}), &[]).await;
    let mut call = json!({"server": "e", "name": "count", "arguments": {}});
    let (status, said) = stage.api(Method::POST, "calls", &call).await;
    assert_eq!(said["code"], "confirm", "{status}: {said}");
    assert!(stage.waiting().await.is_empty());
    call["confirmed"] = json!(true);
    let (status, made) = stage.api(Method::POST, "calls", &call).await;
    assert_eq!(status, 200, "{made}");
    let count = json!({"server": "e", "name": "counted", "arguments": {}});
    let (_, counted) = stage.api(Method::POST, "calls", &count).await;
    assert_eq!(text(&counted), "1");
}
