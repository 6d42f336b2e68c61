//! One client request in flight, in any era.
//!
//! An [`Exchange`] yields events – notifications, input needed – and at last
//! one [`Outcome`]. It knows nothing of how either side is connected. Dropping
//! it before its outcome cancels the request upstream, in that server's own way.

mod asker;
mod attended;
mod begun;
mod consent;
mod crossing;
mod event;
mod hold;
mod inbox;
mod input;
mod queued;
mod renewal;
mod repeated;
mod rooted;
mod sent;
mod step_up;
mod visit;

pub(crate) use asker::Asker;
pub(crate) use attended::{Attended, is_attended};
pub use begun::Begun;
pub(crate) use consent::{Asked, can_be_asked};
pub use consent::{Consent, Relayed, Verdict};
pub(crate) use crossing::Crossing;
use event::failed;
pub(crate) use event::restore_token;
pub use event::{Event, Notice, Outcome, Reply};
pub(crate) use inbox::Inbox;
pub(crate) use input::Answer;
pub use input::Input;

pub(crate) use rooted::Rooted;
pub(crate) use sent::Sent;

use crate::{
    call::Retry,
    error::CallError,
    observe::{Keeping, Resumed, Watched},
    upstream::{Connection, Turn},
};
use bytes::Bytes;
use consent::{Gate, Said};
use hold::{Hold, Leaving};
use queued::Queued;
use renewal::Renewal;
use std::{fmt, future::pending, sync::Arc, time::Duration};
use step_up::StepUp;
use switchboard_transport::InFlight;
use switchboard_wire::{Kind, Message, Method};
use tokio::time::{Instant, timeout_at};
use visit::Visit;

/// One request in flight.
#[derive(Debug)]
pub struct Exchange {
    stage: Stage,
    /// The connection that it goes by.
    connection: Arc<Connection>,
    deadline: Instant,
    allowed: Duration,
    /// What to send again, once, where that is safe.
    again: Option<Box<Retry>>,
    /// The token under which progress is told now, where it is another than at first.
    told_as: Option<Option<Bytes>>,
    /// Those who watch it, where anybody does.
    watched: Option<Box<Watched>>,
    /// Its outcome, which is told once what it waits for is there.
    kept: Option<Box<Kept>>,
    /// Its place among the calls of its principal.
    counted: Option<InFlight>,
    /// Whose it is, where a person may be asked beside that client or in its place.
    asker: Option<Asker>,
    /// How often it was sent again after pages had been visited for it.
    visits: u32,
}

/// Where a request is on its way. What is rare is boxed: every call has room for
/// the largest of these.
#[derive(Debug)]
enum Stage {
    /// It leaves when somebody has said yes.
    Asking(Box<Gate>),
    /// It, or its answer, goes on when somebody lets it.
    Held(Box<Hold>),
    /// Somebody has let it go.
    Leaving(Box<Leaving>),
    /// It leaves when it is its client's turn.
    Queued(Box<Queued>),
    /// It leaves again when it has been made ready for that.
    Renewing(Box<Renewal>),
    /// It leaves again when somebody has signed in with more rights.
    SigningIn(Box<StepUp>),
    /// It leaves again when somebody has visited its server's pages.
    Visiting(Box<Visit>),
    /// It is at its server.
    Away(Sent),
    /// It is at a server of the other era.
    Across(Box<Crossing>),
    /// It is at a server whose questions about roots are answered here.
    Rooted(Box<Rooted>),
    /// It is at a server whose questions a person answers in its client's place.
    Attended(Box<Attended>),
    /// Nothing comes any more.
    Over {
        /// Whether the server was one of the other era.
        crossed: bool,
    },
}

impl Exchange {
    /// A request that has just left.
    pub(crate) fn away(sent: Sent, connection: Arc<Connection>, allowed: Duration) -> Self {
        Self::at(Stage::Away(sent), connection, allowed)
    }

    /// A request that has just left for a server of the other era.
    pub(crate) fn across(
        crossing: Crossing,
        connection: Arc<Connection>,
        allowed: Duration,
    ) -> Self {
        Self::at(Stage::Across(Box::new(crossing)), connection, allowed)
    }

    /// A request that has just left for a server whose entry has roots.
    pub(crate) fn rooted(rooted: Rooted, connection: Arc<Connection>, allowed: Duration) -> Self {
        Self::at(Stage::Rooted(Box::new(rooted)), connection, allowed)
    }

    /// A request that has just left, of a client in whose place a person is asked.
    pub(crate) fn attended(
        attended: Attended,
        connection: Arc<Connection>,
        allowed: Duration,
    ) -> Self {
        Self::at(Stage::Attended(Box::new(attended)), connection, allowed)
    }

    fn at(stage: Stage, connection: Arc<Connection>, allowed: Duration) -> Self {
        Self {
            stage,
            connection,
            deadline: Instant::now() + allowed,
            allowed,
            again: None,
            told_as: None,
            watched: None,
            kept: None,
            counted: None,
            asker: None,
            visits: 0,
        }
    }

    pub(crate) fn asked_for(mut self, asker: Option<Asker>) -> Self {
        self.asker = asker;
        self
    }

