//! What servers wait for: sign-ins, entries of a repository, definitions that changed.
//! What is approved is what was shown.

use super::{LONG, Stage};
use crate::support::screen::Shown;
use http::Method;
use serde_json::{Value, json};
use switchboard_testkit::{
    oauth::{Site, follow},
    world::{World, echo, protected, shell_server},
};
use url::Url;

#[tokio::test]
async fn a_repositorys_server_is_approved_as_it_was_shown() {
    let world = World::repository();
    world.write_settings(&json!({"mcpServers": {"e": echo(&[])}}));
    let entry = |name: &str| json!({"mcpServers": {"theirs": echo(&["--name", name])}});
    world.write("home/repo/.mcp.json", entry("first").to_string());
    let stage = Stage::serve(world).await;
    let shown = stage.question("approval").await;
    assert_eq!(shown["server"], "theirs");
    assert!(
        shown["about"]["runs"].to_string().contains("first"),
        "{shown}"
    );
    assert_eq!(shown["answers"], json!(["approve", "reject"]));
    let (status, said) = stage.answer(&shown, &json!({"action": "accept"})).await;
    assert_eq!((status.as_u16(), &said["code"]), (400, &json!("invalid")));
    // A client's token approves nothing, and does not see it.
    let own = stage.world.token("tokens/default");
    let path = super::at(&shown);
    let approve = json!({"action": "approve"});
    let (status, _) = stage.api_as(&own, Method::POST, &path, &approve).await;
    assert_eq!(status, 404);
    // It becomes another: what was shown is not there any more.
    stage
        .world
        .write("home/repo/.mcp.json", entry("second").to_string());
    let limit = tokio::time::Instant::now() + LONG;
    let now = loop {
        let now = stage.question("approval").await;
        if now["id"] != shown["id"] {
            break now;
        }
        assert!(tokio::time::Instant::now() < limit, "it stays the first");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let (status, _) = stage.answer(&shown, &approve).await;
    assert_eq!(status, 404);
    // What is to be run is approved in a session that a single-use code opened.
    let (status, _) = stage.answer(&now, &approve).await;
    assert_eq!(status, 403);
    let (_, code) = stage.api(Method::POST, "codes", &json!({})).await;
    let mut enters = switchboard_testkit::HttpClient::new(&format!("{}/api/v1/session", stage.url));
    let code = json!({"code": code["code"]}).to_string();
    let json = [("content-type", "application/json")];
    let entered = enters.send(Method::POST, &json, code).await;
    let entered: Value = serde_json::from_slice(&entered.body).unwrap();
    let session = entered["token"]
        .as_str()
        .unwrap_or_else(|| panic!("{entered}"));
    let path = super::at(&now);
    let (status, said) = stage.api_as(session, Method::POST, &path, &approve).await;
    assert_eq!(status, 200, "{said}");
    let (status, said) = stage.api_as(session, Method::POST, &path, &approve).await;
    assert_eq!((status.as_u16(), &said["code"]), (409, &json!("conflict")));
    let mut client = stage.client("/mcp");
    super::hello(&mut client, &json!({})).await;
    let answer = client.call("theirs__echo", json!({"nonce": "there"})).await;
    assert_eq!(super::text(&answer), "there", "{answer}");
}

#[tokio::test]
async fn definitions_that_changed_are_approved_as_they_were_shown() {
    let stage = Stage::with_a_changed_definition().await;
    stage.world.run(&["reconnect", "s"]).await.ok();
    let mut client = stage.client("/mcp/s");
    super::hello(&mut client, &json!({})).await;
    let listed = client.request("tools/list", json!({})).await;
    assert!(!listed.to_string().contains("something else"), "{listed}");
    let question = stage.question("changed").await;
    let changes = question["changes"].to_string();
    assert!(changes.contains("something else"), "{question}");
    let (_, pins) = stage.api(Method::GET, "pins/s", &Value::Null).await;
    for change in [&question["changes"][0], &pins["changes"][0]] {
        let says = |side: &str, text: &str| {
            let said = change[side].as_str();
            said.is_some_and(|said| said.contains(text))
        };
        assert!(says("before", "as it was"), "{change}");
        assert!(
            says("after", "something else") && !says("after", "as it was"),
            "{change}"
        );
    }
    let (status, said) = stage.answer(&question, &json!({"action": "approve"})).await;
    assert_eq!(status, 200, "{said}");
    let listed = client.request("tools/list", json!({})).await;
    assert!(listed.to_string().contains("something else"), "{listed}");
    stage.nothing_waits().await;
}

#[tokio::test]
async fn a_sign_in_begins_from_the_inbox() {
    let site = Site::start().await;
    let world = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    let stage = Stage::serve(world).await;
    let mut client = stage.client("/mcp/docs");
    super::hello(&mut client, &json!({})).await;
    client.request("tools/list", json!({})).await;
    let question = stage.question("sign-in").await;
    assert_eq!(question["server"], "docs");
    let (status, said) = stage.answer(&question, &json!({"action": "accept"})).await;
    assert_eq!(status, 200, "{said}");
    let page = Url::parse(said["open"].as_str().unwrap()).unwrap();
    let (status, _) = follow(page).await;
    assert_eq!(status, 200);
    stage.nothing_waits().await;
    let limit = tokio::time::Instant::now() + LONG;
    loop {
        let answer: Value = client.call("t", json!({})).await;
        if super::text(&answer) == "let in" {
            break;
        }
        assert!(tokio::time::Instant::now() < limit, "{answer}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// The verbs of the API: a sign-in is begun and followed to its end, and forgotten again.
#[tokio::test]
async fn signing_in_and_out_by_verbs() {
    let site = Site::start().await;
    let world = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    let stage = Stage::serve(world).await;
    let mut client = stage.client("/mcp/docs");
    super::hello(&mut client, &json!({})).await;
    let none = json!({});
    let state = async |word: &str| {
        let limit = tokio::time::Instant::now() + LONG;
        loop {
            let (_, detail) = stage.api(Method::GET, "servers/docs", &Value::Null).await;
            if detail["server"]["signIn"]["word"] == word {
                return;
            }
            assert!(tokio::time::Instant::now() < limit, "{word}: {detail}");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    client.request("tools/list", json!({})).await;
    let (status, begun) = stage.api(Method::POST, "servers/docs/sign-in", &none).await;
    assert_eq!(status, 200, "{begun}");
    let page = Url::parse(begun["open"].as_str().expect("a page")).unwrap();
    // Only what the sign-in itself ends at is gone to.
    let pasted = json!({"pasted": "http://127.0.0.1:1/elsewhere?code=x"});
    let (status, said) = stage
        .api(Method::POST, "servers/docs/sign-in", &pasted)
        .await;
    assert_eq!(
        (status.as_u16(), &said["field"]),
        (400, &json!("/pasted")),
        "{said}"
    );
    let (status, _) = follow(page).await;
    assert_eq!(status, 200);
    state("signed-in").await;
    let (status, said) = stage
        .api(Method::POST, "servers/docs/sign-out", &none)
        .await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(said["did"], "signed out of docs", "{said}");
    let (_, said) = stage
        .api(Method::POST, "servers/docs/sign-out", &none)
        .await;
    assert_eq!(said["did"], "nobody was signed in to docs", "{said}");
    // A client's own token does neither.
    let own = stage.world.token("tokens/default");
    for verb in ["sign-in", "sign-out"] {
        let path = format!("servers/docs/{verb}");
        let (status, _) = stage.api_as(&own, Method::POST, &path, &none).await;
        assert_eq!(status, 403, "{verb}");
    }
}

/// Whoever looks at the table of `up` sees what somebody else approves.
#[test]
fn an_approval_from_the_inbox_is_seen_in_the_table_of_up() {
    let world = World::repository();
    let folder = world.path("home/repo");
    world.write("home/repo/says", "as it was");
    world.write_settings(&json!({
        "mcpServers": {"shelf": shell_server("", "", &folder)},
        "permissions": {"pins": "hold"},
    }));
    let mut shown = Shown::screen(world.on_terminal(40, 120, "up --port 0 --no-builtins"));
    shown.until("it is there", |rows| rows.says("shelf", "connected"));
    world.write("home/repo/says", "something else");
    world.show(&["reconnect", "shelf"]).ok();
    shown.until("it is held", |rows| rows.has("waits for approval: "));
    let inbox = world.show(&["inbox", "--json"]).ok().json();
    let id = inbox[0]["id"].as_str().expect("a question");
    world.show(&["answer", id, "approve"]).ok();
    shown.until("it was approved", |rows| {
        rows.says("shelf", "connected") && !rows.has("waits for approval")
    });
    shown.until("it has its tool", |rows| rows.has("1 tool"));
    assert_eq!(shown.end(), Some(0));
}
