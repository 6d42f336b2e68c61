//! Files as each client writes them, with every field that it documents. `/*+*/` and
//! `#+` are where a test puts one more.

use serde_json::{Value, json};

pub(super) struct Case {
    pub(super) client: &'static str,
    pub(super) path: &'static str,
    pub(super) text: &'static str,
    pub(super) expected: Value,
}

const ASKS: &str = "write permissions.allow for tools that need no question";
const START: &str = "MCP_TIMEOUT says for all servers how long a start may take";
const EDITOR: &str = "it is for the editor alone";
const SHOWN: &str = "it is only shown";

pub(super) fn cases() -> Vec<Case> {
    let mut all = vec![
        Case {
            client: "claude-desktop",
            path: ".config/Claude/claude_desktop_config.json",
            text: r#"{"globalShortcut": "", "mcpServers": {"a": {/*+*/"command": "npx", "args": ["-y", "p", "${X}"], "env": {"K": "v"}}}}"#,
            expected: json!({"a": {
                "entry": {"type": "stdio", "command": "npx", "args": ["-y", "p", "${X}"], "env": {"K": "v"}},
                "notes": ["${X} was plain text there, and is the variable X here"],
            }}),
        },
        Case {
            client: "claude-code",
            path: ".claude.json",
            text: r#"{"numStartups": 3, "mcpServers": {"a": {/*+*/"type": "http", "url": "https://x/mcp", "headers": {"A": "${T}"},
                "headersHelper": "/bin/h", "timeout": 600000, "alwaysLoad": true,
                "oauth": {"clientId": "c", "callbackPort": 8080, "scopes": "a b", "authServerMetadataUrl": "https://y/m"}}}}"#,
            expected: json!({"a": {"entry": {"type": "http", "url": "https://x/mcp", "headers": {"A": "${T}"},
                "headersHelper": "/bin/h", "timeout": 600000, "alwaysLoad": true,
                "oauth": {"clientId": "c", "callbackPort": 8080, "scopes": "a b", "authServerMetadataUrl": "https://y/m"}}}}),
        },
        Case {
            client: "cursor",
            path: ".cursor/mcp.json",
            text: r#"{"mcpServers": {
                "a": {/*+*/"type": "stdio", "command": "python", "args": ["${workspaceFolder}/s.py"], "env": {"T": "${env:T}"}, "envFile": "~/.env"},
                "b": {"url": "https://x/mcp", "headers": {"A": "Bearer ${env:T}"},
                      "auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "${env:S}", "scopes": ["read"]}}}}"#,
            expected: json!({
                "a": {"entry": {"type": "stdio", "command": "python", "args": ["${workspaceFolder}/s.py"], "env": {"T": "${T}"}, "envFile": "~/.env"},
                    "translated": {"env": "${…}"},
                    "notes": ["${workspaceFolder} is the folder that Switchboard is started in, or its repository"]},
                "b": {"entry": {"type": "http", "url": "https://x/mcp", "headers": {"A": "Bearer ${T}"},
                        "oauth": {"clientId": "c", "clientSecret": "${S}", "scopes": ["read"]}},
                    "translated": {"headers": "${…}", "auth": "oauth"}},
            }),
        },
        Case {
            client: "codex",
            path: ".codex/config.toml",
            text: "model = 'x'\n\n[mcp_servers.a]\n#+\ncommand = 'npx'\nargs = ['-y', 'p']\ncwd = '/w'\nenv_vars = ['T', {name = 'U', source = 'local'}]\nenabled = false\nrequired = true\nstartup_timeout_sec = 20\nstartup_timeout_ms = 20000\ntool_timeout_sec = 1.5\nenabled_tools = ['t', 'u']\ndisabled_tools = ['u']\nsupports_parallel_tool_calls = true\ndefault_tools_approval_mode = 'prompt'\nexperimental_environment = 'local'\n[mcp_servers.a.env]\nK = 'v'\n[mcp_servers.a.tools.t]\napproval_mode = 'approve'\n\n[mcp_servers.b]\nurl = 'https://x'\nbearer_token_env_var = 'TOK'\nhttp_headers = { A = 'b' }\nenv_http_headers = { C = 'D' }\nscopes = ['s']\noauth_resource = 'https://x'\noauth = { client_id = 'c' }\n",
            expected: json!({
                "a": {"entry": {"type": "stdio", "command": "npx", "args": ["-y", "p"], "cwd": "/w",
                        "env": {"T": "${T}", "U": "${U}", "K": "v"}, "disabled": true, "timeout": 1500,
                        "tools": {"allow": ["t", "u"], "deny": ["u"]}},
                    "translated": {"env_vars": "env", "enabled": "disabled", "tool_timeout_sec": "timeout in milliseconds",
                        "enabled_tools": "tools.allow", "disabled_tools": "tools.deny"},
                    "lost": {"required": "a server that fails ends nothing here", "startup_timeout_sec": START, "startup_timeout_ms": START,
                        "supports_parallel_tool_calls": "calls run side by side anyway",
                        "default_tools_approval_mode": ASKS, "tools": ASKS,
                        "experimental_environment": "servers run on this machine"}},
                "b": {"entry": {"type": "http", "url": "https://x",
                        "headers": {"Authorization": "Bearer ${TOK}", "A": "b", "C": "${D}"}, "oauth": {"scopes": ["s"], "clientId": "c"}},
                    "translated": {"bearer_token_env_var": "headers.Authorization", "http_headers": "headers",
                        "env_http_headers": "headers", "scopes": "oauth.scopes", "oauth": "oauth"},
                    "lost": {"oauth_resource": "the server says itself which resource it is"}},
            }),
        },
        Case {
            client: "windsurf",
            path: ".codeium/windsurf/mcp_config.json",
            text: r#"{"mcpServers": {"a": {/*+*/"serverUrl": "https://x/${env:T}", "headers": {"A": "b"}, "disabled": true, "disabledTools": ["t"], "alwaysAllow": ["u"]},
                "b": {"command": "x", "disabled": false, "disabledTools": [], "registry": "r", "serverId": "s"}}}"#,
            expected: json!({
                "a": {"entry": {"type": "http", "url": "https://x/${T}", "headers": {"A": "b"}, "disabled": true, "tools": {"deny": ["t"]}},
                    "translated": {"serverUrl": "url", "disabledTools": "tools.deny"}, "lost": {"alwaysAllow": ASKS}},
                "b": {"entry": {"type": "stdio", "command": "x"}, "lost": {"registry": SHOWN, "serverId": SHOWN}},
            }),
        },
        Case {
            client: "zed",
            path: ".config/zed/settings.json",
            text: r#"{"theme": "x", // mine
                "context_servers": {
                "a": {/*+*/"source": "custom", "enabled": false, "remote": false, "command": "npx", "args": ["-y", "p"], "env": {"K": "v"}, "timeout": 60},
                "b": {"command": {"path": "npx", "args": ["q"], "env": null}, "settings": {}},
                "c": {"url": "https://x", "headers": {"A": "b"}, "timeout": 5, "oauth": {"client_id": "c", "client_secret": "s"}},
                "d": {"enabled": true, "remote": false, "settings": {"k": 1}},}}"#,
            expected: json!({
                "a": {"entry": {"type": "stdio", "disabled": true, "command": "npx", "args": ["-y", "p"], "env": {"K": "v"}, "timeout": 60000},
                    "translated": {"enabled": "disabled", "timeout": "timeout in milliseconds"}, "lost": {"remote": "servers run on this machine"}},
                "b": {"entry": {"type": "stdio", "command": "npx", "args": ["q"]}, "translated": {"command": "command, args, env"},
                    "lost": {"settings": "it is for an extension of Zed"}},
                "c": {"entry": {"type": "http", "url": "https://x", "headers": {"A": "b"}, "timeout": 5000, "oauth": {"clientId": "c", "clientSecret": "s"}},
                    "translated": {"timeout": "timeout in milliseconds", "oauth": "oauth"}},
                "d": {"entry": {}, "left_out": "an extension of Zed starts it",
                    "lost": {"remote": "servers run on this machine", "settings": "it is for an extension of Zed"}},
            }),
        },
        Case {
            client: "goose",
            path: ".config/goose/config.yaml",
            text: "GOOSE_MODEL: m\nextensions:\n  a:\n    #+\n    type: stdio\n    name: a\n    description: d\n    cmd: npx\n    args: ['-y', 8]\n    envs: {K: 1}\n    env_keys: [SECRET]\n    enabled: false\n    timeout: 300\n    bundled: null\n    available_tools: [t]\n  b:\n    type: streamable_http\n    uri: https://x/$T\n    headers: {A: b}\n    enabled: true\n    available_tools: []\n    env_keys: []\n  developer:\n    type: builtin\n    name: developer\n    enabled: true\n    bundled: true\n",
            expected: json!({
                "a": {"entry": {"type": "stdio", "command": "npx", "args": ["-y", "8"], "env": {"K": "1", "SECRET": "${SECRET}"},
                        "disabled": true, "timeout": 300000, "tools": {"allow": ["t"]}},
                    "translated": {"cmd": "command", "args": "args", "envs": "env", "env_keys": "env", "enabled": "disabled",
                        "timeout": "timeout in milliseconds", "available_tools": "tools.allow"},
                    "lost": {"name": SHOWN, "description": SHOWN},
                    "notes": ["set the variable SECRET: the client keeps its value among its own secrets"]},
                "b": {"entry": {"type": "http", "url": "https://x/${T}", "headers": {"A": "b"}},
                    "translated": {"type": "type: http", "uri": "url"}},
                "developer": {"entry": {}, "left_out": "it is a part of the client itself (builtin)",
                    "lost": {"type": "it is a part of the client itself", "name": SHOWN, "bundled": SHOWN}},
            }),
        },
        Case {
            client: "opencode",
            path: ".config/opencode/opencode.json",
            text: r#"{"mcp": {
                "a": {/*+*/"type": "local", "command": ["npx", "-y", "{env:P}"], "environment": {"K": "{env:K}", "F": "{file:~/.key}"}, "enabled": true, "timeout": 5000},
                "b": {"type": "remote", "url": "https://x", "headers": {"A": "{file:/etc/key}"}, "enabled": false,
                      "oauth": {"clientId": "{env:C}", "clientSecret": "s", "scope": "a b"}},
                "c": {"type": "remote", "url": "https://y", "oauth": false}}}"#,
            expected: json!({
                "a": {"entry": {"type": "stdio", "command": "npx", "args": ["-y", "${P}"], "env": {"K": "${K}", "F": "${file:~/.key}"}, "timeout": 5000},
                    "translated": {"type": "type: stdio", "command": "command, args", "environment": "env"}},
                "b": {"entry": {"type": "http", "url": "https://x", "headers": {"A": "${file:/etc/key}"}, "disabled": true,
                        "oauth": {"clientId": "${C}", "clientSecret": "s", "scopes": "a b"}},
                    "translated": {"type": "type: http", "headers": "${…}", "enabled": "disabled", "oauth": "oauth"}},
                "c": {"entry": {"type": "http", "url": "https://y"}, "translated": {"type": "type: http"},
                    "lost": {"oauth": "no sign-in begins here before you ask for one"}},
            }),
        },
        Case {
            client: "continue",
            path: ".continue/config.yaml",
            text: "name: Local\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: a b\n    #+\n    command: npx\n    args: [-y, p]\n    env:\n      K: ${{ secrets.MY_KEY }}\n    cwd: /w\n    connectionTimeout: 5000\n    faviconUrl: https://i\n  - name: c\n    type: streamable-http\n    url: https://x\n    requestOptions:\n      headers: {A: b}\n      timeout: 7000\n    serverName: s\n",
            expected: json!({
                "a-b": {"entry": {"type": "stdio", "command": "npx", "args": ["-y", "p"], "env": {"K": "${MY_KEY}"}, "cwd": "/w"},
                    "translated": {"env": "${…}"}, "lost": {"connectionTimeout": START, "faviconUrl": SHOWN},
                    "notes": ["set the variable MY_KEY: Continue keeps it as a secret", "it was called \"a b\""]},
                "c": {"entry": {"type": "http", "url": "https://x", "headers": {"A": "b"}, "timeout": 7000},
                    "translated": {"type": "type: http", "requestOptions": "headers, timeout"}, "lost": {"serverName": SHOWN}},
            }),
        },
        Case {
            client: "copilot-cli",
            path: ".copilot/mcp-config.json",
            text: r#"{"mcpServers": {
                "a": {/*+*/"type": "local", "command": "npx", "args": ["p"], "env": {"K": "$K"}, "tools": ["*"], "timeout": 9000, "cwd": "/w", "displayName": "A"},
                "b": {"type": "http", "url": "https://x", "headers": {"A": "${T}"}, "tools": ["t"], "isDefaultServer": true, "filterMapping": {}}}}"#,
            expected: json!({
                "a": {"entry": {"type": "stdio", "command": "npx", "args": ["p"], "env": {"K": "${K}"}, "timeout": 9000, "cwd": "/w"},
                    "translated": {"type": "type: stdio", "env": "${…}"}, "lost": {"displayName": SHOWN}},
                "b": {"entry": {"type": "http", "url": "https://x", "headers": {"A": "${T}"}, "tools": {"allow": ["t"]}},
                    "translated": {"tools": "tools.allow"}, "lost": {"isDefaultServer": SHOWN, "filterMapping": EDITOR}},
            }),
        },
        Case {
            client: "copilot-jetbrains",
            path: ".config/github-copilot/intellij/mcp.json",
            text: r#"{"servers": {"a": {/*+*/"type": "http", "url": "https://x", "requestInit": {"headers": {"A": "b"}, "mode": "cors"}}}}"#,
            expected: json!({"a": {"entry": {"type": "http", "url": "https://x", "headers": {"A": "b"}},
                "lost": {"requestInit": "mode in it has no place here"}}}),
        },
        Case {
            client: "kiro",
            path: ".kiro/settings/mcp.json",
            text: r#"{"mcpServers": {"a": {/*+*/"command": "x", "args": [], "env": {"K": "${K}"}, "disabled": true, "autoApprove": ["t"], "disabledTools": ["u"], "timeout": 9000},
                "b": {"url": "https://x", "headers": {}, "oauthScopes": ["s"], "oauth": {"redirectUri": "127.0.0.1:8080"}}}}"#,
            expected: json!({
                "a": {"entry": {"type": "stdio", "command": "x", "args": [], "env": {"K": "${K}"}, "disabled": true, "tools": {"deny": ["u"]}, "timeout": 9000},
                    "translated": {"disabledTools": "tools.deny"}, "lost": {"autoApprove": ASKS}},
                "b": {"entry": {"type": "http", "url": "https://x", "headers": {}, "oauth": {"scopes": ["s"]}},
                    "translated": {"oauthScopes": "oauth.scopes"}, "lost": {"oauth": "redirectUri in it has no place here"}},
            }),
        },
        Case {
            client: "junie",
            path: ".junie/mcp/mcp.json",
            text: r#"{"mcpServers": {"a": {/*+*/"command": "x", "args": ["y"], "env": {"K": "v"}, "enabled": false}}}"#,
            expected: json!({"a": {"entry": {"type": "stdio", "command": "x", "args": ["y"], "env": {"K": "v"}, "disabled": true},
                "translated": {"enabled": "disabled"}}}),
        },
        Case {
            client: "warp",
            path: ".warp/.mcp.json",
            text: r#"{"mcpServers": {"a": {/*+*/"command": "x", "args": [], "env": {}, "working_directory": "/w", "start_on_launch": true},
                "b": {"url": "https://x", "headers": {"A": "b"}}}}"#,
            expected: json!({
                "a": {"entry": {"type": "stdio", "command": "x", "args": [], "env": {}, "cwd": "/w"},
                    "translated": {"working_directory": "cwd"}, "lost": {"start_on_launch": "servers start when they are needed"}},
                "b": {"entry": {"type": "http", "url": "https://x", "headers": {"A": "b"}}},
            }),
        },
        Case {
            client: "lm-studio",
            path: ".lmstudio/mcp.json",
            text: r#"{"mcpServers": {"a": {/*+*/"url": "https://x", "headers": {"A": "b"}}, "b": {"command": "x", "timeout": 7000}}}"#,
            expected: json!({
                "a": {"entry": {"type": "http", "url": "https://x", "headers": {"A": "b"}}},
                "b": {"entry": {"type": "stdio", "command": "x", "timeout": 7000}},
            }),
        },
        Case {
            client: "amp",
            path: ".config/amp/settings.json",
            text: r#"{"amp.mcpServers": {"a": {/*+*/"command": "npx", "args": ["p"], "env": {"K": "${K}"}, "includeTools": ["t_*"]},
                "b": {"url": "https://x", "headers": {"A": "${T}"}, "oauth": {"clientId": "c", "scopes": ["s"]}}},
                "amp.tools.disable": ["mcp__a__danger", "builtin:x"], "amp.url": "https://z"}"#,
            expected: json!({
                "a": {"entry": {"type": "stdio", "command": "npx", "args": ["p"], "env": {"K": "${K}"}, "tools": {"allow": ["t_*"], "deny": ["danger"]}},
                    "translated": {"includeTools": "tools.allow", "amp.tools.disable": "tools.deny"}},
                "b": {"entry": {"type": "http", "url": "https://x", "headers": {"A": "${T}"}, "oauth": {"clientId": "c", "scopes": ["s"]}}},
            }),
        },
        Case {
            client: "mcporter",
            path: ".mcporter/mcporter.json",
            text: r#"{"mcpServers": {"a": {/*+*/"baseUrl": "https://x", "bearerTokenEnv": "TOK", "auth": "oauth", "tokenCacheDir": "/t", "clientName": "n",
                "oauthRedirectUrl": "http://127.0.0.1:1/", "lifecycle": "keep-alive", "logging": {}, "allowedTools": ["t"], "blockedTools": ["u"]}}, "imports": []}"#,
            expected: json!({"a": {"entry": {"type": "http", "url": "https://x", "headers": {"Authorization": "Bearer ${TOK}"}, "tools": {"allow": ["t"], "deny": ["u"]}},
                "translated": {"baseUrl": "url", "bearerTokenEnv": "headers.Authorization", "allowedTools": "tools.allow", "blockedTools": "tools.deny"},
                "lost": {"auth": "sign in: switchboard login NAME", "tokenCacheDir": "sign-ins are kept in one place here", "clientName": SHOWN,
                    "oauthRedirectUrl": "write oauth.callbackPort", "lifecycle": "servers end when nobody needs them",
                    "logging": "switchboard logs NAME shows what a server writes"}}}),
        },
    ];
    all.extend(code());
    all.extend(gemini());
    all.extend(cline());
    all
}

