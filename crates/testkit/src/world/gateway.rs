//! A real gateway in front of real servers.

use super::{config, replicas, switchboard, worker_of};
use crate::{HttpClient, LEGACY, Launch, Program, StdioClient};
use serde_json::{Value, json};
use std::time::Duration;

/// `switchboard serve --http`, running.
pub struct Gateway {
    /// The process that the user sees.
    pub program: Program,
    /// `http://127.0.0.1:PORT`
    pub url: String,
}

impl Gateway {
    /// Serves these servers on a free port, without tokens.
    pub async fn start(servers: &Value) -> Self {
        Self::launch(http(servers)).await
    }

    /// The same, prepared by the test.
    pub async fn launch(launch: Launch) -> Self {
        if replicas::are_wanted() {
            let (program, url) = replicas::start(&launch).await;
            return Self { program, url };
        }
        let program = launch.spawn();
        let url = program.url().await;
        Self { program, url }
    }

    /// A client of `/mcp` or `/mcp/{server}`.
    pub fn client(&self, path: &str) -> HttpClient {
        HttpClient::new(&format!("{}{path}", self.url))
    }

    /// A legacy client that has shaken hands.
    pub async fn legacy(&self, path: &str) -> HttpClient {
        let mut client = self.client(path);
        client.initialize(LEGACY).await;
        client
    }

    /// `host:port`.
    pub fn authority(&self) -> &str {
        self.url.strip_prefix("http://").unwrap_or(&self.url)
    }

    /// The working process below the keeper, which is the process we started.
    pub async fn worker(&self) -> i32 {
        worker_of(self.program.pid()).await
    }
}

/// Where it is reached.
impl AsRef<str> for Gateway {
    fn as_ref(&self) -> &str {
        &self.url
    }
}

/// The arguments of a gateway over HTTP.
pub fn http(servers: &Value) -> Launch {
    switchboard()
        .args(["serve", "--http", "127.0.0.1:0", "--no-auth"])
        .args(["--strict-mcp-config", "--mcp-config", &config(servers)])
}

/// The arguments of a gateway over stdio. If there is one server it is asked for
/// by name, and keeps its own names.
pub fn stdio(servers: &Value) -> Launch {
    let launch = switchboard()
        .args(["serve", "--strict-mcp-config", "--mcp-config"])
        .arg(config(servers));
    match servers
        .as_object()
        .map(|all| all.keys().collect::<Vec<_>>())
    {
        Some(names) if names.len() == 1 => launch.args(["--only", names[0]]),
        _ => launch,
    }
}

/// A client of a gateway over stdio.
pub fn stdio_client(servers: &Value) -> StdioClient {
    StdioClient::new(stdio(servers).spawn())
}

/// The names of the tools that a client is shown.
pub async fn tool_names(client: &mut StdioClient) -> Vec<String> {
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"]
        .as_array()
        .expect("a list of tools");
    tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

/// Waits until the list of tools is as it should be; each change before that is announced.
pub async fn until_listed(client: &mut StdioClient, right: impl Fn(&[String]) -> bool) {
    let listed = async {
        while !right(&tool_names(client).await) {
            client
                .notification("notifications/tools/list_changed")
                .await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), listed)
        .await
        .expect("the list becomes right");
}
