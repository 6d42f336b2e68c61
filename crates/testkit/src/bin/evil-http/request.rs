//! Reading a request from a socket, with the bytes as they came.

use std::io;

use switchboard_testkit::json::{self, Message};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Larger requests are cut off: this server is evil, not hospitable.
const MAX: usize = 64 << 20;

/// One HTTP request.
pub struct Request {
    /// Head and body as they came (a chunked body with its chunks).
    pub raw: Vec<u8>,
    /// `GET`, `POST` …
    pub method: String,
    /// The path.
    pub path: String,
    /// Headers by lower-case name.
    pub headers: Vec<(String, String)>,
    /// The body, without chunks.
    pub body: Vec<u8>,
}

impl Request {
    /// Reads one; `None` at the end of the connection. What was read too much
    /// stays in `buffer`.
    pub async fn read(
        socket: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
    ) -> io::Result<Option<Self>> {
        let end = loop {
            if let Some(at) = find(buffer, b"\r\n\r\n") {
                break at + 4;
            }
            if !fill(socket, buffer).await? {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let method = first.next().unwrap_or_default().to_owned();
        let path = first.next().unwrap_or_default().to_owned();
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
            .collect();
        let mut request = Self {
            raw: Vec::new(),
            method,
            path,
            headers,
            body: Vec::new(),
        };
        let length = if request
            .header("transfer-encoding")
            .is_some_and(|t| t.contains("chunked"))
        {
            request.read_chunks(socket, buffer, end).await?
        } else {
            let length = request
                .header("content-length")
                .and_then(|l| l.parse().ok())
                .unwrap_or(0);
            while buffer.len() < end + length {
                if !fill(socket, buffer).await? {
                    return Ok(None);
                }
            }
            request.body = buffer[end..end + length].to_vec();
            end + length
        };
        request.raw = buffer.drain(..length).collect();
        Ok(Some(request))
    }

    /// Reads a chunked body; gives the position behind it.
    async fn read_chunks(
        &mut self,
        socket: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
        mut at: usize,
    ) -> io::Result<usize> {
        loop {
            let line = loop {
                match find(&buffer[at..], b"\r\n") {
                    Some(length) => break length,
                    None if fill(socket, buffer).await? => {}
                    None => return Err(io::ErrorKind::UnexpectedEof.into()),
                }
            };
            let size = String::from_utf8_lossy(&buffer[at..at + line]).into_owned();
            let size = size.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
            at += line + 2;
            while buffer.len() < at + size + 2 {
                if !fill(socket, buffer).await? {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            self.body.extend_from_slice(&buffer[at..at + size]);
            at += size + 2;
            if size == 0 {
                return Ok(at);
            }
        }
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC method, or the HTTP method where there is none.
    pub fn rpc_method(&self) -> String {
        let message = Message::read(&self.body);
        let method = message.and_then(|m| m.method.map(|m| m.into_owned()));
        method.unwrap_or_else(|| self.method.clone())
    }

    /// The id as written.
    pub fn id(&self) -> Option<String> {
        json::get(&self.body, "id").map(|id| String::from_utf8_lossy(id).into_owned())
    }

    /// The tool's name in a call.
    pub fn tool(&self) -> Option<String> {
        let name = json::path(&self.body, &["params", "name"])?;
        json::string(name).map(|name| name.into_owned())
    }

    /// Whether the modern metadata is there.
    pub fn is_modern(&self) -> bool {
        let keys = ["params", "_meta", "io.modelcontextprotocol/protocolVersion"];
        json::path(&self.body, &keys).is_some()
    }
}

async fn fill(socket: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> io::Result<bool> {
    if buffer.len() > MAX {
        return Err(io::Error::other("too large"));
    }
    let mut block = [0; 16 * 1024];
    let n = socket.read(&mut block).await?;
    buffer.extend_from_slice(&block[..n]);
    Ok(n > 0)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
