//! A fast, well-behaved MCP server for both eras, over stdio or HTTP, and over
//! HTTP+SSE and WebSocket.
//!
//! It returns what it was given (`echo`), waits, counts, asks, notifies. It is
//! the upstream of the benchmark as well, so `echo` and `payload` take a path
//! that builds no tree (`fast.rs`).
//!
//! - `fast.rs`: the two cheap tools, written by hand
//! - `world.rs`: what outlives a request: sessions, counters, listeners
//! - `call.rs`: one request on the ordinary path, and its answer as text
//! - `methods.rs`, `tools.rs`, `catalog.rs`: what the server offers
//! - `stdio.rs`, `http.rs`: the two fast transports
//! - `channel.rs`, `sse.rs`, `ws.rs`: the others

#![allow(unreachable_pub, reason = "a program has no outside")]

mod call;
mod catalog;
mod channel;
mod fast;
mod http;
mod methods;
mod sse;
mod stdio;
mod tools;
mod world;
mod ws;

use std::sync::{Arc, atomic::Ordering};

use clap::{Parser, ValueEnum};

use crate::world::World;

/// A fast MCP server that returns what it was given.
#[derive(Parser)]
struct Args {
    /// Speak newline-delimited JSON on stdin and stdout.
    #[arg(long, conflicts_with_all = ["http", "sse", "ws"])]
    stdio: bool,
    /// Serve http://127.0.0.1:PORT/mcp (0 picks a free port).
    #[arg(long, value_name = "PORT", required_unless_present_any = ["stdio", "sse", "ws"])]
    http: Option<u16>,
    /// Serve HTTP+SSE at http://127.0.0.1:PORT/sse.
    #[arg(long, value_name = "PORT", conflicts_with = "http")]
    sse: Option<u16>,
    /// Serve WebSocket at ws://127.0.0.1:PORT/.
    #[arg(long, value_name = "PORT", conflicts_with_all = ["http", "sse"])]
    ws: Option<u16>,
    /// The revisions to speak.
    #[arg(long, value_enum, default_value_t = Eras::Both)]
    era: Eras,
    /// Delay every `echo` by a random time up to this many milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    random_delay: u64,
    /// List so many tools besides those that do something.
    #[arg(long, value_name = "N", default_value_t = 0)]
    more_tools: u64,
    /// Say that `progress`, which can write to a file, changes something.
    #[arg(long)]
    writes: bool,
    /// The name in serverInfo.
    #[arg(long, default_value = "echo-server")]
    name: String,
    /// Worker threads of the HTTP server; 1 is the cheapest per call.
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

/// Which eras the server admits to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Eras {
    /// Up to 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
    /// All of them.
    Both,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let world = Arc::new(World::new(args.era, args.random_delay, args.name));
    world.generation.store(args.more_tools, Ordering::SeqCst);
    world.writes.store(args.writes, Ordering::SeqCst);
    let runtime = if args.threads <= 1 && !args.stdio {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
    } else {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(args.threads.max(1))
            .enable_all()
            .build()?
    };
    match (args.http, args.sse, args.ws) {
        (Some(port), ..) => runtime.block_on(http::serve(world, port))?,
        (_, Some(port), _) => runtime.block_on(sse::serve(world, port))?,
        (.., Some(port)) => runtime.block_on(ws::serve(world, port))?,
        _ => stdio::serve(&world, &runtime)?,
    }
    Ok(())
}
