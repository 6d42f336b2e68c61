//! Tools that are searched for instead of listed (`--tools`), on every face and in
//! both eras: the called tool's own rules, pins, questions and errors hold.

use crate::support::scripted::{Scripted, call};
use http::Method;
use serde_json::{Value, json};
use std::fs;
use switchboard_testkit::world::{
    Client, Gateway, World, able_to, command, echo, http, servers, stdio, tool_names, until_listed,
};
use switchboard_testkit::{Channel, HttpClient, LEGACY, StdioClient, text_of};

const OWN: [&str; 2] = ["search_tools", "call_tool"];

async fn searching(servers: &Value, args: &[&str]) -> Gateway {
    Gateway::launch(http(servers).args(args)).await
}

/// The definitions that a search gives.
async fn found(client: &mut Client, query: &str) -> Vec<Value> {
    let text = client.call("search_tools", json!({"query": query})).await;
    let lines = text.lines().map(serde_json::from_str);
    lines.filter_map(Result::ok).collect()
}

fn named<'a>(tools: &'a [Value], name: &str) -> Option<&'a Value> {
    tools.iter().find(|tool| tool["name"] == name)
}

#[tokio::test]
async fn what_is_found_is_called_by_its_name() {
    let both = servers([("a", echo(&[])), ("b", echo(&[]))]);
    let gateway = searching(&both, &["--tools", "search"]).await;
    for modern in [false, true] {
        let mut client = Client::new(&gateway, "/mcp", modern).await;
        let listed = client.list("tools/list", "tools", "name").await;
        assert_eq!(listed, OWN);
        let tools = found(&mut client, "select:a__echo").await;
        let echo = named(&tools, "a__echo").expect("it is found");
        assert!(
            echo["inputSchema"]["properties"]["nonce"].is_object(),
            "{echo}"
        );
        // By way of the tool, and directly.
        let inner = json!({"name": "a__echo", "arguments": {"nonce": "n"}});
        assert_eq!(client.call("call_tool", inner).await, "n");
        assert_eq!(client.call("a__echo", json!({"nonce": "m"})).await, "m");
        // The list does not depend on what was searched or called.
        let listed = client.list("tools/list", "tools", "name").await;
        assert_eq!(listed, OWN);
        // Others are as they are.
        for (arguments, code) in [
            (json!({"name": "a__nothing"}), -32602),
            (
                json!({"name": "call_tool", "arguments": {"name": "a__pid"}}),
                -32602,
            ),
            (json!({"arguments": {}}), -32602),
            (json!({"name": "a__pid", "arguments": []}), -32602),
            (json!({"name": "a__pid", "Name": "a__count"}), -32602),
        ] {
            let answer = client.try_call("call_tool", arguments.clone()).await;
            assert_eq!(answer["error"]["code"], code, "{arguments}: {answer}");
        }
        // One server alone stays as it is.
        let mut client = Client::new(&gateway, "/mcp/a", modern).await;
        let listed = client.list("tools/list", "tools", "name").await;
        assert!(listed.contains(&"echo".to_owned()), "{listed:?}");
    }
}

