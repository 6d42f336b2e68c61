//! A modern client at a legacy server: while the server waits for an answer,
//! its call is parked here, and the client holds a sealed ticket for it.

use super::{
    modern::{Relayed, Request},
    rewrite,
    seal::{Binding, Seal},
};
use crate::{admission::Admission, cluster::Cluster, gateway::Gateway, limits};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};
use switchboard_host::{CallError, Input};
use switchboard_local::random;
use switchboard_tasks as tasks;
use switchboard_wire::{ErrorObject, Id, Message, Params, code, json};

/// What our tickets begin with, so that a server's own state is not taken for one.
const PREFIX: &str = "switchboard:";

/// What a server's own state begins with when we have bound it to a principal.
const WRAPPED: &str = "switchboard-wrapped:";

/// Calls that wait for their client to come back.
#[derive(Debug)]
pub(crate) struct Lot {
    seal: Seal,
    parked: Mutex<HashMap<Ticket, Parked>>,
    /// How long each waits.
    patience: Duration,
    /// The other replicas, which a client may come back to.
    cluster: Option<Arc<Cluster>>,
    me: Weak<Self>,
}

type Ticket = [u8; 16];

/// One call that waits.
#[derive(Debug)]
pub(super) struct Parked {
    pub what: Waiting,
    /// Whose it is. It waits no longer than this lasts.
    admission: Admission,
    /// What tells its client from others of the principal, where anything does.
    client: Option<Arc<str>>,
}

/// What waits.
#[derive(Debug)]
pub(super) enum Waiting {
    /// A call in flight, with the questions that are open, by key.
    Call {
        relayed: Box<Relayed>,
        questions: Vec<(String, Input)>,
    },
    /// A request to be sent again once these pages have been visited (-32042).
    Visit {
        /// What is asked for, by key.
        requests: Vec<(String, String)>,
        visits: u32,
    },
}

impl Lot {
    pub(crate) fn new(patience: Duration, cluster: Option<Arc<Cluster>>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            seal: Seal::new(),
            parked: Mutex::default(),
            patience,
            cluster,
            me: me.clone(),
        })
    }

    /// Parks a call and returns the ticket for it. It is dropped, which cancels it, when its time is over.
    pub(super) fn park(
        &self,
        what: Waiting,
        request: &Request,
        server: &str,
    ) -> Result<String, CallError> {
        let (principal, message) = (request.admission.principal(), &request.message);
        let ticket: Ticket = random::bytes().expect("the operating system gives random bytes");
        {
            let mut parked = self.parked.lock();
            let own = parked
                .values()
                .filter(|other| other.admission.principal() == principal)
                .count();
            if parked.len() >= limits::PARKED || own >= limits::PARKED_PER_PRINCIPAL {
                let text = "too many calls wait for an answer of their client";
                return Err(CallError::refused(code::INTERNAL, text));
            }
            parked.insert(
                ticket,
                Parked {
                    what,
                    admission: request.admission.clone(),
                    client: request.key.clone(),
                },
            );
        }
        let (lot, patience) = (self.me.clone(), self.patience);
        let admission = request.admission.clone();
        tasks::spawn(tasks::Kind::Upkeep, async move {
            let _ = tokio::time::timeout(patience, admission.withdrawn()).await;
            if let Some(lot) = lot.upgrade() {
                let expired = lot.parked.lock().remove(&ticket);
                drop(expired);
            }
        });
        let binding = Binding::of(principal, server, message, &request.params);
        let sealed = self.seal.close(&ticket, &binding);
        Ok(match &self.cluster {
            Some(cluster) => format!("{PREFIX}{}", cluster.ticket(&sealed)),
            None => format!("{PREFIX}{sealed}"),
        })
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.parked.lock().len()
    }

    /// Drops, and so cancels, what waits for a client that has gone.
    pub(crate) fn forget(&self, client: &str) {
        let mut parked = self.parked.lock();
        let theirs = parked
            .iter()
            .filter(|(_, other)| other.client.as_deref() == Some(client));
        let theirs: Vec<Ticket> = theirs.map(|(ticket, _)| *ticket).collect();
        let gone: Vec<Option<Parked>> = theirs.iter().map(|one| parked.remove(one)).collect();
        // Their servers are told, which is nothing to do under a lock.
        drop(parked);
        drop(gone);
    }

    /// Takes the call of a ticket out: once, by whom it was given to, for what it was given for.
    pub(super) fn take(
        &self,
        state: &str,
        principal: &str,
        server: &str,
        message: &Message,
        params: &Params,
    ) -> Result<Option<Waiting>, ErrorObject> {
        let Some(sealed) = state.strip_prefix(PREFIX) else {
            return Ok(None);
        };
        let sealed = sealed.rsplit_once('.').map_or(sealed, |(_, sealed)| sealed);
        let ticket = self
            .seal
            .open(sealed, &Binding::of(principal, server, message, params));
        let ticket = ticket.and_then(|bytes| Ticket::try_from(bytes.as_slice()).ok());
        let parked = ticket.and_then(|ticket| self.parked.lock().remove(&ticket));
        match parked {
            Some(parked) => Ok(Some(parked.what)),
            None => Err(not_valid()),
        }
    }
}

