//! What a client may not bring to a server, and a server not to a client: other
//! people's state, methods of the other direction, and what is between us and a server.

use super::one_reading::{TOOLS, Wired, launch, script};
use crate::support::crossing::{self, Recorder, Side};
use serde_json::json;
use switchboard_testkit::{LEGACY, StdioClient, record, with_meta};

/// A header loses the white space around it, so that it would name another method
/// than the body.
#[tokio::test]
async fn a_method_that_no_header_can_say_is_refused() {
    let none = json!({});
    let mut wired = Wired::at(Side::Http, &script(TOOLS), true, &none, &[]).await;
    let request = |method: &str| {
        let params = with_meta(json!({}));
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
    };
    for method in [
        " com.example/wipe",
        "com.example/wipe ",
        "com.example/wipe\t",
        "com.example/ wipe",
        "com.example/wipé",
        "",
    ] {
        let answer = wired.send(&request(method)).await;
        assert_eq!(answer["error"]["code"], -32600, "{method:?}: {answer}");
    }
    let answer = wired.send(&request("com.example/wipe")).await;
    assert!(answer.get("result").is_some(), "{answer}");
    let all = record::read(&wired.recorder.record).unwrap();
    let wipes = all
        .iter()
        .filter(|message| crossing::contains(message, "com.example"));
    assert_eq!(wipes.count(), 1, "only the plain one arrived");
}

/// What a client of the handshake era writes there is no state of its own, and it
/// can have no answers before it was asked.
#[tokio::test]
async fn a_legacy_client_brings_no_state_to_a_modern_server() {
    let recorder = Recorder::new(Side::Stdio, &script(TOOLS), true).await;
    let args = ["serve", "--only", "odd"];
    let launch = launch(&recorder.entry, &json!({}), &args);
    let mut client = StdioClient::new(launch.spawn());
    client.initialize(LEGACY).await;
    let foreign =
        json!({"requestState": "STATE-of-another", "inputResponses": {"k": {"action": "accept"}}});
    for (method, own) in [
        ("tools/call", json!({"name": "ok", "arguments": {}})),
        ("prompts/get", json!({"name": "p"})),
        ("resources/read", json!({"uri": "file:///a"})),
    ] {
        let mut params = own;
        params
            .as_object_mut()
            .unwrap()
            .extend(foreign.as_object().unwrap().clone());
        let answer = client.request(method, params).await;
        assert!(answer.get("result").is_some(), "{method}: {answer}");
    }
    let all = record::read(&recorder.record).unwrap();
    let calls = all
        .iter()
        .filter(|message| crossing::contains(message, "file:///a"));
    assert_eq!(calls.count(), 1, "they did reach the server");
    for message in &all {
        for word in ["STATE-of-another", "inputResponses", "requestState"] {
            let text = String::from_utf8_lossy(message);
            assert!(!crossing::contains(message, word), "{word} in {text}");
        }
    }
}

/// No rule is about what only servers ask: it would reach them in every mode.
#[tokio::test]
async fn what_servers_ask_is_not_asked_of_them() {
    let tools = TOOLS.replace(
        r#""name":"ok","#,
        r#""name":"ok","annotations":{"readOnlyHint":true},"#,
    );
    let allowed = json!({"allow": ["mcp__odd__ok"]});
    for mode in ["client", "read-only"] {
        let args = ["--permission-mode", mode];
        let mut wired = Wired::at(Side::Stdio, &script(&tools), false, &allowed, &args).await;
        for method in ["elicitation/create", "sampling/createMessage", "roots/list"] {
            let params = json!({"message": "backwards", "requestedSchema": {}, "messages": []});
            let answer = wired.client.request(method, params).await;
            assert_eq!(answer["error"]["code"], -32601, "{mode} {method}: {answer}");
        }
        for method in [
            "notifications/message",
            "notifications/tools/list_changed",
            "notifications/resources/updated",
            "notifications/elicitation/complete",
        ] {
            let params = json!({"data": "backwards", "level": "error", "uri": "a:b"});
            wired.client.notify(method, params).await;
        }
        let reached = wired.reached().await;
        let bad = reached.iter().find(|message| message.contains("backwards"));
        assert_eq!(bad, None, "{mode}");
        let bad = reached
            .iter()
            .find(|message| message.contains("roots/list\""));
        assert_eq!(bad, None, "{mode}");
    }
}

