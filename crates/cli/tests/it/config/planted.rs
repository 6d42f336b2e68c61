//! A repository that plants what launchers take from where they are started, and
//! a trace of the system calls that shows that nothing of it runs before the
//! folder is trusted.

use super::trust::states;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use switchboard_testkit::world::{self, World};
use switchboard_testkit::{LEGACY, bin};

const PROGRAM: &str = env!("CARGO_BIN_EXE_switchboard");
const LIMIT: Duration = Duration::from_secs(60);

/// What the repository has planted, below it.
const PLANTED: [&str; 9] = [
    "node_modules/.bin/some-mcp",
    "node_modules/.bin/plain-mcp",
    "node_modules/.bin/give-headers",
    "bin/npx",
    "bin/sh",
    ".npmrc",
    "uv.toml",
    "mcp_server_time.py",
    "sitecustomize.py",
];

/// A home with servers of the user's, and a repository that lies in wait for them.
struct Trap {
    home: World,
}

impl Trap {
    fn new() -> Self {
        let home = World::untrusted();
        let echo = bin("echo-server").display().to_string();
        for file in PLANTED {
            let mark = format!("ROOT/ran/{}", file.replace('/', "_"));
            let text = if file.ends_with(".py") {
                format!(
                    "import os\nopen({mark:?}, 'w')\nos.execv({echo:?}, [{echo:?}, '--stdio'])\n"
                )
            } else {
                format!("#!/bin/sh\n: > {mark}\nexec {echo} --stdio\n")
            };
            executable(&home.write(format!("home/repo/{file}"), text));
        }
        fs::create_dir(home.path("ran")).unwrap();
        // Launchers like the real ones: what is there where they are started comes first.
        for name in ["npx", "uvx"] {
            let text = format!(
                "#!/bin/sh\nfor it in ./.npmrc ./uv.toml ./node_modules/.bin/$2; do\n\
                 if [ -e $it ]; then exec /bin/sh $it; fi\ndone\nexec {echo} --stdio\n"
            );
            executable(&home.write(format!("usr/bin/{name}"), text));
        }
        let text = format!("#!/bin/sh\nexec {echo} --stdio\n");
        executable(&home.write("usr/bin/plain-mcp", text));
        executable(&home.write(
            "usr/bin/give-headers",
            "#!/bin/sh\n: > ROOT/helped\necho '{}'\n",
        ));
        // Nobody answers there; its headers are fetched all the same.
        let servers = json!({
            "npm": {"command": "npx", "args": ["-y", "some-mcp"]},
            "uv": {"command": "uvx", "args": ["--from", "some-mcp"]},
            "py": {"command": python(), "args": ["-m", "mcp_server_time"]},
            "plain": {"command": "plain-mcp"},
            "web": {"type": "http", "url": "http://127.0.0.1:9/mcp", "headersHelper": "give-headers"},
        });
        home.write(
            "home/.config/switchboard/settings.json",
            json!({ "mcpServers": servers }).to_string(),
        );
        Self { home }
    }