#[tokio::test]
async fn every_face_has_it_and_nobody_who_did_not_ask() {
    let both = servers([("a", echo(&[])), ("b", echo(&[]))]);
    let gateway = searching(&both, &["--tools", "search"]).await;
    let ws = gateway.url.replace("http://", "ws://");
    let launch = stdio(&both).args(["--tools", "search"]);
    let channels = [
        Channel::sse(&format!("{}/sse", gateway.url), &[]).await,
        Channel::ws(&format!("{ws}/ws"), &[]).await,
        Channel::stdio(launch.spawn()),
    ];
    for mut channel in channels {
        channel.initialize(LEGACY).await;
        let listed = channel.request("tools/list", json!({})).await;
        let listed = listed["result"]["tools"].as_array().unwrap().len();
        assert_eq!(listed, OWN.len());
        let inner = json!({"name": "b__echo", "arguments": {"nonce": "n"}});
        let answer = channel.call("call_tool", inner).await;
        assert_eq!(text_of(&answer), "n", "{answer}");
    }
    let gateway = searching(&both, &[]).await;
    let mut client = Client::new(&gateway, "/mcp", false).await;
    let listed = client.list("tools/list", "tools", "name").await;
    assert!(
        !listed.iter().any(|name| OWN.contains(&name.as_str())),
        "{listed:?}"
    );
    let answer = client
        .try_call("search_tools", json!({"query": "echo"}))
        .await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[tokio::test]
async fn what_is_denied_is_not_found_and_what_is_asked_is_asked() {
    let both = servers([("a", echo(&[])), ("b", echo(&[]))]);
    let rules = json!({"permissions": {"deny": ["mcp__a__count"], "ask": ["mcp__a__echo"]}});
    let launch = http(&both).args(["--tools", "search"]);
    let folder = launch.home().join(".config/switchboard");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("settings.json"), rules.to_string()).unwrap();
    let gateway = Gateway::launch(launch).await;
    for modern in [false, true] {
        let mut client = Client::new(&gateway, "/mcp", modern).await;
        let tools = found(&mut client, "select:a__count,b__count").await;
        assert!(named(&tools, "a__count").is_none(), "{tools:?}");
        assert!(named(&tools, "b__count").is_some(), "{tools:?}");
        let inner = json!({"name": "a__count", "arguments": {}});
        let answer = client.try_call("call_tool", inner).await;
        assert!(answer["error"].is_object(), "{answer}");
        // The counter has not been touched.
        let inner = json!({"name": "a__counted", "arguments": {}});
        assert_eq!(client.call("call_tool", inner).await, "0");
    }
    // Consent is asked for under the name of the tool that is called.
    let able = able_to(&gateway, "/mcp", json!({"elicitation": {}})).await;
    let body = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "call_tool",
        "arguments": {"name": "a__echo", "arguments": {"nonce": "mine"}}}});
    let mut asking = able.clone_for(&[]);
    let mut stream = asking.open(Method::POST, &[], body.to_string()).await;
    let question = stream.message().await.expect("a question");
    let words = question["params"]["message"].as_str().unwrap();
    assert!(
        words.contains("mcp__a__echo") && words.contains("mine"),
        "{words}"
    );
    assert!(!words.contains("call_tool"), "{words}");
    let yes = json!({"jsonrpc": "2.0", "id": question["id"],
        "result": {"action": "accept", "content": question_answer(&question)}});
    able.clone_for(&[]).post(yes.to_string()).await;
    let answer = stream.message().await.expect("an answer");
    assert_eq!(text_of(&answer), "mine", "{answer}");
}

/// The first way to say yes once.
fn question_answer(question: &Value) -> Value {
    let properties = question["params"]["requestedSchema"]["properties"].clone();
    let mut content = json!({});
    for (name, property) in properties.as_object().unwrap() {
        let first = property["enum"]
            .get(0)
            .or(property["oneOf"][0].get("const"));
        content[name] = first.cloned().unwrap_or(json!(true));
    }
    content
}

/// A tool that asks its client, by way of `call_tool`, in both eras.
#[tokio::test]
async fn questions_of_the_called_tool_come_back() {
    let modern = command("echo-server", ["--stdio", "--era", "modern"]);
    let gateway = searching(
        &servers([("old", echo(&[])), ("new", modern)]),
        &["--tools", "search"],
    )
    .await;
    for server in ["old", "new"] {
        let inner = json!({"name": format!("{server}__elicit"), "arguments": {}});
        let params = json!({"name": "call_tool", "arguments": inner});
        let mut client = gateway.client("/mcp");
        let first = client.modern("tools/call", params.clone()).await.message();
        let result = &first["result"];
        assert_eq!(result["resultType"], "input_required", "{first}");
        let (key, _) = result["inputRequests"]
            .as_object()
            .unwrap()
            .iter()
            .next()
            .unwrap();
        let mut again = params;
        again["requestState"] = result["requestState"].clone();
        again["inputResponses"] = json!({key: {"action": "accept", "content": {"answer": "here"}}});
        let last = client.modern("tools/call", again).await.message();
        assert!(text_of(&last).contains("here"), "{last}");
    }
}

