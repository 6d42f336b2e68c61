//! One connection to a played server.

use super::{
    super::{
        Answer, Between, Incomparable, Notice, Question, Recorded,
        asked::{comparable, tree},
        differences,
    },
    Tape, Unrecorded, hello,
};
use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use switchboard_tasks as tasks;
use switchboard_transport::in_process::{End, Sender};
use switchboard_wire::{
    Edits, Era, ErrorObject, Id, Kind, Message, Method, Params, code, json as text,
};
use tokio::{
    sync::oneshot,
    task::AbortHandle,
    time::{Instant, sleep_until, timeout},
};

/// What is known of one connection.
pub(super) struct Played {
    tape: Arc<Tape>,
    sender: Sender,
    /// How often each recorded request was asked, by its first call.
    asked: Mutex<HashMap<(Era, usize), usize>>,
    /// Calls whose notices outside of calls were said.
    said: Mutex<std::collections::HashSet<usize>>,
    /// Questions that wait for an answer.
    questions: Mutex<HashMap<Id, oneshot::Sender<Message>>>,
    next: AtomicU64,
    /// What is being answered.
    running: Mutex<HashMap<Id, AbortHandle>>,
}

impl Played {
    /// Serves one end of a pair until the other is gone.
    pub(super) fn begin(tape: Arc<Tape>, end: End) {
        let End {
            sender,
            mut receiver,
        } = end;
        let played = Arc::new(Self {
            tape,
            sender,
            asked: Mutex::default(),
            said: Mutex::default(),
            questions: Mutex::default(),
            next: AtomicU64::new(1),
            running: Mutex::default(),
        });
        tasks::spawn(tasks::Kind::Reader, async move {
            while let Some(bytes) = receiver.next().await {
                if let Ok(message) = Message::parse(bytes) {
                    played.arrived(message);
                }
            }
            for (_, running) in played.running.lock().drain() {
                running.abort();
            }
        });
    }

    fn arrived(self: &Arc<Self>, message: Message) {
        match message.kind() {
            Kind::Request => self.begins(message),
            Kind::Notification => {
                if message.method() == Method::Cancelled {
                    self.cancelled(&message);
                }
            }
            Kind::Response | Kind::Error => {
                let waiting = message
                    .id()
                    .and_then(|id| self.questions.lock().remove(&id));
                if let Some(waiting) = waiting {
                    let _ = waiting.send(message);
                }
            }
        }
    }

    fn cancelled(&self, message: &Message) {
        let named = Params::of(message).ok();
        let span = named.and_then(|params| params.request_id);
        let Some(span) = span else { return };
        let token = span.of(message.raw());
        let mut running = self.running.lock();
        let found = running.keys().find(|id| id.token().as_ref() == token);
        if let Some(running) = found.cloned().and_then(|id| running.remove(&id)) {
            running.abort();
        }
    }

