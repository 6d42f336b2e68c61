//! `allowManagedPermissionRulesOnly`: the administrator's rules, and nobody else's.

use serde_json::{Value, json};
use switchboard_testkit::StdioClient;
use switchboard_testkit::world::{World, config, echo};

const ONLY: &str = "allowManagedPermissionRulesOnly";

/// A home in which four files deny a tool each.
fn denied_by_all(only: &Value) -> World {
    let home = World::repository();
    for (file, tool) in [
        ("home/.config/switchboard/settings.json", "count"),
        ("home/.claude/settings.json", "counted"),
        ("home/repo/.claude/settings.json", "sleep"),
        ("etc/managed-settings.json", "pid"),
    ] {
        // Elsewhere the word means nothing.
        let only = if tool == "pid" { only } else { &json!(true) };
        let rules = json!({"deny": [format!("mcp__e__{tool}")]});
        home.write(file, json!({ONLY: only, "permissions": rules}).to_string());
    }
    home
}

#[test]
fn only_the_administrators_rules_count() {
    let servers = config(&json!({"e": echo(&[])}));
    for (only, hidden) in [
        (json!(false), &["count", "counted", "sleep", "pid"][..]),
        (json!(true), &["pid"]),
    ] {
        let home = denied_by_all(&only);
        let ran = home
            .show(&["--mcp-config", &servers, "tools", "--json"])
            .ok();
        for tool in ["count", "counted", "sleep", "pid"] {
            let shown = ran.out.contains(&format!("\"mcp__e__{tool}\""));
            assert_eq!(shown, !hidden.contains(&tool), "{only} {tool}: {ran:?}");
        }
        let ran = home.show(&["--mcp-config", &servers, "call", "e__counted"]);
        let code = if hidden.contains(&"counted") { 5 } else { 0 };
        assert_eq!(ran.code, Some(code), "{only}: {ran:?}");
        let ran = home.show(&["--mcp-config", &servers, "call", "e__pid"]);
        assert_eq!(ran.code, Some(5), "{only}: {ran:?}");
        assert!(ran.err.contains("/etc/managed-settings.json:1"), "{ran:?}");
    }
    // What it says may be misspelt; it was not meant to permit more.
    let home = denied_by_all(&json!("yes"));
    let ran = home.show(&["--mcp-config", &servers, "tools"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    for text in ["/etc/managed-settings.json:1", ONLY, "administers"] {
        assert!(ran.err.contains(text), "{text}: {ran:?}");
    }
}

/// A yes that was to last is a rule of whoever gave it.
#[tokio::test]
async fn answers_hold_no_longer_than_the_program() {
    for (only, asked) in [(false, [1, 0]), (true, [1, 1])] {
        let home = World::repository();
        home.write(
            "etc/managed-settings.json",
            json!({ ONLY: only }).to_string(),
        );
        let mut seen = Vec::new();
        for _ in 0..2 {
            let launch = home
                .launch(&[])
                .args([
                    "--mcp-config",
                    &config(&json!({"e": echo(&[]), "f": echo(&[])})),
                ])
                .args(["serve", "--permission-mode", "default"]);
            let mut client = StdioClient::new(launch.spawn());
            client.on_request(|_, _| {
                json!({"result": {"action": "accept", "content": {"answer": "yes, from now on"}}})
            });
            client.initialize("2025-11-25").await;
            for _ in 0..2 {
                let answer = client.call("e__count", json!({})).await;
                assert!(answer.get("result").is_some(), "{answer}");
            }
            seen.push(client.requests.len());
        }
        assert_eq!(seen, asked, "{only}");
    }
}
