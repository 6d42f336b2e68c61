//! A stdio MCP server that behaves well until its mode strikes.
//!
//! The tool `ok` always works and `stats` tells what the server saw; `strike`
//! is where the modes of calls happen. `--list-modes` lists them all, with the
//! row of `docs/design/faults.md` that each belongs to.
//!
//! - `modes.rs`: the table
//! - `server.rs`: the well-behaved part, and where modes of the start strike
//! - `lists.rs`: `tools/list` by mode
//! - `strikes.rs`: the tool `strike` by mode

#![allow(unreachable_pub, reason = "a program has no outside")]
#![allow(
    clippy::exit,
    clippy::mem_forget,
    reason = "it is there to behave badly"
)]

mod lists;
mod modes;
mod server;
mod strikes;

use clap::Parser;

/// A stdio MCP server that misbehaves in one way.
#[derive(Parser)]
pub struct Args {
    /// How to misbehave.
    #[arg(long, default_value = "none")]
    pub mode: String,
    /// The most bytes, items or messages that an endless mode produces.
    #[arg(long)]
    pub limit: Option<u64>,
    /// Milliseconds, for the modes that wait.
    #[arg(long, default_value_t = 500)]
    pub delay: u64,
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
    server::run(args)
}