#[tokio::test]
async fn each_token_has_its_own_choice() {
    let stage = World::with(&servers([("a", echo(&[]))]));
    stage.run(&["token", "create", "ci"]).await.ok();
    let args = ["--tools", "search", "--tools", "ci=all"];
    let gateway = stage.gateway_with(&args).await;
    for (token, all) in [("default", false), ("ci", true)] {
        let secret = stage.token(&format!("tokens/{token}"));
        let mut client = HttpClient::new(&format!("{}/mcp", gateway.url().await))
            .header("authorization", &format!("Bearer {secret}"));
        let reply = client.modern("tools/list", json!({})).await.message();
        let tools = reply["result"]["tools"].as_array().unwrap().clone();
        assert_eq!(
            named(&tools, "a__echo").is_some(),
            all,
            "{token}: {tools:?}"
        );
        assert_eq!(
            named(&tools, "search_tools").is_some(),
            !all,
            "{token}: {tools:?}"
        );
    }
    // A command of a client that wants another list does not use this gateway.
    let mut client = stage.client(&[]);
    client.initialize(LEGACY).await;
    assert!(
        tool_names(&mut client)
            .await
            .contains(&"a__echo".to_owned())
    );
}

/// With `auto` it depends on how much there is, and clients hear when that changes.
#[tokio::test]
async fn much_is_searched_and_little_is_listed() {
    let large = |count: usize| {
        let tool = |at: usize| {
            json!({"name": format!("tool_{at}"), "description": "word ".repeat(200),
            "inputSchema": {"type": "object"}})
        };
        let tools: Vec<Value> = (0..count).map(tool).collect();
        let script =
            [json!({"method": "tools/list", "reply": json!({"tools": tools}).to_string()})];
        Scripted::new("legacy", &script)
    };
    let (little, much) = (large(3), large(100));
    let stage = World::with(&servers([("a", little.stdio())]));
    let mut client: StdioClient = stage.client(&["--tools", "auto"]);
    client.initialize(LEGACY).await;
    assert_eq!(tool_names(&mut client).await.len(), 3);
    stage.configure(&servers([("a", little.stdio()), ("b", much.stdio())]));
    client
        .notification("notifications/tools/list_changed")
        .await;
    until_listed(&mut client, |names| names == OWN).await;
    stage.configure(&servers([("a", little.stdio())]));
    until_listed(&mut client, |names| names.len() == 3).await;
}

/// Tools that are always loaded stay; resources can be found, listed and read.
#[tokio::test]
async fn resources_by_way_of_tools_and_tools_that_never_wait() {
    let tools = json!({"tools": [
        {"name": "eager", "inputSchema": {"type": "object"}, "_meta": {"anthropic/alwaysLoad": true}},
        {"name": "patient", "inputSchema": {"type": "object"}},
        {"name": "page", "inputSchema": {"type": "object"}, "_meta": {"ui": {"visibility": ["app"]}}},
    ], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
    let list = json!({"resources": [{"uri": "x://1", "name": "one"}],
        "resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
    let text = json!({"contents": [{"uri": "x://1", "text": "inside"}],
        "resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
    for era in ["legacy", "modern"] {
        let server = Scripted::new(
            era,
            &[
                json!({"method": "tools/list", "reply": tools.to_string()}),
                json!({"method": "resources/list", "reply": list.to_string()}),
                json!({"method": "resources/read", "reply": text.to_string()}),
                call("patient"),
            ],
        );
        let gateway = searching(&servers([("s", server.stdio())]), &["--tools", "search"]).await;
        for modern in [false, true] {
            let mut client = Client::new(&gateway, "/mcp", modern).await;
            let listed = client.list("tools/list", "tools", "name").await;
            assert_eq!(listed, [OWN[0], OWN[1], "s__eager"]);
            let tools = found(&mut client, "select:s__patient,s__page,list_resources").await;
            assert!(named(&tools, "s__patient").is_some(), "{tools:?}");
            assert!(
                named(&tools, "s__page").is_none(),
                "for pages alone: {tools:?}"
            );
            assert!(named(&tools, "list_resources").is_some(), "{tools:?}");
            let inner = json!({"name": "list_resources", "arguments": {}});
            let shown = client.call("call_tool", inner).await;
            assert!(shown.contains("x://1"), "{shown}");
            let inner = json!({"name": "read_resource", "arguments": {"uri": "x://1"}});
            let answer = client.try_call("call_tool", inner).await;
            let inside = &answer["result"]["content"][0]["resource"]["text"];
            assert_eq!(*inside, "inside", "{answer}");
            let answer = client
                .try_call("read_resource", json!({"url": "x://1"}))
                .await;
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
    }
}
