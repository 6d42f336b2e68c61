//! `cargo xtask bench-instructions`: how many instructions a small call costs
//! the gateway, counted by callgrind.
//!
//! A count does not depend on what else the machine does, so two builds can be
//! compared to the percent. What the calls have not caused (start, handshake, end) is
//! not counted: see `window.rs`.

use super::budgets;
use super::callgrind::Counted;
use super::subjects::gateway_command;
use super::watching::Spent;
use super::window::{Load, Window};
use crate::paths;
use crate::process::Server;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Calls that are counted.
const CALLS: u64 = 1000;
/// How long calls are made before, in milliseconds.
const WARM_UP: &str = "1000";
/// The variable by which a gateway's process knows its part
/// (`process/src/keeper/linux.rs`).
const KEEPER: &str = "SWITCHBOARD_KEEPER";
/// Under callgrind everything takes fifty times as long.
const START_LIMIT: Duration = Duration::from_secs(180);

/// Options of `cargo xtask bench-instructions`.
#[derive(clap::Args)]
pub struct Options {
    /// Measure this program instead of a build of this tree; can be repeated
    #[arg(long = "program", value_name = "PATH")]
    programs: Vec<PathBuf>,
    /// Take echo-server and bench-load as built already, in this profile
    #[arg(long, value_name = "PROFILE")]
    built: Option<String>,
    /// Only this era
    #[arg(long, value_parser = ["legacy", "modern"])]
    era: Option<String>,
    /// Keep what callgrind wrote of the larger run, for callgrind_annotate
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// What each way of watching costs: nothing watched, metrics, with audit, with tap
    #[arg(long)]
    watching: bool,
    /// What a page of all servers' tools and a call among them cost, by how many there are
    #[arg(long, conflicts_with_all = ["programs", "era", "keep", "watching", "budgets"])]
    wide: bool,
    /// With --wide: these numbers of servers
    #[arg(long, requires = "wide", value_delimiter = ',', default_values_t = [20, 200, 1000])]
    servers: Vec<usize>,
    /// Hold four calls to the budgets that are kept for them (`docs/design/budgets.md`)
    #[arg(long, conflicts_with_all = ["programs", "era", "keep", "watching"])]
    budgets: bool,
    /// What a call does that cores have to agree about: locks, atomics, tasks and wakes
    #[arg(long, conflicts_with_all = ["programs", "era", "keep", "watching", "wide", "budgets"])]
    shared: bool,
    /// What more clients cost: instructions, and what was not in the caches
    #[arg(long, conflicts_with_all = ["programs", "era", "keep", "watching", "wide", "budgets", "shared"])]
    caches: bool,
    /// What a call of a replica's own session costs, beside a gateway that is alone
    #[arg(long, conflicts_with_all = ["programs", "era", "keep", "watching", "wide", "budgets", "shared", "caches"])]
    replica: bool,
    /// Write what was counted as the new budgets
    #[arg(long, requires = "budgets")]
    write: bool,
}

/// Ways of watching, and the options of `serve` for each; the first is what the others
/// are compared with.
const WATCHING: [(&str, &[&str]); 4] = [
    ("off", &["--unwatched"]),
    ("metrics", &[]),
    ("metrics and audit", &["--audit"]),
    ("metrics and tap", &["--tap"]),
];

/// Measures, and prints a line for each program, era and transport.
pub fn run(options: &Options) -> Result<()> {
    ensure!(budgets::can_count(), "{}", budgets::NO_VALGRIND);
    if options.budgets {
        return budgets::run(options.built.as_deref(), options.write);
    }
    if options.shared {
        return super::shared::run(options.built.as_deref());
    }
    if options.replica {
        return super::replica::run(options.built.as_deref());
    }
    if options.caches {
        return super::caches::run(options.built.as_deref());
    }
    if options.wide {
        return super::wide::run(options.built.as_deref(), &options.servers);
    }
    let packages = ["switchboard-cli", "switchboard-testkit"];
    let profile = match options.watching {
        true => super::built_as(options.built.as_deref(), super::COUNTED, &packages)?,
        false => super::built(options.built.as_deref(), &packages)?,
    };
    let upstream = paths::program(profile, "echo-server")?;
    let load = paths::program(profile, "bench-load")?;
    let programs = match options.programs.is_empty() {
        true => vec![paths::program(profile, "switchboard")?],
        false => options.programs.clone(),
    };
    let eras = match options.era.as_deref() {
        Some(era) => vec![era],
        None => vec!["legacy", "modern"],
    };
    println!("instructions of the gateway for one small call (200 bytes, a server on stdio):");
    for program in &programs {
        for era in &eras {
            let keep = options.keep.as_ref().map(|keep| keep.join(era));
            let parts = Parts {
                program,
                load: &load,
                entries: json!({"echo": stdio(&upstream)}),
                path: "/mcp/echo",
                asks: vec!["--era", *era],
                clients: 1,
                calls: CALLS,
                valgrind: &[],
            };
            if !options.watching {
                let each = parts.each(&[], keep.as_deref())?;
                println!("  {era:8} {:>8}   {}", each.total, program.display());
                continue;
            }
            watching(&parts, era, keep.as_deref())?;
        }
    }
    Ok(())
}

