//! `add` and `add-json`: a server is checked, then written.

pub mod guess;

use super::login::Store;
use crate::{
    context::{self, Context, Say, faulty},
    failure::{Code, Failure},
    life,
    show::{hidden, out, safe},
    trusting,
};
use clap::{Args, Parser, ValueEnum};
use serde_json::{Map, Value, json};
use std::path::Path;
use switchboard::config::{
    self, Entry, Places, Scope as ConfigScope, Source, Verdict,
    approval::{Binding, Store as Approvals},
    check::{self, CheckError},
    edit::{self, EditError, Target},
    trust::{self, Trust},
};

/// Options of `add`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// How the server is to be called (for an address it can be left out)
    pub name: String,
    /// Its command with arguments, or its address
    #[arg(value_name = "COMMAND|URL", trailing_var_arg = true)]
    pub target: Vec<String>,
    /// Where to keep it: for you in this project, for you everywhere, or in the project's .mcp.json
    #[arg(short, long, default_value = "local")]
    pub scope: Scope,
    /// How it is reached (found from the address otherwise)
    #[arg(short, long)]
    pub transport: Option<Transport>,
    /// A variable for the server; repeatable
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub env: Vec<String>,
    /// A header of every request; repeatable
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// Where to start it
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,
    /// How long a tool call may take, in milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,
    /// The client that the server's sign-in knows us as
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,
    /// Ask for that client's secret (or take MCP_CLIENT_SECRET), and keep it out of the file
    #[arg(long)]
    pub client_secret: bool,
    /// The port on which a sign-in comes back
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub callback_port: Option<u16>,
    /// Sign in through the enterprise's identity provider (xaaIdp in the settings)
    #[arg(long)]
    pub xaa: bool,
    /// Where to keep the client's secret
    #[arg(long, value_name = "STORE", requires = "client_secret")]
    pub token_store: Option<Store>,
}

const EXAMPLES: &str = "Examples:
  switchboard add files npx -y @modelcontextprotocol/server-filesystem .
  switchboard add -e TOKEN='${TOKEN}' tracker -- tracker-mcp --stdio
  switchboard add docs https://example.com/mcp -H 'Authorization: Bearer ${TOKEN}'";

/// Where an entry is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// For you, in this project
    Local,
    /// For you, everywhere
    User,
    /// For everybody who works on the project (.mcp.json)
    Project,
}

impl Scope {
    /// The scope in the order of precedence.
    pub fn of_config(self) -> ConfigScope {
        match self {
            Self::Local => ConfigScope::Local,
            Self::User => ConfigScope::User,
            Self::Project => ConfigScope::Project,
        }
    }
}

/// Transports that can be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    Stdio,
    #[value(alias = "streamable-http")]
    Http,
    Sse,
    Ws,
}

/// Options of `add-json`.
#[derive(Debug, Args)]
pub struct JsonOptions {
    /// How the server is to be called
    pub name: String,
    /// Its entry, such as {"command": "npx", "args": ["-y", "x"]}
    pub json: String,
    /// Where to keep it
    #[arg(short, long, default_value = "local")]
    pub scope: Scope,
}

/// Adds a server.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let options = options.clone().named()?.after_address()?;
    let entry = entry(&options)?;
    if options.client_secret {
        // First the secret: an entry without it would not work.
        keep_secret(context, &options, &entry)?;
    }
    write(context, &options.name, entry, options.scope)
}

/// Puts the client's secret into the vault, where the entry will find it.
fn keep_secret(
    context: &Context,
    options: &Options,
    entry: &Map<String, Value>,
) -> Result<(), Failure> {
    check::name(&options.name)?;
    let loaded = context.look(Say::Everything);
    let entry = context::expanded(&loaded, &parsed(&options.name, entry)?)?;
    let access = context::access(&loaded, options.token_store.map(Store::of_vault))?;
    let authority = access.authority(&entry).map_err(|faults| faulty(&faults))?;
    let secret = hidden::ask("MCP_CLIENT_SECRET", "Client secret")?;
    let kept = life::short(async |_| authority.keep_client_secret(secret).await)?;
    kept.map_err(|fault| {
        Failure::new(Code::Configuration, fault.to_string())
            .hint("to keep it in a file that only you can read: --token-store file")
    })
}

/// Adds a server from JSON.
pub fn run_json(context: &Context, options: &JsonOptions) -> Result<Code, Failure> {
    let parsed: Value = serde_json::from_str(&options.json).map_err(|error| {
        let text = format!("the entry is not JSON: {error}");
        Failure::usage(text).hint("quote it for the shell: '{\"command\": \"…\"}'")
    })?;
    let Value::Object(mut entry) = parsed else {
        return Err(
            Failure::usage("the entry must be an object, such as {\"command\": \"…\"}")
                .hint("quote it for the shell: '{\"command\": \"…\"}'"),
        );
    };
    if let Some(Value::String(kind)) = entry.get_mut("type")
        && let Some(known) = config::Transport::parse(kind)
    {
        known.as_str().clone_into(kind);
    }
    write(context, &options.name, entry, options.scope)
}

#[derive(Parser)]
struct Again {
    #[command(flatten)]
    options: Options,
}

