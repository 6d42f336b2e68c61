//! The servers on stdin and stdout of a process of their own: nothing but the
//! protocol on stdout, and a clean end at the end of stdin and on SIGTERM.
//!
//! This program is its own child: with arguments it serves, without it tests.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it is its own harness"
)]

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};
use switchboard_builtin::{BuiltinError, Server, ServerKind, Setup};
use switchboard_testkit::LATE;
use tokio_util::sync::CancellationToken;

type Test = fn(&Path);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [serve, server, directory] = arguments.as_slice()
        && serve == "--serve"
    {
        return served(server, Path::new(directory));
    }
    // What nextest asks of a harness.
    if arguments.iter().any(|argument| argument == "--list") {
        if !arguments.iter().any(|argument| argument == "--ignored") {
            println!("stdio: test");
        }
        return ExitCode::SUCCESS;
    }
    let tests: [(&str, Test); 4] = [
        ("every server ends with stdin", ends_with_stdin),
        ("a signal ends it", ends_with_signal),
        ("processes end with it", processes_end_with_it),
        ("what is no message is survived", survives_garbage),
    ];
    for (name, test) in tests {
        let directory = tempfile::tempdir().expect("a directory");
        test(directory.path());
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}

fn served(server: &str, directory: &Path) -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let result = runtime.block_on(async {
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        let terminate = tokio::signal::unix::SignalKind::terminate();
        let mut signal = tokio::signal::unix::signal(terminate).expect("a signal");
        tokio::spawn(async move {
            signal.recv().await;
            stopping.cancel();
        });
        serve(server, directory, stop).await
    });
    runtime.shutdown_timeout(Duration::from_millis(1));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(
    server: &str,
    directory: &Path,
    stop: CancellationToken,
) -> Result<(), BuiltinError> {
    let setup = Setup {
        version: "1".to_owned(),
        roots: vec![directory.to_path_buf()],
        shell_enabled: true,
        data: Some(directory.to_path_buf()),
        manifests: Some(directory.to_path_buf()),
        ..Setup::default()
    };
    let kind = ServerKind::parse(server).expect("a known server");
    Server::new(kind, &setup)?.on_stdio_until(stop).await
}

struct Running {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(server: &str, directory: &Path) -> Self {
        let program = std::env::current_exe().expect("our own name");
        let mut child = Command::new(program)
            .args(["--serve", server])
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let stdout = BufReader::new(child.stdout.take().expect("stdout"));
        let mut running = Self { child, stdout };
        let hello = running.request(json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": { "name": "test", "version": "0" },
            },
        }));
        assert_eq!(
            hello["result"]["serverInfo"]["name"],
            format!("switchboard-{server}")
        );
        running
            .send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        running
    }

    fn send(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("stdin");
        stdin
            .write_all(format!("{line}\n").as_bytes())
            .expect("written");
    }

    fn request(&mut self, message: Value) -> Value {
        self.send(&message.to_string());
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).expect("nothing but the protocol on stdout")
    }

    /// Waits for the end; the exit code.
    fn ended(mut self) -> Option<i32> {
        let begun = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("a status") {
                Some(status) => break status,
                None if begun.elapsed() > Duration::from_secs(10) => {
                    self.child.kill().expect("killed");
                    panic!("it does not end");
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("text");
        for line in rest.lines() {
            serde_json::from_str::<Value>(line).expect("nothing but the protocol on stdout");
        }
        status.code()
    }
}

fn ends_with_stdin(directory: &Path) {
    for server in ["files", "shell", "system", "memory", "tools"] {
        let mut running = Running::start(server, directory);
        let tools = running.request(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
        assert!(tools["result"]["tools"].is_array(), "{tools}");
        drop(running.child.stdin.take());
        let begun = Instant::now();
        assert_eq!(running.ended(), Some(0), "{server}");
        assert!(begun.elapsed() < Duration::from_secs(2) + LATE, "{server}");
    }
}

fn signal(running: &Running) {
    let pid = i32::try_from(running.child.id()).expect("a pid");
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("signalled");
}

fn ends_with_signal(directory: &Path) {
    for server in ["files", "shell", "memory"] {
        let running = Running::start(server, directory);
        signal(&running);
        assert_eq!(running.ended(), Some(0), "{server}");
    }
}

fn processes_end_with_it(directory: &Path) {
    for how in ["stdin", "signal"] {
        let mut running = Running::start("shell", directory);
        let file = directory.join(how);
        let command = format!("trap '' INT TERM; echo $$ > {how}; while :; do sleep 1; done");
        running.request(json!({
            "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": "startProcess", "arguments": { "command": command } },
        }));
        let begun = Instant::now();
        let pid = loop {
            match std::fs::read_to_string(&file) {
                Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
                _ => assert!(begun.elapsed() < Duration::from_secs(10) + LATE, "it runs"),
            }
        };
        match how {
            "stdin" => drop(running.child.stdin.take()),
            _ => signal(&running),
        }
        assert_eq!(running.ended(), Some(0), "{how}");
        let begun = Instant::now();
        while Path::new("/proc").join(&pid).exists() {
            assert!(
                begun.elapsed() < Duration::from_secs(3) + LATE,
                "{how}: it is gone"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn survives_garbage(directory: &Path) {
    let mut running = Running::start("files", directory);
    for line in [
        "",
        "no json",
        "[]",
        "{}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"no/such/notice\"}",
    ] {
        running.send(line);
    }
    running.send(&json!({ "jsonrpc": "2.0", "id": 77, "method": "ping" }).to_string());
    let begun = Instant::now();
    loop {
        let mut line = String::new();
        running.stdout.read_line(&mut line).expect("a line");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        if answer["id"] == 77 {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(10) + LATE);
    }
    drop(running.child.stdin.take());
    assert_eq!(running.ended(), Some(0));
}
