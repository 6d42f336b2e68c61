//! How a cassette is played: order, misses, several servers, both eras.

use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::{
    LEGACY, StdioClient,
    world::{World, config, echo, servers, shell_server, tool_names},
};

fn tape(world: &World, calls: &[Value]) -> String {
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
        "serverInfo": {"name": "played", "version": "1"},
    });
    let first = json!({"cassette": 1, "recorded": "2026-01-01T00:00:00Z", "by": "a test",
        "servers": [{"server": "a", "era": "legacy", "result": hello}]});
    let mut text = format!("{first}\n");
    for call in calls {
        let mut line = json!({"server": "a", "era": "legacy", "at": 0, "took": 0});
        line.as_object_mut()
            .unwrap()
            .extend(call.as_object().unwrap().clone());
        text.push_str(&format!("{line}\n"));
    }
    world.write("home/a.mcp.jsonl", text).display().to_string()
}

fn said(name: &str, arguments: Value, text: &str) -> Value {
    json!({
        "method": "tools/call", "params": {"name": name, "arguments": arguments},
        "result": {"content": [{"type": "text", "text": text}]},
    })
}

async fn player(world: &World, args: &[&str]) -> StdioClient {
    let mut client = StdioClient::new(world.launch(args).spawn());
    client.initialize(LEGACY).await;
    client
}

