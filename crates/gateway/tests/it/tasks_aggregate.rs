//! Tasks of several servers behind one address, whose ids are the same.

use crate::support::Client;
use serde_json::{Value, json};
use std::sync::Arc;
use switchboard_gateway::{Gateway, GatewayOptions};
use switchboard_host::{Host, ServerSpec, Target, permission::Rules};
use switchboard_testkit::{LEGACY, MODERN};
use switchboard_transport::{Budget, in_process::End};
use switchboard_wire::{Payload, name::Style};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// A server of either era that counts its tasks from nought.
struct Server {
    name: &'static str,
    modern: bool,
    tasks: Vec<&'static str>,
    /// What it was asked about tasks.
    log: Log,
}

type Log = Arc<std::sync::Mutex<Vec<String>>>;

impl Server {
    async fn serve(mut self, mut end: End) {
        while let Some(bytes) = end.receiver.next().await {
            let message: Value = serde_json::from_slice(&bytes).expect("JSON");
            let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
                // The answer to a question.
                if message.get("result").is_some() {
                    self.log
                        .lock()
                        .expect("a log")
                        .push(message["result"].to_string());
                }
                continue;
            };
            let mut answer = json!({"jsonrpc": "2.0", "id": id});
            match self.result(method, &message["params"]) {
                Ok(result) => answer["result"] = result,
                Err(code) => answer["error"] = json!({"code": code, "message": "no"}),
            }
            let send = |message: &Value| drop(end.sender.send(Payload::from(message.to_string())));
            send(&answer);
            if method == "tools/call" && !self.modern {
                let task = self.task(self.tasks.len() - 1);
                send(
                    &json!({"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": task}),
                );
                let meta = json!({RELATED: {"taskId": task["taskId"]}});
                send(
                    &json!({"jsonrpc": "2.0", "id": format!("q{}", self.tasks.len()), "method": "elicitation/create",
                    "params": {"_meta": meta, "message": "sure?", "requestedSchema": {"type": "object", "properties": {}}}}),
                );
            }
        }
    }

    fn task(&self, at: usize) -> Value {
        json!({"taskId": format!("t{at}"), "status": self.tasks[at], "ttl": null, "x": self.name})
    }

    fn result(&mut self, method: &str, params: &Value) -> Result<Value, i64> {
        let extension = json!({EXTENSION: {}, "com.example/other": {}});
        let all = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        let mut result = match method {
            "server/discover" if self.modern => json!({
                "supportedVersions": [MODERN], "ttlMs": 0, "cacheScope": "private",
                "capabilities": {"tools": {}, "extensions": extension},
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}},
            }),
            "initialize" if !self.modern => json!({
                "protocolVersion": LEGACY, "capabilities": {"tools": {}, "tasks": all},
                "serverInfo": {"name": "s", "version": "1"},
            }),
            "tools/list" => json!({"ttlMs": 0, "cacheScope": "private",
                "tools": [{"name": "work", "inputSchema": {"type": "object"}}]}),
            "tools/call" if params["arguments"]["first"] == "ask" => {
                let form = json!({"message": "sure?", "requestedSchema": {"type": "object"}});
                let asks = json!({"k": {"method": "elicitation/create", "params": form}});
                return Ok(json!({"resultType": "input_required", "inputRequests": asks}));
            }
            "tools/call" => {
                self.tasks.push("working");
                let task = self.task(self.tasks.len() - 1);
                if !self.modern {
                    return Ok(json!({ "task": task }));
                }
                let mut result = task;
                result["resultType"] = json!("task");
                return Ok(result);
            }
            "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" => {
                let id = params["taskId"].as_str().unwrap_or_default();
                self.log
                    .lock()
                    .expect("a log")
                    .push(format!("{method} {id}"));
                let at = id.strip_prefix('t').and_then(|at| at.parse::<usize>().ok());
                let at = at.filter(|at| *at < self.tasks.len()).ok_or(-32602)?;
                self.about(method, at)
            }
            "tasks/list" if !self.modern => {
                // A task on each page.
                let at = params["cursor"]
                    .as_str()
                    .and_then(|at| at.parse().ok())
                    .unwrap_or(0);
                let next = (at + 1 < self.tasks.len()).then(|| (at + 1).to_string());
                let mut page = json!({"tasks": []});
                if at < self.tasks.len() {
                    page["tasks"] = json!([self.task(at)]);
                }
                if let Some(next) = next {
                    page["nextCursor"] = json!(next);
                }
                page
            }
            "subscriptions/listen" | "ping" => json!({}),
            _ => return Err(-32601),
        };
        if self.modern && result.get("resultType").is_none() {
            result["resultType"] = json!("complete");
        }
        Ok(result)
    }

    fn about(&mut self, method: &str, at: usize) -> Value {
        let content = json!([{"type": "text", "text": format!("{} did t{at}", self.name)}]);
        match method {
            "tasks/cancel" => {
                self.tasks[at] = "cancelled";
                if self.modern {
                    json!({})
                } else {
                    self.task(at)
                }
            }
            "tasks/update" => {
                self.tasks[at] = "completed";
                json!({})
            }
            "tasks/result" => {
                json!({"content": content, "_meta": {RELATED: {"taskId": format!("t{at}")}}})
            }
            _ => {
                let mut task = self.task(at);
                if self.modern && self.tasks[at] == "completed" {
                    task["result"] = json!({"content": content});
                }
                if self.modern && self.tasks[at] == "working" {
                    task["status"] = json!("input_required");
                    let form = json!({"message": "sure?", "requestedSchema": {"type": "object"}});
                    task["inputRequests"] =
                        json!({"k": {"method": "elicitation/create", "params": form}});
                }
                task
            }
        }
    }
}

