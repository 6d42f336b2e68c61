//! A server whose processes do not want to die.
//!
//! A minimal MCP server on stdio (revision 2025-06-18, one tool, `pids`) that
//! at its start makes processes as a gateway meets them behind launchers:
//!
//! - `--setsid`: one that left our group and session, ignores SIGINT, SIGTERM
//!   and SIGHUP, and holds our pipes
//! - `--no-pipe`: one that ignores the same signals and holds no pipe of ours
//!   (with `--setsid`, also one that does both)
//! - `--daemonise`: one that did `setsid` and whose parent has ended already
//! - `--clear-env`: these start with an empty environment
//! - `--ignore-signals`: the server itself ignores signals and the end of stdin
//! - `--fail-initialize`: `initialize` is answered with an error
//! - `--pid-file FILE`: every process adds its number to the file
//!
//! It runs on plain tokio and serde_json, so that nothing of ours can hide a
//! fault of ours. Also built as an example of the transport crate, whose tests
//! need it.

#![allow(clippy::exit, reason = "it starts nothing that it has to end")]

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::signal::unix::{Signal, SignalKind, signal};

const LIFETIME: Duration = Duration::from_secs(600);

#[derive(Default)]
struct Options {
    setsid: bool,
    no_pipe: bool,
    daemonise: bool,
    clear_env: bool,
    ignore_signals: bool,
    fail_initialize: bool,
    pid_file: Option<PathBuf>,
    /// Hidden: be one of the processes that cling. The file tells that it is ready.
    cling: Option<PathBuf>,
    /// Hidden: start a clinging process and end.
    leave: Option<PathBuf>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let options = options();
    if let Some(ready) = &options.cling {
        return cling(&options, ready).await;
    }
    if let Some(ready) = &options.leave {
        start_clinging(&options, true, true, ready)?;
        return wait_for(ready).map(drop);
    }
    let _ignored = if options.ignore_signals {
        ignore_signals()?
    } else {
        Vec::new()
    };
    note_pid(&options)?;
    let mut pids = vec![std::process::id()];
    pids.extend(make_processes(&options)?);
    serve(&options, &pids).await?;
    if options.ignore_signals {
        tokio::time::sleep(LIFETIME).await;
    }
    // Not by returning: the runtime would wait for the thread that reads stdin.
    exit(0)
}

fn options() -> Options {
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut file = || arguments.next().map(PathBuf::from);
        match argument.as_str() {
            "--setsid" => options.setsid = true,
            "--no-pipe" => options.no_pipe = true,
            "--daemonise" => options.daemonise = true,
            "--clear-env" => options.clear_env = true,
            "--ignore-signals" => options.ignore_signals = true,
            "--fail-initialize" => options.fail_initialize = true,
            "--pid-file" => options.pid_file = file(),
            "--cling" => options.cling = file(),
            "--leave" => options.leave = file(),
            _ => {
                let _ = writeln!(std::io::stderr(), "clinger: unknown argument {argument}");
                exit(2);
            }
        }
    }
    options
}

/// Makes what the options ask for; returns their process numbers once all of
/// them are as they should be.
fn make_processes(options: &Options) -> std::io::Result<Vec<u32>> {
    let mut wanted = Vec::new();
    if options.setsid {
        wanted.push((true, false));
    }
    if options.no_pipe {
        wanted.push((false, true));
    }
    if options.setsid && options.no_pipe {
        wanted.push((true, true));
    }
    let mut pids = Vec::new();
    for (number, (setsid, no_pipe)) in wanted.into_iter().enumerate() {
        let ready = ready_file(options, number);
        start_clinging(options, setsid, no_pipe, &ready)?;
        pids.push(wait_for(&ready)?);
        std::fs::remove_file(ready)?;
    }
    if options.daemonise {
        let ready = ready_file(options, pids.len());
        myself(options)?.arg("--leave").arg(&ready).status()?;
        pids.push(wait_for(&ready)?);
        std::fs::remove_file(ready)?;
    }
    Ok(pids)
}

