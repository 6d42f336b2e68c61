//! The wrapper around one call that is watched.

mod spare;

use super::{
    Begin, Destination, Edited, End, Ending, Following, Happened, Keeping, Leaving, Observers,
    Origin, Passed, Release, Resumed, Shown, day, log, shown, waits::Waits,
};
use crate::{
    call::{Admitted, Scope},
    error::CallError,
    exchange::{Event, Exchange, Input, Outcome, Reply, Verdict},
};
use std::{
    fmt, mem,
    sync::{Arc, LazyLock},
    time::Duration,
};
use switchboard_wire::{Edits, Id, Message, Payload, Revision};
use tokio::time::Instant;
use tracing::{Span, field};

/// What stands for an answer that nobody has.
pub(super) static FINE: LazyLock<Reply> = LazyLock::new(|| answer_of("{}"));
/// The same where it said that it is an error.
static FAILED: LazyLock<Reply> = LazyLock::new(|| answer_of("{\"isError\":true}"));

fn answer_of(result: &str) -> Reply {
    Reply {
        message: Message::response(&Id::number(0), result),
        edits: Edits::new(),
    }
}

/// One call that somebody watches. Dropped before its end it was given up.
pub struct Watched {
    number: u64,
    span: Span,
    follow: Following,
    begun: Instant,
    /// Whether its span says which server it is for.
    is_server_said: bool,
    /// Since when it has been at its server.
    away: Option<Instant>,
    at_server: Duration,
    /// What it asks people, where it does.
    waits: Option<Arc<Waits>>,
    /// How long it had waited for them when it left.
    waited_before: Duration,
    bytes_in: usize,
    bytes_out: usize,
    /// Where its messages are shown, where nobody else shows those of its client.
    shown: Option<Arc<Shown>>,
    /// The phases that it has passed.
    passed: Passed,
}

impl Watched {
    /// A call begins; none where nobody watches it.
    #[inline]
    pub(crate) fn begin(
        observers: &Arc<Observers>,
        admitted: &Admitted,
        origin: Origin,
    ) -> Option<Box<Self>> {
        if !observers.are_there() && !log::is_wanted(admitted.message.method(), origin) {
            return None;
        }
        Self::watch(observers, admitted, origin)
    }

    // Not inlined, but no rare case: whoever listens on an address counts.
    #[inline(never)]
    fn watch(observers: &Arc<Observers>, admitted: &Admitted, origin: Origin) -> Option<Box<Self>> {
        let Admitted {
            client, message, ..
        } = admitted;
        let shown = match &admitted.trace.shown {
            Some(_) => None,
            None => observers.want_messages().then(|| {
                let server = match &admitted.scope {
                    Scope::One(server) => Some(server.name()),
                    Scope::All => None,
                };
                Shown::new(observers, &client.principal, server)
            }),
        };
        let known = shown.as_ref().or(admitted.trace.shown.as_ref());
        let number = known.map_or_else(shown::next_number, |shown| shown.number());
        let is_logged = log::is_wanted(message.method(), origin);
        let details = is_logged || observers.want_details();
        let named = details
            .then(|| admitted.params.named(message).ok())
            .flatten();
        let server = match &admitted.scope {
            Scope::One(server) => Some(server.name().clone()),
            Scope::All => None,
        };
        let begun = Instant::now();
        let begin = Begin {
            number,
            origin,
            client,
            at: day::time_of(begun),
            server: server.as_ref(),
            method: message.method(),
            name: named.as_ref().and_then(|(named, _)| named.text()),
            message,
            params: &admitted.params,
            carried: admitted.trace.carried.as_deref(),
        };
        let is_server_said = begin.server.is_some();
        let span = span(&begin);
        let follow = within(&span, || {
            let mut follow = observers.begin(&begin);
            if let Some(log) = log::begin(&begin) {
                follow.push(log);
            }
            follow
        });
        if follow.is_empty() && shown.is_none() {
            return None;
        }
        let watched = spare::placed(Self {
            number,
            span,
            follow,
            is_server_said,
            begun,
            away: None,
            at_server: Duration::ZERO,
            waits: None,
            waited_before: Duration::ZERO,
            bytes_in: message.raw().len(),
            bytes_out: 0,
            shown,
            passed: Passed {
                server,
                is_decision_wanted: observers.want_decisions(),
                is_timed: details,
                ..Passed::default()
            },
        });
        if let Some(shown) = &watched.shown {
            shown.from_client(message);
        }
        Some(watched)
    }

    /// Who follows what it sends to its server.
    pub(crate) fn leaving(&self) -> Option<Arc<dyn Leaving>> {
        self.follow.iter().find_map(|one| one.leaving())
    }

    /// Where its messages are shown, where nobody else shows those of its client.
    pub fn shown(&self) -> Option<&Arc<Shown>> {
        self.shown.as_ref()
    }

