//! What the tests of processes share: looking at processes from outside, and
//! programs to run.

#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use switchboard_testkit::DEADLINE;

use switchboard_process::{ServerCommand, ServerProcess};

/// A program that cargo built beside the tests: `cargo test` does, but with
/// `--test NAME` it does not, and an old one would be tested unnoticed.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join("examples").join(name);
    let built = std::fs::metadata(&path)
        .and_then(|found| found.modified())
        .ok();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = match name {
        "clinger" => vec![here.join("../testkit/src/bin/clinger.rs")],
        _ => ["examples", "src", "src/table", "src/keeper"]
            .iter()
            .flat_map(|directory| std::fs::read_dir(here.join(directory)).unwrap())
            .map(|file| file.unwrap().path())
            .filter(|file| file.is_file())
            .collect(),
    };
    let is_new = |source: &PathBuf| {
        source
            .metadata()
            .unwrap()
            .modified()
            .ok()
            .is_some_and(|changed| Some(changed) <= built)
    };
    assert!(
        sources.iter().all(is_new),
        "{} is missing or old: cargo build -p switchboard-transport --examples",
        path.display()
    );
    path
}

/// A command line for `sh -c` that runs the clinger behind a launcher.
pub fn clinger(flags: &str, pid_file: &Path) -> String {
    format!(
        "{} {flags} --pid-file {}; true",
        example("clinger").display(),
        pid_file.display()
    )
}

pub fn shell(script: &str) -> ServerCommand {
    ServerCommand {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        ..ServerCommand::default()
    }
}

pub fn start(script: &str) -> ServerProcess {
    ServerProcess::spawn(&shell(script)).unwrap()
}

/// The numbers in a clinger's file, once there are `count`.
pub fn pids(file: &Path, count: usize) -> Vec<i32> {
    let mut found = Vec::new();
    wait_until(Duration::from_secs(20), "the clinger to be ready", || {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        found = text.lines().filter_map(|line| line.parse().ok()).collect();
        found.len() >= count
    });
    assert_eq!(found.len(), count, "{found:?}");
    assert!(found.iter().all(|pid| is_alive(*pid)));
    found
}

/// Whether a process runs; one that is dead and only not yet reaped does not.
pub fn is_alive(pid: i32) -> bool {
    state(pid).is_some_and(|state| state != 'Z' && state != 'X')
}

pub fn state(pid: i32) -> Option<char> {
    field(pid, 0)?.chars().next()
}

/// A field of `/proc/PID/stat`, counted after the name.
pub fn field(pid: i32, index: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat[stat.rfind(')')? + 2..]
        .split(' ')
        .nth(index)
        .map(str::to_owned)
}

pub fn all_dead(pids: &[i32]) -> bool {
    !pids.iter().any(|pid| is_alive(*pid))
}

pub fn wait_until(most: Duration, what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < most, "waited {most:?} in vain for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
    begun.elapsed()
}

pub fn signal(pid: i32, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// The `kept` program, running.
pub struct KeptProgram {
    pub child: Child,
    pub keeper: i32,
    pub worker: i32,
    input: Box<dyn Write>,
    output: BufReader<ChildStdout>,
}

impl KeptProgram {
    pub fn start() -> Self {
        Self::start_with(Command::new(example("kept")))
    }

    pub fn start_with(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        Self::greet(child, Box::new(input))
    }

    /// On a terminal of its own, whose other side is then its input.
    pub fn start_on_terminal(arguments: &[&str]) -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let theirs = File::options().read(true).write(true).open(name).unwrap();
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(example("kept")).args(arguments);
        command.stdin(theirs).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        Self::greet(child, Box::new(File::from(ours)))
    }

    fn greet(mut child: Child, input: Box<dyn Write>) -> Self {
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut program = Self {
            child,
            keeper: 0,
            worker: 0,
            input,
            output,
        };
        program.keeper = program.number("keeper");
        program.worker = program.number("worker");
        assert_eq!(program.keeper, program.child.id().cast_signed());
        assert_ne!(program.keeper, program.worker);
        program
    }

    /// How the program ended, which it must do soon.
    pub fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until(DEADLINE, "the program to end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// Types at the program's terminal.
    pub fn press(&mut self, key: u8) {
        self.input.write_all(&[key]).unwrap();
    }

    /// Closes the program's input; a terminal is gone then.
    pub fn hang_up(&mut self) {
        self.input = Box::new(std::io::sink());
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub fn tell(&mut self, order: &str) {
        writeln!(self.input, "{order}").unwrap();
    }

    pub fn ask(&mut self, order: &str) -> String {
        self.tell(order);
        self.line()
    }

    /// Starts a server and tells its leader.
    pub fn server(&mut self, script: &str) -> i32 {
        self.tell(&format!("start {script}"));
        self.number("started")
    }

    fn number(&mut self, word: &str) -> i32 {
        let line = self.line();
        let number = line
            .strip_prefix(word)
            .and_then(|rest| rest.trim().parse().ok());
        number.unwrap_or_else(|| panic!("{word}: {line:?}"))
    }
}

/// A failed test leaves nothing running either.
impl Drop for KeptProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
