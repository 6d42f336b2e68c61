//! `cargo xtask bench screen`: how soon the terminal screen is there beside a gateway that
//! runs, what memory it takes, what it does when nothing happens, and by how much it makes
//! the program larger.
//!
//! The screen is started on a terminal of its own (a pty, by way of `setsid --ctty`). Its
//! time runs from the start of that until a frame has been written whole: the first one, and
//! the first that has the gateway's server in it. Memory is the proportional share (PSS) of
//! all of its processes. How large it is: the program built with it and without, stripped as
//! in a release.

use super::{PROFILE, proc, report};
use crate::{
    cargo::{FULL, cargo},
    paths,
    table::Table,
};
use anyhow::{Context, Result, bail, ensure};
use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use serde_json::json;
use std::{
    fs::{self, File},
    io::{Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// How a frame ends.
const FRAME: &[u8] = b"\x1b[?2026l";
/// The server that is seen when all is there; no other text of the screen is like it.
const SERVER: &str = "zzecho";
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it is looked at while nothing happens.
const STILL: Duration = Duration::from_secs(5);
/// What was promised: milliseconds, MiB, KB.
const PROMISED: (f64, f64, f64) = (30.0, 20.0, 500.0);

/// Options of `cargo xtask bench screen`.
#[derive(clap::Args)]
pub struct Options {
    /// How often it is started
    #[arg(long, default_value_t = 21)]
    runs: usize,
    /// Measure what is built already, in this profile (debug, release); not how large it is
    #[arg(long, value_name = "PROFILE")]
    built: Option<String>,
    /// Put the figures into docs/design/performance.md
    #[arg(long)]
    write: bool,
}

/// What was measured.
struct Figures {
    first: Vec<Duration>,
    whole: Vec<Duration>,
    pss_kib: u64,
    still_us: f64,
    still_bytes: usize,
    grown: Option<u64>,
}

/// Builds, measures, prints.
pub fn run(options: &Options) -> Result<()> {
    ensure!(options.runs > 0, "--runs must be above 0");
    let profile = options.built.as_deref().unwrap_or(PROFILE);
    let grown = match options.built {
        Some(_) => None,
        None => Some(growth()?),
    };
    let program = paths::program(profile, "switchboard")?;
    let home = paths::scratch("bench-screen")?;
    configure(&home, &paths::program(profile, "echo-server")?)?;
    let gateway = gateway(&program, &home)?;
    let measured = measure(&program, &home, options.runs, grown);
    end(gateway)?;
    let text = measured?.render(profile, options.runs)?;
    println!("{text}");
    if options.write {
        let page = paths::root().join("docs/design/performance.md");
        report::write(&page, report::Section::Screen, &text)?;
        println!("written to {}", page.display());
    }
    fs::remove_dir_all(&home)?;
    Ok(())
}

/// By how many bytes the screen makes the program larger. The whole program is built last,
/// and is what is measured.
fn growth() -> Result<u64> {
    let size = |more: &[&str]| -> Result<u64> {
        let mut build = cargo(["build", "--profile", PROFILE]);
        build.args(["--package", "switchboard-cli", "--bin", "switchboard"]);
        let status = build.args(more).status().context("cargo build")?;
        ensure!(status.success(), "the program does not build");
        Ok(fs::metadata(paths::program(PROFILE, "switchboard")?)?.len())
    };
    let without = size(&["--no-default-features", "--features", "cluster,otlp"])?;
    let with = size(&FULL)?;
    let mut build = cargo(["build", "--profile", PROFILE]);
    build.args(["--package", "switchboard-testkit", "--bin", "echo-server"]);
    let status = build.status().context("cargo build")?;
    ensure!(status.success(), "the server does not build");
    Ok(with.saturating_sub(without))
}

fn configure(home: &Path, server: &Path) -> Result<()> {
    let folder = home.join(".config/switchboard");
    fs::create_dir_all(&folder)?;
    let entry = json!({"command": server, "args": ["--stdio"]});
    let settings = json!({"mcpServers": {SERVER: entry}}).to_string();
    fs::write(folder.join("settings.json"), settings)?;
    Ok(())
}

fn command(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm-256color")
        .current_dir(home);
    command
}

/// A gateway, once others can find it.
fn gateway(program: &Path, home: &Path) -> Result<Child> {
    let mut gateway = command(program, home)
        .args(["serve", "--http", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let notes = home.join(".local/state/switchboard/gateways");
    let until = Instant::now() + PATIENCE;
    while fs::read_dir(&notes).map_or(0, Iterator::count) == 0 {
        if let Some(ended) = gateway.try_wait()? {
            bail!("the gateway ended: {ended}");
        }
        ensure!(Instant::now() < until, "the gateway leaves no note");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(gateway)
}

fn end(mut gateway: Child) -> Result<()> {
    let pid = rustix::process::Pid::from_child(&gateway);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    gateway.wait()?;
    Ok(())
}

fn measure(program: &Path, home: &Path, runs: usize, grown: Option<u64>) -> Result<Figures> {
    let (mut first, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let mut screen = Screen::start(program, home)?;
        first.push(screen.until(ends_frame)?);
        let server = SERVER.as_bytes();
        whole.push(screen.until(|seen| {
            let at = seen.windows(server.len()).position(|it| it == server);
            at.is_some_and(|at| ends_frame(&seen[at..]))
        })?);
        screen.quit()?;
    }
    let mut screen = Screen::start(program, home)?;
    screen.until(|seen| seen.windows(SERVER.len()).any(|it| it == SERVER.as_bytes()))?;
    // What it reads at the beginning has come by then.
    screen.drain(Duration::from_secs(2))?;
    let pids = proc::tree(screen.child.id(), "")?;
    let (pss_kib, before) = (proc::pss_kib(&pids), proc::cpu_micros(&pids)?);
    let still_bytes = screen.drain(STILL)?;
    let still_us = proc::cpu_micros(&pids)? - before;
    screen.quit()?;
    Ok(Figures {
        first,
        whole,
        pss_kib,
        still_us,
        still_bytes,
        grown,
    })
}

fn ends_frame(seen: &[u8]) -> bool {
    seen.windows(FRAME.len()).any(|it| it == FRAME)
}

/// The screen on a terminal of its own.
struct Screen {
    started: Instant,
    child: Child,
    terminal: File,
    seen: Vec<u8>,
}

impl Screen {
    fn start(program: &Path, home: &Path) -> Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let own = open(name, flags, Mode::empty())?;
        tcsetwinsize(
            &own,
            Winsize {
                ws_row: 24,
                ws_col: 80,
                ws_xpixel: 0,
                ws_ypixel: 0,
            },
        )?;
        let mut command = command(Path::new("setsid"), home);
        let started = Instant::now();
        let child = command
            .args(["--ctty", "--wait"])
            .arg(program)
            .stdin(own.try_clone()?)
            .stdout(own.try_clone()?)
            .stderr(own)
            .spawn()
            .context("setsid (util-linux)")?;
        Ok(Self {
            started,
            child,
            terminal: File::from(master),
            seen: Vec::new(),
        })
    }

    /// Reads until this holds of all that was written, and how long that took.
    fn until(&mut self, holds: impl Fn(&[u8]) -> bool) -> Result<Duration> {
        let mut buffer = [0; 65536];
        while !holds(&self.seen) {
            ensure!(self.started.elapsed() < PATIENCE, "nothing is drawn");
            let count = self.terminal.read(&mut buffer)?;
            self.seen.extend_from_slice(&buffer[..count]);
        }
        Ok(self.started.elapsed())
    }

    /// Reads for so long, and how many bytes came.
    fn drain(&mut self, long: Duration) -> Result<usize> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let (until, mut all) = (Instant::now() + long, 0);
        let mut buffer = [0; 65536];
        while Instant::now() < until {
            let soon = Timespec {
                tv_sec: 0,
                tv_nsec: 100_000_000,
            };
            let mut wanted = [PollFd::new(&self.terminal, PollFlags::IN)];
            if poll(&mut wanted, Some(&soon))? > 0 {
                all += self.terminal.read(&mut buffer)?;
            }
        }
        Ok(all)
    }

    fn quit(mut self) -> Result<()> {
        self.terminal.write_all(b"\x03")?;
        let status = self.child.wait()?;
        ensure!(status.success(), "the screen failed: {status}");
        Ok(())
    }
}

impl Figures {
    fn render(mut self, profile: &str, runs: usize) -> Result<String> {
        let ms = |times: &mut [Duration]| {
            times.sort_unstable();
            let at = |at: usize| times[at].as_secs_f64() * 1000.0;
            (at(times.len() / 2), at(times.len() - 1))
        };
        let (first, whole) = (ms(&mut self.first), ms(&mut self.whole));
        let mut table = Table::new(["screen", "measured", "promised"]);
        let mut row = |what: &str, measured: String, promised: String| {
            table.row([what.to_owned(), measured, promised]);
        };
        row(
            "first frame",
            format!("{:.1} ms (slowest {:.1})", first.0, first.1),
            format!("{} ms", PROMISED.0),
        );
        row(
            "with the servers in it",
            format!("{:.1} ms (slowest {:.1})", whole.0, whole.1),
            "–".to_owned(),
        );
        row(
            "memory (PSS, all its processes)",
            format!("{:.1} MiB", self.pss_kib as f64 / 1024.0),
            format!("{} MiB", PROMISED.1),
        );
        row(
            "written in 5 s of nothing",
            format!("{} bytes", self.still_bytes),
            "0 bytes".to_owned(),
        );
        row(
            "processor time in that",
            format!("{:.0} ms", self.still_us / 1000.0),
            "–".to_owned(),
        );
        let grown = self
            .grown
            .map(|bytes| format!("{:.0} KB", bytes as f64 / 1000.0));
        row(
            "the program grows by",
            grown.unwrap_or_else(|| "not measured".to_owned()),
            format!("{} KB", PROMISED.2),
        );
        Ok(format!(
            "{}\nProfile {profile}, {runs} starts, medians; {} processors.\n",
            table.render(),
            std::thread::available_parallelism().map_or(1, usize::from)
        ))
    }
}