async fn call(client: &mut StdioClient, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": 7}});
    let id = client.start("tools/call", params).await;
    client.response(id).await
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn the_same_request_is_answered_in_order_and_then_as_the_last_time() {
    let world = World::new();
    let file = tape(
        &world,
        &[
            said("count", json!({"by": 1, "of": "a"}), "one"),
            said("other", json!({}), "other"),
            said("count", json!({"of": "a", "by": 1}), "two"),
        ],
    );
    let mut client = player(&world, &["replay", &file]).await;
    for expected in ["one", "two", "two", "two"] {
        let answer = call(&mut client, "count", json!({"by": 1, "of": "a"})).await;
        assert_eq!(text(&answer), expected);
    }
    assert_eq!(text(&call(&mut client, "other", json!({})).await), "other");
}

#[tokio::test]
async fn a_miss_says_what_is_closest_and_where_it_differs() {
    let world = World::new();
    let file = tape(
        &world,
        &[
            said("far", json!({"x": 1, "y": 2}), "far"),
            said("near", json!({"x": 1, "y": 2}), "near"),
        ],
    );
    let mut client = player(&world, &["replay", &file]).await;
    let answer = call(&mut client, "near", json!({"x": 1, "y": 3})).await;
    let error = &answer["error"];
    assert!(
        error["message"].as_str().unwrap().contains("line 3"),
        "{answer}"
    );
    assert_eq!(error["data"]["closest"]["line"], 3, "{answer}");
    assert_eq!(
        error["data"]["differences"],
        json!([{"path": "/arguments/y", "recorded": 2, "asked": 3}]),
        "{answer}"
    );
    // Nothing of the kind.
    let id = client.start("prompts/get", json!({"name": "x"})).await;
    assert!(client.response(id).await["error"].is_object());
    drop(client);
    let mut client = player(&world, &["replay", &file, "--closest"]).await;
    let answer = call(&mut client, "near", json!({"x": 1, "y": 3})).await;
    assert_eq!(text(&answer), "near");
    let id = client.start("tools/list", json!({})).await;
    assert_eq!(client.response(id).await["result"]["tools"], json!([]));
}

#[tokio::test]
async fn what_is_asked_is_asked_again_and_wants_the_same_answer() {
    let world = World::new();
    let mut asks = said("ask", json!({}), "thanks");
    asks["between"] = json!([
        {"at": 1, "notice": "notifications/progress", "params": {"progressToken": 99, "progress": 1}},
        {"at": 2, "question": "elicitation/create",
         "params": {"message": "who?", "requestedSchema": {"type": "object", "properties": {}}},
         "answered": 5, "result": {"action": "accept", "content": {"name": "Ada"}}},
    ]);
    let file = tape(&world, &[asks]);
    for (name, is_same) in [("Ada", true), ("Bob", false)] {
        let mut client = StdioClient::new(world.launch(&["replay", &file]).spawn());
        let answer = json!({"result": {"action": "accept", "content": {"name": name}}});
        client.on_request(move |method, _| {
            assert_eq!(method, "elicitation/create");
            answer.clone()
        });
        let hello = json!({
            "protocolVersion": LEGACY, "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "a test", "version": "1"},
        });
        client.request("initialize", hello).await;
        client.notify("notifications/initialized", json!({})).await;
        let came = call(&mut client, "ask", json!({})).await;
        assert_eq!(client.requests.len(), 1);
        assert_eq!(client.requests[0]["params"]["message"], "who?");
        let progress = &client.notifications[0]["params"];
        assert_eq!(*progress, json!({"progressToken": 7, "progress": 1}));
        if is_same {
            assert_eq!(text(&came), "thanks");
        } else {
            let differences = &came["error"]["data"]["differences"];
            assert_eq!(differences[0]["path"], "/result/content/name", "{came}");
        }
    }
}

#[tokio::test]
async fn several_servers_and_eras_are_recorded_together_and_told_apart() {
    let world = World::new();
    let folder = world.path("tapes").display().to_string();
    let entries = servers([
        ("left", echo(&["--name", "left", "--era", "legacy"])),
        ("right", echo(&["--name", "right", "--era", "modern"])),
    ]);
    let text = config(&entries);
    let args = [
        "--strict-mcp-config",
        "--mcp-config",
        &text,
        "serve",
        "--record",
        &folder,
    ];
    let mut client = player(&world, &args).await;
    for (server, word) in [("left", "l"), ("right", "r")] {
        let name = format!("{server}__echo");
        let answer = client
            .call(
                &name,
                json!({"nonce": word, "token": "ghp_0123456789abcdefghijABCDEFGHIJ456789"}),
            )
            .await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    client.close();
    client.program.wait(Duration::from_secs(60)).await;
    let file = super::recording::recorded_in(&world.path("tapes"));
    let whole = std::fs::read_to_string(&file).unwrap();
    assert!(!whole.contains("ghp_0123"), "{whole}");
    let file = file.display().to_string();
    let ran = world.run(&["replay", &file]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err.contains("left") && ran.err.contains("right"),
        "{}",
        ran.err
    );
    for (server, word) in [("left", "l"), ("right", "r")] {
        let mut client = player(&world, &["replay", &file, "--server", server]).await;
        let arguments = json!({"nonce": word, "token": "ghp_0123456789abcdefghijABCDEFGHIJ456789"});
        let answer = call(&mut client, "echo", arguments).await;
        assert!(answer["result"].is_object(), "{server}: {answer}");
        let other = if word == "l" { "r" } else { "l" };
        let answer = call(&mut client, "echo", json!({"nonce": other})).await;
        assert!(answer["error"].is_object(), "{server}: {answer}");
    }
}

/// A server that has nothing but tools was asked for nothing else, and answers nothing else.
#[tokio::test]
async fn what_is_exported_holds_against_a_server_that_has_only_tools() {
    let world = World::new();
    let folder = world.path("home");
    let entry = shell_server("", "", &folder);
    world.configure(&json!({"s": entry}));
    let _gateway = world.gateway_with(&["--tap"]).await;
    let mut asker = player(&world, &["serve", "--gateway"]).await;
    for list in ["tools", "resources", "resources/templates", "prompts"] {
        let id = asker.start(&format!("{list}/list"), json!({})).await;
        asker.response(id).await;
    }
    call(&mut asker, "s__ok", json!({})).await;
    let ran = world.run(&["traffic", "export", "server:s"]).await.ok();
    assert!(ran.out.contains("tools/list"), "{}", ran.out);
    for invented in ["resources", "prompts"] {
        assert!(!ran.out.contains(invented), "{invented}: {}", ran.out);
    }
    let file = world.write("home/s.mcp.jsonl", &ran.out);
    let script = entry["args"][1].as_str().unwrap();
    let words = [
        "verify",
        &file.display().to_string(),
        "--",
        "sh",
        "-c",
        script,
    ];
    let verified = world.run(&words).await;
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

/// What a gateway has kept of calls is a cassette as well.
#[tokio::test]
async fn calls_that_are_kept_are_exported() {
    let world = World::with(&servers([("left", echo(&[])), ("right", echo(&[]))]));
    let _gateway = world.gateway_with(&["--tap"]).await;
    let mut asker = player(&world, &["serve", "--gateway"]).await;
    // What is known of lists goes along.
    tool_names(&mut asker).await;
    for (server, word) in [("left", "one"), ("right", "two"), ("left", "three")] {
        let name = format!("{server}__echo");
        call(&mut asker, &name, json!({"nonce": word})).await;
    }
    let ran = world
        .run(&["traffic", "export", "server:left", "tool:echo"])
        .await
        .ok();
    let file = world.write("home/left.mcp.jsonl", &ran.out);
    let file = file.display().to_string();
    let mut client = player(&world, &["replay", &file]).await;
    for word in ["one", "three"] {
        let answer = call(&mut client, "echo", json!({"nonce": word})).await;
        assert!(answer.to_string().contains(word), "{answer}");
    }
    let answer = call(&mut client, "echo", json!({"nonce": "two"})).await;
    assert!(answer["error"].is_object(), "{answer}");
    let id = client.start("tools/list", json!({})).await;
    let listed = client.response(id).await;
    assert!(listed.to_string().contains("\"echo\""), "{listed}");
    let none = world.run(&["traffic", "export", "server:nobody"]).await;
    assert_ne!(none.code, Some(0), "{none:?}");
}

/// However much that is: it comes piece by piece.
#[tokio::test]
async fn all_that_is_kept_is_exported() {
    let world = World::with(&servers([("left", echo(&[]))]));
    let _gateway = world.gateway_with(&["--tap"]).await;
    let mut asker = player(&world, &["serve", "--gateway"]).await;
    let (calls, size) = (10, 1024 * 1024);
    for number in 0..calls {
        let nonce = format!("{number}{}", " word".repeat(size / 5));
        call(&mut asker, "left__echo", json!({"nonce": nonce})).await;
    }
    let ran = world.run(&["traffic", "export", "tool:echo"]).await.ok();
    // Asked and answered.
    assert!(ran.out.len() > 2 * calls * size, "{} bytes", ran.out.len());
    let is_call = |line: &&str| line.contains("\"tools/call\"");
    assert_eq!(ran.out.lines().filter(is_call).count(), calls);
    let file = world.write("home/left.mcp.jsonl", &ran.out);
    let mut client = player(&world, &["replay", &file.display().to_string()]).await;
    let nonce = format!("7{}", " word".repeat(size / 5));
    let answer = call(&mut client, "echo", json!({"nonce": nonce})).await;
    assert!(answer["result"]["content"].is_array(), "{answer}");
}
