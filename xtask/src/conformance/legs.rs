//! What is tested, and how it is started.

use super::replicas::Replicas;
use super::score::{Run, Side};
use super::suite::Suite;
use super::{Options, paths};
use crate::process::Server;
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const START_LIMIT: Duration = Duration::from_secs(20);
/// Client scenarios at once; each is a Node.js process and a client.
const CLIENTS_AT_ONCE: usize = 2;
/// The first revision of the modern era.
const MODERN: &str = "2026-07-28";
/// The fixture's name in the gateway's configuration.
const ENTRY: &str = "fixture";

/// One thing that is tested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Leg {
    /// The fixture over HTTP.
    Direct,
    /// The gateway, the fixture behind it over stdio.
    GatewayStdio,
    /// The gateway, the fixture behind it over HTTP.
    GatewayHttp,
    /// The gateway, the fixture behind it over stdio and held to the other era.
    AcrossStdio,
    /// The same over HTTP.
    AcrossHttp,
    /// Three gateways that are one, each request at any of them, the fixture behind them
    /// over HTTP.
    ReplicasHttp,
    /// The same, with the fixture held to the other era.
    ReplicasAcross,
    /// The client.
    Client,
}

impl Leg {
    /// Those that go through the gateway.
    pub const THROUGH: [Self; 6] = [
        Self::GatewayStdio,
        Self::GatewayHttp,
        Self::AcrossStdio,
        Self::AcrossHttp,
        Self::ReplicasHttp,
        Self::ReplicasAcross,
    ];

    /// Whether client and server speak different eras.
    pub fn is_across(self) -> bool {
        matches!(
            self,
            Self::AcrossStdio | Self::AcrossHttp | Self::ReplicasAcross
        )
    }

    /// Whether there are several gateways.
    pub fn has_replicas(self) -> bool {
        matches!(self, Self::ReplicasHttp | Self::ReplicasAcross)
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "server",
            Self::GatewayStdio => "gateway-stdio",
            Self::GatewayHttp => "gateway-http",
            Self::AcrossStdio => "across-stdio",
            Self::AcrossHttp => "across-http",
            Self::ReplicasHttp => "replicas-http",
            Self::ReplicasAcross => "replicas-across",
            Self::Client => "client",
        }
    }

    /// Every revision, one after the other.
    pub fn run(self, options: &Options, suite: &Suite, logs: &Path) -> Result<Vec<Run>> {
        let logs = logs.join(self.name());
        std::fs::create_dir_all(&logs)?;
        match self {
            Self::Direct => {
                let mut fixture = fixture("both", &logs)?;
                let url = fixture.url.clone();
                let runs = self.server(options.versions(), suite, &url, &logs)?;
                alive(&mut fixture)?;
                Ok(runs)
            }
            Self::GatewayStdio | Self::GatewayHttp | Self::ReplicasHttp => {
                let versions: Vec<_> = options.versions().collect();
                self.behind("both", &versions, suite, &logs)
            }
            Self::AcrossStdio | Self::AcrossHttp | Self::ReplicasAcross => {
                // An extension is there in one era only.
                let (legacy, modern): (Vec<_>, Vec<_>) = options
                    .versions()
                    .filter(|version| *version != super::EXTENSIONS)
                    .partition(|version| *version < MODERN);
                let mut runs = self.behind("modern", &legacy, suite, &logs)?;
                runs.extend(self.behind("legacy", &modern, suite, &logs)?);
                Ok(runs)
            }
            Self::Client => client(options, suite, &logs),
        }
    }

    /// The fixture, held to `era`, behind the gateway.
    fn behind(
        self,
        era: &str,
        versions: &[&'static str],
        suite: &Suite,
        logs: &Path,
    ) -> Result<Vec<Run>> {
        if versions.is_empty() {
            return Ok(Vec::new());
        }
        let logs = logs.join(format!("fixture-{era}"));
        std::fs::create_dir_all(&logs)?;
        if matches!(self, Self::GatewayStdio | Self::AcrossStdio) {
            let program = paths::program("debug", "conformance-server")?;
            let args = ["--stdio", "--era", era];
            let entry = self.shared_or_not(era, json!({"command": program, "args": args}));
            return self.gateway(versions, suite, &entry, &logs);
        }
        let mut fixture = fixture(era, &logs)?;
        let entry = self.shared_or_not(era, json!({"type": "http", "url": fixture.url}));
        let runs = self.gateway(versions, suite, &entry, &logs)?;
        alive(&mut fixture)?;
        Ok(runs)
    }

    /// A modern client's roots reach a legacy server only where no other client
    /// shares it, and the suite asks for them.
    fn shared_or_not(self, era: &str, mut entry: serde_json::Value) -> serde_json::Value {
        if self.is_across() && era == "legacy" {
            entry["isolation"] = json!("session");
        }
        entry
    }

    fn gateway(
        self,
        versions: &[&'static str],
        suite: &Suite,
        entry: &serde_json::Value,
        logs: &Path,
    ) -> Result<Vec<Run>> {
        let config = json!({"mcpServers": {ENTRY: entry}}).to_string();
        // A client of its own is one that gives a key.
        let key = entry.get("isolation").map_or("", |_| "@suite/");
        if self.has_replicas() {
            let mut replicas = Replicas::start(&suite.nats, &config, logs)?;
            let url = format!("{}/mcp/{key}{ENTRY}", replicas.url);
            let runs = self.server(versions.iter().copied(), suite, &url, logs)?;
            replicas.each(alive)?;
            return Ok(runs);
        }
        let mut command = Command::new(paths::program("debug", "switchboard")?);
        command
            .args(["serve", "--http", "127.0.0.1:0", "--no-auth"])
            .args(["--strict-mcp-config", "--mcp-config", &config]);
        own_home(&mut command, logs)?;
        let mut gateway = Server::start(&mut command, logs.join("gateway.log"), START_LIMIT)
            .context("the gateway")?;
        let url = format!("{}/mcp/{key}{ENTRY}", gateway.url);
        let runs = self.server(versions.iter().copied(), suite, &url, logs)?;
        alive(&mut gateway)?;
        Ok(runs)
    }

    fn server(
        self,
        versions: impl Iterator<Item = &'static str>,
        suite: &Suite,
        url: &str,
        logs: &Path,
    ) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        for version in versions {
            let started = Instant::now();
            let scenarios = suite.server(url, version, &logs.join(version))?;
            let run = Run {
                leg: self.name(),
                version,
                scenarios,
                not_run: Vec::new(),
                seconds: started.elapsed().as_secs_f64(),
            };
            super::report::progress(&run);
            runs.push(run);
        }
        Ok(runs)
    }
}

