//! Flows: tools made of calls to other servers' tools.

use crate::common::{self, Client};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};
use switchboard_builtin::{
    Toolbox,
    tools::{Caller, FLOW_DEPTH, FlowCallError, ToolCall},
};

fn put(folder: &Path, file: &str, manifest: &Value) {
    // All at once, as an editor does.
    let beside = folder.join(format!(".{file}"));
    fs::write(&beside, manifest.to_string()).expect("written");
    fs::rename(beside, folder.join(file)).expect("renamed");
}

async fn text(client: &mut Client, tool: &str, arguments: Value) -> String {
    let result = client.raw_call(tool, arguments).await;
    assert_ne!(result["isError"], true, "{result}");
    result["content"][0]["text"]
        .as_str()
        .expect("text")
        .to_owned()
}

/// Other servers, as the assembly would reach them.
#[derive(Default)]
struct Others {
    calls: Mutex<Vec<ToolCall>>,
    itself: Mutex<Option<Toolbox>>,
}

impl Caller for Others {
    fn call(
        &self,
        call: ToolCall,
    ) -> Pin<Box<dyn Future<Output = Result<Value, FlowCallError>> + Send + '_>> {
        self.calls.lock().expect("free").push(call.clone());
        Box::pin(async move {
            match (call.server.as_str(), call.tool.as_str()) {
                ("math", "double") => {
                    let n = call.arguments["n"].as_f64().unwrap_or_default();
                    Ok(
                        json!({ "content": [{ "type": "text", "text": "doubled" }], "structuredContent": { "n": n * 2.0 } }),
                    )
                }
                ("math", "fail") => Ok(
                    json!({ "content": [{ "type": "text", "text": "cannot" }], "isError": true }),
                ),
                ("math", "hang") => {
                    call.cancel.cancelled().await;
                    Err(FlowCallError {
                        message: "cancelled".to_owned(),
                    })
                }
                ("tools", tool) => {
                    let itself = self.itself.lock().expect("free").clone().expect("set");
                    let mut client = Client::connect(itself.session()).await;
                    let params =
                        json!({ "name": tool, "arguments": call.arguments, "_meta": call.meta });
                    Ok(client.request("tools/call", params).await["result"].clone())
                }
                _ => Err(FlowCallError {
                    message: format!("{} is not permitted", call.server),
                }),
            }
        })
    }
}

fn flow(name: &str, steps: Value, more: Value) -> Value {
    let mut manifest = json!({
        "name": name, "description": "A test.", "steps": steps,
        "inputSchema": { "type": "object", "properties": { "n": { "type": "number" } }, "required": ["n"] },
    });
    for (key, value) in more.as_object().expect("an object") {
        manifest[key] = value.clone();
    }
    manifest
}

