//! The words of a command line: which of them name files of the repository, and
//! which of those are run rather than worked on.
//!
//! What a shell makes of a text is not worked out here. Every part of it that
//! could be a path is tried, from every directory that the line names: to bind
//! too much costs a question, to bind too little runs what nobody has seen.

use super::{
    Search,
    readers::{Reader, SEARCHED, loads, read_by},
};
use crate::{
    launchers::{Kind, gives_code, kind},
    limits,
    policy::decoded,
    program_variables::changes_programs,
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use switchboard_local::wildcard::matches;

impl Search<'_> {
    /// Binds the program and whatever its words and variables name.
    pub(super) fn argv(
        &mut self,
        base: &Path,
        command: &str,
        args: &[String],
        env: &[(String, String)],
    ) {
        let words = args.iter().map(String::as_str);
        let mut programs = std::iter::once(command).chain(words);
        self.fills_in = programs.any(|word| kind(word) == Some(Kind::Shell));
        let texts = args.iter().chain(env.iter().map(|(_, value)| value));
        let bases = self.directories(base, texts);
        self.bases.clone_from(&bases);
        self.program(&bases, command, env);
        let mut reader = Reader::of(command);
        // Before an interpreter has its script, every file may be it; and where
        // it is given code, that may run any of them.
        let mut script_to_come = reader.is_some();
        let mut has_code = false;
        let mut before: Option<&str> = None;
        for word in args {
            has_code |= script_to_come && gives_code(word);
            if script_to_come && reader.is_none_or(|reader| reader.looks_through) {
                reader = Reader::of(word).or(reader);
            }
            let option = match word.split_once('=') {
                Some((name, _)) if name.starts_with('-') => Some(name),
                _ => before,
            };
            let may_be_data = match self.only_names {
                true => !script_to_come || has_code,
                false => !script_to_come && !has_code,
            };
            // Behind the script a folder is more often worked on than loaded.
            let guesses = !self.only_names || script_to_come || option.is_some_and(loads);
            let reader_of_it = reader.filter(|_| guesses || word.starts_with('-'));
            let found = self.word(&bases, word, option, may_be_data)
                | reader_of_it.is_some_and(|reader| self.guessed(&bases, word, reader));
            script_to_come &= !found;
            before = Some(word.as_str()).filter(|word| word.starts_with('-'));
        }
        for (name, value) in env {
            let may_be_data = (!has_code || self.only_names) && !changes_programs(name);
            self.word(&bases, value, Some(name), may_be_data);
            if self.only_names && SEARCHED.contains(&name.as_str()) {
                self.searched(&bases, value);
            }
            if !may_be_data {
                let readers = [reader, Reader::of(read_by(name))];
                for word in value.split_whitespace() {
                    for reader in readers.into_iter().flatten() {
                        self.guessed(&bases, word, reader);
                    }
                }
            }
        }
        self.what_those_name();
    }

    /// Binds the program itself. A name without a path is looked for outside of
    /// the repository, unless the entry itself says where.
    fn program(&mut self, bases: &[PathBuf], command: &str, env: &[(String, String)]) {
        let searched = env.iter().any(|(name, _)| name == "PATH");
        let from = match command.contains('/') {
            true => &bases[..1],
            false if searched => bases,
            false => &bases[1..],
        };
        for base in from.iter().filter(|_| !command.is_empty()) {
            self.bind(&self.ground.path(base, command));
        }
    }

    /// Where paths may begin: the working directory, and every directory that a
    /// word names from there (`cd server && ./run.sh`, `env -C server ./run.sh`).
    fn directories<'a>(
        &mut self,
        base: &Path,
        texts: impl Iterator<Item = &'a String>,
    ) -> Vec<PathBuf> {
        let pieces: BTreeSet<String> = texts.flat_map(|text| pieces(text)).collect();
        let climbs = pieces.iter().any(|piece| piece.contains(".."));
        let mut all = vec![base.to_owned()];
        let mut at = 0;
        while let Some(from) = all.get(at).cloned() {
            for piece in &pieces {
                let is_whole = piece.starts_with('/') || piece.starts_with("~/");
                if is_whole && at > 0 {
                    continue;
                }
                if !self.may_look() {
                    return all;
                }
                for path in self.paths(&from, piece) {
                    if !path.is_dir() {
                        continue;
                    }
                    let real = self.ground.follow(&path).real;
                    let matters = climbs || self.ground.is_around(&real);
                    if matters && !all.contains(&real) {
                        all.push(real);
                    }
                }
            }
            if all.len() > limits::BOUND_DIRECTORIES {
                let why = format!(
                    "it names more than {} directories",
                    limits::BOUND_DIRECTORIES
                );
                self.unbound(base, why);
                return all;
            }
            at += 1;
        }
        all
    }

    /// Binds what one word names; whether that was anything.
    fn word(
        &mut self,
        bases: &[PathBuf],
        word: &str,
        option: Option<&str>,
        may_be_data: bool,
    ) -> bool {
        let mut found = false;
        for piece in pieces(word) {
            for base in bases {
                if !self.may_look() {
                    return found;
                }
                for path in self.paths(base, &piece) {
                    if !path.is_file() {
                        self.awaits(&path, &piece, may_be_data);
                        continue;
                    }
                    if may_be_data && self.only_names && !is_code(&path) {
                        continue;
                    }
                    if may_be_data && is_data(&path, option) {
                        if self.ground.holds(&path) && !self.found.data.contains(&path) {
                            self.found.data.push(path);
                        }
                        continue;
                    }
                    found |= self.bind(&path);
                }
            }
        }
        found
    }

    /// Notes a file that is not there and would be run if it were.
    fn awaits(&mut self, path: &Path, piece: &str, may_be_data: bool) {
        let looks_like_it = ends_like_code(path) || !may_be_data && piece.contains('/');
        if self.only_names && looks_like_it && !path.exists() {
            self.folders.push(self.ground.place_of(path));
        }
    }

    /// Notes the folders in which programs or modules are looked for.
    fn searched(&mut self, bases: &[PathBuf], value: &str) {
        for (part, base) in value
            .split([':', ';'])
            .flat_map(|part| bases.iter().map(move |base| (part, base)))
        {
            if part.is_empty() || !self.may_look() {
                continue;
            }
            let folder = self.ground.path(base, part);
            if folder.is_dir() {
                self.folders.push(self.ground.follow(&folder).real);
            }
        }
    }

    /// The paths that a text names: one, or where a shell reads it, each that
    /// `./r*n.sh` stands for.
    fn paths(&mut self, base: &Path, text: &str) -> Vec<PathBuf> {
        const OPEN: [char; 3] = ['*', '?', '['];
        if !self.fills_in || !text.contains(OPEN) {
            return vec![self.ground.path(base, text)];
        }
        let mut found = vec![if text.starts_with('/') {
            PathBuf::from("/")
        } else {
            base.to_owned()
        }];
        for part in text.split('/').filter(|part| !part.is_empty()) {
            if !part.contains(OPEN) {
                found.iter_mut().for_each(|path| path.push(part));
                continue;
            }
            // Read generously: what may be one of several is anything.
            let (before, after) = (part.find(OPEN), part.rfind(['*', '?', ']']));
            let pattern = match (before, after) {
                (Some(from), Some(to)) if from <= to => {
                    format!("{}*{}", &part[..from], &part[to + 1..])
                }
                _ => "*".to_owned(),
            };
            let mut next = Vec::new();
            for folder in &found {
                let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
                let names = entries
                    .take(limits::BOUND_NAMES)
                    .map(|entry| entry.file_name());
                let fits = names.filter(|name| matches(&pattern, &name.to_string_lossy()));
                next.extend(fits.map(|name| folder.join(name)));
            }
            if next.len() > limits::BOUND_MATCHES {
                let why = format!(
                    "{text:?} stands for more than {} files",
                    limits::BOUND_MATCHES
                );
                self.unbound(base, why);
                next.truncate(limits::BOUND_MATCHES);
            }
            found = next;
        }
        found
    }

    /// Binds what an interpreter would find under a name that is no file.
    fn guessed(&mut self, bases: &[PathBuf], word: &str, reader: Reader) -> bool {
        let mut found = false;
        if reader.guesses.is_empty() {
            return false;
        }
        let names = names(word);
        for (base, name) in bases
            .iter()
            .flat_map(|base| names.iter().map(move |name| (base, *name)))
        {
            let path = self.ground.path(base, name);
            let mut files = reader.files(&path);
            // A module of a package, as its language writes it.
            if !reader.between.is_empty() && name.contains(reader.between) {
                files.extend(reader.files(&base.join(name.replace(reader.between, "/"))));
                files.extend(reader.packages(base, name));
            }
            for file in files {
                if !self.may_look() {
                    return found;
                }
                found |= self.bind(&file);
                self.awaits(&file, "", true);
            }
        }
        found
    }

    /// Binds what bound files name in turn where no word does: the interpreter in
    /// the first line of a script, and what a package says is its beginning. Each file
    /// is looked at once, and every name counts as a look.
    fn what_those_name(&mut self) {
        let bases = self.bases.clone();
        while let Some(file) = self.newly_bound.pop() {
            let folder = file.parent().unwrap_or(&file).to_owned();
            let own: Vec<PathBuf> = bases.iter().cloned().chain([folder.clone()]).collect();
            if let Some(line) = first_line(&file) {
                self.word(&own, &line, None, false);
            }
            if file.file_name().is_some_and(|name| name == "package.json")
                && let Some(main) = main_of(&file)
                && let Some(reader) = Reader::of("node")
            {
                self.bind(&folder.join(&main));
                self.guessed(&[folder], &main, reader);
            }
        }
    }
}