    pub(crate) fn counted(mut self, counted: Option<InFlight>) -> Self {
        self.counted = counted;
        self
    }

    pub(crate) fn or_retry(mut self, again: Option<Box<Retry>>) -> Self {
        self.again = again;
        self
    }

    pub(crate) fn watched(&mut self, watched: Box<Watched>) {
        self.watched = Some(watched);
        self.note_left();
    }

    /// The connection that carries it.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Whether client and server speak different eras.
    pub fn crosses_eras(&self) -> bool {
        match &self.stage {
            Stage::Across(_) | Stage::Over { crossed: true } => true,
            Stage::Held(hold) => hold.crossed,
            _ => false,
        }
    }

    /// What is at the server, where anything is.
    pub(crate) fn sent(&self) -> Option<&Sent> {
        match &self.stage {
            Stage::Away(sent) => Some(sent),
            Stage::Across(crossing) => Some(crossing.sent()),
            Stage::Rooted(rooted) => Some(rooted.request.sent()),
            Stage::Attended(attended) => Some(attended.request.sent()),
            _ => None,
        }
    }

    /// Decides once more about a request whose client has been away. What it still
    /// waits for before it leaves decides by itself.
    pub fn still_allowed(&mut self) -> Result<(), CallError> {
        match &mut self.stage {
            Stage::Across(crossing) => crossing.still_allowed(),
            _ => Ok(()),
        }
    }

    /// The next event. After the outcome there is none.
    pub async fn next(&mut self) -> Event {
        loop {
            if let Some(kept) = &mut self.kept {
                let told = kept.until.as_mut().await;
                if let Some(kept) = self.kept.take() {
                    return told.map_or_else(failed, |()| kept.event);
                }
            }
            let look = self.next_sign_of_life();
            let until = look.map_or(self.deadline, |look| look.min(self.deadline));
            let step = match timeout_at(until, self.step()).await {
                Ok(step) => step,
                Err(_) if until < self.deadline => match self.sign_of_life() {
                    Some(told) => return Event::Notice(told),
                    None => continue,
                },
                Err(_) => Some(failed(self.timed_out())),
            };
            if let Some(Event::Outcome(Outcome::Failed(fault))) = &step
                && (self.renews(fault) || self.steps_up(fault))
            {
                if let Some(watched) = &mut self.watched {
                    watched.back();
                }
                continue;
            }
            if let Some(Event::Outcome(Outcome::Reply(reply))) = &step
                && ((reply.message.kind() == Kind::Error && self.waits_for_pages(reply))
                    || self.holds(reply))
            {
                if let Some(watched) = &mut self.watched {
                    watched.back();
                }
                continue;
            }
            if let Some(Event::Outcome(mut begun @ Outcome::Begun(_))) = step {
                self.hand_over(&mut begun);
                return Event::Outcome(begun);
            }
            if let Some(mut event) = step.and_then(|event| self.told(event)) {
                if let Event::Input(input) = event {
                    match self.put(input) {
                        Some(input) => return Event::Input(input),
                        None => continue,
                    }
                }
                if let Some(watched) = &mut self.watched {
                    watched.event(&mut event);
                }
                if let Event::Outcome(outcome) = &event {
                    self.leave_stage();
                    let watched = self.watched.take();
                    if let Some(until) = watched.and_then(|watched| watched.ended(outcome)) {
                        self.kept = Some(Box::new(Kept { event, until }));
                        continue;
                    }
                }
                return event;
            }
        }
    }

    /// What is told of an event: progress that came while nobody waited for it
    /// goes under the token of whoever does now.
    fn told(&mut self, event: Event) -> Option<Event> {
        match (event, &self.told_as) {
            (Event::Notice(notice), Some(token)) if notice.method == Method::Progress => {
                let payload = restore_token(&notice.message, token.as_ref()?);
                Some(Event::Notice(Notice { payload, ..notice }))
            }
            (event, _) => Some(event),
        }
        .filter(|event| self.is_further(event))
    }

    /// One step of the way; `None` where it leads to another step and nothing to tell.
    async fn step(&mut self) -> Option<Event> {
        match &mut self.stage {
            Stage::Away(sent) => Some(sent.next().await),
            Stage::Across(crossing) => crossing.step().await,
            Stage::Rooted(rooted) => rooted.step().await,
            Stage::Attended(attended) => attended.step().await,
            Stage::Asking(gate) => {
                let inbox = gate.inbox();
                let verdict = tokio::select! {
                    biased;
                    event = inbox.next() => return Some(event),
                    verdict = gate.verdict(&self.connection) => verdict,
                };
                self.decided(&verdict)
            }
            Stage::Held(hold) => {
                let inbox = hold.inbox();
                let said = tokio::select! {
                    biased;
                    event = inbox.next() => return Some(event),
                    said = hold.said() => said,
                };
                self.let_go(said)
            }
            Stage::Leaving(leaving) => {
                let sent = leaving.0.as_mut().await;
                self.left_from_hold(sent)
            }
            Stage::Queued(queued) => {
                let turn = queued.turn().await;
                self.called_up(turn)
            }
            Stage::SigningIn(step_up) => {
                let inbox = step_up.inbox();
                let ended = tokio::select! {
                    biased;
                    event = inbox.next() => return Some(event),
                    ended = step_up.ended() => ended,
                };
                self.stepped_up(ended)
            }
            Stage::Visiting(visit) => {
                let inbox = visit.inbox();
                let ended = tokio::select! {
                    biased;
                    event = inbox.next() => return Some(event),
                    ended = visit.ended() => ended,
                };
                self.visited(ended)
            }
            Stage::Renewing(renewal) => {
                let prepared = renewal.prepared().await;
                self.renewed(prepared)
            }
            Stage::Over { .. } => pending().await,
        }
    }

