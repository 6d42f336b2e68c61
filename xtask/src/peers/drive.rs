//! How a client is made to list and call: by a script that uses it as a library, by its
//! own commands, or as a pipe that our smallest client speaks through.

use super::clients::{Client, Drive, Way};
use super::package::{Package, Registry};
use super::row::{Outcome, Row};
use super::rpc::{self, Stdio};
use super::scene::{Scene, last_words};
use super::{agents, model::Model};
use crate::process::run_logged;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long one program of a client may take.
const PATIENCE: Duration = Duration::from_secs(150);
/// The tool that is called: one of a server that is the same for every client.
pub const TOOL: &str = "memory__search_nodes";
/// What it answers.
pub const ANSWER: &str = "hello from memory";

/// Where clients are pointed.
pub struct Target {
    /// A gateway's address.
    pub url: String,
    /// What lets clients in there.
    pub token: String,
    /// A file of servers, for those who start `switchboard serve`.
    pub config: PathBuf,
    /// What is special about it, for rows and folders.
    pub suffix: &'static str,
    /// How many tools the gateway has.
    pub at_gateway: usize,
    /// How many the file's servers have.
    pub in_file: usize,
}

impl Target {
    fn named(&self, client: &str) -> String {
        format!("{client}{}", self.suffix)
    }

    fn tools(&self, way: Way) -> usize {
        match way {
            Way::Http => self.at_gateway,
            Way::Stdio => self.in_file,
        }
    }
}

/// What a client is tried in.
pub struct Stage<'a> {
    pub scene: &'a Scene,
    pub target: &'a Target,
    pub client: &'a Client,
    pub way: Way,
    /// A folder of this client's own, which is its home, too.
    pub folder: PathBuf,
}

/// What a client saw.
pub struct Saw {
    /// How many tools; none where it has no way to say.
    pub tools: Option<usize>,
    pub said: String,
}

/// The program and arguments of the server that a client starts by itself.
fn serve(scene: &Scene, target: &Target) -> (String, Vec<String>) {
    let config = target.config.display().to_string();
    let only = ["--strict-mcp-config", "--mcp-config", &config];
    let args = [&["serve", "--direct"][..], &only].concat();
    let program = scene.switchboard.display().to_string();
    (program, args.into_iter().map(str::to_owned).collect())
}

/// How many tools that server has.
pub fn own_list(scene: &Scene, target: &Target) -> Result<usize> {
    let (program, args) = serve(scene, target);
    let mut command = scene.command(program);
    command.args(args).current_dir(&scene.home);
    let there = Stdio::start(&mut command, &scene.scratch.join("own.log"))?;
    Ok(rpc::Client::connect(there, PATIENCE)?.tools()?.len())
}

impl Stage<'_> {
    /// The program and arguments of the server that a client starts by itself.
    pub fn serve(&self) -> (String, Vec<String>) {
        serve(self.scene, self.target)
    }

    /// An entry in the form that most clients have; `kind` where it has to be named.
    pub fn entry(&self, kind: Option<&str>) -> Value {
        let (command, args) = self.serve();
        let mut entry = match self.way {
            Way::Stdio => json!({"command": command, "args": args, "env": self.env()}),
            Way::Http => json!({"url": self.target.url, "headers": self.headers()}),
        };
        if let (Some(kind), Some(entry)) = (kind, entry.as_object_mut()) {
            entry.insert("type".into(), json!(kind));
        }
        entry
    }

    /// The header that lets a client in.
    pub fn headers(&self) -> Value {
        json!({"Authorization": format!("Bearer {}", self.target.token)})
    }

    /// What a server that a client starts has to know.
    pub fn env(&self) -> Value {
        json!({
            "PATH": self.scene.path.to_string_lossy(),
            "HOME": self.folder,
        })
    }

    /// What the tool is given.
    pub fn arguments(&self) -> Value {
        json!({"query": "peers"})
    }

    /// A program of the client's package, in its own folder.
    pub fn command(&self, program: &str) -> Result<Command> {
        let program = self.scene.program(&self.client.package, program)?;
        let mut command = self.scene.command(program);
        command.env("HOME", &self.folder).current_dir(&self.folder);
        Ok(command)
    }

    /// Writes a file of the client's own; folders above it are made.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let file = self.folder.join(name);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&file, text)?;
        Ok(file)
    }

    /// Runs a command to its end and returns all that it printed.
    pub fn output(&self, command: &mut Command) -> Result<String> {
        let (out, text) = self.ended(command)?;
        match out {
            Ok(()) => Ok(text),
            Err(how) => bail!("{how}: {}", crate::process::tail(text.trim_end(), 4)),
        }
    }

    /// Runs a command to its end, however that is.
    pub fn ended(&self, command: &mut Command) -> Result<(Result<(), String>, String)> {
        let log = self.log();
        let ended = run_logged(command, &log, PATIENCE, None)?;
        let text = fs::read_to_string(&log).unwrap_or_default();
        let how = match ended.ok() {
            true => Ok(()),
            false => Err(ended.describe()),
        };
        Ok((how, text))
    }

    fn log(&self) -> PathBuf {
        self.folder.join("output.log")
    }
}

/// Tries a client by each of these ways.
pub fn run(scene: &Scene, target: &Target, client: &Client, ways: &[Way]) -> Vec<Row> {
    let ways = ways.iter();
    ways.map(|way| {
        let begun = Instant::now();
        let row = Row {
            kind: "client",
            name: target.named(client.name),
            package: client.package.title(),
            way: way.name(),
            outcome: judge(target.tools(*way), saw(scene, target, client, *way)),
            expected: client.expected,
            took: begun.elapsed(),
        };
        row.print();
        row
    })
    .collect()
}

