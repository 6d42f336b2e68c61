//! The requests of ours that are in flight on a connection: under which numbers,
//! whose they are, and whose turn it is where clients take turns.

use super::{
    mcp_tasks::AboutTasks,
    passed_on::Passing,
    turns::{NeedsTurns, Place, Turn, Turns},
    uses::{Callers, Uses},
};
use crate::{
    catalog::List,
    client::{Client, ClientId},
    error::CallError,
    exchange::{Inbox, Outcome},
    limits,
};
use bytes::Bytes;
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};
use switchboard_transport::ByNumber;
use switchboard_wire::Method;
use tokio_util::sync::CancellationToken;

/// The calls in flight on one connection.
#[derive(Debug)]
pub(super) struct Calls {
    flight: Mutex<Flight>,
    next: AtomicU64,
    uses: Uses,
    passing: Passing,
    turns: Arc<Turns>,
    /// Whether clients of the server take turns now, on any connection.
    needs_turns: Arc<NeedsTurns>,
}

/// What is in flight, and who had anything there so far.
#[derive(Debug, Default)]
struct Flight {
    calls: HashMap<u64, Call, ByNumber>,
    callers: Callers,
}

/// A request of ours that waits for its answer.
#[derive(Debug)]
pub(super) struct Call {
    inbox: Arc<Inbox>,
    /// The client's progress token, as it wrote it.
    token: Option<Bytes>,
    /// Who asked; `None` when we did ourselves.
    client: Option<Arc<Client>>,
    /// Ends when the call does: questions asked during it are then void. There
    /// is none until somebody asks one.
    over: OnceLock<CancellationToken>,
    /// What its reply can say about tasks.
    tasks: AboutTasks,
    /// Its share of its client's turn, where clients take turns.
    turn: Option<Turn>,
    /// Questions of the server's that wait for somebody's answer.
    asked: usize,
    /// What it asks for.
    method: Method,
    /// The number of the client's call that it is sent for, where its messages are shown.
    shown: Option<u64>,
    /// Whether its answer may be handed over before its end.
    passes_on: bool,
}

/// Why a request does not leave.
#[derive(Debug)]
pub(super) enum NotBegun {
    /// So many are in flight already.
    TooMany(usize),
    /// The connection has been put to rest: the next one takes it.
    Over,
}

/// Which call something belongs to.
pub(super) enum Attribution {
    /// This one.
    Call {
        /// Its number.
        request: u64,
        /// Where its events go.
        inbox: Arc<Inbox>,
        /// Who made it.
        client: Option<Arc<Client>>,
        /// Ends with it.
        over: CancellationToken,
        /// Whether it is no other's: something says so, or no other is in flight.
        is_sure: bool,
    },
    /// No client's call is in flight.
    Nobody,
    /// Calls of several clients are in flight, and nothing says whose it is.
    Several,
}

/// Where the progress of a call goes, and under which token.
pub(super) struct Progress {
    pub(super) inbox: Arc<Inbox>,
    pub(super) token: Option<Bytes>,
    pub(super) client: Option<Arc<Client>>,
}

impl Call {
    pub(super) fn new(
        token: Option<Bytes>,
        client: Option<Arc<Client>>,
        tasks: AboutTasks,
        method: Method,
    ) -> Self {
        Self {
            inbox: Arc::new(Inbox::new()),
            token,
            client,
            over: OnceLock::new(),
            tasks,
            turn: None,
            asked: 0,
            method,
            shown: None,
            passes_on: false,
        }
    }

    /// The same, sent for a client's call whose messages are shown under this number.
    pub(super) fn shown_as(mut self, number: Option<u64>) -> Self {
        self.shown = number;
        self
    }

    /// The same, whose answer may be handed over before its end, if nothing reads it here.
    pub(super) fn passing_on(mut self, may: bool) -> Self {
        self.passes_on = may
            && self.tasks == AboutTasks::Nothing
            && matches!(
                self.method,
                Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead
            );
        self
    }

    /// That number.
    pub(super) fn is_shown_as(&self) -> Option<u64> {
        self.shown
    }

    /// Where its events go.
    pub(super) fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    /// What it asks for.
    pub(super) fn method(&self) -> Method {
        self.method
    }

    /// Who asked; `None` when we did ourselves.
    pub(super) fn client(&self) -> Option<&Arc<Client>> {
        self.client.as_ref()
    }

    /// What its reply can say about tasks.
    pub(super) fn tasks(&self) -> AboutTasks {
        self.tasks
    }

    /// Whether an answer to it shows that the server is of use: a client wanted
    /// something done, and not only to know what there is.
    pub(super) fn is_use(&self) -> bool {
        self.client.is_some() && self.does_something()
    }

