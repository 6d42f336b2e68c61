//! A stand-in for a gateway: the page's own files with their own headers, and `/api/v1`
//! answered with the API's own types. What it was told is kept, so that a test sees what
//! the page sent, byte for byte.

use crate::data;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use switchboard_api::{
    Refused,
    breakpoints::{Breakpoint, Breakpoints},
    calls::{Call, Made, Page, Replayed},
    events::Event,
    questions::{Answer, Answered, Question, Questions, Taken},
    sessions::{Entered, Me, Role, Ways},
    settings::{MadeToken, Pins, Tokens, Understood, Written},
    tools::{Fault, Tool, Tools, Validated},
};
use switchboard_console::Assets;
use switchboard_testkit::serve::{self, ReplyBody};
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedSender, unbounded_channel},
    task::JoinHandle,
};

pub(crate) const CODE: &str = "the-single-use-code";
const TOKEN: &str = "the-bearer";

/// What it shows, and what it was told.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) calls: Vec<Call>,
    pub(crate) questions: Vec<Question>,
    pub(crate) breakpoints: Breakpoints,
    pub(crate) tools: Vec<Tool>,
    pub(crate) servers: Vec<switchboard_api::state::Server>,
    pub(crate) faults: Vec<Fault>,
    /// Every request but GETs: verb, path, body.
    pub(crate) told: Vec<(String, String, String)>,
    /// Every path that was asked for, with its query.
    pub(crate) asked: Vec<String>,
    pub(crate) codes: usize,
    pub(crate) streams: Vec<UnboundedSender<Bytes>>,
}

/// The gateway; ends when it is dropped.
pub(crate) struct StandIn {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

impl StandIn {
    pub(crate) async fn start(state: State) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        let handler = move |request| answer(shared.clone(), request);
        let task = tokio::spawn(async move { serve::serve_on(listener, handler).await });
        Self { url, state, task }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Sends an event to every page.
    pub(crate) fn tell(&self, event: &Event) {
        let text = Bytes::from(serde_json::to_string(event).expect("JSON"));
        let mut state = self.state();
        state
            .streams
            .retain(|stream| stream.send(text.clone()).is_ok());
    }