fn fixture(era: &str, logs: &Path) -> Result<Server> {
    let mut command = Command::new(paths::program("debug", "conformance-server")?);
    command.args(["--http", "0", "--era", era]);
    Server::start(&mut command, logs.join("fixture.log"), START_LIMIT).context("the fixture")
}

/// A program that died under test must not pass for one that failed a check.
fn alive(server: &mut Server) -> Result<()> {
    ensure!(
        server.alive(),
        "a server under test ended while it was tested; its log is {}",
        server.log.display()
    );
    Ok(())
}

/// Configuration and state of its own, so that neither the user's files nor an
/// earlier run can have a say.
pub fn own_home(command: &mut Command, logs: &Path) -> Result<()> {
    let home = logs.join("home");
    std::fs::create_dir_all(&home)?;
    command
        .current_dir(&home)
        .env("HOME", &home)
        .env_remove("SWITCHBOARD_CONFIG_DIR");
    for (name, folder) in [
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_RUNTIME_DIR", "run"),
    ] {
        command.env(name, home.join(folder));
    }
    Ok(())
}

fn client(options: &Options, suite: &Suite, logs: &Path) -> Result<Vec<Run>> {
    let program = paths::program("debug", "conformance-client")?;
    let mut runs = Vec::new();
    for version in options.versions() {
        let started = Instant::now();
        let names = suite.scenarios(Side::Client, version)?;
        let (names, not_run): (Vec<String>, Vec<String>) = names
            .into_iter()
            .partition(|name| options.auth || !name.starts_with("auth/"));
        let run = Run {
            leg: Leg::Client.name(),
            version,
            scenarios: clients(suite, &program, version, &names, &logs.join(version))?,
            not_run,
            seconds: started.elapsed().as_secs_f64(),
        };
        super::report::progress(&run);
        runs.push(run);
    }
    Ok(runs)
}

fn clients(
    suite: &Suite,
    program: &Path,
    version: &str,
    names: &[String],
    logs: &Path,
) -> Result<Vec<super::score::Scenario>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS_AT_ONCE {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(name) = names.get(at) else { return };
                    let out = logs.join(name.replace('/', "_"));
                    let result = suite.client(program, name, version, &out);
                    if let Ok(mut done) = done.lock() {
                        done.push((at, result));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    ensure!(done.len() == names.len(), "a runner of clients ended early");
    done.into_iter().map(|(_, result)| result).collect()
}
