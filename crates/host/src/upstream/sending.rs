//! What goes out on a connection: requests under our own ids, in turn where that
//! is needed, notifications, answers, and what is given up.

use super::{
    calls::{Call, NotBegun},
    connection::{Connection, Ended},
    mcp_tasks::{self, AboutTasks},
    turns::{Place, Turn},
};
use crate::{
    call::{Admitted, Permitted},
    client::{Client, ClientId},
    error::CallError,
    exchange::{Attended, Crossing, Exchange, Inbox, Outcome, Rooted, Sent, is_attended},
    limits,
    observe::{Departing, Departure, Edge, Leaving},
};
use bytes::Bytes;
use std::{sync::Arc, time::Duration};
use switchboard_transport::{About, Driving, Link, Outgoing, SendError};
use switchboard_wire::{Edits, Era, Id, Message, Method, Params, Payload, code, json};

/// What goes along with a message.
#[derive(Default)]
pub(crate) struct Beside {
    /// What `Mcp-Name` says.
    pub(crate) name: Option<String>,
    /// `Mcp-Param-*`
    pub(crate) mirrored: Vec<(String, String)>,
    /// How long it may take, where no exchange waits for it.
    pub(crate) limit: Option<Duration>,
    /// Who follows what its call sends.
    pub(crate) trace: Option<Arc<dyn Leaving>>,
    /// The number of the call that it is sent for, where its messages are shown.
    pub(crate) call: Option<u64>,
    /// Whether its answer may be handed over before its end.
    pub(crate) passes_on: bool,
}

impl Beside {
    /// What goes along with a request.
    pub(crate) fn of(permitted: &Permitted) -> Self {
        Self {
            name: permitted.header_name().map(str::to_owned),
            mirrored: permitted.mirrored.clone(),
            limit: None,
            trace: permitted.admitted.trace.leaving.clone(),
            call: shown_as(&permitted.admitted),
            // Only where it goes straight to a server of its era.
            passes_on: false,
        }
    }
}

/// The number that a request's messages are shown under, if they are.
fn shown_as(admitted: &Admitted) -> Option<u64> {
    let shown = admitted.trace.shown.as_ref();
    shown.map(|shown| shown.number())
}

impl Connection {
    /// Sends a permitted request of a client's on its way, into the other era if
    /// need be, and where clients take turns when it is its client's.
    pub fn start(self: &Arc<Self>, permitted: &Permitted) -> Result<Exchange, CallError> {
        if !self.takes_turns() {
            return self.start_now(permitted);
        }
        let urgent = self.questions().are_open();
        match self.calls().place(permitted.client(), urgent) {
            Place::Now(turn) => self.start_in_turn(permitted, turn),
            Place::Later(turn) => Ok(Exchange::queued(self.clone(), permitted.clone(), turn)),
            Place::Full => Err(CallError::Busy {
                server: self.name(),
                reason: format!("{} calls wait for their turn", limits::TURNS_WAITING),
            }),
        }
    }

    /// What a call ends with that waited too long for its client's turn.
    pub(crate) fn not_its_turn(&self, waited: Duration) -> CallError {
        CallError::Busy {
            server: self.name(),
            reason: format!(
                "its clients take turns, since a question of its could not be told apart, and for {waited:?} it \
                 has been the turn of {}; \"isolation\": \"session\" in its entry gives each client a copy of its own",
                self.calls().whose_turn()
            ),
        }
    }

    /// Sends a request whose turn it is.
    pub(crate) fn start_in_turn(
        self: &Arc<Self>,
        permitted: &Permitted,
        turn: Turn,
    ) -> Result<Exchange, CallError> {
        let exchange = self.start_now(permitted)?;
        if let Some(sent) = exchange.sent() {
            self.calls().hold_turn(sent.number(), turn);
        }
        Ok(exchange)
    }

    fn takes_turns(&self) -> bool {
        !self.is_exclusive() && self.calls().need_turns() && self.revision().era() == Era::Legacy
    }

    /// A question could not be told apart: from now on clients take turns.
    pub(super) fn take_turns(&self) {
        if !self.calls().begin_turns() {
            return;
        }
        let text = "a question could not be told apart: calls of several clients were in flight; \
                    for a while their calls take turns (\"isolation\": \"session\" gives each client \
                    a copy of its own)";
        tracing::warn!(server = %self.server_name(), "{text}");
        (self.reports().unclear)();
    }