    /// Whether it is there to have something done, whoever wants that.
    fn does_something(&self) -> bool {
        let prepares = matches!(
            self.method,
            Method::Listen
                | Method::Ping
                | Method::SetLevel
                | Method::ResourcesSubscribe
                | Method::ResourcesUnsubscribe
        );
        !prepares && List::of(self.method).is_none()
    }

    /// Ends it.
    pub(super) fn finish(self, outcome: Outcome) {
        if let Some(over) = self.over.get() {
            over.cancel();
        }
        self.inbox.finish(outcome);
    }

    fn has_left(&self) -> bool {
        self.client.as_ref().is_some_and(|client| client.has_left())
    }

    fn attribution(&self, request: u64, is_sure: bool) -> Attribution {
        Attribution::Call {
            request,
            is_sure,
            inbox: self.inbox.clone(),
            client: self.client.clone(),
            over: self.over.get_or_init(CancellationToken::new).clone(),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // Taken out by somebody who then panicked: it is waited for all the same.
        if std::thread::panicking() {
            self.inbox.finish(Outcome::Failed(CallError::broke_off()));
        }
    }
}

impl Calls {
    pub(super) fn new(needs_turns: Arc<NeedsTurns>) -> Self {
        Self {
            flight: Mutex::default(),
            next: AtomicU64::new(1),
            uses: Uses::default(),
            passing: Passing::default(),
            turns: Arc::default(),
            needs_turns,
        }
    }

    fn in_flight(&self) -> MappedMutexGuard<'_, HashMap<u64, Call, ByNumber>> {
        MutexGuard::map(self.flight.lock(), |flight| &mut flight.calls)
    }

    /// How often anything was done here.
    pub(super) fn uses(&self) -> &Uses {
        &self.uses
    }

    /// Who has had anything done here.
    pub(super) fn callers(&self) -> Callers {
        self.flight.lock().callers.clone()
    }

    /// Takes over who had anything done on a connection before this one.
    pub(super) fn succeed(&self, before: &Self) {
        let callers = before.callers();
        self.flight.lock().callers.add_all(callers);
    }

    /// A number for the next request.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A number that grows with every request.
    pub(super) fn begun(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Notes a request that is about to leave.
    pub(super) fn begin(&self, number: u64, call: Call) -> Result<(), NotBegun> {
        let does_something = call.client.is_some() || call.does_something();
        if does_something && !self.uses.note() {
            return Err(NotBegun::Over);
        }
        let mut flight = self.flight.lock();
        let under_way = flight.calls.len() + self.passing.count();
        if under_way >= limits::CALLS_IN_FLIGHT {
            return Err(NotBegun::TooMany(under_way));
        }
        if let Some(client) = call.client.as_ref().filter(|_| call.is_use()) {
            flight.callers.add(client.identity);
        }
        flight.calls.insert(number, call);
        Ok(())
    }

    /// Takes one out: nothing that arrives is its any more.
    pub(super) fn take(&self, number: u64) -> Option<Call> {
        self.in_flight().remove(&number)
    }

    /// Takes all out.
    pub(super) fn take_all(&self) -> Vec<Call> {
        let mut calls = self.in_flight();
        calls.drain().map(|(_, call)| call).collect()
    }

    /// Whether nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Answers that are passed on, of calls that are none any more.
    pub(super) fn passing(&self) -> &Passing {
        &self.passing
    }

    /// Those that wait for an answer. One that is open for as long as the
    /// connection is does not.
    pub(super) fn numbers(&self) -> Vec<u64> {
        let calls = self.in_flight();
        let waiting = calls
            .iter()
            .filter(|(_, call)| call.method != Method::Listen);
        waiting.map(|(number, _)| *number).collect()
    }

    /// From now on progress of this request is told under another token.
    pub(super) fn set_token(&self, number: u64, token: Option<Bytes>) {
        if let Some(call) = self.in_flight().get_mut(&number) {
            call.token = token;
        }
    }

    /// Where progress of this request goes.
    pub(super) fn progress(&self, number: u64) -> Option<Progress> {
        let calls = self.in_flight();
        let call = calls.get(&number)?;
        Some(Progress {
            inbox: call.inbox.clone(),
            token: call.token.clone(),
            client: call.client.clone(),
        })
    }

    /// The number that the messages of this request are shown under, if they are.
    pub(super) fn shown(&self, number: u64) -> Option<u64> {
        self.in_flight().get(&number)?.shown
    }

    /// Whether the answer to this request may be handed over before its end.
    pub(super) fn may_begin(&self, number: u64) -> bool {
        let calls = self.in_flight();
        calls.get(&number).is_some_and(|call| call.passes_on)
    }

    /// The client that made this request, and where its events go.
    pub(super) fn caller(&self, number: u64) -> Option<(Arc<Client>, Arc<Inbox>)> {
        let calls = self.in_flight();
        let call = calls.get(&number)?;
        Some((call.client.clone()?, call.inbox.clone()))
    }

    /// The call that something without an id of its own belongs to: the one on
    /// whose stream it came, or the latest if all calls in flight are one client's.
    /// Where clients take turns a call that waits for somebody's answer has given
    /// its turn back, and is not the one that speaks.
    pub(super) fn attribute(&self, during: Option<u64>) -> Attribution {
        let calls = self.in_flight();
        // On the stream of a call that is over it is nobody else's.
        if let Some(number) = during {
            let call = calls.get(&number);
            return call.map_or(Attribution::Nobody, |call| call.attribution(number, true));
        }
        let turns = self.needs_turns.are_needed();
        let speaks = |call: &Call| !turns || call.asked == 0 && !call.has_left();
        let theirs = || calls.iter().filter(|(_, call)| call.client.is_some());
        let any = theirs().any(|(_, call)| speaks(call));
        let mut theirs = theirs().filter(|(_, call)| !any || speaks(call));
        let Some(mut latest) = theirs.next() else {
            return Attribution::Nobody;
        };
        let identity = |call: &Call| call.client.as_ref().map(|client| client.identity);
        let mut is_sure = true;
        for other in theirs {
            is_sure = false;
            if identity(other.1) != identity(latest.1) {
                return Attribution::Several;
            }
            if other.0 > latest.0 {
                latest = other;
            }
        }
        latest.1.attribution(*latest.0, is_sure)
    }
}

/// Turns, where clients take them.
impl Calls {
    /// Whether clients take turns now.
    pub(super) fn need_turns(&self) -> bool {
        self.needs_turns.are_needed()
    }

