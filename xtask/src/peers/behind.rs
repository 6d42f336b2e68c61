//! Servers behind one gateway, each compared with the same server asked directly.

use super::row::{Outcome, Row};
use super::rpc::{Client, Http, Stdio};
use super::scene::{Scene, last_words};
use super::servers::Server;
use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a server may take for one answer; some read for half a minute before.
pub const ANSWER: Duration = Duration::from_secs(120);

/// What a server shows and says.
struct Seen {
    tools: Vec<String>,
    call: Option<Value>,
}

/// Asks each server directly and then through one gateway that has all of them.
pub fn run(scene: &Scene, servers: &[&Server]) -> Result<Vec<Row>> {
    let mut direct = Vec::new();
    for server in servers {
        eprintln!("peers: {} directly", server.name);
        direct.push(directly(scene, server));
    }
    let mut entries = Map::new();
    for server in servers {
        // One that is not installed is missing here, and its row says why.
        if let Ok(entry) = entry(scene, server) {
            entries.insert(server.name.into(), entry);
        }
    }
    let (gateway, token) = scene.gateway("servers", &Value::Object(entries))?;
    let mut rows = Vec::new();
    for (server, direct) in servers.iter().zip(direct) {
        let begun = Instant::now();
        let url = format!("{}/mcp/{}", gateway.url, server.name);
        let there = Http::new(&url, &token);
        let through = Client::connect(there, ANSWER).and_then(|it| look(scene, server, it));
        let outcome = judge(server, direct, through);
        let row = Row {
            kind: "server",
            name: server.name.into(),
            package: server.package.title(),
            way: "stdio → HTTP",
            outcome,
            expected: server.expected,
            took: begun.elapsed(),
        };
        row.print();
        rows.push(row);
    }
    Ok(rows)
}

/// The server's entry, as the gateway's file has it.
pub fn entry(scene: &Scene, server: &Server) -> Result<Value> {
    let args: Vec<String> = server.args.iter().map(|arg| scene.filled(arg)).collect();
    let env: Map<String, Value> = variables(scene, server)
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    let program = scene.program(&server.package, server.program)?;
    Ok(json!({"command": program, "args": args, "env": env}))
}

fn variables(scene: &Scene, server: &Server) -> impl Iterator<Item = (&'static str, String)> {
    let env = server.env.iter();
    env.map(|(name, value)| (*name, scene.filled(value)))
}

fn directly(scene: &Scene, server: &Server) -> Result<Seen> {
    let mut command: Command = scene.command(scene.program(&server.package, server.program)?);
    command
        .args(server.args.iter().map(|arg| scene.filled(arg)))
        .envs(variables(scene, server));
    let log = scene.scratch.join(format!("{}.direct.log", server.name));
    let there = Stdio::start(&mut command, &log)?;
    Client::connect(there, ANSWER)
        .and_then(|it| look(scene, server, it))
        .with_context(|| last_words(&log, 1))
}

fn look(
    scene: &Scene,
    server: &Server,
    mut client: Client<impl super::rpc::Carrier>,
) -> Result<Seen> {
    let tools = client.tools()?;
    let call = match &server.call {
        Some(call) => {
            let arguments = serde_json::from_str(&scene.filled(call.arguments))?;
            Some(client.call(call.tool, &arguments)?)
        }
        None => None,
    };
    Ok(Seen { tools, call })
}

fn judge(server: &Server, direct: Result<Seen>, through: Result<Seen>) -> Outcome {
    let mut outcome = Outcome::default();
    let direct = match direct {
        Ok(direct) => direct,
        Err(error) => return outcome.failed(format!("directly: {error:#}")),
    };
    outcome.direct = Some(direct.tools.len());
    let through = match through {
        Ok(through) => through,
        Err(error) => return outcome.failed(format!("{error:#}")),
    };
    outcome.seen = Some(through.tools.len());
    if let Err(error) = same(server, &direct, &through) {
        return outcome.failed(format!("{error:#}"));
    }
    outcome.call = match &server.call {
        Some(call) => format!("{}: same", call.tool),
        None => "list only".into(),
    };
    outcome
}

fn same(server: &Server, direct: &Seen, through: &Seen) -> Result<()> {
    let lost: Vec<_> = direct
        .tools
        .iter()
        .filter(|tool| !through.tools.contains(tool))
        .collect();
    ensure!(lost.is_empty(), "lost: {lost:?}");
    let more: Vec<_> = through
        .tools
        .iter()
        .filter(|tool| !direct.tools.contains(tool))
        .collect();
    ensure!(more.is_empty(), "only through the gateway: {more:?}");
    if let (Some(call), Some(one), Some(two)) = (&server.call, &direct.call, &through.call) {
        ensure!(
            one.to_string().contains(call.says),
            "directly {} gave {one}",
            call.tool
        );
        ensure!(one == two, "{} gave {two}, directly {one}", call.tool);
    }
    Ok(())
}
