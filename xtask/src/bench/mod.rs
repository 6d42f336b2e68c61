//! `cargo xtask bench`: what the gateway costs, beside no proxy at all and
//! beside nginx as a plain reverse proxy, measured in one run; with `--others`
//! beside other gateways; with `--set` as clients, sizes and servers grow, and
//! with `--table` beside what is promised.
//!
//! Every measurement starts its subject anew. For each cell (size of the
//! result, number of clients) all subjects are measured in turn, then all
//! again: what disturbs the machine disturbs them alike. The figures are
//! medians over the rounds.

pub mod budgets;
mod caches;
mod callgrind;
mod collector;
mod console;
mod fleet;
mod growth;
pub mod instructions;
pub mod list;
mod measure;
mod nginx;
mod others;
pub mod pool;
mod proc;
mod replica;
mod report;
pub mod screen;
mod shared;
pub mod start;
pub mod subjects;
mod system;
mod watching;
mod wide;
mod window;

use crate::cargo::whole;
use crate::{paths, setup};
use anyhow::{Context, Result, bail, ensure};
use growth::{Amount, Growth, Set};
use measure::{Cell, Load, Sample};
use others::Others;
use report::{Results, Section};
use std::path::{Path, PathBuf};
use subjects::{Programs, Subject};

/// The profile that is measured, defined in the workspace's Cargo.toml.
const PROFILE: &str = "dist";
/// The same with the lines of its source, for what is counted by them.
const COUNTED: &str = "counted";

/// Options of `cargo xtask bench`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    what: Option<What>,
    /// Few cells, one round, one second each
    #[arg(long)]
    quick: bool,
    /// Only these subjects
    #[arg(long = "subject", value_enum)]
    subjects: Vec<Subject>,
    /// Only these sizes of result
    #[arg(long)]
    bytes: Vec<u64>,
    /// Only these numbers of clients
    #[arg(long)]
    clients: Vec<u64>,
    /// How often each cell is measured
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// How long each measurement takes
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// The era that the clients speak
    #[arg(long, default_value = "legacy", value_parser = ["legacy", "modern"])]
    era: String,
    /// Install nginx if it is absent (Debian, as root)
    #[arg(long)]
    install: bool,
    /// Beside other gateways, which are installed by package name
    #[arg(long)]
    others: bool,
    /// What each way of watching costs, beside nothing watched
    #[arg(long, conflicts_with = "others")]
    watching: bool,
    /// How a call grows, by the names of what is measured
    #[arg(long = "set", value_enum, conflicts_with_all = ["others", "watching"])]
    sets: Vec<Set>,
    /// The figures that are promised, with their limits
    #[arg(long, conflicts_with_all = ["others", "watching", "sets"])]
    table: bool,
    /// With --set and --table: beside agentgateway, which is this program
    #[arg(long, value_name = "PATH")]
    agentgateway: Option<PathBuf>,
    /// Measure what is built already, in this profile (debug, release, dist)
    #[arg(long, value_name = "PROFILE")]
    built: Option<String>,
    /// Count what a call asks of the system, by perf (as root); its figures of time mean little
    #[arg(long, conflicts_with_all = ["sets", "table", "write"])]
    system_calls: bool,
    /// Put the tables into docs/design/performance.md, and the plots into docs/pictures
    #[arg(long)]
    write: bool,
}

/// What is measured instead of calls.
#[derive(clap::Subcommand)]
enum What {
    /// The terminal screen: its first frame, its memory, its size
    Screen(screen::Options),
    /// The page in a browser
    Console(console::Options),
}

impl Options {
    fn cells(&self) -> Vec<Cell> {
        let or = |chosen: &Vec<u64>, default: &[u64]| match chosen.is_empty() {
            true => default.to_vec(),
            false => chosen.clone(),
        };
        let (bytes, clients): (&[u64], &[u64]) = match self.section() {
            Section::Watching => (&[200], &[1, 16]),
            Section::Others => (&[200, 10 << 10], &[1, 16]),
            Section::Alone if self.quick => (&[200, 10 << 10], &[1, 16]),
            _ => (&[200, 10 << 10, 1 << 20], &[1, 16, 256]),
        };
        let clients = or(&self.clients, clients);
        let cell = |bytes| {
            clients
                .iter()
                .map(move |&clients| Cell { bytes, clients })
                .collect::<Vec<_>>()
        };
        or(&self.bytes, bytes).into_iter().flat_map(cell).collect()
    }

    fn subjects(&self) -> Vec<Subject> {
        if !self.subjects.is_empty() {
            return self.subjects.clone();
        }
        match self.section() {
            Section::Others => Subject::AMONG_OTHERS.to_vec(),
            Section::Watching => Subject::WATCHING.to_vec(),
            _ => Subject::ALONE.to_vec(),
        }
    }

    fn section(&self) -> Section {
        match (self.others, self.watching) {
            (true, _) => Section::Others,
            (_, true) => Section::Watching,
            (false, false) => Section::Alone,
        }
    }

    fn is_grown(&self) -> bool {
        self.table || !self.sets.is_empty()
    }

    fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 1 } else { 5 }).max(1)
    }

    fn seconds(&self) -> f64 {
        self.seconds.unwrap_or(if self.quick { 1.0 } else { 2.0 })
    }
}