/// VS Code and its relatives: a file of their own, profiles, and settings.
fn code() -> Vec<Case> {
    let text = r#"{"inputs": [{"id": "api-key", "description": "Key", "type": "promptString", "password": true},
            {"id": "region", "type": "pickString", "options": ["eu", "us"], "default": "eu"}], // c
        "servers": {"a": {/*+*/"type": "stdio", "command": "x", "args": ["${input:region}"], "env": {"K": "${input:api-key}"}, "envFile": "/e/.env", "cwd": "${userHome}",
            "dev": {"watch": "*"}, "gallery": "https://g", "version": "1", "sandboxEnabled": true},
          "b": {"type": "sse", "url": "https://x", "headers": {"A": "b"}}}}"#;
    let expected = json!({
        "a": {"entry": {"type": "stdio", "command": "x", "args": ["${REGION:-eu}"], "env": {"K": "${API_KEY}"}, "envFile": "/e/.env", "cwd": "${userHome}"},
            "translated": {"args": "${…}", "env": "${…}"},
            "lost": {"dev": EDITOR, "gallery": EDITOR, "version": EDITOR, "sandboxEnabled": EDITOR},
            "notes": ["\"eu\" counts unless the variable REGION is set: it was asked for as input \"region\"",
                "set the variable API_KEY (Key): it was asked for as input \"api-key\""]},
        "b": {"entry": {"type": "sse", "url": "https://x", "headers": {"A": "b"}}},
    });
    let settings = r#"{"editor.fontSize": 12, "mcp": {"inputs": [], "servers": {"s": {/*+*/"command": "x"}}}}"#;
    let in_settings = json!({"s": {"entry": {"type": "stdio", "command": "x"}}});
    let case = |client, path, text, expected: &Value| Case {
        client,
        path,
        text,
        expected: expected.clone(),
    };
    vec![
        case("vscode", ".config/Code/User/mcp.json", text, &expected),
        case(
            "vscode",
            "Library/Application Support/Code/User/mcp.json",
            text,
            &expected,
        ),
        case(
            "vscode",
            ".config/Code/User/profiles/-1f/mcp.json",
            text,
            &expected,
        ),
        case(
            "vscode",
            ".config/Code/User/settings.json",
            settings,
            &in_settings,
        ),
        case(
            "vscode-insiders",
            ".config/Code - Insiders/User/mcp.json",
            text,
            &expected,
        ),
        case(
            "vscodium",
            ".config/VSCodium/User/mcp.json",
            text,
            &expected,
        ),
        case(
            "vscodium",
            ".config/VSCodium/User/settings.json",
            settings,
            &in_settings,
        ),
    ]
}

