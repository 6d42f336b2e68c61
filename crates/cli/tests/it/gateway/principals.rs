//! Two principals at the same servers: neither sees anything of the other, also
//! after a reconnect and after a restart.

use http::Method;
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};
use switchboard_testkit::world::{Gateway, World, echo};
use switchboard_testkit::{
    EventStream, Heard, HttpClient, HttpServer, LEGACY, MODERN, Program, Said, text_of,
};

/// A remote server with tasks. It cannot tell our principals apart: they all come
/// with the same credential.
async fn tasks_server() -> HttpServer {
    let tasks = Arc::<Mutex<Vec<String>>>::default();
    HttpServer::start(move |heard| {
        let params = &heard.message["params"];
        let named = params["taskId"].as_str().unwrap_or_default().to_owned();
        let task = |id: &str| json!({"taskId": id, "status": "working", "ttl": null});
        let mut tasks = tasks.lock().unwrap();
        let known = tasks.contains(&named);
        Said::Result(match heard.method() {
            "initialize" => json!({
                "protocolVersion": LEGACY,
                "capabilities": {"tools": {}, "tasks": {
                    "list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}},
                "serverInfo": {"name": "tasks", "version": "1"},
            }),
            "tools/list" => json!({"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}),
            "tools/call" => {
                let id = format!("task-{}", tasks.len());
                tasks.push(id.clone());
                json!({"task": task(&id)})
            }
            "tasks/list" => {
                let all: Vec<Value> = tasks.iter().map(|id| task(id)).collect();
                json!({ "tasks": all })
            }
            "tasks/get" | "tasks/cancel" if known => task(&named),
            "tasks/result" if known => {
                json!({"content": [{"type": "text", "text": format!("the secret of {named}")}]})
            }
            "tasks/get" | "tasks/cancel" | "tasks/result" => {
                return Said::Error(200, -32602, "no such task here");
            }
            "server/discover" => return Said::Error(404, -32601, "what is that?"),
            _ => json!({}),
        })
    })
    .await
}

/// A gateway with a token for each principal.
struct Rig {
    stage: World,
    gateway: Option<Program>,
}

impl Rig {
    async fn start(servers: &Value, names: &[&str]) -> Self {
        let stage = World::with(servers);
        let gateway = Some(stage.gateway().await);
        for name in names {
            stage.run(&["token", "create", name]).await.ok();
        }
        Self { stage, gateway }
    }

    async fn restart(&mut self) {
        let mut gateway = self.gateway.take().unwrap();
        gateway.signal(rustix::process::Signal::TERM);
        gateway.wait(std::time::Duration::from_secs(60)).await;
        drop(gateway);
        self.gateway = Some(self.stage.gateway().await);
    }

    async fn client(&self, name: &str, path: &str) -> HttpClient {
        let token = format!("Bearer {}", self.stage.token(&format!("tokens/{name}")));
        let url = self.gateway.as_ref().unwrap().url().await;
        HttpClient::new(&format!("{url}{path}")).header("authorization", &token)
    }

    async fn legacy(&self, name: &str, path: &str) -> HttpClient {
        let mut client = self.client(name, path).await;
        client.initialize(LEGACY).await;
        client
    }
}

/// Makes a task, at all servers together or at one; its id.
async fn work(client: &mut HttpClient, tool: &str) -> String {
    let call = json!({"name": tool, "arguments": {}, "task": {"ttl": 60_000}});
    let made = client.request("tools/call", call).await;
    let id = made["result"]["task"]["taskId"].as_str();
    id.unwrap_or_else(|| panic!("{made}")).to_owned()
}

async fn listed(client: &mut HttpClient) -> Vec<String> {
    let listed = client.request("tasks/list", json!({})).await;
    let tasks = listed["result"]["tasks"].as_array();
    let tasks = tasks.unwrap_or_else(|| panic!("{listed}"));
    let id = |task: &Value| task["taskId"].as_str().unwrap().to_owned();
    tasks.iter().map(id).collect()
}

/// Whether a client can do everything with a task, or nothing.
async fn reaches(client: &mut HttpClient, task: &str) -> bool {
    let mut reached = Vec::new();
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let answer = client.request(method, json!({"taskId": task})).await;
        if answer["error"].is_object() {
            // In the words for one that is not there, and not in the server's.
            assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
            assert_eq!(answer["error"]["message"], "Unknown task", "{method}");
        }
        reached.push(answer["result"].is_object());
    }
    assert!(reached.iter().all(|one| *one == reached[0]), "{reached:?}");
    reached[0]
}

#[tokio::test]
async fn tasks_at_a_shared_server_are_their_principals() {
    for isolation in ["shared", "session"] {
        for (path, tool) in [("/mcp/s", "work"), ("/mcp", "s__work")] {
            let server = tasks_server().await;
            let entry = json!({"type": "http", "url": server.url, "isolation": isolation});
            let mut rig = Rig::start(&json!({ "s": entry }), &["alice", "bob"]).await;
            let mut alice = rig.legacy("alice", path).await;
            let mut bob = rig.legacy("bob", path).await;
            let hers = work(&mut alice, tool).await;
            let his = work(&mut bob, tool).await;
            for round in [
                "at first",
                "after a reconnect of theirs",
                "after one of ours",
            ] {
                let what = format!("{isolation}, {path}, {round}");
                assert_eq!(listed(&mut alice).await, [hers.as_str()], "{what}");
                assert_eq!(listed(&mut bob).await, [his.as_str()], "{what}");
                assert!(!reaches(&mut bob, &hers).await, "{what}");
                assert!(!reaches(&mut alice, &his).await, "{what}");
                assert!(reaches(&mut alice, &hers).await, "{what}");
                assert!(reaches(&mut bob, &his).await, "{what}");
                // Nor by way of the other era.
                let mut modern = rig.client("bob", path).await;
                let answer = modern.modern("tasks/list", json!({})).await.message();
                assert!(!answer.to_string().contains(&hers), "{what}: {answer}");
                if round == "at first" {
                    for (name, client) in [("alice", &mut alice), ("bob", &mut bob)] {
                        let ended = client.send(Method::DELETE, &[], "").await;
                        assert_eq!(ended.status, 200);
                        *client = rig.legacy(name, path).await;
                    }
                } else {
                    rig.stage.run(&["reconnect", "s"]).await.ok();
                }
            }
            rig.restart().await;
            // The server still has them, and whose they are was kept.
            let mut alice = rig.legacy("alice", path).await;
            let mut bob = rig.legacy("bob", path).await;
            let what = format!("{isolation}, {path}, in the next life");
            assert_eq!(listed(&mut alice).await, [hers.as_str()], "{what}");
            assert!(!reaches(&mut bob, &hers).await, "{what}");
            assert!(reaches(&mut bob, &his).await, "{what}");
            assert!(reaches(&mut alice, &hers).await, "{what}");
            let new = work(&mut alice, tool).await;
            assert_eq!(listed(&mut alice).await, [hers, new], "{what}");
            assert_eq!(listed(&mut bob).await, [his], "{what}");
        }
    }
}

/// A remote server that lets nobody in while it is shut. One of its tools has the
/// name of the one that stands in for a server then.
async fn doors_server(modern: bool, shut: Arc<AtomicBool>) -> HttpServer {
    HttpServer::start(move |heard| {
        if shut.load(Ordering::SeqCst) {
            return Said::Error(401, -32000, "who are you?");
        }
        let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
        let method = match (heard.method(), modern) {
            ("initialize", true) | ("server/discover", false) => {
                return Said::Error(404, -32601, "what is that?");
            }
            (method, _) => method,
        };
        Said::Result(match method {
            "initialize" => json!({"protocolVersion": LEGACY, "capabilities": {"tools": {}},
                "serverInfo": {"name": "doors", "version": "1"}}),
            "server/discover" => {
                json!({"supportedVersions": [MODERN], "capabilities": {"tools": {}},
                "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
            }
            "tools/list" => json!({"tools": [tool("work"), tool("authenticate")],
                "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}),
            "tools/call" => {
                json!({"content": [{"type": "text", "text": "done"}], "resultType": "complete"})
            }
            _ => json!({}),
        })
    })
    .await
}

/// That one principal's connection is not let in any more is that one's alone:
/// others go on with theirs, by their rules.
#[tokio::test]
async fn another_s_missing_sign_in_is_not_told() {
    for modern in [false, true] {
        let shut = Arc::new(AtomicBool::new(false));
        let server = doors_server(modern, shut.clone()).await;
        let oauth = json!({"clientsSignIn": true});
        let entry = json!({"type": "http", "url": server.url, "oauth": oauth});
        let stage = World::with(&json!({}));
        let rules = json!({"deny": ["mcp__s__authenticate"]});
        let settings = json!({"mcpServers": {"s": entry}, "permissions": rules});
        stage.write(
            "home/.config/switchboard/settings.json",
            settings.to_string(),
        );
        let gateway = Some(stage.gateway().await);
        for name in ["alice", "bob", "carol"] {
            stage.run(&["token", "create", name]).await.ok();
        }
        let rig = Rig { stage, gateway };
        let mut alice = rig.client("alice", "/mcp/s").await;
        let mut bob = rig.client("bob", "/mcp/s").await;
        let call = async |client: &mut HttpClient, tool: &str| {
            let params = json!({"name": tool, "arguments": {}});
            client.modern("tools/call", params).await.message()
        };
        for client in [&mut alice, &mut bob] {
            assert_eq!(text_of(&call(client, "work").await), "done");
        }
        shut.store(true, Ordering::SeqCst);
        // She is shown what stands in for it.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        loop {
            let listed = alice.modern("tools/list", json!({})).await.message();
            let tools = listed["result"]["tools"].as_array();
            if tools.is_some_and(|tools| tools.len() == 1 && tools[0]["name"] == "authenticate") {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "{modern}: {listed}");
        }
        shut.store(false, Ordering::SeqCst);
        let answer = call(&mut bob, "work").await;
        assert_eq!(text_of(&answer), "done", "modern: {modern}: {answer}");
        let listed = names(&mut bob, true, "tools/list", "tools").await;
        assert_eq!(listed, ["work"], "modern: {modern}");
        // Whoever comes for the first time is asked for, too.
        let mut carol = rig.client("carol", "/mcp/s").await;
        let answer = call(&mut carol, "work").await;
        assert_eq!(text_of(&answer), "done", "modern: {modern}: {answer}");
        // What is denied is not let through for what stands in elsewhere.
        let answer = call(&mut bob, "authenticate").await;
        let text = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(text.contains("not permitted"), "modern: {modern}: {answer}");
        let calls = server.heard("tools/call");
        let is_it = |call: &Heard| call.message["params"]["name"] == "authenticate";
        assert!(!calls.iter().any(is_it), "{calls:?}");
    }
}

/// Another's task is not named by any other way than asking for it either.
#[tokio::test]
async fn another_s_task_is_unknown_however_it_is_named() {
    let server = tasks_server().await;
    let entry = json!({"type": "http", "url": server.url});
    let rig = Rig::start(&json!({ "s": entry }), &["alice", "bob"]).await;
    let related = |who: &str, tool: &str, task: &str| {
        json!({"name": tool, "arguments": {"by": who}, "_meta": {
            "io.modelcontextprotocol/related-task": {"taskId": task}}})
    };
    for (path, tool) in [("/mcp/s", "work"), ("/mcp", "s__work")] {
        let mut alice = rig.legacy("alice", path).await;
        let mut bob = rig.legacy("bob", path).await;
        let hers = work(&mut alice, tool).await;
        let answer = bob.request("tools/call", related("bob", tool, &hers)).await;
        assert_eq!(
            answer["error"]["message"], "Unknown task",
            "{path}: {answer}"
        );
        let unknown = [
            "tasks/subscribe",
            "tasks/resultx",
            "Tasks/x",
            "com.example/tasks",
        ];
        for method in unknown {
            let answer = bob.request(method, json!({"taskId": hers})).await;
            assert_eq!(answer["error"]["code"], -32601, "{path} {method}: {answer}");
        }
        let notices = ["notifications/tasks/status", "notifications/tasks/other"];
        for method in notices {
            let params = json!({"taskId": hers, "status": "cancelled"});
            let body = json!({"jsonrpc": "2.0", "method": method, "params": params});
            let taken = bob.send(Method::POST, &[], body.to_string()).await;
            assert_eq!(taken.status, 202, "{taken:?}");
        }
        let plain = json!({"name": tool, "arguments": {"after": "all"}});
        let answer = bob.request("tools/call", plain).await;
        assert!(answer["result"].is_object(), "{answer}");
        for method in unknown.iter().chain(&notices) {
            assert!(server.heard(method).is_empty(), "{path} {method}");
        }
        let own = hers.rsplit('+').next().unwrap();
        let calls = server.heard("tools/call");
        let is_his = |call: &Heard| call.message["params"]["arguments"]["by"] == "bob";
        assert!(!calls.iter().any(is_his), "{path}: {calls:?}");
        // To its owner it is the task that the server knows.
        let answer = alice
            .request("tools/call", related("alice", tool, &hers))
            .await;
        assert!(answer["result"].is_object(), "{path}: {answer}");
        let heard = server.heard("tools/call");
        let meta = &heard.last().unwrap().message["params"]["_meta"];
        let named = &meta["io.modelcontextprotocol/related-task"]["taskId"];
        assert_eq!(named, own, "{path}");
    }
}

/// What a client says of itself stays for as long as its session.
#[tokio::test]
async fn a_long_greeting_is_refused_and_shuts_nobody_out() {
    let rig = Rig::start(&json!({ "e": echo(&[]) }), &[]).await;
    for _ in 0..8 {
        let mut client = rig.client("default", "/mcp/e").await;
        let params = json!({"protocolVersion": LEGACY, "capabilities": {},
            "clientInfo": {"name": "x".repeat(8_000_000), "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let answer = client.send(Method::POST, &[], body.to_string()).await;
        let answer = answer.message();
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(text.contains("65536 bytes"), "{text}");
    }
    let mut client = rig.legacy("default", "/mcp/e").await;
    let answer = client.request("tools/list", json!({})).await;
    assert!(answer["result"].is_object(), "{answer}");
}

/// Where one principal alone can come in, what the server has is that one's.
#[tokio::test]
async fn tasks_of_the_only_principal_outlive_a_restart() {
    let server = tasks_server().await;
    let entry = json!({"type": "http", "url": server.url});
    let mut rig = Rig::start(&json!({ "s": entry }), &[]).await;
    for (path, tool) in [("/mcp/s", "work"), ("/mcp", "s__work")] {
        let mut client = rig.legacy("default", path).await;
        let task = work(&mut client, tool).await;
        rig.restart().await;
        let mut client = rig.legacy("default", path).await;
        assert!(listed(&mut client).await.contains(&task), "{path}");
        assert!(reaches(&mut client, &task).await, "{path}");
    }
}

async fn names(client: &mut HttpClient, modern: bool, method: &str, field: &str) -> Vec<String> {
    let listed = match modern {
        true => client.modern(method, json!({})).await.message(),
        false => client.request(method, json!({})).await,
    };
    let items = listed["result"][field].as_array();
    let items = items.unwrap_or_else(|| panic!("{listed}"));
    let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
    items.iter().map(name).collect()
}

/// A process lists what its own principal made of it, and to nobody else.
#[tokio::test]
async fn lists_of_own_processes_are_their_principals() {
    for isolation in ["shared", "session"] {
        let mut entry = echo(&[]);
        entry["isolation"] = json!(isolation);
        let mut rig = Rig::start(&json!({ "e": entry }), &["alice", "bob"]).await;
        for modern in [false, true] {
            // With a key, so that a modern client has a copy of its own, too.
            let path = if modern { "/mcp/@key" } else { "/mcp" };
            let open = async |rig: &Rig, name: &str| match modern {
                true => rig.client(name, path).await,
                false => rig.legacy(name, path).await,
            };
            let tools = async |client: &mut HttpClient| {
                let mut all = names(client, modern, "tools/list", "tools").await;
                all.sort();
                all
            };
            let mut bob = open(&rig, "bob").await;
            let before = tools(&mut bob).await;
            let mut alice = open(&rig, "alice").await;
            assert_eq!(tools(&mut alice).await, before);
            let change = json!({"name": "e__change_list", "arguments": {}});
            match modern {
                true => {
                    alice.modern("tools/call", change).await;
                }
                false => {
                    alice.request("tools/call", change).await;
                }
            }
            // The list that she is shown grows once the server has told of it.
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
            while tools(&mut alice).await == before {
                assert!(
                    std::time::Instant::now() < deadline,
                    "{isolation}: her list is as it was"
                );
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            let what = format!("{isolation}, modern: {modern}");
            assert_eq!(tools(&mut bob).await, before, "{what}");
            let mut again = open(&rig, "bob").await;
            assert_eq!(tools(&mut again).await, before, "{what}");
            rig.restart().await;
            let mut bob = open(&rig, "bob").await;
            assert_eq!(tools(&mut bob).await, before, "{what}, after a restart");
        }
    }
}

/// A list that its server calls private is nobody else's, wherever it comes from.
#[tokio::test]
async fn private_lists_of_a_remote_server_are_their_principals() {
    let count = Arc::<Mutex<u64>>::default();
    let server = HttpServer::start(move |heard| {
        Said::Result(match heard.method() {
            "server/discover" => json!({
                "resultType": "complete", "ttlMs": 3_600_000, "cacheScope": "public",
                "supportedVersions": [MODERN], "capabilities": {"resources": {}},
                "serverInfo": {"name": "private", "version": "1"},
            }),
            "resources/list" => {
                let mut count = count.lock().unwrap();
                *count += 1;
                let name = format!("document-{count}");
                json!({
                    "resultType": "complete", "ttlMs": 3_600_000, "cacheScope": "private",
                    "resources": [{"uri": format!("doc://{name}"), "name": name}],
                })
            }
            "resources/templates/list" => json!({
                "resultType": "complete", "ttlMs": 3_600_000, "cacheScope": "private",
                "resourceTemplates": [],
            }),
            _ => return Said::Error(404, -32601, "what is that?"),
        })
    })
    .await;
    let entry = json!({"type": "http", "url": server.url, "era": "modern"});
    let mut rig = Rig::start(&json!({ "s": entry }), &["alice", "bob"]).await;
    for modern in [true, false] {
        let mut seen: Vec<Vec<String>> = Vec::new();
        for name in ["alice", "bob"] {
            let mut client = match modern {
                true => rig.client(name, "/mcp").await,
                false => rig.legacy(name, "/mcp").await,
            };
            let first = names(&mut client, modern, "resources/list", "resources").await;
            let second = names(&mut client, modern, "resources/list", "resources").await;
            assert_eq!(first.len(), 1);
            assert_eq!(
                first, second,
                "a list that is good for an hour was asked for twice"
            );
            assert!(
                !seen.contains(&first),
                "{name} is shown another's {first:?}"
            );
            seen.push(first);
        }
        rig.restart().await;
        let mut bob = rig.client("bob", "/mcp").await;
        let after = names(&mut bob, true, "resources/list", "resources").await;
        assert_ne!(after, seen[0], "bob is shown what was remembered of alice");
    }
}

/// A server that begins a task for whoever calls it, and then tells of that task and of
/// itself by turns.
const TELLER: &str = r#"
meta='"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"T"}},'
tell() { printf '{"jsonrpc":"2.0","method":"notifications/message","params":{%s"level":"error","data":"%s"}}\n' "$1" "$2"; }
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) answer='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"t","version":"1"}}' ;;
    *'"tools/list"'*) answer='"result":{"tools":[{"name":"run","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}' ;;
    *'"tools/call"'*)
      answer='"result":{"task":{"taskId":"T","status":"working","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":null}}'
      (while sleep 0.1; do tell "$meta" private && tell "" public || exit; done) & ;;
    *) answer='"error":{"code":-32601,"message":"no"}' ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$answer"
done
kill $!
"#;

/// What a server says under a task is for whoever has the task, and nobody else.
#[tokio::test]
async fn what_is_told_of_a_task_is_told_to_its_owner_alone() {
    let entry = json!({"command": "sh", "args": ["-c", TELLER]});
    let gateway = Gateway::start(&json!({ "t": entry })).await;
    let mut owner = gateway.legacy("/mcp/t").await;
    let mut other = gateway.legacy("/mcp/t").await;
    // Both use the same copy of it.
    for client in [&mut owner, &mut other] {
        client.request("tools/list", json!({})).await;
    }
    let (mut theirs, mut others) = (owner.listen().await, other.listen().await);
    let task = json!({"name": "run", "arguments": {}, "task": {}});
    let begun = owner.request("tools/call", task).await;
    assert_eq!(begun["result"]["task"]["taskId"], "T", "{begun}");
    async fn heard(stream: &mut EventStream) -> String {
        let message = stream.message().await.expect("the stream goes on");
        message["params"]["data"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
    while heard(&mut theirs).await != "private" {}
    let mut public = 0;
    while public < 3 {
        let said = heard(&mut others).await;
        assert_ne!(said, "private", "it is another's task");
        public += u32::from(said == "public");
    }
}
