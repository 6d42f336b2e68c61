//! The program on a terminal of its own: somebody types, and looks at what is on the screen
//! then. The terminal is a real one (a pty), and what is on it is what `vt100` makes of the
//! bytes.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags, open},
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};
use std::{
    fs::File,
    io::{Read, Write},
    num::NonZero,
    os::fd::OwnedFd,
    process::{Child, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};
use switchboard_testkit::{bin, world::World};

const LIMIT: Duration = Duration::from_secs(90);
/// How a frame begins.
const FRAME: &[u8] = b"\x1b[?2026h";

/// What was written so far, and what that looks like.
struct Seen {
    bytes: Vec<u8>,
    parser: vt100::Parser,
}

pub struct Tty {
    keyboard: File,
    terminal: OwnedFd,
    child: Child,
    seen: Arc<Mutex<Seen>>,
    closing: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

/// A program whose terminal is gone.
pub struct Orphan(Tty);

impl Orphan {
    pub fn pid(&self) -> i32 {
        self.0.pid()
    }

    pub fn signal(&self, signal: Signal) {
        self.0.signal(signal);
    }

    /// Waits until it ends, and how.
    #[track_caller]
    pub fn ended(&mut self) -> Option<i32> {
        let until = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.0.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "it goes on without a terminal");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Tty {
    /// The program with these arguments on a terminal of 80×24.
    pub fn start(world: &World, args: &[&str]) -> Self {
        let program = bin("switchboard");
        let mut words = vec![program.to_str().unwrap()];
        words.extend(args);
        Self::any(world, (80, 24), &words)
    }

    /// Any program on a terminal that is its own.
    pub fn any(world: &World, (columns, rows): (u16, u16), words: &[&str]) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = open(name, flags, Mode::empty()).unwrap();
        resize(&terminal, columns, rows);
        let end = || Stdio::from(terminal.try_clone().unwrap());
        let mut args = vec!["--ctty", "--wait"];
        args.extend(words);
        let child = world
            .any("setsid", &args)
            .env("TERM", "xterm-256color")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("setsid (util-linux) gives the program its terminal");
        let keyboard = File::from(master);
        let mut screen = keyboard.try_clone().unwrap();
        let seen = Seen {
            bytes: Vec::new(),
            parser: parser(rows, columns),
        };
        let seen = Arc::new(Mutex::new(seen));
        let write = seen.clone();
        let closing: Arc<AtomicBool> = Arc::default();
        let closes = closing.clone();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0u8; 8192];
            while !closes.load(Ordering::SeqCst) {
                if !is_there(&screen) {
                    continue;
                }
                let Ok(count @ 1..) = screen.read(&mut buffer) else {
                    return;
                };
                let mut seen = write.lock().unwrap();
                seen.bytes.extend_from_slice(&buffer[..count]);
                seen.parser.process(&buffer[..count]);
            }
        });
        Self {
            keyboard,
            terminal,
            child,
            seen,
            closing,
            reader: Some(reader),
        }
    }

    /// The terminal is closed, as when a window is or a connection breaks; whoever was on it.
    pub fn closes(mut self) -> Orphan {
        self.closing.store(true, Ordering::SeqCst);
        self.reader.take().unwrap().join().unwrap();
        let nothing = || File::open("/dev/null").unwrap();
        self.keyboard = nothing();
        self.terminal = nothing().into();
        Orphan(self)
    }

    /// Somebody types; `\r` is Enter.
    pub fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// What is on the screen.
    pub fn text(&self) -> String {
        self.seen.lock().unwrap().parser.screen().contents()
    }

    /// All bytes that were written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.seen.lock().unwrap().bytes.clone()
    }

    /// How many frames were drawn.
    pub fn frames(&self) -> usize {
        let bytes = self.bytes();
        bytes.windows(FRAME.len()).filter(|it| *it == FRAME).count()
    }

    /// Waits until the screen is as it should be.
    #[track_caller]
    pub fn until(&mut self, what: &str, wanted: impl Fn(&str) -> bool) {
        let until = Instant::now() + LIMIT;
        loop {
            let text = self.text();
            if wanted(&text) {
                return;
            }
            assert!(Instant::now() < until, "{what}:\n{text}");
            if let Some(ended) = self.child.try_wait().unwrap() {
                self.reads_all();
                assert!(wanted(&self.text()), "{what}: {ended}:\n{}", self.text());
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for a text on the screen.
    #[track_caller]
    pub fn sees(&mut self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    /// Waits until a line of the screen has all of these.
    #[track_caller]
    pub fn sees_line(&mut self, parts: &[&str]) {
        let whole = |line: &str| parts.iter().all(|part| line.contains(part));
        self.until(&parts.join(" … "), |screen| screen.lines().any(whole));
    }

    /// The terminal gets another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let mut seen = self.seen.lock().unwrap();
        let size = |value: u16| NonZero::new(value).unwrap();
        seen.parser.screen_mut().set_size(size(rows), size(columns));
        drop(seen);
        resize(&self.terminal, columns, rows);
    }

    /// Whether a shell could go on here: lines, echo, no second screen, a cursor.
    pub fn is_restored(&self) -> bool {
        let modes = tcgetattr(&self.terminal).unwrap().local_modes;
        let lines = modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        let seen = self.seen.lock().unwrap();
        let screen = seen.parser.screen();
        lines && !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste()
    }

    /// Whether what was there before the screen is there, whoever reads keys.
    pub fn shows_lines(&self) -> bool {
        let seen = self.seen.lock().unwrap();
        let screen = seen.parser.screen();
        !screen.alternate_screen() && !screen.hide_cursor()
    }

    /// Waits until something holds of the terminal.
    #[track_caller]
    pub fn waits(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let until = Instant::now() + LIMIT;
        while !holds(self) {
            assert!(Instant::now() < until, "{what}:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Types something again and again until a text is there: a program that has only just
    /// begun may not have been there to be told.
    #[track_caller]
    pub fn until_typed(&mut self, keys: &str, text: &str) {
        let until = Instant::now() + LIMIT;
        while !self.text().contains(text) {
            assert!(Instant::now() < until, "{text}:\n{}", self.text());
            self.types(keys);
            let soon = Instant::now() + Duration::from_secs(5);
            while !self.text().contains(text) && Instant::now() < soon {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid()).unwrap(), signal).unwrap();
    }

    /// Waits until the program ends, and how.
    #[track_caller]
    pub fn ended(&mut self) -> Option<i32> {
        let until = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.reads_all();
                while !self.is_restored() && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(10));
                }
                return status.code();
            }
            assert!(Instant::now() < until, "it goes on:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What was written to the terminal may still be on its way: a mark is written behind it,
    /// which no screen shows, and waited for.
    #[track_caller]
    fn reads_all(&self) {
        const MARK: &[u8] = b"\x1b]7777;all\x07";
        rustix::io::write(&self.terminal, MARK).unwrap();
        let until = Instant::now() + LIMIT;
        loop {
            let mut seen = self.seen.lock().unwrap();
            let mut parts = seen.bytes.windows(MARK.len());
            if let Some(at) = parts.position(|part| part == MARK) {
                seen.bytes.drain(at..at + MARK.len());
                return;
            }
            drop(seen);
            assert!(Instant::now() < until, "{}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Leaves the screen, which gives the terminal back.
    #[track_caller]
    pub fn quits(&mut self) {
        self.types("\x03");
        assert_eq!(self.ended(), Some(0), "{}", self.text());
        assert!(self.is_restored(), "{}", self.text());
    }
}

/// Whether something was written; waits a little for it.
fn is_there(screen: &File) -> bool {
    let mut wanted = [PollFd::new(screen, PollFlags::IN)];
    let soon = Timespec {
        tv_sec: 0,
        tv_nsec: 20_000_000,
    };
    poll(&mut wanted, Some(&soon)).is_ok_and(|count| count > 0)
}

impl Drop for Tty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parser(rows: u16, columns: u16) -> vt100::Parser {
    let size = |value: u16| NonZero::new(value).unwrap();
    vt100::Parser::new(size(rows), size(columns), 0)
}

fn resize(terminal: &OwnedFd, columns: u16, rows: u16) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).unwrap();
}