fn gemini() -> Vec<Case> {
    let text = r#"{"theme": "x", "mcpServers": {
        "a": {/*+*/"command": "npx", "args": ["$P/x", "a$"], "env": {"K": "$MYVAR", "L": "${L}"}, "cwd": "/w", "timeout": 30000, "trust": true,
              "includeTools": ["t", "u(x)"], "excludeTools": ["v"], "description": "d", "extensionName": "e"},
        "b": {"httpUrl": "https://x", "headers": {"A": "b"}, "oauth": {"enabled": true, "clientId": "c", "scopes": ["s"]}},
        "c": {"url": "https://y/sse", "authProviderType": "google_credentials", "targetAudience": "t", "targetServiceAccount": "u"},
        "d": {"url": "https://z", "type": "http"},
        "e": {"tcp": "ws://h"}}}"#;
    let sign_in = "write headersHelper, or sign in: switchboard login";
    let expected = json!({
        "a": {"entry": {"type": "stdio", "command": "npx", "args": ["${P}/x", "a$"], "env": {"K": "${MYVAR}", "L": "${L}"}, "cwd": "/w", "timeout": 30000,
                "tools": {"allow": ["t", "u"], "deny": ["v"]}},
            "translated": {"args": "${…}", "env": "${…}", "includeTools": "tools.allow", "excludeTools": "tools.deny"},
            "lost": {"trust": ASKS, "description": SHOWN, "extensionName": SHOWN}},
        "b": {"entry": {"type": "http", "url": "https://x", "headers": {"A": "b"}, "oauth": {"clientId": "c", "scopes": ["s"]}},
            "translated": {"httpUrl": "url"}},
        "c": {"entry": {"type": "sse", "url": "https://y/sse"},
            "lost": {"authProviderType": sign_in, "targetAudience": sign_in, "targetServiceAccount": sign_in}},
        "d": {"entry": {"type": "http", "url": "https://z"}},
        "e": {"entry": {}, "left_out": "it has neither a program nor an address", "lost": {"tcp": "WebSocket servers are written as url: ws://…"}},
    });
    [
        ("gemini", ".gemini/settings.json"),
        ("qwen", ".qwen/settings.json"),
    ]
    .map(|(client, path)| Case {
        client,
        path,
        text,
        expected: expected.clone(),
    })
    .into()
}