    /// Where its phases are noted.
    pub(crate) fn phases(&mut self) -> &mut Passed {
        &mut self.passed
    }

    /// Its server is known.
    pub(crate) fn routed(&mut self, to: &Destination<'_>) {
        self.passed.route(to.server_name());
        self.tell(&Happened::Routed(to));
    }

    /// Its phases are over: it follows what has begun.
    pub(crate) fn begun(mut self: Box<Self>, exchange: &mut Exchange) {
        self.tell_passed();
        exchange.watched(self);
    }

    /// It failed in one of its phases.
    pub(crate) async fn failed(mut self: Box<Self>, fault: CallError) -> CallError {
        self.tell_passed();
        let kept = match self.end(Ending::Failed(&fault)) {
            Some(keeping) => keeping.await,
            None => Ok(()),
        };
        kept.err().unwrap_or(fault)
    }

    fn tell_passed(&mut self) {
        let passed = mem::take(&mut self.passed);
        self.tell(&Happened::Passed(&passed));
    }

    /// Why it must not be made, if somebody who has to follow it cannot.
    pub fn refused(&self) -> Option<CallError> {
        self.follow.iter().find_map(|one| one.refuses())
    }

    /// It went on after it was held: what was decided about it then.
    pub(crate) fn decided_again(&mut self, passed: &Passed) {
        self.tell(&Happened::Passed(passed));
    }

    /// Its answer is held.
    pub(crate) fn held(&mut self) {
        self.tell(&Happened::Held);
    }

    /// A person has said what becomes of what was held.
    pub(crate) fn released(&mut self, release: Release<'_>) {
        self.tell(&Happened::Released(release));
    }

    /// A person has changed it, or its answer.
    pub(crate) fn edited(&mut self, edited: Edited<'_>) {
        self.tell(&Happened::Edited(edited));
    }

    /// How long it took until now, and how long of that it was at its server.
    pub(crate) fn so_far(&self) -> (Duration, Duration) {
        let now = Instant::now();
        let away = self.away.map(|since| self.working(since, now));
        (now - self.begun, self.at_server + away.unwrap_or_default())
    }

    /// How long it has waited for people.
    fn waited(&self, now: Instant) -> Duration {
        let waits = self.waits.as_ref();
        waits.map_or(Duration::ZERO, |waits| waits.until(now))
    }

    /// How long its server has worked on it since it left.
    fn working(&self, since: Instant, now: Instant) -> Duration {
        let waited = self.waited(now).saturating_sub(self.waited_before);
        (now - since).saturating_sub(waited)
    }

    /// Whoever was asked whether it may be made has answered.
    pub(crate) fn answered(&mut self, verdict: Verdict, by: Option<&str>) {
        self.tell(&Happened::Answered(verdict, by));
    }

    /// What all that is logged during its phases stands in.
    pub fn span(&self) -> Span {
        self.span.clone()
    }

    /// It left for its server.
    pub fn left(&mut self, server: &Arc<str>, revision: Revision) {
        if !mem::replace(&mut self.is_server_said, true) {
            self.span.record("server", &**server);
        }
        if self.away.is_none() {
            let now = Instant::now();
            (self.away, self.waited_before) = (Some(now), self.waited(now));
        }
        self.tell(&Happened::Left { server, revision });
    }

    /// Its client has to come back for the rest.
    pub(crate) fn parked(&mut self) {
        self.tell(&Happened::Parked);
    }

    /// Its client has come back.
    pub(crate) fn resumed(&mut self, resumed: &Resumed<'_>) {
        self.tell(&Happened::Resumed(resumed));
    }

    /// Something comes of it.
    pub fn event(&mut self, event: &mut Event) {
        match event {
            Event::Notice(notice) => {
                self.bytes_out += notice.payload.len();
                self.show(|| notice.payload.clone());
                self.tell(&Happened::Notice(notice));
            }
            Event::Input(input) => self.asks(input, true),
            // Its end follows, and is told apart.
            Event::Outcome(_) => {}
        }
    }

    /// Somebody is asked something; `is_shown`, where that is its client.
    pub(crate) fn asks(&mut self, input: &mut Input, is_shown: bool) {
        if is_shown {
            self.bytes_out += input.message().raw().len();
            self.show(|| input.message().payload());
        }
        self.tell(&Happened::Asked(input));
        if Waits::is_for_people(input.method()) {
            let waits = self.waits.get_or_insert_default();
            input.followed_by(waits.begin());
        }
        for one in &mut self.follow {
            if let Some(part) = one.asks(input) {
                input.followed_by(part);
            }
        }
    }

    /// Its number.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// It is not at its server any more.
    pub(crate) fn back(&mut self) {
        self.back_at(Instant::now());
    }

