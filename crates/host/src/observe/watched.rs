//! The wrapper around one call that is watched.

use super::{
    Begin, Edge, End, Ending, Follow, Happened, Keeping, Observers, Origin, Passed, Passing,
    Resumed, log,
};
use crate::{
    call::{self, Admitted, Scope},
    error::CallError,
    exchange::{Event, Exchange, Outcome, Verdict},
    host::Host,
};
use std::{
    fmt, mem,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use switchboard_wire::Payload;
use tokio::time::Instant;
use tracing::{Instrument, Span, field};

/// One call that somebody watches. Dropped before its end it was given up.
pub struct Watched {
    number: u64,
    span: Span,
    follow: Vec<Box<dyn Follow>>,
    begun: Instant,
    /// Since when it has been at its server.
    away: Option<Instant>,
    at_server: Duration,
    bytes_in: usize,
    bytes_out: usize,
    /// Where the messages of it are shown.
    tap: Option<Tap>,
    /// Whether somebody wants to know what is decided about it.
    is_decision_wanted: bool,
}

struct Tap {
    observers: Arc<Observers>,
    principal: Arc<str>,
    server: Option<Arc<str>>,
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

    #[cold]
    fn watch(observers: &Arc<Observers>, admitted: &Admitted, origin: Origin) -> Option<Box<Self>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let Admitted {
            client, message, ..
        } = admitted;
        let named = admitted.params.named(message).ok();
        let server = match &admitted.scope {
            Scope::One(server) => Some(server.name().clone()),
            Scope::All => None,
        };
        let begin = Begin {
            number,
            origin,
            client,
            server: server.as_deref(),
            method: message.method(),
            name: named.as_ref().and_then(|(named, _)| named.text()),
            message,
            params: &admitted.params,
            carried: admitted.trace.carried.as_deref(),
        };
        let span = span(&begin);
        let follow = span.in_scope(|| {
            let mut follow = observers.begin(&begin);
            follow.extend(log::begin(&begin));
            follow
        });
        let tap = observers.want_messages().then(|| Tap {
            observers: observers.clone(),
            principal: client.principal.clone(),
            server,
        });
        if follow.is_empty() && tap.is_none() {
            return None;
        }
        let watched = Self {
            number,
            span,
            follow,
            begun: Instant::now(),
            away: None,
            at_server: Duration::ZERO,
            bytes_in: message.raw().len(),
            bytes_out: 0,
            tap,
            is_decision_wanted: observers.want_decisions(),
        };
        watched.show(Edge::FromClient, || message.payload());
        Some(Box::new(watched))
    }

    /// Follows a call through its phases, and then in its exchange.
    pub(crate) async fn wrap(
        mut self: Box<Self>,
        host: &Host,
        mut admitted: Box<Admitted>,
    ) -> Result<Exchange, CallError> {
        admitted.trace.leaving = self.follow.iter().find_map(|one| one.leaving());
        let mut passed = Passed {
            is_decision_wanted: self.is_decision_wanted,
            ..Passed::default()
        };
        if let Scope::One(server) = &admitted.scope {
            passed.server = Some(server.name().clone());
        }
        let ended = match self.refused() {
            Some(fault) => Err(fault),
            None => {
                let phases = call::counted(host, admitted, Some(&mut passed));
                phases.instrument(self.span.clone()).await
            }
        };
        self.tell(&Happened::Passed(&passed));
        match ended {
            Ok(exchange) => Ok(exchange.watched(self)),
            Err(fault) => {
                if let Some(keeping) = self.end(Ending::Failed(&fault)) {
                    keeping.await?;
                }
                Err(fault)
            }
        }
    }

    /// Why it must not be made, if somebody who has to follow it cannot.
    pub fn refused(&self) -> Option<CallError> {
        self.follow.iter().find_map(|one| one.refuses())
    }

    /// Whoever was asked whether it may be made has answered.
    pub(crate) fn answered(&mut self, verdict: Verdict) {
        self.tell(&Happened::Answered(verdict));
    }

    /// What all that is logged during its phases stands in.
    pub fn span(&self) -> Span {
        self.span.clone()
    }

    /// It left for its server.
    pub fn left(&mut self, server: &Arc<str>) {
        self.span.record("server", &**server);
        self.away.get_or_insert_with(Instant::now);
        if let Some(tap) = &mut self.tap {
            tap.server = Some(server.clone());
        }
        self.tell(&Happened::Left { server });
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
                self.show(Edge::ToClient, || notice.payload.clone());
                self.tell(&Happened::Notice(notice));
            }
            Event::Input(input) => {
                self.bytes_out += input.message().raw().len();
                self.show(Edge::ToClient, || input.message().payload());
                self.tell(&Happened::Asked(input));
                for one in &mut self.follow {
                    if let Some(part) = one.asks(input) {
                        input.followed_by(part);
                    }
                }
            }
            Event::Outcome(_) => self.back(),
        }
    }

    /// It is not at its server any more.
    pub(crate) fn back(&mut self) {
        if let Some(since) = self.away.take() {
            self.at_server += since.elapsed();
        }
    }

    /// It is over. What this gives back is waited for before anybody is told.
    #[must_use]
    pub fn end(mut self, ending: Ending<'_>) -> Option<Keeping> {
        if let Ending::Reply(reply) = &ending {
            self.bytes_out += reply.message.raw().len();
            self.show(Edge::ToClient, || reply.message.edited(&reply.edits));
        }
        self.finish(ending)
    }

    /// It is over, with this outcome.
    pub(crate) fn ended(self, outcome: &Outcome) -> Option<Keeping> {
        self.end(Ending::of(outcome))
    }

    fn finish(&mut self, ending: Ending<'_>) -> Option<Keeping> {
        self.back();
        let end = End {
            ending,
            took: self.begun.elapsed(),
            at_server: self.at_server,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
        };
        let follow = mem::take(&mut self.follow);
        let mut all: Vec<Keeping> = self.span.in_scope(|| {
            let kept = follow.into_iter().filter_map(|one| one.end_kept(&end));
            kept.collect()
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
        span.in_scope(|| {
            for one in follow {
                one.event(happened);
            }
        });
    }

    fn show(&self, edge: Edge, payload: impl FnOnce() -> Payload) {
        if let Some(tap) = &self.tap {
            tap.observers.show(&Passing {
                edge,
                call: Some(self.number),
                principal: Some(&tap.principal),
                server: tap.server.as_deref(),
                payload: &payload(),
            });
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
        span.record("server", server);
    }
    span
}
