//! One client request in flight, in any era.
//!
//! An [`Exchange`] yields events – notifications, input needed – and at last
//! one [`Outcome`]. It knows nothing of how either side is connected. Dropping
//! it before its outcome cancels the request upstream, in that server's own way.

mod consent;
mod crossing;
mod inbox;
mod input;
mod line;
mod log;
mod renewal;
mod step_up;

use consent::Gate;
pub(crate) use consent::{Asked, can_be_asked};
pub use consent::{Consent, Verdict};
use crossing::Before;
pub(crate) use crossing::Crossing;
pub use inbox::Inbox;
pub use input::{Answer, Input};
use line::Line;
pub(crate) use log::CallLog;

use crate::{call::Again, error::CallError, upstream::Connection};
use bytes::Bytes;
use renewal::Renewal;
use std::{sync::Arc, time::Duration};
use step_up::StepUp;
use switchboard_transport::budget::InFlight;
use switchboard_wire::{Edits, Id, Message, Method, Payload};
use tokio::time::{Instant, timeout_at};

/// A notification on its way to a client, ready to be sent.
#[derive(Clone, Debug)]
pub struct Notice {
    /// Its method, for filters.
    pub method: Method,
    /// The message as the client gets it.
    pub payload: Payload,
    /// The message as the server sent it.
    pub message: Message,
}

/// What happens to a request on its way.
#[derive(Debug)]
pub enum Event {
    /// The server says something about this request.
    Notice(Notice),
    /// The server needs something from the client.
    Input(Input),
    /// It is over. Nothing follows.
    Outcome(Outcome),
}

/// How a request ended.
#[derive(Debug)]
pub enum Outcome {
    /// The server answered.
    Reply(Reply),
    /// It did not.
    Failed(CallError),
}

/// A server's answer, with what must change in it for the client.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The answer as it came.
    pub message: Message,
    /// Changes within it, apart from the id.
    pub edits: Edits,
}

impl Reply {
    /// The answer under the client's own id.
    pub fn payload(&self, id: &Id) -> Payload {
        let mut edits = self.edits.clone();
        if let Some(span) = self.message.id_span() {
            edits.replace(span, id.token().clone());
        }
        self.message.edited(&edits)
    }
}

/// One request in flight.
#[derive(Debug)]
pub struct Exchange {
    inbox: Arc<Inbox>,
    connection: Arc<Connection>,
    request: u64,
    deadline: Instant,
    allowed: Duration,
    over: bool,
    /// What it takes to join client and server where they speak different eras.
    bridge: Option<Box<Crossing>>,
    /// What to send again, once, where that is safe.
    again: Option<Box<Again>>,
    /// The token under which progress is told now, where it is another than at first.
    told_as: Option<Option<Bytes>>,
    /// Its leaving again, while that is prepared.
    renewal: Option<Renewal>,
    /// The sign-in that it waits for before it leaves again.
    step_up: Option<Box<StepUp>>,
    /// What it waits for before it leaves at all.
    gate: Option<Box<Gate>>,
    /// The line it stands in, where clients of its server take turns.
    line: Option<Box<Line>>,
    /// What is logged of it, where somebody wants to know.
    log: Option<Box<CallLog>>,
    /// Its place among the calls of its principal.
    counted: Option<InFlight>,
}

impl Exchange {
    pub(crate) fn new(
        inbox: Arc<Inbox>,
        connection: Arc<Connection>,
        request: u64,
        allowed: Duration,
    ) -> Self {
        Self {
            inbox,
            connection,
            request,
            deadline: Instant::now() + allowed,
            allowed,
            over: false,
            bridge: None,
            again: None,
            told_as: None,
            renewal: None,
            step_up: None,
            gate: None,
            line: None,
            log: None,
            counted: None,
        }
    }

    pub(crate) fn counted(mut self, counted: Option<InFlight>) -> Self {
        self.counted = counted;
        self
    }

    /// The number of the request on its connection.
    pub(crate) fn request(&self) -> u64 {
        self.request
    }

    pub(crate) fn or_again(mut self, again: Option<Box<Again>>) -> Self {
        self.again = again;
        self
    }

    pub(crate) fn logged(mut self, log: Option<Box<CallLog>>) -> Self {
        self.log = log;
        self
    }

    pub(crate) fn across(mut self, crossing: Crossing) -> Self {
        self.bridge = Some(Box::new(crossing));
        self
    }

    /// The connection that carries it.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Whether client and server speak different eras.
    pub fn crosses_eras(&self) -> bool {
        self.bridge.is_some()
    }

