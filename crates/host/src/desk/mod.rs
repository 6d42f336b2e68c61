//! What waits for a person, over all clients: users know it as the inbox.
//!
//! A question lies here beside the client that it would have been put to, or in its
//! place. Whoever answers first has answered; for the others it is taken back. Nothing
//! here is sent to a server: an answer goes the way that the client's would have gone.

mod ask_at;
mod breaks;
pub(crate) mod patience;
mod question;
mod table;

pub use ask_at::{AskAt, Policy};
pub use breaks::{Breaks, Coming, Held, Hit, Point};
pub use question::{Answered, Kind, Question, Status};

use crate::{
    client::Client,
    exchange::{Answer, Input, Verdict},
    limits,
};
use breaks::Breakpoints;
use parking_lot::{Mutex, RwLock};
use std::{
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};
use switchboard_local::{hex, random};
use switchboard_tasks as tasks;
use switchboard_wire::{ErrorObject, Id, Kind as MessageKind, Message, Method, code};
use table::{Entry, State};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// The questions that wait for a person.
pub struct Desk {
    policy: RwLock<Policy>,
    state: Mutex<State>,
    news: broadcast::Sender<Arc<Question>>,
    listeners: AtomicUsize,
    /// Whether anybody could look at what waits.
    is_open: AtomicBool,
    breakpoints: Breakpoints,
    me: Weak<Self>,
}

/// What is answered.
#[derive(Clone, Debug)]
pub enum Given {
    /// Whether a call may be made.
    Verdict(Verdict),
    /// The text of the result that the server gets.
    Result(String),
    /// The error that it gets.
    Error(ErrorObject),
}

/// Why an answer does not count.
#[derive(Clone, Debug)]
pub enum NotTaken {
    /// There is no such question.
    Unknown,
    /// It is over: somebody else was first, or nobody waits any more.
    Over(Arc<Question>),
}

/// As long as somebody holds one, somebody looks at what waits.
#[derive(Debug)]
pub struct Listening(Arc<Desk>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.listeners.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Who is to be asked something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Whoever looks here.
    pub(crate) desk: bool,
    /// The client.
    pub(crate) client: bool,
}

/// What became of a question that was to be put to a client.
#[derive(Debug)]
pub(crate) struct Put {
    /// What the client is asked, if it is.
    pub(crate) client: Option<Input>,
    /// Ends when it is over, where it waits here and its client is not asked.
    pub(crate) waits: Option<CancellationToken>,
}

