//! A gateway in this process that is reached over HTTP, in front of real servers.

use serde_json::Value;
use std::sync::Arc;
use switchboard_gateway::{Door, Gateway, GatewayOptions, faces};
use switchboard_host::{Host, Remote, ServerSpec, Target, permission::Rules};
use switchboard_process::ServerCommand;
use switchboard_testkit::{HttpClient, LEGACY};
use switchboard_transport::Budget;
use switchboard_wire::name::Style;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What the tests of the running program have as `world::Gateway`, without the program.
pub struct Served {
    /// `http://127.0.0.1:PORT`
    url: String,
    _gateway: Arc<Gateway>,
    _until_dropped: DropGuard,
}

impl Served {
    /// Serves these entries on a free port, without tokens.
    pub async fn start(servers: &Value) -> Self {
        Self::with(servers, GatewayOptions::default()).await
    }

    /// The same, with what is to be different.
    pub async fn with(servers: &Value, options: GatewayOptions) -> Self {
        let entries = servers.as_object().expect("named entries");
        let specs = entries.iter().map(|(name, entry)| spec(name, entry));
        let host = Host::new(
            specs.collect(),
            Rules::everything_allowed(),
            Style::default(),
            Budget::default(),
        );
        let gateway = Gateway::new(host, options);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let door = Door {
            open: true,
            ..Door::default()
        };
        let stop = CancellationToken::new();
        tokio::spawn(faces::http::serve(
            gateway.clone(),
            listener,
            door,
            stop.clone(),
        ));
        Self {
            url,
            _gateway: gateway,
            _until_dropped: stop.drop_guard(),
        }
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
}

impl AsRef<str> for Served {
    fn as_ref(&self) -> &str {
        &self.url
    }
}

/// The testkit's entries, which are programs and addresses.
fn spec(name: &str, entry: &Value) -> ServerSpec {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let target = match entry.get("url") {
        Some(url) => Target::Http(Remote::new(text(url).parse().expect("an address"))),
        None => {
            let args = entry["args"].as_array().into_iter().flatten();
            Target::Stdio(ServerCommand {
                program: text(&entry["command"]).into(),
                args: args.map(|arg| text(arg).into()).collect(),
                ..ServerCommand::default()
            })
        }
    };
    ServerSpec::new(name, target)
}