/// Beside the pid file if there is one, so that whoever clears up after a
/// killed clinger finds it.
fn ready_file(options: &Options, number: usize) -> PathBuf {
    let directory = options
        .pid_file
        .as_deref()
        .and_then(Path::parent)
        .map(Path::to_owned);
    directory
        .unwrap_or_else(std::env::temp_dir)
        .join(format!("clinger-{}-{number}.ready", std::process::id()))
}

/// This program again, with the options that go down.
fn myself(options: &Options) -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    if let Some(file) = &options.pid_file {
        command.arg("--pid-file").arg(file);
    }
    if options.clear_env {
        command.env_clear().arg("--clear-env");
    }
    Ok(command)
}

fn start_clinging(
    options: &Options,
    setsid: bool,
    no_pipe: bool,
    ready: &Path,
) -> std::io::Result<()> {
    let mut command = myself(options)?;
    command.arg("--cling").arg(ready).stdin(Stdio::null());
    if setsid {
        command.arg("--setsid");
    }
    if no_pipe {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    command.spawn().map(drop)
}

/// Waits until a process says that it clings, and tells its number.
fn wait_for(ready: &Path) -> std::io::Result<u32> {
    let give_up = Instant::now() + Duration::from_secs(10);
    loop {
        let text = std::fs::read_to_string(ready).unwrap_or_default();
        if let Some(pid) = text.strip_suffix('\n').and_then(|text| text.parse().ok()) {
            return Ok(pid);
        }
        if Instant::now() > give_up {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

async fn cling(options: &Options, ready: &Path) -> std::io::Result<()> {
    let _ignored = ignore_signals()?;
    if options.setsid {
        rustix::process::setsid()?;
    }
    note_pid(options)?;
    writeln!(File::create(ready)?, "{}", std::process::id())?;
    tokio::time::sleep(LIFETIME).await;
    Ok(())
}

/// A handler that does nothing: as good as ignoring, and not inherited.
fn ignore_signals() -> std::io::Result<Vec<Signal>> {
    [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ]
    .into_iter()
    .map(signal)
    .collect()
}

fn note_pid(options: &Options) -> std::io::Result<()> {
    let Some(file) = &options.pid_file else {
        return Ok(());
    };
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(format!("{}\n", std::process::id()).as_bytes())
}

async fn serve(options: &Options, pids: &[u32]) -> std::io::Result<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut out = tokio::io::stdout();
    while let Some(line) = lines.next_line().await? {
        let Ok(request) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let Some(id) = request.get("id") else {
            continue;
        };
        let mut answer = match answer(options, pids, &request) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
                    .to_string()
            }
        };
        answer.push('\n');
        out.write_all(answer.as_bytes()).await?;
        out.flush().await?;
    }
    Ok(())
}

fn answer(options: &Options, pids: &[u32], request: &Value) -> Result<Value, (i64, String)> {
    let params = &request["params"];
    match request["method"].as_str().unwrap_or_default() {
        "initialize" if options.fail_initialize => {
            Err((-32603, "clinger was told to fail here".into()))
        }
        "initialize" => Ok(json!({
            "protocolVersion": params["protocolVersion"].as_str().unwrap_or("2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "clinger", "version": "1"},
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": [{
            "name": "pids",
            "description": "The numbers of all processes of this server.",
            "inputSchema": {"type": "object"},
        }]})),
        "tools/call" if params["name"] == "pids" => {
            let pids = json!({"pids": pids});
            Ok(json!({
                "content": [{"type": "text", "text": pids.to_string()}],
                "structuredContent": pids,
            }))
        }
        "tools/call" => Err((-32602, format!("unknown tool {}", params["name"]))),
        method => Err((-32601, format!("unknown method {method}"))),
    }
}