    /// The answer to a call's question goes out when it is its client's turn
    /// again, so that what the server asks next can be told apart; or after a
    /// while all the same.
    fn answer_in_turn(self: &Arc<Self>, request: u64, question: Message, payload: Payload) {
        let client = self.calls().answers_in_turn(request);
        let client = client.filter(|_| self.takes_turns());
        let place = client.map(|client| self.calls().place(&client, true));
        let later = match place {
            None | Some(Place::Full) => {
                return self.answer_asked(request, &question, payload, None);
            }
            Some(Place::Now(turn)) => {
                return self.answer_asked(request, &question, payload, Some(turn));
            }
            Some(Place::Later(turn)) => turn,
        };
        let connection = self.clone();
        switchboard_tasks::spawn(switchboard_tasks::Kind::Question, async move {
            let turn = tokio::time::timeout(limits::TURN_WAIT, later).await;
            let turn = turn.ok().and_then(Result::ok);
            connection.answer_asked(request, &question, payload, turn);
        });
    }

    fn answer_asked(&self, request: u64, question: &Message, payload: Payload, turn: Option<Turn>) {
        self.calls().answered(request, turn);
        self.answer_in(Some(request), question, payload);
    }

    /// Answers a question that was asked during a call, or outside of any.
    pub(super) fn answer(
        self: &Arc<Self>,
        during: Option<u64>,
        question: Message,
        payload: Payload,
    ) {
        match during {
            Some(request) => self.answer_in_turn(request, question, payload),
            None => self.answer_peer(&question, payload),
        }
    }

    fn start_now(self: &Arc<Self>, permitted: &Permitted) -> Result<Exchange, CallError> {
        permitted.may_leave_by(self)?;
        let Admitted {
            client,
            message,
            params,
            ..
        } = &*permitted.admitted;
        let (edits, timeout) = (permitted.edits.clone(), permitted.timeout);
        if permitted
            .tasks()
            .any(|task| !self.lets_see_task(client, task))
        {
            return Err(mcp_tasks::unknown());
        }
        let era = self.revision().era();
        if era == Era::Modern
            && client.era() == era
            && message.method().may_need_input()
            && is_attended(client)
        {
            let attended = Attended::start(self, permitted)?;
            return Ok(Exchange::attended(attended, self.clone(), timeout));
        }
        if era == Era::Modern
            && client.era() == era
            && !self.spec().roots.is_empty()
            && message.method().may_need_input()
        {
            let rooted = Rooted::start(self, permitted)?;
            return Ok(Exchange::rooted(rooted, self.clone(), timeout));
        }
        if client.era() == era {
            let mut beside = Beside::of(permitted);
            // An answer that may be held at a breakpoint is read there.
            let is_armed = client.desk().is_some_and(|desk| desk.is_armed());
            beside.passes_on = permitted.admitted.passes_on && !is_armed;
            if era != Era::Modern {
                // Only headers of the modern era say the name.
                beside.name = None;
            }
            let sent = self.dispatch_with(client.clone(), message, params, edits, beside)?;
            return Ok(Exchange::away(sent, self.clone(), timeout));
        }
        if era == Era::Legacy && params.request_state.is_some() {
            let text = "this requestState is not valid here; ask again without it";
            return Err(CallError::refused(code::INVALID_PARAMS, text));
        }
        if era == Era::Legacy && client.asked_for_logs() {
            self.raise_level(client);
        }
        let original = if edits.is_empty() {
            message.clone()
        } else {
            let bytes = message.edited(&edits).into_bytes();
            Message::parse(bytes).map_err(|fault| CallError::Refused(fault.to_error()))?
        };
        let crossing = Crossing::start(self, permitted, original)?;
        Ok(Exchange::across(crossing, self.clone(), timeout))
    }

    /// Sends a request under an id of ours, with the client's progress token kept
    /// for later.
    pub(crate) fn dispatch(
        self: &Arc<Self>,
        client: Arc<Client>,
        message: &Message,
        edits: Edits,
        beside: Beside,
    ) -> Result<Sent, CallError> {
        let params = Params::of(message)?;
        self.dispatch_with(client, message, &params, edits, beside)
    }

