//! What a person sees of a program that runs: the screen of a terminal, as the
//! escape sequences of the program leave it, or the lines of a log.

use rustix::process::{Pid, Signal, kill_process};
use std::{
    fmt,
    io::{Read, Write},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

const LIMIT: Duration = Duration::from_secs(90);

pub struct Shown {
    child: Child,
    bytes: Arc<Mutex<Vec<u8>>>,
    terminal: bool,
}

impl Shown {
    /// A program on a terminal.
    pub fn screen(command: Command) -> Self {
        Self::start(command, true)
    }

    /// A program whose output goes to a file or a pipe.
    pub fn log(command: Command) -> Self {
        Self::start(command, false)
    }

    fn start(mut command: Command, terminal: bool) -> Self {
        if terminal {
            command.stdin(Stdio::piped());
        }
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("the program starts");
        let mut out = child.stdout.take().unwrap();
        let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
        let read = bytes.clone();
        std::thread::spawn(move || {
            let mut buffer = [0u8; 4096];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                read.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self {
            child,
            bytes,
            terminal,
        }
    }

    /// What is to be seen now.
    pub fn rows(&self) -> Rows {
        let text = String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned();
        Rows {
            lines: if self.terminal {
                screen(&text)
            } else {
                text.lines().map(str::to_owned).collect()
            },
            terminal: self.terminal,
        }
    }

    /// Waits until something is to be seen.
    #[track_caller]
    pub fn until(&mut self, what: &str, seen: impl Fn(&Rows) -> bool) {
        let until = Instant::now() + LIMIT;
        loop {
            let rows = self.rows();
            if seen(&rows) {
                return;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{what}: it ended: {rows}");
            assert!(Instant::now() < until, "{what}: {rows}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Somebody types.
    pub fn types(&mut self, keys: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for a text, also the last one of a program that ends.
    #[track_caller]
    pub fn sees(&self, text: &str) {
        let until = Instant::now() + LIMIT;
        while !self.rows().has(text) {
            assert!(Instant::now() < until, "{text}: {}", self.rows());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ctrl-C, and how it ends.
    pub fn end(mut self) -> Option<i32> {
        if self.terminal {
            let mut keys = self.child.stdin.take().unwrap();
            keys.write_all(b"\x03").unwrap();
            return self.child.wait().unwrap().code();
        }
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Shown {
    /// Waits until it ends by itself, and how.
    #[track_caller]
    pub fn ended(mut self) -> Option<i32> {
        let until = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "it goes on: {}", self.rows());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Rows {
    lines: Vec<String>,
    terminal: bool,
}

impl Rows {
    /// Whether the last thing to be seen of a server is this.
    pub fn says(&self, name: &str, word: &str) -> bool {
        let last = self.lines.iter().rev().find(|line| is_of(line, name));
        last.is_some_and(|line| line[2 + name.len()..].trim_start().starts_with(word))
    }

    /// Whether a server is not there any more.
    pub fn is_without(&self, name: &str) -> bool {
        if self.terminal {
            self.lines_of(name) == 0
        } else {
            self.says(name, "removed")
        }
    }

    pub fn has(&self, text: &str) -> bool {
        self.lines.iter().any(|line| line.contains(text))
    }

    pub fn lines_of(&self, name: &str) -> usize {
        self.lines_that(|line| is_of(line, name))
    }

    pub fn lines_that(&self, wanted: impl Fn(&str) -> bool) -> usize {
        self.lines.iter().filter(|line| wanted(line)).count()
    }

    pub fn below(&self, title: &str) -> Vec<&str> {
        let lines = self.lines.iter().map(String::as_str);
        lines.skip_while(|line| *line != title).collect()
    }

    pub fn last(&self) -> &str {
        let last = self.lines.iter().rev().find(|line| !line.is_empty());
        last.map(String::as_str).unwrap_or_default()
    }
}

fn is_of(line: &str, name: &str) -> bool {
    let rest = line
        .strip_prefix("  ")
        .and_then(|line| line.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with(' '))
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.lines.join("\n"))
    }
}

/// The few sequences that the program uses, as a terminal obeys them; another
/// one is left on the screen, where a test sees it.
fn screen(text: &str) -> Vec<String> {
    let (mut lines, mut row, mut column) = (vec![Vec::new()], 0usize, 0usize);
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\n' => {
                row += 1;
                if row == lines.len() {
                    lines.push(Vec::new());
                }
            }
            '\r' => column = 0,
            '\u{1b}' if rest.next_if_eq(&'[').is_some() => {
                let mut number = String::new();
                while let Some(digit) = rest.next_if(|c| c.is_ascii_digit() || *c == ';') {
                    number.push(digit);
                }
                match rest.next() {
                    Some('A') => row = row.saturating_sub(number.parse().unwrap_or(1)),
                    Some('J') if number.is_empty() => {
                        lines.truncate(row + 1);
                        lines[row].truncate(column);
                    }
                    Some('m') => {}
                    other => panic!("a sequence that is not known here: {number}{other:?}"),
                }
            }
            character => {
                let line: &mut Vec<char> = &mut lines[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = character;
                column += 1;
            }
        }
    }
    lines
        .into_iter()
        .map(|line| line.into_iter().collect())
        .collect()
}
