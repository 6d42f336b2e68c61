//! `subscriptions/listen`: one stream per server, whatever clients listen to.

use crate::support::Client;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use switchboard_gateway::{Gateway, GatewayOptions};
use switchboard_host::{Host, Remote, ServerSpec, Target, permission::Rules};
use switchboard_testkit::{Heard, HttpServer, MODERN, Said};
use switchboard_transport::{Budget, in_process::End};
use switchboard_wire::{Payload, name::Style};
use tokio::sync::Notify;

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const TASKS: &str = "io.modelcontextprotocol/tasks";

fn discovered() -> Value {
    json!({
        "resultType": "complete", "supportedVersions": [MODERN], "ttlMs": 0, "cacheScope": "private",
        "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true},
            "extensions": {TASKS: {}}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}},
    })
}

/// A modern server with fifty resources; it will not hear of `bad:`.
fn say(scheme: &str, heard: &Heard) -> Said {
    let params = &heard.message["params"];
    match heard.method() {
        "server/discover" => Said::Result(discovered()),
        "resources/list" => {
            let resources: Vec<Value> = (0..50)
                .map(|at| json!({"uri": format!("{scheme}:{at}"), "name": at.to_string()}))
                .collect();
            Said::Result(
                json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "resources": resources}),
            )
        }
        "subscriptions/listen" => {
            let wanted = &params["notifications"];
            if wanted["resourceSubscriptions"].to_string().contains("bad:") {
                return Said::Error(200, -32602, "no such resource");
            }
            let capabilities = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            if wanted.get("taskIds").is_some() && capabilities["extensions"].get(TASKS).is_none() {
                return Said::Error(400, -32021, "tasks are not declared");
            }
            let meta = json!({SUBSCRIPTION: heard.message["id"]});
            let told = json!({"_meta": meta, "notifications": wanted});
            Said::Open(json!({"jsonrpc": "2.0", "method": ACKNOWLEDGED, "params": told}))
        }
        _ => Said::Error(404, -32601, "Method not found"),
    }
}

fn gateway(specs: Vec<ServerSpec>) -> Arc<Gateway> {
    let host = Host::new(
        specs,
        Rules::everything_allowed(),
        Style::default(),
        Budget::default(),
    );
    Gateway::new(host, GatewayOptions::default())
}

fn spec(name: &str, server: &HttpServer) -> ServerSpec {
    let remote = Remote::new(server.url.parse().expect("an address"));
    ServerSpec::new(name, Target::Http(remote))
}

/// The URIs that the server was asked for, listen by listen.
fn listens(server: &HttpServer) -> Vec<usize> {
    let asked = |heard: &Heard| {
        let uris = &heard.message["params"]["notifications"]["resourceSubscriptions"];
        uris.as_array().map_or(0, Vec::len)
    };
    let all = server.heard("subscriptions/listen");
    all.iter().map(asked).collect()
}

fn uris(scheme: &str, range: std::ops::Range<usize>) -> Value {
    range.map(|at| format!("{scheme}:{at}")).collect()
}

/// Listens, and waits for the acknowledgement: what was agreed to.
async fn listen(client: &mut Client, notifications: Value) -> (u64, Value) {
    let id = client.start(
        "subscriptions/listen",
        json!({ "notifications": notifications }),
    );
    let told = client.hears(ACKNOWLEDGED).await;
    assert_eq!(told["params"]["_meta"][SUBSCRIPTION], id, "{told}");
    (id, told["params"]["notifications"].clone())
}

fn updated(server: &HttpServer, uri: &str) {
    let params = json!({"uri": uri, "_meta": {SUBSCRIPTION: "theirs"}});
    server.tell(
        &json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}),
    );
}

async fn hears_update(client: &mut Client, id: u64, uri: &str) {
    let told = client.hears("notifications/resources/updated").await;
    assert_eq!(told["params"]["uri"], uri, "{told}");
    assert_eq!(told["params"]["_meta"][SUBSCRIPTION], id, "{told}");
}

