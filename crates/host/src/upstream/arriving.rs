//! What arrives on a connection, and where it goes.

use super::{
    calls::Attribution,
    connection::{Connection, Ended},
    mcp_tasks::AboutTasks,
    shape,
};
use crate::{
    error::CallError,
    exchange::{Begun, Outcome, Reply},
    observe::{Edge, Observers},
};
use std::slice;
use switchboard_tasks as tasks;
use switchboard_transport::{
    self as transport, Closed, Inbound, Receive, Share, Undelivered, limits::COUNTED_BYTES,
};
use switchboard_wire::{
    Edits, Era, ErrorObject, Id, Kind, Message, Method, Params, ParseError, code, json,
};

impl Connection {
    pub(super) fn finish(&self, id: u64, mut outcome: Outcome) -> bool {
        let Some(call) = self.calls().take(id) else {
            return false;
        };
        // An answer that no client could read is the server's error, and said so.
        if let Outcome::Reply(reply) = &outcome
            && let Some(reason) = shape::fault(&reply.message, call.method())
        {
            let server = self.name();
            tracing::warn!(server, reason, "an answer of a wrong shape");
            outcome = Outcome::Failed(CallError::Unreadable { server, reason });
        }
        if matches!(outcome, Outcome::Reply(_) | Outcome::Begun(_)) {
            self.note_answer(call.is_use());
        }
        if let (Outcome::Reply(reply), Some(client)) = (&mut outcome, call.client()) {
            if reply.message.error_code() == Some(code::URL_ELICITATION_REQUIRED) {
                self.audience().note_pages(reply.message.body(), client);
            }
            if call.tasks() != AboutTasks::Nothing {
                let (tasks, several) = (self.audience().tasks(), &self.reports().several);
                tasks.saw(call.tasks(), reply, client, several);
            }
        }
        if let Some(share) = call.client().and_then(|client| client.share()) {
            outcome = attributed(share, outcome);
        }
        call.finish(outcome);
        true
    }
}

/// Counts an answer for whom it is. Who leaves too many of them unread gets no
/// further large one.
fn attributed(share: &Share, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Reply(mut reply) if reply.message.raw().len() >= COUNTED_BYTES => {
            if let Some(full) = share.overfull() {
                let fault = CallError::refused(code::INTERNAL, full.to_string());
                return Outcome::Failed(fault);
            }
            reply.message = reply.message.kept(|bytes| share.attribute(bytes));
            Outcome::Reply(reply)
        }
        Outcome::Begun(begun) => match share.overfull() {
            Some(full) => Outcome::Failed(CallError::refused(code::INTERNAL, full.to_string())),
            None => Outcome::Begun(begun),
        },
        other => other,
    }
}

impl Connection {
    /// Headers and versions of the modern era are between us and the server: a
    /// complaint about them is not for the client, who has nothing to do with them.
    fn wrong_form(&self, message: &Message) -> Option<CallError> {
        if message.kind() != Kind::Error {
            return None;
        }
        let era = self.hello()?.revision.era();
        let code = message.error_code()?;
        if ![code::HEADER_MISMATCH, code::UNSUPPORTED_VERSION].contains(&code) {
            return None;
        }
        let said = message.error_text().unwrap_or_default();
        let reason = format!("{code} {said}");
        tracing::warn!(server = %self.server_name(), reason, "the server does not accept how a request was put");
        let server = self.name();
        Some(match era {
            Era::Modern => CallError::WrongForm {
                server,
                code,
                reason,
            },
            // Nothing was put to it in that way, so nothing is sent again.
            Era::Legacy => CallError::Unreadable { server, reason },
        })
    }

    /// A server's own message that its client could read otherwise than we do: it
    /// goes no further, and a request is answered.
    fn misread(&self, message: &Message, error: &ErrorObject) {
        let (method, reason) = (message.method_name(), &error.message);
        tracing::warn!(server = %self.server_name(), method, reason, "a message of the server's cannot be read in one way only");
        if message.kind() == Kind::Request {
            self.refuse(message, error);
        }
    }

    /// The request that an error without an id is about: the one on whose stream
    /// it came, or the only one in flight. Where nothing says so it is told to
    /// whoever looks after the server.
    fn nameless(&self, message: &Message, during: Option<u64>) -> Option<u64> {
        if during.is_some() {
            return during;
        }
        let in_flight = self.calls().numbers();
        // An HTTP server answers each request on a stream of its own.
        if let ([only], false) = (&in_flight[..], self.is_http()) {
            return Some(*only);
        }
        let said = message.error_text().unwrap_or_default();
        let text = format!(
            "it sent an error that names no request, with {} in flight: {}",
            in_flight.len(),
            shape::beginning(&said)
        );
        // One line, however often it does so.
        if self.reports().remarks.set("errors", Some(text.clone())) {
            tracing::warn!(server = %self.server_name(), "{text}");
        }
        None
    }
}

/// Whose it is that arrives, for those who see messages.
impl Connection {
    /// The number of the client's call that a message belongs to, where it belongs to one
    /// that is shown.
    #[cold]
    fn whose(&self, inbound: &Inbound) -> Option<u64> {
        let Inbound { message, during } = inbound;
        let request = match (message.kind(), message.method()) {
            (Kind::Response | Kind::Error, _) => match message.id_span() {
                Some(_) => message.own_id(),
                None => *during,
            },
            (Kind::Notification, Method::Progress) => number_in(message, "progressToken"),
            (Kind::Notification, Method::DollarProgress) => number_in(message, "token"),
            // What everybody hears who wants to.
            (Kind::Notification, method) if method.is_list_change() => None,
            (
                Kind::Notification,
                Method::ResourceUpdated
                | Method::TaskNews
                | Method::SubscriptionAcknowledged
                | Method::ElicitationComplete,
            ) => None,
            // A question is put within the call that it is taken for; what is only said may as
            // well be another's.
            (kind, _) => match self.calls().attribute(*during) {
                Attribution::Call {
                    request, is_sure, ..
                } => (is_sure || kind == Kind::Request).then_some(request),
                Attribution::Nobody | Attribution::Several => None,
            },
        };
        self.calls().shown(request?)
    }
}

