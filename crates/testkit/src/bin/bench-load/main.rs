//! The load of `cargo xtask bench`: clients that call one tool in a loop.
//!
//! It is written on plain sockets so that it takes little of the machine it
//! shares with what is measured. Every answer is checked: its id, and the size
//! of its text.
//!
//! - `http.rs`: one keep-alive HTTP/1.1 connection
//! - `line.rs`: such a connection or one of HTTP/2, with TLS or without
//! - `client.rs`: one MCP client on such a connection
//! - `stats.rs`: what is printed

#![allow(unreachable_pub, reason = "a program has no outside")]
#![allow(clippy::print_stdout, reason = "its result is one line of JSON")]

mod client;
mod http;
mod line;
mod stats;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use client::Client;
use stats::Stats;
use std::io::{BufRead, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Calls a tool of an MCP server over HTTP from many clients at once.
#[derive(Parser, Clone)]
struct Args {
    /// The MCP endpoint, http://HOST:PORT/PATH or https (whose certificate is not looked at)
    url: String,
    /// Clients, each with a connection (and a session) of its own
    #[arg(long, default_value_t = 1)]
    clients: usize,
    /// Size of each result's text
    #[arg(long, default_value_t = 200)]
    bytes: usize,
    /// How long to measure
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    duration_ms: u64,
    /// End each client after this many measured calls
    #[arg(long)]
    count: Option<u64>,
    /// Calls before the measurement
    #[arg(long, value_name = "MS", default_value_t = 300)]
    warmup_ms: u64,
    /// The revision to speak: 2025-11-25 or 2026-07-28
    #[arg(long, value_enum, default_value_t = Era::Legacy)]
    era: Era,
    /// The tool's name as this endpoint has it; it takes `bytes`
    #[arg(long, default_value = "payload")]
    tool: String,
    /// Arguments of the call in place of `bytes`; its result may be any text
    #[arg(long, value_name = "JSON", conflicts_with = "list")]
    arguments: Option<String>,
    /// Speak HTTP/2, each client on a connection of its own
    #[arg(long)]
    http2: bool,
    /// Open so many sessions and make no call: print `ready`, and leave them open until
    /// the end of stdin (legacy era)
    #[arg(long, value_name = "N", conflicts_with = "era")]
    sessions: Option<usize>,
    /// Ask for the first page of tools instead of calling one
    #[arg(long)]
    list: bool,
    /// Page through the list before the warm-up until it has so many tools (legacy era)
    #[arg(long, value_name = "N", conflicts_with = "era")]
    tools: Option<usize>,
    /// Begin each session at this endpoint, and call at the first (legacy era)
    #[arg(long, value_name = "URL", conflicts_with = "era")]
    opened_at: Option<String>,
    /// Accept plain JSON only, however long an answer takes
    #[arg(long)]
    json: bool,
    /// Another endpoint, for every second of the clients
    #[arg(long, value_name = "URL")]
    and_at: Option<String>,
    /// A file whose text is sent as the bearer token
    #[arg(long, value_name = "FILE")]
    token_file: Option<std::path::PathBuf>,
    /// Print `ready` after the warm-up and wait for a line on stdin before the
    /// measurement; wait for the end of stdin before disconnecting
    #[arg(long)]
    gate: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Era {
    Legacy,
    Modern,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let args = Args::parse();
    ensure!(args.clients > 0, "at least one client");
    let token = match &args.token_file {
        Some(file) => Some(
            std::fs::read_to_string(file)
                .with_context(|| format!("reading {}", file.display()))?
                .trim()
                .to_owned(),
        ),
        None => None,
    };
    let target = Arc::new(client::Target::new(&args, token.clone())?);
    let second = match &args.and_at {
        Some(url) => {
            let args = Args {
                url: url.clone(),
                ..args.clone()
            };
            Arc::new(client::Target::new(&args, token)?)
        }
        None => target.clone(),
    };
    if let Some(sessions) = args.sessions {
        return open_sessions(&target, sessions).await;
    }

    // None during the warm-up, then the end of the measurement.
    let (go, gate) = watch::channel(None);
    let (send, mut results) = mpsc::channel(args.clients.max(1));
    let (ready, mut all_ready) = mpsc::channel::<()>(args.clients.max(1));
    for nth in 0..args.clients {
        let target = [&target, &second][nth % 2].clone();
        let (args, send) = (args.clone(), send.clone());
        let (ready, gate) = (ready.clone(), gate.clone());
        tokio::spawn(async move {
            let (stats, client) = one_client(&target, &args, ready, gate).await;
            let _ = send
                .send((stats, client.map(|client| (client, target))))
                .await;
        });
    }
    drop((send, ready, gate));

    // Each client drops its `ready` when its warm-up is over.
    let _ = all_ready.recv().await;
    if args.gate {
        println!("ready");
        wait_for_line().await?;
    }
    let started = Instant::now();
    let until = started + Duration::from_millis(args.duration_ms);
    go.send_replace(Some(until));

    let mut stats = Stats::default();
    let mut left = Vec::with_capacity(args.clients);
    while let Some((part, client)) = results.recv().await {
        stats.add(part);
        left.extend(client);
        if stats.clients == args.clients {
            break;
        }
    }
    println!("{}", stats.json(&args, started.elapsed()));
    if args.gate {
        wait_for_end().await?;
    }
    // Side by side: where each takes long, all of them do not take longer.
    let mut leaving = JoinSet::new();
    for (mut client, target) in left {
        leaving.spawn(async move { client.disconnect(&target).await });
    }
    leaving.join_all().await;
    Ok(())
}

/// Opens sessions on a few connections, and keeps them.
async fn open_sessions(target: &Arc<client::Target>, sessions: usize) -> Result<()> {
    const CONNECTIONS: usize = 8;
    let mut opening = JoinSet::new();
    for nth in 0..CONNECTIONS {
        let (target, its) = (target.clone(), (sessions + nth) / CONNECTIONS);
        opening.spawn(async move {
            let mut client = Client::connect(&target).await?;
            for _ in 1..its {
                client.begin_another(&target).await?;
            }
            anyhow::Ok(client)
        });
    }
    let mut open = Vec::new();
    while let Some(client) = opening.join_next().await {
        open.push(client??);
    }
    println!("ready");
    wait_for_end().await
}

/// One client's life up to the end of the measurement. The connection is
/// handed back so that closing it is not part of what is measured.
async fn one_client(
    target: &client::Target,
    args: &Args,
    ready: mpsc::Sender<()>,
    mut gate: watch::Receiver<Option<Instant>>,
) -> (Stats, Option<Client>) {
    let mut stats = Stats::one();
    let mut client = match Client::connect(target).await {
        Ok(client) => client,
        Err(error) => {
            stats.error(&error);
            return (stats, None);
        }
    };
    if let Some(tools) = args.tools
        && let Err(error) = client.wait_for_tools(target, tools).await
    {
        stats.error(&error);
        return (stats, None);
    }
    let warm = Instant::now() + Duration::from_millis(args.warmup_ms);
    while Instant::now() < warm {
        if let Err(error) = client.call(target).await {
            stats.error(&error);
            return (stats, None);
        }
    }
    drop(ready);
    let until = loop {
        if let Some(until) = *gate.borrow_and_update() {
            break until;
        }
        if gate.changed().await.is_err() {
            return (stats, None);
        }
    };
    let mut now = Instant::now();
    while now < until
        && args
            .count
            .is_none_or(|count| (stats.calls() as u64) < count)
    {
        if let Err(error) = client.call(target).await {
            stats.error(&error);
            return (stats, None);
        }
        let done = Instant::now();
        stats.call(done - now);
        now = done;
    }
    (stats, Some(client))
}

async fn wait_for_line() -> Result<()> {
    tokio::task::spawn_blocking(|| std::io::stdin().lock().read_line(&mut String::new()))
        .await?
        .context("reading stdin")?;
    Ok(())
}

async fn wait_for_end() -> Result<()> {
    tokio::task::spawn_blocking(|| std::io::stdin().lock().read_to_end(&mut Vec::new()))
        .await?
        .context("reading stdin")?;
    Ok(())
}
