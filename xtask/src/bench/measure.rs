//! One measurement: a subject under the load of one cell.

use super::subjects::{Programs, Running};
use super::{Options, proc};
use crate::process::Group;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the memory is looked at.
const MEMORY_EVERY: Duration = Duration::from_millis(100);
/// For a load generator that has printed its result.
const END_LIMIT: Duration = Duration::from_secs(20);

/// One combination of what is called and by how many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Size of each result's text.
    pub bytes: u64,
    /// Clients at once.
    pub clients: u64,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = match self.bytes {
            bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
            bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
            bytes => format!("{bytes} B"),
        };
        write!(f, "{size} × {}", self.clients)
    }
}

/// What was measured.
#[derive(Clone, Copy, Default)]
pub struct Sample {
    /// Processor time of the subject per call; none for `direct`.
    pub cpu_us: Option<f64>,
    /// Median latency.
    pub p50_us: f64,
    /// 99th percentile of the latency.
    pub p99_us: f64,
    /// Calls per second.
    pub per_second: f64,
    /// Sum of the processes' largest resident memory; none for `direct`.
    pub rss_mib: Option<f64>,
    /// Largest proportional memory seen; none for `direct`.
    pub pss_mib: Option<f64>,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cpu) = self.cpu_us {
            write!(f, "{cpu:.1} µs CPU, ")?;
        }
        write!(
            f,
            "p50 {:.0} µs, p99 {:.0} µs, {:.0}/s",
            self.p50_us, self.p99_us, self.per_second
        )?;
        if let (Some(rss), Some(pss)) = (self.rss_mib, self.pss_mib) {
            write!(f, ", {rss:.1} MiB RSS, {pss:.1} MiB PSS")?;
        }
        Ok(())
    }
}

/// Puts the load on and reads the meters around it. Connecting, handshakes and
/// a warm-up come before the first reading, disconnecting after the last.
pub fn measure(
    programs: &Programs,
    running: &Running,
    cell: Cell,
    options: &Options,
) -> Result<Sample> {
    let mut load = Command::new(&programs.load);
    load.arg(&running.url)
        .args(["--gate", "--era", &options.era])
        .args(["--clients", &cell.clients.to_string()])
        .args(["--bytes", &cell.bytes.to_string()])
        .args(["--duration-ms", &format!("{:.0}", options.seconds() * 1e3)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    if let Some(token) = &running.token {
        load.arg("--token-file").arg(token);
    }
    let mut load = Group::spawn(&mut load)?;
    let mut stdin = load.child().stdin.take().context("stdin")?;
    let mut stdout = BufReader::new(load.child().stdout.take().context("stdout")?);
    let ready = line(&mut stdout)?;
    ensure!(ready == "ready", "bench-load said {ready:?}");

    let pids = match running.root {
        Some(root) => proc::tree(root, "echo-server")?,
        None => Vec::new(),
    };
    let before = proc::cpu_micros(&pids)?;
    let (result, pss) = watched(&pids, || {
        stdin.write_all(b"go\n")?;
        line(&mut stdout)
    });
    let result = result?;
    let cpu = proc::cpu_micros(&pids)? - before;
    let rss = proc::peak_rss_kib(&pids);
    drop(stdin);
    load.wait(Instant::now() + END_LIMIT, None)?;

    let result: Value = serde_json::from_str(&result)
        .with_context(|| format!("bench-load's result: {result:?}"))?;
    ensure!(
        result["errors"] == 0,
        "{} of {} clients failed: {}",
        result["errors"],
        cell.clients,
        result["firstError"]
    );
    let number = |name: &str| {
        result[name]
            .as_f64()
            .with_context(|| format!("no {name} in {result}"))
    };
    let measured = running.root.is_some();
    let count = number("count")?;
    ensure!(count > 0.0, "no call was answered");
    Ok(Sample {
        cpu_us: measured.then_some(cpu / count),
        p50_us: number("p50Us")?,
        p99_us: number("p99Us")?,
        per_second: number("perSecond")?,
        rss_mib: measured.then_some(rss as f64 / 1024.0),
        pss_mib: measured.then_some(pss as f64 / 1024.0),
    })
}

/// Does `work` while another thread looks at the memory; also returns the
/// largest figure seen.
fn watched<T>(pids: &[u32], work: impl FnOnce() -> T) -> (T, u64) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut most = 0;
            while !over.load(Ordering::Relaxed) {
                most = most.max(proc::pss_kib(pids));
                std::thread::sleep(MEMORY_EVERY);
            }
            most
        });
        let result = work();
        over.store(true, Ordering::Relaxed);
        (result, watcher.join().unwrap_or(0))
    })
}

fn line(from: &mut impl BufRead) -> Result<String> {
    let mut text = String::new();
    from.read_line(&mut text)?;
    ensure!(!text.is_empty(), "bench-load ended without a result");
    Ok(text.trim_end().to_owned())
}