impl Options {
    /// Options may follow an address; after a command they are the command's own.
    fn after_address(mut self) -> Result<Self, Failure> {
        let is_address = self.target[0].contains("://") && self.transport != Some(Transport::Stdio);
        if !is_address || self.target.len() == 1 {
            return Ok(self);
        }
        let rest = self.target.split_off(1);
        let words = ["add".to_owned(), self.name.clone()]
            .into_iter()
            .chain(rest)
            .chain(self.target.clone());
        let again = Again::try_parse_from(words).map_err(|error| {
            let text = error.render().to_string();
            let first = text
                .lines()
                .next()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned();
            Failure::usage(first).hint("see switchboard add --help")
        })?;
        let later = again.options;
        if later.target.len() > 1 {
            let text = format!("an address takes no arguments: {:?}", later.target[0]);
            return Err(Failure::usage(text).hint("options such as -H may follow it"));
        }
        self.env.extend(later.env);
        self.header.extend(later.header);
        if later.scope != Scope::Local {
            self.scope = later.scope;
        }
        Ok(Self {
            transport: later.transport.or(self.transport),
            cwd: later.cwd.or(self.cwd),
            timeout: later.timeout.or(self.timeout),
            client_id: later.client_id.or(self.client_id),
            callback_port: later.callback_port.or(self.callback_port),
            client_secret: later.client_secret || self.client_secret,
            xaa: later.xaa || self.xaa,
            token_store: later.token_store.or(self.token_store),
            ..self
        })
    }
}

/// The entry that the options describe.
fn entry(options: &Options) -> Result<Map<String, Value>, Failure> {
    let first = &options.target[0];
    let transport = options.transport.unwrap_or(match first.split_once("://") {
        Some(("ws" | "wss", _)) => Transport::Ws,
        Some(_) => Transport::Http,
        None => Transport::Stdio,
    });
    let pairs = |texts: &[String], check: fn(&str) -> Result<(String, String), CheckError>| {
        let pairs: Result<Map<String, Value>, CheckError> = texts
            .iter()
            .map(|text| check(text).map(|(key, value)| (key, value.into())))
            .collect();
        pairs.map_err(Failure::from)
    };
    let mut entry = Map::new();
    if transport == Transport::Stdio {
        let misplaced = !options.header.is_empty()
            || options.client_id.is_some()
            || options.client_secret
            || options.xaa
            || options.callback_port.is_some();
        if misplaced {
            return Err(Failure::usage(
                "headers and sign-in are for remote servers, and this is a command",
            )
            .hint("leave them out, or give an address instead of a command"));
        }
        entry.insert("type".into(), "stdio".into());
        entry.insert("command".into(), first.clone().into());
        entry.insert("args".into(), options.target[1..].into());
        entry.insert("env".into(), pairs(&options.env, check::variable)?.into());
        if let Some(cwd) = &options.cwd {
            entry.insert("cwd".into(), cwd.clone().into());
        }
    } else {
        if !options.env.is_empty() || options.cwd.is_some() {
            return Err(
                Failure::usage("-e and --cwd are for commands, and this is an address")
                    .hint("leave them out, or give a command instead of an address"),
            );
        }
        let (kind, schemes): (_, &[&str]) = match transport {
            Transport::Ws => ("ws", &["ws", "wss"]),
            Transport::Sse => ("sse", &["http", "https"]),
            Transport::Http | Transport::Stdio => ("http", &["http", "https"]),
        };
        check::address(first, schemes)?;
        entry.insert("type".into(), kind.into());
        entry.insert("url".into(), first.clone().into());
        let headers = pairs(&options.header, check::header)?;
        if !headers.is_empty() {
            entry.insert("headers".into(), headers.into());
        }
        if options.client_id.is_none() && (options.client_secret || options.xaa) {
            return Err(
                Failure::usage("--client-secret and --xaa need a --client-id")
                    .hint("add --client-id ID, as the server's issuer knows us"),
            );
        }
        let oauth = oauth(options);
        if !oauth.is_empty() {
            entry.insert("oauth".into(), oauth.into());
        }
    }
    entry.extend(
        options
            .timeout
            .map(|timeout| ("timeout".to_owned(), timeout.into())),
    );
    Ok(entry)
}

/// How it is signed in to.
fn oauth(options: &Options) -> Map<String, Value> {
    let mut oauth = Map::new();
    let id = options.client_id.clone();
    oauth.extend(id.map(|id| ("clientId".to_owned(), id.into())));
    let port = options.callback_port;
    oauth.extend(port.map(|port| ("callbackPort".to_owned(), port.into())));
    if options.xaa {
        oauth.insert("xaa".to_owned(), true.into());
    }
    oauth
}

