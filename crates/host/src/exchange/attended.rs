//! A modern client's request at a modern server, where a person is asked in the client's
//! place: the server is told that somebody can be, and what it asks is answered here.

use super::{Event, Input, Outcome, Reply, failed, repeated::Repeated};
use crate::{
    bridge::{
        member, object_with,
        request::{with_params, with_people},
        roots,
        rounds::{Round, asks_for_input},
    },
    call::Permitted,
    client::Client,
    error::CallError,
    upstream::Connection,
};
use bytes::Bytes;
use std::{collections::VecDeque, sync::Arc};
use switchboard_wire::{Message, json, meta};
use tokio_util::sync::{CancellationToken, DropGuard};

/// The request, and what was asked in its latest round.
#[derive(Debug)]
pub(crate) struct Attended {
    pub(super) request: Repeated,
    /// What the server is told of roots, where its entry has any.
    roots: Option<String>,
    questions: VecDeque<Input>,
    waiting: Option<Round>,
    /// Ends with the exchange: questions still open are then void.
    over: CancellationToken,
    _over: DropGuard,
}

/// Whether somebody else than this client answers what a modern server asks it: one that
/// can be asked something is asked by its server itself, unless it is not to be.
pub(crate) fn is_attended(client: &Client) -> bool {
    let at = client.asked_at();
    let can_be_asked = client.declares("elicitation") || client.declares("sampling");
    at.asks_inbox() && (!at.asks_client() || !can_be_asked)
}

impl Attended {
    /// Sends a request that says that somebody can be asked.
    pub(crate) fn start(
        connection: &Arc<Connection>,
        permitted: &Permitted,
    ) -> Result<Self, CallError> {
        let roots = &connection.spec().roots;
        let roots = (!roots.is_empty()).then(|| roots::answer(roots));
        let put = |message: &Message| Ok(able(message, roots.is_some()));
        let request = Repeated::start(connection, permitted, put)?;
        let over = CancellationToken::new();
        Ok(Self {
            request,
            roots,
            questions: VecDeque::new(),
            waiting: None,
            _over: over.clone().drop_guard(),
            over,
        })
    }

    /// One step of the way; `None` where it leads to another step and nothing to tell.
    pub(super) async fn step(&mut self) -> Option<Event> {
        if let Some(question) = self.questions.pop_front() {
            return Some(Event::Input(question));
        }
        if let Some(round) = self.waiting.clone() {
            let answers = round.answered(self.request.round()).await;
            self.waiting = None;
            let sent = answers.and_then(|retry| self.again(retry.responses, retry.state));
            return sent.err().map(failed);
        }
        let reply = match self.request.sent_mut().next().await {
            Event::Outcome(Outcome::Reply(reply)) => reply,
            other => return Some(other),
        };
        if !asks_for_input(&reply.message) {
            return Some(Event::Outcome(Outcome::Reply(reply)));
        }
        if let Err(fault) = self.request.may_be_asked() {
            return Some(failed(fault));
        }
        let Reply { message, .. } = reply;
        let permitted = self.request.permitted();
        let (round, questions) = Round::open(
            &message,
            permitted.server.name(),
            permitted.client().revision,
            &self.over,
            self.roots.as_deref(),
        );
        self.waiting = Some(round);
        self.questions = questions.into();
        None
    }

    /// Sends the request with what was answered.
    fn again(&mut self, responses: Option<String>, state: Option<Bytes>) -> Result<(), CallError> {
        let state = state.map(|state| String::from_utf8_lossy(&state).into_owned());
        let mut set: Vec<(&str, &str)> = Vec::new();
        set.extend(responses.as_deref().map(|it| ("inputResponses", it)));
        set.extend(state.as_deref().map(|it| ("requestState", it)));
        self.request.again(|message| {
            let old = ["inputResponses", "requestState"];
            with_params(message, &object_with(message.body(), &old, &set))
        })
    }
}

/// The request as somebody makes it who can be asked.
fn able(message: &Message, has_roots: bool) -> Message {
    let body = message.body_bytes();
    let old = member(&body, "_meta").unwrap_or(Bytes::from_static(b"{}"));
    let declared = json::members(&old).find(|member| {
        json::text(member.key.of(&old)).is_some_and(|key| key == meta::CLIENT_CAPABILITIES)
    });
    let declared = declared.map_or(b"{}".as_slice(), |member| member.value.of(&old));
    let mut capabilities = with_people(declared);
    if has_roots {
        capabilities = roots::declared(capabilities.as_bytes());
    }
    let meta = object_with(&old, &[], &[(meta::CLIENT_CAPABILITIES, &capabilities)]);
    with_params(message, &object_with(&body, &[], &[("_meta", &meta)]))
}
