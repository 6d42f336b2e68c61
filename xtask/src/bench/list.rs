//! `cargo xtask bench-list`: what `switchboard list` costs where nothing is
//! configured, so that there is nothing but itself to measure.

use super::proc;
use crate::paths;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a pipe holds unless somebody says otherwise.
const PIPE: usize = 64 * 1024;

/// Options of `cargo xtask bench-list`.
#[derive(clap::Args)]
pub struct Options {
    /// How often it is run
    #[arg(long, default_value_t = 51)]
    runs: usize,
    /// Measure what is built already, in this profile (debug, release)
    #[arg(long, value_name = "PROFILE")]
    built: Option<String>,
}

/// Measures, and prints two figures.
pub fn run(options: &Options) -> Result<()> {
    ensure!(options.runs > 0, "--runs must be above 0");
    let profile = super::built(options.built.as_deref(), &["switchboard-cli"])?;
    let program = paths::program(profile, "switchboard")?;
    let home = paths::scratch("bench-list")?;
    let mut times = Vec::new();
    for _ in 0..options.runs {
        let started = Instant::now();
        let status = list(&program, &home).stderr(Stdio::null()).status()?;
        times.push(started.elapsed());
        ensure!(status.success(), "list failed: {status}");
    }
    times.sort_unstable();
    let median = times[times.len() / 2].as_secs_f64() * 1000.0;
    let worst = times[times.len() - 1].as_secs_f64() * 1000.0;
    let peak = peak_kib(&program, &home)? as f64 / 1024.0;
    println!(
        "list with nothing configured ({profile}, {} runs):",
        options.runs
    );
    println!("  time    {median:.1} ms (median), {worst:.1} ms (slowest)");
    println!("  memory  {peak:.1} MiB at its peak, all of its processes together");
    Ok(())
}

fn list(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .arg("list")
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin")
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// The most memory it has had when it says its last word, on a stderr that
/// takes none: it is then held where it can be looked at.
fn peak_kib(program: &Path, home: &Path) -> Result<u64> {
    let (mut reader, mut writer) = std::io::pipe()?;
    writer.write_all(&[b' '; PIPE])?;
    let mut child = list(program, home).stderr(writer).spawn()?;
    let held = held(child.id());
    let peak = proc::tree(child.id(), "").map(|pids| proc::peak_rss_kib(&pids));
    let mut said = Vec::new();
    reader.read_to_end(&mut said)?;
    child.wait()?;
    held?;
    ensure!(said.len() > PIPE, "list had nothing to say");
    peak
}

/// Waits until a process waits.
fn held(pid: u32) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut asleep = 0;
    while Instant::now() < deadline {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("it has ended")?;
        let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
        match state.and_then(|rest| rest.chars().next()) {
            Some('S') => asleep += 1,
            Some('Z') | None => bail!("list ended without a word"),
            _ => asleep = 0,
        }
        if asleep == 5 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    bail!("list does not come to its end")
}