impl Lot {
    /// Binds a server's own state to whom it was given to. The token is kept as the server wrote it.
    /// Every replica can give it back.
    pub(super) fn wrap(&self, token: &[u8], binding: &Binding) -> String {
        let cluster = self.cluster.as_ref();
        let sealed = cluster.and_then(|cluster| cluster.wrap(token, binding));
        let sealed = sealed.unwrap_or_else(|| self.seal.close(token, binding));
        format!("{WRAPPED}{sealed}")
    }

    /// The server's own state, exactly.
    pub(super) fn unwrap(&self, state: &str, binding: &Binding) -> Result<Vec<u8>, ErrorObject> {
        let sealed = state.strip_prefix(WRAPPED);
        let opened = sealed.and_then(|sealed| match &self.cluster {
            Some(cluster) => cluster.unwrap(sealed, binding),
            None => self.seal.open(sealed, binding),
        });
        opened.ok_or_else(not_valid)
    }
}

/// The replica that has the call of a ticket, if it is a ticket of these replicas.
pub(crate) fn parked_at<'a>(state: &'a str, cluster: &Cluster) -> Option<&'a str> {
    cluster.waits_at(state.strip_prefix(PREFIX)?)
}

fn not_valid() -> ErrorObject {
    ErrorObject::new(
        code::INVALID_PARAMS,
        "this requestState is not valid: used already, expired, or made for another request; ask again without it",
    )
}

/// The result that asks a modern client for input.
pub(super) fn input_required(questions: &[(String, String)], state: &str, id: &Id) -> Message {
    let requests: Vec<String> = questions
        .iter()
        .map(|(key, request)| format!("{}:{request}", json::quote(key)))
        .collect();
    let result = format!(
        "{{\"resultType\":\"input_required\",\"inputRequests\":{{{}}},\"requestState\":{}}}",
        requests.join(","),
        json::quote(state)
    );
    Message::response(id, &result)
}

/// A question under the server's own id for it, told apart where two would read the same.
pub(super) fn add_question(
    questions: &mut Vec<(String, Input)>,
    mut input: Input,
    aggregate: Option<&Gateway>,
) {
    if let Some(gateway) = aggregate.filter(|_| input.consent().is_none()) {
        rewrite::question(gateway, &mut input);
    }
    let mut key = match input.consent() {
        Some(_) => "switchboard-consent".to_owned(),
        None => input
            .message()
            .id()
            .map(|id| id.as_text())
            .unwrap_or_default(),
    };
    while questions.iter().any(|(other, _)| *other == key) {
        key.push('\'');
    }
    questions.push((key, input));
}

/// The questions as input requests: method and parameters, without the envelope.
pub(super) fn as_requests(questions: &[(String, Input)]) -> Vec<(String, String)> {
    let each = questions.iter().map(|(key, input)| {
        let shown = Message::parse(input.payload(&Id::number(0)).into_bytes());
        let params = shown.map(|shown| shown.body_bytes()).unwrap_or_default();
        let method = json::quote(&input.message().method_name());
        (
            key.clone(),
            format!(
                "{{\"method\":{method},\"params\":{}}}",
                String::from_utf8_lossy(&params)
            ),
        )
    });
    each.collect()
}

/// Passes on the answers that a retry carries; what is still open stays.
pub(super) fn answer(
    questions: Vec<(String, Input)>,
    message: &Message,
    params: &Params,
) -> Vec<(String, Input)> {
    let raw = message.raw();
    let responses = params
        .input_responses
        .map(|span| span.of(raw))
        .unwrap_or_default();
    let mut open = Vec::new();
    for (key, input) in questions {
        let given = json::members(responses).find(|member| {
            json::text(member.key.of(responses)).is_some_and(|name| name == key.as_str())
        });
        match given {
            Some(member) => {
                let result = String::from_utf8_lossy(member.value.of(responses)).into_owned();
                input.answer(&Message::response(&Id::number(0), &result));
            }
            None => open.push((key, input)),
        }
    }
    open
}
