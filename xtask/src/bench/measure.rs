//! One measurement: a subject under the load of one cell.

use super::proc;
use super::subjects::{Programs, Running};
use super::system::Counting;
use crate::process::Group;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
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

impl Cell {
    /// The size of a result as people say it.
    pub fn size(&self) -> String {
        match self.bytes {
            bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
            bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
            bytes => format!("{bytes} B"),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {}", self.size(), self.clients)
    }
}

/// What is put on a subject.
#[derive(Clone)]
pub struct Load {
    /// Size of the results, number of clients.
    pub cell: Cell,
    /// The era that the clients speak.
    pub era: String,
    /// How long.
    pub seconds: f64,
    /// What else `bench-load` is told: what is asked for, if it is not a call of `payload`.
    pub asks: Vec<String>,
    /// Where perf writes what a call asks of the system, if that is counted.
    pub counts: Option<PathBuf>,
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
pub fn measure(programs: &Programs, running: &Running, wanted: &Load) -> Result<Sample> {
    let cell = wanted.cell;
    let millis = format!("{:.0}", wanted.seconds * 1e3);
    let mut load = Gated::start(programs, running, |command| {
        command
            .args(["--clients", &cell.clients.to_string()])
            .args(["--bytes", &cell.bytes.to_string()])
            .args(["--duration-ms", &millis])
            .args(&wanted.asks);
        if wanted.era != "legacy" {
            command.args(["--era", &wanted.era]);
        }
    })?;
    let pids = running.pids()?;
    let counting = wanted.counts.as_ref().filter(|_| !pids.is_empty());
    let counting = counting.map(|file| Counting::start(&pids, file));
    let counting = counting.transpose()?;
    let before = proc::cpu_micros(&pids)?;
    let (result, pss) = watched(&pids, || load.go());
    let result = result?;
    let cpu = proc::cpu_micros(&pids)? - before;
    let rss = proc::peak_rss_kib(&pids);
    load.end()?;

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
    if let Some(counting) = counting {
        eprintln!("  {}", counting.end(count)?);
    }
    Ok(Sample {
        cpu_us: measured.then_some(cpu / count),
        p50_us: number("p50Us")?,
        p99_us: number("p99Us")?,
        per_second: number("perSecond")?,
        rss_mib: measured.then_some(rss as f64 / 1024.0),
        pss_mib: measured.then_some(pss as f64 / 1024.0),
    })
}

/// `bench-load` at its gate: connected, warm, and waiting.
pub struct Gated {
    load: Group,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Gated {
    /// Starts it with what `tell` adds, and waits until it is ready.
    pub fn start(
        programs: &Programs,
        running: &Running,
        tell: impl FnOnce(&mut Command),
    ) -> Result<Self> {
        let mut command = Command::new(&programs.load);
        command.arg(&running.url).arg("--gate").args(&running.asks);
        if let Some(token) = &running.token {
            command.arg("--token-file").arg(token);
        }
        tell(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut load = Group::spawn(&mut command)?;
        let stdin = load.child().stdin.take().context("stdin")?;
        let mut stdout = BufReader::new(load.child().stdout.take().context("stdout")?);
        let ready = line(&mut stdout)?;
        ensure!(ready == "ready", "bench-load said {ready:?}");
        Ok(Self {
            load,
            stdin,
            stdout,
        })
    }

    /// Lets it through, and gives what it says at the end.
    pub fn go(&mut self) -> Result<String> {
        self.stdin.write_all(b"go\n")?;
        line(&mut self.stdout)
    }

    /// Lets its clients leave.
    pub fn end(mut self) -> Result<()> {
        drop(self.stdin);
        self.load.wait(Instant::now() + END_LIMIT, None)?;
        Ok(())
    }
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
