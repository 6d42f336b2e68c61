//! `up`: what it starts, what it says, and what it writes for clients.

use crate::support::homes;

use homes::Home;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs,
    net::TcpListener,
    process::Child,
    time::{Duration, Instant},
};
use switchboard_testkit::{HttpClient, bin};

const LIMIT: Duration = Duration::from_secs(60);

/// `up`, running in a home of its own.
struct Up {
    child: Child,
    out: std::path::PathBuf,
    err: std::path::PathBuf,
}

impl Up {
    fn start(home: &Home, args: &[&str]) -> Self {
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

/// The line below a title, without its indentation.
fn below<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(title));
    lines
        .next()
        .unwrap_or_else(|| panic!("no {title:?} in {text}"));
    lines
        .take_while(|line| !line.is_empty())
        .map(str::trim_start)
        .collect()
}

#[test]
fn what_it_prints_can_be_pasted() {
    let home = Home::new();
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
    let read =
        |title: &str| -> Value { serde_json::from_str(&below(&text, title).join("\n")).unwrap() };
    let claude = below(&text, "Claude Code")[0];
    let claude = claude
        .strip_prefix("claude mcp add-json --scope user switchboard '")
        .unwrap();
    let claude: Value = serde_json::from_str(claude.strip_suffix('\'').unwrap()).unwrap();
    let cursor = read("Cursor, in ~/.cursor/mcp.json")["mcpServers"]["switchboard"].clone();
    let code = read("VS Code, in ~/.config/Code/User/mcp.json")["servers"]["switchboard"].clone();
    let desktop = read("Claude Desktop, in ")["mcpServers"]["switchboard"].clone();
    assert_eq!(desktop["args"], json!(["serve"]));
    assert_eq!(desktop["command"], env!("CARGO_BIN_EXE_switchboard"));
    let codex = below(&text, "Codex, in ~/.codex/config.toml").join("\n");
    assert!(
        codex.starts_with("[mcp_servers.switchboard]\nurl = \"http://127.0.0.1:"),
        "{codex}"
    );
    // Each has a key of its own, and each works.
    let urls = [&claude, &cursor, &code].map(|entry| entry["url"].as_str().unwrap());
    assert!(
        urls[0] != urls[1] && urls[1] != urls[2] && urls[0] != urls[2],
        "{urls:?}"
    );
    for entry in [claude, cursor, code] {
        let config = json!({"mcpServers": {"up": entry}}).to_string();
        let args = [
            "--strict-mcp-config",
            "--mcp-config",
            &config,
            "call",
            "system__health",
            "--json",
        ];
        let called = home.run(&args).ok();
        assert_eq!(
            called.json()["structuredContent"]["status"],
            "ok",
            "{called:?}"
        );
    }
    up.end();
    // A second time the keys are the same: what was pasted stays true.
    let mut up = Up::start(&home, &["--port", "0"]);
    let again = up.ready();
    let key = |text: &str| text.split("/mcp/@").nth(1).unwrap()[..12].to_owned();
    assert_eq!(key(&again), key(&text));
    up.end();
}

#[test]
fn the_next_port_is_taken_and_said() {
    let home = Home::new();
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
    let ran = home.run(&["up", "--port", &port]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err
            .contains(&format!("cannot listen on 127.0.0.1:{port}")),
        "{ran:?}"
    );
}

#[test]
fn an_entry_is_written_after_its_difference_is_shown() {
    let home = Home::new();
    let before =
        "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }\n  }\n}\n";
    home.write("home/.cursor/mcp.json", before);
    let toml = "# mine\nmodel = \"m\"\n";
    home.write("home/.codex/config.toml", toml);
    for (client, file, needle) in [
        ("cursor", "home/.cursor/mcp.json", "/mcp/@"),
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
        assert!(
            home.read(file).contains(needle),
            "{client}: {}",
            home.read(file)
        );
    }
    let cursor = home.read("home/.cursor/mcp.json");
    assert!(
        cursor.contains("// mine") && cursor.contains("\"other\""),
        "{cursor}"
    );
    assert!(home.read("home/.codex/config.toml").starts_with(toml));
    // The entry that Claude Code now has for us is not followed.
    let listed = home.run(&["list", "--no-connect", "--json"]).ok();
    assert!(!listed.out.contains("pending-approval"), "{listed:?}");
    let explained = home.run(&["explain", "switchboard"]);
    assert!(
        explained.out.contains("leads to Switchboard itself"),
        "{explained:?}"
    );
    // A file that cannot be read is left alone, and said to be.
    home.write("home/.cursor/mcp.json", "{ not json");
    let ran = home.run(&["up", "--port", "0", "--write", "cursor"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(home.read("home/.cursor/mcp.json"), "{ not json");
    let ran = home.run(&["up", "--write", "notepad"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn what_it_starts_can_be_chosen() {
    let home = Home::new();
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
    home.run(&[
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
    home.run(&["add", "-s", "user", "gone", "--", "no-such-program"])
        .ok();
    let mut up = Up::start(&home, &["--port", "0", "--no-builtins"]);
    let text = up.ready();
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
    let home = Home::new();
    home.write(
        "etc/managed-settings.json",
        json!({"deniedMcpServers": [{"serverName": "memory"}]}).to_string(),
    );
    let mut up = Up::start(&home, &["--port", "0"]);
    let text = up.ready();
    up.end();
    assert!(
        text.contains("  files ") && !text.contains("  memory"),
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
    let home = Home::new();
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
