//! A deny rule by address holds for the machine, however it is reached.

use crate::support::homes::Home;

use serde_json::json;

#[test]
fn a_denied_address_is_denied_on_every_port_and_by_every_scheme() {
    let home = Home::new();
    let server = |kind: &str, url: &str| json!({"type": kind, "url": url});
    let settings = json!({
        "deniedMcpServers": [
            {"serverUrl": "https://evil.example/*"},
            {"serverUrl": "https://bare.example"},
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
            "fine-port": server("http", "https://some.example/mcp"),
            "fine": server("http", "https://good.example/mcp"),
        },
    });
    home.write(
        "home/.config/switchboard/settings.json",
        settings.to_string(),
    );
    let ran = home.run(&["list", "--no-connect", "--json"]);
    let rows = ran.json();
    for row in rows.as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        let is_denied = row["state"] == "denied";
        assert_eq!(is_denied, !name.starts_with("fine"), "{row}");
    }
    assert_eq!(rows.as_array().unwrap().len(), 11, "{rows}");
}
