//! A modern server that does not accept how a request was put to it, because
//! its tool has come to want a header: that is between it and us.

use crate::support::Client;
use http::Method;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicUsize, Ordering},
};
use switchboard_gateway::{Door, Gateway, GatewayOptions, faces};
use switchboard_host::{Host, Remote, ServerSpec, Target, permission::Rules};
use switchboard_testkit::{
    Heard, HttpClient, HttpServer, LEGACY, MODERN, Said, modern_headers, with_meta,
};
use switchboard_transport::Budget;
use switchboard_wire::name::Style;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// What the server thinks of headers.
#[derive(Default)]
struct Moods {
    /// Which parameter has to be mirrored: none, `a`, `b`.
    wants: AtomicU32,
    /// Whether nothing is good enough.
    never: AtomicU32,
    /// How often the tool was carried out.
    ran: AtomicUsize,
}

fn say(moods: &Moods, heard: &Heard) -> Said {
    let wants = ["", "a", "b"][moods.wants.load(Ordering::SeqCst) as usize];
    let params = &heard.message["params"];
    match heard.method() {
        "server/discover" => Said::Result(json!({
            "resultType": "complete", "supportedVersions": [MODERN], "capabilities": {"tools": {}},
            "ttlMs": 0, "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "moody", "version": "1"}},
        })),
        "tools/list" => {
            let mut properties = json!({"a": {"type": "string"}, "b": {"type": "string"}});
            if !wants.is_empty() {
                properties[wants]["x-mcp-header"] = json!("Key");
            }
            let schema = json!({"type": "object", "properties": properties});
            Said::Result(json!({
                "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "tools": [
                    {"name": "work", "inputSchema": schema},
                    {"name": "wrong", "inputSchema": {"type": "object",
                        "properties": {"a": {"type": "string", "x-mcp-header": "has space"}}}},
                ],
            }))
        }
        "tools/call" => {
            let expected = params["arguments"][wants].as_str();
            let never = moods.never.load(Ordering::SeqCst);
            if never == 1 {
                return Said::Error(400, -32020, "Header mismatch: never");
            }
            if never == 2 {
                return Said::Error(400, -32022, "Unsupported protocol version");
            }
            if heard.header("mcp-param-key") != expected {
                return Said::Error(400, -32020, "Header mismatch: Mcp-Param-Key");
            }
            let asks = params["arguments"]["ask"] == true;
            if asks && params.get("inputResponses").is_none() {
                // The list changes while the client thinks.
                moods.wants.store(2, Ordering::SeqCst);
                let form = json!({"message": "?", "mode": "form",
                    "requestedSchema": {"type": "object", "properties": {}}});
                return Said::Result(json!({
                    "resultType": "input_required", "requestState": "s",
                    "inputRequests": {"q": {"method": "elicitation/create", "params": form}},
                }));
            }
            moods.ran.fetch_add(1, Ordering::SeqCst);
            let text = json!({"type": "text", "text": "worked"});
            Said::Result(json!({"resultType": "complete", "content": [text]}))
        }
        "subscriptions/listen" => {
            let meta = json!({"io.modelcontextprotocol/subscriptionId": heard.message["id"]});
            let told = json!({"_meta": meta, "notifications": {"toolsListChanged": true}});
            Said::Open(
                json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": told}),
            )
        }
        _ => Said::Error(404, -32601, "Method not found"),
    }
}

fn gateway(server: &HttpServer) -> Arc<Gateway> {
    let remote = Remote::new(server.url.parse().expect("an address"));
    let spec = ServerSpec::new("moody", Target::Http(remote));
    let host = Host::new(
        vec![spec],
        Rules::everything_allowed(),
        Style::default(),
        Budget::default(),
    );
    Gateway::new(host, GatewayOptions::default())
}

struct Stage {
    moods: Arc<Moods>,
    server: HttpServer,
    client: Client,
}

impl Stage {
    /// A client of this revision in front of the moody server.
    async fn new(version: &str) -> Self {
        let moods = Arc::<Moods>::default();
        let its = moods.clone();
        let server = HttpServer::start(move |heard| say(&its, heard)).await;
        let gateway = gateway(&server);
        let client = match version {
            LEGACY => Client::legacy(&gateway, Some("moody")).await.0,
            _ => Client::modern(&gateway, Some("moody")),
        };
        Self {
            moods,
            server,
            client,
        }
    }

