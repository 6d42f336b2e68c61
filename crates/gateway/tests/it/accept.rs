//! The form of answers over HTTP is the one that `Accept` allows, in both eras;
//! and what a client hears whose session is gone.

use crate::support::served::Served;
use http::Method;
use serde_json::{Value, json};
use switchboard_testkit::world::{able_to, command, echo, servers};
use switchboard_testkit::{HttpClient, LEGACY, Reply, text_of};

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

fn kind(reply: &Reply) -> &str {
    reply.header("content-type").unwrap_or_default()
}

fn accepting(client: &HttpClient, accept: &str) -> HttpClient {
    client.clone_for(&[("accept", accept)])
}

fn request(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
}

fn call(tool: &str, arguments: Value) -> String {
    request(
        "tools/call",
        json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}),
    )
}

#[tokio::test]
async fn a_session_that_is_gone_is_told_in_the_words_that_clients_look_for() {
    let gateway = Served::start(&servers([("s", echo(&[]))])).await;
    for path in ["/mcp", "/mcp/s"] {
        let mut client = gateway
            .client(path)
            .header("mcp-session-id", "gone")
            .header("mcp-protocol-version", LEGACY);
        let mut replies = vec![
            client.post(request("ping", json!({}))).await,
            client.send(Method::DELETE, &[], "").await,
        ];
        let listening = client.open(Method::GET, &[("accept", EVENTS)], "").await;
        assert_eq!(listening.status, 404);
        let heard: Value = serde_json::from_slice(&listening.body().await).unwrap();
        assert_eq!(heard["error"]["code"], -32001, "{heard}");
        // One that it ended itself is gone as well.
        let mut client = gateway.legacy(path).await;
        assert_eq!(client.send(Method::DELETE, &[], "").await.status, 200);
        replies.push(client.post(request("ping", json!({}))).await);
        for reply in replies {
            assert_eq!(reply.status, 404);
            let error = &reply.message()["error"];
            assert_eq!(error["code"], -32001, "{error}");
            assert_eq!(error["message"], "Session not found");
        }
    }
    let mut old = gateway.client("/messages?sessionId=gone");
    let reply = old.post(request("ping", json!({}))).await;
    assert_eq!(reply.status, 404);
    assert_eq!(reply.message()["error"]["code"], -32001);
}

#[tokio::test]
async fn a_client_of_event_streams_alone_gets_nothing_else() {
    let gateway = Served::start(&servers([("s", echo(&[]))])).await;
    // The handshake of a client that knows nothing but event streams.
    let mut client = gateway.client("/mcp").header("accept", EVENTS);
    let reply = client.post(request("initialize", json!({}))).await;
    assert_eq!((reply.status.as_u16(), kind(&reply)), (200, EVENTS));
    assert!(
        String::from_utf8_lossy(&reply.body).contains("event: message\ndata: {"),
        "{reply:?}"
    );
    assert_eq!(reply.message()["result"]["protocolVersion"], LEGACY);
    let session = reply
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let mut client = client.clone_for(&[("mcp-session-id", &session)]);
    for (body, right) in [
        (request("ping", json!({})), "/result"),
        (call("s__echo", json!({"nonce": "n"})), "/result/content"),
        (call("s__nothing", json!({})), "/error/code"),
        (request("no/such", json!({})), "/error/code"),
    ] {
        let reply = client.post(body.clone()).await;
        assert_eq!(
            (reply.status.as_u16(), kind(&reply)),
            (200, EVENTS),
            "{body}"
        );
        let answer = reply.message();
        assert!(answer.pointer(right).is_some(), "{body}: {answer}");
    }
    // Modern, too; what is refused by its status is JSON for everybody.
    let mut client = gateway.client("/mcp").header("accept", EVENTS);
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        (
            "tools/call",
            json!({"name": "s__echo", "arguments": {"nonce": "n"}}),
        ),
        ("tools/call", json!({"name": "s__nothing"})),
    ] {
        let reply = client.modern(method, params).await;
        assert_eq!(
            (reply.status.as_u16(), kind(&reply)),
            (200, EVENTS),
            "{method}"
        );
        assert_eq!(reply.messages().len(), 1);
    }
    let reply = client.modern("no/such", json!({})).await;
    assert_eq!((reply.status.as_u16(), kind(&reply)), (404, JSON));
    let reply = client.post("{nope").await;
    assert_eq!((reply.status.as_u16(), kind(&reply)), (400, JSON));
}

