//! Pages of documentation, and typing what they say.

use regex::Regex;
use std::{
    fmt::Write as _,
    fs::{self, File},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::LazyLock,
    time::{Duration, Instant},
};
use switchboard_testkit::world::World;

/// How long a command of a page may take on a machine that is busy.
const LIMIT: Duration = Duration::from_secs(90);

/// A page, in pieces.
pub struct Page {
    file: PathBuf,
    pieces: Vec<Piece>,
}

enum Piece {
    /// Lines that are only read.
    Text(String),
    /// A block with its first line and its content.
    Block { info: String, lines: Vec<String> },
}

/// One command of a block, and what the page says appears.
#[derive(Default)]
struct Typed {
    command: String,
    shown: Vec<String>,
}

impl Page {
    pub fn read(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let mut pieces = Vec::new();
        let mut block: Option<(String, Vec<String>)> = None;
        for line in text.lines() {
            match (&mut block, line.strip_prefix("```")) {
                (None, Some(info)) => block = Some((info.trim().to_owned(), Vec::new())),
                (None, None) => pieces.push(Piece::Text(format!("{line}\n"))),
                (Some(_), Some("")) => {
                    let (info, lines) = block.take().unwrap();
                    pieces.push(Piece::Block { info, lines });
                }
                (Some((_, lines)), _) => lines.push(line.to_owned()),
            }
        }
        assert!(block.is_none(), "{}: a block does not end", file.display());
        Self {
            file: file.to_owned(),
            pieces,
        }
    }

    /// Its blocks: what each begins with, and its lines.
    pub fn blocks(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Block { info, lines } => Some((info.as_str(), lines.as_slice())),
            Piece::Text(_) => None,
        })
    }

    /// What stands around them.
    pub fn prose(&self) -> String {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Block { .. } => None,
        });
        texts.collect()
    }

    /// Types all of it.
    pub fn run(mut self) {
        let write = std::env::var_os("SWITCHBOARD_WRITE_DOCS").is_some();
        let mut sitting = Sitting::new();
        let mut wrong = String::new();
        for piece in &mut self.pieces {
            let Piece::Block { info, lines } = piece else {
                continue;
            };
            if let Some(path) = word(info, "file=") {
                sitting.write(path, &lines.join("\n"));
            }
            if let Some(path) = word(info, "source=") {
                let source = Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join("../..")
                    .join(path);
                let source = fs::read_to_string(source).unwrap();
                let real: Vec<String> = source.lines().map(str::to_owned).collect();
                if write {
                    *lines = real;
                } else if *lines != real {
                    write!(
                        wrong,
                        "\nthe text of {path} is another: run cargo xtask docs"
                    )
                    .unwrap();
                }
            }
            if !info.starts_with("console") {
                continue;
            }
            let mut typed = read_block(lines);
            assert!(
                !typed.is_empty(),
                "{}: nothing to type: {lines:?}",
                self.file.display()
            );
            let exit = word(info, "exit=").map_or(0, |code| code.parse().unwrap());
            let last = typed.len() - 1;
            for (at, one) in typed.iter_mut().enumerate() {
                let expected = if at == last { exit } else { 0 };
                let appeared = if info.contains("background") {
                    sitting.begin(one)
                } else {
                    sitting.finish_calmly(one, expected)
                };
                if write && !one.shown.iter().any(|line| line == "...") {
                    one.shown = appeared;
                } else if let Err(why) = compare(&one.shown, &appeared) {
                    write!(wrong, "\n$ {}\n{why}", one.command).unwrap();
                }
            }
            *lines = typed
                .into_iter()
                .flat_map(|one| {
                    let first = format!("$ {}", one.command);
                    let command: Vec<String> = first.lines().map(str::to_owned).collect();
                    command.into_iter().chain(one.shown)
                })
                .collect();
        }
        sitting.end();
        if write {
            fs::write(&self.file, self.text()).unwrap();
        }
        assert!(wrong.is_empty(), "{}: {wrong}", self.file.display());
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(line) => text.push_str(line),
                Piece::Block { info, lines } => {
                    writeln!(text, "```{info}").unwrap();
                    for line in lines {
                        writeln!(text, "{line}").unwrap();
                    }
                    text.push_str("```\n");
                }
            }
        }
        text
    }
}

