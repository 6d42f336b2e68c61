//! A modern request at its server: what comes of it, until its answer, or until
//! the server asks something and the request is parked for the client's retry.

use super::{Answer, Request, address, refused, state};
use crate::{
    gateway::Gateway,
    limits,
    session::{
        Weight, lists,
        parked::{self, Waiting},
        rewrite,
        steps::{Step, Steps},
    },
};
use std::{collections::VecDeque, sync::Arc};
use switchboard_host::{
    Admitted, CallError, Client, Event, Exchange, Input, Notice, Outcome, Scope,
    bridge::rounds::asks_for_input,
};
use switchboard_wire::{Id, Kind, Message, Payload, code};
use tokio::time::{Instant, timeout};

/// A modern request in flight at its server.
#[derive(Debug)]
pub(crate) struct Relayed {
    pub(super) gateway: Arc<Gateway>,
    pub(super) client: Arc<Client>,
    pub(super) request: Box<Request>,
    pub(super) id: Id,
    /// `None` once it has been parked.
    pub(super) exchange: Option<Exchange>,
    /// Questions that are asked together, while they come. Kept here, since whoever
    /// waits for the next step may stop waiting and come back.
    gathered: Option<Gathered>,
    /// Notifications that came while questions were gathered.
    notices: VecDeque<Payload>,
    /// What follows them.
    ending: Option<Answer>,
    pub(super) visits: u32,
}

/// Questions that came together so far.
#[derive(Debug)]
struct Gathered {
    questions: Vec<(String, Input)>,
    /// A server that never stops talking does not put the question off for ever.
    latest: Instant,
    /// Bytes of what was said meanwhile.
    said: usize,
}

impl Gathered {
    fn is_open(&self) -> bool {
        Instant::now() < self.latest
    }
}

/// Takes a request to its server.
pub(super) async fn relay(
    gateway: &Arc<Gateway>,
    client: Arc<Client>,
    request: Box<Request>,
    id: Id,
    visits: u32,
) -> Result<Relayed, CallError> {
    let admitted = Box::new(Admitted {
        client: client.clone(),
        scope: request.scope.clone(),
        message: request.message.clone(),
        params: request.params.clone(),
        headers: request.headers.clone(),
        trace: request.trace.clone(),
        // What a server asks for may be bound to a principal.
        passes_on: request.passes_on
            && !request.shared_credential
            && matches!(request.scope, Scope::One(_)),
    });
    let exchange = gateway.host().call(admitted).await?;
    let gateway = gateway.clone();
    Ok(Relayed {
        gateway,
        client,
        request,
        id,
        exchange: Some(exchange),
        gathered: None,
        notices: VecDeque::new(),
        ending: None,
        visits,
    })
}

impl Steps for Relayed {
    type End = Answer;

    async fn next(&mut self) -> Step<Answer> {
        let step = self.step().await;
        if let Some(shown) = &self.request.trace.shown {
            match &step {
                Step::Notice(notice, _) => shown.to_client(notice),
                // One that is passed on is shown to nobody: whoever looks has it whole.
                Step::Done(answer) if answer.begun.is_some() => {}
                Step::Done(answer) => shown.to_client(&answer.payload),
            }
        }
        step
    }
}

impl Relayed {
    async fn step(&mut self) -> Step<Answer> {
        if let Some(notice) = self.notices.pop_front() {
            return Step::Notice(notice, Weight::Notice);
        }
        if let Some(ending) = self.ending.take() {
            return Step::Done(ending);
        }
        if self.gathered.is_some() {
            return self.gather().await;
        }
        let Some(exchange) = &mut self.exchange else {
            return Step::Done(self.gone());
        };
        match exchange.next().await {
            Event::Notice(notice) => {
                let weight = Weight::of(notice.method);
                Step::Notice(self.outward(notice), weight)
            }
            Event::Input(input) => {
                self.add_question(input);
                self.gather().await
            }
            Event::Outcome(outcome) => Step::Done(self.finish(outcome)),
        }
    }
}

impl Relayed {
    /// A notification as the client gets it.
    fn outward(&self, notice: Notice) -> Payload {
        match (&self.exchange, &self.request.scope) {
            (Some(exchange), Scope::All) => {
                let server = exchange.connection().server_name();
                rewrite::notice(&self.gateway, &self.client, server, notice)
            }
            _ => notice.payload,
        }
    }

