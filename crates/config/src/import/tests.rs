use super::*;
use serde_json::json;
use std::fs;

/// Ten files, as their clients write them, and what becomes of them.
#[test]
fn ten_clients() {
    let stdio = json!({"type": "stdio", "command": "npx", "args": ["-y", "p"], "env": {"K": "v"}});
    let usual =
        r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "p"], "env": {"K": "v"}}}}"#;
    let cases: [(Client, &str, &str, Value); 13] = [
        (
            Client::ClaudeDesktop,
            ".config/Claude/claude_desktop_config.json",
            usual,
            stdio.clone(),
        ),
        (Client::ClaudeCode, ".claude.json", usual, stdio.clone()),
        (
            Client::Cursor,
            ".cursor/mcp.json",
            r#"{"mcpServers": {"a": {"url": "https://x/${env:T}"}}}"#,
            json!({"type": "http", "url": "https://x/${T}"}),
        ),
        (
            Client::VsCode,
            ".config/Code/User/mcp.json",
            r#"{"inputs": [{"id": "api-key", "description": "Key", "type": "promptString", "password": true}], // c
               "servers": {"a": {"type": "stdio", "command": "x", "env": {"K": "${input:api-key}"}}}}"#,
            json!({"type": "stdio", "command": "x", "env": {"K": "${API_KEY}"}}),
        ),
        (
            Client::Codex,
            ".codex/config.toml",
            "model = 'x'\n[mcp_servers.a]\ncommand = 'npx'\nargs = ['-y', 'p']\nenv_vars = ['T']\nenabled = false\ntool_timeout_sec = 1.5\nenabled_tools = ['t']\n[mcp_servers.a.env]\nK = 'v'\n",
            json!({"type": "stdio", "command": "npx", "args": ["-y", "p"], "env": {"K": "v", "T": "${T}"}, "timeout": 1500, "tools": {"allow": ["t"]}, "disabled": true}),
        ),
        (
            Client::Codex,
            ".codex/config.toml",
            "[mcp_servers.a]\nurl = 'https://x'\nbearer_token_env_var = 'TOK'\nhttp_headers = { A = 'b' }\n",
            json!({"type": "http", "url": "https://x", "headers": {"A": "b", "Authorization": "Bearer ${TOK}"}}),
        ),
        (
            Client::Windsurf,
            ".codeium/windsurf/mcp_config.json",
            r#"{"mcpServers": {"a": {"serverUrl": "https://x"}}}"#,
            json!({"type": "http", "url": "https://x"}),
        ),
        (
            Client::Zed,
            ".config/zed/settings.json",
            r#"{"theme": "x", "context_servers": {"a": {"source": "custom", "command": {"path": "npx", "args": ["-y", "p"], "env": {"K": "v"}}}, "ext": {"settings": {}}}}"#,
            stdio.clone(),
        ),
        (
            Client::Goose,
            ".config/goose/config.yaml",
            "extensions:\n  a:\n    type: stdio\n    cmd: npx\n    args: ['-y', p]\n    envs: {K: v}\n    enabled: true\n    timeout: 300\n  developer:\n    type: builtin\n",
            json!({"type": "stdio", "command": "npx", "args": ["-y", "p"], "env": {"K": "v"}, "timeout": 300000}),
        ),
        (
            Client::Goose,
            ".config/goose/config.yaml",
            "extensions:\n  a:\n    type: streamable_http\n    uri: https://x\n    enabled: false\n",
            json!({"type": "http", "url": "https://x", "disabled": true}),
        ),
        (
            Client::Gemini,
            ".gemini/settings.json",
            r#"{"mcpServers": {"a": {"httpUrl": "https://x", "excludeTools": ["t"]}}}"#,
            json!({"type": "http", "url": "https://x", "tools": {"deny": ["t"]}}),
        ),
        (
            Client::OpenCode,
            ".config/opencode/opencode.json",
            r#"{"mcp": {"a": {"type": "local", "command": ["npx", "-y", "p"], "environment": {"K": "v"}, "enabled": true}}}"#,
            json!({"type": "stdio", "command": "npx", "env": {"K": "v"}, "args": ["-y", "p"]}),
        ),
        (
            Client::OpenCode,
            ".config/opencode/opencode.json",
            r#"{"mcp": {"a": {"type": "remote", "url": "https://x"}}}"#,
            json!({"type": "http", "url": "https://x"}),
        ),
    ];
    for (client, path, text, expected) in cases {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        let mut faults = Vec::new();
        let found = find(client, home.path(), &mut faults);
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(found.len(), 1, "{client:?} {found:?}");
        assert_eq!(found[0].name, "a");
        assert_eq!(found[0].entry, expected, "{client:?}");
        // What comes out is an entry that we can read.
        let whole = json!({"mcpServers": {"a": found[0].entry}}).to_string();
        let entries = read(&whole, &Source::Ours, crate::Scope::User).unwrap();
        assert!(entries[0].faults.is_empty(), "{:?}", entries[0].faults);
        if client == Client::VsCode {
            assert_eq!(
                found[0].notes,
                ["set the variable API_KEY (Key): it was asked for as input \"api-key\""]
            );
        }
    }
}

#[test]
fn names_become_ours_and_bad_files_are_named() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".codex")).unwrap();
    fs::write(
        home.path().join(".claude.json"),
        r#"{"mcpServers": {"My Server!": {"command": "x"}}}"#,
    )
    .unwrap();
    fs::write(home.path().join(".codex/config.toml"), "a = 1\nb = = 2\n").unwrap();
    let mut faults = Vec::new();
    let found = find(Client::ClaudeCode, home.path(), &mut faults);
    assert_eq!(
        (found[0].name.as_str(), &found[0].notes[..]),
        (
            "My-Server",
            &["it was called \"My Server!\"".to_owned()][..]
        )
    );
    assert!(find(Client::Codex, home.path(), &mut faults).is_empty());
    assert!(
        faults[0]
            .to_string()
            .contains(".codex/config.toml:2: not TOML"),
        "{}",
        faults[0]
    );
}
