//! What stays open ends when whoever opened it may not come in any more: its
//! token was revoked, or has expired.

use futures_util::{SinkExt, StreamExt};
use http::Method;
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{World, now_ms};
use switchboard_testkit::{EventStream, HttpClient, LEGACY, Program, bin, oauth::Site};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::timeout,
};
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};

const LIMIT: Duration = Duration::from_secs(90);
const POLICY: u16 = 1008;

type Socket = tokio_tungstenite::WebSocketStream<TcpStream>;

fn person() -> World {
    World::person_with(&json!({"echo": {
        "command": bin("echo-server"), "args": ["--stdio"], "era": "legacy",
    }}))
}

/// One of everything that stays open.
struct Held {
    streams: Vec<(&'static str, EventStream)>,
    socket: Socket,
    attached: Attached,
}

/// A connection that carries lines.
struct Attached {
    lines: Lines<BufReader<OwnedReadHalf>>,
    write: OwnedWriteHalf,
}

impl Attached {
    async fn open(url: &str, token: &str) -> Self {
        let authority = url.strip_prefix("http://").unwrap();
        let (read, mut write) = TcpStream::connect(authority).await.unwrap().into_split();
        let head = format!(
            "GET /attach HTTP/1.1\r\nHost: {authority}\r\nAuthorization: {token}\r\n\
             Connection: Upgrade\r\nUpgrade: mcp-lines\r\n\r\n"
        );
        write.write_all(head.as_bytes()).await.unwrap();
        let mut lines = BufReader::new(read).lines();
        let status = lines.next_line().await.unwrap().unwrap();
        assert!(status.contains("101"), "{status}");
        while lines
            .next_line()
            .await
            .unwrap()
            .is_some_and(|line| !line.is_empty())
        {}
        let mut attached = Self { lines, write };
        attached.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
        }})).await;
        let hello = attached.lines.next_line().await.unwrap().unwrap();
        assert!(hello.contains("serverInfo"), "{hello}");
        attached
    }

    async fn say(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.write.write_all(line.as_bytes()).await.unwrap();
    }

    /// Reads until nothing more comes.
    async fn end(&mut self) {
        while let Ok(Some(_)) = self.lines.next_line().await {}
    }
}

async fn socket(url: &str, token: &str) -> Socket {
    let address = format!("{}/ws", url.replace("http://", "ws://"));
    let mut request = address.into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("authorization", token.parse().unwrap());
    headers.insert("sec-websocket-protocol", "mcp".parse().unwrap());
    let stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).await;
    let (socket, _) = tokio_tungstenite::client_async(request, stream.unwrap())
        .await
        .unwrap();
    socket
}

/// Opens everything; a call of ten minutes is under way in each kind of stream.
async fn open(url: &str, token: &str) -> Held {
    let client =
        |path: &str| HttpClient::new(&format!("{url}{path}")).header("authorization", token);
    let sleep = json!({"name": "echo__sleep", "arguments": {"ms": 600_000}});
    let mut legacy = client("/mcp");
    legacy.initialize(LEGACY).await;
    let mut streams = vec![
        ("the GET stream", legacy.listen().await),
        (
            "a legacy call",
            legacy.stream("tools/call", sleep.clone()).await,
        ),
    ];
    let filter = json!({"notifications": {"toolsListChanged": true}});
    streams.push((
        "listen",
        client("/mcp")
            .modern_stream("subscriptions/listen", filter)
            .await,
    ));
    streams.push((
        "a modern call",
        client("/mcp")
            .modern_stream("tools/call", sleep.clone())
            .await,
    ));
    streams.push(("HTTP+SSE", client("/sse").listen().await));
    streams.push(("the plain dialect", client("/plain/sse").listen().await));
    for (what, stream) in &streams {
        assert_eq!(stream.status, 200, "{what}");
    }
    let mut socket = socket(url, token).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    socket.send(Message::text(call)).await.unwrap();
    let pong = socket.next().await.unwrap().unwrap();
    assert!(pong.is_text(), "{pong}");
    Held {
        streams,
        socket,
        attached: Attached::open(url, token).await,
    }
}

impl Held {
    /// Waits for the end of each; what was on its way may still come.
    async fn end(mut self, reason: &str) {
        let attached = timeout(LIMIT, self.attached.end()).await;
        attached.expect("/attach ends");
        for (what, stream) in &mut self.streams {
            let ended = timeout(LIMIT, async {
                // A quiet stream says now and then that it is alive.
                while let Some(_event) = stream.next_within(LIMIT).await {}
            });
            assert!(ended.await.is_ok(), "{what} is still open");
        }
        let closed = timeout(LIMIT, async {
            while let Some(Ok(message)) = self.socket.next().await {
                if let Message::Close(Some(frame)) = message {
                    return (u16::from(frame.code), frame.reason.to_string());
                }
            }
            panic!("the socket broke off without a word");
        });
        let closed = closed.await.expect("the socket ends");
        assert_eq!(closed, (POLICY, reason.to_owned()));
    }
}

async fn token(person: &World, name: &str) -> String {
    let made = person.run(&["token", "create", name]).await.ok();
    format!("Bearer {}", made.out.trim())
}

