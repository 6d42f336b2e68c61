//! What a gateway is configured by, and what it runs, is out of reach of its own
//! `files`: a client that could change it would run what it wrote.

use serde_json::{Value, json};
use std::{fs, time::Duration};
use switchboard_testkit::world::{World, config, echo};
use switchboard_testkit::{HttpClient, LEGACY, Launch, StdioClient};

const SETTINGS: &str = "home/.config/switchboard/settings.json";

fn launch(home: &World, folder: &str) -> Launch {
    home.launch(&[]).cwd(home.path(folder))
}

fn files(root: &str) -> Value {
    json!({"type": "builtin", "builtin": "files", "root": root})
}

/// A call that is refused because of what is protected.
async fn refused(client: &mut StdioClient, tool: &str, arguments: Value) {
    let answer = client
        .call(&format!("files__{tool}"), arguments.clone())
        .await;
    let said = answer.to_string();
    assert_eq!(
        answer["result"]["isError"], true,
        "{tool} {arguments}: {said}"
    );
    assert!(said.contains("is protected"), "{tool} {arguments}: {said}");
}

async fn done(client: &mut StdioClient, tool: &str, arguments: Value) {
    let answer = client
        .call(&format!("files__{tool}"), arguments.clone())
        .await;
    let is_done = answer["result"].is_object() && answer["result"]["isError"] != true;
    assert!(is_done, "{tool} {arguments}: {answer}");
}

/// No tool changes a path, and no other takes its place.
async fn stays(client: &mut StdioClient, path: &str) {
    for mode in ["overwrite", "append"] {
        let evil = json!({"path": path, "content": "{}", "mode": mode});
        refused(client, "write", evil).await;
    }
    refused(client, "delete", json!({"path": path, "recursive": true})).await;
    refused(client, "move", json!({"from": path, "to": "taken"})).await;
    done(
        client,
        "write",
        json!({"path": "evil.json", "content": "{}"}),
    )
    .await;
    let put = json!({"from": "evil.json", "to": path, "overwrite": true});
    refused(client, "move", put).await;
}

#[tokio::test]
async fn the_file_of_mcp_config_is_out_of_reach() {
    for folder in ["home", "home/w"] {
        let home = World::repository();
        let servers = json!({"files": files("~/w"), "second": echo(&[])});
        let file = home.write("home/w/deep/servers.json", config(&servers));
        std::os::unix::fs::symlink("deep/servers.json", home.path("home/w/link.json")).unwrap();
        let before = fs::read(&file).unwrap();
        for named in ["deep/servers.json", "link.json"] {
            let named = home.path("home/w").join(named);
            let program = launch(&home, folder)
                .arg("--mcp-config")
                .arg(named)
                .arg("serve");
            let mut client = StdioClient::new(program.spawn());
            client.initialize(LEGACY).await;
            refused(&mut client, "read", json!({"path": "deep/servers.json"})).await;
            refused(&mut client, "read", json!({"path": "link.json"})).await;
            stays(&mut client, "deep/servers.json").await;
            // Nor is the folder around it moved away and another put in its place.
            refused(&mut client, "move", json!({"from": "deep", "to": "gone"})).await;
            assert_eq!(fs::read(&file).unwrap(), before);
        }
    }
}

fn manifest(name: &str) -> String {
    json!({"name": name, "description": "Says ok.", "command": ["echo", "ok"]}).to_string()
}

async fn tools(client: &mut StdioClient) -> String {
    let listed = client.request("tools/list", json!({})).await;
    listed["result"]["tools"].to_string()
}

