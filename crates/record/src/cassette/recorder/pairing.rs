//! Which messages on connections to servers belong together: a request, what is said and
//! asked meanwhile, and its answer.

use super::super::{Answer, Between, Call, Hello, Notice, Question, line::Line};
use crate::limits;
use bytes::Bytes;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};
use switchboard_wire::{Era, Id, Kind, Message, Method, json, meta, own_number};
use tokio::time::Instant;

/// A request at its server: which connection, and our number on it.
type At = (u64, u64);

/// What is under way.
#[derive(Debug)]
pub(super) struct Pairing {
    begun: Instant,
    /// Requests without an answer. In order: the latest of a connection is its last.
    open: BTreeMap<At, Open>,
    /// Questions without an answer, by the connection and the server's id.
    asked: HashMap<(u64, Id), At>,
    bytes: usize,
    dropped: u64,
}

#[derive(Debug)]
struct Open {
    server: Arc<str>,
    since: Instant,
    method: String,
    params: Option<Bytes>,
    between: Vec<(Between, Option<Id>)>,
    bytes: usize,
}

impl Pairing {
    pub(super) fn new(begun: Instant) -> Self {
        Self {
            begun,
            open: BTreeMap::new(),
            asked: HashMap::new(),
            bytes: 0,
            dropped: 0,
        }
    }

    /// How many calls were not followed since this was last asked.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// Something leaves for a server.
    pub(super) fn sends(&mut self, link: u64, server: &str, message: &Message, now: Instant) {
        match message.kind() {
            Kind::Request => self.begins(link, server, message, now),
            Kind::Notification => {
                if message.method() == Method::Cancelled
                    && let Some(request) = number_in(message, "requestId")
                {
                    self.take((link, request));
                }
            }
            Kind::Response | Kind::Error => {
                let Some(id) = message.id() else { return };
                let Some(at) = self.asked.remove(&(link, id.clone())) else {
                    return;
                };
                self.answered(at, &id, message, now);
            }
        }
    }

    fn begins(&mut self, link: u64, server: &str, message: &Message, now: Instant) {
        let Some(number) = message.own_id() else {
            return;
        };
        if message.method() == Method::Ping {
            return;
        }
        let bytes = message.raw().len();
        let is_full = self.open.len() >= limits::CASSETTE_OPEN;
        if is_full || self.bytes + bytes > limits::CASSETTE_OPEN_BYTES {
            self.dropped += 1;
            return;
        }
        self.bytes += bytes;
        let open = Open {
            server: server.into(),
            since: now,
            method: message.method_name(),
            params: message.body_span().map(|_| message.body_bytes()),
            between: Vec::new(),
            bytes,
        };
        self.open.insert((link, number), open);
    }

    fn take(&mut self, at: At) -> Option<Open> {
        let open = self.open.remove(&at)?;
        self.bytes = self.bytes.saturating_sub(open.bytes);
        for id in open.between.iter().filter_map(|(_, id)| id.clone()) {
            self.asked.remove(&(at.0, id));
        }
        Some(open)
    }

    fn answered(&mut self, at: At, id: &Id, message: &Message, now: Instant) {
        let Some(open) = self.open.get_mut(&at) else {
            return;
        };
        let when = millis(now - open.since);
        open.bytes += message.raw().len();
        self.bytes += message.raw().len();
        let found = open
            .between
            .iter_mut()
            .find(|(_, of)| of.as_ref() == Some(id));
        if let Some((Between::Question(question), of)) = found {
            question.answered = Some((when, answer_of(message)));
            *of = None;
        }
    }

    /// Something comes from a server. Gives a line that is to be written, and how many
    /// bytes are held for it.
    pub(super) fn hears(
        &mut self,
        link: u64,
        server: &str,
        during: Option<u64>,
        message: &Message,
        now: Instant,
    ) -> Option<(Line, usize)> {
        match message.kind() {
            Kind::Response | Kind::Error => {
                let number = message.own_id().or(during)?;
                let open = self.take((link, number))?;
                let bytes = open.bytes + message.raw().len();
                Some((self.ended(open, message, now)?, bytes))
            }
            Kind::Request => {
                let number = self.whose(link, during, message)?;
                self.asks((link, number), message, now);
                None
            }
            Kind::Notification => {
                let Some(number) = self.whose(link, during, message) else {
                    // A token that nobody knows any more says nothing to anybody.
                    let said = || notice(message, millis(now - self.begun));
                    return (message.method() != Method::Progress)
                        .then(|| (Line::Notice(server.into(), said()), message.raw().len()));
                };
                self.says((link, number), message, now);
                None
            }
        }
    }

