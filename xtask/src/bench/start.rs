//! `cargo xtask bench-start`: how soon a start shows tools where every server
//! takes two seconds, but was there the last time.

use crate::paths;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const SERVERS: usize = 20;
/// How long the first start, which knows nothing, may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Options of `cargo xtask bench-start`.
#[derive(clap::Args)]
pub struct Options {
    /// How often it is started
    #[arg(long, default_value_t = 21)]
    runs: usize,
    /// Measure what is built already, in this profile (debug, release)
    #[arg(long, value_name = "PROFILE")]
    built: Option<String>,
}

/// Measures, and prints two figures.
pub fn run(options: &Options) -> Result<()> {
    ensure!(options.runs > 0, "--runs must be above 0");
    let profile = super::built(
        options.built.as_deref(),
        &["switchboard-cli", "switchboard-testkit"],
    )?;
    let program = paths::program(profile, "switchboard")?;
    let home = paths::scratch("bench-start")?;
    configure(&home, &paths::program(profile, "echo-server")?)?;

    let mut first = Gateway::start(&program, &home)?;
    let begun = Instant::now();
    while first.servers_listed()? < SERVERS {
        ensure!(begun.elapsed() < PATIENCE, "not all servers came");
        std::thread::sleep(Duration::from_millis(200));
    }
    first.end()?;

    let (mut starts, mut lists) = (Vec::new(), Vec::new());
    for _ in 0..options.runs {
        let begun = Instant::now();
        let mut gateway = Gateway::start(&program, &home)?;
        starts.push(begun.elapsed());
        let asked = Instant::now();
        let listed = gateway.servers_listed()?;
        lists.push(asked.elapsed());
        ensure!(listed == SERVERS, "tools of {listed} servers were listed");
        gateway.end()?;
    }
    println!(
        "a start with {SERVERS} servers that each take 2 s, known from before ({profile}, {} runs):",
        options.runs
    );
    println!("  start and initialize  {}", figures(&mut starts));
    println!("  first tools/list      {}", figures(&mut lists));
    Ok(())
}

fn configure(home: &Path, server: &Path) -> Result<()> {
    let entry = |n: usize| {
        let line = format!("sleep 2; exec '{}' --stdio --era legacy", server.display());
        (
            format!("s{n}"),
            json!({"command": "sh", "args": ["-c", line]}),
        )
    };
    let servers: Map<String, Value> = (0..SERVERS).map(entry).collect();
    let folder = home.join(".config/switchboard");
    fs::create_dir_all(&folder)?;
    let settings = json!({ "mcpServers": servers }).to_string();
    fs::write(folder.join("settings.json"), settings)?;
    Ok(())
}

fn figures(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let ms = |at: usize| times[at].as_secs_f64() * 1000.0;
    let (median, worst) = (ms(times.len() / 2), ms(times.len() - 1));
    format!("{median:.1} ms (median), {worst:.1} ms (slowest)")
}

/// `switchboard serve` on stdio, and its client.
struct Gateway {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
}

impl Gateway {
    /// Starts it and shakes hands.
    fn start(program: &Path, home: &Path) -> Result<Self> {
        let mut child = Command::new(program)
            .args(["serve", "--direct"])
            .env_clear()
            .env("HOME", home)
            .env("PATH", "/usr/bin:/bin")
            .current_dir(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let stdout = BufReader::new(stdout.context("no stdout")?);
        let mut gateway = Self {
            child,
            stdin,
            stdout,
            next: 0,
        };
        let client = json!({"name": "bench-start", "version": "1"});
        let hello =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        gateway.ask("initialize", hello)?;
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        gateway.say(&done)?;
        Ok(gateway)
    }

    fn say(&mut self, message: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().context("it has been ended")?;
        writeln!(stdin, "{message}")?;
        Ok(stdin.flush()?)
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        self.next += 1;
        let id = self.next;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line)? == 0 {
                bail!("it ended without an answer to {method}");
            }
            let mut answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == id {
                return Ok(answer["result"].take());
            }
        }
    }

    /// Of how many servers tools are listed.
    fn servers_listed(&mut self) -> Result<usize> {
        let result = self.ask("tools/list", json!({}))?;
        let tools = result["tools"].as_array().context("no tools")?;
        let server = |tool: &Value| Some(tool["name"].as_str()?.split_once("__")?.0.to_owned());
        let mut servers: Vec<String> = tools.iter().filter_map(server).collect();
        servers.dedup();
        Ok(servers.len())
    }

    fn end(mut self) -> Result<()> {
        drop(self.stdin.take());
        self.child.wait()?;
        Ok(())
    }
}