#[tokio::test]
async fn flows_call_other_servers() {
    let folder = tempfile::tempdir().unwrap();
    let double = |id: &str, n: &str| json!({ "id": id, "server": "math", "tool": "double", "arguments": { "n": n } });
    let fail = json!({ "id": "b", "server": "math", "tool": "fail", "arguments": {} });
    let mut go_on = fail.clone();
    go_on["onError"] = "continue".into();
    let manifests = [
        flow(
            "twice",
            json!([
                double("a", "${args.n}"),
                double("b", "${steps.a.structuredContent.n}")
            ]),
            json!({}),
        ),
        flow(
            "shaped",
            json!([double("a", "${args.n}")]),
            json!({
                "result": { "was": "${args.n}", "is": "${steps.a.structuredContent.n}", "said": "it is ${steps.a.text}!" },
            }),
        ),
        flow(
            "stops",
            json!([double("a", "${args.n}"), fail, double("c", "${args.n}")]),
            json!({}),
        ),
        flow(
            "goes-on",
            json!([go_on]),
            json!({ "result": "${steps.b.isError}: ${steps.b.text}" }),
        ),
        flow(
            "missing",
            json!([
                double("a", "${args.n}"),
                double("b", "${steps.a.structuredContent.no}")
            ]),
            json!({}),
        ),
        flow(
            "forbidden",
            json!([{ "id": "a", "server": "shell", "tool": "runShellCommand" }]),
            json!({}),
        ),
        flow(
            "hangs",
            json!([{ "id": "a", "server": "math", "tool": "hang" }]),
            json!({ "timeoutMs": 200 }),
        ),
        flow(
            "circle",
            json!([{ "id": "a", "server": "tools", "tool": "circle", "arguments": { "n": "${args.n}" } }]),
            json!({}),
        ),
    ];
    for manifest in &manifests {
        put(
            folder.path(),
            &format!("{}.flow.json", manifest["name"].as_str().unwrap()),
            manifest,
        );
    }
    let alone = Toolbox::open("1", folder.path(), common::workplace(folder.path())).unwrap();
    assert_eq!(
        alone.faults().len(),
        manifests.len(),
        "nothing to call through"
    );
    let others = Arc::new(Others::default());
    let toolbox = alone.calling(others.clone());
    *others.itself.lock().unwrap() = Some(toolbox.clone());
    assert_eq!(toolbox.faults(), []);
    let mut client = Client::connect(toolbox.session()).await;
    assert_eq!(client.tools().await.len(), manifests.len());

    let result = client.raw_call("twice", json!({ "n": 3 })).await;
    assert_eq!(
        result["structuredContent"],
        json!({ "n": 12.0 }),
        "{result}"
    );
    {
        let calls = others.calls.lock().unwrap();
        assert_eq!(
            Value::Object(calls[0].arguments.clone()),
            json!({ "n": 3 }),
            "numbers stay numbers"
        );
        assert_eq!(calls[0].meta[FLOW_DEPTH], 1);
    }
    let answer = client.call("shaped", json!({ "n": 1 })).await;
    assert_eq!(
        answer,
        json!({ "was": 1, "is": 2.0, "said": "it is doubled!" })
    );
    let before = others.calls.lock().unwrap().len();
    let error = client.error("stops", json!({ "n": 1 })).await;
    assert_eq!(error, "step b failed: cannot");
    assert_eq!(
        others.calls.lock().unwrap().len(),
        before + 2,
        "the third step is not called"
    );
    assert_eq!(
        text(&mut client, "goes-on", json!({ "n": 1 })).await,
        "true: cannot"
    );
    let error = client.error("missing", json!({ "n": 1 })).await;
    assert!(
        error.contains("there is no ${steps.a.structuredContent.no}"),
        "{error}"
    );
    let error = client.error("forbidden", json!({ "n": 1 })).await;
    assert!(error.contains("shell is not permitted"), "{error}");
    let error = client.error("hangs", json!({ "n": 1 })).await;
    assert!(error.contains("stopped after 200 ms"), "{error}");
    let fault = client.fail("twice", json!({ "n": "3" })).await;
    assert!(fault.starts_with("Validation error"), "{fault}");
    let circle = tokio::time::timeout(
        Duration::from_secs(20),
        client.error("circle", json!({ "n": 1 })),
    );
    let error = circle.await.expect("a circle ends");
    assert!(error.contains("flows call each other"), "{error}");
}

/// A client cannot count for us, and what is large is not multiplied.
#[tokio::test]
async fn depth_and_size_are_bounded_whatever_comes() {
    let folder = tempfile::tempdir().unwrap();
    let named: Vec<String> = vec!["${args.text}".to_owned(); 2000];
    let many = json!({
        "name": "many", "description": "A test.",
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
        "steps": [{ "id": "a", "server": "math", "tool": "double", "arguments": { "all": named } }],
    });
    let circle = json!([{ "id": "a", "server": "tools", "tool": "circle", "arguments": { "n": "${args.n}" } }]);
    put(folder.path(), "many.flow.json", &many);
    put(
        folder.path(),
        "circle.flow.json",
        &flow("circle", circle, json!({})),
    );
    let others = Arc::new(Others::default());
    let toolbox = Toolbox::open("1", folder.path(), common::workplace(folder.path()))
        .unwrap()
        .calling(others.clone());
    *others.itself.lock().unwrap() = Some(toolbox.clone());
    let mut client = Client::connect(toolbox.session()).await;
    let text = "x".repeat(1_000_000);
    let error = client.error("many", json!({ "text": text })).await;
    assert!(error.contains("the values take more than"), "{error}");
    assert!(others.calls.lock().unwrap().is_empty());
    for depth in [json!(u64::MAX), json!(-1), json!("1"), json!(1e300)] {
        let params = json!({
            "name": "circle", "arguments": { "n": 1 }, "_meta": { FLOW_DEPTH: depth },
        });
        let answer = client.request("tools/call", params).await;
        let said = answer["result"].to_string();
        assert!(said.contains("flows call each other"), "{depth}: {answer}");
    }
}
