//! `up`: what it starts, what it says, and what it writes for clients.

use crate::support::screen::Shown;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    os::unix::fs::MetadataExt,
    process::{Child, Stdio},
    time::{Duration, Instant},
};
use switchboard_testkit::world::World;
use switchboard_testkit::{HttpClient, bin};

const LIMIT: Duration = Duration::from_secs(60);

/// `up`, running in a home of its own.
struct Up {
    child: Child,
    out: std::path::PathBuf,
    err: std::path::PathBuf,
}

impl Up {
    fn start(home: &World, args: &[&str]) -> Self {
        let (out, err) = (home.path("up.out"), home.path("up.err"));
        let child = home
            .command(&[&["up"], args].concat())
            .stdout(fs::File::create(&out).unwrap())
            .stderr(fs::File::create(&err).unwrap())
            .spawn()
            .unwrap();
        Self { child, out, err }
    }

    fn ready(&mut self) -> String {
        let until = Instant::now() + LIMIT;
        loop {
            let text = fs::read_to_string(&self.out).unwrap();
            if text.contains("Ready.") {
                return text;
            }
            let err = fs::read_to_string(&self.err).unwrap();
            assert!(self.child.try_wait().unwrap().is_none(), "{text}\n{err}");
            assert!(Instant::now() < until, "{text}\n{err}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, Signal::INT).unwrap();
        let until = Instant::now() + LIMIT;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert_eq!(
                    status.code(),
                    Some(0),
                    "{}",
                    fs::read_to_string(&self.err).unwrap()
                );
                // That servers end with it is no failure of theirs.
                let shown = fs::read_to_string(&self.out).unwrap();
                assert!(!shown.contains("stopping"), "{shown}");
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("up did not end");
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The client token, which must not be anywhere else.
fn token(home: &World) -> String {
    let file = home.read("home/.local/share/switchboard/tokens/default");
    file.trim().to_owned()
}

/// What a client that starts a program gets from it: the names of all tools, and
/// the answer to one call.
fn as_client(home: &World, command: &str, args: &[&str], folder: &str) -> (String, Value) {
    let mut child = home
        .any(command, args)
        .current_dir(home.path(folder))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |id: u64, method: &str, params: Value| -> Value {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(stdin, "{request}").unwrap();
        loop {
            let line = lines.next().expect("an answer").unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    };
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    ask(1, "initialize", hello);
    let tools = ask(2, "tools/list", json!({})).to_string();
    let health = ask(
        3,
        "tools/call",
        json!({"name": "system__health", "arguments": {}}),
    );
    drop(stdin);
    child.wait().unwrap();
    (tools, health)
}

#[test]
fn what_it_advises_works_and_holds_no_secret() {
    let home = World::repository();
    let started = Instant::now();
    let mut up = Up::start(&home, &["--port", "0"]);
    let text = up.ready();
    // A figure to look at, not a limit: this machine may be busy.
    println!("up was ready after {:?}", started.elapsed());
    for name in ["files", "memory", "system"] {
        assert!(
            text.contains(&format!("  {name:<8}  connected  ")),
            "{text}"
        );
    }
    assert!(
        !text.contains("shell"),
        "off unless it was asked for: {text}"
    );
    assert!(!text.contains(&token(&home)), "{text}");
    assert!(!text.contains("Bearer"), "{text}");
    // The first advice is to have it written.
    let write = text.find("switchboard connect CLIENT").unwrap();
    assert!(write < text.find("claude mcp add").unwrap(), "{text}");
    let claude = text
        .lines()
        .find_map(|line| line.split_once("claude mcp add --scope user switchboard -- "))
        .unwrap()
        .1;
    let words: Vec<&str> = claude.split(' ').collect();
    assert_eq!(
        words,
        [env!("CARGO_BIN_EXE_switchboard"), "serve", "--gateway"]
    );
    // Wherever the client starts it, and whatever is configured there.
    home.write(
        "home/.config/switchboard/settings.json",
        json!({"mcpServers": {"own": {"command": bin("echo-server"), "args": ["--stdio"]}}})
            .to_string(),
    );
    for folder in ["home/repo", "home", "etc"] {
        let (tools, health) = as_client(&home, words[0], &words[1..], folder);
        assert!(tools.contains("files__read"), "{folder}: {tools}");
        assert_eq!(
            health["structuredContent"]["status"], "ok",
            "{folder}: {health}"
        );
    }
    up.end();
    // Without a gateway the same set is started, and an older spelling still leads to it.
    for flag in ["--gateway", "--attach"] {
        let (tools, health) = as_client(&home, words[0], &["serve", flag], "etc");
        assert!(tools.contains("files__read"), "{tools}");
        assert!(tools.contains("own__echo"), "{tools}");
        assert_eq!(health["structuredContent"]["status"], "ok", "{health}");
    }
}

#[test]
fn the_token_is_shown_to_a_person_who_asks_for_it() {
    let home = World::repository();
    let mut up = Up::start(&home, &["--port", "0", "--show-token"]);
    let text = up.ready();
    up.end();
    let token = token(&home);
    assert!(!text.contains(&token), "{text}");
    assert!(
        text.contains("--show-token shows the token on a terminal"),
        "{text}"
    );
    for (words, expected) in [("up --port 0", false), ("up --port 0 --show-token", true)] {
        let mut shown = Shown::screen(home.on_terminal(60, 150, words));
        shown.until("it is ready", |rows| rows.has("Ready."));
        let rows = shown.rows();
        assert_eq!(rows.has(&token), expected, "{words}: {rows}");
        assert_eq!(shown.end(), Some(0));
    }
}

#[test]
fn a_client_that_speaks_http_only_finds_its_token_in_a_file() {
    let home = World::repository();
    let mut up = Up::start(&home, &["--port", "0", "--write", "http"]);
    let text = up.ready();
    let token = token(&home);
    assert!(!text.contains(&token), "{text}");
    let file = "home/.local/share/switchboard/http.json";
    assert!(
        text.contains("written: ~/.local/share/switchboard/http.json"),
        "{text}"
    );
    let mode = fs::metadata(home.path(file)).unwrap().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let entry = |home: &World| -> Value {
        let whole: Value = serde_json::from_str(&home.read(file)).unwrap();
        whole["mcpServers"]["switchboard"].clone()
    };
    let first = entry(&home);
    assert_eq!(first["headers"]["Authorization"], format!("Bearer {token}"));
    let config = json!({"mcpServers": {"up": first}}).to_string();
    let called = home
        .show(&[
            "--strict-mcp-config",
            "--mcp-config",
            &config,
            "call",
            "system__health",
            "--json",
        ])
        .ok();
    assert_eq!(
        called.json()["structuredContent"]["status"],
        "ok",
        "{called:?}"
    );
    // In another window: the gateway that runs is meant, and no other is started.
    let again = home.show(&["up", "--write", "http"]).ok();
    assert!(
        again.out.contains("has it already") && again.out.contains("runs already"),
        "{again:?}"
    );
    assert!(!again.out.contains(&token), "{again:?}");
    up.end();
    // A second time the key is the same: what was copied stays true.
    let mut up = Up::start(&home, &["--port", "0", "--write", "http"]);
    let text = up.ready();
    up.end();
    assert!(!text.contains(&token), "{text}");
    let key = |entry: &Value| {
        entry["url"]
            .as_str()
            .unwrap()
            .split("/mcp/@")
            .nth(1)
            .unwrap()
            .to_owned()
    };
    assert_eq!(key(&entry(&home)), key(&first));
}

#[test]
fn the_next_port_is_taken_and_said() {
    let home = World::repository();
    // Whoever has it, it is not free. Other tests have it for a moment only.
    let until = Instant::now() + Duration::from_secs(20);
    let mut _taken = TcpListener::bind("127.0.0.1:3700");
    while _taken.is_err() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
        _taken = TcpListener::bind("127.0.0.1:3700");
    }
    let mut up = Up::start(&home, &[]);
    let text = up.ready();
    assert!(
        text.contains("Port 3700 is taken by another program, so this is 37"),
        "{text}"
    );
    up.end();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = home.show(&["up", "--port", &port]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err
            .contains(&format!("cannot listen on 127.0.0.1:{port}")),
        "{ran:?}"
    );
}

#[test]
fn an_entry_is_written_after_its_difference_is_shown() {
    let home = World::repository();
    let before = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\", \"env\": { \"API_KEY\": \"s3cret\" } }\n  }\n}\n";
    home.write("home/.cursor/mcp.json", before);
    let toml = "# mine\nmodel = \"m\"\n";
    home.write("home/.codex/config.toml", toml);
    for (client, file, needle) in [
        ("cursor", "home/.cursor/mcp.json", "\"--gateway\""),
        (
            "codex",
            "home/.codex/config.toml",
            "[mcp_servers.switchboard]",
        ),
        ("vscode", "home/.config/Code/User/mcp.json", "\"servers\""),
        ("claude-code", "home/.claude.json", "\"mcpServers\""),
        (
            "claude-desktop",
            "home/.config/Claude/claude_desktop_config.json",
            "\"serve\"",
        ),
    ] {
        let mut up = Up::start(&home, &["--port", "0", "--write", client]);
        let text = up.ready();
        up.end();
        let shown = file.strip_prefix("home/").unwrap();
        assert!(text.contains(&format!("\n~/{shown}\n")), "{text}");
        assert!(text.lines().any(|line| line.starts_with("+ ")), "{text}");
        assert!(text.contains(&format!("written: ~/{shown}")), "{text}");
        let written = home.read(file);
        assert!(written.contains(needle), "{client}: {written}");
        assert!(!written.contains(&token(&home)), "{client}: {written}");
        // A key of another server's that was there is not shown either.
        assert!(!text.contains("s3cret"), "{text}");
    }
    let cursor = home.read("home/.cursor/mcp.json");
    assert!(
        cursor.contains("// mine") && cursor.contains("\"other\""),
        "{cursor}"
    );
    assert!(home.read("home/.codex/config.toml").starts_with(toml));
    // The entry that Claude Code now has for us is not followed.
    let listed = home.show(&["list", "--no-connect", "--json"]).ok();
    assert!(!listed.out.contains("pending-approval"), "{listed:?}");
    let explained = home.show(&["explain", "switchboard"]);
    assert!(
        explained.out.contains("leads to Switchboard itself"),
        "{explained:?}"
    );
    // A file that cannot be read is left alone, and said to be.
    home.write("home/.cursor/mcp.json", "{ not json");
    let ran = home.show(&["up", "--port", "0", "--write", "cursor"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(home.read("home/.cursor/mcp.json"), "{ not json");
    let ran = home.show(&["up", "--write", "notepad"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn what_it_starts_can_be_chosen() {
    let home = World::repository();
    fs::create_dir_all(home.path("home/.config/switchboard/tools")).unwrap();
    let manifest = json!({"name": "hi", "description": "Says hi.", "command": ["echo", "hi"]});
    home.write(
        "home/.config/switchboard/tools/hi.tool.json",
        manifest.to_string(),
    );
    fs::create_dir_all(home.path("home/docs")).unwrap();
    let root = home.path("home/docs");
    let root = root.to_str().unwrap();
    let mut up = Up::start(
        &home,
        &[
            "--port",
            "0",
            "--enable-shell",
            "--read-only",
            "--root",
            root,
        ],
    );
    let text = up.ready();
    for row in [
        "files     connected  6 tools",
        "shell     connected  6 tools",
        "tools     connected  1 tool",
    ] {
        assert!(text.contains(row), "{row}: {text}");
    }
    up.end();
    home.show(&[
        "add",
        "-s",
        "user",
        "echo",
        "--",
        bin("echo-server").to_str().unwrap(),
        "--stdio",
    ])
    .ok();
    home.write(
        "home/repo/.mcp.json",
        json!({"mcpServers": {"theirs": {"command": "x"}}}).to_string(),
    );
    home.show(&["add", "-s", "user", "gone", "--", "no-such-program"])
        .ok();
    let mut up = Up::start(&home, &["--port", "0", "--no-builtins"]);
    let text = up.ready();
    // In the same words wherever servers are listed.
    let status = home.show(&["status"]).ok().out;
    let is_named = |line: &str| line.contains("theirs") && line.contains("waits for approval");
    assert!(status.lines().any(is_named), "{status}");
    let list = home.show(&["list"]).out;
    assert!(list.lines().any(is_named), "{list}");
    up.end();
    assert!(text.contains("  echo      connected  "), "{text}");
    assert!(text.contains("  gone      failed  "), "{text}");
    assert!(
        text.contains("  theirs    waits for approval  switchboard approve theirs"),
        "{text}"
    );
    assert!(!text.contains("memory"), "{text}");
}

#[test]
fn an_administrators_list_keeps_the_built_in_servers_out() {
    let home = World::repository();
    home.write(
        "etc/managed-settings.json",
        json!({"deniedMcpServers": [{"serverName": "memory"}]}).to_string(),
    );
    let mut up = Up::start(&home, &["--port", "0"]);
    let text = up.ready();
    up.end();
    assert!(text.contains("  files "), "{text}");
    let memory = text.lines().filter(|line| line.contains("  memory "));
    assert!(
        memory.into_iter().all(|line| line.contains("  denied  ")),
        "{text}"
    );
    home.write(
        "etc/managed-mcp.json",
        json!({"mcpServers": {"system": {"type": "builtin"}}}).to_string(),
    );
    let mut up = Up::start(&home, &["--port", "0"]);
    let text = up.ready();
    up.end();
    assert!(
        text.contains("  system ") && !text.contains("  files "),
        "{text}"
    );
}

#[test]
fn a_client_without_the_token_is_sent_away() {
    let home = World::repository();
    let mut up = Up::start(&home, &["--port", "0"]);
    let text = up.ready();
    let base = text
        .split("all servers as one   ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let status = runtime.block_on(async {
        HttpClient::new(base)
            .modern("tools/list", json!({}))
            .await
            .status
    });
    assert_eq!(status, 401);
    up.end();
}
