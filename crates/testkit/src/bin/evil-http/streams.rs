//! Event streams, well-behaved and not.

use std::io;
use std::time::Duration;

use switchboard_testkit::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::request::Request;
use crate::server::Server;
use crate::strikes::wait_for_end;

/// Sends the head of an event stream that ends with its connection.
pub async fn open(socket: &mut TcpStream) -> io::Result<()> {
    socket
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n")
        .await
}

/// A stream with a comment every 5 s, until the client goes away.
pub async fn idle(socket: &mut TcpStream) -> io::Result<()> {
    loop {
        socket.write_all(b": alive\n\n").await?;
        let pause = Duration::from_secs(5);
        if tokio::time::timeout(pause, wait_for_end(socket))
            .await
            .is_ok()
        {
            return Ok(());
        }
    }
}

/// Misbehaves on an event stream; the connection ends with it.
pub async fn strike(
    server: &Server,
    request: &Request,
    reply: &str,
    socket: &mut TcpStream,
) -> io::Result<()> {
    open(socket).await?;
    let event = format!("event: message\ndata: {reply}\n\n");
    match server.args.mode.as_str() {
        "half-open-sse" => {
            for _ in 0..server.limit(0) {
                socket.write_all(b": alive\n\n").await?;
                tokio::time::sleep(Duration::from_millis(server.args.delay)).await;
            }
            wait_for_end(socket).await;
        }
        "retry-zero" => socket.write_all(b"id: 1\nretry: 0\ndata: \n\n").await?,
        "retry-huge" => {
            socket
                .write_all(b"id: 1\nretry: 1000000000000\ndata: \n\n")
                .await?;
        }
        "sse-huge-event" => {
            socket.write_all(b"event: message\ndata: ").await?;
            pour(socket, server.limit(256 << 20)).await?;
            wait_for_end(socket).await;
        }
        "sse-huge-line" => {
            let (before, after) = reply.split_once("struck").unwrap_or((reply, ""));
            socket
                .write_all(format!("data: {before}").as_bytes())
                .await?;
            pour(socket, server.limit(64 << 20)).await?;
            socket.write_all(format!("{after}\n\n").as_bytes()).await?;
        }
        "sse-comments" => {
            let block = ": nothing to see\n".repeat(1000);
            let mut left = server.limit(1_000_000);
            while left > 0 {
                let n = left.min(1000);
                socket
                    .write_all(&block.as_bytes()[..n as usize * 17])
                    .await?;
                left -= n;
            }
            socket.write_all(event.as_bytes()).await?;
        }
        "sse-line-ends" => socket.write_all(&line_ends(reply)).await?,
        "sse-event-names" => {
            let odd = format!(
                ": hi\nunknown: field\nnocolon\nid\nretry: soon\nevent: response\nid: \0\ndata:{reply}\n\n"
            );
            socket.write_all(odd.as_bytes()).await?;
        }
        "sse-cut-event" => {
            socket
                .write_all(&event.as_bytes()[..event.len() - 10])
                .await?;
        }
        "sse-orphans" => {
            let orphan =
                "data: {\"jsonrpc\":\"2.0\",\"id\":\"nobody\",\"result\":{\"content\":[]}}\n\n";
            socket
                .write_all(format!("{orphan}{event}{event}").as_bytes())
                .await?;
        }
        "progress-flood" => {
            let token = json::path(&request.body, &["params", "_meta", "progressToken"]);
            let token = String::from_utf8_lossy(token.unwrap_or(b"0")).into_owned();
            for n in 0..server.limit(100_000) {
                let progress = format!(
                    "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{token},\"progress\":{n}}}}}\n\n"
                );
                socket.write_all(progress.as_bytes()).await?;
            }
            socket.write_all(event.as_bytes()).await?;
        }
        // sse-no-reply
        _ => {}
    }
    Ok(())
}

/// The reply over many data lines, with every line end there is.
fn line_ends(reply: &str) -> Vec<u8> {
    let mut stream = "\u{feff}: a comment\r\n\r\n:\rid: 1\rdata\r\r"
        .as_bytes()
        .to_vec();
    stream.extend_from_slice(b"event: message\r\n");
    // Line ends between tokens are legal JSON: cut behind the first commas.
    let pieces: Vec<&str> = reply.splitn(3, ',').collect();
    for (n, piece) in pieces.iter().enumerate() {
        let comma = if n + 1 < pieces.len() { "," } else { "" };
        let end = ["\r", "\n", "\r\n"][n % 3];
        stream.extend_from_slice(format!("data: {piece}{comma}{end}").as_bytes());
    }
    stream.extend_from_slice(b"\r\n");
    stream
}

/// This many bytes of text.
pub async fn pour(socket: &mut TcpStream, bytes: u64) -> io::Result<()> {
    let block = [b'A'; 64 * 1024];
    let mut left = bytes;
    while left > 0 {
        let n = left.min(block.len() as u64);
        socket.write_all(&block[..n as usize]).await?;
        left -= n;
    }
    Ok(())
}
