//! A deny rule by address holds for the machine, however it is reached.

use serde_json::{Value, json};
use switchboard_testkit::world::World;

#[test]
fn a_denied_address_is_denied_on_every_port_and_by_every_scheme() {
    let home = World::repository();
    let server = |kind: &str, url: &str| json!({"type": kind, "url": url});
    let settings = json!({
        "deniedMcpServers": [
            {"serverUrl": "https://evil.example/*"},
            {"serverUrl": "https://bare.example"},
            {"serverUrl": "https://path.example/secret"},
            {"serverUrl": "https://some.example:8443/*"},
        ],
        "mcpServers": {
            "as-written": server("http", "https://evil.example/mcp"),
            "port": server("http", "https://evil.example:8443/mcp"),
            "http": server("http", "http://evil.example/mcp"),
            "sse": server("sse", "http://evil.example:1/sse"),
            "ws": server("ws", "ws://evil.example/ws"),
            "wss": server("ws", "wss://evil.example:9/ws"),
            "dot": server("http", "https://EVIL.example./mcp"),
            "bare": server("http", "https://bare.example:8443/mcp"),
            "its-port": server("http", "http://some.example:8443/mcp"),
            "slashes": server("http", "https://path.example//secret"),
            "last-slash": server("http", "https://path.example/%73ecret/"),
            "fine-path": server("http", "https://path.example/secrets"),
            "fine-port": server("http", "https://some.example/mcp"),
            "fine": server("http", "https://good.example/mcp"),
        },
    });
    home.write(
        "home/.config/switchboard/settings.json",
        settings.to_string(),
    );
    let ran = home.show(&["list", "--no-connect", "--json"]);
    let rows = ran.json();
    for row in rows.as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        let is_denied = row["state"] == "denied";
        assert_eq!(is_denied, !name.starts_with("fine"), "{row}");
    }
    assert_eq!(rows.as_array().unwrap().len(), 14, "{rows}");
}

/// The names and states of the user's servers under a policy of the user's own.
fn states(denied: &Value, servers: &Value) -> Vec<(String, bool)> {
    let home = World::repository();
    home.write(
        "home/.config/switchboard/settings.json",
        json!({"deniedMcpServers": denied, "mcpServers": servers}).to_string(),
    );
    let rows = home.show(&["list", "--no-connect", "--json"]).json();
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| {
        (
            row["name"].as_str().unwrap().to_owned(),
            row["state"] == "denied",
        )
    })
    .collect()
}

/// The same machine by another address is the same machine.
#[test]
fn a_denied_machine_is_denied_by_every_address() {
    let this = [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[::1]",
        "0.0.0.0",
        "0",
        "[::]",
        "[::ffff:0:0]",
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "127.9.9.9",
    ];
    let metadata = [
        "169.254.169.254",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::a9fe:a9fe]",
    ];
    let servers = |hosts: &[&str], name: &str| -> Vec<(String, Value)> {
        let each = hosts.iter().enumerate();
        each.map(|(i, host)| {
            let url = format!("http://{host}:9/mcp");
            (format!("{name}{i}"), json!({"type": "http", "url": url}))
        })
        .collect()
    };
    let all: serde_json::Map<String, Value> = servers(&this, "this")
        .into_iter()
        .chain(servers(&metadata, "metadata"))
        .chain(servers(
            &["10.0.0.1", "[2001:db8::1]", "localhost.example"],
            "fine",
        ))
        .collect();
    let all = Value::Object(all);
    for (rule, name) in this
        .iter()
        .map(|host| (*host, "this"))
        .chain([("127.*", "this"), ("*.localhost", "this4")])
        .chain(metadata.iter().map(|host| (*host, "metadata")))
        .chain([("169.254.*", "metadata")])
    {
        let denied = json!([{"serverUrl": format!("http://{rule}/*")}]);
        for (server, is_denied) in states(&denied, &all) {
            // Of names with a star in front only those are meant.
            let expected = match name {
                "this4" => server == "this12",
                name => server.starts_with(name),
            };
            assert_eq!(is_denied, expected, "{rule}: {server}");
        }
    }
}

