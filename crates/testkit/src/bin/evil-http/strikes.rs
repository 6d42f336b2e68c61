//! What the modes send in place of a response.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::request::Request;
use crate::server::{JSON, Server, respond};
use crate::{bomb, streams};

/// A page as proxies send it; the path must not reach a user.
const HTML: &[u8] = b"<!DOCTYPE html><html><head><title>Oops</title></head><body><h1>It works!</h1><p>/srv/secret/canary-path token=canary-token</p><script>alert(1)</script></body></html>";

/// Misbehaves; says whether the connection may go on.
pub async fn strike(
    server: &Server,
    request: &Request,
    socket: &mut TcpStream,
) -> io::Result<bool> {
    let reply = reply(request);
    let mode = server.args.mode.as_str();
    if let Some((status, headers, body)) = plain(server, mode, &reply) {
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        respond(socket, &status, &headers, &body).await?;
        return Ok(true);
    }
    if mode.starts_with("sse-")
        || mode.starts_with("retry-")
        || matches!(mode, "half-open-sse" | "progress-flood")
    {
        streams::strike(server, request, &reply, socket).await?;
        return Ok(false);
    }
    broken(server, mode, &reply, socket).await?;
    Ok(false)
}

/// The right reply, for the modes that only wrap it wrongly.
fn reply(request: &Request) -> String {
    let id = request.id().unwrap_or_else(|| "null".into());
    let more = if request.is_modern() {
        r#","resultType":"complete""#
    } else {
        ""
    };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"struck"}}]{more}}}}}"#
    )
}

/// Responses that are well-formed HTTP.
fn plain(server: &Server, mode: &str, reply: &str) -> Option<(String, Vec<String>, Vec<u8>)> {
    let to = |location: String| vec![format!("Location: {location}")];
    let second = format!("http://{}/mcp", server.second);
    let html = || vec!["Content-Type: text/html".to_owned()];
    let json = || vec![JSON.to_owned()];
    let text = || vec!["Content-Type: text/plain".to_owned()];
    let wait = || vec!["Retry-After: 1".to_owned()];
    let (status, headers, body) = match mode {
        "redirect-off-origin" => ("307 Temporary Redirect", to(second), Vec::new()),
        "redirect-303" => ("303 See Other", to(second), Vec::new()),
        "redirect-loop" => ("307 Temporary Redirect", to("/mcp".into()), Vec::new()),
        "redirect-same-origin" => ("308 Permanent Redirect", to("/other".into()), Vec::new()),
        "redirect-scheme" => ("302 Found", to("file:///etc/passwd".into()), Vec::new()),
        "html-200" => ("200 OK", html(), HTML.to_vec()),
        "empty-200" => ("200 OK", json(), Vec::new()),
        "empty-202" => ("202 Accepted", Vec::new(), Vec::new()),
        "empty-204" => ("204 No Content", Vec::new(), Vec::new()),
        "wrong-type" => ("200 OK", text(), reply.into()),
        "no-type" => ("200 OK", Vec::new(), reply.into()),
        "not-json" => ("200 OK", json(), b"{\"jsonrpc\":\"2.0\",oops".to_vec()),
        "wrong-id" => {
            let other = r#"{"jsonrpc":"2.0","id":"somebody-else","result":{"content":[]}}"#;
            ("200 OK", json(), other.into())
        }
        "status-400" => ("400 Bad Request", text(), b"bad request".to_vec()),
        "status-401" => {
            let challenge = format!(
                "WWW-Authenticate: Bearer resource_metadata=\"http://{}/.well-known/oauth-protected-resource\"",
                server.second
            );
            (
                "401 Unauthorized",
                vec![challenge],
                b"who are you?".to_vec(),
            )
        }
        "status-403" => {
            let challenge = "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"a b\"";
            ("403 Forbidden", vec![challenge.to_owned()], b"no".to_vec())
        }
        "status-404" => ("404 Not Found", text(), b"nothing here".to_vec()),
        "status-405" => ("405 Method Not Allowed", Vec::new(), Vec::new()),
        "status-429" => ("429 Too Many Requests", wait(), b"slow down".to_vec()),
        "status-500" => ("500 Internal Server Error", html(), HTML.to_vec()),
        "status-503" => ("503 Service Unavailable", wait(), b"later".to_vec()),
        _ => return None,
    };
    Some((status.to_owned(), headers, body))
}

