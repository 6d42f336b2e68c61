//! Tasks at a server that clients share: each sees its own.

use crate::support::Client;
use serde_json::{Value, json};
use std::sync::Arc;
use switchboard_gateway::{Gateway, GatewayOptions};
use switchboard_host::{Host, ServerSpec, Target, permission::Rules};
use switchboard_testkit::LEGACY;
use switchboard_transport::{Budget, in_process::End};
use switchboard_wire::{Payload, name::Style};

/// A legacy server whose calls become tasks. It does not care whose they are.
async fn server(mut end: End) {
    let mut tasks: Vec<String> = Vec::new();
    let mut awaited = Value::Null;
    while let Some(bytes) = end.receiver.next().await {
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        let Some(method) = message["method"].as_str() else {
            if message["id"] == "last" {
                let result = json!({"content": [{"type": "text", "text": "worked"}]});
                let answer = json!({"jsonrpc": "2.0", "id": awaited, "result": result});
                let _ = end.sender.send(Payload::from(answer.to_string()));
            }
            continue;
        };
        let task = |id: &str| json!({"taskId": id, "status": "working", "ttl": null});
        let mut more = Vec::new();
        let result = match method {
            "initialize" => json!({
                "protocolVersion": LEGACY,
                "capabilities": {"tools": {}, "tasks": {"list": {}, "requests": {"tools": {"call": {}}}}},
                "serverInfo": {"name": "tasks", "version": "1"},
            }),
            "tools/list" => json!({"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}),
            // This one can only be had as a task.
            "tools/call" if message["params"].get("task").is_none() => {
                let error = json!({"code": -32601, "message": "needs a task"});
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
                let _ = end.sender.send(Payload::from(answer.to_string()));
                continue;
            }
            "tools/call" => {
                let id = format!("t{}", tasks.len());
                tasks.push(id.clone());
                more.push(json!({"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": task(&id)}));
                more.push(json!({"jsonrpc": "2.0", "id": format!("q-{id}"), "method": "elicitation/create", "params": {
                    "message": "?", "requestedSchema": {"type": "object", "properties": {}},
                    "_meta": {"io.modelcontextprotocol/related-task": {"taskId": id}}}}));
                json!({"task": task(&id)})
            }
            "tasks/get" => task(message["params"]["taskId"].as_str().unwrap_or_default()),
            // Asks before it gives the result.
            "tasks/result" => {
                awaited = message["id"].clone();
                let params = json!({"message": "!", "requestedSchema": {"type": "object", "properties": {}}});
                let ask = json!({"jsonrpc": "2.0", "id": "last", "method": "elicitation/create", "params": params});
                let _ = end.sender.send(Payload::from(ask.to_string()));
                continue;
            }
            "tasks/list" => {
                let all: Vec<Value> = tasks.iter().map(|id| task(id)).collect();
                json!({"tasks": all, "x": 1.0})
            }
            _ => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        for message in [answer].into_iter().chain(more) {
            let _ = end.sender.send(Payload::from(message.to_string()));
        }
    }
}

/// Starts a task; its id.
async fn work(client: &mut Client) -> String {
    let params = json!({"name": "work", "arguments": {}, "task": {"ttl": 60_000}});
    let answer = client.ask("tools/call", params).await;
    let id = answer["result"]["task"]["taskId"].as_str();
    id.unwrap_or_else(|| panic!("no task: {answer}")).to_owned()
}

async fn tasks(client: &mut Client) -> Vec<String> {
    let answer = client.ask("tasks/list", json!({})).await;
    assert_eq!(answer["result"]["x"].to_string(), "1.0", "{answer}");
    let list = answer["result"]["tasks"].as_array().expect("a list");
    let id = |task: &Value| task["taskId"].as_str().unwrap_or_default().to_owned();
    list.iter().map(id).collect()
}

fn gateway() -> Arc<Gateway> {
    let serve = |end| {
        tokio::spawn(server(end));
        Ok(())
    };
    let spec = ServerSpec::new("s", Target::Linked(Arc::new(serve)));
    let host = Host::new(
        vec![spec],
        Rules::everything_allowed(),
        Style::default(),
        Budget::default(),
    );
    let options = GatewayOptions {
        single: Some("s".into()),
        ..GatewayOptions::default()
    };
    Gateway::new(host, options)
}

/// A modern client knows no tasks of that kind; its call is run as one all the same.
#[tokio::test]
async fn a_task_is_run_to_its_end_for_a_modern_client() {
    let mut client = Client::modern(&gateway(), Some("s"));
    let mut params = json!({"name": "work", "arguments": {}});
    let first = client.ask("tools/call", params.clone()).await;
    // The task asks something before it ends.
    let result = &first["result"];
    assert_eq!(result["resultType"], "input_required", "{first}");
    let questions = result["inputRequests"].as_object().expect("questions");
    let accept = json!({"action": "accept", "content": {}});
    let answers = questions.keys().map(|key| (key.clone(), accept.clone()));
    params["inputResponses"] = Value::Object(answers.collect());
    params["requestState"] = result["requestState"].clone();
    let done = client.ask("tools/call", params).await;
    assert_eq!(done["result"]["content"][0]["text"], "worked", "{done}");
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
}

#[tokio::test]
async fn a_task_is_its_owners() {
    let gateway = gateway();
    let (mut first, _) = Client::legacy(&gateway, Some("s")).await;
    let (mut second, _) = Client::legacy(&gateway, Some("s")).await;
    let (one, two) = (work(&mut first).await, work(&mut second).await);
    assert_ne!(one, two, "they share the server");

    assert_eq!(tasks(&mut first).await, [one.as_str()]);
    assert_eq!(tasks(&mut second).await, [two.as_str()]);
    let own = first.ask("tasks/get", json!({"taskId": one})).await;
    assert_eq!(own["result"]["taskId"], one.as_str(), "{own}");
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let foreign = first.ask(method, json!({"taskId": two})).await;
        assert_eq!(foreign["error"]["code"], -32602, "{method}: {foreign}");
    }
    // What the server says about a task, and asks for it, reaches its owner alone.
    for (client, id, other) in [(&mut first, &one, &two), (&mut second, &two, &one)] {
        while client.heard.len() < 2 {
            let message = client.next().await;
            client.heard.push(message);
        }
        let said = serde_json::to_string(&client.heard).expect("JSON");
        assert!(said.contains(id.as_str()), "{said}");
        assert!(!said.contains(other.as_str()), "{said}");
        assert!(said.contains("elicitation/create"), "{said}");
    }
}