    fn back_at(&mut self, now: Instant) {
        if let Some(since) = self.away.take() {
            let worked = self.working(since, now);
            self.at_server += worked;
        }
    }

    /// It is over. What this gives back is waited for before anybody is told.
    #[must_use]
    pub fn end(mut self: Box<Self>, ending: Ending<'_>) -> Option<Keeping> {
        if let Ending::Reply(reply) = &ending {
            self.bytes_out += reply.message.raw().len();
            self.show(|| reply.message.edited(&reply.edits));
        }
        self.over(ending)
    }

    /// It is over, and no server was asked: we answered so many bytes, or why not. What
    /// this gives back is waited for before anybody is told.
    #[must_use]
    pub fn answered_by_us(
        mut self: Box<Self>,
        answer: Result<usize, &CallError>,
    ) -> Option<Keeping> {
        self.tell_passed();
        match answer {
            Ok(bytes) => {
                self.bytes_out += bytes;
                self.over(Ending::Reply(&FINE))
            }
            Err(fault) => self.over(Ending::Failed(fault)),
        }
    }

    /// It is over: all of its answer, so many bytes, was passed on as it came. What this
    /// gives back is waited for before its client gets the last of them.
    #[must_use]
    pub(crate) fn passed_on(mut self: Box<Self>, is_error: bool, bytes: usize) -> Option<Keeping> {
        self.bytes_out += bytes;
        self.over(Ending::Reply(match is_error {
            true => &FAILED,
            false => &FINE,
        }))
    }

    /// It is over: its answer broke off after so many bytes.
    #[must_use]
    pub(crate) fn broke_off(
        mut self: Box<Self>,
        fault: &CallError,
        bytes: usize,
    ) -> Option<Keeping> {
        self.bytes_out += bytes;
        self.over(Ending::Failed(fault))
    }

    /// It turned out to be another call, which is watched by itself.
    pub fn forget(mut self: Box<Self>) {
        self.follow.clear();
    }

    /// It is over, with this outcome.
    pub(crate) fn ended(self: Box<Self>, outcome: &Outcome) -> Option<Keeping> {
        self.end(Ending::of(outcome))
    }

    fn over(mut self: Box<Self>, ending: Ending<'_>) -> Option<Keeping> {
        let kept = self.finish(ending);
        spare::keep(self);
        kept
    }

    /// Nothing of a call that is over is held any longer.
    fn clear(&mut self) {
        let Self {
            span,
            waits,
            shown,
            passed,
            ..
        } = self;
        (*span, *waits, *shown) = (Span::none(), None, None);
        *passed = Passed::default();
    }

    fn finish(&mut self, ending: Ending<'_>) -> Option<Keeping> {
        let now = Instant::now();
        self.back_at(now);
        let end = End {
            fault: ending.fault(),
            ending,
            took: now - self.begun,
            when: now.into_std(),
            at_server: self.at_server,
            waited: self.waited(now),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
        };
        let follow = mem::take(&mut self.follow);
        // Nothing is waited for by most.
        let mut all: Vec<Keeping> = Vec::new();
        within(&self.span, || {
            for one in follow {
                if let Some(kept) = one.end_kept(&end) {
                    all.push(kept);
                }
            }
        });
        if all.len() < 2 {
            return all.pop();
        }
        Some(Box::pin(async move {
            for keeping in all {
                keeping.await?;
            }
            Ok(())
        }))
    }

    fn tell(&mut self, happened: &Happened<'_>) {
        let Self { span, follow, .. } = self;
        within(span, || {
            for one in follow {
                one.event(happened);
            }
        });
    }

    fn show(&self, payload: impl FnOnce() -> Payload) {
        if let Some(shown) = &self.shown {
            shown.to_client(&payload());
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.follow.is_empty() {
            // Nobody waits for it any more: what is to be kept is on its way.
            drop(self.finish(Ending::GivenUp));
        }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// Does this in a span, where there is one: mostly nobody wants any.
#[inline]
fn within<T>(span: &Span, what: impl FnOnce() -> T) -> T {
    match span.is_disabled() {
        true => what(),
        false => span.in_scope(what),
    }
}

/// What all that is logged during a call's phases stands in. The program's own
/// calls are news, a client's are detail.
fn span(begin: &Begin<'_>) -> Span {
    let Begin {
        number,
        client,
        method,
        name,
        ..
    } = begin;
    let (server, method) = (begin.server, method.as_str());
    let (principal, era, session) = (&*client.principal, client.era(), client.id);
    let span = match begin.origin {
        Origin::Own => {
            tracing::info_span!("call", number, server = field::Empty, method, name, principal, %era, session)
        }
        Origin::Client => {
            tracing::debug_span!("call", number, server = field::Empty, method, name, principal, %era, session)
        }
    };
    if let Some(server) = server {
        span.record("server", &**server);
    }
    span
}