    fn dispatch_with(
        self: &Arc<Self>,
        client: Arc<Client>,
        message: &Message,
        params: &Params,
        mut edits: Edits,
        beside: Beside,
    ) -> Result<Sent, CallError> {
        let id = self.calls().number();
        if let Some(span) = message.id_span() {
            edits.replace(span, id.to_string());
        }
        let token = Params::bytes(message, params.progress_token);
        if let Some(span) = params.progress_token {
            edits.replace(span, id.to_string());
        }
        let method = message.method();
        let (mut headers, mut part) = (Vec::new(), None);
        if let Some(followed) = &beside.trace
            && let Some(departure) = self.departs(&**followed, method, id)
        {
            let Departure { carried, part: its } = departure;
            carried.put_in_meta(message, params, &mut edits);
            headers.extend(carried.texts());
            part = Some(its);
        }
        let about = About::Request {
            id,
            method,
            method_name: (method == Method::Other).then(|| message.method_name()),
            name: beside.name,
            params: beside.mirrored,
            headers,
            timeout: beside.limit,
        };
        let tasks = AboutTasks::of(message, params, &client);
        let out = Outgoing {
            payload: message.edited(&edits),
            about,
        };
        let call = Call::new(token, Some(client), tasks, method)
            .shown_as(beside.call)
            .passing_on(beside.passes_on);
        let (inbox, driving) = self.begin(id, call, out)?;
        let sent = Sent::new(inbox, self.clone(), id).driving(driving);
        Ok(sent.followed_by(part))
    }

    /// Tells whoever follows its call that a request is about to leave.
    #[cold]
    fn departs(&self, followed: &dyn Leaving, method: Method, number: u64) -> Option<Departure> {
        followed.leaves(&Departing {
            server: self.server_name(),
            method,
            number,
            revision: self.revision(),
            carrier: self.carrier(),
        })
    }

    /// From now on progress of this request is told under another token.
    pub(crate) fn set_token(&self, request: u64, token: Option<Bytes>) {
        self.calls().set_token(request, token);
    }

    /// Finds out whose the tasks are that a request is about, where nobody here knows.
    pub(crate) async fn recall_tasks(&self, permitted: &Permitted) {
        let (owners, client) = (self.audience().tasks(), permitted.client());
        if permitted.message().method() == Method::TasksList {
            return owners.recall(client, None).await;
        }
        for task in permitted.tasks() {
            owners.recall(client, Some(task)).await;
        }
    }

    /// Whether this task, by the server's own id, is this client's. One of which
    /// nobody knows whose it is can only be theirs where nobody else can come in.
    pub fn lets_see_task(&self, client: &Client, task: &str) -> bool {
        match self.audience().tasks().owner(task) {
            Some(owner) => owner.lets(client),
            None => !(self.reports().several)(),
        }
    }

    /// Whether this client may say this to the server, as far as it names tasks.
    pub fn lets_say_of_tasks(&self, client: &Client, message: &Message, params: &Params) -> bool {
        if message.method() == Method::Other && (self.reports().several)() {
            return mcp_tasks::names_none(message) && params.related_task.is_none();
        }
        let about = Params::text(message, params.task_id, "taskId");
        let (Ok(about), Ok(related)) = (about, params.related_to(message)) else {
            return false;
        };
        let mut named = about.into_iter().chain(related.map(|(id, _)| id));
        named.all(|task| self.lets_see_task(client, &task))
    }