    /// The request that something belongs to which comes from a server: what it names, the
    /// one whose stream it came on, the only one under way, or the latest.
    fn whose(&self, link: u64, during: Option<u64>, message: &Message) -> Option<u64> {
        let has = |number: &u64| self.open.contains_key(&(link, *number));
        match message.method() {
            Method::Progress => return number_in(message, "progressToken").filter(has),
            Method::ResourceUpdated | Method::ElicitationComplete | Method::TaskStatus => {
                return None;
            }
            method if method.is_list_change() => return None,
            // A session's own affair, unless it says whose it is.
            Method::RootsList => return during.filter(has),
            _ => {}
        }
        if let Some(number) = during {
            return Some(number).filter(has);
        }
        let all = self.open.range((link, 0)..=(link, u64::MAX));
        let mut can = all.filter(|(_, open)| Method::parse(&open.method) != Method::Listen);
        can.next_back().map(|((_, number), _)| *number)
    }

    fn has_room(&mut self, at: At, bytes: usize) -> Option<&mut Open> {
        if self.bytes + bytes > limits::CASSETTE_OPEN_BYTES {
            self.take(at);
            self.dropped += 1;
            return None;
        }
        let open = self.open.get_mut(&at)?;
        if open.between.len() >= limits::CASSETTE_BETWEEN {
            return None;
        }
        open.bytes += bytes;
        self.bytes += bytes;
        Some(open)
    }

    fn asks(&mut self, at: At, message: &Message, now: Instant) {
        let Some(id) = message.id() else { return };
        let Some(open) = self.has_room(at, message.raw().len()) else {
            return;
        };
        let question = Question {
            at: millis(now - open.since),
            method: message.method_name(),
            params: message.body_span().map(|_| message.body_bytes()),
            answered: None,
        };
        let between = (Between::Question(question), Some(id.clone()));
        open.between.push(between);
        self.asked.insert((at.0, id), at);
    }

    fn says(&mut self, at: At, message: &Message, now: Instant) {
        let Some(open) = self.has_room(at, message.raw().len()) else {
            return;
        };
        let said = notice(message, millis(now - open.since));
        open.between.push((Between::Notice(said), None));
    }

    fn ended(&self, open: Open, message: &Message, now: Instant) -> Option<Line> {
        let method = Method::parse(&open.method);
        let era = era_of(method, open.params.as_ref());
        if matches!(method, Method::Initialize | Method::Discover) {
            // That there is no such thing is found out anew.
            return (message.kind() == Kind::Response).then(|| {
                Line::Hello(Hello {
                    server: open.server,
                    era,
                    params: open.params,
                    result: message.body_bytes(),
                })
            });
        }
        Some(Line::Call(Call {
            server: open.server,
            era,
            at: millis(open.since.saturating_duration_since(self.begun)),
            took: millis(now - open.since),
            method: open.method,
            params: open.params,
            between: open
                .between
                .into_iter()
                .map(|(between, _)| between)
                .collect(),
            answer: answer_of(message),
        }))
    }
}

/// The calls that these messages between us and a server are, in their order: when (in
/// milliseconds since the first), whether from the server, the message. What has no
/// answer is none.
pub fn calls_of(server: &str, messages: &[(u64, bool, Bytes)]) -> Vec<Call> {
    let begun = Instant::now();
    let mut pairing = Pairing::new(begun);
    let mut calls = Vec::new();
    for (at, from_server, raw) in messages {
        let Ok(message) = Message::parse(raw.clone()) else {
            continue;
        };
        let now = begun + Duration::from_millis(*at);
        if !from_server {
            pairing.sends(0, server, &message, now);
            continue;
        }
        let line = pairing.hears(0, server, None, &message, now);
        if let Some((Line::Call(call), _)) = line {
            calls.push(call);
        }
    }
    calls
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn notice(message: &Message, at: u64) -> Notice {
    Notice {
        at,
        method: message.method_name(),
        params: message.body_span().map(|_| message.body_bytes()),
    }
}

fn answer_of(message: &Message) -> Answer {
    match message.kind() {
        Kind::Error => Answer::Error(message.body_bytes()),
        _ => Answer::Result(message.body_bytes()),
    }
}

/// Modern requests say so.
fn era_of(method: Method, params: Option<&Bytes>) -> Era {
    let says = |params: &Bytes| {
        let meta = json::field(params, "_meta").ok()??;
        let version = json::field(meta.of(params), meta::PROTOCOL_VERSION);
        version.ok().flatten()
    };
    match method {
        Method::Discover => Era::Modern,
        Method::Initialize => Era::Legacy,
        _ if params.and_then(says).is_some() => Era::Modern,
        _ => Era::Legacy,
    }
}

/// A number of ours that a message names.
fn number_in(message: &Message, field: &'static str) -> Option<u64> {
    let body = message.body();
    let span = json::field(body, field).ok().flatten()?;
    own_number(span.of(body))
}
