//! What to paste into which client, or to write there.

use crate::{
    commands::add::failed,
    failure::Failure,
    show::{diff, out, safe, term},
};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use switchboard::{
    Dirs,
    config::{
        Places,
        edit::{self, Target},
        import::Client,
    },
    gateway::ClientToken,
    tokens::{self, TokenError},
};

/// Our name in their files.
const NAME: &str = "switchboard";

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
}

impl Writable {
    const ALL: [Self; 5] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::Codex,
    ];

    const fn client(self) -> Client {
        match self {
            Self::ClaudeCode => Client::ClaudeCode,
            Self::ClaudeDesktop => Client::ClaudeDesktop,
            Self::Cursor => Client::Cursor,
            Self::VsCode => Client::VsCode,
            Self::Codex => Client::Codex,
        }
    }
}

/// The entries of one gateway.
pub struct Entries {
    home: PathBuf,
    all: Vec<Entry>,
}

struct Entry {
    who: Writable,
    file: PathBuf,
    /// As its file has it.
    value: Value,
}

impl Entries {
    /// The entries for a gateway at this address. Each client has a key of its
    /// own, which says who it is; it is kept, so that it stays the same.
    pub fn new(
        base: &str,
        token: &ClientToken,
        dirs: &Dirs,
        places: &Places,
    ) -> Result<Self, TokenError> {
        let home = places.home.clone().unwrap_or_default();
        let mut all = Vec::new();
        for who in Writable::ALL {
            let client = who.client();
            let key = tokens::client_key(dirs, client.as_str())?;
            let url = format!("{base}/mcp/@{key}");
            let authorization = format!("Bearer {}", token.secret);
            let headers = json!({ "Authorization": authorization });
            let value = match who {
                Writable::ClaudeDesktop => json!({ "command": program(), "args": ["serve"] }),
                Writable::Cursor => json!({ "url": url, "headers": headers }),
                Writable::Codex => json!({ "url": url, "http_headers": headers }),
                Writable::ClaudeCode | Writable::VsCode => {
                    json!({ "type": "http", "url": url, "headers": headers })
                }
            };
            let file = match who {
                Writable::ClaudeCode => places.claude_json.clone(),
                _ => client.file(&home),
            };
            all.push(Entry { who, file, value });
        }
        Ok(Self { home, all })
    }

    /// Shows all of them.
    pub fn show(&self) -> Result<(), Failure> {
        let paint = term::stdout();
        for entry in &self.all {
            let client = entry.who.client();
            let title = paint.bold(client.title());
            if entry.who == Writable::ClaudeCode {
                out::line(&format!("\n{title}"))?;
                let value = &entry.value;
                out::line(&format!(
                    "  claude mcp add-json --scope user {NAME} '{value}'"
                ))?;
                continue;
            }
            let file = self.shown(&entry.file);
            out::line(&format!("\n{title}, in {file}"))?;
            for line in entry.text().lines() {
                out::line(&format!("  {line}"))?;
            }
        }
        let hint = "\nswitchboard up --write CLIENT writes one of them: claude-code, claude-desktop,\ncursor, vscode or codex.";
        out::line(&paint.dim(hint))
    }

    /// Writes one, after showing what changes.
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
                let lines = diff::lines(before, after);
                lines.iter().try_for_each(|line| out::line(line))
            });
        };
        let target = Target::private(&entry.file);
        let client = who.client();
        let written = match who {
            Writable::Codex => {
                let table = format!("{}.{NAME}", client.key());
                edit::put_toml_seen(&target, &table, &toml(&entry.value), seen)
            }
            _ => edit::put_seen(&target, &[client.key()], NAME, &entry.value, seen),
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

impl Entry {
    /// What goes into the client's file.
    fn text(&self) -> String {
        let key = self.who.client().key();
        match self.who {
            Writable::Codex => format!("[{key}.{NAME}]\n{}", toml(&self.value)),
            _ => json!({ key: { NAME: &self.value } }).to_string(),
        }
    }
}

/// The members of an entry as lines of TOML. They hold texts and one table of
/// texts, whose JSON spelling TOML reads the same way.
fn toml(value: &Value) -> String {
    let mut lines = String::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        let value = match value {
            Value::Object(table) => {
                let pairs = table.iter().map(|(name, text)| format!("{name} = {text}"));
                format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
            }
            other => other.to_string(),
        };
        lines.push_str(&format!("{key} = {value}\n"));
    }
    lines
}

/// This program, for clients that start it.
fn program() -> String {
    let path = std::env::current_exe().ok();
    path.map_or_else(|| NAME.to_owned(), |path| path.display().to_string())
}