/// Checks the entry as a file with it would be checked, asks policy, and writes.
fn write(
    context: &Context,
    name: &str,
    entry: Map<String, Value>,
    scope: Scope,
) -> Result<Code, Failure> {
    check::name(name)?;
    let places = context.places()?;
    let parsed = parsed(name, &entry)?;
    permitted(context, &parsed)?;
    let untrusted = untrusted(scope, &places);
    let kept = Kept::of(scope, &places);
    let path: Vec<&str> = kept.path.iter().map(String::as_str).collect();
    edit::put(&kept.target, &path, name, &Value::Object(entry), false).map_err(
        |error| match error {
            EditError::Exists { .. } => Failure::usage(format!(
                "there is a server {name:?} already in {scope} scope",
                scope = scope.of_config()
            ))
            .hint(format!(
                "remove it first: switchboard remove {name} -s {}",
                scope.of_config()
            )),
            error => failed(&error),
        },
    )?;
    if scope == Scope::Project {
        approve(context, name, &places);
    }
    out::line(&format!(
        "Added {} server {name} to {} scope: {}",
        parsed.transport,
        scope.of_config(),
        safe::line(&parsed.target())
    ))?;
    out::line(&format!(
        "File changed: {}",
        safe::line(&kept.target.file().display().to_string())
    ))?;
    if let Some(folder) = untrusted {
        trust(folder, &places, true)?;
    }
    Ok(Code::Done)
}

/// The entry, if nothing is wrong with it.
fn parsed(name: &str, entry: &Map<String, Value>) -> Result<Entry, Failure> {
    let text = json!({ "mcpServers": { name: entry } }).to_string();
    let wrong = |text: String| Failure::usage(text).hint("see switchboard add --help");
    let mut entries = config::read(&text, &Source::Ours, ConfigScope::User)
        .map_err(|fault| wrong(fault.reason()))?;
    let entry = entries
        .pop()
        .ok_or_else(|| wrong("the entry is empty".to_owned()))?;
    if !entry.faults.is_empty() {
        let texts: Vec<String> = entry.faults.iter().map(config::Fault::reason).collect();
        return Err(wrong(texts.join("\n")));
    }
    Ok(entry)
}

/// Whether policy lets the server be added.
pub fn permitted(context: &Context, entry: &Entry) -> Result<(), Failure> {
    let refused = |text: String, hint: &str| Err(Failure::new(Code::NotPermitted, text).hint(hint));
    let rule_hint = "change that rule, or ask whoever wrote it";
    let loaded = context.look(Say::Everything);
    if let Some(file) = &loaded.exclusive {
        let text = format!(
            "servers are managed by {}: none can be added",
            file.display()
        );
        return refused(text, "ask whoever administers this machine");
    }
    match loaded.policy.decide(entry) {
        Verdict::Allowed(_) => Ok(()),
        Verdict::Denied(rule) => {
            let text = format!("server {:?} is blocked by {rule}", entry.name);
            refused(text, rule_hint)
        }
        Verdict::NotAllowed(rule) => {
            let name = &entry.name;
            let text = format!("server {name:?} is not in the list of allowed servers ({rule})");
            refused(text, rule_hint)
        }
    }
}

/// What the user typed needs no further word of theirs.
fn approve(context: &Context, name: &str, places: &Places) {
    let loaded = context.look(Say::Everything);
    let file = places.project().join(".mcp.json");
    let added = loaded
        .servers
        .iter()
        .find(|server| server.entry.name == name && server.entry.source.file() == Some(&file));
    if let Some(server) = added {
        let yes = [(Binding::of(&server.entry, places), true)];
        // Without it the server merely waits.
        let _ = Approvals::decide(&places.approvals(), &yes);
    }
}

/// The folder that this scope is about, if it is not trusted yet. Home is by
/// itself, and all that lies in it is not meant.
pub fn untrusted(scope: Scope, places: &Places) -> Option<&Path> {
    let trusted = || matches!(trust::judge(places).0, Trust::Trusted(_));
    let folder = places.tree().filter(|_| scope != Scope::User)?;
    (!trusted()).then_some(folder)
}

/// Who gives a folder servers works there: it is trusted from now on.
pub fn trust(folder: &Path, places: &Places, told: bool) -> Result<(), Failure> {
    trust::Store::say(places, folder, true).map_err(|error| trusting::failed(&error))?;
    if !told {
        return Ok(());
    }
    out::line(&format!(
        "Trusted folder: {0} (your servers start in it; switchboard untrust {0} changes that)",
        safe::line(&trust::quoted(folder))
    ))
}

/// Where entries of a scope are kept.
pub struct Kept {
    /// The file.
    pub target: Target,
    /// The object in it.
    pub path: Vec<String>,
}

impl Kept {
    /// The file and key of a scope.
    pub fn of(scope: Scope, places: &Places) -> Self {
        let ours = Target::private(&places.settings());
        let servers = "mcpServers".to_owned();
        match scope {
            Scope::User => Self {
                target: ours,
                path: vec![servers],
            },
            Scope::Local => {
                let project = places.project().display().to_string();
                Self {
                    target: ours,
                    path: vec!["projects".to_owned(), project, servers],
                }
            }
            Scope::Project => {
                let project = places.project();
                Self {
                    target: Target::project(&project.join(".mcp.json"), project),
                    path: vec![servers],
                }
            }
        }
    }
}

/// The failure that an edit is.
pub fn failed(error: &EditError) -> Failure {
    Failure::new(Code::Configuration, error.to_string()).hint(error.hint())
}
