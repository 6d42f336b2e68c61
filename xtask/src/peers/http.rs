//! As much of HTTP/1.1 as the smallest client and the scripted model need: one request a
//! connection, on loopback.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The largest body that is read.
const BODY: u64 = 64 << 20;
/// The longest line of a head.
const LINE: u64 = 64 << 10;
/// How many lines a head may have.
const HEAD: usize = 200;

/// A request or an answer, read to its end.
pub struct Message {
    /// The first line's second word: a status, or a path.
    pub status: String,
    headers: Vec<(String, String)>,
    /// What came after the head.
    pub body: String,
}

impl Message {
    /// A header's value; its name is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find_map(|(own, value)| (own == name).then_some(value.as_str()))
    }

    /// The JSON in it, whether as events or as it is.
    pub fn messages(&self) -> Vec<Value> {
        let events = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"));
        let mut found: Vec<Value> = events
            .filter_map(|data| serde_json::from_str(data.trim()).ok())
            .collect();
        found.extend(serde_json::from_str(&self.body).ok());
        found
    }
}

/// Posts `body` and reads the answer; each wait for bytes is at most `limit`.
pub fn post(url: &str, headers: &[(&str, String)], body: &str, limit: Duration) -> Result<Message> {
    let rest = url
        .strip_prefix("http://")
        .context("only http:// is spoken here")?;
    let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(address).with_context(|| address.to_owned())?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let mut head = format!("POST /{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    let _ = write!(head, "content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    read(&mut BufReader::new(stream))
}

/// Reads one message.
pub fn read(stream: &mut impl BufRead) -> Result<Message> {
    let first = line(stream)?;
    let status = first.split(' ').nth(1).context("no HTTP")?.to_owned();
    let mut headers = Vec::new();
    loop {
        let line = line(stream)?;
        if line.is_empty() {
            break;
        }
        ensure!(headers.len() < HEAD, "a head of more than {HEAD} lines");
        let (name, value) = line.split_once(':').context("a header without a colon")?;
        headers.push((name.trim().to_lowercase(), value.trim().to_owned()));
    }
    let mut message = Message {
        status,
        headers,
        body: String::new(),
    };
    let chunked = message
        .header("transfer-encoding")
        .is_some_and(|how| how.contains("chunked"));
    let length = message
        .header("content-length")
        .map(str::parse::<u64>)
        .transpose()?;
    let mut body = Vec::new();
    match (chunked, length) {
        (true, _) => chunks(stream, &mut body)?,
        (false, Some(length)) => {
            ensure!(length <= BODY, "a body of {length} bytes");
            stream.take(length).read_to_end(&mut body)?;
        }
        // A request without a length has no body; an answer ends with its connection.
        (false, None) if first.starts_with("HTTP/") => {
            stream.take(BODY).read_to_end(&mut body)?;
        }
        (false, None) => {}
    }
    message.body = String::from_utf8_lossy(&body).into_owned();
    Ok(message)
}

fn chunks(stream: &mut impl BufRead, body: &mut Vec<u8>) -> Result<()> {
    loop {
        let size = line(stream)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).context("a chunk without a size")?;
        if size == 0 {
            return Ok(());
        }
        if body.len() as u64 + size > BODY {
            bail!("a body of more than {BODY} bytes");
        }
        stream.by_ref().take(size).read_to_end(body)?;
        line(stream)?;
    }
}

/// A line without its end.
fn line(stream: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    let read = stream.by_ref().take(LINE).read_line(&mut line)?;
    ensure!(read > 0, "the connection was closed");
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn chunks_are_put_together_and_events_are_found() -> anyhow::Result<()> {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nMcp-Session-Id: a\r\n\r\n\
            6\r\ndata: \r\nb\r\n{\"id\": 1}\n\n\r\n0\r\n\r\n";
        let message = read(&mut text.as_bytes())?;
        assert_eq!(message.status, "200");
        assert_eq!(message.header("mcp-session-id"), Some("a"));
        assert_eq!(message.messages(), [serde_json::json!({"id": 1})]);
        Ok(())
    }

    #[test]
    fn a_request_without_a_length_has_no_body() -> anyhow::Result<()> {
        let message = read(&mut "GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n".as_bytes())?;
        assert_eq!(
            (message.status.as_str(), message.body.as_str()),
            ("/v1/models", "")
        );
        Ok(())
    }
}
