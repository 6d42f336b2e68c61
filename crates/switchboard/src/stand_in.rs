//! Stands in for a server that wants a sign-in: an MCP server inside this
//! program with one tool, `authenticate`. When somebody has signed in, here or
//! by `switchboard login`, it ends, and the real server takes its place.

use crate::limits;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc};
use switchboard_auth::{Authority, REMEMBERED, SignInError, Visit};
use switchboard_host::{AUTHENTICATE, StandIn};
use switchboard_local::{hex, random};
use switchboard_tasks as tasks;
use switchboard_transport::in_process::{End, Sender};
use switchboard_wire::{Method, code};
use tokio::{
    sync::{oneshot, watch},
    task::JoinSet,
    time::{Instant, interval, timeout},
};

/// What lets clients sign in to `name`; `by_any_client`, where several principals
/// come in as well.
pub(crate) fn stand_in(name: &str, authority: Authority, by_any_client: bool) -> StandIn {
    let tool = Arc::new(SignInTool {
        name: name.to_owned(),
        authority,
        under_way: Mutex::new(None),
        done: watch::Sender::new(0),
    });
    let asked = tool.clone();
    StandIn {
        serve: Arc::new(move |end, signs_in| {
            tasks::spawn(tasks::Kind::SignIn, serve(tool.clone(), end, signs_in));
        }),
        begin: Arc::new(move || {
            let sign_in = asked.begin();
            Box::pin(async move { sign_in.under_way().await })
        }),
        by_any_client,
    }
}

/// What all connections to one server share: there is one sign-in at a time.
struct SignInTool {
    name: String,
    authority: Authority,
    under_way: Mutex<Option<Arc<SignIn>>>,
    /// Counts sign-ins.
    done: watch::Sender<u64>,
}

/// How a sign-in ends, for all who wait for it.
type Outcome = Result<(), Arc<NotSignedIn>>;

/// Why nobody signed in.
#[derive(Debug, thiserror::Error)]
enum NotSignedIn {
    #[error(transparent)]
    Failed(#[from] SignInError),
    #[error("it was broken off")]
    BrokenOff,
    #[error("a bug in Switchboard broke the sign-in off")]
    Bug,
}

/// A sign-in under way.
#[derive(Default)]
struct SignIn {
    /// The page to go to, once it is known.
    page: watch::Sender<Option<String>>,
    /// How it ended.
    outcome: watch::Sender<Option<Outcome>>,
}

impl SignIn {
    /// The page of a sign-in, as soon as it is known, and its end.
    async fn under_way(&self) -> switchboard_host::SignIn {
        let mut page = self.page.subscribe();
        let mut outcome = self.outcome.subscribe();
        let page = tokio::select! {
            biased;
            _ = outcome.wait_for(Option::is_some) => None,
            page = page.wait_for(Option::is_some) => page.ok().and_then(|page| page.clone()),
        };
        let done = async move {
            let ended = outcome.wait_for(Option::is_some).await;
            let ended = ended.ok().and_then(|ended| ended.clone());
            Ok(ended.unwrap_or_else(|| Err(Arc::new(NotSignedIn::BrokenOff)))?)
        };
        switchboard_host::SignIn {
            page,
            id: new_key().unwrap_or_default(),
            done: Box::pin(done),
        }
    }
}

/// One connection.
struct Conversation {
    tool: Arc<SignInTool>,
    sender: Sender,
    /// Whether its clients may sign in.
    signs_in: bool,
    /// Whether the client can be sent to a page.
    asks: bool,
    questions: Arc<Mutex<HashMap<String, oneshot::Sender<Value>>>>,
    calls: JoinSet<()>,
}

async fn serve(tool: Arc<SignInTool>, end: End, signs_in: bool) {
    let End {
        sender,
        mut receiver,
    } = end;
    let before = tool.authority.fingerprint().await;
    let mut done = tool.done.subscribe();
    let mut clock = interval(limits::SIGNED_IN_LOOK);
    let begun = Instant::now();
    let mut conversation = Conversation {
        tool: tool.clone(),
        sender,
        signs_in,
        asks: false,
        questions: Arc::default(),
        calls: JoinSet::new(),
    };
    loop {
        tokio::select! {
            bytes = receiver.next() => match bytes {
                Some(bytes) => conversation.hear(serde_json::from_slice(&bytes).unwrap_or_default()),
                None => return,
            },
            changed = done.changed() => {
                if changed.is_ok() {
                    break;
                }
            }
            _ = clock.tick() => {
                while conversation.calls.try_join_next().is_some() {}
                let now = tool.authority.fingerprint().await;
                // After a while the server itself is asked again what it wants.
                let long = begun.elapsed() > REMEMBERED && conversation.calls.is_empty();
                if long || (now.is_some() && now != before) {
                    break;
                }
            }
        }
    }
    // Whoever waits for the sign-in is told before the end.
    let rest = async { while conversation.calls.join_next().await.is_some() {} };
    let _ = timeout(limits::STAND_IN_FAREWELL, rest).await;
    tool.authority.reload();
}

impl Conversation {
    fn hear(&mut self, message: Value) {
        let Some(id) = message.get("id").cloned() else {
            return;
        };
        let Some(method) = message["method"].as_str() else {
            let question = id.as_str().unwrap_or_default();
            if let Some(asked) = self.questions.lock().remove(question) {
                let _ = asked.send(message);
            }
            return;
        };
        let empty = |list: &str| Ok(json!({ list: [] }));
        let answer = match Method::parse(method) {
            Method::Initialize => {
                self.asks = message["params"]["capabilities"]["elicitation"]["url"].is_object();
                Ok(self.hello(&message["params"]["protocolVersion"]))
            }
            Method::Ping => Ok(json!({})),
            Method::ToolsList => Ok(json!({ "tools": [self.tool()] })),
            Method::ResourcesList => empty("resources"),
            Method::ResourceTemplatesList => empty("resourceTemplates"),
            Method::PromptsList => empty("prompts"),
            Method::ToolsCall => return self.call(id, &message["params"]["name"]),
            _ => {
                let text = format!("Method not found: {method}");
                Err(json!({"code": code::METHOD_NOT_FOUND, "message": text}))
            }
        };
        self.answer(&id, answer);
    }