    /// Calls the tool; what the client gets, and how often the server was asked and did it.
    async fn work(&mut self, arguments: Value) -> (Value, usize, usize) {
        let asked = self.server.heard("tools/call").len();
        let ran = self.moods.ran.load(Ordering::SeqCst);
        let params = json!({"name": "work", "arguments": arguments});
        let answer = self.client.ask("tools/call", params).await;
        let asked = self.server.heard("tools/call").len() - asked;
        (answer, asked, self.moods.ran.load(Ordering::SeqCst) - ran)
    }
}

fn worked(answer: &Value) -> bool {
    answer["result"]["content"][0]["text"] == "worked"
}

/// Never the server's complaint; which server, and what it said.
fn assert_ours(answer: &Value, code: &str) {
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert_eq!(answer["error"]["data"]["server"], "moody", "{answer}");
    let reason = answer["error"]["data"]["reason"]
        .as_str()
        .expect("a reason");
    assert!(reason.contains(code), "{answer}");
}

#[tokio::test]
async fn a_tool_that_comes_to_want_a_header_gets_it() {
    for version in [LEGACY, MODERN] {
        let mut stage = Stage::new(version).await;
        let arguments = json!({"a": "one", "b": "tw\u{f6}"});
        let (answer, asked, ran) = stage.work(arguments.clone()).await;
        assert!(worked(&answer), "{version}: {answer}");
        assert_eq!((asked, ran), (1, 1), "{version}");
        let lists = stage.server.heard("tools/list").len();

        stage.moods.wants.store(1, Ordering::SeqCst);
        let (answer, asked, ran) = stage.work(arguments.clone()).await;
        assert!(worked(&answer), "{version}: {answer}");
        assert_eq!((asked, ran), (2, 1), "{version}: refused, then made once");
        assert_eq!(
            stage.server.heard("tools/list").len(),
            lists + 1,
            "{version}"
        );
        let last = stage.server.heard("tools/call").pop().expect("a call");
        assert_eq!(last.header("mcp-param-key"), Some("one"), "{version}");

        // From now on it is known.
        let (answer, asked, _) = stage.work(arguments.clone()).await;
        assert!(worked(&answer) && asked == 1, "{version}: {answer}");
        // A legacy client hears that the list is another one.
        let told = |message: &&Value| message["method"] == "notifications/tools/list_changed";
        let told = stage.client.heard.iter().filter(told).count();
        assert_eq!(
            told,
            usize::from(version == LEGACY),
            "{:?}",
            stage.client.heard
        );

        // The header goes away again.
        stage.moods.wants.store(0, Ordering::SeqCst);
        let (answer, asked, ran) = stage.work(arguments).await;
        assert!(worked(&answer), "{version}: {answer}");
        assert_eq!((asked, ran), (2, 1), "{version}");
    }
}

#[tokio::test]
async fn a_server_that_always_refuses_is_asked_twice() {
    for version in [LEGACY, MODERN] {
        let mut stage = Stage::new(version).await;
        stage.moods.never.store(1, Ordering::SeqCst);
        let (answer, asked, ran) = stage.work(json!({})).await;
        assert_ours(&answer, "-32020");
        assert_eq!((asked, ran), (2, 0), "{version}");
        // It is that call's misfortune alone.
        stage.moods.never.store(0, Ordering::SeqCst);
        let (answer, asked, _) = stage.work(json!({})).await;
        assert!(worked(&answer) && asked == 1, "{version}: {answer}");
    }
}

#[tokio::test]
async fn a_version_that_is_no_longer_accepted_is_not_the_clients_affair() {
    for version in [LEGACY, MODERN] {
        let mut stage = Stage::new(version).await;
        stage.moods.never.store(2, Ordering::SeqCst);
        let (answer, asked, ran) = stage.work(json!({})).await;
        assert_ours(&answer, "-32022");
        assert_eq!((asked, ran), (2, 0), "{version}");
        // Several in a row, and it is met again.
        let met = stage.server.heard("server/discover").len();
        let (answer, ..) = stage.work(json!({})).await;
        assert_eq!(answer["error"]["code"], -32603, "{version}: {answer}");
        stage.moods.never.store(0, Ordering::SeqCst);
        let (answer, ..) = stage.work(json!({})).await;
        assert!(worked(&answer), "{version}: {answer}");
        assert!(
            stage.server.heard("server/discover").len() > met,
            "{version}"
        );
    }
}