    fn begins(self: &Arc<Self>, message: Message) {
        let Some(id) = message.id() else { return };
        if self.running.lock().len() >= limits::CASSETTE_REPLAYING {
            let error = ErrorObject::new(code::INTERNAL, "too much is asked at once");
            self.send(error.response(Some(&id)));
            return;
        }
        let (played, of) = (self.clone(), id.clone());
        // It is noted before it can end.
        let mut running = self.running.lock();
        let task = tasks::spawn(tasks::Kind::Background, async move {
            let answer = played.answer(&message, &of).await;
            let is_wanted = played.running.lock().remove(&of).is_some();
            if is_wanted {
                let id = String::from_utf8_lossy(of.token());
                let (key, raw) = match answer.unwrap_or_else(|error| error_of(&error)) {
                    Answer::Result(raw) => ("result", raw),
                    Answer::Error(raw) => ("error", raw),
                };
                let text = String::from_utf8_lossy(&raw);
                let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{key}\":{text}}}");
                played.send_answer(answer.into(), &of);
            }
        });
        running.insert(id, task.abort_handle());
    }

    /// Sends an answer; whoever waits for one that is too large is told so.
    fn send_answer(&self, answer: switchboard_wire::Payload, id: &Id) {
        if let Err(fault) = self.sender.send(answer) {
            let text = format!("what was recorded cannot be sent: {fault}");
            tracing::warn!(%fault, "what was recorded cannot be sent");
            self.send(ErrorObject::new(code::INTERNAL, text).response(Some(id)));
        }
    }

    fn send(&self, payload: switchboard_wire::Payload) {
        if let Err(fault) = self.sender.send(payload) {
            tracing::debug!(%fault, "what was recorded could not be said");
        }
    }

    /// What was recorded, or why there is nothing.
    async fn answer(&self, message: &Message, id: &Id) -> Result<Answer, ErrorObject> {
        let unknown = |era: Era| {
            let text = format!("nothing was recorded of this server in the {era} era");
            ErrorObject::new(code::METHOD_NOT_FOUND, text)
        };
        let result = |text: String| Answer::Result(text.into());
        let met = |era: Era| {
            let said = hello::result(&self.tape.cassette, era);
            said.map(result).ok_or_else(|| unknown(era))
        };
        match message.method() {
            Method::Ping => return Ok(result("{}".to_owned())),
            Method::Initialize => return met(Era::Legacy),
            Method::Discover => return met(Era::Modern),
            _ => {}
        }
        let at = match self.find(message) {
            Ok(at) => at,
            Err(error) => return self.without(message.method()).map(result).ok_or(error),
        };
        let Some(recorded) = self.tape.cassette.calls.get(at) else {
            return Err(ErrorObject::new(code::INTERNAL, "it is not there"));
        };
        self.play(recorded, message, id).await?;
        self.say_after(at, recorded);
        Ok(recorded.call.answer.clone())
    }

    /// A list that was not recorded is empty, where the closest answer will do.
    fn without(&self, method: Method) -> Option<String> {
        let field = method.list_field()?;
        let is_lenient = self.tape.playing.unrecorded == Unrecorded::Closest;
        is_lenient.then(|| format!("{{\"{field}\":[]}}"))
    }

    /// The call that answers a request: the next one of those that were the same.
    fn find(&self, message: &Message) -> Result<usize, ErrorObject> {
        let params = message.body_span().map(|_| message.body_bytes());
        let is_modern = Params::of(message).is_ok_and(|params| params.protocol_version.is_some());
        let era = if is_modern { Era::Modern } else { Era::Legacy };
        let method = message.method_name();
        let bad = |fault: Incomparable| ErrorObject::new(code::INVALID_PARAMS, fault.to_string());
        let asked = comparable(params.as_ref()).map_err(bad)?;
        let tape = &self.tape;
        let calls = match tape.index.find(&tape.cassette, era, &method, &asked) {
            Ok(calls) => calls,
            Err(miss) => match (tape.playing.unrecorded, miss.closest) {
                (Unrecorded::Closest, Some(calls)) => calls,
                _ => return Err(*miss.error),
            },
        };
        let first = calls.first().copied().unwrap_or_default();
        let mut asked = self.asked.lock();
        let count = asked.entry((era, first)).or_default();
        let at = calls.get(*count).or(calls.last()).copied();
        *count += 1;
        at.ok_or_else(|| ErrorObject::new(code::INTERNAL, "nothing is recorded of it"))
    }

    /// Says and asks what was said and asked before the answer.
    async fn play(&self, recorded: &Recorded, asked: &Message, id: &Id) -> Result<(), ErrorObject> {
        let begun = Instant::now();
        let in_time = async |at: u64| {
            if self.tape.playing.in_time {
                // Whoever wrote the cassette may have written any number.
                let at = Duration::from_millis(at).min(limits::CASSETTE_IN_TIME);
                sleep_until(begun + at).await;
            }
        };
        let token = Params::of(asked)
            .ok()
            .and_then(|params| params.progress_token);
        let token = token.map(|span| Bytes::copy_from_slice(span.of(asked.raw())));
        for between in &recorded.call.between {
            match between {
                Between::Notice(notice) => {
                    in_time(notice.at).await;
                    self.say(notice, token.as_ref(), id.as_number());
                }
                Between::Question(question) => {
                    in_time(question.at).await;
                    self.ask(question, id.as_number(), recorded.line).await?;
                }
            }
        }
        in_time(recorded.call.took).await;
        Ok(())
    }

    fn say(&self, notice: &Notice, token: Option<&Bytes>, during: Option<u64>) {
        let mut params = notice.params.clone();
        if Method::parse(&notice.method) == Method::Progress {
            let Some(token) = token else { return };
            params = params.map(|params| with_token(&params, token));
        }
        let params = params.map(|raw| format!(",\"params\":{}", String::from_utf8_lossy(&raw)));
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":{}{}}}",
            text::quote(&notice.method),
            params.unwrap_or_default()
        );
        let sent = match during {
            Some(request) => self.sender.send_during(text.into(), request),
            None => self.sender.send(text.into()),
        };
        if let Err(fault) = sent {
            tracing::debug!(%fault, "what was recorded could not be said");
        }
    }

    /// What was said after a call is said once.
    fn say_after(&self, at: usize, recorded: &Recorded) {
        if recorded.after.is_empty() || !self.said.lock().insert(at) {
            return;
        }
        for notice in &recorded.after {
            self.say(notice, None, None);
        }
    }

    /// Asks what was asked, and waits for the answer, which has to be the recorded one
    /// unless any will do.
    async fn ask(
        &self,
        question: &Question,
        during: Option<u64>,
        line: usize,
    ) -> Result<(), ErrorObject> {
        let id = Id::string(&format!("q{}", self.next.fetch_add(1, Ordering::Relaxed)));
        let (waiting, answered) = oneshot::channel();
        self.questions.lock().insert(id.clone(), waiting);
        let params = question.params.as_ref();
        let params = params.map(|raw| format!(",\"params\":{}", String::from_utf8_lossy(raw)));
        let asked = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":{}{}}}",
            String::from_utf8_lossy(id.token()),
            text::quote(&question.method),
            params.unwrap_or_default()
        );
        let sent = match during {
            Some(request) => self.sender.send_during(asked.into(), request),
            None => self.sender.send(asked.into()),
        };
        let Some((_, recorded)) = question.answered.as_ref().filter(|_| sent.is_ok()) else {
            self.questions.lock().remove(&id);
            return Ok(());
        };
        let answer = timeout(limits::CASSETTE_QUESTION, answered).await;
        self.questions.lock().remove(&id);
        let Ok(Ok(answer)) = answer else {
            let text = format!("{} was not answered", question.method);
            return Err(ErrorObject::new(code::INTERNAL, text));
        };
        if self.tape.playing.unrecorded == Unrecorded::Closest {
            return Ok(());
        }
        same_answer(question, recorded, &answer, line)
    }
}

