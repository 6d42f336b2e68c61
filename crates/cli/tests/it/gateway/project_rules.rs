//! What the user permits a server of their own is not permitted to one that a
//! project brings along under the same name.

use serde_json::{Value, json};
use switchboard_testkit::world::{World, echo};

const SETTINGS: &str = "home/.config/switchboard/settings.json";

/// The user's server, and the same of a project, which is approved.
fn both(permissions: Value, project: bool) -> World {
    let home = World::repository();
    let settings = json!({"mcpServers": {"github": echo(&[])}, "permissions": permissions});
    home.write(SETTINGS, settings.to_string());
    if project {
        let theirs = json!({"mcpServers": {"github": echo(&["--name", "theirs"])}});
        home.write("home/repo/.mcp.json", theirs.to_string());
        home.approve("github");
    }
    home
}

fn decided(home: &World, tool: &str) -> (String, String) {
    let ran = home.show(&["explain", tool, "--json"]).ok();
    let tool = ran.json()["tool"].clone();
    let word = tool["decision"].as_str().unwrap();
    (word[..3].to_owned(), tool["reasons"].to_string())
}

#[test]
fn allow_rules_are_for_the_users_own_server() {
    let rules = |allow: &str| json!({"defaultMode": "default", "allow": [allow]});
    for (allow, project, expected) in [
        ("mcp__github__*", false, "all"),
        ("mcp__github__count", false, "all"),
        ("mcp__github__*", true, "ask"),
        ("mcp__github__count", true, "ask"),
        ("mcp__github", true, "ask"),
        ("project:mcp__github__*", true, "all"),
        ("project:mcp__github__count", true, "all"),
        ("project:mcp__github__*", false, "ask"),
    ] {
        let home = both(rules(allow), project);
        let (decision, reasons) = decided(&home, "mcp__github__count");
        assert_eq!(decision, expected, "{allow} {project}: {reasons}");
        if project && expected == "ask" {
            let hint = format!("for that write \\\"project:{allow}\\\"");
            assert!(reasons.contains(&hint), "{reasons}");
        }
    }
    // What forbids is for both.
    for (deny, project, expected) in [
        ("mcp__github__count", true, "den"),
        ("mcp__github__count", false, "den"),
        ("project:mcp__github__count", true, "den"),
        ("project:mcp__github__count", false, "all"),
    ] {
        let home = both(json!({"deny": [deny]}), project);
        let (decision, reasons) = decided(&home, "mcp__github__count");
        assert_eq!(decision, expected, "{deny} {project}: {reasons}");
    }
}

#[test]
fn trust_is_for_the_users_own_server() {
    for (trusted, project, expected) in [
        ("github", false, "all"),
        ("github", true, "ask"),
        ("project:github", true, "all"),
        ("project:github", false, "ask"),
    ] {
        let permissions = json!({"defaultMode": "auto", "trustedServers": [trusted]});
        let home = both(permissions, project);
        let (decision, reasons) = decided(&home, "mcp__github__echo");
        assert_eq!(decision, expected, "{trusted} {project}: {reasons}");
    }
}

#[tokio::test]
async fn answers_are_about_the_server_that_was_asked_about() {
    let home = both(json!({"defaultMode": "default"}), false);
    let asked = async |home: &World| {
        let mut client = home.beside_a_second(&[]).await;
        client.on_request(|_, _| {
            json!({"result": {"action": "accept", "content": {"answer": "yes, from now on"}}})
        });
        let answer = client.call("github__count", json!({})).await;
        assert!(answer.get("result").is_some(), "{answer}");
        client.requests.len()
    };
    assert_eq!(asked(&home).await, 1);
    assert_eq!(asked(&home).await, 0, "remembered");
    // The same definitions, from the project.
    let theirs = json!({"mcpServers": {"github": echo(&["--name", "theirs"])}});
    home.write("home/repo/.mcp.json", theirs.to_string());
    home.approve("github");
    assert_eq!(asked(&home).await, 1, "another server");
    assert_eq!(asked(&home).await, 0, "remembered, for that one");
}
