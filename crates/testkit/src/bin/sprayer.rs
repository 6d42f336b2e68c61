//! A load balancer that sends each request to any of several places.
//!
//! It says `listening on http://127.0.0.1:PORT/mcp` on stderr.

use std::io;
use std::net::SocketAddr;

use clap::Parser;
use switchboard_testkit::{serve, spray::spray};
use tokio::net::TcpListener;

/// A load balancer that sends each request to any of several places.
#[derive(Parser)]
struct Args {
    /// The port to listen on (0 picks a free one).
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    listen: u16,
    /// Where requests go; repeatable.
    #[arg(long, value_name = "ADDR", required = true)]
    to: Vec<SocketAddr>,
    /// What chooses.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let args = Args::parse();
    let listener = TcpListener::bind(("127.0.0.1", args.listen)).await?;
    serve::announce(&listener.local_addr()?);
    spray(listener, args.to, args.seed).await
}
