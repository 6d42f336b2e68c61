//! Signing in from inside a running gateway: the tool `authenticate` of a server
//! that wants a sign-in, and the server's own tools once somebody has.

use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{World, expire, protected};
use switchboard_testkit::{
    HttpClient, LEGACY, StdioClient,
    oauth::{Site, follow},
    text_of,
};
use tokio::time::{Instant, sleep};
use url::Url;

const PATIENCE: Duration = Duration::from_secs(30);

fn names(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array();
    let tools = tools.unwrap_or_else(|| panic!("no tools in {answer}"));
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

/// The address in a text.
fn address_in(text: &str) -> Url {
    let word = text
        .split_whitespace()
        .find(|word| word.starts_with("http://"));
    Url::parse(word.unwrap_or_else(|| panic!("no address in {text:?}"))).unwrap()
}

/// Asks until the tools are these.
async fn until_tools(client: &mut StdioClient, expected: &[&str]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = names(&client.request("tools/list", json!({})).await);
        if found == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{found:?}, not {expected:?}");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Two servers, so that they are served as one: a protected one and another.
fn two(site: &Site) -> Value {
    json!({"docs": protected(site, "/mcp"), "system": {"type": "builtin"}})
}

fn without_system(names: Vec<String>) -> Vec<String> {
    names
        .into_iter()
        .filter(|name| !name.starts_with("system__"))
        .collect()
}

#[tokio::test]
async fn the_client_is_sent_to_the_page_and_the_tools_are_swapped_in() {
    let site = Site::start().await;
    let person = World::person_with(&two(&site));
    let mut client = StdioClient::new(person.launch(&["serve", "--audit=each"]).spawn());
    client.initialize(LEGACY).await;
    let before = names(&client.request("tools/list", json!({})).await);
    assert_eq!(without_system(before), ["docs__authenticate"]);
    client.on_request(|method, params| {
        assert_eq!(method, "elicitation/create");
        assert_eq!(params["mode"], "url");
        assert!(
            params["message"].as_str().unwrap().contains("[docs]"),
            "{params}"
        );
        let page = Url::parse(params["url"].as_str().unwrap()).unwrap();
        tokio::spawn(follow(page));
        json!({"result": {"action": "accept"}})
    });
    let answer = client.call("docs__authenticate", json!({})).await;
    assert!(
        text_of(&answer).starts_with("Signed in to docs"),
        "{answer}"
    );
    assert_eq!(answer["result"]["isError"], false);
    client
        .notification("notifications/tools/list_changed")
        .await;
    let after = names(&client.request("tools/list", json!({})).await);
    assert_eq!(without_system(after), ["docs__t"]);
    let called = client.call("docs__t", json!({})).await;
    assert_eq!(text_of(&called), "let in");
    // It is kept for others, and who asks later finds that it was done.
    assert_eq!(person.run(&["call", "docs__t"]).await.ok().out, "let in\n");
    let told = person.run(&["audit", "--server", "docs"]).await.ok();
    let has = |words: [&str; 2]| {
        let mut lines = told.out.lines();
        lines.any(|line| words.iter().all(|word| line.contains(word)))
    };
    assert!(has(["  sign-in  ", "server=docs"]), "{}", told.out);
    assert!(has(["tool=authenticate", "outcome=ok"]), "{}", told.out);
    assert_eq!(site.count("authorize").await, 1);
}

#[tokio::test]
async fn a_client_that_opens_no_pages_gets_the_address() {
    let site = Site::start().await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    // One server, under its own names.
    let mut client = StdioClient::new(person.launch(&["serve", "--only", "docs"]).spawn());
    let params = json!({"protocolVersion": LEGACY, "capabilities": {"elicitation": {}}, "clientInfo": {"name": "plain", "version": "1"}});
    client.request("initialize", params).await;
    client.notify("notifications/initialized", json!({})).await;
    until_tools(&mut client, &["authenticate"]).await;
    let other = client.call("t", json!({})).await;
    assert_eq!(other["result"]["isError"], true, "{other}");
    assert!(text_of(&other).contains("authenticate"), "{other}");
    let answer = client.call("authenticate", json!({})).await;
    let page = address_in(text_of(&answer));
    // Asked again, it is the same sign-in.
    let again = client.call("authenticate", json!({})).await;
    assert_eq!(address_in(text_of(&again)), page);
    let (status, _) = follow(page).await;
    assert_eq!(status, 200);
    client
        .notification("notifications/tools/list_changed")
        .await;
    until_tools(&mut client, &["t"]).await;
    assert_eq!(text_of(&client.call("t", json!({})).await), "let in");
}

#[tokio::test]
async fn a_modern_client_is_asked_by_its_own_rules() {
    let site = Site::start().await;
    let person = World::person_with(&two(&site));
    let (_gateway, url) = person.serve(&["--no-auth"]).await;
    let mut client = HttpClient::new(&format!("{url}/mcp"));
    let list = client.modern("tools/list", json!({})).await.message();
    assert_eq!(without_system(names(&list)), ["docs__authenticate"]);
    let params = json!({"name": "docs__authenticate", "arguments": {}});
    let asked = client.modern("tools/call", params.clone()).await.message();
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let (key, question) = result["inputRequests"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    let page = Url::parse(question["params"]["url"].as_str().unwrap()).unwrap();
    follow(page).await;
    let mut retry = params;
    retry["inputResponses"] = json!({ key: {"action": "accept"} });
    retry["requestState"] = result["requestState"].clone();
    let answer = client.modern("tools/call", retry).await.message();
    assert!(
        text_of(&answer).starts_with("Signed in to docs"),
        "{answer}"
    );
    let deadline = Instant::now() + PATIENCE;
    loop {
        let list = client.modern("tools/list", json!({})).await.message();
        if without_system(names(&list)) == ["docs__t"] {
            break;
        }
        assert!(Instant::now() < deadline, "{list}");
        sleep(Duration::from_millis(50)).await;
    }
    let params = json!({"name": "docs__t", "arguments": {}});
    let called = client.modern("tools/call", params).await.message();
    assert_eq!(text_of(&called), "let in");
}

#[tokio::test]
async fn a_sign_in_elsewhere_reaches_a_running_gateway() {
    let site = Site::start().await;
    let person = World::person_with(&two(&site));
    let mut client = StdioClient::new(person.launch(&["serve"]).spawn());
    client.initialize(LEGACY).await;
    let before = names(&client.request("tools/list", json!({})).await);
    assert_eq!(without_system(before), ["docs__authenticate"]);
    person.sign_in("docs").await.ok();
    client
        .notification("notifications/tools/list_changed")
        .await;
    assert_eq!(text_of(&client.call("docs__t", json!({})).await), "let in");
}

#[tokio::test]
async fn a_sign_in_that_ends_brings_the_tool_back() {
    let site = Site::start().await;
    let person = World::person_with(&two(&site));
    person.sign_in("docs").await.ok();
    let mut client = StdioClient::new(person.launch(&["serve"]).spawn());
    client.initialize(LEGACY).await;
    let before = names(&client.request("tools/list", json!({})).await);
    assert_eq!(without_system(before), ["docs__t"]);
    // The issuer ends it, and so does the refresh token.
    site.turn(json!({"expire": true})).await;
    person.age("docs", |record| {
        expire(record);
        record["tokens"]["refresh"] = json!("not-a-token-of-theirs");
    });
    let refused = client.call("docs__t", json!({})).await;
    assert!(refused.get("error").is_some(), "{refused}");
    client
        .notification("notifications/tools/list_changed")
        .await;
    let after = names(&client.request("tools/list", json!({})).await);
    assert_eq!(without_system(after), ["docs__authenticate"]);
}

#[tokio::test]
async fn a_user_who_says_no_is_not_asked_further() {
    let site = Site::start().await;
    let person = World::person_with(&two(&site));
    let mut client = StdioClient::new(person.launch(&["serve"]).spawn());
    client.initialize(LEGACY).await;
    client.request("tools/list", json!({})).await;
    client.on_request(|_, _| json!({"result": {"action": "decline"}}));
    let answer = client.call("docs__authenticate", json!({})).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(site.count("authorize").await, 0);
    // A rule of the entry does not hide it: it is always allowed.
    let mut entry = protected(&site, "/mcp");
    entry["tools"] = json!({"allow": ["t"]});
    let person = World::person_with(&json!({"docs": entry, "system": {"type": "builtin"}}));
    let mut client = StdioClient::new(person.launch(&["serve"]).spawn());
    client.initialize(LEGACY).await;
    let listed = names(&client.request("tools/list", json!({})).await);
    assert_eq!(without_system(listed), ["docs__authenticate"]);
}

/// The stand-in speaks the handshake era; what it stands in for need not.
#[tokio::test]
async fn a_modern_server_is_swapped_in_and_out_too() {
    for held in [Value::Null, json!("modern")] {
        let site = Site::with(json!({"modern": true})).await;
        let mut entry = protected(&site, "/mcp");
        entry["era"] = held;
        let person = World::person_with(&json!({"docs": entry, "system": {"type": "builtin"}}));
        let mut client = StdioClient::new(person.launch(&["serve"]).spawn());
        client.initialize(LEGACY).await;
        let before = names(&client.request("tools/list", json!({})).await);
        assert_eq!(without_system(before), ["docs__authenticate"]);
        client.on_request(|_, params| {
            tokio::spawn(follow(Url::parse(params["url"].as_str().unwrap()).unwrap()));
            json!({"result": {"action": "accept"}})
        });
        let answer = client.call("docs__authenticate", json!({})).await;
        assert!(
            text_of(&answer).starts_with("Signed in to docs"),
            "{answer}"
        );
        client
            .notification("notifications/tools/list_changed")
            .await;
        let called = client.call("docs__t", json!({})).await;
        assert_eq!(text_of(&called), "let in", "{}", client.program.stderr());
        // And back, when it ends.
        client.notifications.clear();
        site.turn(json!({"expire": true})).await;
        person.age("docs", |record| {
            expire(record);
            record["tokens"]["refresh"] = json!("not-a-token-of-theirs");
        });
        let refused = client.call("docs__t", json!({})).await;
        assert!(refused.get("error").is_some(), "{refused}");
        client
            .notification("notifications/tools/list_changed")
            .await;
        let after = names(&client.request("tools/list", json!({})).await);
        assert_eq!(without_system(after), ["docs__authenticate"]);
    }
}
