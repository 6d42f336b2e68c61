//! One call, from its client's request to its end, and the spans of its parts.

use super::{
    Shared,
    attributes::{self, Subject},
    span::{self, Clock, Open},
};
use crate::{limits, metrics::outcome::Outcome};
use opentelemetry::{KeyValue, trace::SpanKind};
use parking_lot::Mutex;
use std::{sync::Arc, time::SystemTime};
use switchboard_host::{
    Input,
    bridge::rounds::asks_for_input,
    observe::{
        Begin, Decided, Departing, Departure, End, Ending, Follow, Happened, Leaving, Part,
        PartEnd, Passed, Resumed,
    },
};
use switchboard_wire::{
    Message, Params, json,
    trace::{Carried, TraceContext},
};

/// One call that is followed.
pub(super) struct Call {
    state: Arc<State>,
}

/// What a call and its parts know together.
struct State {
    shared: Arc<Shared>,
    clock: Clock,
    subject: Subject,
    principal: Arc<str>,
    /// What every request of its client says of itself.
    common: Vec<KeyValue>,
    now: Mutex<Now>,
}

/// Where it is.
struct Now {
    /// Where its client's latest request is, which the parts are below.
    at: TraceContext,
    /// Its span, while nothing was answered.
    open: Option<Open>,
    /// What that request has along for others.
    baggage: Option<String>,
    /// Its requests so far.
    rounds: u32,
    /// Since when it waits to leave.
    waits: Option<SystemTime>,
    /// When it left first.
    left: Option<SystemTime>,
    /// Spans that it has, besides those of its client's requests.
    parts: usize,
}

impl Call {
    pub(super) fn begin(shared: &Arc<Shared>, call: &Begin<'_>) -> Self {
        let (clock, subject) = (Clock::start(), Subject::of(call));
        let common = subject.of_client(call);
        let carried = carried(shared, call.message, call.params, call.carried);
        let state = call.params.request_state;
        let before = state.and_then(|state| {
            let state = state.of(call.message.raw());
            shared.rounds.find(&call.client.principal, state)
        });
        let mut now = Now {
            at: span::below(carried.context.as_ref(), shared),
            open: None,
            baggage: carried.baggage,
            rounds: 0,
            waits: None,
            left: None,
            parts: 0,
        };
        let parent = carried.context.map(|context| context.span);
        now.begin_round(&subject, &common, parent, before, call.message, clock.now());
        Self {
            state: Arc::new(State {
                shared: shared.clone(),
                clock,
                subject,
                principal: call.client.principal.clone(),
                common,
                now: Mutex::new(now),
            }),
        }
    }
}

/// What a request says about the trace that it is a part of: itself first, then what
/// came beside it, and where neither does what began us.
fn carried(
    shared: &Shared,
    message: &Message,
    params: &Params,
    beside: Option<&Carried>,
) -> Carried {
    let own = Carried::in_meta(message, params);
    let beside = beside.cloned().unwrap_or_default();
    let context = own.context.or(beside.context);
    Carried {
        context: context.or_else(|| shared.parent.clone()),
        baggage: own.baggage.or(beside.baggage),
    }
}

impl Now {
    /// A request of the client's begins, which is at `self.at`.
    fn begin_round(
        &mut self,
        subject: &Subject,
        common: &[KeyValue],
        parent: Option<[u8; 8]>,
        before: Option<TraceContext>,
        message: &Message,
        begun: SystemTime,
    ) {
        self.rounds += 1;
        let mut attributes = common.to_vec();
        attributes.extend(attributes::id(message));
        self.open = Some(Open {
            name: subject.span_name(message.method()),
            kind: SpanKind::Server,
            at: self.at.clone(),
            parent,
            is_remote: parent.is_some(),
            begun,
            attributes,
            links: before.into_iter().collect(),
        });
    }

    /// Whether there is room for one more span.
    fn has_room(&mut self) -> bool {
        self.parts += 1;
        self.parts <= limits::TRACE_PARTS
    }
}

impl State {
    /// The client's latest request is answered.
    fn end_round(&self, error: Option<&'static str>, more: Vec<KeyValue>) {
        let open = {
            let mut now = self.now.lock();
            let left_out = now.parts.saturating_sub(limits::TRACE_PARTS);
            let mut open = now.open.take();
            if let Some(open) = open.as_mut().filter(|_| left_out > 0) {
                let left_out = KeyValue::new("switchboard.spans.left_out", left_out as i64);
                open.attributes.push(left_out);
            }
            open
        };
        if let Some(mut open) = open {
            open.attributes.extend(more);
            open.close(&self.shared, self.clock.now(), error);
        }
    }

