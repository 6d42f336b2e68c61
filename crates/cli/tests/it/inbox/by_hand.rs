//! Calls that are made by hand, on the page or the screen: what their servers ask waits in
//! the inbox.

use super::{Stage, text};
use http::Method;
use serde_json::json;
use switchboard_testkit::world::{World, answering};

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

/// What a server offers in a form and looks like a secret.
const OFFERED: &str = "ghp_aZ09aZ09aZ09aZ09aZ09aZ09aZ09aZ09aZ09";

/// A secret that a form offers is not shown, and is what is sent where it is left as it is.
#[tokio::test]
async fn a_secret_that_a_form_offers_is_sent_as_it_was_offered() {
    let world = World::repository();
    let folder = world.path("home/repo");
    let offers = |default: &str| json!({"type": "string", "default": default});
    let fields = json!({"user": offers("ada"), "password": offers(OFFERED)});
    let schema = json!({"type": "object", "properties": fields});
    let params = json!({"message": "Sign in", "requestedSchema": schema});
    let method = "elicitation/create";
    let question = json!({"jsonrpc": "2.0", "id": 99, "method": method, "params": params});
    world.write("home/repo/question", format!("{question}\n"));
    let cases = r#"
    *'"initialize"'*) answer='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer='"result":{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) call=$id; id=; cat question ;;
    *'"action"'*) id=$call; answer='"result":{"content":[{"type":"text","text":"done"}]}' ;;
"#;
    let script = answering(r#"printf '%s\n' "$line" >> got"#, cases);
    let server = json!({"command": "sh", "args": ["-c", script], "cwd": folder});
    world.write_settings(&json!({
        "mcpServers": {"e": server},
        "approvals": {"askAt": "inbox"},
    }));
    let stage = Stage::serve(world).await;
    for (password, sent) in [("[redacted]", OFFERED), ("another", "another")] {
        let called = super::calling(stage.legacy(&json!({})).await, "ask");
        let form = stage.question("form").await;
        assert!(!form.to_string().contains("ghp_"), "{form}");
        let offered = &form["schema"]["properties"]["password"]["default"];
        assert_eq!(offered, "[redacted]", "{form}");
        let content = json!({"user": "ada", "password": password});
        let said = json!({"action": "accept", "content": content});
        let (status, said) = stage.answer(&form, &said).await;
        assert_eq!(status, 200, "{said}");
        assert_eq!(text(&called.await.unwrap()), "done");
        let got = stage.world.read("home/repo/got");
        let last = got.lines().rfind(|line| line.contains("\"action\""));
        let last = last.expect("an answer");
        assert!(
            last.contains(sent) && !last.contains("[redacted]"),
            "{last}"
        );
    }
}