#[tokio::test]
async fn many_uris_make_one_listen() {
    let server = HttpServer::start(|heard| say("s", heard)).await;
    let gateway = gateway(vec![spec("s", &server)]);
    let mut first = Client::modern(&gateway, Some("s"));
    let (one, agreed) = listen(
        &mut first,
        json!({"resourceSubscriptions": uris("s", 0..40)}),
    )
    .await;
    assert_eq!(agreed["resourceSubscriptions"], uris("s", 0..40));
    assert_eq!(listens(&server), [40]);

    let mut second = Client::modern(&gateway, Some("s"));
    let wanted = json!({"resourceSubscriptions": uris("s", 38..42)});
    let (two, agreed) = listen(&mut second, wanted.clone()).await;
    assert_eq!(agreed, wanted);
    assert_eq!(listens(&server), [40, 42]);
    // What is there already is not asked for again.
    let mut third = Client::modern(&gateway, Some("s"));
    let (_, agreed) = listen(&mut third, wanted.clone()).await;
    assert_eq!(agreed, wanted);
    assert_eq!(listens(&server), [40, 42]);

    updated(&server, "s:39");
    hears_update(&mut first, one, "s:39").await;
    hears_update(&mut second, two, "s:39").await;
    updated(&server, "s:41");
    hears_update(&mut second, two, "s:41").await;
    assert_eq!(first.heard, [Value::Null; 0]);

    // One that goes takes what it alone wanted along, at once.
    drop(first);
    let gone = async {
        while listens(&server) != [40, 42, 4] {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let gone = tokio::time::timeout(Duration::from_secs(20), gone).await;
    assert!(gone.is_ok(), "{:?}", listens(&server));
}

#[tokio::test]
async fn what_a_server_refuses_harms_nobody_else() {
    let server = HttpServer::start(|heard| say("s", heard)).await;
    let gateway = gateway(vec![spec("s", &server)]);
    let mut first = Client::modern(&gateway, Some("s"));
    let wanted = json!({"resourceSubscriptions": uris("s", 0..2)});
    let (one, _) = listen(&mut first, wanted.clone()).await;
    let mut second = Client::modern(&gateway, Some("s"));
    let (_, agreed) = listen(&mut second, json!({"resourceSubscriptions": ["bad:1"]})).await;
    assert_eq!(agreed, json!({}));
    updated(&server, "s:1");
    hears_update(&mut first, one, "s:1").await;
    // Nor those who come later.
    let mut third = Client::modern(&gateway, Some("s"));
    let wanted = json!({"resourceSubscriptions": uris("s", 2..4)});
    let (three, agreed) = listen(&mut third, wanted.clone()).await;
    assert_eq!(agreed, wanted);
    assert_eq!(listens(&server), [2, 3, 4]);
    updated(&server, "s:3");
    hears_update(&mut third, three, "s:3").await;
}

#[tokio::test]
async fn all_servers_are_listened_to_once_each() {
    let a = HttpServer::start(|heard| say("a", heard)).await;
    let b = HttpServer::start(|heard| say("b", heard)).await;
    let gateway = gateway(vec![spec("a", &a), spec("b", &b)]);
    let mut client = Client::modern(&gateway, None);
    let mut all = uris("a", 0..20).as_array().cloned().expect("a list");
    all.extend(uris("b", 0..30).as_array().cloned().expect("a list"));
    let wanted = json!({"resourceSubscriptions": all, "taskIds": ["a+t0", "b+t0", "t0", "c+t0"]});
    let (id, agreed) = listen(&mut client, wanted).await;
    assert_eq!(agreed["resourceSubscriptions"], json!(all));
    assert_eq!(agreed["taskIds"], json!(["a+t0", "b+t0"]));
    assert_eq!((listens(&a), listens(&b)), (vec![20], vec![30]));
    let asked = a.heard("subscriptions/listen").remove(0).message;
    assert_eq!(asked["params"]["notifications"]["taskIds"], json!(["t0"]));
    updated(&b, "b:29");
    hears_update(&mut client, id, "b:29").await;

    // How a task is doing, under the id by which the client knows it.
    let link = json!({"type": "resource_link", "uri": "b:1", "name": "b"});
    let params = json!({"taskId": "t0", "status": "completed", "result": {"content": [link]},
        "_meta": {SUBSCRIPTION: "theirs"}});
    for id in ["t0", "t1"] {
        let mut params = params.clone();
        params["taskId"] = json!(id);
        b.tell(&json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": params}));
    }
    let told = client.hears("notifications/tasks").await;
    assert_eq!(told["params"]["taskId"], "b+t0", "{told}");
    assert_eq!(told["params"]["_meta"][SUBSCRIPTION], id, "{told}");
    updated(&b, "b:2");
    hears_update(&mut client, id, "b:2").await;
    assert_eq!(client.heard, [Value::Null; 0], "t1 is nobody's");
    // One URI that leads nowhere is the client's mistake.
    let params = json!({"notifications": {"resourceSubscriptions": ["a:1", "x:1"]}});
    let answer = client.ask("subscriptions/listen", params).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

/// A modern server that introduces itself when it is let.
async fn slow(mut end: End, let_go: Arc<Notify>) {
    while let Some(bytes) = end.receiver.next().await {
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        let send = |message: Value| drop(end.sender.send(Payload::from(message.to_string())));
        match message["method"].as_str() {
            Some("server/discover") => {
                let_go.notified().await;
                send(json!({"jsonrpc": "2.0", "id": message["id"], "result": discovered()}));
            }
            Some("subscriptions/listen") => {
                let meta = json!({SUBSCRIPTION: message["id"]});
                let wanted = &message["params"]["notifications"];
                let told = json!({"_meta": meta, "notifications": wanted});
                send(json!({"jsonrpc": "2.0", "method": ACKNOWLEDGED, "params": told}));
                let method = "notifications/tools/list_changed";
                send(
                    json!({"jsonrpc": "2.0", "method": method, "params": {"_meta": meta, "x": 1}}),
                );
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_server_that_comes_late_is_heard_all_the_same() {
    let let_go = Arc::new(Notify::new());
    let going = let_go.clone();
    let serve = move |end| {
        tokio::spawn(slow(end, going.clone()));
        Ok(())
    };
    let late = ServerSpec::new("late", Target::Linked(Arc::new(serve)));
    let gateway = gateway(vec![late]);
    let mut client = Client::modern(&gateway, None);
    // It does not wait for the server.
    let (id, agreed) = listen(&mut client, json!({"toolsListChanged": true})).await;
    assert_eq!(agreed, json!({"toolsListChanged": true}));
    let_go.notify_one();
    // There may be one of ours before, since a server has come.
    loop {
        let told = client.hears("notifications/tools/list_changed").await;
        assert_eq!(told["params"]["_meta"][SUBSCRIPTION], id, "{told}");
        if told["params"]["x"] == 1 {
            break;
        }
    }
}