/// Builds, measures, prints.
pub fn run(options: &Options) -> Result<()> {
    if let Some(What::Console(options)) = &options.what {
        return console::run(options);
    }
    ensure!(
        cfg!(target_os = "linux"),
        "the bench reads /proc, so it runs on Linux only"
    );
    if let Some(What::Screen(options)) = &options.what {
        return screen::run(options);
    }
    let scratch = paths::scratch("bench")?;
    let programs = programs(options)?;
    if options.is_grown() {
        return grow(options, &programs, &scratch);
    }
    let mut subjects = options.subjects();
    let nginx = match subjects.iter().any(|subject| subject.is_nginx()) {
        true => nginx_version(options.install, &scratch)?,
        false => None,
    };
    if nginx.is_none() {
        subjects.retain(|subject| !subject.is_nginx());
    }

    let mut results = Results::new(&beside(options, nginx), options);
    let mut broken: Vec<String> = Vec::new();
    for cell in options.cells() {
        for round in 1..=options.rounds() {
            for &subject in &subjects {
                let name = format!("{cell} {}", subject.name());
                if broken.contains(&name) {
                    continue;
                }
                match one(&programs, subject, cell, options, &scratch) {
                    Ok(sample) => {
                        eprintln!("{name}, round {round}: {sample}");
                        results.add(cell, subject, sample);
                    }
                    Err(error) => {
                        eprintln!("{name}, round {round}: FAILED: {error:#}");
                        broken.push(name);
                    }
                }
            }
        }
    }
    println!("\n{}", results.render());
    if !broken.is_empty() {
        bail!("bench: no figures for: {}", broken.join("; "));
    }
    if options.write {
        let page = paths::root().join("docs/design/performance.md");
        report::write(&page, options.section(), &results.render())?;
        println!("written to {}", page.display());
    }
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

fn one(
    programs: &Programs,
    subject: Subject,
    cell: Cell,
    options: &Options,
    scratch: &Path,
) -> Result<Sample> {
    let running = subject.start(programs, scratch)?;
    let load = Load {
        cell,
        era: options.era.clone(),
        seconds: options.seconds(),
        asks: Vec::new(),
        counts: options.system_calls.then(|| scratch.to_owned()),
    };
    measure::measure(programs, &running, &load)
}

/// Measures the sets that are wanted, or the promised figures.
fn grow(options: &Options, programs: &Programs, scratch: &Path) -> Result<()> {
    let beside = nginx_version(options.install, scratch)?;
    let beside = beside.unwrap_or_else(|| "nginx was not measured".into());
    let conditions = report::conditions(options, &beside);
    let growth = Growth {
        programs,
        amount: Amount {
            rounds: options.rounds(),
            seconds: options
                .seconds
                .unwrap_or(if options.quick { 0.5 } else { 1.5 }),
        },
        conditions: &conditions,
        write: options.write,
        scratch,
    };
    if options.table {
        growth.table()?;
    }
    for &set in &options.sets {
        growth.set(set)?;
    }
    std::fs::remove_dir_all(scratch)?;
    Ok(())
}

/// The profile to measure: one that is built already, or that of a release, in
/// which these packages' programs are built now.
fn built<'a>(already: Option<&'a str>, packages: &[&str]) -> Result<&'a str> {
    built_as(already, PROFILE, packages)
}

/// The same with another profile for what is built now.
fn built_as<'a>(already: Option<&'a str>, profile: &'a str, packages: &[&str]) -> Result<&'a str> {
    if let Some(profile) = already {
        return Ok(profile);
    }
    let mut build = whole(["build", "--profile", profile, "--bins"]);
    for package in packages {
        build.args(["--package", package]);
    }
    let status = build.status().context("cargo build")?;
    ensure!(status.success(), "the programs do not build");
    Ok(profile)
}

fn programs(options: &Options) -> Result<Programs> {
    let profile = match options.built.as_deref() {
        Some(profile) => profile,
        None => {
            build()?;
            PROFILE
        }
    };
    Ok(Programs {
        gateway: paths::program(profile, "switchboard")?,
        upstream: paths::program(profile, "echo-server")?,
        load: paths::program(profile, "bench-load")?,
        others: options.others.then(Others::install).transpose()?,
        agentgateway: options.agentgateway.clone(),
        nats: match options.sets.contains(&Set::Cluster) {
            true => Some(setup::run()?.nats),
            false => None,
        },
    })
}

fn build() -> Result<()> {
    eprintln!("bench: building with profile {PROFILE}");
    let mut command = whole(["build", "--profile", PROFILE]);
    command
        .args(["--package", "switchboard-cli", "--bin", "switchboard"])
        .args(["--package", "switchboard-testkit"])
        .args(["--bin", "echo-server", "--bin", "bench-load"]);
    let status = command.status().context("cargo build")?;
    ensure!(status.success(), "the programs do not build");
    Ok(())
}

/// What the gateway stands beside in this run.
fn beside(options: &Options, nginx: Option<String>) -> String {
    match (options.others, nginx) {
        (true, _) => others::versions(),
        (false, Some(nginx)) => nginx,
        (false, None) if options.watching => "Switchboard beside itself".into(),
        (false, None) => "nginx was not measured".into(),
    }
}

/// nginx's version, or none where it is not to be had.
fn nginx_version(install: bool, logs: &Path) -> Result<Option<String>> {
    if nginx::version().is_none() && install {
        eprintln!("bench: installing nginx");
        setup::apt_install(logs, "nginx-light")?;
    }
    let version = nginx::version();
    if version.is_none() {
        eprintln!(
            "bench: NGINX IS NOT INSTALLED: no ratios to it ('cargo xtask bench --install' installs it on Debian, as root)"
        );
    }
    Ok(version)
}