fn word<'a>(info: &'a str, key: &str) -> Option<&'a str> {
    info.split_whitespace()
        .find_map(|word| word.strip_prefix(key))
}

fn read_block(lines: &[String]) -> Vec<Typed> {
    let mut all: Vec<Typed> = Vec::new();
    let mut goes_on = false;
    for line in lines {
        if goes_on {
            let one = all.last_mut().unwrap();
            one.command.push('\n');
            one.command.push_str(line);
            goes_on = line.ends_with('\\');
        } else if let Some(command) = line.strip_prefix("$ ") {
            goes_on = command.ends_with('\\');
            all.push(Typed {
                command: command.to_owned(),
                shown: Vec::new(),
            });
        } else if let Some(one) = all.last_mut() {
            one.shown.push(line.clone());
        }
    }
    all
}

/// Where one page is read: a home, a project in it, and what runs meanwhile.
struct Sitting {
    world: World,
    running: Vec<(String, Child)>,
    /// The address of the gateway that runs, which a page calls 127.0.0.1:3700.
    address: Option<String>,
}

impl Sitting {
    fn new() -> Self {
        let world = World::new().working_in("home/project");
        fs::create_dir_all(world.path("home/project/.git")).unwrap();
        Self {
            world,
            running: Vec::new(),
            address: None,
        }
    }

    fn write(&self, path: &str, text: &str) {
        let file = match path.strip_prefix("~/") {
            Some(rest) => self.world.home().join(rest),
            None => self.world.path("home/project").join(path),
        };
        self.world.write(file, format!("{text}\n"));
    }

    fn shell(&self, command: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_switchboard"));
        let folder = program.parent().unwrap().display();
        let mut text = installed(command);
        if let Some(address) = &self.address {
            text = text.replace("127.0.0.1:3700", address);
        }
        let mut shell = self.world.any("sh", &["-c", &text]);
        shell.env("PATH", format!("{folder}:/usr/local/bin:/usr/bin:/bin"));
        shell
    }

