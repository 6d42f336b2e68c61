use super::{rounds::Needed, *};
use std::sync::Arc;

fn response(result: &str) -> Message {
    Message::response(&Id::number(1), result)
}

fn needed(result: &str) -> Option<Needed> {
    Needed::of(&response(result), &Arc::from("s")).expect("readable")
}

#[test]
fn only_input_required_needs_input() {
    for complete in [
        r#"{"content":[]}"#,
        r#"{"resultType":"complete","inputRequests":{}}"#,
        r#"{"resultType":7}"#,
        "[]",
    ] {
        assert!(needed(complete).is_none(), "{complete}");
    }
    for unreadable in [
        r#"{"resultType":"input_required"}"#,
        r#"{"resultType":"input_required","inputRequests":{}}"#,
        r#"{"resultType":"input_required","inputRequests":{"a":{"method":"tools/call"}}}"#,
        r#"{"resultType":"input_required","inputRequests":{"a":7}}"#,
    ] {
        assert!(
            Needed::of(&response(unreadable), &Arc::from("s")).is_err(),
            "{unreadable}"
        );
    }
}

#[test]
fn a_retry_keeps_every_byte_but_the_answers() {
    let result = r#"{"resultType":"input_required","requestState":"{\"a\": 1.0}\u00e9",
        "inputRequests":{"k\u0065y":{"method":"elicitation/create","params":{"message":"?"}},
                         "r":{"method":"roots/list"}}}"#;
    let needed = needed(result).expect("needs input");
    assert_eq!(needed.requests[0].question.params["message"], "?");
    assert_eq!(needed.requests[1].question.method, Method::RootsList);
    let first = Message::request(
        &Id::string("x"),
        Method::ToolsCall,
        r#"{"name":"t", "requestState":"old","arguments":{"n":1e400},"inputResponses":{"old":1}}"#,
    );
    let answers = [json!({"action":"decline"}), json!({"roots":[]})];
    let retry = needed.retry(&first, &answers).expect("a message");
    assert_eq!(
        String::from_utf8_lossy(retry.body()),
        r#"{"name":"t","arguments":{"n":1e400},"inputResponses":{"k\u0065y":{"action":"decline"},"r":{"roots":[]}},"requestState":"{\"a\": 1.0}\u00e9"}"#
    );
}

#[test]
fn what_the_server_did_not_send_is_not_sent_back() {
    let first = Message::request(
        &Id::number(1),
        Method::ToolsCall,
        r#"{"name":"t","requestState":"old"}"#,
    );
    let asks = r#"{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}}}"#;
    let retry = needed(asks)
        .expect("needs input")
        .retry(&first, &[json!({"roots":[]})])
        .expect("a message");
    assert_eq!(
        retry.body(),
        br#"{"name":"t","inputResponses":{"k":{"roots":[]}}}"#
    );
    let waits = r#"{"resultType":"input_required","requestState":"s"}"#;
    let retry = needed(waits)
        .expect("needs time")
        .retry(&first, &[])
        .expect("a message");
    assert_eq!(retry.body(), br#"{"name":"t","requestState":"s"}"#);
}

#[test]
fn a_form_is_filled_with_its_defaults_only_where_something_is_missing() {
    let params = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {
        "name": {"type": "string", "default": "Ada"},
        "age": {"type": "integer", "default": 30},
        "note": {"type": "string"},
    }}});
    let form = Form::of(&params).expect("a form");
    assert_eq!(form.fields().count(), 3);
    assert_eq!(
        Value::from(form.defaults()),
        json!({"name": "Ada", "age": 30})
    );
    let content = json!({"name": "", "note": "x"});
    let filled = form.filled(content.as_object().cloned().unwrap_or_default());
    assert_eq!(
        Value::from(filled),
        json!({"name": "", "note": "x", "age": 30})
    );
    assert!(
        Form::of(
            &json!({"mode": "url", "url": "https://x", "requestedSchema": {"properties": {}}})
        )
        .is_none()
    );
}
