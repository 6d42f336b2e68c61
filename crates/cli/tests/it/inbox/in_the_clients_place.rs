//! A client that cannot be asked waits for a person instead of being refused.

use super::{LONG, Stage, calling, calling_modern, text};
use serde_json::{Value, json};
use switchboard_testkit::{LEGACY, world::World};

#[tokio::test]
async fn without_the_inbox_it_is_refused_at_once() {
    let stage = Stage::new(&json!({}), &[]).await;
    let client = stage.legacy(&json!({})).await;
    let answer = calling(client, "count").await.unwrap();
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(told.contains("nobody can be asked here"), "{told}");
    assert!(stage.waiting().await.is_empty());
}

/// Both eras on this side and on the server's.
#[tokio::test]
async fn a_call_goes_through_after_a_yes_from_the_inbox() {
    for server in [["--era", "legacy"], ["--era", "modern"]] {
        let stage = Stage::new(&json!({"askAt": "inbox"}), &server).await;
        for modern in [false, true] {
            let called = match modern {
                false => calling(stage.legacy(&json!({})).await, "count"),
                true => calling_modern(stage.client("/mcp/e"), "count"),
            };
            let question = stage.question("permission").await;
            assert_eq!(question["name"], "count");
            assert_eq!(question["server"], "e");
            assert_eq!(question["principal"], "default");
            assert_eq!(question["alsoClient"], false);
            assert!(!called.is_finished(), "it waits");
            let (status, taken) = stage.answer(&question, &json!({"action": "allow"})).await;
            assert_eq!(status, 200, "{taken}");
            assert_eq!(taken["question"]["answered"]["by"], "control");
            let answer = called.await.unwrap();
            assert!(answer.get("result").is_some(), "{server:?}: {answer}");
        }
        assert_eq!(stage.counted().await, "2");
    }
}

#[tokio::test]
async fn a_no_is_a_no() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let called = calling(stage.legacy(&json!({})).await, "count");
    let question = stage.question("permission").await;
    stage.answer(&question, &json!({"action": "deny"})).await;
    let answer = called.await.unwrap();
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(told.contains("the answer was no"), "{told}");
    assert_eq!(stage.counted().await, "0");
}

/// What a server asks reaches it as its client's answer would: in each pair of eras.
#[tokio::test]
async fn forms_and_samplings_are_answered_from_the_inbox() {
    for server in [["--era", "legacy"], ["--era", "modern"]] {
        let stage = Stage::new(&json!({"askAt": "inbox"}), &server).await;
        for modern in [false, true] {
            let call = |tool: &str, legacy| match modern {
                false => calling(legacy, tool),
                true => calling_modern(stage.client("/mcp/e"), tool),
            };
            let called = call("elicit", stage.legacy(&json!({})).await);
            let form = stage.question("form").await;
            assert_eq!(form["schema"]["properties"]["answer"]["type"], "string");
            let (status, said) = stage
                .answer(
                    &form,
                    &json!({"action": "accept", "content": {"answer": 7}}),
                )
                .await;
            assert_eq!((status.as_u16(), &said["code"]), (400, &json!("invalid")));
            let (status, said) = stage
                .answer(
                    &form,
                    &json!({"action": "accept", "content": {"answer": "forty-two"}}),
                )
                .await;
            assert_eq!(status, 200, "{said}");
            let answer = called.await.unwrap();
            let told = answer.to_string();
            assert!(told.contains("forty-two"), "{server:?} {modern}: {told}");

            let called = call("sample", stage.legacy(&json!({})).await);
            let sampling = stage.question("sampling").await;
            assert!(sampling["about"].to_string().contains("Say something."));
            let (status, said) = stage
                .answer(
                    &sampling,
                    &json!({"action": "accept", "content": "as a person says"}),
                )
                .await;
            assert_eq!(status, 200, "{said}");
            let answer = called.await.unwrap();
            let told = answer.to_string();
            assert!(
                told.contains("as a person says"),
                "{server:?} {modern}: {told}"
            );
        }
    }
}

/// A client on standard streams behind the gateway is asked for in the same way.
#[tokio::test]
async fn a_client_on_stdio_waits_as_well() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let mut client = stage.world.client(&["--gateway"]);
    let params = json!({"protocolVersion": LEGACY, "capabilities": {},
        "clientInfo": {"name": "on streams", "version": "1"}});
    client.request("initialize", params).await;
    client.notify("notifications/initialized", json!({})).await;
    let params = json!({"name": "e__count", "arguments": {}});
    let id = client.start("tools/call", params).await;
    let question = stage.question("permission").await;
    assert_eq!(question["client"], "on streams");
    stage.answer(&question, &json!({"action": "allow"})).await;
    let answer = client.response(id).await;
    assert_eq!(text(&answer), "1", "{answer}");
}

/// Who gave a token hears that the call waits, and never less progress than before.
#[tokio::test]
async fn a_client_that_wants_to_know_is_told_that_it_waits() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let mut client = stage.legacy(&json!({})).await;
    let params = json!({"name": "count", "arguments": {}, "_meta": {"progressToken": "t"}});
    let mut stream = client.stream("tools/call", params).await;
    let mut last = f64::NEG_INFINITY;
    for _ in 0..2 {
        let told = loop {
            let event = stream.next_within(LONG).await.expect("progress");
            if event.data.as_ref().is_some_and(|data| !data.is_empty()) {
                break event.json();
            }
        };
        assert_eq!(told["method"], "notifications/progress", "{told}");
        assert_eq!(told["params"]["progressToken"], "t");
        let now = told["params"]["progress"].as_f64().unwrap();
        assert!(now > last, "{now} after {last}");
        last = now;
    }
    let question = stage.question("permission").await;
    stage.answer(&question, &json!({"action": "allow"})).await;
    let answer = loop {
        let message = stream.message().await.expect("the answer");
        if message.get("id").is_some() {
            break message;
        }
    };
    assert_eq!(text(&answer), "1", "{answer}");
}

/// Settings for one token hold before those for all, and the option of the command between.
#[tokio::test]
async fn it_can_be_said_for_each_token() {
    let world = World::repository();
    let approvals = json!({"askAt": "inbox", "askAtOf": {"default": "client"}});
    world.write_settings(&super::settings(&approvals, &[]));
    world.run(&["token", "create", "other"]).await.ok();
    let gateway = world.gateway_with(&["--ask-at", "both"]).await;
    let url = gateway.url().await;
    let stage = Stage {
        world,
        gateway,
        url,
    };
    let answer = calling(stage.legacy(&json!({})).await, "count")
        .await
        .unwrap();
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("nobody can be asked")
    );
    let mut other = stage.with_token("/mcp/e", &stage.world.token("tokens/other"));
    super::hello(&mut other, &json!({"elicitation": {}})).await;
    let mut stream = super::begun(&mut other, "count").await;
    let asked: Value = stream.message().await.unwrap();
    assert_eq!(asked["method"], "elicitation/create");
    let question = stage.question("permission").await;
    assert_eq!(question["alsoClient"], true);
}
