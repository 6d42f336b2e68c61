//! A sign-in is everybody's: there is one for each server. Where several principals
//! come in, none of them makes it for the others, unless the entry says so.

use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{RUN_LIMIT, World, protected};
use switchboard_testkit::{
    HttpClient, LEGACY, Program,
    oauth::{Site, follow},
    text_of,
};
use tokio::time::{Instant, sleep};
use url::Url;

/// A gateway with tokens for two.
async fn two(person: &World) -> (Program, String, [String; 2]) {
    let mut tokens = Vec::new();
    for name in ["alice", "bob"] {
        let made = person.run(&["token", "create", name]).await.ok();
        tokens.push(format!("Bearer {}", made.out.trim()));
    }
    let (gateway, url) = person.serve(&[]).await;
    (gateway, url, tokens.try_into().unwrap())
}

fn client(url: &str, path: &str, token: &str) -> HttpClient {
    HttpClient::new(&format!("{url}{path}")).header("authorization", token)
}

fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["result"]["tools"].as_array();
    let tools = tools.unwrap_or_else(|| panic!("no tools in {answer}"));
    tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect()
}

/// Asks until the tools are these.
async fn until_tools(client: &mut HttpClient, expected: &[&str]) {
    let deadline = Instant::now() + RUN_LIMIT;
    loop {
        let listed = client.request("tools/list", json!({})).await;
        if names(&listed) == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{listed}, not {expected:?}");
        sleep(Duration::from_millis(50)).await;
    }
}

/// That nobody signs in by it, and who does.
fn is_told_who_signs_in(answer: &Value) {
    let text = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("switchboard login docs"), "{answer}");
    assert!(!answer.to_string().contains("http://"), "{answer}");
}

#[tokio::test]
async fn one_of_several_does_not_sign_in_for_all() {
    let site = Site::start().await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    let (_gateway, url, [alice, bob]) = two(&person).await;
    // The very first thing that anybody does, before it is known what stands in.
    let mut modern = client(&url, "/mcp/docs", &alice);
    let call = json!({"name": "authenticate", "arguments": {}});
    let answer = modern.modern("tools/call", call.clone()).await.message();
    is_told_who_signs_in(&answer);
    let listed = modern.modern("tools/list", json!({})).await.message();
    assert!(names(&listed).is_empty(), "{listed}");

    let mut legacy = client(&url, "/mcp/docs", &bob);
    let hello = legacy.initialize(LEGACY).await;
    let told = hello.to_string();
    assert!(told.contains("switchboard login docs"), "{told}");
    assert!(!told.contains("tool authenticate"), "{told}");
    is_told_who_signs_in(&legacy.request("tools/call", call).await);
    let other = json!({"name": "t", "arguments": {}});
    let answer = legacy.request("tools/call", other.clone()).await;
    assert!(
        text_of(&answer).contains("switchboard login docs"),
        "{answer}"
    );
    assert!(names(&legacy.request("tools/list", json!({})).await).is_empty());

    let mut all = client(&url, "/mcp", &bob);
    all.initialize(LEGACY).await;
    assert!(names(&all.request("tools/list", json!({})).await).is_empty());
    let call = json!({"name": "docs__authenticate", "arguments": {}});
    is_told_who_signs_in(&all.request("tools/call", call).await);
    assert_eq!(site.count("authorize").await, 0);
    assert_eq!(site.count("register").await, 0, "no sign-in has begun");

    // Whoever runs it does, and it is there for all.
    person.sign_in("docs").await.ok();
    until_tools(&mut legacy, &["t"]).await;
    assert_eq!(
        text_of(&legacy.request("tools/call", other).await),
        "let in"
    );
}

#[tokio::test]
async fn unless_the_entry_says_so() {
    let site = Site::start().await;
    let mut entry = protected(&site, "/mcp");
    entry["oauth"] = json!({"clientsSignIn": true});
    let person = World::person_with(&json!({ "docs": entry }));
    let (_gateway, url, [alice, _]) = two(&person).await;
    let mut client = client(&url, "/mcp/docs", &alice);
    let listed = client.modern("tools/list", json!({})).await.message();
    assert_eq!(names(&listed), ["authenticate"], "{listed}");
    let call = json!({"name": "authenticate", "arguments": {}});
    let answer = client.modern("tools/call", call).await.message();
    let questions = answer["result"]["inputRequests"].as_object();
    let question = questions.and_then(|all| all.values().next());
    let page = question.and_then(|question| question["params"]["url"].as_str());
    let page = page.unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(follow(Url::parse(page).unwrap()).await.0, 200);
    client.initialize(LEGACY).await;
    until_tools(&mut client, &["t"]).await;
}

/// What is in the repository does not say so.
#[tokio::test]
async fn and_the_entry_is_the_user_s_own() {
    let site = Site::start().await;
    let mut entry = protected(&site, "/mcp");
    entry["oauth"] = json!({"clientsSignIn": true});
    let person = World::person_with(&json!({}));
    person.write(
        "home/work/.mcp.json",
        json!({"mcpServers": {"docs": entry}}).to_string(),
    );
    person.approve("docs").ok();
    let (_gateway, url, [alice, _]) = two(&person).await;
    let mut client = client(&url, "/mcp/docs", &alice);
    client.initialize(LEGACY).await;
    let call = json!({"name": "authenticate", "arguments": {}});
    is_told_who_signs_in(&client.request("tools/call", call).await);
}

#[tokio::test]
async fn nor_does_one_of_several_ask_for_more_rights() {
    let site = Site::with(json!({"scope": "read", "prm_scopes": ["read"]})).await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    person.sign_in("docs").await.ok();
    let (_gateway, url, [alice, _]) = two(&person).await;
    let mut client = client(&url, "/mcp/docs", &alice);
    client.initialize(LEGACY).await;
    let call = json!({"name": "t", "arguments": {}});
    let answer = client.request("tools/call", call.clone()).await;
    assert_eq!(text_of(&answer), "let in", "{answer}");
    let before = site.count("authorize").await;
    site.turn(json!({"scope": "read write"})).await;
    let answer = client.request("tools/call", call).await;
    is_told_who_signs_in(&answer);
    assert_eq!(answer["error"]["data"]["scope"], "read write", "{answer}");
    assert_eq!(site.count("authorize").await, before);
}