/// Counts each way of watching. A record is hashed, for which most processors have
/// instructions and valgrind has none: how many it would be with them is said beside.
fn watching(parts: &Parts<'_>, era: &str, keep: Option<&Path>) -> Result<()> {
    let scratch = paths::scratch("watching")?;
    let mut first = None;
    for (name, with) in WATCHING {
        let way = name.replace(' ', "-");
        let folder = keep.map_or_else(|| scratch.join(&way), |keep| keep.join(&way));
        let each = parts.each(with, Some(&folder))?;
        let spent = Spent::of(&folder, parts.calls)?;
        let off: Counted = *first.get_or_insert(each);
        let ratio = |now: u64, off: u64| now as f64 / off as f64;
        let percent = |part: u64| 100.0 * part as f64 / (each.total - part) as f64;
        println!(
            "  {era:8} {:>8}   {:.3}   hashing {:>6}   as run {:>8}   {:.3}   {name}   {}",
            each.total,
            ratio(each.total, off.total),
            each.hashing,
            each.as_run(),
            ratio(each.as_run(), off.as_run()),
            parts.program.display()
        );
        println!(
            "           of these on lines of watching {} ({:.2} % of the others), of the tap and the list {} ({:.2} %)",
            spent.all,
            percent(spent.all),
            spent.tap,
            percent(spent.tap),
        );
    }
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

/// An entry for `echo-server` on stdio.
pub fn stdio(upstream: &Path) -> Value {
    json!({"type": "stdio", "command": upstream, "args": ["--stdio"]})
}

/// The programs of a count.
pub struct Programs {
    pub gateway: PathBuf,
    /// `echo-server`
    pub server: PathBuf,
    /// `bench-load`
    pub load: PathBuf,
}

impl Programs {
    /// As they were built in a profile.
    pub fn of(profile: &str) -> Result<Self> {
        let program = |name| paths::program(profile, name);
        Ok(Self {
            gateway: program("switchboard")?,
            server: program("echo-server")?,
            load: program("bench-load")?,
        })
    }
}

/// What is measured together.
pub struct Parts<'a> {
    /// The gateway's program.
    pub program: &'a Path,
    /// `bench-load`
    pub load: &'a Path,
    /// The servers behind the gateway, by name.
    pub entries: Value,
    /// Where it is asked for.
    pub path: &'a str,
    /// What is asked for, as options of `bench-load`.
    pub asks: Vec<&'a str>,
    /// By how many clients at once.
    pub clients: u64,
    /// How often, by all of them together.
    pub calls: u64,
    /// More options of valgrind.
    pub valgrind: &'a [&'a str],
}

impl Parts<'_> {
    /// Instructions of one call, with these options of `serve`.
    pub fn each(&self, with: &[&str], keep: Option<&Path>) -> Result<Counted> {
        Ok(count(self, with, keep)?.each(self.calls))
    }
}

/// The instructions of a gateway's processes for these calls.
fn count(parts: &Parts<'_>, with: &[&str], keep: Option<&Path>) -> Result<Counted> {
    let scratch = paths::scratch("instructions")?;
    let counts = scratch.join("counts");
    std::fs::create_dir_all(&counts)?;
    let token = super::subjects::token(&scratch)?;
    let window = Window::new(&scratch);
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--trace-children=yes", "-q"])
        .args(window.options())
        .args(parts.valgrind)
        .arg("--trace-children-skip=*/echo-server")
        .arg(format!("--callgrind-out-file={}/%p", counts.display()))
        .arg(parts.program);
    let mut command = gateway_command(valgrind, &parts.entries, &token, &scratch)?;
    command.args(with);
    if std::env::var_os(KEEPER).is_none() {
        command.env(KEEPER, as_its_keeper()?);
    }
    serve(command, parts, &window, &token, &scratch)?;
    let counted = Counted::of(&counts)?;
    if let Some(keep) = keep {
        std::fs::create_dir_all(keep)?;
        for file in std::fs::read_dir(&counts)? {
            let file = file?;
            std::fs::copy(file.path(), keep.join(file.file_name()))?;
        }
    }
    std::fs::remove_dir_all(&scratch)?;
    Ok(counted)
}

/// What tells a gateway that we keep it. It would start itself anew otherwise,
/// by a name that means valgrind there.
fn as_its_keeper() -> Result<String> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name, in brackets, may hold anything; the start is the 20th field after.
    let after = stat.rsplit_once(')').context("/proc/self/stat")?.1;
    let started = after
        .split_whitespace()
        .nth(19)
        .context("/proc/self/stat")?;
    let me = std::process::id();
    Ok(format!("{me}:{started}:worker:{me}"))
}

/// Starts the gateway, puts the load on it while callgrind counts, ends it.
fn serve(
    mut command: Command,
    parts: &Parts<'_>,
    window: &Window,
    token: &Path,
    scratch: &Path,
) -> Result<()> {
    let gateway = Server::start(&mut command, scratch.join("gateway.log"), START_LIMIT)?;
    counted(parts, window, gateway.id(), &gateway.url, Some(token))?;
    let ended = gateway.end_within(Duration::from_secs(120))?;
    ensure!(
        !ended.timed_out,
        "the gateway did not end, so nothing was counted"
    );
    Ok(())
}

/// Puts the load on a process while callgrind counts it.
pub fn counted(
    parts: &Parts<'_>,
    window: &Window,
    pid: u32,
    url: &str,
    token: Option<&Path>,
) -> Result<()> {
    let mut command = Command::new(parts.load);
    command
        .arg(format!("{url}{}", parts.path))
        .args(&parts.asks)
        .args(["--warmup-ms", WARM_UP, "--duration-ms", "600000"])
        .args(["--clients", &parts.clients.to_string()])
        .args(["--count", &(parts.calls / parts.clients).to_string()]);
    if let Some(token) = token {
        command.arg("--token-file").arg(token);
    }
    let mut load = Load::start(&mut command)?;
    window.open(pid, url)?;
    let said = load.run()?;
    window.shut(pid, url)?;
    ensure!(said.contains("\"errors\":0"), "bench-load: {said}");
    load.end()
}