    /// A place for a call of this client's.
    pub(super) fn place(&self, client: &Client, urgent: bool) -> Place {
        self.turns.take(client, urgent)
    }

    /// How many are under way.
    pub(super) fn len(&self) -> usize {
        self.in_flight().len() + self.passing.count()
    }

    /// How many calls wait for their turn.
    pub(super) fn waiting(&self) -> usize {
        self.turns.waiting()
    }

    /// Whose turn it is, for those who wait.
    pub(super) fn whose_turn(&self) -> String {
        self.turns.whose()
    }

    /// From now on clients take turns; what is in flight ends first. Says whether
    /// that is news.
    pub(super) fn begin_turns(&self) -> bool {
        if !self.needs_turns.arise() {
            return false;
        }
        for call in self.in_flight().values_mut() {
            if call.client.is_some() && call.asked == 0 {
                call.turn = Some(self.turns.include());
            }
        }
        true
    }

    /// A call has its share of a turn until it is over, which it may be already.
    pub(super) fn hold_turn(&self, number: u64, turn: Turn) {
        let mut calls = self.in_flight();
        match calls.get_mut(&number) {
            Some(call) => call.turn = Some(turn),
            // The turn is given back when it is dropped, without the lock.
            None => drop(calls),
        }
    }

    /// A question of a call's waits for a person, who may take long: nobody else
    /// waits for them meanwhile.
    pub(super) fn asks(&self, number: u64) {
        self.needs_turns.asked();
        let mut calls = self.in_flight();
        let Some(call) = calls.get_mut(&number) else {
            return;
        };
        call.asked += 1;
        let turn = call.turn.take();
        drop(calls);
        drop(turn);
    }

    /// Whose call has to have a turn again before its only question is answered.
    pub(super) fn answers_in_turn(&self, number: u64) -> Option<Arc<Client>> {
        let calls = self.in_flight();
        let call = calls.get(&number)?;
        let waits = call.asked == 1 && call.turn.is_none();
        call.client.clone().filter(|_| waits)
    }

    /// A question of a call's is answered.
    pub(super) fn answered(&self, number: u64, turn: Option<Turn>) {
        let mut calls = self.in_flight();
        let unused = match calls.get_mut(&number) {
            Some(call) => {
                call.asked = call.asked.saturating_sub(1);
                turn.and_then(|turn| call.turn.replace(turn))
            }
            None => turn,
        };
        drop(calls);
        drop(unused);
    }

    /// A client has gone: nobody waits for what it left in flight.
    pub(super) fn end_turns_of(&self, client: ClientId) {
        let mut calls = self.in_flight();
        let theirs = calls
            .values_mut()
            .filter(|call| call.client.as_ref().is_some_and(|at| at.id == client));
        let turns: Vec<Turn> = theirs.filter_map(|call| call.turn.take()).collect();
        drop(calls);
        drop(turns);
    }
}