#[tokio::test]
async fn everything_that_a_revoked_token_holds_ends() {
    let person = person();
    let (_gateway, url) = person.serve(&[]).await;
    let (alice, bob) = (token(&person, "alice").await, token(&person, "bob").await);
    let (hers, mut his) = (open(&url, &alice).await, open(&url, &bob).await);
    person.run(&["token", "revoke", "alice"]).await.ok();
    hers.end("the token was revoked").await;
    // Nobody else notices.
    his.attached
        .say(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}))
        .await;
    let pong = his.attached.lines.next_line().await.unwrap();
    assert!(pong.unwrap().contains("\"id\":2"));
}

#[tokio::test]
async fn a_new_token_of_the_same_name_keeps_nothing_of_the_old_one_open() {
    let person = person();
    let (_gateway, url) = person.serve(&[]).await;
    let old = token(&person, "alice").await;
    let held = open(&url, &old).await;
    person.run(&["token", "revoke", "alice"]).await.ok();
    let new = token(&person, "alice").await;
    held.end("the token was revoked").await;
    let mut client = HttpClient::new(&format!("{url}/mcp")).header("authorization", &new);
    assert_eq!(client.modern("tools/list", json!({})).await.status, 200);
}

/// A gateway whose clients sign in at an identity provider.
struct Signed {
    site: Site,
    url: String,
    _gateway: Program,
}

impl Signed {
    async fn start() -> Self {
        let site = Site::start().await;
        let issuer = site.url("/idp").to_string();
        let args = ["--auth", "oidc", "--issuer", &issuer, "--audience", "us"];
        let (gateway, url) = person().serve(&args).await;
        Self {
            site,
            url,
            _gateway: gateway,
        }
    }

    /// A token of alice's that is good for this long.
    async fn token(&self, seconds: u64) -> String {
        let wish = json!({"kid": "idp-1", "typ": "at+jwt", "claims": {
            "iss": format!("{}/idp", self.site.base), "aud": "us", "sub": "alice",
            "exp": now_ms() / 1000 + seconds,
        }});
        format!("Bearer {}", self.site.token(wish).await)
    }
}

#[tokio::test]
async fn everything_that_an_expired_token_holds_ends() {
    let signed = Signed::start().await;
    // Known before, so that a slow start does not take the token's time.
    let lasting = signed.token(3600).await;
    let mut client =
        HttpClient::new(&format!("{}/mcp", signed.url)).header("authorization", &lasting);
    assert_eq!(client.modern("tools/list", json!({})).await.status, 200);
    let brief = signed.token(12).await;
    let held = open(&signed.url, &brief).await;
    held.end("the token has expired").await;
    // The same person with a newer token is as welcome as before.
    assert_eq!(client.modern("tools/list", json!({})).await.status, 200);
}

/// A session is worth nothing without a token, and is there again with a new one.
#[tokio::test]
async fn a_session_goes_on_with_a_newer_token() {
    let signed = Signed::start().await;
    let brief = signed.token(8).await;
    let address = format!("{}/mcp", signed.url);
    let mut client = HttpClient::new(&address).header("authorization", &brief);
    client.initialize(LEGACY).await;
    let mut general = client.listen().await;
    while general.next_within(LIMIT).await.is_some() {}
    let newer = signed.token(3600).await;
    let mut client = client.clone_for(&[("authorization", &newer)]);
    let listed = client.request("tools/list", json!({})).await;
    assert!(listed["result"]["tools"].is_array(), "{listed}");
}

#[tokio::test]
async fn a_call_that_waits_for_its_client_ends_with_the_token() {
    let signed = Signed::start().await;
    let address = format!("{}/mcp", signed.url);
    let lasting = signed.token(3600).await;
    let mut later = HttpClient::new(&address).header("authorization", &lasting);
    let call = json!({"name": "echo__elicit", "arguments": {}});
    // With a token that lasts, the same works.
    for (seconds, works) in [(3600, true), (10, false)] {
        let brief = signed.token(seconds).await;
        let mut client = HttpClient::new(&address).header("authorization", &brief);
        let asked = client.modern("tools/call", call.clone()).await.message();
        let state = asked["result"]["requestState"].clone();
        assert!(state.is_string(), "{asked}");
        let key = asked["result"]["inputRequests"].as_object().unwrap();
        let key = key.keys().next().unwrap().clone();
        if !works {
            // Opened with a token that ends a moment later: then the other is over.
            let filter = json!({"notifications": {"toolsListChanged": true}});
            let token = signed.token(seconds + 2).await;
            let mut watch = HttpClient::new(&address).header("authorization", &token);
            let mut watch = watch.modern_stream("subscriptions/listen", filter).await;
            while watch.next_within(LIMIT).await.is_some() {}
        }
        let mut retry = call.clone();
        retry["requestState"] = state;
        retry["inputResponses"] = json!({ key: {"action": "accept", "content": {"answer": "x"}} });
        let answer = later.modern("tools/call", retry).await.message();
        assert_eq!(answer["result"].is_object(), works, "{answer}");
        if !works {
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
    }
}

/// The token is looked at before anything is held: nobody outside gets a session.
#[tokio::test]
async fn the_doors_of_long_lived_routes_are_shut_to_a_revoked_token() {
    let person = person();
    let (_gateway, url) = person.serve(&[]).await;
    let alice = token(&person, "alice").await;
    person.run(&["token", "revoke", "alice"]).await.ok();
    for path in ["/mcp", "/sse", "/ws", "/attach", "/plain/sse"] {
        let mut client = HttpClient::new(&format!("{url}{path}")).header("authorization", &alice);
        let reply = client.send(Method::GET, &[], "").await;
        assert_eq!(reply.status, 401, "{path}");
    }
}
