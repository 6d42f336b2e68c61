//! The table, and every line of it asked for by everybody.

use super::*;
use crate::{
    Asked, ClientToken, Control, ControlAccess, Controlled, Counts, Door, Gateway, GatewayOptions,
    Page as File, Pages, SharedPages, Writing, Written, control::Answering, faces::http,
};
use ::http::StatusCode;
use serde_json::{Value, json};
use std::{net::SocketAddr, time::Duration};
use switchboard_auth as auth;
use switchboard_host::{Host, ServerSpec, Target, permission::Rules};
use switchboard_transport::Budget;
use switchboard_wire::name::Style;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long anything may take on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(30);

/// What everybody shows: nothing, something wrong, or one of the two tokens.
const SHOWN: [Option<&str>; 4] = [None, Some("wrong"), Some("client"), Some("control")];

#[test]
fn the_table_is_this_one() {
    let lines = |routes: Routes| -> Vec<String> {
        let line = |route: &Route| {
            let (at, below) = match route.at {
                Path(path) => (path, ""),
                Under(path) => (path, "…"),
                Addressed(path) => (path, "[/{server}]"),
                Elsewhere => ("", "elsewhere"),
            };
            let who = match route.opens {
                Anybody(_) => "anybody",
                Control => "control",
                Shared => "shared",
                Answers => "told",
                Clients(_) => "clients",
            };
            format!("{at}{below} {}: {who}", route.verbs)
        };
        routes.table().iter().map(line).collect()
    };
    assert_eq!(
        lines(Routes::All),
        [
            "/mcp[/{server}] POST, GET, DELETE: clients",
            "/sse[/{server}] GET: clients",
            "/messages POST: clients",
            "/ws[/{server}] GET: clients",
            "/attach[/{server}] GET: clients",
            "/plain/sse GET: clients",
            "/plain/messages POST: clients",
            "/plain/tools GET: clients",
            "/api/v1/… : shared",
            "/answers/… POST: told",
            "/api/… : control",
            "/metrics GET: control",
            "/healthz : anybody",
            "/readyz : anybody",
            "/ GET, HEAD: anybody",
            "/console/… GET, HEAD: anybody",
            "/app/… GET: anybody",
            "/.well-known/oauth-protected-resource… GET: anybody",
            "/.well-known/… : anybody",
            "/register : anybody",
            "elsewhere : clients",
        ]
    );
    assert_eq!(
        lines(Routes::Plain),
        [
            "/sse GET: clients",
            "/messages POST: clients",
            "/tools GET: clients",
            "/healthz : anybody",
            "/readyz : anybody",
            "/.well-known/oauth-protected-resource… GET: anybody",
            "/.well-known/… : anybody",
            "/register : anybody",
            "elsewhere : clients",
        ]
    );
    assert_eq!(
        lines(Routes::Metrics),
        [
            "/metrics GET: anybody",
            "/healthz : anybody",
            "elsewhere : anybody",
        ]
    );
}

#[tokio::test]
async fn everybody_gets_what_the_table_says() {
    for routes in [Routes::All, Routes::Plain, Routes::Metrics] {
        for signs_in in [false, true] {
            let world = World::open(routes, signs_in).await;
            for route in routes.table() {
                for path in paths(routes, route) {
                    world.everybody_asks(route, &path).await;
                }
            }
        }
    }
}

/// Paths that a line is about.
fn paths(routes: Routes, route: &Route) -> Vec<String> {
    match (route.at, routes) {
        (Path(path), _) => vec![path.to_owned()],
        (Addressed(base), _) => {
            let below = ["", "/", "/one", "/@key", "/@key/one"];
            below.map(|below| format!("{base}{below}")).into()
        }
        (Under(METADATA), Routes::All) => {
            let about = ["", "/mcp", "/mcp/one", "/plain/tools"];
            about.map(|about| format!("{METADATA}{about}")).into()
        }
        (Under(METADATA), Routes::Plain | Routes::Metrics) => vec![format!("{METADATA}/tools")],
        (Under(WELL_KNOWN), _) => {
            let what = [
                "oauth-authorization-server",
                "oauth-authorization-server/mcp",
            ];
            let mut paths: Vec<String> = what.map(|what| format!("{WELL_KNOWN}{what}")).into();
            paths.push(format!("{METADATA}/nothing"));
            paths
        }
        (Under(beginning), _) => vec![format!("{beginning}status")],
        (Elsewhere, _) => {
            let mut paths = vec![
                "/consoles",
                "/mcpx",
                "/api",
                "/healthz/",
                "/plain",
                "/plain/ws",
            ];
            paths.extend(["/register/", "/.well-known"]);
            match routes {
                Routes::All => paths.extend(["/mcp/nobody", "/mcp/@key/nobody", "/tools"]),
                Routes::Plain | Routes::Metrics => {
                    paths.extend(["/mcp", "/mcp/one", "/api/status", "/plain/tools"]);
                }
            }
            paths.into_iter().map(str::to_owned).collect()
        }
    }
}

