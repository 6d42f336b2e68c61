//! How clients are connected: an entry in their file, which starts this program
//! and holds no secret. Only clients that cannot start a program are given a
//! token, in a file that nobody else can read.

use super::unusable;
use crate::{
    commands::{
        add::failed,
        connect::{ARGUMENTS, Ground, Plan, Wanted, difference, program},
        import::homes,
    },
    context::Context,
    failure::Failure,
    show::{out, safe, term},
};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};
use switchboard::{
    Dirs,
    config::{
        clients::{Client, Homes},
        connect::NAME,
        edit::{self, Target},
    },
    gateway::ClientToken,
    tokens::{self, TokenError},
};

/// The word for a client that cannot start a program.
const HTTP: &str = "http";

/// Clients that are named when `up` starts.
const NAMED: [&str; 5] = ["claude-code", "claude-desktop", "cursor", "vscode", "codex"];

/// Whose file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writable {
    /// A client's, with an entry that starts this program.
    Client(Client),
    /// A file of our own with address and token, for clients that speak HTTP only.
    Http,
}

/// The names of clients, so that shells can complete them.
pub fn writable() -> impl TypedValueParser<Value = Writable> {
    let names = Client::all().map(Client::as_str).chain([HTTP]);
    PossibleValuesParser::new(names)
        .map(|name| Client::parse(&name).map_or(Writable::Http, Writable::Client))
}

/// How clients are connected to one gateway.
pub struct Entries {
    homes: Homes,
    home: PathBuf,
    token: ClientToken,
    token_file: PathBuf,
    /// The file for clients that speak HTTP only, and the entry in it.
    http: (PathBuf, Value),
}

impl Entries {
    /// For a gateway at this address.
    pub fn new(base: &str, token: ClientToken, context: &Context) -> Result<Self, Failure> {
        let dirs = context.dirs()?;
        let entry = over_http(base, &token, &dirs).map_err(unusable)?;
        Ok(Self {
            homes: homes(context)?,
            home: context.places()?.home.unwrap_or_default(),
            token,
            token_file: tokens::client_file(&dirs),
            http: (dirs.data.join("http.json"), entry),
        })
    }

    /// Says how a client is connected. The token only if that is wanted, and only
    /// to a person: what is not a terminal is a file, a journal, another program.
    pub fn show(&self, show_token: bool) -> Result<(), Failure> {
        let paint = term::stdout();
        let title = "Connect a client: switchboard connect CLIENT adds Switchboard to its file";
        out::line(&format!("\n{}", paint.bold(title)))?;
        for client in NAMED.into_iter().filter_map(Client::parse) {
            let file = self.shown(&client.file(&self.homes).path);
            out::item(client.as_str(), &file)?;
        }
        let others = Client::all().count() - NAMED.len();
        let others = format!("{others} more: switchboard connect shows which are here");
        out::item("and", &others)?;
        let http = self.shown(&self.http.0);
        let only = "for clients that speak HTTP only: switchboard up --write http";
        out::item(HTTP, &format!("{http}, {only}"))?;
        out::line(&format!("\n{}", paint.bold("Or by hand")))?;
        let line = [program()].into_iter().chain(ARGUMENTS.map(String::from));
        let line = line.collect::<Vec<_>>().join(" ");
        let line = safe::line(&line);
        let add = format!("claude mcp add --scope user {NAME} -- {line}");
        out::command("Claude Code", &add)?;
        out::command("other programs", &line)?;
        let file = self.shown(&self.token_file);
        out::item("over HTTP", &format!("the token is in {file}"))?;
        match show_token {
            false => Ok(()),
            true if std::io::stdout().is_terminal() => out::item("the token", &self.token.secret),
            true => {
                let why = "--show-token shows the token on a terminal, and this is none";
                out::item("the token", why)
            }
        }
    }

    /// Writes one, after showing what changes.
    pub fn write(&self, context: &Context, who: Writable) -> Result<(), Failure> {
        match who {
            Writable::Http => self.write_http(),
            Writable::Client(client) => {
                let ground = Ground::new(context)?;
                let plan = Plan::new(&ground, client, Wanted::Entry)?;
                plan.show(&ground)?;
                plan.write(&ground)?;
                plan.tell(&ground, true)
            }
        }
    }

    /// Writes the file with the token, which is its owner's alone.
    fn write_http(&self) -> Result<(), Failure> {
        let (path, entry) = &self.http;
        let file = self.shown(path);
        let mut shown = Ok(());
        let mut same = false;
        let seen = |before: &str, after: &str| {
            same = before == after;
            let title = out::line(&format!("\n{file}"));
            shown = title.and_then(|()| difference(before, after));
        };
        let target = Target::private(path);
        edit::put_seen(&target, &["mcpServers"], NAME, entry, seen)
            .map_err(|error| failed(&error))?;
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
