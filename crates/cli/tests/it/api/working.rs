//! What each route does, with a gateway and servers that behave.

use super::Asker;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::{
    DEADLINE, HttpClient, LEGACY,
    world::{World, echo},
};

/// What is said of processes, tokens and the record is so.
#[tokio::test]
async fn what_is_promised_is_there() {
    let world = World::with(&json!({"a": echo(&[])}));
    let folder = world.home().join("cassettes");
    let args = ["--record", folder.to_str().unwrap()];
    let gateway = world.gateway_with(&args).await;
    let asker = Asker::control(&world, &gateway).await;
    let token = world.token("tokens/default");
    let mut client = HttpClient::new(&format!("{}/mcp/a", asker.url));
    client = client.header("authorization", &format!("Bearer {token}"));
    client.initialize(LEGACY).await;
    client.call("echo", json!({"nonce": "x"})).await;
    let tap = asker.get("tap").await;
    assert_eq!(tap["record"].as_str(), folder.to_str(), "{tap}");
    let detail = asker.get("servers/a").await;
    let process = &detail["processes"][0];
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap().as_millis() as u64;
    let since = process["since"].as_u64().unwrap();
    assert!(since <= now && now - since < 3_600_000, "{process}");
    assert!(
        process["cpu"].as_f64().is_some_and(|cpu| cpu >= 0.0),
        "{process}"
    );
    assert!(
        process["memory"].as_u64().is_some_and(|bytes| bytes > 0),
        "{process}"
    );
    let flying = async || {
        asker.get("tokens").await["tokens"][0]["inFlight"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(flying().await, 0);
    let slow = tokio::spawn(async move { client.call("sleep", json!({"ms": 600_000})).await });
    let limit = Instant::now() + Duration::from_secs(60);
    while flying().await != 1 {
        assert!(Instant::now() < limit, "it is in flight");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    slow.abort();
}

#[tokio::test]
async fn a_server_is_seen_used_and_explained() {
    let world = World::with(&json!({"a": echo(&[])}));
    let gateway = world.gateway().await;
    let asker = Asker::control(&world, &gateway).await;
    let state = asker.get("state").await;
    let row = &state["servers"][0];
    assert_eq!(
        (&row["name"], &row["state"]["word"]),
        (&json!("a"), &json!("asleep")),
        "{state}"
    );
    assert_eq!(state["gateway"]["edits"], true);
    let done = asker.post("servers/a/reconnect", json!({})).await;
    assert_eq!(done["server"]["state"]["word"], "connected", "{done}");
    let detail = asker.get("servers/a").await;
    assert!(detail["hello"]["serverInfo"].is_object(), "{detail}");
    assert_eq!(detail["processes"].as_array().unwrap().len(), 1);
    let listed = asker.get("servers/a/tools").await;
    let names: Vec<&str> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["name"].as_str())
        .collect();
    assert!(names.contains(&"echo"), "{names:?}");
    let tools = asker.get("tools?server=a").await;
    let tool = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "echo")
        .unwrap()
        .clone();
    assert_eq!(
        (&tool["canonical"], &tool["decision"]),
        (&json!("mcp__a__echo"), &json!("allow")),
        "{tool}"
    );
    let why = asker.get("explain/mcp__a__echo").await;
    assert!(why["lines"].as_array().unwrap().len() > 1, "{why}");
    assert_eq!(
        asker.refused("GET", "explain/nobody", Value::Null).await,
        (404, "not-found".into())
    );
    assert_eq!(
        asker.refused("POST", "servers/a/dance", Value::Null).await,
        (405, "invalid".into())
    );
    let pins = asker.get("pins/a").await;
    assert_eq!(pins["changes"], json!([]));
    asker.get("servers/a/stderr").await;
    // Switched off and on again, where the commands do it.
    let done = asker.post("servers/a/disable", json!({})).await;
    assert_eq!(done["server"]["state"]["word"], "disabled", "{done}");
    assert!(
        world
            .run(&["list", "--no-connect"])
            .await
            .ok()
            .out
            .contains("disabled")
    );
    let done = asker.post("servers/a/enable", json!({})).await;
    assert_ne!(done["server"]["state"]["word"], "disabled", "{done}");
}

#[tokio::test]
async fn rules_and_addresses_are_written_after_the_difference_was_seen() {
    let world = World::with(&json!({"a": echo(&[])}));
    let gateway = world.gateway().await;
    let asker = Asker::control(&world, &gateway).await;
    asker.post("servers/a/reconnect", json!({})).await;
    let before = world.everything();
    let mut rule = json!({"tools": ["mcp__a__echo"], "decision": "deny"});
    let seen = asker.post("tools/rules", rule.clone()).await;
    assert_eq!(seen["written"], false);
    assert_eq!(
        seen["difference"],
        json!(["+ permissions.deny: \"mcp__a__echo\""])
    );
    assert_eq!(
        world.read(world.settings()).as_bytes(),
        before[&world.settings()],
        "nothing is written yet"
    );
    rule["confirm"] = json!("0000");
    assert_eq!(
        asker.refused("POST", "tools/rules", rule.clone()).await,
        (409, "conflict".into())
    );
    rule["confirm"] = seen["digest"].clone();
    assert_eq!(asker.post("tools/rules", rule).await["written"], true);
    let tools = asker.get("tools?server=a").await;
    let echo = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "echo")
        .unwrap()
        .clone();
    assert_eq!(
        (&echo["decision"], &echo["hidden"]),
        (&json!("deny"), &json!(true)),
        "{echo}"
    );
    let rule = json!({"tools": ["mcp__a__echo"], "decision": "none"});
    let seen = asker.post("tools/rules", rule.clone()).await;
    let mut rule = rule;
    rule["confirm"] = seen["digest"].clone();
    asker.post("tools/rules", rule).await;
    // An address brings no command: it is written.
    let mut edit = json!({"what": "add", "name": "far", "entry": {"type": "http", "url": "http://127.0.0.1:1/mcp"}});
    let seen = asker.post("settings/change", edit.clone()).await;
    assert_eq!(
        (&seen["written"], &seen["question"]),
        (&json!(false), &Value::Null),
        "{seen}"
    );
    edit["confirm"] = seen["digest"].clone();
    assert_eq!(asker.post("settings/change", edit).await["written"], true);
    let settings = asker.get("settings").await;
    let entries = settings["entries"].as_array().unwrap();
    assert!(
        entries
            .iter()
            .any(|entry| entry["name"] == "far" && entry["status"] == "used"),
        "{settings}"
    );
    let mut edit = json!({"what": "remove", "name": "far"});
    edit["confirm"] = asker.post("settings/change", edit.clone()).await["digest"].clone();
    assert_eq!(asker.post("settings/change", edit).await["written"], true);
    assert!(!world.read(world.settings()).contains("far"));
}

