//! Other MCP clients: what they are called, where they keep their servers, and
//! how they write them. One table ([`table`]) for whoever reads their files
//! (`import`) and whoever writes into them (`connect`, `up --write`).

mod table;

use crate::{limits, places::Places};
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};
use table::{At, CODE_SETTINGS, ROWS, Row, Together};
pub(crate) use table::{FIELDS, Meaning, Spelling, Switches, Unit};

/// A client whose files are known.
#[derive(Clone, Copy)]
pub struct Client(&'static Row);

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON; comments and trailing commas are kept.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl Format {
    /// By the ending of the file's name.
    pub fn of(file: &Path) -> Self {
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }
}

/// A file of a client, and where in it the servers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFile {
    /// Its path.
    pub path: PathBuf,
    /// The keys that lead to the servers.
    pub key: &'static [&'static str],
    /// Whether it lies in the project that we are in, where a repository could
    /// have written it.
    pub workspace: bool,
}

/// How long goose lets a tool take, in seconds: what it writes itself.
// tidy: a value that is written, and bounds nothing here.
const GOOSE_SECONDS: u64 = 300;

/// How a client writes the entry that starts a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `command` and `args`.
    Usual,
    /// The same with `type: stdio`.
    Typed,
    /// The same with `type: local` and `tools: ["*"]`.
    Copilot,
    /// The same with `source: custom`.
    Zed,
    /// `type: local`, and the command as one list.
    OpenCode,
    /// An extension with `cmd`.
    Goose,
    /// An item of a list, with its name in it.
    Continue,
}

/// The folders that clients' files are in.
#[derive(Clone, Debug)]
pub struct Homes {
    home: PathBuf,
    config: PathBuf,
    claude_json: PathBuf,
    /// Folders that variables name.
    moved: Vec<(&'static str, PathBuf)>,
    project: Option<PathBuf>,
}

impl Homes {
    /// Those of one run. A variable that leads into the tree that we are in does
    /// not count: what a repository brings is not the user's own.
    pub fn of(places: &Places, lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let home = places.home.clone().unwrap_or_default();
        let set = |name: &str| {
            let folder = lookup(name).filter(|value| !value.is_empty());
            let folder = folder.map(PathBuf::from).filter(|path| path.is_absolute());
            folder.filter(|folder| !places.is_inside(folder))
        };
        let moved = table::VARIABLES.iter();
        let moved = moved.filter_map(|name| Some((*name, set(name)?)));
        Self {
            config: set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            claude_json: places.claude_json.clone(),
            moved: moved.collect(),
            project: places.tree().map(Path::to_owned),
            home,
        }
    }

    /// Those of a home in which no variable says otherwise.
    pub fn at(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            config: home.join(".config"),
            claude_json: home.join(".claude.json"),
            moved: Vec::new(),
            project: None,
        }
    }

    /// With a project in which clients may have files.
    pub fn in_project(mut self, project: &Path) -> Self {
        self.project = Some(project.to_owned());
        self
    }

    /// Whether a file really lies in the project.
    fn is_of_the_project(&self, file: &Path) -> bool {
        let project = self.project.as_deref().map(Path::canonicalize);
        let (Some(Ok(project)), Ok(real)) = (project, file.canonicalize()) else {
            return false;
        };
        real.starts_with(project)
    }

    /// The project in which clients may have files.
    pub(crate) fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// Where a file can be: one place, or two where systems differ.
    fn places(&self, at: At, path: &str) -> Vec<PathBuf> {
        match at {
            At::Home => vec![self.home.join(path)],
            At::Config => vec![self.config.join(path)],
            At::ClaudeJson => vec![self.claude_json.clone()],
            At::Moved(name, usual) => {
                let moved = self.moved.iter().find(|(moved, _)| *moved == name);
                let folder = moved.map_or_else(|| self.home.join(usual), |(_, to)| to.clone());
                vec![folder.join(path)]
            }
            At::AppData => {
                let here = self.config.join(path);
                let mac = self.home.join("Library/Application Support").join(path);
                if cfg!(target_os = "macos") {
                    vec![mac, here]
                } else {
                    vec![here, mac]
                }
            }
        }
    }
}