fn gateway(modern: bool) -> (Arc<Gateway>, [Log; 2]) {
    let logs = [Log::default(), Log::default()];
    let specs = ["one", "two"]
        .into_iter()
        .zip(logs.clone())
        .map(|(name, log)| {
            let serve = move |end| {
                let (tasks, log) = (Vec::new(), log.clone());
                tokio::spawn(
                    Server {
                        name,
                        modern,
                        tasks,
                        log,
                    }
                    .serve(end),
                );
                Ok(())
            };
            ServerSpec::new(name, Target::Linked(Arc::new(serve)))
        });
    let host = Host::new(
        specs.collect(),
        Rules::everything_allowed(),
        Style::default(),
        Budget::default(),
    );
    (Gateway::new(host, GatewayOptions::default()), logs)
}

fn heard(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().expect("a log"))
}

async fn work(client: &mut Client, tool: &str, mut params: Value) -> Value {
    params["name"] = json!(tool);
    if params.get("arguments").is_none() {
        params["arguments"] = json!({});
    }
    let answer = client.ask("tools/call", params).await;
    assert!(answer.get("result").is_some(), "{answer}");
    answer["result"].clone()
}

#[tokio::test]
async fn a_legacy_client_finds_each_task_at_its_server() {
    let (gateway, logs) = gateway(false);
    let (mut client, hello) = Client::legacy(&gateway, None).await;
    let tasks = &hello["capabilities"]["tasks"];
    assert_eq!(
        *tasks,
        json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}),
        "{hello}"
    );
    let (mut other, _) = Client::legacy(&gateway, None).await;

    let task = json!({"task": {"ttl": 60_000}});
    let mut ids = Vec::new();
    for tool in ["one__work", "two__work", "two__work"] {
        let made = work(&mut client, tool, task.clone()).await;
        let server = tool.split('_').next().expect("a server");
        assert_eq!(made["task"]["x"], server, "{made}");
        let id = made["task"]["taskId"].as_str().expect("an id").to_owned();
        // What is said of it, and asked for it, is under the same id.
        let status = client.hears("notifications/tasks/status").await;
        assert_eq!(status["params"]["taskId"], id.as_str(), "{status}");
        let question = client.hears("elicitation/create").await;
        let meta = &question["params"]["_meta"];
        assert_eq!(meta[RELATED]["taskId"], id.as_str(), "{question}");
        assert_eq!(question["params"]["message"], format!("[{server}] sure?"));
        let result = json!({"action": "decline", "_meta": meta});
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
        ids.push(id);
    }
    assert_eq!(ids, ["one+t0", "two+t0", "two+t1"]);
    // The answers are for the server's own.
    for (log, tasks) in logs.iter().zip([&["t0"][..], &["t0", "t1"][..]]) {
        let mut answers = Vec::new();
        while answers.len() < tasks.len() {
            answers.extend(heard(log));
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        for (answer, task) in answers.iter().zip(tasks) {
            let answer: Value = serde_json::from_str(answer).expect("JSON");
            assert_eq!(answer["_meta"][RELATED]["taskId"], *task, "{answer}");
        }
    }
    let own = work(&mut other, "one__work", task).await["task"]["taskId"].clone();
    assert_eq!(own, "one+t1");

    let about = |id: &str| json!({"taskId": id});
    for (id, server, own) in [
        ("one+t0", 0, "t0"),
        ("two+t0", 1, "t0"),
        ("two+t1", 1, "t1"),
    ] {
        logs.iter().for_each(|log| drop(heard(log)));
        let got = client.ask("tasks/get", about(id)).await;
        assert_eq!(got["result"]["taskId"], id, "{got}");
        assert_eq!(got["result"]["x"], ["one", "two"][server], "{got}");
        let end = client.ask("tasks/result", about(id)).await;
        let said = format!("{} did {own}", ["one", "two"][server]);
        assert_eq!(end["result"]["content"][0]["text"], said, "{end}");
        assert_eq!(end["result"]["_meta"][RELATED]["taskId"], id, "{end}");
        let gone = client.ask("tasks/cancel", about(id)).await;
        assert_eq!(gone["result"]["taskId"], id, "{gone}");
        assert_eq!(gone["result"]["status"], "cancelled", "{gone}");
        let expected = ["get", "result", "cancel"].map(|method| format!("tasks/{method} {own}"));
        assert_eq!(heard(&logs[server]), expected);
        assert_eq!(heard(&logs[1 - server]), [""; 0]);
    }

    // Another's, nobody's, one that names no server: unknown, and no server is asked.
    for id in ["one+t1", "t0", "three+t0", "+t0", ""] {
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            let answer = client.ask(method, about(id)).await;
            assert_eq!(answer["error"]["code"], -32602, "{method} {id}: {answer}");
        }
    }
    assert!(logs.iter().all(|log| heard(log).is_empty()));

    // Each client's own, over all servers and their pages.
    for (client, own) in [
        (&mut client, &ids[..]),
        (&mut other, &["one+t1".to_owned()]),
    ] {
        let (mut all, mut cursor, mut pages) = (Vec::new(), None, 0);
        loop {
            let params = cursor.map_or(json!({}), |cursor: Value| json!({ "cursor": cursor }));
            let page = client.ask("tasks/list", params).await;
            let tasks = page["result"]["tasks"].as_array().expect("tasks").clone();
            all.extend(
                tasks
                    .iter()
                    .map(|task| task["taskId"].as_str().expect("an id").to_owned()),
            );
            pages += 1;
            match page["result"].get("nextCursor") {
                Some(next) => cursor = Some(next.clone()),
                None => break,
            }
        }
        assert_eq!(all, own);
        assert!((2..=4).contains(&pages), "{pages}");
    }
    let wrong = client.ask("tasks/list", json!({"cursor": "no"})).await;
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