#[tokio::test]
async fn snippets_forms_and_tokens() {
    let world = World::with(&json!({}));
    let gateway = world.gateway().await;
    let asker = Asker::control(&world, &gateway).await;
    let read = asker
        .post("settings/read", json!({"text": "npx -y some-server"}))
        .await;
    assert_eq!(read["form"], "command", "{read}");
    assert_eq!(read["servers"][0]["entry"]["command"], "npx");
    let explained = read["servers"][0]["explained"].to_string();
    assert!(explained.contains("runs"), "{explained}");
    let schema =
        json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    let form = asker
        .post("forms", json!({"schema": schema, "value": {"n": "x"}}))
        .await;
    assert_eq!(form["root"]["fields"][0]["kind"], "integer");
    assert_eq!(form["faults"][0]["path"], "/n", "{form}");
    let fine = asker
        .post("validate", json!({"schema": schema, "value": {"n": 1}}))
        .await;
    assert_eq!(fine["faults"], json!([]));
    let made = asker.post("tokens", json!({"name": "ada"})).await;
    let own = Asker::new(&asker.url, made["token"].as_str());
    let let_in = async || own.ask("GET", "session", "").await.0;
    assert_eq!(own.get("session").await["principal"], "ada");
    assert_eq!(
        asker
            .refused("POST", "tokens", json!({"name": "ada"}))
            .await
            .0,
        409
    );
    assert_eq!(
        asker
            .refused("POST", "tokens", json!({"name": "../x"}))
            .await
            .0,
        400
    );
    let (status, left) = asker.ask("DELETE", "tokens/ada", "").await;
    assert_eq!(status, 200);
    assert!(!left.to_string().contains("ada"), "{left}");
    let mut status = let_in().await;
    for _ in 0..100 {
        if status == 401 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        status = let_in().await;
    }
    assert_eq!(status, 401);
}

