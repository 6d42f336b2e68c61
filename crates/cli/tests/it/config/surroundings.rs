//! What a server gets of our environment: enough to reach a network and to find
//! its tools, and no secret of ours.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use switchboard_testkit::bin;
use switchboard_testkit::world::World;

/// An environment as somebody behind a company's proxy has it.
const OURS: [(&str, &str); 12] = [
    ("HTTPS_PROXY", "http://me:word@proxy.corp.example:3128"),
    ("no_proxy", "localhost,.corp.example"),
    ("NODE_EXTRA_CA_CERTS", "/etc/corp.pem"),
    ("npm_config_registry", "https://npm.corp.example/"),
    ("npm_config__auth", "bWU6aHVudGVyMg=="),
    (
        "UV_INDEX_URL",
        "https://me:hunter2hunter2@pypi.corp.example/simple",
    ),
    ("NVM_DIR", "/home/me/.nvm"),
    ("AWS_PROFILE", "work"),
    ("AWS_SECRET_ACCESS_KEY", "hunter2hunter2"),
    ("GITHUB_TOKEN", "ghp_000000000000000000000000000000000000"),
    ("CORP_REGION", "north"),
    ("LD_PRELOAD", "/tmp/none.so"),
];

/// A server that writes its environment down before it serves.
fn telling(file: &str) -> Value {
    let line = format!(
        "env > ROOT/{file}; exec '{}' --stdio",
        bin("echo-server").display()
    );
    json!({"command": "sh", "args": ["-c", line]})
}

/// Runs `tools` with our environment, and reads which of it the server had.
fn had(home: &World, file: &str) -> BTreeMap<String, String> {
    let mut command = home.command(&["tools"]);
    command.envs(OURS);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = home.read(file);
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let ours = |name: &str| OURS.iter().any(|(known, _)| *known == name);
    pairs
        .filter(|(name, _)| ours(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn names(had: &BTreeMap<String, String>) -> Vec<&str> {
    had.keys().map(String::as_str).collect()
}

#[test]
fn the_users_server_reaches_the_network_and_finds_its_tools() {
    let home = World::repository();
    let settings = "home/.config/switchboard/settings.json";
    home.write(
        settings,
        json!({"mcpServers": {"a": telling("a")}}).to_string(),
    );
    let all = had(&home, "a");
    assert_eq!(
        names(&all),
        [
            "AWS_PROFILE",
            "HTTPS_PROXY",
            "NODE_EXTRA_CA_CERTS",
            "NVM_DIR",
            "no_proxy",
            "npm_config_registry",
        ]
    );
    assert_eq!(all["HTTPS_PROXY"], OURS[0].1);

    // More, by name; and nothing.
    let mut more = telling("a");
    more["inheritEnv"] = json!(["GITHUB_TOKEN", "CORP_*"]);
    home.write(settings, json!({"mcpServers": {"a": more}}).to_string());
    let all = had(&home, "a");
    assert!(
        all.contains_key("GITHUB_TOKEN") && all.contains_key("CORP_REGION"),
        "{all:?}"
    );
    assert!(
        all.contains_key("NVM_DIR") && !all.contains_key("AWS_SECRET_ACCESS_KEY"),
        "{all:?}"
    );
    let mut none = telling("a");
    none["inheritEnv"] = json!([]);
    let none = json!({"mcpServers": {"a": none}, "inheritEnv": ["CORP_*"]});
    home.write(settings, none.to_string());
    assert_eq!(had(&home, "a").len(), 0);

    // For all of them.
    let every = json!({"mcpServers": {"a": telling("a")}, "inheritEnv": ["CORP_*"]});
    home.write(settings, every.to_string());
    assert!(had(&home, "a").contains_key("CORP_REGION"));
}

#[test]
fn a_projects_server_gets_proxies_and_certificates_only() {
    let home = World::repository();
    let mut entry = telling("p");
    entry["inheritEnv"] = json!(["GITHUB_TOKEN"]);
    home.write(
        "home/repo/.mcp.json",
        json!({"mcpServers": {"p": entry}}).to_string(),
    );
    home.write(
        "home/.config/switchboard/settings.json",
        json!({"enabledMcpjsonServers": ["p"], "inheritEnv": ["CORP_*"]}).to_string(),
    );
    assert_eq!(
        names(&had(&home, "p")),
        ["HTTPS_PROXY", "NODE_EXTRA_CA_CERTS", "no_proxy"]
    );
}

#[test]
fn a_package_runner_that_takes_too_long_says_what_may_be_missing() {
    let home = World::repository();
    // It tells what it is about to do, and waits for a network that is not there.
    let runner = home.write(
        "home/bin/npx",
        "#!/bin/sh\necho 'getting the package' >&2\nexec sleep 60\n",
    );
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&runner, mode).unwrap();
    let servers = json!({"a": {"command": runner, "args": ["-y", "some-package"]}});
    home.write(
        "home/.config/switchboard/settings.json",
        json!({ "mcpServers": servers }).to_string(),
    );
    let mut command = home.command(&["list", "--json"]);
    let output = command.env("MCP_TIMEOUT", "1500").output().unwrap();
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reason = rows[0]["reason"].as_str().unwrap();
    for said in [
        "did not start within 1.5s",
        "`npx` gets what it runs from a network",
        "MCP_TIMEOUT",
        "inheritEnv",
        "getting the package",
    ] {
        assert!(reason.contains(said), "{said}: {reason}");
    }
}

#[test]
fn what_cannot_be_inherited_is_named_with_its_line() {
    let home = World::repository();
    let settings = "home/.config/switchboard/settings.json";
    home.write(
        settings,
        "{\"mcpServers\": {\"a\": {\"command\": \"true\",\n\"inheritEnv\": [\"*\"]}}}",
    );
    let said = home.show(&["list"]);
    let said = format!("{}{}", said.out, said.err);
    assert!(said.contains("settings.json:2"), "{said}");
    assert!(said.contains("inheritEnv"), "{said}");
    assert!(said.contains("GITHUB_TOKEN"), "{said}");

    home.write(settings, "{\n\"inheritEnv\": \"HOME\"}");
    let said = home.show(&["list"]);
    let said = format!("{}{}", said.out, said.err);
    assert!(said.contains("settings.json:2"), "{said}");
    assert!(said.contains("`inheritEnv` must be a list"), "{said}");
}
