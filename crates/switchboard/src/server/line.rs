//! One connection to a server of one's own: its messages, its calls in flight
//! and its open questions. It speaks the handshake era.

use super::{Answer, Call, call::Level, tool::Ready};
use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
};
use switchboard_host::Callers;
use switchboard_tasks as tasks;
use switchboard_transport::in_process::{End, Sender};
use switchboard_wire::{ErrorObject, Id, Kind, Message, Method, Payload, Received, Revision, code};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// What all connections share.
pub(super) struct Kit {
    /// The answer to `initialize`, but for the revision.
    pub(super) hello: Value,
    pub(super) tools: HashMap<String, Arc<Ready>>,
    /// The answer to `tools/list`.
    pub(super) list: String,
}

/// One connection.
pub(super) struct Line {
    sender: Sender,
    callers: Callers,
    /// The least important level that is heard.
    level: AtomicU8,
    numbers: AtomicU64,
    questions: Mutex<HashMap<String, oneshot::Sender<Message>>>,
    calls: Mutex<HashMap<Id, CancellationToken>>,
}

/// Serves the other end in a task of its own, until it goes.
pub(super) fn serve(kit: Arc<Kit>, end: End, callers: Callers) {
    let End {
        sender,
        mut receiver,
    } = end;
    let line = Arc::new(Line {
        sender,
        callers,
        level: AtomicU8::new(Level::Info as u8),
        numbers: AtomicU64::new(1),
        questions: Mutex::default(),
        calls: Mutex::default(),
    });
    tasks::spawn(tasks::Kind::Builtin, async move {
        // Whatever is in flight ends with the connection.
        let over = CancellationToken::new();
        let _ends = over.clone().drop_guard();
        while let Some(bytes) = receiver.next().await {
            hear(&kit, &line, bytes, &over);
        }
    });
}

fn hear(kit: &Kit, line: &Arc<Line>, bytes: Bytes, over: &CancellationToken) {
    let Ok(Received::One(message)) = Received::parse(bytes) else {
        tracing::debug!("what is no message is left alone");
        return;
    };
    match (message.kind(), message.id()) {
        (Kind::Request, Some(id)) => {
            if let Some(answer) = answer(kit, line, &message, &id, over) {
                line.send(answer);
            }
        }
        (Kind::Response | Kind::Error, Some(id)) => {
            let asked = line.questions.lock().remove(&id.as_text());
            if let Some(asked) = asked {
                let _ = asked.send(message);
            }
        }
        _ if message.method() == Method::Cancelled => line.cancelled(&message),
        _ => {}
    }
}

/// The answer to a request; calls answer later.
fn answer(
    kit: &Kit,
    line: &Arc<Line>,
    message: &Message,
    id: &Id,
    over: &CancellationToken,
) -> Option<Payload> {
    let good = |result: &str| Message::response(id, result).payload();
    let bad = |number, text: String| ErrorObject::new(number, text).response(Some(id));
    let params: Value = match message.body() {
        [] => Value::Null,
        body => match serde_json::from_slice(body) {
            Ok(params) => params,
            // Deeper than anybody can read.
            Err(fault) => return Some(bad(code::INVALID_PARAMS, format!("params: {fault}"))),
        },
    };
    Some(match message.method() {
        Method::Initialize => {
            let wanted = params["protocolVersion"].as_str();
            let known = wanted.and_then(Revision::parse);
            let known = known.filter(|known| *known <= Revision::NEWEST_LEGACY);
            let mut hello = kit.hello.clone();
            let revision = known.unwrap_or(Revision::NEWEST_LEGACY);
            hello["protocolVersion"] = revision.to_string().into();
            good(&hello.to_string())
        }
        Method::Ping => good("{}"),
        Method::ToolsList => good(&kit.list),
        Method::SetLevel => {
            let wanted = params["level"].as_str().unwrap_or_default();
            match Level::ALL.iter().find(|(_, name)| *name == wanted) {
                Some((level, _)) => {
                    line.level.store(*level as u8, Ordering::Relaxed);
                    good("{}")
                }
                None => bad(
                    code::INVALID_PARAMS,
                    format!("level: there is no {wanted:?}"),
                ),
            }
        }
        Method::ToolsCall => match call(kit, line, params, id, over) {
            Ok(()) => return None,
            Err(Refused::Request(why)) => bad(code::INVALID_PARAMS, why),
            Err(Refused::Full(why)) => bad(code::INTERNAL, why),
            Err(Refused::Result(why)) => good(&Answer::error(why).to_json().to_string()),
        },
        _ => bad(
            code::METHOD_NOT_FOUND,
            format!("Method not found: {}", message.method_name()),
        ),
    })
}

/// Why a call does not begin.
enum Refused {
    /// The request is wrong.
    Request(String),
    /// A model should read this, and try again.
    Result(String),
    /// There are too many.
    Full(String),
}