/// The names that an interpreter may take out of a word: the word, or what is glued
/// to an option (`-mevil`, `-Imevil`, `--require=./lib`).
fn names(word: &str) -> Vec<&str> {
    let Some(option) = word.strip_prefix('-') else {
        return vec![word];
    };
    if let Some(long) = option.strip_prefix('-') {
        let value = long.split_once('=').map(|(_, value)| value);
        return value.into_iter().collect();
    }
    let letters = option.char_indices().take(limits::GLUED_LETTERS);
    let glued = letters.filter(|(_, c)| "mMrlI".contains(*c));
    let names = glued.map(|(at, c)| option[at + c.len_utf8()..].trim_start_matches('='));
    names.filter(|name| !name.is_empty()).collect()
}

/// Whether a word gives an interpreter code in itself, or from elsewhere: what that
/// loads nobody can bind.
pub(crate) fn is_code_address(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    ["data:", "blob:"].iter().any(|scheme| {
        let mut found = word.match_indices(scheme);
        found.any(|(at, _)| !word[..at].ends_with(|c: char| c.is_ascii_alphanumeric()))
    })
}

/// What stands behind `#!` in the first line of a script.
fn first_line(file: &Path) -> Option<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let open = super::open(file).ok()?;
    open.take(limits::FIRST_LINE_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    let rest = bytes.strip_prefix(b"#!")?;
    let line = rest.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).trim().to_owned())
}