    /// Somebody has said yes or no.
    fn decided(&mut self, said: &Said) -> Option<Event> {
        let Stage::Asking(gate) = self.leave_stage() else {
            return None;
        };
        let by = self.answered_by();
        if let (Some(watched), Ok(verdict)) = (&mut self.watched, said) {
            watched.answered(*verdict, by.as_deref());
        }
        match gate.settle(&self.connection, said) {
            Ok(sent) => self.goes_on_as(sent),
            Err(fault) => return self.not_left(fault, gate.into_permitted()),
        }
        None
    }

    /// Who has answered what it was asked last, where that was asked in the inbox.
    #[cold]
    fn answered_by(&self) -> Option<String> {
        let desk = self.asker.as_ref()?.client().desk()?;
        desk.answered_by(self.watched.as_ref()?.number())
    }

    /// It is its client's turn.
    fn called_up(&mut self, turn: Option<Turn>) -> Option<Event> {
        let Stage::Queued(queued) = self.leave_stage() else {
            return None;
        };
        match queued.leave(&self.connection, turn) {
            Ok(sent) => self.goes_on_as(sent),
            Err(fault) => return self.not_left(fault, queued.into_permitted()),
        }
        None
    }

    /// Goes on where `sent` is: it left in this one's place. What is the client's
    /// call, however often it is sent, stays.
    fn goes_on_as(&mut self, sent: Self) {
        self.stage = sent.stage;
        self.connection = sent.connection;
        self.deadline = sent.deadline;
        self.allowed = sent.allowed;
        if let (Some(token), Some(sent)) = (&self.told_as, self.sent()) {
            sent.set_token(token.clone());
        }
        self.note_left();
    }

    /// Its client has to come back for the rest.
    pub fn parked(&mut self) {
        if let Some(watched) = &mut self.watched {
            watched.parked();
        }
    }

    /// Its client has come back, with this request.
    pub fn resumed(&mut self, resumed: &Resumed<'_>) {
        if let Some(watched) = &mut self.watched {
            watched.resumed(resumed);
        }
    }

    /// Tells those who watch that it has left, if it has.
    fn note_left(&mut self) {
        let has_left = self.sent().is_some();
        if let Some(watched) = self.watched.as_mut().filter(|_| has_left) {
            watched.left(self.connection.server_name(), self.connection.revision());
        }
    }

    /// Takes it off where it is. What was in flight there is given up unless
    /// whoever calls keeps it.
    fn leave_stage(&mut self) -> Stage {
        let crossed = self.crosses_eras();
        std::mem::replace(&mut self.stage, Stage::Over { crossed })
    }

    /// How it ends that took longer than it may.
    fn timed_out(&mut self) -> CallError {
        match &mut self.stage {
            Stage::Asking(gate) => return gate.timed_out(self.allowed),
            Stage::Held(hold) => return hold.timed_out(self.allowed),
            Stage::SigningIn(step_up) => return step_up.timed_out(),
            Stage::Queued(_) => return self.connection.not_its_turn(self.allowed),
            Stage::Away(sent) => sent.cancel(Some("timed out")),
            Stage::Across(crossing) => crossing.sent_mut().cancel(Some("timed out")),
            Stage::Rooted(rooted) => rooted.request.sent_mut().cancel(Some("timed out")),
            Stage::Attended(attended) => attended.request.sent_mut().cancel(Some("timed out")),
            Stage::Renewing(_) | Stage::Leaving(_) | Stage::Visiting(_) | Stage::Over { .. } => {}
        }
        CallError::TimedOut {
            server: self.connection.server_name().to_string(),
            allowed: self.allowed,
        }
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
        match &mut self.stage {
            Stage::Away(sent) => sent.cancel_as(notice),
            Stage::Across(crossing) => crossing.sent_mut().cancel_as(notice),
            Stage::Rooted(rooted) => rooted.request.sent_mut().cancel_as(notice),
            Stage::Attended(attended) => attended.request.sent_mut().cancel_as(notice),
            // Nothing of it has left.
            _ => {}
        }
    }

    /// From now on progress is told under another token: a parked request goes on as a new one.
    pub fn set_progress_token(&mut self, token: Option<Bytes>) {
        if let Some(sent) = self.sent() {
            sent.set_token(token.clone());
        }
        self.told_as = Some(token);
    }
}

/// An outcome that waits.
struct Kept {
    event: Event,
    until: Keeping,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept")
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}