/// Also where it was configured while the gateway ran.
#[tokio::test]
async fn manifests_are_read_but_not_written() {
    let home = World::repository();
    home.write("home/w/my-tools/ok.tool.json", manifest("ok"));
    home.write("home/w/my-tools/run.sh", "echo ok");
    home.write("home/w/late/later.tool.json", manifest("later"));
    home.write("home/w/late/run.sh", "echo later");
    let toolbox = |folder: &str| json!({"type": "builtin", "builtin": "tools", "folder": folder});
    let mut servers = json!({"tools": toolbox("~/w/my-tools"), "files": files("~/w")});
    home.write(SETTINGS, config(&servers));
    let mut client = home.beside_a_second(&[]).await;
    let written = json!({"path": "my-tools/evil.tool.json", "content": manifest("evil")});
    refused(&mut client, "write", written).await;
    stays(&mut client, "my-tools/ok.tool.json").await;
    stays(&mut client, "my-tools/run.sh").await;
    done(
        &mut client,
        "read",
        json!({"path": "my-tools/ok.tool.json"}),
    )
    .await;
    refused(
        &mut client,
        "move",
        json!({"from": "my-tools", "to": "other"}),
    )
    .await;
    // A manifest is none of theirs in any folder: one could be named tomorrow.
    let elsewhere = json!({"path": "plain/evil.flow.json", "content": "{}"});
    refused(&mut client, "write", elsewhere).await;
    let script = json!({"path": "late/run.sh", "content": "echo mine"});
    done(&mut client, "write", script.clone()).await;

    servers["more"] = toolbox("~/w/late");
    home.write(SETTINGS, config(&servers));
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    while !tools(&mut client).await.contains("more__later") {
        assert!(
            tokio::time::Instant::now() < deadline,
            "{}",
            tools(&mut client).await
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    refused(&mut client, "write", script).await;
}

#[tokio::test]
async fn plugins_and_scripts_of_servers_are_not_written() {
    let home = World::repository();
    let at = |path: &str| home.path("home").join(path).display().to_string();
    let inner = at(".claude/plugins/cache/p");
    let outer = at("w/q");
    home.write(
        "home/.claude/settings.json",
        r#"{"enabledPlugins": {"p@m": true, "q@m": true}}"#,
    );
    let installed = json!({"version": 1, "plugins": {
        "p@m": {"installPath": inner}, "q@m": {"installPath": outer}}});
    home.write(
        "home/.claude/plugins/installed_plugins.json",
        installed.to_string(),
    );
    for folder in [".claude/plugins/cache/p", "w/q"] {
        let plugin = json!({"name": folder.rsplit('/').next(), "mcpServers": {"ok": echo(&[])}});
        home.write(
            format!("home/{folder}/.claude-plugin/plugin.json"),
            plugin.to_string(),
        );
        home.write(format!("home/{folder}/index.js"), "// seen");
    }
    home.write("home/w/own/server.sh", "exit 0");
    home.write("home/w/own/notes.txt", "seen");
    let own = json!({"command": "sh", "args": [at("w/own/server.sh"), at("w/own/notes.txt")]});
    let servers = json!({"files": files("~/"), "own": own});
    home.write(SETTINGS, config(&servers));
    let mut client = home.beside_a_second(&[]).await;
    for path in [
        ".claude/plugins/cache/p/.claude-plugin/plugin.json",
        ".claude/plugins/cache/p/index.js",
        ".claude/plugins/installed_plugins.json",
        "w/q/.claude-plugin/plugin.json",
        "w/q/index.js",
        "w/own/server.sh",
    ] {
        stays(&mut client, path).await;
    }
    let data = json!({"path": "w/own/notes.txt", "content": "changed"});
    done(&mut client, "write", data).await;
}

/// However an entry says what it runs: in a text for a shell, behind an option, in a
/// variable, from another directory.
#[tokio::test]
async fn what_an_entry_runs_is_not_written_however_it_is_said() {
    let run = [
        "wrapped.py",
        "option.js",
        "sub/relative.py",
        "required.js",
        "bash.env",
        "modules/lib.py",
        "helper.sh",
        "named.rc",
    ];
    let home = World::repository();
    let at = |path: &str| home.path("home/w").join(path).display().to_string();
    for file in run {
        home.write(format!("home/w/{file}"), "# seen");
    }
    for data in ["sub/notes.txt", "project/package.json", "project/index.js"] {
        home.write(format!("home/w/{data}"), "{}");
    }
    let text = format!("exec python3 {} {}", at("wrapped.py"), at("sub/notes.txt"));
    let servers = json!({
        "files": files("~/w"),
        "text": {"command": "sh", "args": ["-c", text]},
        "option": {"command": "true", "args": [format!("--plugin={}", at("option.js"))]},
        "elsewhere": {"command": "env", "args": ["-C", at("sub"), "python3", "relative.py"]},
        "variable": {"command": "true", "env": {"NODE_OPTIONS": format!("--require {}", at("required.js")),
            "BASH_ENV": at("bash.env"), "PYTHONPATH": at("modules")}},
        "helper": {"type": "http", "url": "http://127.0.0.1:9/",
            "headersHelper": format!("cd {} && sh ./helper.sh", at(""))},
        "script": {"command": "bash", "args": [at("named.rc"), at("sub/notes.txt")]},
        "to_come": {"command": "python3", "args": [at("later/server.py")], "env": {"BASH_ENV": at("later.env")}},
        "module": {"command": "python3", "args": ["-m", "notyet"], "cwd": at("sub")},
        "works_on": {"command": "node", "args": [at("option.js"), "--root", at("project")]},
    });
    home.write(SETTINGS, config(&servers));
    let mut client = home.beside_a_second(&[]).await;
    for path in run {
        stays(&mut client, path).await;
    }
    for path in [
        "modules/json.py",
        "later/server.py",
        "later.env",
        "sub/notyet.py",
    ] {
        let new = json!({"path": path, "content": "evil"});
        refused(&mut client, "write", new).await;
    }
    // What it works on is anybody's.
    for data in ["sub/notes.txt", "project/package.json", "project/index.js"] {
        done(&mut client, "write", json!({"path": data, "content": "x"})).await;
    }
}

/// Files that an entry is filled in from, and those that are written about its clients.
#[tokio::test]
async fn what_fills_entries_in_and_what_is_recorded_is_out_of_reach() {
    let kept = [
        "server.env",
        "token.txt",
        "me.key",
        "heads",
        "access.log",
        "access.log.1",
        "gateway.log",
    ];
    let home = World::repository();
    let at = |path: &str| home.path("home/w").join(path).display().to_string();
    for file in kept {
        home.write(format!("home/w/{file}"), "CANARY=1\n");
    }
    let servers = json!({
        "files": files("~/w"),
        "own": {"command": "true", "envFile": at("server.env")},
        "later": {"command": "true", "envFile": at("not-there-yet.env")},
        "web": {"type": "http", "url": "http://127.0.0.1:9/", "tls": {"key": at("me.key")},
            "headers": {"X-Key": format!("${{file:{}}}", at("token.txt"))}},
    });
    let settings = json!({"mcpServers": servers, "observe": {
        "audit": {"headsTo": at("heads")}, "accessLog": {"file": at("access.log")}}});
    home.write(SETTINGS, settings.to_string());
    let mut client = home
        .beside_a_second(&["--log-file", &at("gateway.log")])
        .await;
    for path in kept {
        refused(&mut client, "read", json!({"path": path})).await;
        stays(&mut client, path).await;
    }
    let new = json!({"path": "not-there-yet.env", "content": "BASH_ENV=x"});
    refused(&mut client, "write", new).await;
}

/// One principal does not become another by reading that one's token.
#[tokio::test]
async fn token_files_are_out_of_reach() {
    use std::os::unix::fs::PermissionsExt;
    let home = World::repository();
    let mut tokens = Vec::new();
    for name in ["alice", "bob"] {
        let token = format!("{name}-0123456789abcdef0123456789abcdef");
        let file = home.write(format!("home/w/tok.{name}"), &token);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        tokens.push(token);
    }
    let servers = config(&json!({"files": files("~/w")}));
    let serve = [
        "serve",
        "--http",
        "127.0.0.1:0",
        "--token-file",
        "w/tok.alice",
        "--token-file",
        "bob=w/tok.bob",
    ];
    let gateway = launch(&home, "home")
        .args(["--mcp-config", &servers])
        .args(serve);
    let own = launch(&home, "home").args(["builtin", "files", "--root", "w"]);
    let own = own.args(&serve[1..]);
    for program in [gateway, own] {
        let program = program.spawn();
        let url = program.url().await;
        let bearer = format!("Bearer {}", tokens[1]);
        let mut client = HttpClient::new(&format!("{url}/mcp")).header("Authorization", &bearer);
        client.initialize(LEGACY).await;
        let listed = client.request("tools/list", json!({})).await.to_string();
        let read = match listed.contains("files__read") {
            true => "files__read",
            false => "read",
        };
        for (name, token) in ["alice", "bob"].iter().zip(&tokens) {
            let path = format!("tok.{name}");
            let answer = client.call(read, json!({"path": path})).await;
            let said = answer.to_string();
            assert!(said.contains("is protected"), "{said}");
            assert!(!said.contains(token), "{said}");
        }
    }
}
