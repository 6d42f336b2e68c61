//! An HTTP MCP server that behaves well until its mode strikes. It works on raw
//! sockets, so that it can send what no HTTP library would.
//!
//! The tool `ok` always works and `stats` tells what the server saw; a call of
//! `strike` is where the mode happens, or what `--on` says. `--record FILE`
//! keeps the raw bytes of every request (see `switchboard_testkit::record`), of
//! the second origin in `FILE.second`. `--list-modes` lists the modes with the
//! rows of `docs/design/faults.md` that they belong to.
//!
//! - `modes.rs`: the table
//! - `request.rs`: reading requests from a socket
//! - `server.rs`: connections, sessions, the well-behaved answers
//! - `strikes.rs`, `streams.rs`, `bomb.rs`: what the modes send

#![allow(unreachable_pub, reason = "a program has no outside")]
#![allow(clippy::large_futures, reason = "a test has few of them")]

mod bomb;
mod modes;
mod request;
mod server;
mod streams;
mod strikes;

use std::path::PathBuf;

use clap::Parser;

/// An HTTP MCP server that misbehaves in one way.
#[derive(Parser)]
pub struct Args {
    /// Serve http://127.0.0.1:PORT/mcp (0 picks a free port).
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub http: u16,
    /// How to misbehave.
    #[arg(long, default_value = "none")]
    pub mode: String,
    /// When: `strike` (a call of that tool), a method, `GET`, `DELETE` or `any`.
    #[arg(long, default_value = "strike")]
    pub on: String,
    /// Misbehave only after this many requests that fit `--on`; for
    /// `session-404` the number of requests that a session lives.
    #[arg(long, default_value_t = 0)]
    pub after: u64,
    /// Behave again after so many strikes.
    #[arg(long, default_value_t = u64::MAX)]
    pub times: u64,
    /// The most bytes or items that an endless mode sends.
    #[arg(long)]
    pub limit: Option<u64>,
    /// Milliseconds between bytes, for the modes that drip.
    #[arg(long, default_value_t = 100)]
    pub delay: u64,
    /// Where to keep the raw bytes of requests.
    #[arg(long)]
    pub record: Option<PathBuf>,
    /// legacy, modern or both.
    #[arg(long, default_value = "both")]
    pub era: String,
    /// Print the modes and stop.
    #[arg(long)]
    pub list_modes: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if args.list_modes {
        modes::print();
        return Ok(());
    }
    anyhow::ensure!(
        modes::known(&args.mode),
        "no such mode: {} (see --list-modes)",
        args.mode
    );
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?
        .block_on(server::run(args))
}