/// Begins a call, which then answers by itself.
fn call(
    kit: &Kit,
    line: &Arc<Line>,
    mut params: Value,
    id: &Id,
    over: &CancellationToken,
) -> Result<(), Refused> {
    let name = params["name"].as_str().unwrap_or_default();
    let Some(tool) = kit.tools.get(name).cloned() else {
        return Err(Refused::Request(format!("Unknown tool: {name}")));
    };
    let request = id.as_number();
    let arguments = match params["arguments"].take() {
        Value::Null => json!({}),
        arguments => arguments,
    };
    let token = params["_meta"]["progressToken"].take();
    let ended = over.child_token();
    let call = Call {
        line: line.clone(),
        request,
        tool: tool.name.as_str().into(),
        token: (!token.is_null()).then_some(token),
        over: ended.clone(),
    };
    let begun = tasks::caught_now(tasks::Kind::Builtin, || tool.begin(arguments, call));
    let working = match begun {
        Ok(Ok(working)) => working,
        Ok(Err(faults)) => {
            let text = format!("Invalid arguments for tool {}: {faults}", tool.name);
            // Since 2025-11-25 this is for the model; before, it was the request's fault.
            let caller = request.and_then(|request| line.callers.of(request));
            let is_older = caller.is_some_and(|it| it.revision() < Revision::V2025_11_25);
            return Err(if is_older {
                Refused::Request(text)
            } else {
                Refused::Result(text)
            });
        }
        Err(_) => return Err(Refused::Full(panicked(&tool.name))),
    };
    let mut calls = line.calls.lock();
    if calls.len() >= limits::CALLS {
        let text = format!("too many calls are in flight (at most {})", limits::CALLS);
        return Err(Refused::Full(text));
    }
    calls.insert(id.clone(), ended.clone());
    drop(calls);
    let (line, id) = (line.clone(), id.clone());
    tasks::spawn(tasks::Kind::Builtin, async move {
        // A call that was cancelled has no answer; its handler is dropped here.
        let done = ended.run_until_cancelled(tasks::caught(tasks::Kind::Builtin, working));
        let done = done.await;
        line.calls.lock().remove(&id);
        ended.cancel();
        match done {
            Some(Ok(answer)) => {
                let result = answer.to_json().to_string();
                line.send_answer(Message::response(&id, &result).payload(), &id);
            }
            Some(Err(_)) => {
                let error = ErrorObject::new(code::INTERNAL, panicked(&tool.name));
                line.send(error.response(Some(&id)));
            }
            None => {}
        }
    });
    Ok(())
}

fn panicked(tool: &str) -> String {
    format!("the tool {tool} panicked; its server's log says where")
}

impl Line {
    fn send(&self, payload: Payload) {
        let too_large = self.sender.send(payload);
        if let Err(fault) = too_large {
            tracing::warn!(%fault, "an answer of a server in this program cannot be handed over");
        }
    }

    /// Sends an answer; whoever waits for one that is too large is told so.
    fn send_answer(&self, answer: Payload, id: &Id) {
        if let Err(fault) = self.sender.send(answer) {
            tracing::warn!(%fault, "an answer of a server in this program cannot be handed over");
            let text = format!("the answer cannot be sent: {fault}");
            self.send(ErrorObject::new(code::INTERNAL, text).response(Some(id)));
        }
    }

    fn send_of(&self, payload: Payload, request: Option<u64>) {
        let sent = match request {
            Some(request) => self.sender.send_during(payload, request),
            None => self.sender.send(payload),
        };
        // Nobody is there any more: then nobody waits for it either.
        drop(sent);
    }

    /// Tells the other end something that belongs to one of its requests.
    pub(super) fn notify(&self, method: Method, params: &Value, request: Option<u64>) {
        let message = Message::notification(method, &params.to_string());
        self.send_of(message.payload(), request);
    }

    /// Whether the other end wants to hear of things of this level.
    pub(super) fn hears(&self, level: Level) -> bool {
        level as u8 >= self.level.load(Ordering::Relaxed)
    }

    /// A name that nothing else on this connection has.
    pub(super) fn new_id(&self, what: &str) -> String {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        format!("{what}-{number}")
    }

    /// Asks the other end, within one of its requests. The result, or code and
    /// text of the error.
    pub(super) async fn ask(
        &self,
        method: Method,
        params: &Value,
        request: Option<u64>,
    ) -> Result<Value, (i64, String)> {
        let id = self.new_id("question");
        let (asked, answer) = oneshot::channel();
        self.questions.lock().insert(id.clone(), asked);
        // A handler that is dropped meanwhile does not wait any more.
        let _open = Open {
            line: self,
            id: &id,
        };
        let message = Message::request(&Id::string(&id), method, &params.to_string());
        self.send_of(message.payload(), request);
        let gone = || (code::INTERNAL, "the client is gone".to_owned());
        let answer = answer.await.map_err(|_| gone())?;
        if answer.kind() == Kind::Error {
            let number = answer.error_code().unwrap_or(code::INTERNAL);
            return Err((number, answer.error_text().unwrap_or_default()));
        }
        serde_json::from_slice(answer.body()).map_err(|fault| (code::INTERNAL, fault.to_string()))
    }

    fn cancelled(&self, message: &Message) {
        let params: Value = serde_json::from_slice(message.body()).unwrap_or_default();
        let id = match &params["requestId"] {
            Value::String(text) => Id::string(text),
            Value::Number(number) => match number.as_u64() {
                Some(number) => Id::number(number),
                None => return,
            },
            _ => return,
        };
        if let Some(call) = self.calls.lock().get(&id) {
            call.cancel();
        }
    }
}

/// A question that somebody waits for.
struct Open<'a> {
    line: &'a Line,
    id: &'a str,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.line.questions.lock().remove(self.id);
    }
}