/// What `console` and `up` print opens a session, once.
#[tokio::test]
async fn a_code_opens_once() {
    let world = World::with(&json!({}));
    let gateway = world.gateway().await;
    let asker = Asker::control(&world, &gateway).await;
    let printed = world.run(&["console", "--json"]).await.ok().json();
    let stranger = Asker::new(&asker.url, None);
    let code = json!({"code": printed["code"]});
    let entered = stranger.post("session", code.clone()).await;
    assert_eq!(entered["me"]["mayApprove"], true, "{entered}");
    assert_eq!(
        stranger.refused("POST", "session", code).await,
        (401, "not-allowed".into())
    );
    for wrong in ["", "x", "0000000000000000"] {
        assert_eq!(
            stranger
                .refused("POST", "session", json!({"code": wrong}))
                .await
                .0,
            401
        );
    }
    // Each counts as a wrong token does.
    let bearer = format!("Bearer {}", world.token("control-token"));
    let metrics = HttpClient::new(&format!("{}/metrics", asker.url));
    let mut metrics = metrics.header("authorization", &bearer);
    let page = metrics.send(::http::Method::GET, &[], "").await;
    let page = String::from_utf8_lossy(&page.body).into_owned();
    assert!(page.contains("switchboard_door_refusals_total 4"), "{page}");
    let session = Asker::new(&asker.url, entered["token"].as_str());
    assert_eq!(session.get("session").await["role"], "admin");
    let mut events = session.events("topics=state").await;
    assert!(events.is_events());
    assert_eq!(session.ask("DELETE", "session", "").await.0, 200);
    assert_eq!(session.ask("GET", "session", "").await.0, 401);
    // What was open for it ends with it.
    while events.next().await.is_some() {}
    assert_eq!(
        asker.refused("DELETE", "session", json!({})).await,
        (409, "conflict".into())
    );
    // The bearer is nowhere on disk.
    let bearer = entered["token"].as_str().unwrap().as_bytes().to_vec();
    for (file, text) in world.everything() {
        let holds = text.windows(bearer.len()).any(|part| part == bearer);
        assert!(!holds, "{}", file.display());
    }
}

#[tokio::test]
async fn what_is_changed_is_on_record() {
    let world = World::with(&json!({"a": echo(&[])}));
    let gateway = world.gateway_with(&["--audit"]).await;
    let asker = Asker::control(&world, &gateway).await;
    asker.post("servers/a/disable", json!({})).await;
    asker.post("tokens", json!({"name": "ada"})).await;
    let mut rule = json!({"tools": ["mcp__a__*"], "decision": "ask"});
    rule["confirm"] = asker.post("tools/rules", rule.clone()).await["digest"].clone();
    asker.post("tools/rules", rule).await;
    let mut seen = Value::Null;
    let found = async {
        for _ in 0..200 {
            seen = asker.get("audit").await;
            let text = seen.to_string();
            let all = ["disable", "token.create", "\"rules\""];
            if all.iter().all(|word| text.contains(word)) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    };
    assert!(found.await, "{seen}");
    assert!(seen.to_string().contains("api: control"), "{seen}");
    let only = asker.get("audit?filter=event%3Drules&limit=1").await;
    assert_eq!(only["records"].as_array().unwrap().len(), 1, "{only}");
}

/// The gateway looks after servers, which makes it no client of theirs.
#[tokio::test]
async fn only_clients_are_counted_as_clients_of_a_server() {
    let world = World::with(&json!({"s": echo(&[])}));
    let words = ["up", "--port", "0", "--no-builtins"];
    let gateway = world.launch(&words).spawn();
    let asker = Asker::control(&world, &gateway).await;
    let seen = async || asker.get("state").await["servers"][0].clone();
    let begun = Instant::now();
    while seen().await["state"]["word"] != "connected" {
        assert!(begun.elapsed() < DEADLINE, "{}", seen().await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(seen().await["clients"], 0);
    let token = format!("Bearer {}", world.token("tokens/default"));
    let url = gateway.url().await;
    let mut client = HttpClient::new(&format!("{url}/mcp")).header("authorization", &token);
    client.initialize(LEGACY).await;
    client.call("s__echo", json!({"nonce": "n"})).await;
    assert_eq!(seen().await["clients"], 1);
}
