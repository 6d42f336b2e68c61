//! `cargo xtask conformance`: the official suite against our fixture, against
//! the gateway with that fixture behind it, and against our client.
//!
//! The gateway is judged against the direct run of the same fixture: a check
//! that succeeds directly has to succeed through it, unless
//! `conformance/exceptions.md` says why it cannot.

mod exceptions;
mod legs;
mod replicas;
mod report;
mod score;
mod suite;

use crate::cargo::{FULL, cargo};
use crate::{paths, setup};
use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use legs::Leg;
pub use legs::own_home;
use report::Report;
use score::Run;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The revisions that are tested, and the scenarios that belong to none.
const VERSIONS: [&str; 5] = [
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
    EXTENSIONS,
];
/// What the suite tests besides the revisions: tasks, skills, ways to sign in.
const EXTENSIONS: &str = "extensions";

/// How many legs are run at once.
const LEGS_AT_ONCE: usize = 3;

/// Options of `cargo xtask conformance`.
#[derive(clap::Args)]
pub struct Options {
    /// What to test
    #[arg(value_enum, default_value_t = What::All)]
    what: What,
    /// Only this revision
    #[arg(long, value_name = "VERSION", value_parser = VERSIONS)]
    spec: Option<String>,
    /// Only this scenario
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    /// Client: also the scenarios of `auth/*`
    #[arg(long)]
    auth: bool,
    /// Write every result here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Test the programs as they were built last
    #[arg(long)]
    no_build: bool,
    /// Keep the suite's output and the servers' logs after a success too
    #[arg(long)]
    keep: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Our conformance-client
    Client,
    /// Our conformance-server, directly
    Server,
    /// The same server behind the gateway, compared with the direct run
    Gateway,
    /// The same, with the server held to the era that the suite does not speak
    Across,
    /// The same two with three gateways that are one, each request at any of them
    Replicas,
    /// All of these but the replicas
    All,
}

impl Options {
    /// What `cargo xtask test` runs, after it has built everything.
    pub fn everything() -> Self {
        Self {
            what: What::All,
            spec: None,
            scenario: None,
            auth: true,
            json: None,
            no_build: true,
            keep: false,
        }
    }

    fn versions(&self) -> impl Iterator<Item = &'static str> {
        let only = self.spec.clone();
        VERSIONS
            .into_iter()
            .filter(move |version| only.as_ref().is_none_or(|only| only == version))
    }

    fn legs(&self) -> Vec<Leg> {
        match self.what {
            What::Client => vec![Leg::Client],
            What::Server => vec![Leg::Direct],
            What::Gateway => vec![Leg::Direct, Leg::GatewayStdio, Leg::GatewayHttp],
            What::Across => vec![Leg::Direct, Leg::AcrossStdio, Leg::AcrossHttp],
            What::Replicas => vec![Leg::Direct, Leg::ReplicasHttp, Leg::ReplicasAcross],
            // Without replicas, of which one in some runs is not yet what a single one is.
            What::All => {
                let single = Leg::THROUGH.into_iter().filter(|leg| !leg.has_replicas());
                let all = [Leg::Direct].into_iter().chain(single);
                all.chain([Leg::Client]).collect()
            }
        }
    }
}

/// Runs the chosen legs and reports. An error means that something failed.
pub fn run(options: &Options) -> Result<()> {
    let tools = setup::run().context("setup")?;
    if !options.no_build {
        build(options.what)?;
    }
    let exceptions = exceptions::load(&paths::root().join("conformance/exceptions.md"))?;
    let logs = paths::scratch("conformance")?;
    let suite = suite::Suite::new(&tools, options.scenario.clone());

    let runs = side_by_side(&options.legs(), |leg| leg.run(options, &suite, &logs))?;
    ensure!(
        runs.iter().any(|run| run.counted() > 0),
        "no scenario was run{}",
        options
            .scenario
            .as_ref()
            .map(|name| format!(": there is no {name} here"))
            .unwrap_or_default()
    );

    let report = Report::new(&runs, &exceptions);
    report.print();
    if let Some(file) = &options.json {
        let text = serde_json::to_string_pretty(&report.json())?;
        std::fs::write(file, text + "\n").with_context(|| format!("writing {}", file.display()))?;
    }
    let failures = report.failures();
    if failures > 0 {
        bail!("conformance: {failures} failed; logs in {}", logs.display());
    }
    if options.keep {
        println!("logs in {}", logs.display());
    } else {
        std::fs::remove_dir_all(&logs)?;
    }
    println!("conformance: all passed");
    Ok(())
}

/// The legs have nothing in common but the machine, and wait most of the time:
/// some of them at once, their results in their order.
fn side_by_side(legs: &[Leg], run: impl Fn(Leg) -> Result<Vec<Run>> + Sync) -> Result<Vec<Run>> {
    let next = AtomicUsize::new(0);
    let done: Vec<OnceLock<Result<Vec<Run>>>> = legs.iter().map(|_| OnceLock::new()).collect();
    std::thread::scope(|scope| {
        for _ in 0..LEGS_AT_ONCE {
            scope.spawn(|| {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed))
                    && let Some(leg) = legs.get(at)
                {
                    let _ = done[at].set(run(*leg));
                }
            });
        }
    });
    let mut runs = Vec::new();
    for leg in done {
        runs.extend(leg.into_inner().context("a leg ended early")??);
    }
    Ok(runs)
}

/// The programs under test, as they are in the tree now.
fn build(what: What) -> Result<()> {
    let mut command = cargo(["build", "--package", "switchboard-testkit"]);
    if what != What::Client {
        command.args(["--bin", "conformance-server"]);
    }
    if matches!(what, What::Client | What::All) {
        command.args(["--bin", "conformance-client"]);
    }
    if what == What::Replicas {
        command.args(["--bin", "sprayer"]);
    }
    if !matches!(what, What::Client | What::Server) {
        command
            .args(["--package", "switchboard-cli", "--bin", "switchboard"])
            .args(FULL);
    }
    ensure!(
        command.status().context("cargo build")?.success(),
        "the programs under test do not build"
    );
    Ok(())
}
