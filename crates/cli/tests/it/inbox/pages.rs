//! Pages that a server wants visited before it does what it was asked (-32042), of clients
//! that cannot visit them: they lie in the inbox, and the call goes on from there.

use super::{LONG, Stage, calling, calling_modern, hello, text};
use crate::support::scripted::{Scripted, able_to, call, tools};
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::World;
use tokio::time::Instant;

const FIRST: &str = "https://sign.example/in?step=1";
const SECOND: &str = "https://sign.example/in?step=2";

/// A server whose tool `act` wants these pages visited first, so often.
fn server(pages: &[&str], times: u64) -> Scripted {
    let page = |url: &&str| json!({"mode": "url", "message": "Sign in first", "url": url, "elicitationId": url});
    let pages: Vec<Value> = pages.iter().map(page).collect();
    let wants = json!({"code": -32042, "message": "visit first", "data": {"elicitations": pages}});
    let [old, new] = able_to(&json!({"tools": {}}));
    let first = json!({"method": "tools/call", "match": "\"act\"", "kind": "error",
        "reply": wants.to_string(), "times": times});
    Scripted::new("legacy", &[old, new, tools(&["act"]), first, call("act")])
}

async fn stage(approvals: &Value, server: &Scripted) -> Stage {
    let world = World::repository();
    world.write_settings(&json!({"mcpServers": {"e": server.stdio()}, "approvals": approvals}));
    Stage::serve(world).await
}

fn calls(server: &Scripted) -> usize {
    let asked = server.asked();
    asked
        .iter()
        .filter(|method| *method == "tools/call")
        .count()
}