impl Desk {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            policy: RwLock::default(),
            state: Mutex::default(),
            news: broadcast::Sender::new(limits::DESK_NEWS),
            listeners: AtomicUsize::new(0),
            is_open: AtomicBool::new(false),
            breakpoints: Breakpoints::default(),
            me: me.clone(),
        })
    }

    /// Who is asked from now on.
    pub fn set_policy(&self, policy: Policy) {
        let mut now = self.policy.write();
        let face = now.face;
        *now = Policy { face, ..policy };
    }

    /// The same where it was said when this gateway was started.
    pub fn set_face(&self, at: Option<AskAt>) {
        self.policy.write().face = at;
    }

    /// From now on somebody can look at what waits. Until then nobody else than clients
    /// is asked.
    pub fn open(&self) {
        self.is_open.store(true, Ordering::Release);
    }

    /// Who is asked what this principal's calls lead to.
    pub fn asks(&self, principal: &str) -> AskAt {
        if !self.is_open.load(Ordering::Acquire) {
            return AskAt::Client;
        }
        let said = self.policy.read().of(principal);
        said.unwrap_or(match self.listeners.load(Ordering::Acquire) {
            0 => AskAt::Client,
            _ => AskAt::Both,
        })
    }

    /// Somebody looks at what waits from now on, until this is dropped.
    pub fn listen(self: &Arc<Self>) -> Listening {
        self.listeners.fetch_add(1, Ordering::AcqRel);
        Listening(self.clone())
    }

    /// Each question as it is asked, and as it is over.
    pub fn news(&self) -> broadcast::Receiver<Arc<Question>> {
        self.news.subscribe()
    }

    /// Those that are open, oldest first, and then those that are over, newest first.
    pub fn questions(&self, with_closed: bool) -> Vec<Arc<Question>> {
        self.sweep();
        let state = self.state.lock();
        let open = state.open.values().map(|entry| entry.question.clone());
        let mut all: Vec<_> = open.collect();
        all.sort_by_key(|question| question.number);
        if with_closed {
            all.extend(state.all_closed().cloned());
        }
        all
    }

    /// One of them.
    pub fn find(&self, id: &str) -> Option<Arc<Question>> {
        self.sweep();
        let state = self.state.lock();
        let open = state.open.get(id).map(|entry| entry.question.clone());
        open.or_else(|| state.closed(id))
    }

    /// Those that one call was asked, oldest first.
    pub fn of_call(&self, call: u64) -> Vec<Arc<Question>> {
        let mut all = self.questions(true);
        all.retain(|question| question.call == Some(call));
        all.sort_by_key(|question| question.number);
        all
    }

    /// Who has answered what this call was asked last, where that was asked here.
    pub(crate) fn answered_by(&self, call: u64) -> Option<String> {
        let state = self.state.lock();
        let mut closed = state.all_closed();
        let last = closed.find(|question| question.call == Some(call))?;
        last.answered.as_ref().map(|answered| answered.by.clone())
    }

    /// Answers one, in the words of `action`. The first answer counts.
    pub fn answer(
        &self,
        id: &str,
        action: &str,
        by: &str,
        given: Given,
    ) -> Result<Arc<Question>, NotTaken> {
        let entry = {
            let mut state = self.state.lock();
            match state.take(id) {
                Some(entry) => entry,
                None => {
                    let over = state.closed(id);
                    return Err(over.map_or(NotTaken::Unknown, NotTaken::Over));
                }
            }
        };
        if entry.is_void() {
            return Err(NotTaken::Over(self.close(entry, Status::Withdrawn, None)));
        }
        entry.at_client.cancel();
        let answered = Answered {
            action: action.to_owned(),
            by: by.to_owned(),
            at: SystemTime::now(),
        };
        let (closed, input) = self.closed(entry, Status::Answered, Some(answered));
        match given {
            Given::Verdict(verdict) => input.answer(&response(&verdict.to_result().to_string())),
            Given::Result(result) => match Message::response_of(&Id::number(0), &result) {
                Ok(response) => input.answer(&response),
                Err(fault) => {
                    let text = format!("what was answered cannot be sent: {fault}");
                    input.refuse(&ErrorObject::new(code::INTERNAL, text));
                }
            },
            Given::Error(error) => input.refuse(&error),
        }
        Ok(closed)
    }

    /// Who is to be asked this.
    pub(crate) fn plan(&self, input: &Input, client: &Client) -> Plan {
        // Whose call it is has no part in that.
        if input.held().is_some() {
            return Plan {
                desk: true,
                client: false,
            };
        }
        // Whoever makes a call by hand says with it whether it is meant.
        if input.consent().is_some() && client.decides {
            return Plan {
                desk: false,
                client: true,
            };
        }
        let can_client = client.can_be_put(input);
        let at = self.asks(&client.principal);
        let desk = Kind::of(input).is_some() && (at.asks_inbox() || !can_client);
        Plan {
            desk,
            client: !desk || (can_client && at.asks_client()),
        }
    }

    /// Takes questions away whose clients have gone although their calls have not ended yet.
    fn sweep(&self) {
        let void: Vec<Entry> = {
            let mut state = self.state.lock();
            let ids = state.open.iter().filter(|(_, entry)| entry.is_void());
            let ids: Vec<Arc<str>> = ids.map(|(id, _)| id.clone()).collect();
            ids.iter().filter_map(|id| state.take(id)).collect()
        };
        for entry in void {
            entry.at_client.cancel();
            self.close(entry, Status::Withdrawn, None);
        }
    }

    /// Keeps a question for whoever looks here, beside its client or in its place.
    pub(crate) fn put(
        &self,
        input: Input,
        client: &Arc<Client>,
        call: Option<u64>,
        plan: Plan,
    ) -> Put {
        let alone = |client| Put {
            client,
            waits: None,
        };
        match self.keep(input, client, call, plan.client) {
            Ok(put) => put,
            // Its client is asked alone then.
            Err((input, _)) if plan.client => alone(Some(*input)),
            Err((input, why)) => {
                if input.held().is_some() {
                    self.miss();
                }
                input.refuse(&ErrorObject::new(code::INTERNAL, why));
                alone(None)
            }
        }
    }

    fn keep(
        &self,
        input: Input,
        client: &Arc<Client>,
        call: Option<u64>,
        asks_client: bool,
    ) -> Result<Put, (Box<Input>, &'static str)> {
        let Ok(id) = random::bytes::<10>() else {
            return Err((
                Box::new(input),
                "there are no random numbers for a question",
            ));
        };
        let id: Arc<str> = hex(id).into();
        let for_ = match (asks_client, input.consent(), input.held()) {
            (_, _, Some(held)) => Some(held.until),
            (false, ..) => Some(patience::of(client)),
            (true, Some(_), None) => Some(limits::CONSENT),
            // As long as the client's own question.
            (true, None, None) => None,
        };
        // What is held ends by its own time; this is for a call that nobody looks at.
        let slack = match input.held() {
            Some(_) => limits::DESK_SLACK,
            None => Duration::ZERO,
        };
        let question = Question::new(id.clone(), &input, client, call, asks_client, for_);
        let (at_client, done) = (CancellationToken::new(), CancellationToken::new());
        let withdrawn = input.withdrawn();
        let half = asks_client.then(|| self.client_half(&input, &id, &at_client));
        let question = Arc::new(question);
        let entry = Entry {
            question: question.clone(),
            input,
            client: client.clone(),
            at_client,
            done: done.clone(),
        };
        if let Err((entry, why)) = self.state.lock().add(entry) {
            // Nobody has seen the client's half.
            entry.at_client.cancel();
            return Err((Box::new(entry.input), why));
        }
        let _ = self.news.send(question);
        self.watch(id, withdrawn, done.clone(), for_.map(|for_| for_ + slack));
        Ok(Put {
            client: half,
            waits: (!asks_client).then_some(done),
        })
    }

    /// What the client is asked: its answer counts if it is the first.
    fn client_half(&self, input: &Input, id: &Arc<str>, at_client: &CancellationToken) -> Input {
        let (desk, id) = (self.me.clone(), id.clone());
        let half = input.half(at_client.clone(), move |question, answer| {
            if let Some(desk) = desk.upgrade() {
                desk.client_answered(&id, question.method(), answer);
            }
        });
        let (withdrawn, at_client) = (input.withdrawn(), at_client.clone());
        tasks::spawn(tasks::Kind::Question, async move {
            tokio::select! {
                () = withdrawn.cancelled() => at_client.cancel(),
                () = at_client.cancelled() => {}
            }
        });
        half
    }

    fn client_answered(&self, id: &str, method: Method, answer: Answer) {
        let is_one = match &answer {
            Answer::Refused(_) => false,
            // A form has words for every answer: this says that nobody was asked.
            Answer::Response(message) => {
                message.kind() == MessageKind::Response || method != Method::ElicitationCreate
            }
        };
        if !is_one {
            return;
        }
        let Some(entry) = self.state.lock().take(id) else {
            return;
        };
        let answered = Answered {
            action: question::action(&answer),
            by: "client".to_owned(),
            at: SystemTime::now(),
        };
        entry.at_client.cancel();
        let (_, input) = self.closed(entry, Status::Answered, Some(answered));
        input.settled(answer);
    }

    /// Takes a question away when nobody waits for it any more, or nobody answers.
    fn watch(
        &self,
        id: Arc<str>,
        withdrawn: CancellationToken,
        done: CancellationToken,
        for_: Option<Duration>,
    ) {
        let desk = self.me.clone();
        tasks::spawn(tasks::Kind::Question, async move {
            let late = tokio::select! {
                () = done.cancelled() => return,
                () = withdrawn.cancelled() => false,
                () = waited(for_) => true,
            };
            let Some(desk) = desk.upgrade() else { return };
            let Some(entry) = desk.state.lock().take(&id) else {
                return;
            };
            if !late {
                let soon = SystemTime::now() + limits::DESK_SLACK;
                let late = entry.question.until.is_some_and(|until| soon >= until);
                let status = if late {
                    Status::TimedOut
                } else {
                    Status::Withdrawn
                };
                desk.close(entry, status, None);
                return;
            }
            entry.at_client.cancel();
            let (_, input) = desk.closed(entry, Status::TimedOut, None);
            let seconds = for_.unwrap_or_default().as_secs();
            let text = format!("nobody answered within {seconds} s");
            input.refuse(&ErrorObject::new(code::INTERNAL, text));
        });
    }

    /// It is over, without an answer of its own: nobody waits for one.
    fn close(&self, entry: Entry, status: Status, answered: Option<Answered>) -> Arc<Question> {
        let (closed, input) = self.closed(entry, status, answered);
        drop(input);
        closed
    }

    /// It is over; what is left is to answer.
    fn closed(
        &self,
        entry: Entry,
        status: Status,
        answered: Option<Answered>,
    ) -> (Arc<Question>, Input) {
        let closed = Arc::new(entry.question.over(status, answered));
        self.state.lock().keep(closed.clone());
        entry.done.cancel();
        let _ = self.news.send(closed.clone());
        (closed, entry.input)
    }
}

/// Waits so long, where that is said.
async fn waited(for_: Option<Duration>) {
    match for_ {
        Some(for_) => tokio::time::sleep(for_).await,
        None => std::future::pending().await,
    }
}

fn response(result: &str) -> Message {
    Message::response(&Id::number(0), result)
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}