    fn answer(&self, id: &Value, answer: Result<Value, Value>) {
        let message = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        };
        send(&self.sender, &message);
    }

    fn hello(&self, version: &Value) -> Value {
        let changes = json!({"listChanged": true});
        json!({
            "protocolVersion": version,
            // What the real server may have is declared now: a client asks once.
            "capabilities": {"tools": changes, "resources": changes, "prompts": changes},
            "serverInfo": {"name": self.tool.name, "version": crate::VERSION},
            "instructions": self.instructions(),
        })
    }

    fn instructions(&self) -> String {
        let name = &self.tool.name;
        if self.signs_in {
            return format!(
                "The server {name} wants a sign-in. Its tools appear when the tool {AUTHENTICATE} \
                 has been called and somebody has signed in."
            );
        }
        format!(
            "The server {name} wants a sign-in. Its tools appear when whoever runs this gateway \
             has signed in: switchboard login {name}"
        )
    }

    fn tool(&self) -> Value {
        json!({
            "name": AUTHENTICATE,
            "title": format!("Sign in to {}", self.tool.name),
            "description": format!(
                "The server {} wants a sign-in before it can be used. This starts it and gives \
                 the address of a page that the user has to open. When the user has signed in, \
                 the server's own tools take the place of this one.",
                self.tool.name
            ),
            "inputSchema": {"type": "object", "properties": {}},
            "annotations": {"readOnlyHint": false, "destructiveHint": false, "openWorldHint": true},
        })
    }

    fn call(&mut self, id: Value, name: &Value) {
        if name.as_str() != Some(AUTHENTICATE) {
            let name = &self.tool.name;
            let text = match self.signs_in {
                true => {
                    format!(
                        "The server {name} wants a sign-in first: call the tool {AUTHENTICATE}."
                    )
                }
                false => self.instructions(),
            };
            return self.answer(&id, Ok(told(&text, true)));
        }
        while self.calls.try_join_next().is_some() {}
        if self.calls.len() >= limits::STAND_IN_CALLS {
            return self.answer(&id, Ok(told("A sign-in is under way already.", true)));
        }
        let call = Call {
            tool: self.tool.clone(),
            sender: self.sender.clone(),
            questions: self.questions.clone(),
            asks: self.asks,
        };
        let answering = async move {
            let answer = match tasks::caught(tasks::Kind::SignIn, call.run()).await {
                Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                Err(panicked) => {
                    let error = json!({"code": code::INTERNAL, "message": panicked.to_string()});
                    json!({"jsonrpc": "2.0", "id": id, "error": error})
                }
            };
            send(&call.sender, &answer);
        };
        #[expect(clippy::disallowed_methods, reason = "its panics are caught")]
        self.calls.spawn(answering);
    }
}

/// One call of `authenticate`.
struct Call {
    tool: Arc<SignInTool>,
    sender: Sender,
    questions: Arc<Mutex<HashMap<String, oneshot::Sender<Value>>>>,
    asks: bool,
}

