//! The test's authorization server, and a plain browser.

use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use switchboard_auth::{
    Authority, AuthorityBuilder, NetLimits, OauthSettings, Server, TokenStore, Vault, Visit,
};
use switchboard_testkit::{Program, bin};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use url::Url;

/// A running authorization server with its MCP servers, and a vault of its own.
pub struct Site {
    program: Program,
    /// `http://127.0.0.1:port`
    pub base: String,
    pub folder: tempfile::TempDir,
}

impl Site {
    pub async fn start() -> Self {
        let program = Program::new(bin("oauth-server")).spawn();
        let url = program.url().await;
        Self {
            base: url.trim_end_matches("/mcp").to_owned(),
            program,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub async fn with(knobs: Value) -> Self {
        let site = Self::start().await;
        site.turn(knobs).await;
        site
    }

    pub fn url(&self, path: &str) -> Url {
        Url::parse(&format!("{}{path}", self.base)).unwrap()
    }

    pub async fn turn(&self, knobs: Value) -> Value {
        assert!(self.program.pid() > 0);
        let body = knobs.to_string();
        let (status, _, text) = http("POST", &self.url("/control"), &body).await;
        assert_eq!(status, 200);
        serde_json::from_str(&text).unwrap()
    }

    pub async fn mint(&self, wish: Value) -> Value {
        let (_, _, text) = http("POST", &self.url("/mint"), &wish.to_string()).await;
        serde_json::from_str(&text).unwrap()
    }

    pub async fn token(&self, wish: Value) -> String {
        self.mint(wish).await["token"].as_str().unwrap().to_owned()
    }

    /// How often something happened.
    pub async fn count(&self, what: &str) -> u64 {
        let (_, _, text) = http("GET", &self.url("/counters"), "").await;
        let counters: Value = serde_json::from_str(&text).unwrap();
        counters[what].as_u64().unwrap_or(0)
    }

    pub async fn log(&self) -> Vec<Value> {
        let (_, _, text) = http("GET", &self.url("/log"), "").await;
        serde_json::from_str(&text).unwrap()
    }

    /// The forms that were posted to a path.
    pub async fn forms(&self, path: &str) -> Vec<Vec<(String, String)>> {
        let log = self.log().await;
        log.iter()
            .filter(|entry| entry["path"] == path && entry["method"] == "POST")
            .map(|entry| {
                let body = entry["body"].as_str().unwrap_or_default();
                url::form_urlencoded::parse(body.as_bytes())
                    .into_owned()
                    .collect()
            })
            .collect()
    }

    pub fn vault(&self) -> Vault {
        Vault::open(self.folder.path(), TokenStore::File)
    }

    pub fn server(&self, name: &str, path: &str) -> Server {
        Server {
            name: name.into(),
            url: self.url(path),
            config_hash: "hash".into(),
        }
    }

    pub fn authority(&self) -> AuthorityBuilder {
        self.authority_to("main", "/mcp")
    }

    pub fn authority_to(&self, name: &str, path: &str) -> AuthorityBuilder {
        Authority::builder(self.server(name, path), self.vault())
            .limits(quick())
            .settings(settings())
    }

    /// Signs in by the plain browser.
    pub async fn signed_in(&self) -> Authority {
        let authority = self.authority().build();
        authority.sign_in(&browser()).await.unwrap();
        authority
    }
}

/// Limits for tests: nobody waits half a minute for a hang.
pub fn quick() -> NetLimits {
    NetLimits {
        connect: Duration::from_secs(2),
        total: Duration::from_secs(2),
        ..NetLimits::default()
    }
}

pub fn settings() -> OauthSettings {
    OauthSettings {
        patience: Duration::from_secs(10),
        ..OauthSettings::default()
    }
}

/// A browser that follows redirects, as far as our own listener.
pub fn browser() -> Visit {
    counted_browser().0
}

/// The same, and how often it was opened.
pub fn counted_browser() -> (Visit, Arc<AtomicUsize>) {
    let opened = Arc::new(AtomicUsize::new(0));
    let count = opened.clone();
    let visit = Visit::Browser(Arc::new(move |url| {
        count.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            tokio::spawn(follow(url));
            Ok(())
        })
    }));
    (visit, opened)
}

/// A browser elsewhere: the person pastes where it ended up.
pub fn paste() -> Visit {
    Visit::Paste(Arc::new(|url| {
        Box::pin(async move {
            let (status, location, body) = http("GET", &url, "").await;
            match location {
                Some(location) if status == 302 => Ok(location),
                _ => Err(format!("the page said {status}: {body}").into()),
            }
        })
    }))
}

/// Goes where an address leads, and gives the last answer.
pub async fn follow(mut url: Url) -> (u16, String) {
    for _ in 0..5 {
        let (status, location, body) = http("GET", &url, "").await;
        match location {
            Some(location) if status == 302 => url = Url::parse(&location).unwrap(),
            _ => return (status, body),
        }
    }
    panic!("too many redirects");
}

/// One plain HTTP request: status, `Location`, body.
pub async fn http(method: &str, url: &Url, body: &str) -> (u16, Option<String>, String) {
    let port = url.port_or_known_default().unwrap();
    let host = url.host_str().unwrap();
    let mut stream = TcpStream::connect((host, port)).await.unwrap();
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}:{port}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let location = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location")
            .then(|| value.to_owned())
    });
    (status, location, body.to_owned())
}

/// The record that the file store holds.
pub fn stored(folder: &Path) -> Value {
    let files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("server")
        })
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    serde_json::from_slice(&std::fs::read(&files[0]).unwrap()).unwrap()
}

/// Changes the stored record, as time or a restart would.
pub fn edit(folder: &Path, change: impl FnOnce(&mut Value)) {
    let path = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with("server") && name.ends_with(".json")
        })
        .unwrap();
    let mut record: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut record);
    std::fs::write(&path, record.to_string()).unwrap();
}

/// Makes the stored access token due to be renewed, but still good for a minute.
pub fn make_stale(folder: &Path) {
    edit(folder, |record| {
        let now = now_ms();
        record["tokens"]["received_at"] = json!(now - 3_590_000);
        record["tokens"]["expires_at"] = json!(now + 10_000);
    });
}

/// Makes the stored access token useless.
pub fn make_expired(folder: &Path) {
    edit(folder, |record| {
        record["tokens"]["received_at"] = json!(now_ms() - 3_600_000);
        record["tokens"]["expires_at"] = json!(now_ms() - 1);
    });
}

pub fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.unwrap().as_millis()).unwrap()
}