/// What is between us and a server is not for clients, whatever the server's era.
#[tokio::test]
async fn a_complaint_about_headers_or_versions_reaches_no_client() {
    for code in [-32020, -32022] {
        let error = format!(
            r#"{{"jsonrpc":"2.0","id":@ID@,"error":{{"code":{code},"message":"not so"}}}}"#
        );
        let mut answers = script(TOOLS);
        answers.insert(
            0,
            json!({"method": "tools/call", "match": "\"odd\"", "message": error}),
        );
        let none = json!({});
        let mut wired = Wired::at(Side::Stdio, &answers, false, &none, &[]).await;
        let answer = wired.client.call("ok", json!({"x": "odd"})).await;
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert_eq!(answer["error"]["data"]["server"], "odd", "{answer}");
        let text = answer["error"].to_string();
        assert!(text.contains("not so"), "{answer}");
        let sent = wired.reached().await;
        let calls = sent.iter().filter(|it| it.contains("\"x\":\"odd\""));
        assert_eq!(calls.count(), 1, "it is not sent again");
    }
}

/// Some servers find a tool whatever the case of its name, or with a space behind it:
/// what forbids it, asks first or leaves it out is not passed by spelling it so.
#[tokio::test]
async fn what_is_forbidden_is_so_in_every_spelling() {
    let spellings = |name: &str| {
        let upper = name.to_uppercase();
        let inner = format!("{} {}", &name[..3], &name[3..]);
        let unseen = format!("{}\u{200b}{}", &name[..3], &name[3..]);
        [
            upper,
            inner,
            unseen,
            format!(" {name}\t"),
            format!("{name} "),
            format!("{name}\u{200b}"),
            format!("{name}\u{3164}"),
            format!("\u{feff}{name}"),
            name.replace('k', "\u{212a}").replace('s', "\u{17f}"),
        ]
    };
    let tools = r#"{"tools":[{"name":"ok","inputSchema":{}},{"name":"task_forbidden","inputSchema":{}},{"name":"task asked","inputSchema":{}}]}"#;
    let rules = json!({
        "deny": ["mcp__odd__task_forbidden"], "ask": ["mcp__odd__task_asked"],
    });
    let mut wired = Wired::at(Side::Stdio, &script(tools), false, &rules, &[]).await;
    let forbidden = spellings("task_forbidden").into_iter();
    let prompts = forbidden.clone().map(|name| ("prompts/get", name));
    let asked = spellings("task asked").into_iter();
    let tools = forbidden.chain(asked).chain(["task  asked".to_owned()]);
    for (method, name) in tools.map(|name| ("tools/call", name)).chain(prompts) {
        let params = json!({"name": name, "arguments": {"spelt": "so"}});
        let answer = wired.client.request(method, params).await;
        assert!(answer["error"].is_object(), "{method} {name:?}: {answer}");
    }
    let reached = wired.reached().await;
    let bad = reached.iter().find(|message| message.contains("spelt"));
    assert_eq!(bad, None);
}

/// The same for what a server's own entry leaves out.
#[tokio::test]
async fn what_an_entry_leaves_out_is_so_in_every_spelling() {
    let tools = r#"{"tools":[{"name":"ok","inputSchema":{}},{"name":"wipe","inputSchema":{}}]}"#;
    let mut recorder = Recorder::new(Side::Stdio, &script(tools), false).await;
    recorder.entry["tools"] = json!({"deny": ["Wipe"]});
    let launch = launch(&recorder.entry, &json!({}), &["serve", "--only", "odd"]);
    let mut client = StdioClient::new(launch.spawn());
    client.initialize(LEGACY).await;
    for name in ["wipe", "WIPE", "Wipe ", "w\u{200b}ipe", "w ipe"] {
        let answer = client.call(name, json!({"spelt": "so"})).await;
        assert_eq!(answer["error"]["code"], -32602, "{name:?}: {answer}");
    }
    let answer = client.call("ok", json!({})).await;
    assert!(answer.get("result").is_some(), "{answer}");
    let all = record::read(&recorder.record).unwrap();
    assert!(
        !all.iter()
            .any(|message| crossing::contains(message, "spelt"))
    );
}