/// What a package says is its beginning.
fn main_of(file: &Path) -> Option<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let open = super::open(file).ok()?;
    open.take(limits::MANIFEST_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    let package: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    Some(package["main"].as_str()?.to_owned())
}

/// The word, and every part of it that could be a path: `--config=x.js`,
/// `-rx.js`, `@words`, `sh -c "exec './my x.sh'"`, `$PWD/x.sh`, `file:///x.js?1`.
pub(crate) fn pieces(word: &str) -> BTreeSet<String> {
    const BETWEEN: &str = "=:;,|&()<>'\"`{}$";
    // Whatever a shell, or a process of its own, makes of the beginning.
    let beginning_is_open =
        word.contains(['$', '`']) || word.starts_with("/proc/") || word.starts_with("/dev/");
    let unquoted: String = word.chars().filter(|c| !"'\"\\".contains(*c)).collect();
    let parts = |text: &str| -> Vec<String> {
        let parts = text.split(|c: char| c.is_whitespace() || BETWEEN.contains(c));
        parts.map(str::to_owned).collect()
    };
    let quoted = word.split(['\'', '"']).map(|part| part.trim().to_owned());
    let mut all: BTreeSet<String> = quoted.chain([word.to_owned()]).collect();
    all.extend(parts(word));
    all.extend(parts(&unquoted));
    // `env -S` writes a space so.
    if word.contains("\\_") {
        all.extend(parts(&word.replace("\\_", " ")));
    }
    let mut more = Vec::new();
    for part in &all {
        let place = part.split(['?', '#']).next().unwrap_or_default();
        if place.len() < part.len() || part.contains('%') {
            more.extend([place.to_owned(), decoded(place)]);
        }
    }
    all.extend(std::mem::take(&mut more));
    for part in &all {
        let glued = part.strip_prefix('-').and_then(|rest| rest.get(1..));
        more.extend(
            [glued, part.strip_prefix('@')]
                .into_iter()
                .flatten()
                .map(str::to_owned),
        );
        if beginning_is_open {
            let behind = part.match_indices('/').map(|(at, _)| &part[at + 1..]);
            more.extend(behind.map(str::to_owned));
        }
    }
    all.extend(more);
    all.retain(|part| !part.is_empty() && part.len() < 4096);
    all
}

/// Whether a file is run or loaded, by its ending or by what it is.
fn is_code(path: &Path) -> bool {
    ends_like_code(path) || is_executable(path)
}

fn ends_like_code(path: &Path) -> bool {
    const ENDINGS: [&str; 25] = [
        "js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx", "node", "py", "pyz", "pyc", "rb",
        "pl", "pm", "php", "lua", "sh", "bash", "zsh", "jar", "class", "wasm", "so", "dylib",
    ];
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

/// Whether a file is what a server works on: by the option in front of it, or by
/// what it is. What can be run as it is may be run.
fn is_data(path: &Path, option: Option<&str>) -> bool {
    use std::io::Read;
    let mut first = Vec::new();
    let read = super::open(path).and_then(|file| file.take(16).read_to_end(&mut first));
    let can_run = first.starts_with(b"#!") || first.starts_with(b"\x7fELF") || is_executable(path);
    read.is_ok() && !can_run && (option.is_some_and(names_data) || first == b"SQLite format 3\0")
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

/// Whether an option is about what a server writes to, or keeps. `--no-cache` is
/// about nothing, and what follows it is something else.
fn names_data(option: &str) -> bool {
    const DATA: &[&str] = &[
        "log", "logs", "logfile", "db", "database", "sqlite", "cache", "out", "output", "memory",
        "history", "pid", "pidfile", "state", "data", "storage", "store",
    ];
    let name = option.to_ascii_lowercase();
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    let is_switch = name.trim_start_matches('-').starts_with("no-");
    !is_switch && parts.any(|part| DATA.contains(&part))
}
