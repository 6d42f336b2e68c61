//! The words of a command line: which of them name files of the repository, and
//! which of those are run rather than worked on.

use super::Search;
use std::path::Path;

impl Search<'_> {
    /// Binds the program and whatever its words name.
    pub(super) fn argv(&mut self, base: &Path, command: &str, args: &[String]) {
        // A name without a path is looked for outside of the repository.
        if command.contains('/') {
            self.bind(&base.join(command));
        }
        let reader = Reader::of(command);
        let mut script_to_come = reader.is_some();
        let mut before: Option<&str> = None;
        for word in args {
            let option = match word.split_once('=') {
                Some((name, _)) if name.starts_with('-') => Some(name),
                _ => before,
            };
            let may_be_data = !script_to_come;
            let found = self.word(base, word, option.filter(|_| may_be_data), may_be_data)
                | self.guessed(base, word, reader.unwrap_or(Reader::Other));
            script_to_come &= !found;
            before = Some(word.as_str()).filter(|word| word.starts_with('-'));
        }
    }

    /// Binds whatever a text names, such as a command for a shell.
    pub(super) fn text(&mut self, base: &Path, text: &str) {
        self.word(base, text, None, false);
    }

    /// Binds what one word names; whether that was anything.
    fn word(&mut self, base: &Path, word: &str, option: Option<&str>, may_be_data: bool) -> bool {
        let mut found = false;
        for piece in pieces(word) {
            if !self.may_look() {
                break;
            }
            let path = self.ground.path(base, piece);
            if may_be_data && path.is_file() && (option.is_some_and(names_data) || is_store(&path))
            {
                if self.ground.holds(&path) && !self.found.data.contains(&path) {
                    self.found.data.push(path);
                }
                continue;
            }
            found |= self.bind(&path);
        }
        found
    }

    /// Binds what an interpreter would find under a name that is no file.
    fn guessed(&mut self, base: &Path, word: &str, reader: Reader) -> bool {
        if word.starts_with('-') {
            return false;
        }
        let path = self.ground.path(base, word);
        let mut found = false;
        for guess in reader.guesses() {
            if !self.may_look() {
                break;
            }
            let file = match guess.strip_prefix('/') {
                Some(inside) => path.join(inside),
                None => format!("{}{guess}", path.display()).into(),
            };
            found |= self.bind(&file);
        }
        if reader == Reader::Python && word.contains('.') {
            // A module of a package.
            let module = base.join(word.replace('.', "/"));
            found |= self.bind(&module.with_extension("py"));
            found |= self.bind(&module.join("__main__.py"));
        }
        found
    }
}

/// What reads a script: before it has one, every file may be it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    Node,
    Python,
    Other,
}

impl Reader {
    fn of(command: &str) -> Option<Self> {
        const OTHERS: &[&str] = &[
            "sh",
            "bash",
            "dash",
            "zsh",
            "ksh",
            "fish",
            "busybox",
            "env",
            "nice",
            "nohup",
            "timeout",
            "xargs",
            "sudo",
            "doas",
            "stdbuf",
            "setsid",
            "deno",
            "tsx",
            "ts-node",
            "ruby",
            "perl",
            "php",
            "lua",
            "luajit",
            "java",
            "dotnet",
            "pwsh",
            "rscript",
            "julia",
            "elixir",
            "osascript",
            "tclsh",
            "wish",
            "guile",
            "racket",
            "awk",
            "gawk",
            "mawk",
            "make",
            "just",
            "uv",
        ];
        let name = Path::new(command)
            .file_name()?
            .to_str()?
            .to_ascii_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        // `python3.12` is `python`.
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        match name {
            "node" | "nodejs" | "bun" => Some(Self::Node),
            "python" | "pypy" => Some(Self::Python),
            name => OTHERS.contains(&name).then_some(Self::Other),
        }
    }

    /// What it appends to a name on its own.
    fn guesses(self) -> &'static [&'static str] {
        match self {
            Self::Node => &[
                ".js",
                ".mjs",
                ".cjs",
                ".json",
                ".node",
                ".ts",
                "/package.json",
                "/index.js",
                "/index.mjs",
                "/index.cjs",
                "/index.ts",
            ],
            Self::Python => &[".py", "/__main__.py", "/__init__.py"],
            Self::Other => &[],
        }
    }
}

/// The word, and every part of it that could be a path: `--config=x.js`,
/// `-rx.js`, `@words`, `sh -c "exec ./x.sh"`.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    const BETWEEN: &str = "=:;,|&()<>'\"`{}$";
    let parts = word.split(|c: char| c.is_whitespace() || BETWEEN.contains(c));
    std::iter::once(word)
        .chain(parts)
        .flat_map(|part| {
            let glued = part.strip_prefix('-').and_then(|rest| rest.get(1..));
            [Some(part), glued, part.strip_prefix('@')]
        })
        .flatten()
        .filter(|part| !part.is_empty() && part.len() < 4096)
}

/// Whether an option is about what a server writes to, or keeps.
fn names_data(option: &str) -> bool {
    const DATA: &[&str] = &[
        "log", "logs", "logfile", "db", "database", "sqlite", "cache", "out", "output", "memory",
        "history", "pid", "pidfile", "state", "data", "storage", "store",
    ];
    let name = option.to_ascii_lowercase();
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|part| DATA.contains(&part))
}

/// A database by its own first bytes.
fn is_store(path: &Path) -> bool {
    use std::io::Read;
    let mut first = [0; 16];
    super::open(path)
        .and_then(|mut file| file.read_exact(&mut first))
        .is_ok_and(|()| &first == b"SQLite format 3\0")
}