/// A number of ours that stands in a notification.
fn number_in(message: &Message, field: &'static str) -> Option<u64> {
    let body = message.body();
    let span = json::field(body, field).ok().flatten()?;
    switchboard_wire::own_number(span.of(body))
}

/// What arrives, and where it goes.
impl Receive for Connection {
    fn message(&self, inbound: Inbound) {
        if let Some(observers) = self.tapped() {
            let (pieces, call) = (slice::from_ref(inbound.message.raw()), self.whose(&inbound));
            observers.show_raw(Edge::FromServer, self, inbound.during, call, pieces);
        }
        let of = inbound.message.is_reply().then(|| inbound.message.own_id());
        let request = of.flatten().or(inbound.during);
        let asked = (inbound.message.kind() == Kind::Request).then(|| inbound.message.clone());
        // One message that we cannot cope with is no reason to end the connection,
        // with whatever else is under way on it.
        let arrived = tasks::caught_now(tasks::Kind::Arriving, || self.arrived(inbound));
        if arrived.is_ok() {
            return;
        }
        match (asked, request) {
            (Some(asked), _) => self.refuse(&asked, &CallError::broke_off().to_error()),
            (None, Some(request)) => {
                self.finish(request, Outcome::Failed(CallError::broke_off()));
            }
            (None, None) => {}
        }
    }

    fn may_begin(&self, request: u64) -> bool {
        let observers = self.reports().observers.as_deref();
        observers.is_none_or(Observers::let_answers_pass) && self.calls().may_begin(request)
    }

    fn begun(&self, request: u64, begun: transport::Begun) {
        let caller = self.calls().caller(request);
        let share = caller.and_then(|(client, _)| client.share().cloned());
        // Before its call is over: the connection is in use all the while.
        let passed_on = self.calls().passing().begin();
        let begun = Begun::new(begun, self.server_name().clone(), share, passed_on);
        self.finish(request, Outcome::Begun(Box::new(begun)));
    }

    fn unreadable(&self, fault: ParseError, during: Option<u64>) {
        let (server, reason) = (self.name(), fault.to_string());
        tracing::warn!(server = %self.server_name(), %fault, "the server sent something that cannot be read");
        // Where nothing says whose reply it was it may as well be noise, but not where
        // it is so long.
        if let (ParseError::TooLong(_), None) = (&fault, during) {
            let text = format!("a message of it was lost, with nothing to say whose: {reason}");
            self.reports().remarks.count("long", text);
        }
        if let Some(id) = during {
            self.finish(
                id,
                Outcome::Failed(CallError::Unreadable { server, reason }),
            );
        }
    }

    fn undelivered(&self, request: u64, why: Undelivered) {
        let expired = matches!(why, Undelivered::SessionExpired);
        // Whoever was let in before has to sign in again: clients are told so by
        // the stand-in that takes the server's place.
        let shut_out = matches!(why, Undelivered::NeedsAuth { status: 401, .. })
            && self.spec().stand_in.is_some()
            && self.hello().is_some();
        let lost = matches!(why, Undelivered::NotSent(_) | Undelivered::Unknown(_));
        let last = why.to_string();
        let outcome = CallError::Undelivered {
            server: self.name(),
            why,
        };
        self.finish(request, Outcome::Failed(outcome));
        // Last, since what else was in flight may have been carried out; this was not.
        if expired {
            self.give_way(Ended::Lost("the session has expired".to_owned()));
        }
        if lost {
            self.note_lost(&last);
        }
        if shut_out {
            self.shut_out();
        }
    }

    fn closed(&self, why: Closed) {
        // The system may have ended it for what it used, before we saw it.
        let passed = self.shared().and_then(|at| at.passed_cap());
        match passed {
            Some(passed) => self.lose(&passed.to_string()),
            None => self.lose(&why.to_string()),
        }
    }
}

impl Connection {
    /// Takes a message to where it belongs.
    fn arrived(&self, inbound: Inbound) {
        let Inbound { message, during } = inbound;
        match message.kind() {
            Kind::Response | Kind::Error => {
                let (id, message) = match message.id_span() {
                    Some(_) => (message.own_id(), message),
                    None => match self.nameless(&message, during) {
                        // From here on it is an answer like any other.
                        Some(id) => (Some(id), message.under(&Id::number(id))),
                        None => return,
                    },
                };
                let reply = match self.wrong_form(&message) {
                    Some(fault) => Outcome::Failed(fault),
                    None => Outcome::Reply(Reply {
                        message,
                        edits: Edits::new(),
                    }),
                };
                let outdated = match &reply {
                    Outcome::Failed(CallError::WrongForm { code, reason, .. }) => {
                        (*code == code::UNSUPPORTED_VERSION).then(|| reason.clone())
                    }
                    _ => None,
                };
                if !id.is_some_and(|id| self.finish(id, reply)) {
                    tracing::debug!(server = %self.server_name(), ?id, "a reply that nobody waits for");
                }
                if let Some(reason) = outdated {
                    self.note_lost(&reason);
                }
            }
            Kind::Notification | Kind::Request => {
                if let Err(error) = Params::of(&message) {
                    return self.misread(&message, &error);
                }
                match message.kind() {
                    Kind::Request => self.on_request(message, during),
                    _ => self.on_notification(message, during),
                }
            }
        }
    }
}