/// What the test client declares, and tasks.
fn meta() -> Value {
    let extensions = json!({EXTENSION: {}});
    let capabilities = json!({"elicitation": {"form": {}}, "extensions": extensions});
    json!({"io.modelcontextprotocol/clientCapabilities": capabilities})
}

#[tokio::test]
async fn a_modern_client_finds_each_task_at_its_server() {
    let (gateway, logs) = gateway(true);
    let mut client = Client::modern(&gateway, None);
    let hello = client.ask("server/discover", json!({})).await;
    let extensions = &hello["result"]["capabilities"]["extensions"];
    assert_eq!(*extensions, json!({EXTENSION: {}}), "{hello}");

    let about = |id: &str| json!({"taskId": id, "_meta": meta()});
    for (tool, id, server) in [("one__work", "one+t0", 0), ("two__work", "two+t0", 1)] {
        logs.iter().for_each(|log| drop(heard(log)));
        let made = work(&mut client, tool, json!({"_meta": meta()})).await;
        assert_eq!(made["taskId"], id, "{made}");
        let asks = client.ask("tasks/get", about(id)).await;
        assert_eq!(asks["result"]["taskId"], id, "{asks}");
        let form = &asks["result"]["inputRequests"]["k"]["params"];
        assert_eq!(
            form["message"],
            format!("[{}] sure?", ["one", "two"][server])
        );
        let mut params = about(id);
        params["inputResponses"] = json!({"k": {"action": "accept", "content": {}}});
        let update = client.ask("tasks/update", params).await;
        assert_eq!(update["result"]["resultType"], "complete", "{update}");
        let done = client.ask("tasks/get", about(id)).await;
        let said = format!("{} did t0", ["one", "two"][server]);
        assert_eq!(
            done["result"]["result"]["content"][0]["text"], said,
            "{done}"
        );
        let gone = client.ask("tasks/cancel", about(id)).await;
        assert!(gone.get("result").is_some(), "{gone}");
        let expected = ["get", "update", "get", "cancel"].map(|what| format!("tasks/{what} t0"));
        assert_eq!(heard(&logs[server]), expected);
        assert_eq!(heard(&logs[1 - server]), [""; 0]);
    }
    for id in ["t0", "three+t0"] {
        let answer = client.ask("tasks/get", about(id)).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    // A question that comes instead of a result tells who asks, too.
    let asks = work(
        &mut client,
        "two__work",
        json!({"arguments": {"first": "ask"}}),
    )
    .await;
    let form = &asks["inputRequests"]["k"]["params"];
    assert_eq!(form["message"], "[two] sure?", "{asks}");
    // The era has no such list.
    let list = client.ask("tasks/list", json!({})).await;
    assert_eq!(list["error"]["code"], -32601, "{list}");
}

/// A task of the other era is run by us, so that none is offered or found.
#[tokio::test]
async fn tasks_of_the_other_era_are_not_offered() {
    let (legacy, logs) = gateway(false);
    let mut client = Client::modern(&legacy, None);
    let hello = client.ask("server/discover", json!({})).await;
    let capabilities = &hello["result"]["capabilities"];
    assert!(capabilities.get("tasks").is_none(), "{hello}");
    assert!(capabilities.get("extensions").is_none(), "{hello}");
    let answer = client.ask("tasks/get", json!({"taskId": "one+t0"})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(heard(&logs[0]), [""; 0]);

    let (modern, logs) = gateway(true);
    let (mut client, hello) = Client::legacy(&modern, None).await;
    let capabilities = &hello["capabilities"];
    assert!(capabilities.get("tasks").is_none(), "{hello}");
    assert!(capabilities.get("extensions").is_none(), "{hello}");
    let answer = client.ask("tasks/get", json!({"taskId": "one+t0"})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(heard(&logs[0]), [""; 0]);
    let list = client.ask("tasks/list", json!({})).await;
    assert_eq!(list["result"]["tasks"], json!([]), "{list}");
}