    /// What the server asked of a client that had not declared it; asked once.
    pub(crate) fn take_undeclared(&self, client: ClientId) -> Vec<&'static str> {
        self.questions().take_undeclared(client)
    }

    /// Sends a request of our own; `params` is JSON text.
    pub fn ask(
        self: &Arc<Self>,
        method: Method,
        params: &str,
        timeout: Duration,
    ) -> Result<Exchange, CallError> {
        let id = self.calls().number();
        let message = Message::request(&Id::number(id), method, params);
        let about = About::Request {
            id,
            method,
            method_name: None,
            name: None,
            params: Vec::new(),
            headers: Vec::new(),
            // The exchange sees to it.
            timeout: None,
        };
        let call = Call::new(None, None, AboutTasks::Nothing, method);
        let payload = message.payload();
        let (inbox, driving) = self.begin(id, call, Outgoing { payload, about })?;
        let sent = Sent::new(inbox, self.clone(), id).driving(driving);
        Ok(Exchange::away(sent, self.clone(), timeout))
    }

    fn begin(
        &self,
        id: u64,
        call: Call,
        out: Outgoing,
    ) -> Result<(Arc<Inbox>, Option<Driving>), CallError> {
        let (inbox, shown_as) = (call.inbox().clone(), call.is_shown_as());
        self.calls().begin(id, call).map_err(|why| match why {
            NotBegun::TooMany(in_flight) => CallError::Busy {
                server: self.name(),
                reason: format!("{in_flight} calls are in flight"),
            },
            NotBegun::Over => self.not_connected(&Ended::Asleep.to_string()),
        })?;
        let driving = self.send_by(out, shown_as, Link::begin).inspect_err(|_| {
            self.calls().take(id);
        })?;
        Ok((inbox, driving))
    }

    /// Sends a notification.
    pub fn notify(&self, payload: Payload) -> Result<(), CallError> {
        self.notify_of(payload, None)
    }

    /// The same, about a call that is shown under this number.
    fn notify_of(&self, payload: Payload, call: Option<u64>) -> Result<(), CallError> {
        let about = About::Notification;
        self.send(Outgoing { payload, about }, call)
    }

    /// Answers a request of the server's.
    pub(crate) fn answer_peer(&self, request: &Message, payload: Payload) {
        self.answer_in(None, request, payload);
    }

    /// The same, where it was asked during this request of ours.
    fn answer_in(&self, during: Option<u64>, request: &Message, payload: Payload) {
        if let Some(id) = request.id() {
            self.questions().answered(&id);
        }
        let call = self.tapped().and_then(|_| self.calls().shown(during?));
        let about = About::Response;
        if let Err(fault) = self.send(Outgoing { payload, about }, call) {
            tracing::debug!(server = %self.server_name(), %fault, "an answer to the server could not be sent");
        }
    }

    fn send(&self, out: Outgoing, call: Option<u64>) -> Result<(), CallError> {
        self.send_by(out, call, Link::send)
    }

    fn send_by<T>(
        &self,
        out: Outgoing,
        call: Option<u64>,
        send: impl FnOnce(&Link, Outgoing) -> Result<T, SendError>,
    ) -> Result<T, CallError> {
        let link = self
            .link()
            .ok_or_else(|| self.not_connected("not started"))?;
        if let Some(observers) = self.tapped() {
            observers.show_raw(Edge::ToServer, self, None, call, out.payload.pieces());
        }
        send(link, out).map_err(|fault| match fault {
            SendError::Closed => match self.how_it_ended() {
                Some(ended) => self.not_connected(&ended.to_string()),
                None => self.not_connected("the connection is closed"),
            },
            SendError::Full(_) => CallError::Busy {
                server: self.name(),
                reason: fault.to_string(),
            },
        })
    }

    /// Gives a request up, once: the server is told in its own way and nobody waits any more.
    pub(crate) fn cancel(&self, request: u64, reason: Option<&str>) {
        self.drop_call(request, || {
            let reason = reason
                .map(|text| format!(",\"reason\":{}", json::quote(text)))
                .unwrap_or_default();
            Message::notification(
                Method::Cancelled,
                &format!("{{\"requestId\":{request}{reason}}}"),
            )
            .payload()
        });
    }

    /// The same, with the client's own notification.
    pub(crate) fn cancel_as(&self, request: u64, notice: &Message) {
        let body = notice
            .body_span()
            .filter(|_| notice.method() == Method::Cancelled);
        let span = body.and_then(|body| {
            json::field(body.of(notice.raw()), "requestId")
                .ok()
                .flatten()
                .map(|span| span.shifted(body.start))
        });
        match span {
            Some(span) => self.drop_call(request, || {
                let mut edits = Edits::new();
                edits.replace(span, request.to_string());
                notice.edited(&edits)
            }),
            None => self.cancel(request, None),
        }
    }

    fn drop_call(&self, request: u64, notice: impl FnOnce() -> Payload) {
        let Some(call) = self.calls().take(request) else {
            return;
        };
        let shown_as = call.is_shown_as();
        call.finish(Outcome::Failed(CallError::Cancelled));
        let Some(link) = self.link() else { return };
        if !link.closing_cancels(self.revision()) {
            let _ = self.notify_of(notice(), shown_as);
        }
        link.abandon(request);
    }
}