fn error_of(error: &ErrorObject) -> Answer {
    Answer::Error(error.to_json().into())
}

/// Whether a question was answered as it was recorded.
fn same_answer(
    question: &Question,
    recorded: &Answer,
    answer: &Message,
    line: usize,
) -> Result<(), ErrorObject> {
    let was = match recorded {
        // One error is as good as another: nobody answered.
        Answer::Error(_) if answer.kind() == Kind::Error => return Ok(()),
        Answer::Error(raw) => json!({"error": tree(raw).unwrap_or_default()}),
        Answer::Result(raw) => json!({"result": comparable(Some(raw)).unwrap_or_default()}),
    };
    let body = answer.body_bytes();
    let is = match answer.kind() {
        Kind::Error => json!({"error": tree(&body).unwrap_or_default()}),
        _ => json!({"result": comparable(Some(&body)).unwrap_or_default()}),
    };
    let found = differences(&was, &is, &[]);
    if found.is_empty() {
        return Ok(());
    }
    let text = format!(
        "the answer to {} is not the one on line {line}; it differs at {}",
        question.method, found[0].path
    );
    let data: Vec<Value> = found
        .iter()
        .map(|one| json!({"path": one.path, "recorded": one.recorded, "answered": one.actual}))
        .collect();
    Err(ErrorObject::new(code::INVALID_PARAMS, text).with_data(json!({"differences": data})))
}

/// Progress under the token of whoever asks now.
fn with_token(params: &Bytes, token: &Bytes) -> Bytes {
    let Ok(Some(span)) = text::field(params, "progressToken") else {
        return params.clone();
    };
    let mut edits = Edits::new();
    edits.replace(span, token.clone());
    edits.apply(params).into_bytes()
}
