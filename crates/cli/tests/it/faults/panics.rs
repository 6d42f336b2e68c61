//! A task of ours that panics costs one request, and nobody waits for ever. In
//! each kind of task the program panics once, on purpose.

use http::Method;
use serde_json::{Value, json};
use std::time::Duration;
use switchboard::tasks::Kind;
use switchboard_testkit::world::{self, Gateway, World, address, echo, echo_http, servers, until};
use switchboard_testkit::{
    HttpClient, LEGACY, Program, StdioClient, modern_headers, oauth::Site, with_meta,
};

/// How long anything may take here: a program that hangs does so for longer.
const LONG: Duration = Duration::from_secs(60);

/// What became of one thing that a client asked for.
#[derive(Debug)]
enum Came {
    Result,
    Error(i64, Value),
    /// The connection ended before an answer: the client knows, and can try again.
    Cut(String),
}

struct Rig {
    stage: World,
    gateway: Program,
    url: String,
    token: String,
    _upstream: Program,
    _site: Option<Site>,
}

impl Rig {
    /// A gateway that panics in the task of this kind and number.
    async fn new(kind: Kind, which: u32) -> Self {
        let upstream = echo_http(&[]);
        let mut own = echo(&[]);
        own["isolation"] = json!("session");
        let mut all = servers([
            ("s", echo(&[])),
            ("h", address(&upstream).await),
            ("system", json!({"type": "builtin"})),
            ("own", own),
        ]);
        let mut site = None;
        if kind == Kind::SignIn {
            let started = Site::start().await;
            all["docs"] = json!({"type": "http", "url": started.url("/mcp")});
            site = Some(started);
        }
        let stage = World::with(&all);
        let gateway = stage
            .launch(&["serve", "--http", "127.0.0.1:0"])
            .env("SWITCHBOARD_TEST_PANIC", format!("{kind}:{which}"))
            .spawn();
        let url = gateway.url().await;
        let noted = until(LONG, || (!stage.notes().is_empty()).then_some(()));
        noted.await.expect("a note is left");
        let token = format!("Bearer {}", stage.token("tokens/default"));
        Self {
            stage,
            gateway,
            url,
            token,
            _upstream: upstream,
            _site: site,
        }
    }

    fn client(&self, path: &str) -> HttpClient {
        HttpClient::new(&format!("{}{path}", self.url)).header("authorization", &self.token)
    }

    /// One of everything that clients do; what became of each.
    async fn round(&self) -> Vec<(&'static str, Came)> {
        let mut came = Vec::new();
        let (opened, session) = self.open().await;
        came.push(("initialize", opened));
        let legacy = |name: &str, arguments: Value| {
            json!({"jsonrpc": "2.0", "id": "one", "method": "tools/call",
                "params": {"name": name, "arguments": arguments, "_meta": {"progressToken": 1}}})
        };
        if let Some(session) = &session {
            for (what, path, call) in [
                ("stdio", "/mcp/s", legacy("echo", json!({"nonce": "1"}))),
                ("http", "/mcp/h", legacy("echo", json!({"nonce": "1"}))),
                ("builtin", "/mcp/system", legacy("time", json!({}))),
                (
                    "progress",
                    "/mcp/s",
                    legacy("progress", json!({"steps": 5, "intervalMs": 30})),
                ),
            ] {
                // A session is one path's.
                let (opened, own) = self.open_at(path).await;
                came.push((what, opened));
                if let Some(own) = own {
                    came.push((what, self.post(path, Some(&own), &call).await));
                }
            }
            let list = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}});
            came.push(("list", self.post("/mcp", Some(session), &list).await));
        }
        came.push((
            "modern",
            self.modern("h__echo", json!({"nonce": "1"})).await,
        ));
        let slow = json!({"steps": 5, "intervalMs": 30});
        came.push(("modern progress", self.modern("h__progress", slow).await));
        came
    }

    async fn open(&self) -> (Came, Option<String>) {
        self.open_at("/mcp").await
    }

    async fn open_at(&self, path: &str) -> (Came, Option<String>) {
        let params = json!({"protocolVersion": LEGACY, "clientInfo": {"name": "t", "version": "1"},
            "capabilities": {"elicitation": {}}});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
            .to_string();
        let mut client = self.client(path);
        let sent = client.try_send(Method::POST, &[], hello.into());
        let reply = tokio::time::timeout(LONG, sent).await;
        match reply.expect("initialize is answered") {
            Ok(reply) => {
                let session = reply.header("mcp-session-id").map(str::to_owned);
                (judged(&reply.message()), session)
            }
            Err(fault) => (Came::Cut(fault.to_string()), None),
        }
    }

    async fn post(&self, path: &str, session: Option<&str>, body: &Value) -> Came {
        let mut client = self.client(path);
        if let Some(session) = session {
            client = client
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", LEGACY);
        }
        let sent = client.try_send(Method::POST, &[], body.to_string().into());
        let reply = tokio::time::timeout(LONG, sent).await;
        match reply.unwrap_or_else(|_| panic!("nobody answers {body}")) {
            Ok(reply) if reply.messages().is_empty() => Came::Cut("an empty stream".into()),
            Ok(reply) => judged(&reply.message()),
            Err(fault) => Came::Cut(fault.to_string()),
        }
    }

    async fn modern(&self, name: &str, arguments: Value) -> Came {
        let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": 5}});
        let params = with_meta(params);
        let headers = modern_headers("tools/call", &params);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let body = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params});
        let mut client = self.client("/mcp");
        let sent = client.try_send(Method::POST, &headers, body.to_string().into());
        let reply = tokio::time::timeout(LONG, sent).await;
        match reply.unwrap_or_else(|_| panic!("nobody answers {body}")) {
            Ok(reply) if reply.messages().is_empty() => Came::Cut("an empty stream".into()),
            Ok(reply) => judged(&reply.message()),
            Err(fault) => Came::Cut(fault.to_string()),
        }
    }

    /// What the gateway says of itself.
    async fn panics(&self) -> u64 {
        let control = format!("Bearer {}", self.stage.token("control-token"));
        let asking = async || {
            let mut client = HttpClient::new(&format!("{}/api/v1/state", self.url))
                .header("authorization", &control);
            let reply = client
                .try_send(Method::GET, &[], Vec::new().into())
                .await
                .ok()?;
            serde_json::from_slice::<Value>(&reply.body).ok()?["gateway"]["panics"].as_u64()
        };
        for _ in 0..3 {
            if let Some(panics) = asking().await {
                return panics;
            }
        }
        panic!("the gateway does not say how it is");
    }
}

