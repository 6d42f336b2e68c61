//! The window in which callgrind counts: it is opened when all is warm and shut after the
//! last call, so that start, handshake and end are not in it.

use anyhow::{Context, Result, ensure};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// How long a program under valgrind may take to hear what it is told.
const HEARD: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// The way to tell a program under valgrind to count or not to.
pub struct Window {
    pipes: PathBuf,
}

impl Window {
    /// With its pipes in this directory.
    pub fn new(scratch: &Path) -> Self {
        Self {
            pipes: scratch.join("vgdb"),
        }
    }

    /// The options of valgrind that go with it: nothing is counted until it is opened.
    pub fn options(&self) -> [String; 3] {
        [
            "--instr-atstart=no".to_owned(),
            "--vgdb=yes".to_owned(),
            format!("--vgdb-prefix={}", self.pipes.display()),
        ]
    }

    /// Counts from now on what this process does, which listens at this address.
    pub fn open(&self, pid: u32, url: &str) -> Result<()> {
        self.tell(pid, url, "on")
    }

    /// Counts no more.
    pub fn shut(&self, pid: u32, url: &str) -> Result<()> {
        self.tell(pid, url, "off")
    }

    fn tell(&self, pid: u32, url: &str, what: &str) -> Result<()> {
        let mut command = Command::new("vgdb");
        command
            .arg(format!("--pid={pid}"))
            .arg(format!("--vgdb-prefix={}", self.pipes.display()))
            .args(["instrumentation", what])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().context("vgdb, which comes with valgrind")?;
        let deadline = Instant::now() + HEARD;
        while child.try_wait()?.is_none() {
            ensure!(heard(&mut child, deadline), "valgrind does not hear vgdb");
            // It listens when it does something, and a connection is something.
            knock(url);
            std::thread::sleep(POLL);
        }
        let output = child.wait_with_output()?;
        ensure!(
            output.status.success(),
            "vgdb: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }
}

fn heard(child: &mut Child, deadline: Instant) -> bool {
    let in_time = Instant::now() < deadline;
    if !in_time {
        let _ = child.kill();
        let _ = child.wait();
    }
    in_time
}

/// Connects and goes away again.
fn knock(url: &str) {
    let address = url.trim_start_matches("http://");
    let address = address.split('/').next().unwrap_or(address);
    let _ = TcpStream::connect(address);
}

/// `bench-load`, which waits at its gate while the window is opened and shut.
pub struct Load {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Load {
    /// Starts it, and waits until its clients are warm.
    pub fn start(command: &mut Command) -> Result<Self> {
        command.arg("--gate").stdin(Stdio::piped());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .context("bench-load")?;
        let out = child.stdout.take().context("its stdout")?;
        let mut load = Self {
            child,
            out: BufReader::new(out),
        };
        let said = load.line()?;
        ensure!(said.trim() == "ready", "bench-load: {said}{}", load.rest());
        Ok(load)
    }

    /// Lets it through, and gives what it says of its calls.
    pub fn run(&mut self) -> Result<String> {
        let stdin = self.child.stdin.as_mut().context("its stdin")?;
        stdin.write_all(b"\n")?;
        self.line()
    }

    /// Lets it go.
    pub fn end(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        ensure!(status.success(), "bench-load: {status}");
        Ok(())
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.out.read_line(&mut line)?;
        Ok(line)
    }

    fn rest(&mut self) -> String {
        let mut rest = String::new();
        let _ = self.out.read_to_string(&mut rest);
        rest
    }
}