/// Whatever is refused under `/api/v1/`, and by whom: one form for all of it.
#[tokio::test]
async fn all_errors_of_the_api_have_one_form() {
    for signs_in in [false, true] {
        let world = World::open(Routes::All, signs_in).await;
        let (host, ours) = ("Host: localhost\r\n", "Authorization: Bearer control\r\n");
        let long = format!("/api/v1/status?filter={}", "x".repeat(20_000));
        for (target, headers, status, code) in [
            (&*long, format!("{host}{ours}"), 414, "too-large"),
            // What answers there has a fault, which ends the request.
            ("/api/v1/other", format!("{host}{ours}"), 500, "broken"),
            (
                "/api/v1/status",
                format!("{host}{ours}{ours}"),
                400,
                "invalid",
            ),
            (
                "/api/v1/status",
                format!("Host: evil.example\r\n{ours}"),
                403,
                "not-allowed",
            ),
            (
                "/api/v1/status",
                format!("{host}Authorization: Bearer wrong\r\n"),
                401,
                "not-allowed",
            ),
        ] {
            let (got, body) = world.said(target, &headers).await;
            assert_eq!(got, status, "{headers} {body}");
            let body: Value = serde_json::from_str(&body).expect("JSON");
            let keys: Vec<&str> = body
                .as_object()
                .expect("an object")
                .keys()
                .map(String::as_str)
                .collect();
            assert_eq!(keys, ["error", "code", "hint", "field"], "{body}");
            assert_eq!(body["code"], code, "{body}");
        }
    }
}

struct World {
    address: SocketAddr,
    door: Door,
    signs_in: bool,
    _until: DropGuard,
}

impl World {
    /// A gateway with a server that nobody reaches, a client token and a control
    /// token; perhaps with an identity provider.
    async fn open(routes: Routes, signs_in: bool) -> Self {
        let settings = auth::DoorSettings {
            issuer: issuer().await.parse().expect("an address"),
            audience: "us".into(),
            resource: "http://localhost/mcp".parse().expect("an address"),
            scopes: Vec::new(),
            allow_private_addresses: false,
            roles: None,
        };
        let oidc = signs_in.then(|| Arc::new(auth::Door::new(settings).expect("a door")));
        let token = ClientToken {
            name: "ada".into(),
            secret: "client".into(),
        };
        let door = Door {
            tokens: vec![token],
            oidc,
            ..Door::default()
        };
        let spec = ServerSpec::new("one", Target::Linked(Arc::new(|_| Ok(()))));
        let rules = Rules::everything_allowed();
        let host = Host::new(vec![spec], rules, Style::default(), Budget::default());
        let options = GatewayOptions {
            control: Some(ControlAccess {
                token: "control".into(),
                control: Arc::new(Fine),
            }),
            pages: Some(SharedPages(Arc::new(Fine))),
            ..GatewayOptions::default()
        };
        let listener = http::listen(([127, 0, 0, 1], 0).into()).expect("a port");
        let address = listener.local_addr().expect("an address");
        let stop = CancellationToken::new();
        let gateway = Gateway::new(host, options);
        let serving = http::serve_routes(gateway, listener, door.clone(), routes, stop.clone());
        tokio::spawn(serving);
        Self {
            address,
            door,
            signs_in,
            _until: stop.drop_guard(),
        }
    }

