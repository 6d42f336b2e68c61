//! A real MCP server for tests: every legacy revision (2024-11-05 to
//! 2025-11-25) and the modern one (2026-07-28), over stdio, HTTP and
//! WebSocket, with all
//! that the official conformance suite's server scenarios ask for.
//!
//! It is written with plain serde_json, tokio and hyper and shares no code with
//! the gateway's own crates, so that a misreading of the protocol there cannot
//! cancel itself out here.
//!
//! A message's path: a transport (`stdio`, `http`, `ws`) reads it and decides its
//! era; `legacy` or `modern` turn it into an [`exchange::Exchange`]; `methods`
//! answers it from `tools`, `prompts` and `resources`, which are the same for
//! both eras.

#![allow(unreachable_pub, reason = "a program has no outside")]
#![allow(
    clippy::print_stderr,
    reason = "a development tool: the address it listens on goes to stderr"
)]
#![allow(
    clippy::result_large_err,
    reason = "refusals are rare here, and clearer unboxed"
)]

mod asks;
mod changes;
mod clock;
mod conversation;
mod event_stream;
mod exchange;
mod http;
mod in_flight;
mod legacy;
mod log_level;
mod methods;
mod modern;
mod outlet;
mod prompts;
mod resources;
mod revision;
mod rpc;
mod seal;
mod server;
mod session;
mod stdio;
mod tasks;
mod tools;
mod ws;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::{ArgGroup, Parser, ValueEnum};

use crate::server::{Options, Server};

/// The conformance fixture server.
#[derive(Parser)]
#[command(name = "conformance-server", group = ArgGroup::new("transport").required(true))]
struct Args {
    /// Speak over stdin and stdout.
    #[arg(long, group = "transport")]
    stdio: bool,
    /// Listen on 127.0.0.1:PORT (0 picks a free one); the endpoint is /mcp.
    #[arg(long, group = "transport", value_name = "PORT")]
    http: Option<u16>,
    /// Serve WebSocket at ws://127.0.0.1:PORT/.
    #[arg(long, group = "transport", value_name = "PORT")]
    ws: Option<u16>,
    /// Which protocol eras to serve.
    #[arg(long, value_enum, default_value_t = EraArg::Both)]
    era: EraArg,
    /// Split lists into pages of this many items (0: one page).
    #[arg(long, default_value_t = 0, value_name = "N")]
    page_size: usize,
    /// Answer every HTTP request with an event stream, even where the result
    /// is there at once.
    #[arg(long)]
    always_stream: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum EraArg {
    Legacy,
    Modern,
    Both,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let server = Arc::new(Server::new(Options {
        legacy: !matches!(args.era, EraArg::Modern),
        modern: !matches!(args.era, EraArg::Legacy),
        page_size: args.page_size,
        always_stream: args.always_stream,
    }));
    let transport = async {
        match (args.http, args.ws) {
            (Some(port), _) => http::serve(Arc::clone(&server), port).await,
            (None, Some(port)) => ws::serve(Arc::clone(&server), port).await,
            (None, None) => stdio::serve(Arc::clone(&server)).await,
        }
    };
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let outcome = tokio::select! {
        outcome = transport => outcome,
        _ = terminate.recv() => {
            server.changes.close_all().await;
            Ok(())
        }
    };
    if let Err(error) = outcome {
        eprintln!("conformance-server: {error:#}");
        std::process::exit(1);
    }
    // Not a plain return: the runtime would wait for the thread that is still
    // blocked in a read of stdin.
    std::process::exit(0);
}

/// Locks without the ceremony: a panic elsewhere must not silence the fixture.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