/// The question about this page, once it is there.
async fn page(stage: &Stage, url: &str) -> Value {
    let limit = Instant::now() + LONG;
    loop {
        let all = stage.waiting().await;
        if let Some(found) = all.iter().find(|one| one["url"] == url) {
            assert_eq!(found["kind"], "page", "{found}");
            return found.clone();
        }
        assert!(Instant::now() < limit, "{url} is not there: {all:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Both eras of clients; over both a client that is not asked, and one that cannot be.
#[tokio::test]
async fn a_call_goes_on_when_somebody_has_been_there() {
    for at in ["inbox", "both"] {
        for modern in [false, true] {
            let server = server(&[FIRST], 1);
            let stage = stage(&json!({"askAt": at}), &server).await;
            let called = match modern {
                false => calling(stage.legacy(&json!({})).await, "act"),
                true => calling_modern(stage.client("/mcp/e"), "act"),
            };
            let asked = page(&stage, FIRST).await;
            assert_eq!(asked["text"], "Sign in first");
            assert_eq!(asked["server"], "e");
            assert_eq!(asked["alsoClient"], false);
            assert!(!called.is_finished(), "it waits");
            let (status, said) = stage.answer(&asked, &json!({"action": "accept"})).await;
            assert_eq!(status, 200, "{said}");
            let answer = called.await.unwrap();
            assert_eq!(text(&answer), "act", "{at} {modern}: {answer}");
            assert_eq!(calls(&server), 2);
            stage.nothing_waits().await;
        }
    }
}

#[tokio::test]
async fn all_of_them_have_to_be_visited() {
    let server = server(&[FIRST, SECOND], 1);
    let stage = stage(&json!({"askAt": "inbox"}), &server).await;
    let called = calling(stage.legacy(&json!({})).await, "act");
    let (first, second) = (page(&stage, FIRST).await, page(&stage, SECOND).await);
    stage.answer(&second, &json!({"action": "accept"})).await;
    assert_eq!(calls(&server), 1, "one of them is left");
    stage.answer(&first, &json!({"action": "accept"})).await;
    assert_eq!(text(&called.await.unwrap()), "act");
    assert_eq!(calls(&server), 2);
}

/// A no ends it with the server's own words, and the other question goes.
#[tokio::test]
async fn where_nobody_goes_the_client_gets_what_the_server_said() {
    let server = server(&[FIRST, SECOND], 1);
    let stage = stage(&json!({"askAt": "inbox"}), &server).await;
    let called = calling(stage.legacy(&json!({})).await, "act");
    let (_, second) = (page(&stage, FIRST).await, page(&stage, SECOND).await);
    stage.answer(&second, &json!({"action": "decline"})).await;
    let answer = called.await.unwrap();
    assert_eq!(answer["error"]["code"], -32042, "{answer}");
    let named = &answer["error"]["data"]["elicitations"];
    assert_eq!(
        (&named[0]["url"], &named[1]["url"]),
        (&json!(FIRST), &json!(SECOND))
    );
    stage.nothing_waits().await;
    assert_eq!(calls(&server), 1, "nothing was sent again");
}

/// Clients that are asked themselves, and can be, get the error as it is.
#[tokio::test]
async fn a_client_that_opens_pages_is_sent_there_itself() {
    for (approvals, capabilities) in [
        (json!({"askAt": "client"}), json!({})),
        (json!({}), json!({})),
        (
            json!({"askAt": "both"}),
            json!({"elicitation": {"form": {}, "url": {}}}),
        ),
    ] {
        let server = server(&[FIRST], 1);
        let stage = stage(&approvals, &server).await;
        let answer = calling(stage.legacy(&capabilities).await, "act")
            .await
            .unwrap();
        assert_eq!(answer["error"]["code"], -32042, "{approvals}: {answer}");
        assert!(stage.waiting().await.is_empty(), "{approvals}");
        assert_eq!(calls(&server), 1);
    }
}

/// A server that always wants one more is not followed for ever.
#[tokio::test]
async fn it_is_sent_again_so_often_and_no_more() {
    let server = server(&[FIRST], 100);
    let stage = stage(&json!({"askAt": "inbox"}), &server).await;
    let called = calling(stage.legacy(&json!({})).await, "act");
    for _ in 0..3 {
        let asked = page(&stage, FIRST).await;
        stage.answer(&asked, &json!({"action": "accept"})).await;
        stage.over(&asked).await;
    }
    let answer = called.await.unwrap();
    assert_eq!(answer["error"]["code"], -32042, "{answer}");
    assert_eq!(calls(&server), 4);
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_pages_along() {
    let server = server(&[FIRST], 1);
    let stage = stage(&json!({"askAt": "inbox"}), &server).await;
    let mut client = stage.client("/mcp/e");
    hello(&mut client, &json!({})).await;
    let stream = super::begun(&mut client, "act").await;
    let asked = page(&stage, FIRST).await;
    drop(stream);
    client.send(http::Method::DELETE, &[], "").await;
    stage.nothing_waits().await;
    let (status, said) = stage.answer(&asked, &json!({"action": "accept"})).await;
    assert_eq!(
        (status.as_u16(), &said["code"]),
        (409, &json!("conflict")),
        "{said}"
    );
    assert_eq!(calls(&server), 1, "nothing was sent again");
}

/// What names something else than pages is passed on as it is.
#[tokio::test]
async fn what_names_no_pages_is_passed_on() {
    for data in [
        json!({}),
        json!({"elicitations": []}),
        json!({"elicitations": "x"}),
        json!({"elicitations": [{"mode": "form", "message": "x"}]}),
        json!({"elicitations": [{"mode": "url", "message": "x"}]}),
        json!({"elicitations": vec![json!({"mode": "url", "url": FIRST}); 9]}),
    ] {
        let error = json!({"code": -32042, "message": "odd", "data": data});
        let [old, new] = able_to(&json!({"tools": {}}));
        let reply = json!({"method": "tools/call", "kind": "error", "reply": error.to_string()});
        let server = Scripted::new("legacy", &[old, new, tools(&["act"]), reply]);
        let stage = stage(&json!({"askAt": "inbox"}), &server).await;
        let answer = calling(stage.legacy(&json!({})).await, "act")
            .await
            .unwrap();
        assert_eq!(answer["error"]["message"], "odd", "{data}: {answer}");
        assert_eq!(calls(&server), 1);
    }
}