impl Call {
    async fn run(&self) -> Value {
        let sign_in = self.tool.begin();
        let mut page = sign_in.page.subscribe();
        let mut outcome = sign_in.outcome.subscribe();
        let page = tokio::select! {
            biased;
            ended = outcome.wait_for(Option::is_some) => {
                return self.ended(ended.ok().and_then(|ended| ended.clone()));
            }
            page = page.wait_for(Option::is_some) => page.ok().and_then(|page| page.clone()),
        };
        let page = page.unwrap_or_default();
        if self.asks
            && let Some(accepted) = self.ask(&page, &mut outcome).await
        {
            if !accepted {
                return told("Nobody signed in: the user said no.", true);
            }
            let ended = outcome.wait_for(Option::is_some).await;
            return self.ended(ended.ok().and_then(|ended| ended.clone()));
        }
        let text = format!(
            "To use the server {}, the user has to sign in. Give the user this address to open \
             in a browser on this machine:\n\n{page}\n\nWhen that is done, the server's own tools \
             take the place of this one.",
            self.tool.name
        );
        told(&text, false)
    }

    /// Sends the user to the page. Whether that was accepted; `None` where the
    /// client could not be asked after all.
    async fn ask(
        &self,
        page: &str,
        outcome: &mut watch::Receiver<Option<Outcome>>,
    ) -> Option<bool> {
        let id = new_key()?;
        let (asked, answered) = oneshot::channel();
        self.questions.lock().insert(id.clone(), asked);
        let question = json!({
            "jsonrpc": "2.0", "id": id, "method": Method::ElicitationCreate.as_str(),
            "params": {
                "mode": "url",
                "message": format!("Sign in to {}", self.tool.name),
                "url": page,
                "elicitationId": id,
            },
        });
        send(&self.sender, &question);
        let answer = tokio::select! {
            answer = answered => answer.ok()?,
            _ = outcome.wait_for(Option::is_some) => {
                // Signed in without the client's word: the question is void.
                self.questions.lock().remove(&id);
                let params = json!({"requestId": id});
                send(&self.sender, &notification(Method::Cancelled, &params));
                return Some(true);
            }
        };
        let action = answer["result"]["action"].as_str()?;
        if action == "accept" {
            let sender = self.sender.clone();
            let mut outcome = outcome.clone();
            // Clients of 2025-11-25 wait for this to close the page's dialogue.
            tasks::spawn(tasks::Kind::Background, async move {
                if outcome.wait_for(Option::is_some).await.is_ok() {
                    let params = json!({"elicitationId": id});
                    send(&sender, &notification(Method::ElicitationComplete, &params));
                }
            });
        }
        Some(action == "accept")
    }

    fn ended(&self, outcome: Option<Outcome>) -> Value {
        match outcome {
            Some(Ok(())) => told(
                &format!(
                    "Signed in to {}. The server's own tools are available now.",
                    self.tool.name
                ),
                false,
            ),
            Some(Err(why)) => told(&format!("Nobody signed in: {why}"), true),
            None => told("Nobody signed in.", true),
        }
    }
}

impl SignInTool {
    /// The sign-in under way; started if there is none.
    fn begin(self: &Arc<Self>) -> Arc<SignIn> {
        let mut slot = self.under_way.lock();
        if let Some(sign_in) = &*slot {
            return sign_in.clone();
        }
        let sign_in = Arc::<SignIn>::default();
        *slot = Some(sign_in.clone());
        drop(slot);
        let (tool, ours) = (self.clone(), sign_in.clone());
        let (broken, left) = (self.clone(), sign_in.clone());
        let signing_in = async move {
            let shown = ours.clone();
            // The client's user has the browser; we only say where to go.
            let visit = Visit::Browser(Arc::new(move |page| {
                shown.page.send_replace(Some(page.to_string()));
                Box::pin(async { Ok(()) })
            }));
            let outcome = tool.authority.sign_in(&visit).await;
            *tool.under_way.lock() = None;
            if let Err(fault) = &outcome {
                tracing::info!(server = tool.name, %fault, "nobody signed in");
            }
            let outcome = outcome.map(drop).map_err(|fault| Arc::new(fault.into()));
            let good = outcome.is_ok();
            ours.outcome.send_replace(Some(outcome));
            if good {
                tracing::info!(server = tool.name, "signed in");
                tool.done.send_modify(|count| *count += 1);
            }
        };
        tasks::spawn_or(tasks::Kind::SignIn, signing_in, move || {
            *broken.under_way.lock() = None;
            let why = NotSignedIn::Bug;
            left.outcome.send_replace(Some(Err(Arc::new(why))));
        });
        sign_in
    }
}

fn told(text: &str, is_error: bool) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": is_error})
}

fn notification(method: Method, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method.as_str(), "params": params})
}

fn send(sender: &Sender, message: &Value) {
    // Nobody is there any more: then nobody waits for it either.
    let _ = sender.send(message.to_string().into());
}

fn new_key() -> Option<String> {
    random::bytes::<12>().ok().map(hex)
}