fn judge(there: usize, saw: Result<Saw>) -> Outcome {
    let mut outcome = Outcome {
        direct: Some(there),
        ..Outcome::default()
    };
    let saw = match saw {
        Ok(saw) => saw,
        Err(error) => return outcome.failed(format!("{error:#}")),
    };
    outcome.seen = saw.tools;
    if !saw.said.contains(ANSWER) {
        return outcome.failed(format!("the call gave {}", saw.said));
    }
    outcome.call = "ok".into();
    match saw.tools.is_none_or(|tools| tools == there) {
        true => outcome,
        false => outcome.failed("another number of tools"),
    }
}

fn saw(scene: &Scene, target: &Target, client: &Client, way: Way) -> Result<Saw> {
    let folder = scene.folder(&format!("{}-{}", target.named(client.name), way.name()))?;
    let stage = Stage {
        scene,
        target,
        client,
        way,
        folder: folder.canonicalize()?,
    };
    match client.drive {
        Drive::Script { text, mode } => script(&stage, text, mode),
        Drive::Commands(commands) => commands(&stage),
        Drive::Pipe(command) => pipe(&stage, &mut command(&stage)?),
        Drive::Agent(prepare) => agent(&stage, prepare),
    }
}

/// A script that uses the client as a library and prints `tools=` and `said=`.
fn script(stage: &Stage, text: &str, mode: &str) -> Result<Saw> {
    let package: &Package = &stage.client.package;
    // No library has this name: a script must not stand in front of what it imports.
    let file = match package.registry {
        Registry::Npm => stage.write("peer.mjs", text)?,
        Registry::PyPi => stage.write("peer.py", text)?,
    };
    let mut command = match package.registry {
        Registry::Npm => {
            // A module looks for others beside itself.
            let modules = stage.folder.join("node_modules");
            if !modules.exists() {
                std::os::unix::fs::symlink(package.folder()?.join("node_modules"), modules)?;
            }
            let mut command = stage.scene.command("node");
            command
                .env("HOME", &stage.folder)
                .current_dir(&stage.folder);
            command
        }
        Registry::PyPi => {
            stage.write("given.py", include_str!("scripts/given.py"))?;
            stage.command("python")?
        }
    };
    let (program, args) = stage.serve();
    let given = json!({
        "way": stage.way.name(), "url": stage.target.url, "token": stage.target.token,
        "command": program, "args": args, "env": stage.env(),
        "tool": TOOL, "arguments": stage.arguments(), "mode": mode,
    });
    let output = stage.output(command.arg(file).env("PEERS", given.to_string()))?;
    let find = |key: &str| output.lines().find_map(|line| line.strip_prefix(key));
    Ok(Saw {
        tools: Some(find("tools=").context("it did not say how many")?.parse()?),
        said: find("said=").context("it did not say what")?.to_owned(),
    })
}

/// A program that carries messages from its stdin to us.
fn pipe(stage: &Stage, command: &mut Command) -> Result<Saw> {
    let log = stage.log();
    let look = |stdio| -> Result<Saw> {
        let mut client = rpc::Client::connect(stdio, PATIENCE)?;
        Ok(Saw {
            tools: Some(client.tools()?.len()),
            said: client.call(TOOL, &stage.arguments())?.to_string(),
        })
    };
    Stdio::start(command, &log)
        .and_then(look)
        .with_context(|| last_words(&log, 2))
}

/// An agent with a model that asks for one call. Some ask their model before their
/// servers have said what they have, with or without us: these are run once more.
fn agent(stage: &Stage, prepare: agents::Prepare) -> Result<Saw> {
    let first = agent_once(stage, prepare);
    match &first {
        Err(error) if error.is::<NoTool>() => agent_once(stage, prepare),
        _ => first,
    }
}

/// The model was shown no tool of ours.
#[derive(Debug)]
struct NoTool(String);

impl std::fmt::Display for NoTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the model was shown no tool of ours: {}", self.0)
    }
}

impl std::error::Error for NoTool {}

fn agent_once(stage: &Stage, prepare: agents::Prepare) -> Result<Saw> {
    let model = Model::start(stage.folder.join("model.log"), stage.arguments())?;
    let mut command = prepare(stage, &model.url)?;
    let (ended, text) = stage.ended(&mut command)?;
    let saw = model.saw();
    let last = crate::process::tail(text.trim_end(), 3);
    ensure!(
        saw.requests > 0,
        "it asked the model nothing ({ended:?}): {last}"
    );
    ensure!(!saw.tools.is_empty(), NoTool(last));
    let said = match saw.answered {
        true => ANSWER.to_owned(),
        false => format!("no answer ({ended:?}): {last}"),
    };
    Ok(Saw {
        tools: Some(saw.tools.len()),
        said,
    })
}

/// The number of tools in the JSON that a command printed, wherever in it they are.
pub fn count_in(text: &str) -> Result<usize> {
    let from = text.find('{').context("it printed no JSON")?;
    let mut values = serde_json::Deserializer::from_str(&text[from..]).into_iter::<Value>();
    let value = values.next().context("it printed no JSON")??;
    match find_tools(&value) {
        Some(tools) => Ok(tools.len()),
        None => bail!("it printed no tools: {}", crate::process::tail(text, 3)),
    }
}

fn find_tools(value: &Value) -> Option<&Vec<Value>> {
    match value {
        Value::Object(fields) => match fields.get("tools") {
            Some(Value::Array(tools)) => Some(tools),
            _ => fields.values().find_map(find_tools),
        },
        Value::Array(values) => values.iter().find_map(find_tools),
        _ => None,
    }
}