fn judged(answer: &Value) -> Came {
    match answer["error"]["code"].as_i64() {
        Some(code) => Came::Error(code, answer["id"].clone()),
        None => Came::Result,
    }
}

/// Nobody hangs, what failed failed as it should, it counts and is told, and
/// afterwards everything works.
async fn one_panic(kind: Kind, which: u32) {
    let rig = Rig::new(kind, which).await;
    let mut came = Vec::new();
    if matches!(kind, Kind::Connecting | Kind::Arriving) {
        // The first thing that happens to any server, and somebody waits for it.
        came.push(("first", rig.open_at("/mcp/s").await.0));
    }
    came.extend(rig.round().await);
    if kind == Kind::SignIn {
        let list = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}});
        let (opened, session) = rig.open_at("/mcp/docs").await;
        came.push(("sign-in", opened));
        if let Some(session) = session {
            came.push((
                "sign-in",
                rig.post("/mcp/docs", Some(&session), &list).await,
            ));
        }
    }
    if kind == Kind::Question {
        let (_, session) = rig.open_at("/mcp/s").await;
        let call = json!({"jsonrpc": "2.0", "id": "one", "method": "tools/call",
            "params": {"name": "elicit", "arguments": {}}});
        came.push((
            "question",
            rig.post("/mcp/s", session.as_deref(), &call).await,
        ));
    }
    if kind == Kind::Background {
        // A server of its own ends with its session.
        let (opened, session) = rig.open_at("/mcp/own").await;
        came.push(("own", opened));
        let mut client = rig.client("/mcp/own");
        client = client.header("mcp-session-id", &session.unwrap());
        client.send(Method::DELETE, &[], "").await;
    }
    if kind == Kind::Listening {
        let wanted = json!({"notifications": {"toolsListChanged": true}});
        let mut client = rig.client("/mcp");
        let mut listening = client.modern_stream("subscriptions/listen", wanted).await;
        let first = if listening.is_events() {
            listening.message().await.expect("a first message")
        } else {
            serde_json::from_slice(&listening.body().await).unwrap()
        };
        came.push(("listening", judged(&first)));
    }
    if kind == Kind::Conversation {
        let mut client = rig.stage.attached(&[]).await;
        let answer = within(client.call("s__echo", json!({"nonce": "2"}))).await;
        came.push(("attached", judged(&answer)));
        let answer = within(client.call("s__echo", json!({"nonce": "2"}))).await;
        assert!(matches!(judged(&answer), Came::Result), "{answer}");
    }
    let wrong = came.iter().filter(|(_, came)| match came {
        Came::Result => false,
        // Under the request's own id, except where nobody has read it yet.
        Came::Error(code, id) => *code != -32603 || id.is_null() && kind != Kind::Http,
        Came::Cut(why) => ![Kind::Connection, Kind::Http].contains(&kind) || why.is_empty(),
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{kind}: {wrong:?}");
    let answered = [
        Kind::Request,
        Kind::Message,
        Kind::Http,
        Kind::Conversation,
        Kind::Connecting,
        Kind::Arriving,
    ];
    if answered.contains(&kind) {
        let errors = came.iter();
        let errors = errors.filter(|(_, came)| matches!(came, Came::Error(-32603, _)));
        assert!(errors.count() > 0, "{kind}: {came:?}");
    }
    let panics = until_panics(&rig).await;
    assert_eq!(panics, 1, "{kind}: {came:?}\n{}", rig.gateway.stderr());
    let line = rig
        .gateway
        .wait_for_line("a bug in Switchboard: something panicked")
        .await;
    assert!(line.contains(".rs:"), "it says where: {line}");
    let doctor = rig.stage.run(&["doctor", "--no-connect", "--json"]).await;
    let findings = doctor.json();
    let told = findings.as_array().unwrap().iter();
    let told: Vec<&Value> = told.filter(|finding| finding["area"] == "panics").collect();
    assert_eq!(told.len(), 1, "{findings:#}");
    assert!(
        told[0]["found"].as_str().unwrap().contains("kind.rs:"),
        "{told:?}"
    );
    // A server that could not be started is left alone for a moment.
    let deadline = tokio::time::Instant::now() + LONG;
    loop {
        let after = rig.round().await;
        let ills = after.iter();
        let ills: Vec<_> = ills
            .filter(|(_, came)| !matches!(came, Came::Result))
            .collect();
        if ills.is_empty() {
            break;
        }
        let now = tokio::time::Instant::now();
        assert!(now < deadline, "{kind}, afterwards: {ills:?}");
    }
}

/// What comes a moment after the answers counts as well.
async fn until_panics(rig: &Rig) -> u64 {
    for _ in 0..200 {
        match rig.panics().await {
            0 => tokio::time::sleep(Duration::from_millis(50)).await,
            panics => return panics,
        }
    }
    0
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, work).await.expect("an answer")
}