#[tokio::test]
async fn a_client_of_json_alone_waits_for_the_result() {
    let gateway = Served::start(&servers([("s", echo(&[]))])).await;
    let slow = json!({"steps": 5, "intervalMs": 40});
    for accept in [JSON, "application/json, text/event-stream;q=0"] {
        let mut client = accepting(&gateway.legacy("/mcp").await, accept);
        let reply = client.post(call("s__progress", slow.clone())).await;
        assert_eq!((reply.status.as_u16(), kind(&reply)), (200, JSON));
        assert_eq!(text_of(&reply.message()), "5 steps");
        let mut client = gateway.client("/mcp").header("accept", accept);
        let params =
            json!({"name": "s__progress", "arguments": slow, "_meta": {"progressToken": 1}});
        let reply = client.modern("tools/call", params).await;
        assert_eq!((reply.status.as_u16(), kind(&reply)), (200, JSON));
        assert_eq!(text_of(&reply.message()), "5 steps");
        let listen = json!({"notifications": {"toolsListChanged": true}});
        let reply = client.modern("subscriptions/listen", listen).await;
        assert_eq!((reply.status.as_u16(), kind(&reply)), (406, JSON));
    }
}

/// Questions go to a client of JSON alone where it listens, and are otherwise
/// answered as if it had not declared that it takes any.
#[tokio::test]
async fn a_client_of_json_alone_is_asked_where_it_listens() {
    let modern = command("echo-server", ["--stdio", "--era", "modern"]);
    let gateway = Served::start(&servers([("old", echo(&[])), ("new", modern)])).await;
    for server in ["old", "new"] {
        // A session of its own: that the last one's stream is gone is noticed in time, and not at once.
        let able = able_to(&gateway, "/mcp", json!({"elicitation": {}})).await;
        let mut client = accepting(&able, JSON);
        let tool = format!("{server}__elicit");
        let refused = client.post(call(&tool, json!({}))).await;
        assert_eq!(kind(&refused), JSON);
        let refused = refused.message().to_string();
        assert!(refused.contains("elicitation"), "asked nobody: {refused}");
        let mut listening = accepting(&able, EVENTS).listen().await;
        let answering = async {
            let question = loop {
                let message = listening.message().await.expect("a question");
                if message["method"] == "elicitation/create" {
                    break message;
                }
            };
            let answer = json!({"jsonrpc": "2.0", "id": question["id"],
                "result": {"action": "accept", "content": {"answer": "here"}}});
            let reply = accepting(&able, JSON).post(answer.to_string()).await;
            assert_eq!(reply.status, 202);
        };
        let body = call(&tool, json!({}));
        let (reply, ()) = tokio::join!(client.post(body), answering);
        assert_eq!(kind(&reply), JSON);
        let text = text_of(&reply.message()).to_owned();
        assert!(text.contains("here"), "{server}: {text}");
    }
}

#[tokio::test]
async fn both_or_no_word_at_all_leaves_the_choice_to_us() {
    let gateway = Served::start(&servers([("s", echo(&[]))])).await;
    let session = gateway.legacy("/mcp").await;
    let slow = json!({"steps": 3, "intervalMs": 200});
    for accept in [Some("*/*"), Some("text/html, */*;q=0.1"), None] {
        let mut client = session.clone_for(&[]);
        match accept {
            Some(accept) => client.headers.insert("accept".into(), accept.into()),
            None => client.headers.remove("accept"),
        };
        let reply = client.post(request("ping", json!({}))).await;
        assert_eq!((reply.status.as_u16(), kind(&reply)), (200, JSON));
        let reply = client.post(call("s__progress", slow.clone())).await;
        assert_eq!((reply.status.as_u16(), kind(&reply)), (200, EVENTS));
        assert_eq!(reply.messages().len(), 4, "three steps and the answer");
    }
}

#[tokio::test]
async fn what_we_do_not_have_is_not_acceptable() {
    let gateway = Served::start(&servers([("s", echo(&[]))])).await;
    let session = gateway.legacy("/mcp").await;
    for accept in ["text/html", "application/json;q=0", "*/*;q=0.0", "image/*"] {
        let mut client = accepting(&session, accept);
        let reply = client.post(request("ping", json!({}))).await;
        assert_eq!(
            (reply.status.as_u16(), kind(&reply)),
            (406, JSON),
            "{accept}"
        );
        assert_eq!(reply.message()["error"]["code"], -32600);
        let mut client = gateway.client("/mcp").header("accept", accept);
        let reply = client.modern("tools/list", json!({})).await;
        assert_eq!(
            (reply.status.as_u16(), kind(&reply)),
            (406, JSON),
            "{accept}"
        );
        let reply = client.post(request("initialize", json!({}))).await;
        assert_eq!(reply.status, 406);
    }
}
