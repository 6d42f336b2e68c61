//! An exchange between different eras: how it starts, what changes in what it
//! yields, and the rounds that a modern server may need.

use super::{Event, Inbox, Notice, Outcome, Reply};
use crate::{
    bridge::{
        reply,
        request::{self, Retry},
        rounds::{self, ROUNDS, Round},
    },
    client::Client,
    error::CallError,
    upstream::Connection,
};
use serde_json::json;
use std::{collections::VecDeque, fmt, sync::Arc, time::Duration};
use switchboard_wire::{Edits, Era, ErrorObject, Kind, Message, Method, code, json as text};
use tokio_util::sync::CancellationToken;

/// The state of an exchange between eras.
pub(crate) struct Crossing {
    client: Arc<Client>,
    connection: Arc<Connection>,
    /// The request as the server would get it in the client's era.
    original: Message,
    name: Option<String>,
    mirrored: Vec<(String, String)>,
    timeout: Duration,
    round: u32,
    waiting: Option<Round>,
    questions: VecDeque<super::Input>,
    /// Ends with the exchange: questions still open are then void.
    over: CancellationToken,
    /// The furthest progress told so far: over several rounds it must not go back.
    progress: f64,
}

/// What must happen before the server is listened to.
pub(super) enum Before {
    /// Nothing.
    Listen,
    /// The client is told something first.
    Tell(Box<Event>),
    /// The request was sent again.
    Again(Arc<Inbox>, u64),
}

impl Crossing {
    /// Sends a request into the other era.
    pub(crate) fn start(
        connection: &Arc<Connection>,
        client: Arc<Client>,
        original: Message,
        name: Option<String>,
        mirrored: Vec<(String, String)>,
        timeout: Duration,
    ) -> Result<(Self, Arc<Inbox>, u64), CallError> {
        let mut crossing = Self {
            client,
            connection: connection.clone(),
            original,
            name,
            mirrored,
            timeout,
            round: 0,
            waiting: None,
            questions: VecDeque::new(),
            over: CancellationToken::new(),
            progress: f64::NEG_INFINITY,
        };
        let (inbox, request) = crossing.send(connection, &Retry::default())?;
        Ok((crossing, inbox, request))
    }

    fn send(
        &mut self,
        connection: &Arc<Connection>,
        retry: &Retry,
    ) -> Result<(Arc<Inbox>, u64), CallError> {
        self.round += 1;
        let message = match self.client.era() {
            Era::Legacy => request::to_modern(&self.original, &self.client, retry),
            Era::Modern => request::to_legacy(&self.original),
        };
        let (name, mirrored) = (self.name.clone(), self.mirrored.clone());
        connection.dispatch(
            self.client.clone(),
            &message,
            Edits::new(),
            name,
            mirrored,
            self.timeout,
        )
    }

    pub(super) async fn before(&mut self, connection: &Arc<Connection>) -> Before {
        if let Some(question) = self.questions.pop_front() {
            return Before::Tell(Box::new(Event::Input(question)));
        }
        let Some(round) = self.waiting.clone() else {
            return Before::Listen;
        };
        let next = round.answered(self.round).await;
        self.waiting = None;
        match next.and_then(|retry| self.send(connection, &retry)) {
            Ok((inbox, request)) => Before::Again(inbox, request),
            Err(fault) => Before::Tell(Box::new(failed(fault))),
        }
    }

    /// What the client is told of what the server said.
    pub(super) fn after(&mut self, connection: &Arc<Connection>, event: Event) -> Option<Event> {
        match event {
            Event::Notice(notice) => self.notice(notice),
            Event::Outcome(Outcome::Reply(reply)) => self.reply(connection, reply),
            other => Some(other),
        }
    }

    fn notice(&mut self, notice: Notice) -> Option<Event> {
        let body = notice.message.body();
        match notice.method {
            Method::Progress => {
                let value = text::field(body, "progress").ok().flatten();
                let value = value
                    .and_then(|span| std::str::from_utf8(span.of(body)).ok()?.parse::<f64>().ok());
                if value.is_some_and(|value| value <= self.progress) {
                    return None;
                }
                self.progress = value.unwrap_or(self.progress);
            }
            // Modern: only to a request that asked, and from the level it asked for.
            Method::LogMessage if self.client.era() == Era::Modern => {
                let level = text::field(body, "level").ok().flatten();
                let level = level
                    .and_then(|span| text::text(span.of(body)))
                    .unwrap_or_default();
                if !self.client.asked_for_logs() || !self.client.wants_log(&level) {
                    return None;
                }
            }
            _ => {}
        }
        Some(Event::Notice(notice))
    }

    fn reply(&mut self, connection: &Arc<Connection>, reply: Reply) -> Option<Event> {
        let message = reply.message;
        if self.client.era() == Era::Legacy && rounds::asks_for_input(&message) {
            if self.round >= ROUNDS {
                let (server, reason) = (
                    connection.server_name().to_string(),
                    format!("it asked {ROUNDS} times for input"),
                );
                return Some(failed(CallError::Unreadable { server, reason }));
            }
            let (round, questions) = Round::open(
                &message,
                connection.server_name(),
                self.client.revision,
                &self.over,
            );
            self.waiting = Some(round);
            self.questions = questions.into();
            return None;
        }
        let method = self.original.method();
        let missing = connection.take_undeclared(self.client.id);
        if !missing.is_empty() && is_failure(&message) {
            return Some(failed(CallError::Refused(missing_capabilities(
                &missing, &message,
            ))));
        }
        let uri = self
            .name
            .as_deref()
            .filter(|_| method == Method::ResourcesRead);
        let message = reply::translated(self.client.era(), method, uri, message);
        Some(Event::Outcome(Outcome::Reply(Reply {
            message,
            edits: Edits::new(),
        })))
    }
}

impl Drop for Crossing {
    fn drop(&mut self) {
        self.over.cancel();
        self.connection.forget(self.client.id);
    }
}

impl fmt::Debug for Crossing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crossing")
            .field("client", &self.client)
            .field("round", &self.round)
            .finish_non_exhaustive()
    }
}

fn failed(fault: CallError) -> Event {
    Event::Outcome(Outcome::Failed(fault))
}

/// An error, or a result that says it is one.
fn is_failure(message: &Message) -> bool {
    message.kind() == Kind::Error
        || text::field(message.body(), "isError")
            .ok()
            .flatten()
            .is_some_and(|span| span.of(message.body()) == b"true")
}

/// The server asked for something that the client had not declared, and could not do without.
fn missing_capabilities(missing: &[&'static str], answer: &Message) -> ErrorObject {
    let required: serde_json::Map<String, serde_json::Value> = missing
        .iter()
        .map(|name| ((*name).to_owned(), json!({})))
        .collect();
    let said: serde_json::Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    ErrorObject::new(
        code::MISSING_CAPABILITY,
        format!("the server needs {}", missing.join(" and ")),
    )
    .with_data(json!({ "requiredCapabilities": required, "answer": said }))
}