macro_rules! each {
    ($($name:ident: $kind:ident $which:literal,)*) => {
        $(#[tokio::test]
        async fn $name() {
            one_panic(Kind::$kind, $which).await;
        })*

        #[test]
        fn every_kind_of_task_is_tried() {
            let tried = [$(Kind::$kind),*];
            for kind in Kind::ALL {
                assert!(tried.contains(&kind), "no test panics in {kind}");
            }
        }
    };
}

each! {
    a_request: Request 2,
    a_message: Message 2,
    an_http_request: Http 2,
    the_events_of_an_answer: Stream 1,
    a_connection: Connection 2,
    a_client_on_a_channel: Conversation 1,
    a_question: Question 1,
    // After those that wait for signals.
    upkeep: Upkeep 4,
    a_connection_in_the_making: Connecting 1,
    what_arrives_from_a_server: Arriving 1,
    listening: Listening 1,
    background_work: Background 1,
    a_reader: Reader 1,
    a_writer: Writer 1,
    a_post: Post 1,
    a_watched_process: Process 1,
    a_sign_in: SignIn 1,
    a_built_in_server: Builtin 1,
    work_on_a_thread: Blocking 1,
}

#[tokio::test]
async fn a_second_request_under_an_id_in_flight_is_refused_and_the_first_goes_on() {
    let gateway = Gateway::start(&servers([("echo", echo(&[]))])).await;
    let mut client = gateway.legacy("/mcp").await;
    let call = |name: &str, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": "twice", "method": "tools/call",
            "params": {"name": name, "arguments": arguments, "_meta": {"progressToken": 1}}})
        .to_string()
    };
    // Notices keep coming: each of them makes the first look again at whether it was given up.
    let first = call("echo__progress", json!({"steps": 40, "intervalMs": 50}));
    let mut first = client.open(Method::POST, &[], first).await;
    let begun = first.message().await.expect("a notice");
    assert_eq!(begun["method"], "notifications/progress", "{begun}");
    let second = client
        .post(call("echo__echo", json!({"nonce": "2"})))
        .await
        .message();
    assert_eq!(second["error"]["code"], -32600, "{second}");
    assert_eq!(second["id"], "twice");
    let mut last = begun;
    while let Some(message) = first.message().await {
        last = message;
    }
    assert_eq!(last["id"], "twice", "{last}");
    assert_eq!(last["result"]["content"][0]["text"], "40 steps", "{last}");
    // It is free again, and the first could still be given up: see `relay_cancel`.
    let third = client
        .post(call("echo__echo", json!({"nonce": "3"})))
        .await
        .message();
    assert_eq!(third["result"]["content"][0]["text"], "3", "{third}");
    assert!(!gateway.program.stderr().contains("panicked"));
}

#[tokio::test]
async fn a_second_request_under_an_id_in_flight_is_refused_on_a_channel_too() {
    let mut client: StdioClient = world::stdio_client(&servers([("echo", echo(&[]))]));
    client.initialize(LEGACY).await;
    let call = |name: &str, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": "twice", "method": "tools/call",
            "params": {"name": name, "arguments": arguments, "_meta": {"progressToken": 1}}})
        .to_string()
    };
    let names = world::tool_names(&mut client).await;
    let progress = names
        .iter()
        .find(|name| name.ends_with("progress"))
        .unwrap();
    let slow = json!({"steps": 20, "intervalMs": 50});
    client.send_raw(call(progress, slow)).await;
    assert_eq!(client.next().await["method"], "notifications/progress");
    client.send_raw(call(progress, json!({"steps": 1}))).await;
    let mut answers = Vec::new();
    while answers.len() < 2 {
        let message = client.next().await;
        if message["id"] == "twice" {
            answers.push(message);
        }
    }
    assert_eq!(answers[0]["error"]["code"], -32600, "{answers:?}");
    assert_eq!(
        answers[1]["result"]["content"][0]["text"], "20 steps",
        "{answers:?}"
    );
}