    fn finish(&self, outcome: Outcome) -> Answer {
        let Some(exchange) = &self.exchange else {
            return self.gone();
        };
        let mut reply = match outcome {
            Outcome::Reply(reply) => reply,
            Outcome::Failed(fault) => return refused(&fault.to_error(), &self.id),
            Outcome::Begun(begun) => {
                return Answer {
                    payload: Payload::default(),
                    code: None,
                    begun: Some((begun, self.id.clone())),
                };
            }
        };
        if exchange.crosses_eras()
            && reply.message.error_code() == Some(code::URL_ELICITATION_REQUIRED)
            && self.visits < limits::VISITS
            && let Some(answer) = self.visit(&reply.message)
        {
            return answer;
        }
        if self.request.shared_credential && asks_for_input(&reply.message) {
            state::wrap(&self.gateway, &self.request, &mut reply);
        }
        let method = self.request.message.method();
        if matches!(self.request.scope, Scope::All) {
            rewrite::reply(
                &self.gateway,
                &self.client,
                exchange.connection().server_name(),
                method,
                &mut reply,
                &[],
            );
        } else if let Scope::One(server) = &self.request.scope
            && !asks_for_input(&reply.message)
        {
            let (gateway, client) = (&self.gateway, &self.client);
            let connection = exchange.connection();
            if let Err(fault) = lists::hide(gateway, server, client, method, connection, &mut reply)
            {
                return refused(&fault.to_error(), &self.id);
            }
        }
        let code = (reply.message.kind() == Kind::Error)
            .then(|| reply.message.error_code())
            .flatten();
        Answer {
            begun: None,
            payload: reply.payload(&self.id),
            code,
        }
    }

    /// Adds what the server asks to what is asked together.
    fn add_question(&mut self, input: Input) {
        let gateway = self.gateway.clone();
        let aggregate = matches!(self.request.scope, Scope::All).then_some(&*gateway);
        let gathered = self.gathered.get_or_insert_with(|| Gathered {
            questions: Vec::new(),
            latest: Instant::now() + limits::SETTLE_MOST,
            said: 0,
        });
        parked::add_question(&mut gathered.questions, input, aggregate);
    }

    /// The server asks something. Questions that come together are asked together.
    async fn gather(&mut self) -> Step<Answer> {
        while self.gathered.as_ref().is_some_and(Gathered::is_open) {
            let Some(exchange) = &mut self.exchange else {
                return Step::Done(self.gone());
            };
            // What is said meanwhile is said on this request's own stream.
            match timeout(limits::SETTLE, exchange.next()).await {
                Ok(Event::Input(input)) => self.add_question(input),
                Ok(Event::Notice(notice)) => self.keep_notice(notice),
                Ok(Event::Outcome(outcome)) => {
                    self.gathered = None;
                    return self.end_with(Ok(self.finish(outcome)));
                }
                Err(_) => break,
            }
        }
        let gathered = self.gathered.take();
        let parked = self.park(gathered.map_or_else(Vec::new, |it| it.questions));
        self.end_with(parked)
    }

    /// Keeps what is said while questions are gathered, as far as there is room.
    fn keep_notice(&mut self, notice: Notice) {
        let notice = self.outward(notice);
        if let Some(gathered) = &mut self.gathered {
            gathered.said += notice.len();
            if gathered.said <= limits::STREAM_BYTES {
                self.notices.push_back(notice);
            }
        }
    }

    /// The end, after what was gathered on the way.
    fn end_with(&mut self, answer: Result<Answer, CallError>) -> Step<Answer> {
        let answer = answer.unwrap_or_else(|fault| refused(&fault.to_error(), &self.id));
        match self.notices.pop_front() {
            None => Step::Done(answer),
            Some(notice) => {
                self.ending = Some(answer);
                Step::Notice(notice, Weight::Notice)
            }
        }
    }

    /// Leaves the call where the client's retry will find it.
    pub(super) fn park(&mut self, questions: Vec<(String, Input)>) -> Result<Answer, CallError> {
        let requests = parked::as_requests(&questions);
        if let Some(exchange) = &mut self.exchange {
            exchange.parked();
        }
        let id = self.id.clone();
        let relayed = Box::new(Self {
            gateway: self.gateway.clone(),
            client: self.client.clone(),
            request: self.request.clone(),
            id: id.clone(),
            exchange: self.exchange.take(),
            gathered: None,
            notices: VecDeque::new(),
            ending: None,
            visits: self.visits,
        });
        let address = address(&self.request.scope);
        let waiting = Waiting::Call { relayed, questions };
        let lot = self.gateway.lot();
        let ticket = lot.park(waiting, &self.request, &address)?;
        Ok(Answer {
            begun: None,
            payload: parked::input_required(&requests, &ticket, &id).payload(),
            code: None,
        })
    }

    fn gone(&self) -> Answer {
        refused(&CallError::Cancelled.to_error(), &self.id)
    }

    /// Gives the request up in the client's own words.
    pub(crate) fn cancel_as(mut self, notice: &Message) {
        if let Some(shown) = &self.request.trace.shown {
            shown.from_client(notice);
        }
        if let Some(exchange) = self.exchange.take() {
            exchange.cancel_as(notice);
        }
    }
}
