//! A server that works and wants more rights for a call: 403 with a scope.

use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{RUN_LIMIT, World, protected};
use switchboard_testkit::{
    HttpClient, LEGACY, StdioClient,
    oauth::{Site, follow},
    text_of,
};
use tokio::time::{Instant, sleep};
use url::Url;

/// Signed in to a server with the scope `read`; its calls want `write` as well.
async fn too_few_rights() -> (Site, World) {
    let site = Site::with(json!({"scope": "read", "prm_scopes": ["read"]})).await;
    let servers = json!({"docs": protected(&site, "/mcp"), "system": {"type": "builtin"}});
    let person = World::person_with(&servers);
    person.sign_in("docs").await.ok();
    (site, person)
}

#[tokio::test]
async fn the_client_is_sent_to_a_page_and_the_call_goes_through() {
    let (site, person) = too_few_rights().await;
    let mut client = StdioClient::new(person.launch(&["serve"]).spawn());
    client.initialize(LEGACY).await;
    assert_eq!(text_of(&client.call("docs__t", json!({})).await), "let in");
    site.turn(json!({"scope": "read write"})).await;
    client.on_request(|method, params| {
        assert_eq!(
            (method, &params["mode"]),
            ("elicitation/create", &json!("url"))
        );
        let message = params["message"].as_str().unwrap();
        assert!(
            message.contains("[docs]") && message.contains("read write"),
            "{params}"
        );
        tokio::spawn(follow(Url::parse(params["url"].as_str().unwrap()).unwrap()));
        json!({"result": {"action": "accept"}})
    });
    let called = client.call("docs__t", json!({})).await;
    assert_eq!(text_of(&called), "let in", "{called}");
    assert_eq!(client.requests.len(), 1, "{:?}", client.requests);
    // From then on nobody is asked, here and elsewhere.
    assert_eq!(text_of(&client.call("docs__t", json!({})).await), "let in");
    assert_eq!(client.requests.len(), 1, "{:?}", client.requests);
    assert_eq!(person.run(&["call", "docs__t"]).await.ok().out, "let in\n");
}

#[tokio::test]
async fn a_modern_client_is_sent_there_by_its_own_rules() {
    let (site, person) = too_few_rights().await;
    let (_gateway, url) = person.serve(&["--no-auth"]).await;
    let mut client = HttpClient::new(&format!("{url}/mcp"));
    let params = json!({"name": "docs__t", "arguments": {}});
    let called = client.modern("tools/call", params.clone()).await.message();
    assert_eq!(text_of(&called), "let in", "{called}");
    site.turn(json!({"scope": "read write"})).await;
    let asked = client.modern("tools/call", params.clone()).await.message();
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let questions = result["inputRequests"].as_object().unwrap();
    let (key, question) = questions.iter().next().unwrap();
    follow(Url::parse(question["params"]["url"].as_str().unwrap()).unwrap()).await;
    let mut retry = params;
    retry["inputResponses"] = json!({ key: {"action": "accept"} });
    retry["requestState"] = result["requestState"].clone();
    let called = client.modern("tools/call", retry).await.message();
    assert_eq!(text_of(&called), "let in", "{called}");
}

/// Says what it is about: the scope, the command, and the page if there is one.
fn names_all(answer: &Value, page: bool) -> Option<Url> {
    let text = answer["error"]["message"].as_str().unwrap_or_default();
    for word in ["\"docs\"", "\"read write\"", "switchboard login docs"] {
        assert!(text.contains(word), "{word}: {answer}");
    }
    let data = &answer["error"]["data"];
    assert_eq!(data["scope"], "read write", "{answer}");
    assert_eq!(data["url"].is_string(), page, "{answer}");
    data["url"].as_str().map(|url| Url::parse(url).unwrap())
}

#[tokio::test]
async fn a_client_that_opens_no_pages_is_told_what_to_do() {
    let (site, person) = too_few_rights().await;
    let mut client = StdioClient::new(person.launch(&["serve"]).spawn());
    let params = json!({"protocolVersion": LEGACY, "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "plain", "version": "1"}});
    client.request("initialize", params).await;
    client.notify("notifications/initialized", json!({})).await;
    assert_eq!(text_of(&client.call("docs__t", json!({})).await), "let in");
    site.turn(json!({"scope": "read write"})).await;
    let page = names_all(&client.call("docs__t", json!({})).await, true);
    let (status, _) = follow(page.unwrap()).await;
    assert_eq!(status, 200);
    // The browser has its answer before we have the tokens.
    let until = Instant::now() + RUN_LIMIT;
    let called = loop {
        let called = client.call("docs__t", json!({})).await;
        if called.get("result").is_some() {
            break called;
        }
        assert!(Instant::now() < until, "{called}");
        sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(text_of(&called), "let in", "{called}");
}

#[tokio::test]
async fn a_user_who_says_no_and_a_server_that_is_never_content() {
    let (site, person) = too_few_rights().await;
    let mut client = StdioClient::new(person.launch(&["serve"]).spawn());
    client.initialize(LEGACY).await;
    assert_eq!(text_of(&client.call("docs__t", json!({})).await), "let in");
    site.turn(json!({"scope": "read write"})).await;
    client.on_request(|_, _| json!({"result": {"action": "decline"}}));
    names_all(&client.call("docs__t", json!({})).await, false);
    // The rest of the server is there as before.
    site.turn(json!({"scope": "read"})).await;
    assert_eq!(text_of(&client.call("docs__t", json!({})).await), "let in");
    // It refuses whatever was granted: that ends.
    site.turn(json!({"scope": "read", "always_403": true}))
        .await;
    client.on_request(|_, params| {
        tokio::spawn(follow(Url::parse(params["url"].as_str().unwrap()).unwrap()));
        json!({"result": {"action": "accept"}})
    });
    let refused = client.call("docs__t", json!({})).await;
    assert!(refused.get("error").is_some(), "{refused}");
    assert!(client.requests.len() <= 2, "{:?}", client.requests);
}

#[tokio::test]
async fn the_command_line_names_the_scope() {
    let (site, person) = too_few_rights().await;
    site.turn(json!({"scope": "read write"})).await;
    let refused = person.run(&["call", "docs__t"]).await;
    assert_eq!(refused.code, Some(6), "{refused:?}");
    for word in ["\"read write\"", "switchboard login docs"] {
        assert!(refused.err.contains(word), "{refused:?}");
    }
}