    /// What was run of the repository.
    fn ran(&self) -> Vec<String> {
        let marks = fs::read_dir(self.home.path("ran")).unwrap();
        let mut names: Vec<String> = marks
            .map(|mark| mark.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let root = self.home.root.display();
        let path = format!(
            "./node_modules/.bin:node_modules/.bin::{root}/home/repo/bin:{root}/usr/bin:/usr/local/bin:/usr/bin:/bin"
        );
        let mut command = self.home.any(program, args);
        command.env("PATH", path).env("MCP_TIMEOUT", "20000");
        command
    }

    fn run(&self, args: &[&str]) -> world::Ran {
        let output = self.command(PROGRAM, args).output().unwrap();
        world::Ran::of(output).without(&self.home.root)
    }

    /// The program under strace, which must be there.
    fn traced(&self, args: &[&str]) -> Command {
        let file = self.trace_file().display().to_string();
        let calls = "trace=execve,execveat,open,openat,openat2";
        // Stops at these calls alone: without it every other one costs two stops as well.
        let strace = [
            "-f",
            "--seccomp-bpf",
            "-qq",
            "-s",
            "4096",
            "-e",
            calls,
            "-o",
            &file,
            PROGRAM,
        ];
        self.command("strace", &[&strace[..], args].concat())
    }

    fn trace_file(&self) -> PathBuf {
        self.home.root.with_extension("trace")
    }

    /// Nothing of the repository was run, and no program looked into it.
    #[track_caller]
    fn assert_untouched(&self, what: &str) {
        assert_eq!(self.ran(), [] as [&str; 0], "{what}");
        let calls = fs::read_to_string(self.trace_file()).expect("strace writes its trace");
        assert!(calls.contains("execve("), "nothing was traced: {calls}");
        let repo = self.home.path("home/repo").display().to_string();
        let touches = |line: &&str| {
            let runs = line.contains("execve") && !line.contains(" resumed>");
            let path = line.split('"').nth(1).unwrap_or_default();
            let inside = path.starts_with(&repo) || path.contains("node_modules");
            let planted = PLANTED.iter().any(|file| path.ends_with(file));
            let opened = !line.contains("= -1");
            runs && inside || opened && planted && (inside || !path.starts_with('/'))
        };
        let touched: Vec<&str> = calls.lines().filter(touches).collect();
        assert_eq!(touched, [] as [&str; 0], "{what}");
        let _ = fs::remove_file(self.trace_file());
    }
}

fn executable(file: &Path) {
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The real Python, not a script that looks for one.
fn python() -> String {
    let said = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .expect("python3 is needed for this test");
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

#[test]
fn nothing_of_a_hostile_repository_runs_before_it_is_trusted() {
    let trap = Trap::new();
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["tools"],
        &["resources"],
        &["prompts"],
        &["call", "mcp__npm__echo", r#"{"nonce": "n"}"#],
        &["call", "mcp__plain__echo", r#"{"nonce": "n"}"#],
        &["call", "mcp__py__echo", r#"{"nonce": "n"}"#],
        &["explain", "npm"],
        &["explain", "mcp__npm__echo"],
        &["doctor"],
        &["get", "npm"],
    ] {
        let said = trap
            .traced(args)
            .output()
            .expect("strace is needed for this test");
        let said = String::from_utf8([said.stdout, said.stderr].concat()).unwrap();
        trap.assert_untouched(&format!("{args:?}: {said}"));
    }
    serve(&trap);
    up(&trap);
    assert!(
        trap.home.path("helped").exists(),
        "the user's own helper runs"
    );
    // The servers are there all the same, except the one that is only in the repository.
    let before = trap.run(&["list", "--json"]).json();
    let expected = [
        ("npm", "connected"),
        ("uv", "connected"),
        ("py", "failed"),
        ("plain", "connected"),
        ("web", "failed"),
    ];
    let expected = expected.map(|(name, state)| (name.to_owned(), state.to_owned()));
    assert_eq!(states(&before), expected, "{before}");
    assert_eq!(trap.ran(), [] as [&str; 0]);

    // Trusted, they are started there, and find what is there.
    trap.run(&["trust"]).ok();
    let after = trap.run(&["list", "--json"]).json();
    let expected = [
        ("npm", "connected"),
        ("uv", "connected"),
        ("py", "connected"),
        ("plain", "connected"),
        ("web", "failed"),
    ];
    let expected = expected.map(|(name, state)| (name.to_owned(), state.to_owned()));
    assert_eq!(states(&after), expected, "{after}");
    let called = trap
        .run(&["call", "mcp__py__echo", r#"{"nonce": "n"}"#])
        .ok();
    assert_eq!(called.out, "n\n");
    // A name alone is not found in a relative entry of PATH even then.
    assert_eq!(trap.ran(), [".npmrc", "mcp_server_time.py"]);
}

/// A client of `serve` that meets all servers.
fn serve(trap: &Trap) {
    let mut child = trap
        .traced(&["serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("strace is needed for this test");
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut answer = |id: u64| -> Value {
        loop {
            let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            if line["id"] == id {
                return line;
            }
        }
    };
    let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    writeln!(
        stdin,
        "{}",
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    )
    .unwrap();
    answer(1);
    writeln!(
        stdin,
        r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#
    )
    .unwrap();
    writeln!(stdin, r#"{{"jsonrpc":"2.0","id":2,"method":"tools/list"}}"#).unwrap();
    let tools = answer(2)["result"]["tools"].to_string();
    for name in ["npm__echo", "uv__echo", "plain__echo"] {
        assert!(tools.contains(name), "{name}: {tools}");
    }
    drop(stdin);
    ended(&mut child);
    trap.assert_untouched("serve");
}

/// `up`, until it has met all servers.
fn up(trap: &Trap) {
    let out = trap.home.path("up.out");
    let mut child = trap
        .traced(&["up", "--port", "0"])
        .stdout(fs::File::create(&out).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .expect("strace is needed for this test");
    let until = Instant::now() + LIMIT;
    while !fs::read_to_string(&out).unwrap().contains("Ready.") {
        assert!(child.try_wait().unwrap().is_none() && Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
    // strace itself does not hand a signal on.
    let pid = i32::try_from(child.id()).unwrap();
    let keeper = world::children(pid)[0];
    let keeper = rustix::process::Pid::from_raw(keeper).unwrap();
    rustix::process::kill_process(keeper, rustix::process::Signal::INT).unwrap();
    ended(&mut child);
    trap.assert_untouched("up");
}

fn ended(child: &mut Child) {
    let until = Instant::now() + LIMIT;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}