/// What an entry runs is denied under each of its names, and wherever it runs it.
#[test]
fn a_denied_command_is_denied_behind_wrappers_links_and_helpers() {
    let home = World::repository();
    let echo = switchboard_testkit::bin("echo-server");
    std::os::unix::fs::symlink(&echo, home.path("home/one")).unwrap();
    std::os::unix::fs::symlink("one", home.path("home/two")).unwrap();
    let echo = echo.display().to_string();
    let web = |helper: &str| json!({"url": "http://127.0.0.1:9/mcp", "headersHelper": helper});
    let settings = json!({
        "deniedMcpServers": [{"serverCommand": ["echo-server", "**"]}, {"serverCommand": ["touch", "x"]}],
        "mcpServers": {
            "plain": {"command": "echo-server", "args": ["--stdio"]},
            "path": {"command": &echo, "args": ["--stdio"]},
            "env": {"command": "env", "args": ["A=b", "echo-server", "--stdio"]},
            "nested": {"command": "/usr/bin/nice", "args": ["-n", "1", "timeout", "9", &echo]},
            "shell": {"command": "sh", "args": ["-c", "cd /; exec 'echo-server' --stdio"]},
            "link": {"command": "ROOT/home/one", "args": ["--stdio"]},
            "links": {"command": "ROOT/home/two", "args": ["--stdio"]},
            "env-link": {"command": "env", "args": ["ROOT/home/two"]},
            "helper": web("echo-server --headers"),
            "helper-behind": web("printf '{}'; exec env echo-server"),
            "helper-exact": web("touch x; echo '{}'"),
            "fine": {"command": "true", "args": ["echo-server"]},
            "fine-exact": {"command": "touch", "args": ["x", "y"]},
            "fine-env": {"command": "env", "args": ["true"]},
            "fine-helper": web("printf '{}'"),
        },
    });
    home.write(
        "home/.config/switchboard/settings.json",
        settings.to_string(),
    );
    let rows = home.show(&["list", "--no-connect", "--json"]).json();
    for row in rows.as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        assert_eq!(row["state"] == "denied", !name.starts_with("fine"), "{row}");
    }
    assert_eq!(rows.as_array().unwrap().len(), 15, "{rows}");
}

/// Where commands are allowed by a list, a helper is one of them.
#[test]
fn a_helper_has_to_be_allowed_like_a_command() {
    let web = |helper: &str| json!({"url": "http://127.0.0.1:9/mcp", "headersHelper": helper});
    let servers = json!({
        "fine": {"url": "http://127.0.0.1:9/mcp"},
        "fine-helper": web("give-headers --json"),
        "helper": web("touch ROOT/touched; echo '{}'"),
        "more": web("give-headers --json; touch ROOT/touched"),
    });
    for (file, rule) in [
        (
            "etc/managed-settings.json",
            json!(["/bin/sh", "-c", "give-headers --json"]),
        ),
        (
            "home/.config/switchboard/settings.json",
            json!(["sh", "-c", "give-headers *n"]),
        ),
    ] {
        let home = World::repository();
        let user = "home/.config/switchboard/settings.json";
        let rules = json!([{"serverUrl": "http://127.0.0.1:9/*"}, {"serverCommand": rule}]);
        home.write(user, json!({"mcpServers": servers}).to_string());
        let mut text = json!({"allowedMcpServers": rules});
        if file == user {
            text["mcpServers"] = servers.clone();
        }
        home.write(file, text.to_string());
        let rows = home.show(&["list", "--json"]).json();
        for row in rows.as_array().unwrap() {
            let name = row["name"].as_str().unwrap();
            assert_eq!(row["state"] == "denied", !name.starts_with("fine"), "{row}");
        }
        assert!(!home.path("touched").exists());
    }
}

/// A name that leads to a denied address is refused when it is looked up. The
/// machine's own name is in no rule.
#[test]
fn a_name_that_leads_to_a_denied_address_is_not_reached() {
    use std::net::{TcpListener, ToSocketAddrs};
    let Some(name) = own_name() else {
        return eprintln!("NOT RUN: this machine has no name of its own");
    };
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let Some(address) = (name.as_str(), port)
        .to_socket_addrs()
        .ok()
        .and_then(|mut all| all.next())
    else {
        return eprintln!("NOT RUN: {name} leads to no address");
    };
    let home = World::repository();
    let host = match address.ip() {
        std::net::IpAddr::V4(v4) => v4.to_string(),
        std::net::IpAddr::V6(v6) => format!("[{v6}]"),
    };
    home.write(
        "home/.config/switchboard/settings.json",
        json!({
            "deniedMcpServers": [{"serverUrl": format!("http://{host}/*")}],
            "mcpServers": {"a": {"type": "http", "url": format!("http://{name}:{port}/mcp")}},
        })
        .to_string(),
    );
    let rows = home.show(&["--direct", "list", "--json"]).json();
    let row = rows[0].to_string();
    assert!(row.contains("denied by"), "{row}");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody came");
}

/// What this machine is called, where it has another name than `localhost`.
fn own_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim().to_owned();
    (!name.is_empty() && name != "localhost").then_some(name)
}