    /// It waits no longer.
    fn end_waiting(&self, now: &mut Now, until: SystemTime) {
        if let Some(since) = now.waits.take() {
            let waiting = Open::inside(&now.at, "waiting", SpanKind::Internal, since);
            waiting.close(&self.shared, until, None);
        }
    }

    /// It has passed its phases. It may have left already.
    fn passed(&self, passed: &Passed) {
        let Passed {
            routed, permitted, ..
        } = passed;
        let mut now = self.now.lock();
        if let (Some(server), Some(open)) = (&passed.server, &mut now.open) {
            open.name_server(server);
        }
        let (Some(routed), Some(permitted)) = (routed, permitted) else {
            return;
        };
        let (routed, permitted) = (self.clock.at(*routed), self.clock.at(*permitted));
        let mut span = Open::inside(&now.at, "permission", SpanKind::Internal, routed);
        let decided = passed.decided.as_ref();
        span.attributes.extend(decided.map(|(decided, _)| {
            let word = match decided {
                Decided::Allowed => "allowed",
                Decided::Asks => "asks",
                Decided::Denied => "denied",
            };
            KeyValue::new("switchboard.decision", word)
        }));
        let is_denied = matches!(decided, Some((Decided::Denied, _)));
        let error = is_denied.then_some("not_permitted");
        span.close(&self.shared, permitted, error);
        if !is_denied {
            now.waits = Some(permitted);
            if let Some(left) = now.left {
                self.end_waiting(&mut now, left);
            }
        }
    }

    fn resumed(&self, resumed: &Resumed<'_>) {
        let (shared, clock) = (&self.shared, &self.clock);
        let Resumed {
            message, params, ..
        } = resumed;
        let carried = carried(shared, message, params, resumed.carried);
        let mut now = self.now.lock();
        let before = now.at.clone();
        now.at = span::below(carried.context.as_ref(), shared);
        now.baggage = carried.baggage;
        let parent = carried.context.map(|context| context.span);
        let begun = clock.now();
        now.begin_round(
            &self.subject,
            &self.common,
            parent,
            Some(before),
            message,
            begun,
        );
    }

    /// What another is told who works for this call.
    fn told(&self, at: TraceContext, baggage: Option<&String>, server: &str) -> Carried {
        let gives = self.shared.gives_baggage(server);
        Carried {
            context: Some(at),
            baggage: baggage.filter(|_| gives).cloned(),
        }
    }

    /// What follows a part of it.
    fn part(&self, open: Option<Open>) -> Box<Follows> {
        Box::new(Follows {
            shared: self.shared.clone(),
            clock: self.clock,
            open,
        })
    }
}

impl Open {
    fn name_server(&mut self, server: &str) {
        let is_named = |one: &KeyValue| one.key.as_str() == "mcp.server.name";
        if !self.attributes.iter().any(is_named) {
            let server = server.to_owned();
            self.attributes
                .push(KeyValue::new("mcp.server.name", server));
        }
    }
}

impl Follow for Call {
    fn event(&mut self, event: &Happened<'_>) {
        let state = &self.state;
        match event {
            Happened::Passed(passed) => state.passed(passed),
            Happened::Left { server, .. } => {
                if let Some(open) = &mut state.now.lock().open {
                    open.name_server(server);
                }
            }
            Happened::Parked => {
                let asks = KeyValue::new("mcp.result.type", "input_required");
                state.end_round(None, vec![asks]);
            }
            Happened::Resumed(resumed) => state.resumed(resumed),
            Happened::Routed(_)
            | Happened::Held
            | Happened::Released(_)
            | Happened::Edited(_)
            | Happened::Notice(_)
            | Happened::Asked(_)
            | Happened::Answered(..) => {}
        }
    }

    fn leaving(&self) -> Option<Arc<dyn Leaving>> {
        Some(self.state.clone())
    }

