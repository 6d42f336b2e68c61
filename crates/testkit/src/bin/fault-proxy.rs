//! A TCP proxy that hurts the connections that pass it.
//!
//! `--mode cut` ends them after `--bytes` from the server, `reset` does so with
//! a reset, `delay` holds every block back for `--ms`, `drip` passes one byte
//! every `--ms`, `stall` passes `--bytes` and then nothing, `pass` hurts nobody.
//! It says `listening on http://127.0.0.1:PORT/mcp` on stderr.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use switchboard_testkit::serve;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// A TCP proxy that hurts the connections that pass it.
#[derive(Parser, Clone)]
struct Args {
    /// The port to listen on (0 picks a free one).
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    listen: u16,
    /// The address to connect to.
    #[arg(long, value_name = "ADDR")]
    to: SocketAddr,
    /// What to do.
    #[arg(long, value_enum)]
    mode: Mode,
    /// After how many bytes of the server (cut, reset, stall).
    #[arg(long, default_value_t = 1000)]
    bytes: usize,
    /// Milliseconds (delay, drip).
    #[arg(long, default_value_t = 100)]
    ms: u64,
    /// Leave this many connections alone first.
    #[arg(long, default_value_t = 0)]
    after: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    Pass,
    Cut,
    Reset,
    Delay,
    Drip,
    Stall,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let args = Args::parse();
    let listener = TcpListener::bind(("127.0.0.1", args.listen)).await?;
    serve::announce(&listener.local_addr()?);
    let mut seen = 0;
    loop {
        let Ok((client, _)) = listener.accept().await else {
            continue;
        };
        let mut args = args.clone();
        if seen < args.after {
            args.mode = Mode::Pass;
        }
        seen += 1;
        // Either side going away is what this program is for.
        tokio::spawn(async move { connection(client, &args).await.ok() });
    }
}

async fn connection(client: TcpStream, args: &Args) -> io::Result<()> {
    let server = TcpStream::connect(args.to).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    if args.mode == Mode::Reset {
        // With a linger of zero, closing sends a reset.
        client.set_zero_linger()?;
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // A client may close its half and still wait for the reply.
    let upward = tokio::spawn(copy(from_client, to_server));
    let done = downward(from_server, to_client, args).await;
    upward.abort();
    done
}

/// Client to server, untouched.
async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) -> io::Result<()> {
    tokio::io::copy(&mut from, &mut to).await?;
    to.shutdown().await
}

/// Server to client, hurt.
async fn downward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, args: &Args) -> io::Result<()> {
    let pause = Duration::from_millis(args.ms);
    let mut block = vec![0; 64 * 1024];
    let mut left = args.bytes;
    loop {
        let n = from.read(&mut block).await?;
        if n == 0 {
            return to.shutdown().await;
        }
        match args.mode {
            Mode::Pass => to.write_all(&block[..n]).await?,
            Mode::Delay => {
                tokio::time::sleep(pause).await;
                to.write_all(&block[..n]).await?;
            }
            Mode::Drip => {
                for byte in &block[..n] {
                    to.write_all(&[*byte]).await?;
                    tokio::time::sleep(pause).await;
                }
            }
            Mode::Cut | Mode::Reset | Mode::Stall => {
                let now = n.min(left);
                to.write_all(&block[..now]).await?;
                left -= now;
                if left == 0 && args.mode != Mode::Stall {
                    return Ok(());
                }
            }
        }
    }
}
