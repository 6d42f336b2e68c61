//! HTTP/1.1 by hand, on one connection: requests that no library would send,
//! and the certainty that an answer came on the same connection.

use serde_json::Value;
use std::{path::Path, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

const DEADLINE: Duration = Duration::from_secs(60);

/// One connection.
pub struct Wire {
    authority: String,
    socket: TcpStream,
    buffer: Vec<u8>,
    /// Whether the peer closed the first connection, so that there is another.
    pub reconnected: bool,
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        all.find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

impl Wire {
    pub async fn new(authority: &str) -> Self {
        Self {
            authority: authority.to_owned(),
            socket: connect(authority).await,
            buffer: Vec::new(),
            reconnected: false,
        }
    }

    /// POSTs a text.
    pub async fn post(&mut self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.send("POST", path, headers, body.as_bytes()).await
    }

    /// Sends a request and reads its response.
    pub async fn send(
        &mut self,
        verb: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        self.reconnect_if_closed().await;
        let mut bytes = self.head(verb, path, headers, Some(body.len()));
        bytes.extend_from_slice(body);
        self.write(&bytes).await;
        self.answer().await
    }

    /// Announces a long body, sends a little of it and reads the response.
    pub async fn announce(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        length: usize,
        some: &[u8],
    ) -> Answer {
        let mut bytes = self.head("POST", path, headers, Some(length));
        bytes.extend_from_slice(some);
        self.write(&bytes).await;
        self.answer().await
    }

    /// Sends the same chunk again and again, until there is a response.
    pub async fn chunks(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        chunk: &[u8],
        times: usize,
    ) -> Answer {
        let head = self.head("POST", path, headers, None);
        self.write(&head).await;
        let mut one = format!("{:x}\r\n", chunk.len()).into_bytes();
        one.extend_from_slice(chunk);
        one.extend_from_slice(b"\r\n");
        for _ in 0..times {
            self.write(&one).await;
        }
        self.write(b"0\r\n\r\n").await;
        self.answer().await
    }

    /// Sends the rest of a body that was announced.
    pub async fn rest(&mut self, length: usize) {
        self.write(&vec![b' '; length]).await;
    }

    /// Whether the peer stops reading before this many bytes.
    pub async fn refuses_more_than(&mut self, most: usize) -> bool {
        let block = vec![b' '; 1 << 20];
        for _ in 0..most / block.len() {
            match timeout(DEADLINE, self.socket.write_all(&block)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return true,
                Err(_) => return false,
            }
        }
        false
    }

    fn head(
        &self,
        verb: &str,
        path: &str,
        headers: &[(&str, &str)],
        length: Option<usize>,
    ) -> Vec<u8> {
        let mut text = format!("{verb} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            text.push_str(&format!("host: {}\r\n", self.authority));
        }
        if !headers.iter().any(|(name, _)| *name == "accept") {
            text.push_str("accept: application/json, text/event-stream\r\n");
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        match length {
            Some(length) => text.push_str(&format!("content-length: {length}\r\n\r\n")),
            None => text.push_str("transfer-encoding: chunked\r\n\r\n"),
        }
        text.into_bytes()
    }

    async fn write(&mut self, bytes: &[u8]) {
        timeout(DEADLINE, self.socket.write_all(bytes))
            .await
            .expect("the peer reads")
            .expect("the connection is open");
    }

    async fn reconnect_if_closed(&mut self) {
        let mut byte = [0];
        let closed = match self.socket.try_read(&mut byte) {
            Ok(0) => true,
            Ok(_) => panic!("bytes that nobody asked for"),
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        };
        if closed {
            self.reconnected = true;
            self.socket = connect(&self.authority).await;
            self.buffer.clear();
        }
    }

    async fn answer(&mut self) -> Answer {
        let end = self.until(|buffer| find(buffer, b"\r\n\r\n")).await;
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end + 4);
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .and_then(|s| s.parse().ok());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
            .collect();
        let value = |name: &str| {
            headers
                .iter()
                .find(|(own, _)| own == name)
                .map(|(_, v)| v.as_str())
        };
        let body: Vec<u8> = if value("transfer-encoding") == Some("chunked") {
            let end = self.until(|buffer| find(buffer, b"0\r\n\r\n")).await;
            self.buffer.drain(..end + 5).collect()
        } else {
            let length: usize = value("content-length")
                .and_then(|v| v.parse().ok())
                .unwrap_or(0);
            self.until(|buffer| (buffer.len() >= length).then_some(length))
                .await;
            self.buffer.drain(..length).collect()
        };
        Answer {
            status: status.expect("a status line"),
            headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        }
    }

    /// Reads until the buffer has what is wanted.
    async fn until(&mut self, wanted: impl Fn(&[u8]) -> Option<usize>) -> usize {
        loop {
            if let Some(at) = wanted(&self.buffer) {
                return at;
            }
            let mut block = vec![0; 16 * 1024];
            let read = timeout(DEADLINE, self.socket.read(&mut block))
                .await
                .expect("an answer in time");
            match read {
                Ok(n) if n > 0 => self.buffer.extend_from_slice(&block[..n]),
                end => panic!(
                    "the connection ended ({end:?}) after {:?}",
                    String::from_utf8_lossy(&self.buffer)
                ),
            }
        }
    }
}

async fn connect(authority: &str) -> TcpStream {
    TcpStream::connect(authority)
        .await
        .expect("the peer accepts connections")
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Makes a file readable by its owner alone.
pub fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let owner = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, owner).expect("our own file");
}
