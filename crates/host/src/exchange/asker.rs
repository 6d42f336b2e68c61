//! Whose call it is, where a person may be asked beside that client or in its place;
//! and what the client is told while its call waits for one.

use super::{Event, Exchange, Input, Notice, Stage};
use crate::{call::Admitted, client::Client, limits};
use bytes::Bytes;
use std::{fmt, sync::Arc};
use switchboard_wire::{Message, Method, Params, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How much of progress one sign of life is: a server's own, which may begin with
/// anything above nothing, has to be further.
const STEP: f64 = 1e-6;

/// Whose call it is.
pub(crate) struct Asker {
    client: Arc<Client>,
    method: Method,
    /// Whether somebody has set breakpoints: it may be held, and then its answer.
    may_be_held: bool,
    /// What its progress is told under, where it wants to know.
    token: Option<Bytes>,
    /// The furthest that it was told.
    furthest: f64,
    /// What waits for a person.
    waiting: Option<Box<Waiting>>,
}

/// What waits for a person, and when its client is told so next.
struct Waiting {
    questions: Vec<CancellationToken>,
    next: Instant,
}

impl Asker {
    /// Whose request this is, where a person may be asked at all.
    pub(crate) fn of(admitted: &Admitted) -> Option<Self> {
        let client = &admitted.client;
        let may_be_held = client.desk()?.is_armed();
        Some(Self {
            client: client.clone(),
            method: admitted.message.method(),
            may_be_held,
            token: Params::bytes(&admitted.message, admitted.params.progress_token),
            furthest: f64::NEG_INFINITY,
            waiting: None,
        })
    }

    /// Whether it, or its answer, may be held at a breakpoint.
    pub(crate) fn may_be_held(&self) -> bool {
        self.may_be_held
    }

    /// Its answer is held, once.
    pub(super) fn was_held(&mut self) {
        self.may_be_held = false;
    }

    pub(super) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// What is asked for.
    pub(super) fn method(&self) -> Method {
        self.method
    }

    /// Whether somebody else visits the pages that its client is sent to: one that cannot
    /// visit any, or is not to be asked.
    pub(super) fn visits_for_it(&self) -> bool {
        let at = self.client.asked_at();
        at.asks_inbox() && (!at.asks_client() || !self.client.opens_pages())
    }
}

impl Exchange {
    /// Puts a question to whoever is to be asked. What is left is for the client.
    pub(super) fn put(&mut self, mut input: Input) -> Option<Input> {
        let desk = self.asker.as_ref().and_then(|asker| {
            let desk = asker.client.desk()?;
            let plan = desk.plan(&input, &asker.client);
            plan.desk
                .then(|| (desk.clone(), asker.client.clone(), plan))
        });
        if let Some(watched) = &mut self.watched {
            let is_shown = desk.as_ref().is_none_or(|(_, _, plan)| plan.client);
            watched.asks(&mut input, is_shown);
        }
        let Some((desk, client, plan)) = desk else {
            return Some(input);
        };
        if let Stage::Asking(gate) = &mut self.stage {
            gate.is_at_desk();
        }
        let call = self.watched.as_ref().map(|watched| watched.number());
        let put = desk.put(input, &client, call, plan);
        if let (Some(asker), Some(waits)) = (&mut self.asker, put.waits) {
            let waiting = asker.waiting.get_or_insert_with(|| {
                Box::new(Waiting {
                    questions: Vec::new(),
                    next: Instant::now() + limits::STILL_WAITING,
                })
            });
            waiting.questions.push(waits);
        }
        put.client
    }

    /// When its client is told next that it waits for a person, if it does and its
    /// client wants to know.
    pub(super) fn next_sign_of_life(&mut self) -> Option<Instant> {
        let asker = self.asker.as_mut()?;
        let waiting = asker.waiting.as_mut()?;
        waiting
            .questions
            .retain(|question| !question.is_cancelled());
        if waiting.questions.is_empty() {
            asker.waiting = None;
            return None;
        }
        Some(waiting.next)
    }

    /// What the client is told meanwhile.
    pub(super) fn sign_of_life(&mut self) -> Option<Notice> {
        let asker = self.asker.as_mut()?;
        asker.waiting.as_mut()?.next = Instant::now() + limits::STILL_WAITING;
        let token = match &self.told_as {
            Some(token) => token.clone()?,
            None => asker.token.clone()?,
        };
        asker.furthest = match asker.furthest.is_finite() {
            true => next_above(asker.furthest),
            false => 0.0,
        };
        let params = format!(
            "{{\"progressToken\":{},\"progress\":{},\"message\":\"waits for a person to answer\"}}",
            String::from_utf8_lossy(&token),
            asker.furthest
        );
        let message = Message::notification(Method::Progress, &params);
        Some(Notice {
            method: Method::Progress,
            payload: message.payload(),
            message,
        })
    }

    /// Whether an event may be told: progress never goes back behind what was told
    /// while the call waited.
    pub(super) fn is_further(&mut self, event: &Event) -> bool {
        let (Event::Notice(notice), Some(asker)) = (event, &mut self.asker) else {
            return true;
        };
        if notice.method != Method::Progress {
            return true;
        }
        let body = notice.message.body();
        let value = json::field(body, "progress").ok().flatten();
        let value = value.and_then(|span| std::str::from_utf8(span.of(body)).ok()?.parse().ok());
        let Some(value): Option<f64> = value else {
            return true;
        };
        let is_further = value > asker.furthest || asker.waiting.is_none();
        asker.furthest = asker.furthest.max(value);
        is_further
    }
}

/// The next step after this much progress.
fn next_above(progress: f64) -> f64 {
    let next = progress + STEP;
    match next > progress {
        true => next,
        false => progress.next_up(),
    }
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}
