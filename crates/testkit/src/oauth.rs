//! The strict authorization server as a running program, and a plain browser.

use crate::program::{Program, bin};
use serde_json::Value;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use url::Url;

/// How long one request may take.
const LIMIT: Duration = Duration::from_secs(20);

/// A running authorization server with the MCP servers that it protects.
#[derive(Debug)]
pub struct Site {
    program: Program,
    /// `http://127.0.0.1:port`
    pub base: String,
}

impl Site {
    /// Starts one.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start() -> Self {
        let program = Program::new(bin("oauth-server")).spawn();
        let url = program.url().await;
        Self {
            base: url.trim_end_matches("/mcp").to_owned(),
            program,
        }
    }

    /// The same with these knobs.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn with(knobs: Value) -> Self {
        let site = Self::start().await;
        site.turn(knobs).await;
        site
    }

    /// The address of a path.
    ///
    /// # Panics
    /// When it is no path.
    pub fn url(&self, path: &str) -> Url {
        Url::parse(&format!("{}{path}", self.base)).expect("a path")
    }

    /// Turns knobs.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn turn(&self, knobs: Value) {
        assert!(self.program.pid() > 0);
        let (status, _, text) = http("POST", &self.url("/control"), &knobs.to_string()).await;
        assert_eq!(status, 200, "{text}");
    }

    /// A token signed as asked.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn token(&self, wish: Value) -> String {
        let (_, _, text) = http("POST", &self.url("/mint"), &wish.to_string()).await;
        let minted: Value = serde_json::from_str(&text).expect("JSON");
        minted["token"].as_str().expect("a token").to_owned()
    }

    /// How often something happened.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn count(&self, what: &str) -> u64 {
        let (_, _, text) = http("GET", &self.url("/counters"), "").await;
        let counters: Value = serde_json::from_str(&text).expect("JSON");
        counters[what].as_u64().unwrap_or(0)
    }

    /// Every request, with its form and credentials.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn log(&self) -> Vec<Value> {
        let (_, _, text) = http("GET", &self.url("/log"), "").await;
        serde_json::from_str(&text).expect("JSON")
    }
}

/// Goes where an address leads, and gives the last answer: status and body.
///
/// # Panics
/// When it leads nowhere.
pub async fn follow(mut url: Url) -> (u16, String) {
    for _ in 0..5 {
        let (status, location, body) = http("GET", &url, "").await;
        match location {
            Some(location) if status == 302 => url = Url::parse(&location).expect("an address"),
            _ => return (status, body),
        }
    }
    panic!("too many redirects");
}

/// Where a page redirects to: what a person would paste.
///
/// # Panics
/// When it does not.
pub async fn redirected(url: &Url) -> String {
    let (status, location, body) = http("GET", url, "").await;
    location.unwrap_or_else(|| panic!("the page said {status}: {body}"))
}

/// One plain HTTP request: status, `Location`, body.
///
/// # Panics
/// When nothing answers.
pub async fn http(method: &str, url: &Url, body: &str) -> (u16, Option<String>, String) {
    let exchange = async {
        let port = url.port_or_known_default().expect("a port");
        let host = url.host_str().expect("a host");
        let mut stream = TcpStream::connect((host, port))
            .await
            .expect("a connection");
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}:{port}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream
            .write_all(head.as_bytes())
            .await
            .expect("a peer that reads");
        let mut answer = Vec::new();
        stream
            .read_to_end(&mut answer)
            .await
            .expect("a peer that answers");
        String::from_utf8_lossy(&answer).into_owned()
    };
    let answer = timeout(LIMIT, exchange).await.expect("an answer in time");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    let location = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location")
            .then(|| value.to_owned())
    });
    (status.expect("a status"), location, body.to_owned())
}