fn cline() -> Vec<Case> {
    let text = r#"{"mcpServers": {"a": {/*+*/"command": "x", "args": ["y"], "env": {"K": "${env:K}"}, "cwd": "/w", "autoApprove": ["t"], "alwaysAllow": ["t"],
            "disabled": true, "timeout": 60, "disabledTools": ["u"], "watchPaths": ["/p"]},
        "b": {"url": "https://x", "headers": {"A": "b"}, "transportType": "sse"},
        "c": {"type": "streamableHttp", "url": "https://y", "timeout": 1}}}"#;
    let expected = json!({
        "a": {"entry": {"type": "stdio", "command": "x", "args": ["y"], "env": {"K": "${K}"}, "cwd": "/w", "disabled": true, "timeout": 60000, "tools": {"deny": ["u"]}},
            "translated": {"env": "${…}", "timeout": "timeout in milliseconds", "disabledTools": "tools.deny"},
            "lost": {"autoApprove": ASKS, "alwaysAllow": ASKS, "watchPaths": "a changed entry is taken up by itself, files are not watched"}},
        "b": {"entry": {"type": "sse", "url": "https://x", "headers": {"A": "b"}}},
        "c": {"entry": {"type": "http", "url": "https://y", "timeout": 1000}, "translated": {"type": "type: http", "timeout": "timeout in milliseconds"}},
    });
    [
        ("cline", ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
        ("cline-cli", ".cline/data/settings/cline_mcp_settings.json"),
        ("roo", ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
    ]
    .map(|(client, path)| Case {
        client,
        path,
        text,
        expected: expected.clone(),
    })
    .into()
}