    fn asks(&mut self, input: &Input) -> Option<Box<dyn Part>> {
        let state = &self.state;
        let mut now = state.now.lock();
        if !now.has_room() {
            return None;
        }
        let method = input.method().as_str();
        let mut open = Open::inside(&now.at, method, SpanKind::Client, state.clock.now());
        let asks = match (input.consent(), input.held()) {
            (_, Some(_)) => "breakpoint",
            (Some(_), None) => "consent",
            (None, None) => "server",
        };
        open.attributes.extend([
            KeyValue::new("mcp.method.name", method),
            KeyValue::new("mcp.server.name", input.server().to_string()),
            KeyValue::new("switchboard.question", asks),
        ]);
        Some(state.part(Some(open)))
    }

    fn end(self: Box<Self>, end: &End<'_>) {
        let state = &self.state;
        let until = state.clock.now();
        state.end_waiting(&mut state.now.lock(), until);
        let mut more = Vec::new();
        if let Ending::Reply(reply) = &end.ending {
            more.extend(code(&reply.message));
            if asks_for_input(&reply.message) {
                more.push(KeyValue::new("mcp.result.type", "input_required"));
                keep_round(state, &reply.message);
            }
        }
        state.end_round(word(&end.ending), more);
    }
}

/// Keeps where a request was that its client has to make again, with answers.
fn keep_round(state: &State, answer: &Message) {
    let body = answer.body();
    if let Ok(Some(token)) = json::field(body, "requestState") {
        let at = state.now.lock().at.clone();
        state
            .shared
            .rounds
            .keep(&state.principal, token.of(body), at);
    }
}

/// What went wrong, in a word.
fn word(ending: &Ending<'_>) -> Option<&'static str> {
    Some(Outcome::of(ending, ending.fault()).word()).filter(|word| !word.is_empty())
}

/// The code of an error that was answered.
fn code(message: &Message) -> Option<KeyValue> {
    let code = message.error_code()?;
    Some(KeyValue::new("rpc.response.status_code", code.to_string()))
}

impl Leaving for State {
    fn leaves(&self, request: &Departing<'_>) -> Option<Departure> {
        let begun = self.clock.now();
        let mut now = self.now.lock();
        now.left.get_or_insert(begun);
        self.end_waiting(&mut now, begun);
        let name = self.subject.span_name(request.method);
        let mut open = Open::inside(&now.at, name, SpanKind::Client, begun);
        let carried = self.told(open.at.clone(), now.baggage.as_ref(), request.server);
        let open = now.has_room().then(|| {
            open.attributes = self.subject.of_server(request);
            open
        });
        drop(now);
        Some(Departure {
            carried,
            part: self.part(open),
        })
    }

    fn starting(&self, server: &Arc<str>) -> Carried {
        let now = self.now.lock();
        self.told(now.at.clone(), now.baggage.as_ref(), server)
    }
}

/// Follows a request that is at its server, or a question.
struct Follows {
    shared: Arc<Shared>,
    clock: Clock,
    /// None where its call has spans enough.
    open: Option<Open>,
}

impl Follows {
    fn close(&mut self, error: Option<&'static str>, more: Option<KeyValue>) {
        if let Some(mut open) = self.open.take() {
            open.attributes.extend(more);
            open.close(&self.shared, self.clock.now(), error);
        }
    }
}

impl Part for Follows {
    fn end(mut self: Box<Self>, ended: &PartEnd<'_>) {
        match ended {
            PartEnd::Outcome(outcome) => {
                let ending = Ending::of(outcome);
                let code = match &ending {
                    Ending::Reply(reply) => code(&reply.message),
                    _ => None,
                };
                self.close(word(&ending), code);
            }
            PartEnd::Answered(answer) => match answer.error_code() {
                Some(_) => self.close(Some("refused"), code(answer)),
                None => self.close(None, action(answer)),
            },
            PartEnd::Refused => self.close(Some("refused"), None),
        }
    }
}

impl Drop for Follows {
    fn drop(&mut self) {
        self.close(Some("cancelled"), None);
    }
}

/// What somebody did with a question: one of the protocol's words, and no other.
fn action(answer: &Message) -> Option<KeyValue> {
    let body = answer.body();
    let said = json::field(body, "action").ok()??;
    let said = json::text(said.of(body))?;
    let mut words = ["accept", "decline", "cancel"].into_iter();
    let word = words.find(|word| *word == said)?;
    Some(KeyValue::new("switchboard.answer", word))
}