/// Responses that are not, and connections that end too early or never.
async fn broken(
    server: &Server,
    mode: &str,
    reply: &str,
    socket: &mut TcpStream,
) -> io::Result<()> {
    let length = reply.len();
    let half = &reply[..length / 2];
    let delay = Duration::from_millis(server.args.delay);
    let head = format!("HTTP/1.1 200 OK\r\n{JSON}\r\nContent-Length: {length}\r\n\r\n");
    match mode {
        "drip-headers" => {
            let endless = std::iter::repeat(*b"X-Slow: yes\r\n").flatten();
            for byte in b"HTTP/1.1 200 OK\r\n".iter().copied().chain(endless) {
                socket.write_all(&[byte]).await?;
                tokio::time::sleep(delay).await;
            }
        }
        "drip-body" => {
            socket.write_all(head.as_bytes()).await?;
            for byte in reply.bytes() {
                tokio::time::sleep(delay).await;
                socket.write_all(&[byte]).await?;
            }
        }
        "gzip-bomb" => bomb::send(socket, reply, server.limit(1 << 30)).await?,
        "endless-body" => {
            socket
                .write_all(
                    format!("HTTP/1.1 200 OK\r\n{JSON}\r\nConnection: close\r\n\r\n").as_bytes(),
                )
                .await?;
            let open = reply.split("struck").next().unwrap_or_default();
            socket.write_all(open.as_bytes()).await?;
            streams::pour(socket, server.limit(256 << 20)).await?;
            wait_for_end(socket).await;
        }
        "reset-body" => {
            socket.write_all(head.as_bytes()).await?;
            socket.write_all(half.as_bytes()).await?;
            tokio::time::sleep(Duration::from_millis(50)).await;
            // With a linger of zero, closing sends a reset.
            socket.set_zero_linger()?;
        }
        "cut-body" => {
            socket.write_all(head.as_bytes()).await?;
            socket.write_all(half.as_bytes()).await?;
        }
        "length-short" => {
            let head = format!(
                "HTTP/1.1 200 OK\r\n{JSON}\r\nContent-Length: {}\r\n\r\n",
                length / 2
            );
            socket
                .write_all(format!("{head}{reply}").as_bytes())
                .await?;
        }
        "length-two" => {
            let head = format!(
                "HTTP/1.1 200 OK\r\n{JSON}\r\nContent-Length: {length}\r\nContent-Length: 3\r\n\r\n"
            );
            socket
                .write_all(format!("{head}{reply}").as_bytes())
                .await?;
        }
        "chunked-garbage" => {
            let head = format!("HTTP/1.1 200 OK\r\n{JSON}\r\nTransfer-Encoding: chunked\r\n\r\n");
            socket.write_all(head.as_bytes()).await?;
            socket
                .write_all(b"5\r\n{\"jso\r\nzz;=\r\n\xff\xff\r\nffffffffffffffffff\r\n")
                .await?;
            wait_for_end(socket).await;
        }
        "bad-status" => {
            socket
                .write_all(b"ICY 2000 MAYBE\r\n\x00\x01\r\n\r\nhello")
                .await?;
        }
        "headers-many" => {
            let headers: String = (0..server.limit(10_000))
                .map(|n| format!("X-Many-{n}: {n}\r\n"))
                .collect();
            socket
                .write_all(format!("HTTP/1.1 200 OK\r\n{headers}").as_bytes())
                .await?;
            socket
                .write_all(format!("{JSON}\r\nContent-Length: {length}\r\n\r\n{reply}").as_bytes())
                .await?;
        }
        "header-huge" => {
            let value = "h".repeat(server.limit(1 << 20) as usize);
            socket
                .write_all(format!("HTTP/1.1 200 OK\r\nX-Huge: {value}\r\n").as_bytes())
                .await?;
            socket
                .write_all(format!("{JSON}\r\nContent-Length: {length}\r\n\r\n{reply}").as_bytes())
                .await?;
        }
        "hang" => wait_for_end(socket).await,
        // close
        _ => {}
    }
    Ok(())
}

/// Reads and forgets until the client goes away.
pub async fn wait_for_end(socket: &mut TcpStream) {
    let mut block = [0; 4096];
    while matches!(socket.read(&mut block).await, Ok(n) if n > 0) {}
}