    /// The same, and once more where it only shows what is: on a busy machine a server may still
    /// be on its way.
    fn finish_calmly(&mut self, one: &Typed, expected: i32) -> Vec<String> {
        let is_on_its_way = |lines: &[String]| lines.iter().any(|it| it.contains("connecting"));
        let shows = ["explain", "list", "status"];
        let shows = shows.map(|word| format!("switchboard {word}"));
        let until = Instant::now() + LIMIT;
        loop {
            let appeared = self.finish(one, expected);
            let is_early = is_on_its_way(&appeared) && !is_on_its_way(&one.shown);
            let only_shows = shows.iter().any(|word| one.command.starts_with(word));
            if !is_early || !only_shows || Instant::now() > until {
                return appeared;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Types a command, waits for its end, and gives what appeared.
    fn finish(&mut self, one: &Typed, expected: i32) -> Vec<String> {
        let file = self.world.path("appeared");
        let mut child = self.start(&one.command, &file);
        let code = wait(&mut child);
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(code, Some(expected), "$ {}\n{text}", one.command);
        self.masked(&text)
    }

    /// Types a command that goes on, and waits until it has said the last line.
    fn begin(&mut self, one: &Typed) -> Vec<String> {
        let file = self.world.path(format!("running-{}", self.running.len()));
        let child = self.start(&format!("exec {}", installed(&one.command)), &file);
        self.running.push((one.command.clone(), child));
        let last = one.shown.last().map_or("Ready.", String::as_str);
        let until = Instant::now() + LIMIT;
        loop {
            let text = fs::read_to_string(&file).unwrap();
            if self.address.is_none() {
                let said = text
                    .lines()
                    .find_map(|line| line.strip_prefix("listening on http://"));
                self.address = said.map(str::to_owned);
            }
            let lines = self.masked(&text);
            if text.ends_with('\n') && lines.iter().any(|line| line.starts_with(last)) {
                return lines;
            }
            assert!(
                Instant::now() < until,
                "$ {}: no {last:?} in\n{text}",
                one.command
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn start(&self, command: &str, into: &Path) -> Child {
        let out = File::create(into).unwrap();
        let mut shell = self.shell(command);
        shell
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .process_group(0);
        shell.spawn().unwrap()
    }

    /// Ctrl-C for all that runs; it ends well.
    fn end(mut self) {
        for (command, child) in &mut self.running {
            let group = rustix::process::Pid::from_child(child);
            let interrupt = rustix::process::Signal::INT;
            rustix::process::kill_process_group(group, interrupt).unwrap();
            assert_eq!(wait(child), Some(0), "$ {command}, after Ctrl-C");
        }
        self.running.clear();
    }

    /// What appeared, without what is different each time.
    fn masked(&self, text: &str) -> Vec<String> {
        static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
            let masks = [
                ("/#[0-9a-f]{32}", "/#CODE"),
                (r"\b[0-9a-f]{64}\b", "DIGEST"),
                (r"127\.0\.0\.1:\d+", "127.0.0.1:3700"),
                (r"\b\d+(\.\d+)? ?ms\b", "N ms"),
                (r"\babout \d+ tokens\b", "about N tokens"),
                (r"\b\d+ MiB, \d+\.\d s CPU\b", "N MiB, N s CPU"),
                (r#""(pid|uptimeSeconds|ageMs|durationMs)":\d+"#, "\"$1\":N"),
                (r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|\+00:00)", "TIME"),
            ];
            masks
                .map(|(mask, by)| (Regex::new(mask).unwrap(), by))
                .into()
        });
        static LOG: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"^\d{4}-\d\d-\d\dT.* (INFO|WARN|DEBUG) ").unwrap());
        let program = env!("CARGO_BIN_EXE_switchboard");
        let folder = Path::new(program).parent().unwrap().display();
        let home = self.world.home().display().to_string();
        let mut lines: Vec<String> = Vec::new();
        for line in text.lines() {
            // The log, and a port that happens to be taken where this runs.
            if LOG.is_match(line) || line.contains("is taken by another program") {
                continue;
            }
            let mut line = line
                .trim_end()
                .replace(program, "/usr/local/bin/switchboard")
                .replace(&format!("{folder}:"), "");
            line = line.replace(&home, "/home/you");
            for (mask, by) in MASKS.iter() {
                line = mask.replace_all(&line, *by).into_owned();
            }
            lines.push(line);
        }
        // Servers connect in any order.
        for run in lines.chunk_by_mut(|a, b| is_row(a) && is_row(b)) {
            run.sort();
        }
        lines
    }
}

impl Drop for Sitting {
    fn drop(&mut self) {
        for (_, child) in &mut self.running {
            let group = rustix::process::Pid::from_child(child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = child.wait();
        }
    }
}

fn is_row(line: &str) -> bool {
    line.starts_with("  ") && line.contains("  connected  ")
}

/// What the reader builds or installs is there already.
fn installed(command: &str) -> String {
    match command.strip_prefix("cargo run --release -- ") {
        Some(rest) => format!("switchboard {rest}"),
        None if command == "cargo install --path crates/cli" => {
            "switchboard --version >&2".to_owned()
        }
        // Other tests may have the port that the page names.
        None => command.replace("--http 127.0.0.1:3700", "--http 127.0.0.1:0"),
    }
}

fn wait(child: &mut Child) -> Option<i32> {
    let until = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if Instant::now() > until {
            let _ = child.kill();
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether what appeared is what is shown; nothing shown means nothing promised.
fn compare(shown: &[String], appeared: &[String]) -> Result<(), String> {
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    let real: Vec<&str> = appeared.iter().map(String::as_str).collect();
    if shown.is_empty() || fits(&shown, &real) {
        return Ok(());
    }
    let (shown, real) = (shown.join("\n"), real.join("\n"));
    Err(format!("--- shown\n{shown}\n--- appeared\n{real}\n"))
}

fn fits(shown: &[&str], real: &[&str]) -> bool {
    match shown.split_first() {
        None => real.is_empty(),
        Some((&"...", rest)) => (0..=real.len()).any(|skip| fits(rest, &real[skip..])),
        Some((line, rest)) => real.first() == Some(line) && fits(rest, &real[1..]),
    }
}