    /// The next event. After the outcome there is none.
    pub async fn next(&mut self) -> Event {
        loop {
            let step = match timeout_at(self.deadline, self.step()).await {
                Ok(step) => step,
                Err(_) if self.gate.is_some() => {
                    let allowed = self.allowed;
                    self.gate.take().map(|gate| gate.timed_out(allowed))
                }
                Err(_) if self.step_up.is_some() => {
                    self.step_up.take().map(|step| step.timed_out())
                }
                Err(_) if self.line.is_some() => Some(Event::Outcome(Outcome::Failed(
                    self.connection.not_its_turn(self.allowed),
                ))),
                Err(_) => {
                    self.connection.cancel(self.request, Some("timed out"));
                    Some(Event::Outcome(Outcome::Failed(CallError::TimedOut {
                        server: self.connection.server_name().to_string(),
                        allowed: self.allowed,
                    })))
                }
            };
            if let Some(Event::Outcome(Outcome::Failed(fault))) = &step
                && (self.renews(fault) || self.steps_up(fault))
            {
                continue;
            }
            if let Some(event) = step.and_then(|event| self.told(event)) {
                if let Event::Outcome(outcome) = &event {
                    self.over = true;
                    if let Some(log) = self.log.take() {
                        log.end(outcome);
                    }
                }
                return event;
            }
        }
    }

    /// What is told of an event: progress that came while nobody waited for it
    /// goes under the token of whoever does now.
    fn told(&self, event: Event) -> Option<Event> {
        match (event, &self.told_as) {
            (Event::Notice(notice), Some(token)) if notice.method == Method::Progress => {
                let payload = restore_token(&notice.message, token.as_ref()?);
                Some(Event::Notice(Notice { payload, ..notice }))
            }
            (event, _) => Some(event),
        }
    }

    /// One step of the way; `None` where it leads to another step and nothing to tell.
    async fn step(&mut self) -> Option<Event> {
        if self.renewal.is_some() {
            return self.renewed().await;
        }
        if let Some(step_up) = &mut self.step_up {
            let ended = tokio::select! {
                biased;
                event = self.inbox.next() => return Some(event),
                ended = step_up.ended() => ended,
            };
            return self.stepped_up(ended);
        }
        if let Some(gate) = &mut self.gate {
            let verdict = tokio::select! {
                biased;
                event = self.inbox.next() => return Some(event),
                verdict = gate.verdict(&self.connection) => verdict,
            };
            let gate = self.gate.take()?;
            return match gate.settle(&self.connection, verdict) {
                Ok(sent) => {
                    self.give_way_to(sent);
                    None
                }
                Err(fault) => self.not_left(fault, gate.permitted()),
            };
        }
        if let Some(line) = &mut self.line {
            let turn = line.turn().await;
            let line = self.line.take()?;
            return match line.leave(&self.connection, turn) {
                Ok(sent) => {
                    let again = self.again.take();
                    self.give_way_to(sent.or_again(again));
                    None
                }
                Err(fault) => self.not_left(fault, &line.permitted),
            };
        }
        let Some(crossing) = &mut self.bridge else {
            return Some(self.inbox.next().await);
        };
        match crossing.before(&self.connection).await {
            Before::Listen => {}
            Before::Tell(event) => return Some(*event),
            Before::Again(inbox, request) => {
                (self.inbox, self.request) = (inbox, request);
                return None;
            }
        }
        let event = self.inbox.next().await;
        crossing.after(&self.connection, event)
    }

    /// Goes on as another, which has been sent in its place. What is the client's
    /// call, however often it is sent, goes along.
    fn give_way_to(&mut self, mut sent: Self) {
        sent.told_as = self.told_as.take();
        sent.log = self.log.take();
        sent.counted = self.counted.take();
        std::mem::swap(self, &mut sent);
        sent.over = true;
    }

    /// The outcome; notifications are dropped and questions refused.
    pub async fn outcome(mut self) -> Outcome {
        loop {
            match self.next().await {
                Event::Outcome(outcome) => return outcome,
                Event::Input(input) => input.refuse_unsupported(),
                Event::Notice(_) => {}
            }
        }
    }

    /// Gives the request up in the client's own words: its notification, under our id.
    pub fn cancel_as(mut self, notice: &Message) {
        self.over = true;
        self.connection.cancel_as(self.request, notice);
    }

    /// From now on progress is told under another token: a parked request goes on as a new one.
    pub fn set_progress_token(&mut self, token: Option<Bytes>) {
        self.inbox.keep_newest_progress();
        self.told_as = Some(token.clone());
        match (&mut self.gate, &mut self.line) {
            (Some(gate), _) => gate.token = Some(token),
            (None, Some(line)) => line.token = Some(token),
            (None, None) => self.connection.set_token(self.request, token),
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !self.over {
            self.connection.cancel(self.request, None);
        }
    }
}

/// What the client must get back wherever its progress token stood.
pub(crate) fn restore_token(message: &Message, token: &Bytes) -> Payload {
    let mut edits = Edits::new();
    if let Some(body) = message.body_span()
        && let Ok(Some(span)) =
            switchboard_wire::json::field(body.of(message.raw()), "progressToken")
    {
        edits.replace(span.shifted(body.start), token.clone());
    }
    message.edited(&edits)
}