impl Client {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.into_iter().flatten().map(Self)
    }

    /// The client of this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::all().find(|client| client.as_str() == text)
    }

    /// How the user calls it.
    pub const fn as_str(self) -> &'static str {
        self.0.word
    }

    /// How it calls itself.
    pub const fn title(self) -> &'static str {
        self.0.title
    }

    /// The entry by which it starts a program, as its file has it.
    pub fn entry(self, name: &str, program: &str, args: &[&str]) -> Value {
        let whole: Vec<&str> = [program].into_iter().chain(args.iter().copied()).collect();
        match self.0.shape {
            Shape::Usual => json!({ "command": program, "args": args }),
            Shape::Typed => json!({ "type": "stdio", "command": program, "args": args }),
            Shape::Copilot => {
                json!({ "type": "local", "command": program, "args": args, "tools": ["*"] })
            }
            Shape::Zed => json!({ "source": "custom", "command": program, "args": args }),
            Shape::OpenCode => json!({ "type": "local", "command": whole, "enabled": true }),
            Shape::Goose => json!({ "enabled": true, "type": "stdio", "name": name,
                "cmd": program, "args": args, "envs": {}, "timeout": GOOSE_SECONDS }),
            Shape::Continue => {
                json!({ "name": name, "type": "stdio", "command": program, "args": args })
            }
        }
    }

    /// What a new file of it begins with: without that the client would not read it.
    pub(crate) fn new_file(self) -> Option<&'static str> {
        let needs = self.0.shape == Shape::Continue;
        needs.then_some("name: Local Config\nversion: 1.0.0\nschema: v1\n")
    }

    /// Whether its servers are a list, with a name in each item.
    pub fn lists_servers(self) -> bool {
        self.0.shape == Shape::Continue
    }

    /// The field of an entry that switches it off, and the value that does.
    pub const fn off(self) -> Option<(&'static str, bool)> {
        self.0.off
    }

    /// What it calls the fields of a server, where that differs from most.
    pub(crate) const fn fields(self) -> &'static [table::Named] {
        self.0.fields
    }

    /// How variables are written in its texts.
    pub(crate) const fn variables(self) -> Spelling {
        self.0.variables
    }

    /// Where else it switches servers and tools off.
    pub(crate) const fn switches(self) -> Switches {
        self.0.switches
    }

    /// The file that it is connected by: the one that is there, or the one that
    /// this system's users have.
    pub fn file(self, homes: &Homes) -> ClientFile {
        let mut own = self.candidates(homes);
        let there = own.iter().position(|file| file.path.is_file());
        own.swap_remove(there.unwrap_or_default())
    }

    /// The files by which it is connected: one, or that of each installation.
    pub fn connected_by(self, homes: &Homes) -> Vec<ClientFile> {
        if self.0.together != Together::Apart {
            return vec![self.file(homes)];
        }
        let each = self.candidates(homes).into_iter();
        let there: Vec<ClientFile> = each.filter(|file| file.path.is_file()).collect();
        match there.is_empty() {
            true => vec![self.file(homes)],
            false => there,
        }
    }

    /// Whether all of the user's own files count at once.
    pub fn reads_all(self) -> bool {
        self.0.together == Together::All
    }

    /// Whether the client seems to be on this machine: its file or its folder is
    /// there, or its program is on the search path.
    pub fn is_here(self, homes: &Homes, search: &std::ffi::OsStr) -> bool {
        let mut own = self.candidates(homes).into_iter();
        let near = |file: &ClientFile| {
            let folder = file.path.parent();
            file.path.is_file() || folder.is_some_and(|at| at != homes.home && at.is_dir())
        };
        let mut programs = self.0.programs.iter();
        let found = |name: &&str| std::env::split_paths(search).any(|at| at.join(name).is_file());
        own.any(|file| near(&file)) || programs.any(found)
    }

    /// The user's own files by which it can be connected, whether they are there or not.
    fn candidates(self, homes: &Homes) -> Vec<ClientFile> {
        let plain = self
            .0
            .files
            .iter()
            .filter(|(_, path, key)| !path.contains('*') && *key != CODE_SETTINGS);
        let each = plain.flat_map(|(at, path, key)| {
            let places = homes.places(*at, path).into_iter();
            places.map(|path| ClientFile {
                workspace: homes.is_of_the_project(&path),
                path,
                key,
            })
        });
        each.collect()
    }

    /// Its files that can be read: the user's own, the one that counts most first,
    /// then those of the project.
    pub fn files(self, homes: &Homes) -> Vec<ClientFile> {
        let mut found: Vec<ClientFile> = Vec::new();
        for (at, path, key) in self.0.files {
            for path in homes.places(*at, path).into_iter().flat_map(matching) {
                // A link may lead into the project: then a repository could have
                // written it, wherever it is looked for.
                let workspace = homes.is_of_the_project(&path);
                found.push(ClientFile {
                    path,
                    key,
                    workspace,
                });
            }
        }
        let project = homes.project.as_deref().into_iter();
        for (folder, (path, key)) in
            project.flat_map(|folder| self.0.workspace.iter().map(move |file| (folder, file)))
        {
            for path in matching(folder.join(path)) {
                found.push(ClientFile {
                    path,
                    key,
                    workspace: true,
                });
            }
        }
        found.truncate(limits::CLIENT_FILES);
        found
    }

    /// A file of the client beside one of its files.
    pub(crate) fn beside(file: &Path, name: &str) -> PathBuf {
        file.with_file_name(name)
    }
}

/// The paths that a path with one `*` in it stands for, in order.
fn matching(path: PathBuf) -> Vec<PathBuf> {
    let text = path.display().to_string();
    let Some((before, after)) = text.split_once('*') else {
        return vec![path];
    };
    let (folder, start) = before.rsplit_once('/').unwrap_or(("", before));
    let (end, rest) = after.split_once('/').unwrap_or((after, ""));
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.take(limits::CLIENT_FOLDER).filter_map(Result::ok);
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        })
        .collect();
    names.sort();
    names.truncate(limits::CLIENT_FILES);
    let whole = |name: String| match rest {
        "" => Path::new(folder).join(name),
        rest => Path::new(folder).join(name).join(rest),
    };
    names.into_iter().map(whole).collect()
}

impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Client {}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