    /// Each shows what it has, by a verb that the route has and by one that it has not.
    async fn everybody_asks(&self, route: &Route, path: &str) {
        // Without an identity provider there is nothing to say of it.
        let is_absent = route.opens == Anybody(Metadata) && !self.signs_in;
        let is_nothing = is_absent || route.opens == Anybody(Public::Nothing);
        let verb = route.verbs.split(", ").next().filter(|it| !it.is_empty());
        for shown in SHOWN {
            let may = match route.opens {
                // Who knows the address of an answer is decided by who answers.
                Anybody(_) | Answers => true,
                Control => shown == Some("control"),
                // Whoever shows nothing may bring a code; the rest is said elsewhere.
                Shared => shown != Some("wrong"),
                Clients(_) => shown == Some("client"),
            };
            for (verb, is_there) in [(verb.unwrap_or("GET"), true), ("PUT", route.verbs == ANY)] {
                let status = self.ask(verb, path, shown).await;
                let whole = format!("{verb} {path} by {shown:?}: {status}");
                if !may {
                    assert_eq!(status, StatusCode::UNAUTHORIZED, "{whole}");
                } else if route.opens == Clients(Nothing) || is_nothing {
                    assert_eq!(status, StatusCode::NOT_FOUND, "{whole}");
                } else if !is_there {
                    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{whole}");
                } else {
                    let refusals = [401, 403, 404, 405];
                    assert!(!refusals.contains(&status.as_u16()), "{whole}");
                }
            }
        }
    }

    /// The status of the answer to a request with these headers, and all that it says.
    async fn said(&self, target: &str, headers: &str) -> (StatusCode, String) {
        self.door.wrong_tokens.forget();
        let head = format!("GET {target} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        let mut stream = TcpStream::connect(self.address).await.expect("somebody");
        let mut answer = String::new();
        let asked = async {
            stream.write_all(head.as_bytes()).await?;
            stream.read_to_string(&mut answer).await
        };
        let asked = timeout(PATIENCE, asked).await;
        asked.expect("in time").expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
        let status = StatusCode::from_bytes(&head.as_bytes()[9..12]).expect("a status");
        (status, body.to_owned())
    }

    /// The status of the answer.
    async fn ask(&self, verb: &str, path: &str, shown: Option<&str>) -> StatusCode {
        // Whoever shows many wrong tokens is made to wait.
        self.door.wrong_tokens.forget();
        let shown = shown.map(|token| format!("Authorization: Bearer {token}\r\n"));
        let shown = shown.unwrap_or_default();
        let head = format!("{verb} {path} HTTP/1.1\r\nHost: localhost\r\n{shown}\r\n");
        let mut stream = TcpStream::connect(self.address).await.expect("somebody");
        let mut line = [0; 12];
        let asked = async {
            stream.write_all(head.as_bytes()).await?;
            stream.read_exact(&mut line).await
        };
        timeout(PATIENCE, asked)
            .await
            .expect("in time")
            .expect("an answer");
        StatusCode::from_bytes(&line[9..]).expect("a status")
    }
}

/// An identity provider that has given no keys to anybody; its address.
async fn issuer() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let keys = format!("{address}/keys");
    let document = json!({ "issuer": address, "jwks_uri": keys, "keys": [] }).to_string();
    let length = document.len();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{document}"
    );
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                asked.push(stream.read_u8().await.expect("a request"));
            }
            stream.write_all(answer.as_bytes()).await.expect("a reader");
        }
    });
    address
}

struct Fine;

impl Pages for Fine {
    fn find(&self, _path: &str, gzipped: bool) -> Option<File> {
        Some(File {
            content_type: "text/plain",
            tag: "\"1\"".into(),
            bytes: "a page".into(),
            gzipped,
            policy: "default-src 'none'".into(),
        })
    }
}

impl Control for Fine {
    fn answer(&self, asked: Asked) -> Answering<'_> {
        assert!(asked.path.ends_with("status"));
        Box::pin(async { Controlled::json(StatusCode::OK, "{}".into()) })
    }

    fn metrics<'a>(&'a self, _: Option<&'a str>, _: Counts) -> Writing<'a> {
        Box::pin(async {
            Some(Written {
                content_type: "text/plain",
                text: String::new(),
            })
        })
    }
}
