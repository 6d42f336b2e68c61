//! `allowedMcpServers` and `deniedMcpServers`, as the reference describes them.

use serde_json::{Value, json};
use switchboard_testkit::world::World;

/// The servers that a policy leaves, of four that the user has.
fn left(file: &str, policy: &Value) -> Vec<String> {
    let home = World::repository();
    let servers = json!({
        "corp-one": {"command": "true"},
        "corp-two": {"command": "true", "cwd": "/srv/mcp"},
        "other": {"command": "true", "args": ["x"]},
        "web": {"url": "https://tools.company.com/mcp"},
    });
    home.write(
        "home/.config/switchboard/settings.json",
        json!({"mcpServers": servers}).to_string(),
    );
    home.write(file, policy.to_string());
    let rows = home.show(&["list", "--no-connect", "--json"]).ok().json();
    let rows = rows.as_array().unwrap();
    let unused = ["denied", "shadowed"].map(Value::from);
    let used = rows.iter().filter(|row| !unused.contains(&row["state"]));
    used.map(|row| row["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn stars_in_names() {
    for file in ["managed-settings.json", "managed-mcp.json"] {
        let file = format!("etc/{file}");
        for (policy, expected) in [
            (
                json!({"deniedMcpServers": [{"serverName": "corp*"}]}),
                &["other", "web"][..],
            ),
            (
                json!({"deniedMcpServers": [{"serverName": "*_o*"}]}),
                &["corp-two", "other", "web"],
            ),
            (
                json!({"allowedMcpServers": [{"serverName": "corp-*"}]}),
                &["corp-one", "corp-two"],
            ),
            (
                json!({"allowedMcpServers": [{"serverName": "*"}],
                    "deniedMcpServers": [{"serverName": "*e*"}]}),
                &["corp-two"],
            ),
        ] {
            assert_eq!(left(&file, &policy), expected, "{file} {policy}");
        }
    }
}

#[test]
fn a_command_is_allowed_where_the_rule_lets_it_work() {
    let file = "etc/managed-settings.json";
    for (rule, expected) in [
        (json!({"serverCommand": ["true"]}), &["corp-one"][..]),
        (
            json!({"serverCommand": ["true"], "serverCwd": "/srv/*"}),
            &["corp-one", "corp-two"],
        ),
    ] {
        assert_eq!(left(file, &json!({"allowedMcpServers": [rule]})), expected);
        let denied = left(file, &json!({"deniedMcpServers": [rule]}));
        assert_eq!(denied, ["other", "web"], "{rule}");
    }
}

/// Rules alone are about everybody's servers; servers, even none, are the only
/// ones.
#[test]
fn a_managed_file_with_rules_alone_is_policy() {
    let rules = json!({
        "allowedMcpServers": [
            {"serverName": "other"},
            {"serverUrl": "https://*.company.com/*"},
        ],
        "deniedMcpServers": [{"serverName": "untrusted"}],
    });
    let mut exclusive = rules.clone();
    exclusive["mcpServers"] = json!({});
    let mut with_servers = rules.clone();
    with_servers["mcpServers"] = json!({"other": {"command": "theirs"}});
    for (policy, expected) in [
        (rules, &["other", "web"][..]),
        (exclusive, &[]),
        (with_servers, &["other"]),
        (json!({}), &[]),
        (json!({"mcpServers": {}}), &[]),
    ] {
        assert_eq!(left("etc/managed-mcp.json", &policy), expected, "{policy}");
    }
}
