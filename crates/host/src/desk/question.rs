//! One question, as whoever may answer it is shown it.

use super::Held;
use crate::{
    client::Client,
    exchange::{Answer, Consent, Input},
};
use bytes::Bytes;
use serde_json::Value;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};
use switchboard_wire::{Kind as MessageKind, Method, json};

/// What kind of question it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// May this call be made?
    Permission,
    /// A form.
    Form,
    /// A page to visit.
    Page,
    /// A model's answer is wanted.
    Sampling,
    /// May this go on, as it is or changed? Nobody asked: somebody has set a breakpoint.
    Held,
}

impl Kind {
    /// The kind of what a client is to be asked; nothing where no person could answer.
    pub(super) fn of(input: &Input) -> Option<Self> {
        if input.held().is_some() {
            return Some(Self::Held);
        }
        if input.consent().is_some() {
            return Some(Self::Permission);
        }
        match input.method() {
            Method::SamplingCreateMessage => Some(Self::Sampling),
            Method::ElicitationCreate if input.is_page() => Some(Self::Page),
            Method::ElicitationCreate => Some(Self::Form),
            _ => None,
        }
    }
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It waits.
    Open,
    /// Somebody answered.
    Answered,
    /// Nobody did.
    TimedOut,
    /// Nobody waits for the answer any more.
    Withdrawn,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The answer's word.
    pub action: String,
    /// `client`, or who else.
    pub by: String,
    /// When.
    pub at: SystemTime,
}

/// One question.
#[derive(Clone, Debug)]
pub struct Question {
    /// Random, so that nobody guesses another's.
    pub id: Arc<str>,
    /// Later ones have larger numbers.
    pub number: u64,
    /// What kind it is.
    pub kind: Kind,
    /// How far it is.
    pub status: Status,
    /// When it was asked.
    pub at: SystemTime,
    /// When it is given up, where that is known.
    pub until: Option<SystemTime>,
    /// Whose call waits for it.
    pub principal: Arc<str>,
    /// What its client calls itself.
    pub client: Option<String>,
    /// The server.
    pub server: Arc<str>,
    /// The number of the call that waits, where it has one.
    pub call: Option<u64>,
    /// What is to be allowed.
    pub consent: Option<Arc<Consent>>,
    /// What is held.
    pub held: Option<Arc<Held>>,
    /// What the server wrote: the text of its request's parameters. Empty once it is over.
    pub params: Bytes,
    /// Whether the client was asked as well.
    pub also_client: bool,
    /// What was answered.
    pub answered: Option<Answered>,
}

impl Question {
    pub(super) fn new(
        id: Arc<str>,
        input: &Input,
        client: &Client,
        call: Option<u64>,
        also_client: bool,
        for_: Option<Duration>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let at = SystemTime::now();
        Self {
            id,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            kind: Kind::of(input).unwrap_or(Kind::Form),
            status: Status::Open,
            at,
            until: for_.map(|for_| at + for_),
            principal: client.principal.clone(),
            client: client.said_name().map(|name| (**name).to_owned()),
            server: input.server().clone(),
            call,
            consent: input.consent().cloned(),
            held: input.held().cloned(),
            params: Bytes::copy_from_slice(input.message().body()),
            also_client,
            answered: None,
        }
    }

    /// How much of memory it holds.
    pub fn size(&self) -> usize {
        let arguments = self.consent.as_ref().and_then(|it| it.arguments.as_ref());
        let held = self.held.as_ref().map_or(0, |held| held.text.len());
        self.params.len() + arguments.map_or(0, String::len) + held
    }

    /// The same once it is over: what it was about is not kept.
    pub(super) fn over(&self, status: Status, answered: Option<Answered>) -> Self {
        let consent = self.consent.as_ref().map(|consent| {
            Arc::new(Consent {
                arguments: None,
                ..(**consent).clone()
            })
        });
        Self {
            status,
            answered,
            consent,
            held: self.held.as_ref().map(|held| held.over()),
            params: Bytes::new(),
            ..self.clone()
        }
    }
}

/// The word for what a client answered.
pub(super) fn action(answer: &Answer) -> String {
    let Answer::Response(message) = answer else {
        return "refused".to_owned();
    };
    if message.kind() != MessageKind::Response {
        return "decline".to_owned();
    }
    let body = message.body();
    let action = json::field(body, "action").ok().flatten();
    let action = action.and_then(|span| json::text(span.of(body)));
    let Some(action) = action else {
        return "accept".to_owned();
    };
    // The form of a question of ours says more.
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    match (said["content"]["answer"].as_str(), &*action) {
        (Some(said), "accept") if said.len() <= crate::limits::DESK_WORD => said.to_owned(),
        _ => action.into_owned(),
    }
}
