//! A server in the same process that notes what it is asked.

use bytes::Bytes;
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};
use switchboard_host::{ServerSpec, Target};
use switchboard_transport::in_process::{End, Sender};
use tokio::sync::{Notify, mpsc};

#[derive(Clone)]
pub(crate) struct Scripted {
    name: String,
    broken: bool,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    calls: Mutex<Vec<Value>>,
    writes: AtomicUsize,
    most: AtomicUsize,
    meeting: AtomicUsize,
    met: Notify,
    started: AtomicUsize,
    ended: AtomicUsize,
    gone: Notify,
}

impl Scripted {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            broken: false,
            state: Arc::default(),
        }
    }

    /// One that refuses the handshake.
    pub(crate) fn broken(name: &str) -> Self {
        Self {
            broken: true,
            ..Self::new(name)
        }
    }

    pub(crate) fn spec(&self) -> ServerSpec {
        let server = self.clone();
        let target = Target::Linked(Arc::new(move |end| {
            server.clone().serve(end);
            Ok(())
        }));
        ServerSpec::new(self.name.as_str(), target)
    }

    pub(crate) fn calls(&self) -> Vec<Value> {
        self.state
            .calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn most_writes_at_once(&self) -> usize {
        self.state.most.load(Ordering::SeqCst)
    }

    pub(crate) fn started(&self) -> usize {
        self.state.started.load(Ordering::SeqCst)
    }

    /// Waits until a copy has ended.
    pub(crate) async fn ended(&self) {
        let waiting = async {
            while self.state.ended.load(Ordering::SeqCst) == 0 {
                self.state.gone.notified().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), waiting)
            .await
            .expect("it ends");
    }

    fn serve(self, end: End) {
        let End {
            sender,
            mut receiver,
        } = end;
        self.state.started.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(async move {
            let (answers, answered) = mpsc::unbounded_channel::<Value>();
            let answered = Arc::new(tokio::sync::Mutex::new(answered));
            let capable = Arc::new(AtomicUsize::new(0));
            while let Some(bytes) = receiver.next().await {
                let message: Value = serde_json::from_slice(&bytes).expect("JSON");
                if message.get("method").is_none() {
                    let _ = answers.send(message);
                    continue;
                }
                if message.get("id").is_none() {
                    continue;
                }
                if message["params"]["capabilities"]["sampling"].is_object() {
                    capable.store(1, Ordering::SeqCst);
                }
                let (server, sender) = (self.clone(), sender.clone());
                let (answered, capable) = (answered.clone(), capable.clone());
                tokio::spawn(async move {
                    let sampling = capable.load(Ordering::SeqCst) == 1;
                    let body = server.answer(&message, &sender, &answered, sampling).await;
                    let mut answer = json!({"jsonrpc": "2.0", "id": message["id"]});
                    match body {
                        Ok(result) => answer["result"] = result,
                        Err(text) => answer["error"] = json!({"code": -32601, "message": text}),
                    }
                    send(&sender, &answer);
                });
            }
            self.state.ended.fetch_add(1, Ordering::SeqCst);
            self.state.gone.notify_waiters();
            self.state.gone.notify_one();
        });
    }

    async fn answer(
        &self,
        message: &Value,
        sender: &Sender,
        answered: &tokio::sync::Mutex<mpsc::UnboundedReceiver<Value>>,
        sampling: bool,
    ) -> Result<Value, String> {
        let params = &message["params"];
        Ok(match message["method"].as_str().unwrap_or_default() {
            "initialize" if self.broken => return Err("not today".to_owned()),
            "initialize" => json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
                "serverInfo": {"name": self.name, "version": "1"},
                "instructions": format!("Use {} well.", self.name),
            }),
            "tools/list" => tools(),
            "resources/list" => json!({"resources": [{"uri": "note://1", "name": "a note"}]}),
            "resources/read" => json!({"contents": [
                {"uri": params["uri"], "mimeType": "text/plain", "text": format!("a note of {}", self.name)},
            ]}),
            "prompts/list" => json!({"prompts": [
                {"name": "greet", "arguments": [{"name": "who", "required": true}]},
            ]}),
            "prompts/get" => {
                let who = params["arguments"]["who"].as_str().unwrap_or_default();
                json!({"messages": [{"role": "user", "content": {"type": "text", "text": format!("Greet {who}")}}]})
            }
            "tools/call" => return Ok(self.call(params, sender, answered, sampling).await),
            other => return Err(format!("no {other}")),
        })
    }

    async fn call(
        &self,
        params: &Value,
        sender: &Sender,
        answered: &tokio::sync::Mutex<mpsc::UnboundedReceiver<Value>>,
        sampling: bool,
    ) -> Value {
        let state = &self.state;
        state
            .calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(params.clone());
        let arguments = &params["arguments"];
        let said = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        match params["name"].as_str().unwrap_or_default() {
            "echo" => said(arguments["text"].as_str().unwrap_or_default()),
            "large" => {
                let wanted = arguments["chars"].as_u64().unwrap_or(0) as usize;
                let mut text = String::new();
                for line in 1.. {
                    if text.len() >= wanted {
                        break;
                    }
                    text.push_str(&format!("line {line} of a long text\n"));
                }
                said(&text)
            }
            "liar" => json!({"content": [], "structuredContent": {"n": "not a number"}}),
            "write" => {
                let now = state.writes.fetch_add(1, Ordering::SeqCst) + 1;
                state.most.fetch_max(now, Ordering::SeqCst);
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                state.writes.fetch_sub(1, Ordering::SeqCst);
                said("written")
            }
            "meet" => {
                if state.meeting.fetch_add(1, Ordering::SeqCst) + 1 >= 2 {
                    state.met.notify_waiters();
                    state.met.notify_one();
                } else {
                    state.met.notified().await;
                }
                said("met")
            }
            "log" => {
                let params = json!({"level": "error", "data": "a word"});
                send(
                    sender,
                    &json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}),
                );
                said("logged")
            }
            "sample" if !sampling => said("sampling was not declared"),
            "sample" => {
                let question = json!({
                    "jsonrpc": "2.0", "id": "q1", "method": "sampling/createMessage",
                    "params": {"maxTokens": 10, "messages": [{"role": "user", "content": {"type": "text", "text": "what now?"}}]},
                });
                send(sender, &question);
                let answer = answered.lock().await.recv().await.unwrap_or_default();
                said(&answer.to_string())
            }
            _ => said("always"),
        }
    }
}

fn send(sender: &Sender, message: &Value) {
    let _ = sender.send(Bytes::from(message.to_string()).into());
}

fn tools() -> Value {
    let object = json!({"type": "object"});
    json!({"tools": [
        {
            "name": "echo", "description": "Says it again.", "annotations": {"readOnlyHint": true},
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        },
        {
            "name": "large", "annotations": {"readOnlyHint": true},
            "inputSchema": {"type": "object", "properties": {"chars": {"type": "integer"}}},
        },
        {"name": "page_only", "inputSchema": object, "_meta": {"ui": {"visibility": ["app"]}}},
        {
            "name": "liar", "inputSchema": object, "annotations": {"readOnlyHint": true},
            "outputSchema": {"type": "object", "properties": {"n": {"type": "number"}}},
        },
        {"name": "write", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        {"name": "meet", "inputSchema": object, "annotations": {"readOnlyHint": true}},
        {"name": "sample", "inputSchema": object, "annotations": {"readOnlyHint": true}},
        {"name": "always", "inputSchema": object, "_meta": {"anthropic/alwaysLoad": true}},
    ]})
}
