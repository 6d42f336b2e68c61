//! Running the real program against real servers.

pub mod account;
pub mod bad;
pub mod client;
pub mod crossing;
pub mod dialogue;
pub mod evil;
pub mod homes;
pub mod mask;
pub mod pages;
pub mod pairs;
pub mod rig;
pub mod screen;
pub mod scripted;
pub mod serving;
pub mod signing;
pub mod snapshots;
pub mod stage;
pub mod tap;
pub mod wire;

use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::{Launch, Program, bin};

/// What a run of the program left.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Run {
    /// stdout as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("stdout is not JSON ({error}): {self:?}"))
    }

    /// The last line of stderr as JSON.
    pub fn error(&self) -> Value {
        let line = self
            .err
            .lines()
            .rfind(|line| line.starts_with("{\"error\""))
            .unwrap_or_default();
        serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("no JSON error on stderr ({error}): {self:?}"))
    }
}

/// The program, ready for arguments.
pub fn switchboard() -> Launch {
    Program::new(env!("CARGO_BIN_EXE_switchboard"))
}

/// Runs it to its end, with stdin closed.
pub async fn run(launch: Launch) -> Run {
    let (status, out, err) = launch.spawn().output(Duration::from_secs(180)).await;
    Run {
        code: status.code(),
        out: String::from_utf8(out).expect("stdout is UTF-8"),
        err,
    }
}

/// Runs it with one server configured.
pub async fn with(servers: &Value, args: &[&str]) -> Run {
    run(switchboard()
        .args(["--mcp-config", &config(servers)])
        .args(args))
    .await
}

/// The text for `--mcp-config`.
pub fn config(servers: &Value) -> String {
    json!({ "mcpServers": servers }).to_string()
}

/// An entry for the echo server.
pub fn echo(args: &[&str]) -> Value {
    let mut all = vec!["--stdio"];
    all.extend(args);
    json!({ "command": bin("echo-server"), "args": all })
}
