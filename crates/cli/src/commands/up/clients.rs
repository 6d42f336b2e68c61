//! How clients are connected: an entry in their file, which starts this program
//! and holds no secret. Only clients that cannot start a program are given a
//! token, in a file that nobody else can read.

use crate::{
    commands::add::failed,
    failure::Failure,
    show::{diff, out, safe, term},
};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};
use switchboard::{
    Dirs,
    config::{
        Places,
        clients::{Client, Homes},
        edit::{self, Target},
    },
    gateway::ClientToken,
    local::secret,
    tokens::{self, TokenError},
};

/// Our name in their files.
const NAME: &str = "switchboard";
/// How they start this program: for what the running gateway has, wherever that is.
const ARGUMENTS: [&str; 2] = ["serve", "--gateway"];

/// Clients whose file we can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Writable {
    /// Claude Code
    ClaudeCode,
    /// Claude Desktop
    ClaudeDesktop,
    /// Cursor
    Cursor,
    /// VS Code
    #[value(name = "vscode")]
    VsCode,
    /// Codex
    Codex,
    /// A file of our own with address and token, for clients that speak HTTP only
    Http,
}

impl Writable {
    const ALL: [Self; 6] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::Codex,
        Self::Http,
    ];

    fn client(self) -> Option<Client> {
        match self {
            Self::ClaudeCode => Client::parse("claude-code"),
            Self::ClaudeDesktop => Client::parse("claude-desktop"),
            Self::Cursor => Client::parse("cursor"),
            Self::VsCode => Client::parse("vscode"),
            Self::Codex => Client::parse("codex"),
            Self::Http => None,
        }
    }

    fn word(self) -> &'static str {
        self.client().map_or("http", Client::as_str)
    }
}

/// The entries of one gateway.
pub struct Entries {
    home: PathBuf,
    token: ClientToken,
    token_file: PathBuf,
    all: Vec<Entry>,
}

struct Entry {
    who: Writable,
    file: PathBuf,
    /// As its file has it.
    value: Value,
}

impl Entries {
    /// The entries for a gateway at this address.
    pub fn new(
        base: &str,
        token: ClientToken,
        dirs: &Dirs,
        places: &Places,
    ) -> Result<Self, TokenError> {
        let home = places.home.clone().unwrap_or_default();
        let mut all = Vec::new();
        for who in Writable::ALL {
            let program = json!({ "command": program(), "args": ARGUMENTS });
            let (file, value) = match who {
                Writable::ClaudeCode => (places.claude_json.clone(), program),
                Writable::Http => (dirs.data.join("http.json"), over_http(base, &token, dirs)?),
                _ => {
                    let homes = Homes::at(&home);
                    let file = who.client().map(|client| client.file(&homes).path);
                    (file.unwrap_or_default(), program)
                }
            };
            all.push(Entry { who, file, value });
        }
        Ok(Self {
            home,
            token,
            token_file: tokens::client_file(dirs),
            all,
        })
    }

    /// Says how a client is connected. The token only if that is wanted, and only
    /// to a person: what is not a terminal is a file, a journal, another program.
    pub fn show(&self, show_token: bool) -> Result<(), Failure> {
        let paint = term::stdout();
        let title = "Connect a client: switchboard up --write CLIENT adds Switchboard to its file";
        out::line(&format!("\n{}", paint.bold(title)))?;
        for entry in &self.all {
            let file = self.shown(&entry.file);
            let only = match entry.who {
                Writable::Http => ", for clients that speak HTTP only",
                _ => "",
            };
            out::line(&format!("  {:<16} {file}{only}", entry.who.word()))?;
        }
        out::line(&format!("\n{}", paint.bold("Or by hand")))?;
        let line = [program()].into_iter().chain(ARGUMENTS.map(String::from));
        let line = line.collect::<Vec<_>>().join(" ");
        out::line(&format!(
            "  {:<16} claude mcp add --scope user {NAME} -- {}",
            "Claude Code",
            safe::line(&line)
        ))?;
        out::line(&format!("  {:<16} {}", "other programs", safe::line(&line)))?;
        let file = self.shown(&self.token_file);
        out::line(&format!("  {:<16} the token is in {file}", "over HTTP"))?;
        match show_token {
            false => Ok(()),
            true if std::io::stdout().is_terminal() => {
                out::line(&format!("  {:<16} {}", "the token", self.token.secret))
            }
            true => {
                let why = "--show-token shows the token on a terminal, and this is none";
                out::line(&format!("  {:<16} {why}", "the token"))
            }
        }
    }

    /// Writes one, after showing what changes, and from then on keeps the file
    /// to its owner.
    pub fn write(&self, who: Writable) -> Result<(), Failure> {
        let Some(entry) = self.all.iter().find(|entry| entry.who == who) else {
            return Ok(());
        };
        let file = self.shown(&entry.file);
        let mut shown = Ok(());
        let mut same = false;
        let seen = |before: &str, after: &str| {
            same = before == after;
            shown = out::line(&format!("\n{file}")).and_then(|()| {
                // Whoever looks over a shoulder, or reads a log, learns no secret:
                // neither ours nor one that was in the file before.
                let (before, after) = (secret::command_text(before), secret::command_text(after));
                let lines = diff::lines(&before, &after);
                lines.iter().try_for_each(|line| out::line(line))
            });
        };
        let target = Target::private(&entry.file);
        let key = match who {
            Writable::VsCode => "servers",
            Writable::Codex => "mcp_servers",
            _ => "mcpServers",
        };
        let written = match who {
            Writable::Codex => {
                let table = format!("{key}.{NAME}");
                edit::put_toml_seen(&target, &table, &toml(&entry.value), seen)
            }
            _ => edit::put_seen(&target, &[key], NAME, &entry.value, seen),
        };
        written.map_err(|error| failed(&error))?;
        shown?;
        let said = if same { "has it already" } else { "written" };
        out::line(&format!("{said}: {file}"))
    }

    /// A path as people write it.
    fn shown(&self, file: &Path) -> String {
        match file.strip_prefix(&self.home) {
            Ok(rest) => safe::line(&format!("~/{}", rest.display())),
            Err(_) => safe::line(&file.display().to_string()),
        }
    }
}

/// The entry for a client that can do nothing but HTTP. It has a key of its own,
/// which says who it is; the key is kept, so that it stays the same.
fn over_http(base: &str, token: &ClientToken, dirs: &Dirs) -> Result<Value, TokenError> {
    let key = tokens::client_key(dirs, "http")?;
    let authorization = format!("Bearer {}", token.secret);
    Ok(json!({
        "type": "http",
        "url": format!("{base}/mcp/@{key}"),
        "headers": { "Authorization": authorization },
    }))
}

/// The members of an entry as lines of TOML. They hold texts and lists of texts,
/// whose JSON spelling TOML reads the same way.
fn toml(value: &Value) -> String {
    let fields = value.as_object().into_iter().flatten();
    fields
        .map(|(key, value)| format!("{key} = {value}\n"))
        .collect()
}

/// This program, for clients that start it.
fn program() -> String {
    let path = std::env::current_exe().ok();
    path.map_or_else(|| NAME.to_owned(), |path| path.display().to_string())
}