/// A client over HTTP that has read the server's newer list is not held to ours.
#[tokio::test]
async fn a_client_with_the_newer_list_is_right() {
    let moods = Arc::<Moods>::default();
    let its = moods.clone();
    let server = HttpServer::start(move |heard| say(&its, heard)).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let door = Door {
        open: true,
        ..Door::default()
    };
    let stop = CancellationToken::new();
    tokio::spawn(faces::http::serve(
        gateway(&server),
        listener,
        door,
        stop.clone(),
    ));
    let mut client = HttpClient::new(&format!("http://{address}/mcp/moody"));
    let params = with_meta(json!({"name": "work", "arguments": {"a": "one", "b": "two"}}));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    // What the server wants from now on, what the client sends, what it gets.
    for (wants, header, error) in [
        (1, Some("one"), None),
        (2, Some("two"), None),
        (0, None, None),
        // It has not heard of the change either, but what it sent was right before.
        (1, None, None),
        (1, None, Some(-32020)),
        (1, Some("two"), Some(-32020)),
    ] {
        moods.wants.store(wants, Ordering::SeqCst);
        let headers = modern_headers("tools/call", &params);
        let mut extra: Vec<(&str, &str)> = headers.iter().map(|(k, v)| (*k, v.as_str())).collect();
        extra.extend(header.map(|value| ("mcp-param-key", value)));
        let reply = client.send(Method::POST, &extra, call.to_string()).await;
        let answer = reply.message();
        let what = format!("{wants} {header:?}: {answer}");
        assert_eq!(answer["error"]["code"].as_i64(), error, "{what}");
        assert_eq!(worked(&answer), error.is_none(), "{what}");
    }
    stop.cancel();
}

/// What the client answered in an earlier round is not asked again.
#[tokio::test]
async fn a_round_is_repeated_and_not_the_whole_call() {
    let mut stage = Stage::new(LEGACY).await;
    let arguments = json!({"a": "one", "b": "two", "ask": true});
    let before = stage.server.heard("tools/call").len();
    let params = json!({"name": "work", "arguments": arguments});
    let id = stage.client.start("tools/call", params);
    let question = stage.client.hears("elicitation/create").await;
    let result = json!({"action": "accept", "content": {}});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    stage.client.send(&answer);
    let answer = stage.client.answer(id).await;
    let asked = stage.server.heard("tools/call").len() - before;
    let ran = stage.moods.ran.load(Ordering::SeqCst);
    assert!(worked(&answer), "{answer}");
    assert_eq!((asked, ran), (3, 1));
    let calls = stage.server.heard("tools/call");
    let answered = |call: &Heard| call.message["params"].get("inputResponses").is_some();
    let rounds: Vec<bool> = calls.iter().map(answered).collect();
    assert_eq!(rounds, [false, true, true]);
    assert_eq!(calls[2].header("mcp-param-key"), Some("two"));
    let questions = stage.client.heard.iter();
    let questions = questions.filter(|one| one["method"] == "elicitation/create");
    assert_eq!(questions.count(), 0, "{:?}", stage.client.heard);
}

/// A tool that cannot be called over modern HTTP is not there, whatever the client speaks.
#[tokio::test]
async fn a_tool_with_a_wrong_header_is_not_listed() {
    let moods = Arc::<Moods>::default();
    let server = HttpServer::start(move |heard| say(&moods, heard)).await;
    let gateway = gateway(&server);
    let (legacy, _) = Client::legacy(&gateway, None).await;
    for mut client in [legacy, Client::modern(&gateway, None)] {
        let list = client.ask("tools/list", json!({})).await;
        let tools = list["result"]["tools"].as_array().expect("tools");
        let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["moody__work"], "{list}");
    }
}