    /// The last body that was sent to a path.
    pub(crate) fn last_to(&self, path: &str) -> Option<String> {
        let state = self.state();
        let found = state.told.iter().rev().find(|(_, to, _)| to == path);
        found.map(|(_, _, body)| body.clone())
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Reply = Response<ReplyBody>;

async fn answer(state: Arc<Mutex<State>>, request: Request<Incoming>) -> Reply {
    let (verb, path) = (request.method().clone(), request.uri().path().to_owned());
    let query = request.uri().query().unwrap_or_default().to_owned();
    let bearer = request.headers().get(header::AUTHORIZATION).cloned();
    let body = request.into_body().collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let body = String::from_utf8_lossy(&body).into_owned();
    let Some(route) = path.strip_prefix("/api/v1/") else {
        return file(&path);
    };
    let mut state = lock(&state);
    state.asked.push(format!("{route}?{query}"));
    if verb != Method::GET {
        let told = (verb.to_string(), route.to_owned(), body.clone());
        state.told.push(told);
    }
    if (verb.as_str(), route) == ("POST", "session") {
        return enter(&mut state, &body);
    }
    if (verb.as_str(), route) == ("GET", "session/ways") {
        return ok(&Ways::default());
    }
    if bearer != Some(HeaderValue::from_static("Bearer the-bearer")) {
        return refuse(401, "not-allowed", "a token is needed");
    }
    let parsed: Value = serde_json::from_str(&body).unwrap_or_default();
    let parts: Vec<String> = route.split('/').map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (verb.as_str(), parts.as_slice()) {
        ("GET", ["session"]) => ok(&me()),
        ("DELETE", ["session"]) => ok(&json!({})),
        ("GET", ["state"]) => ok(&data::document(&state)),
        ("GET", ["events"]) => stream(&mut state),
        ("GET", ["calls"]) => calls(&state, &query),
        ("GET", ["calls", id]) => {
            match state.calls.iter().find(|call| call.id.to_string() == *id) {
                Some(call) => ok(&data::detail(call)),
                None => refuse(404, "not-found", "there is no such call"),
            }
        }
        ("POST", ["calls"]) => make(&state, &parsed),
        ("POST", ["calls", id, "replay"]) => ok(&Replayed {
            runs: vec![data::made(id.parse().unwrap_or_default(), "another answer")],
            ..Replayed::default()
        }),
        ("POST", ["tap"]) => ok(&data::tap(parsed["armed"] == true)),
        ("POST", ["breakpoints"]) => {
            let id = state.breakpoints.breakpoints.len() as u64 + 1;
            state.breakpoints.breakpoints.push(Breakpoint {
                id,
                filter: parsed["filter"].as_str().unwrap_or_default().into(),
                ..Breakpoint::default()
            });
            ok(&state.breakpoints)
        }
        ("DELETE", ["breakpoints"]) => {
            state.breakpoints = Breakpoints::default();
            ok(&state.breakpoints)
        }
        ("GET", ["questions"]) => questions(&state, query.contains("all=true")),
        ("GET", ["questions", id]) => match state.questions.iter().find(|one| one.id == *id) {
            Some(question) => ok(question),
            None => refuse(404, "not-found", "there is no such question"),
        },
        ("POST", ["questions", id]) => take(&mut state, id, &body),
        ("GET", ["servers", _]) => ok(&data::server_detail(&state, parts[1])),
        ("GET", ["servers", _, "stderr"]) => ok(&data::stderr()),
        ("GET", ["servers", _, "sign-in"]) => ok(&data::sign_in()),
        ("GET", ["servers", name, list]) => ok(&data::listed(&state, name, list)),
        ("POST", ["servers", name, verb]) => ok(&data::done(&state, name, verb)),
        ("GET", ["tools"]) => ok(&Tools {
            tools: state.tools.clone(),
        }),
        ("POST", ["tools", "rules"] | ["settings", "change"]) => ok(&written(&parsed)),
        ("POST", ["validate"]) => ok(&Validated {
            unchecked: Vec::new(),
            faults: state.faults.clone(),
        }),
        ("GET", ["pins", server]) => ok(&Pins {
            server: (*server).to_owned(),
            ..Pins::default()
        }),
        ("GET", ["imports"]) => ok(&data::imports()),
        ("GET", ["settings"]) => ok(&data::settings(&state)),
        ("POST", ["settings", "read"]) => ok(&Understood {
            form: "a command line".into(),
            servers: vec![data::proposed(parsed["text"].as_str().unwrap_or_default())],
            faults: Vec::new(),
        }),
        ("GET" | "DELETE", ["tokens", ..]) => ok(&Tokens {
            tokens: data::tokens(),
        }),
        ("POST", ["tokens"]) => ok(&MadeToken {
            name: parsed["name"].as_str().unwrap_or_default().to_owned(),
            token: "the-secret-of-the-token".into(),
            file: "/home/ada/tokens".into(),
        }),
        ("GET", ["metrics"]) => ok(&data::metrics(&state)),
        ("GET", ["bill"]) => ok(&data::bill(&state)),
        ("GET", ["audit"]) => ok(&data::audit()),
        _ => refuse(404, "not-found", "the stand-in does not have this"),
    }
}

fn me() -> Me {
    Me {
        principal: "control".into(),
        role: Role::Admin,
        may_approve: true,
    }
}

/// A code is good once.
fn enter(state: &mut State, body: &str) -> Reply {
    let sent: Value = serde_json::from_str(body).unwrap_or_default();
    if sent["code"] != CODE || state.codes > 0 {
        return refuse(401, "not-allowed", "this code is not good any more");
    }
    state.codes += 1;
    ok(&Entered {
        token: TOKEN.into(),
        me: me(),
        ..Entered::default()
    })
}

fn calls(state: &State, query: &str) -> Reply {
    let value = |name: &str| {
        let found = query.split('&').find_map(|pair| pair.strip_prefix(name));
        found.map(decoded)
    };
    let filter = value("filter=").unwrap_or_default();
    // There are none here.
    let filter = filter.trim_end_matches("-method:ping").trim_end();
    if filter == "bad:" {
        return refuse(400, "invalid", "bad is no field");
    }
    let matches = |call: &&Call| {
        filter.is_empty() || call.server.as_deref() == filter.strip_prefix("server:")
    };
    let matching: Vec<&Call> = state.calls.iter().filter(matches).collect();
    let before: u64 = value("before=")
        .and_then(|id| id.parse().ok())
        .unwrap_or(u64::MAX);
    let limit: usize = value("limit=")
        .and_then(|most| most.parse().ok())
        .unwrap_or(100);
    let older: Vec<&Call> = matching
        .iter()
        .filter(|call| call.id < before)
        .copied()
        .collect();
    ok(&Page {
        more: older.len() > limit,
        total: state.calls.len(),
        matching: matching.len(),
        dropped: 0,
        calls: older.into_iter().take(limit).cloned().collect(),
        ..Page::default()
    })
}

/// A tool called `asks` wants a yes first.
fn make(state: &State, sent: &Value) -> Reply {
    if sent["name"] == "asks" && sent["confirmed"] != true {
        return refuse(409, "confirm", "a rule asks about this tool");
    }
    let text = sent["arguments"].to_string();
    let made = data::made(state.calls.len() as u64 + 1, &text);
    ok(&Made { ..made })
}

fn questions(state: &State, all: bool) -> Reply {
    let is_shown = |one: &&Question| all || one.status == "open";
    let questions: Vec<Question> = state.questions.iter().filter(is_shown).cloned().collect();
    let waiting = questions.iter().filter(|one| one.status == "open").count();
    ok(&Questions { questions, waiting })
}

/// The first answer counts.
fn take(state: &mut State, id: &str, body: &str) -> Reply {
    let answer: Answer = serde_json::from_str(body).expect("an answer");
    let Some(question) = state.questions.iter_mut().find(|one| one.id == id) else {
        return refuse(404, "not-found", "there is no such question");
    };
    if question.status != "open" {
        return refuse(409, "conflict", "the client has answered it");
    }
    question.status = "answered".into();
    question.answered = Some(Answered {
        action: answer.action,
        by: "control".into(),
        at: 1,
    });
    ok(&Taken {
        question: question.clone(),
        open: None,
    })
}

fn written(sent: &Value) -> Written {
    Written {
        file: "/home/ada/settings.json".into(),
        difference: vec!["@@ -1 +1 @@".into(), "-before".into(), format!("+{sent}")],
        digest: "the-digest".into(),
        written: sent["confirm"] == "the-digest",
        question: None,
    }
}

fn stream(state: &mut State) -> Reply {
    let (sender, receiver) = unbounded_channel();
    let _ = sender.send(Bytes::new());
    state.streams.push(sender);
    serve::events(ReplyBody::Events(receiver, None))
}

fn file(path: &str) -> Reply {
    let Some(asset) = Assets::inside().find(path, false) else {
        return serve::status(StatusCode::NOT_FOUND);
    };
    let mut reply = Response::new(ReplyBody::full(asset.bytes.into_owned()));
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    let policy = HeaderValue::try_from(asset.policy.as_ref()).expect("a policy");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    reply
}

fn ok(value: &impl Serialize) -> Reply {
    let text = serde_json::to_string(value).expect("JSON");
    serve::json(StatusCode::OK, ReplyBody::full(text))
}

fn refuse(status: u16, code: &str, error: &str) -> Reply {
    let refused = Refused {
        error: error.into(),
        code: code.into(),
        hint: Some("what to do about it".into()),
        field: None,
    };
    let text = serde_json::to_string(&refused).expect("JSON");
    let status = StatusCode::from_u16(status).expect("a status");
    serve::json(status, ReplyBody::full(text))
}

/// A part of an address as it was meant.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let pair = [
                    rest.next().unwrap_or_default(),
                    rest.next().unwrap_or_default(),
                ];
                let pair = std::str::from_utf8(&pair).unwrap_or_default();
                bytes.push(u8::from_str_radix(pair, 16).unwrap_or_default());
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
