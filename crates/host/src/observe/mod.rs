//! What is around every call: its number, its span, its times and its outcome, and
//! those who watch it.
//!
//! An [`Observer`] is told that a call begins and gives what follows that call, if
//! it wants to; that hears of its events and of its end. One that wants to can see
//! the messages themselves, on all four edges. Where nobody watches a call costs a
//! look at two flags.

mod day;
mod end;
mod log;
mod parts;
mod passed;
mod released;
mod shown;
mod waits;
mod watched;

pub use end::{End, Ending};
pub use parts::{Departing, Departure, Leaving, Part, PartEnd, Resumed, Trace};
pub use passed::{Destination, Passed};
pub use released::{Edited, Release, Released};
pub use shown::{MessageSwitch, Shown};
pub use watched::Watched;

use crate::{
    client::Client,
    error::CallError,
    exchange::{Input, Notice, Verdict},
    limits,
    upstream::Connection,
};
use bytes::Bytes;
use parking_lot::RwLock;
use smallvec::SmallVec;
use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::SystemTime,
};
use switchboard_wire::{Message, Method, Named, Params, Revision, json, trace::Carried};

/// Watches calls. Nothing here may block: calls wait for it.
pub trait Observer: Send + Sync {
    /// A call begins. Gives what follows it, where it is to be followed.
    fn begin(&self, call: &Begin<'_>) -> Option<Box<dyn Follow>>;

    /// Whether it wants to know what was decided about calls, and by which rule.
    /// Asked once, when it is added.
    fn wants_decisions(&self) -> bool {
        false
    }

    /// Whether it wants to know what a call names when it begins, and when it passed
    /// which phase. Asked once, when it is added.
    fn wants_details(&self) -> bool {
        true
    }

    /// Whether it always wants to see messages. Asked once, when it is added; who wants to
    /// at times has a [`MessageSwitch`].
    fn wants_messages(&self) -> bool {
        false
    }

    /// Whether no answer may leave, and not a part of one, before its end is kept. Asked
    /// once, when it is added.
    fn holds_answers(&self) -> bool {
        false
    }

    /// Whether it wants to know which trace a request is a part of, which some faces are
    /// told in headers. Asked once, when it is added.
    fn wants_traces(&self) -> bool {
        false
    }

    /// A message crosses an edge.
    fn message(&self, _message: &Passing<'_>) {}

    /// Something happens besides calls.
    fn noted(&self, _noted: &Noted<'_>) {}
}

/// What happens besides calls, and whose copy of the server it is about, where that is
/// one principal's.
#[derive(Debug)]
pub enum Noted<'a> {
    /// What a server lists was pinned, or is not what was pinned.
    Pinned {
        /// The server.
        server: &'a str,
        /// Whose it is.
        principal: Option<&'a str>,
        /// `tools`, `prompts` or `instructions`.
        kind: &'a str,
        /// Whether nothing of it was pinned before.
        is_first: bool,
        /// What is not used before somebody approves it.
        held: &'a [String],
        /// What is not what it was, and is used all the same.
        told: &'a [String],
    },
    /// A server that wanted a sign-in has got one.
    SignedIn {
        /// The server.
        server: &'a str,
        /// Whose it is.
        principal: Option<&'a str>,
    },
}

/// Follows one call.
pub trait Follow: Send {
    /// Why the call must not be made, where it could not be followed as it must be.
    /// Asked once, before anything of it leaves.
    fn refuses(&self) -> Option<CallError> {
        None
    }

    /// Something happens on the way.
    fn event(&mut self, _event: &Happened<'_>) {}

    /// Who follows what it sends to its server. Asked once, before anything leaves.
    fn leaving(&self) -> Option<Arc<dyn Leaving>> {
        None
    }

    /// Somebody is asked something. Gives what is told how that ended.
    fn asks(&mut self, _input: &Input) -> Option<Box<dyn Part>> {
        None
    }

    /// It is over. Told once.
    fn end(self: Box<Self>, end: &End<'_>);

    /// The same, where the answer has to wait for something: it leaves once that is
    /// there. Told instead of [`end`](Self::end).
    fn end_kept(self: Box<Self>, end: &End<'_>) -> Option<Keeping> {
        self.end(end);
        None
    }
}

/// What the end of a call waits for. What it fails with is the outcome instead.
pub type Keeping = Pin<Box<dyn Future<Output = Result<(), CallError>> + Send>>;

/// Whose call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client's.
    Client,
    /// The program's own: a command's, an agent's, a flow's.
    Own,
}

/// A call that begins.
#[derive(Debug)]
pub struct Begin<'a> {
    /// Its number, ours and never used again.
    pub number: u64,
    /// Whose it is.
    pub origin: Origin,
    /// Who asks: its principal, its era, and its id, which lasts as long as a session.
    pub client: &'a Arc<Client>,
    /// When it begins.
    pub at: SystemTime,
    /// The server, where the client names it. Where it does not, [`Happened::Left`] does.
    pub server: Option<&'a Arc<str>>,
    /// What is asked for.
    pub method: Method,
    /// The tool, prompt, resource or task, as the client names it; only where somebody
    /// wants details.
    pub name: Option<&'a str>,
    /// The request.
    pub message: &'a Message,
    /// Where its parameters stand in it.
    pub params: &'a Params,
    /// What came beside it about the trace that it is a part of.
    pub carried: Option<&'a Carried>,
}

impl Begin<'_> {
    /// What the client calls itself, where it says so: in this request, or when it
    /// came in.
    pub fn client_name(&self) -> Option<Arc<str>> {
        let info = self.params.client_info.and_then(|info| {
            let info = info.of(self.message.raw());
            let name = json::field(info, "name").ok()??;
            json::text(name.of(info)).map(|name| Arc::from(&*name))
        });
        info.or_else(|| self.client.said_name().cloned())
    }

    /// What it names, as the client names it, whether or not somebody wants details.
    pub fn named(&self) -> Option<Named> {
        let (named, _) = self.params.named(self.message).ok()?;
        Some(named)
    }
}

/// What happens to a call on its way.
#[derive(Debug)]
pub enum Happened<'a> {
    /// Its server is known. Told once, of a call that is one request.
    Routed(&'a Destination<'a>),
    /// It has passed its phases, or has failed in one of them. Told once, of a call
    /// that is one request; once more, without times, where it was held and went on.
    Passed(&'a Passed),
    /// Its answer is held at a breakpoint: its client may never get it.
    Held,
    /// A person has said what becomes of what was held.
    Released(Release<'a>),
    /// A person has changed it, or its answer, at a breakpoint.
    Edited(Edited<'a>),
    /// It left for its server: more than once where it is sent again.
    Left {
        /// Which server.
        server: &'a Arc<str>,
        /// What is spoken with it.
        revision: Revision,
    },
    /// The server says something about it.
    Notice(&'a Notice),
    /// Somebody is asked something.
    Asked(&'a Input),
    /// Whoever was asked whether it may be made has answered: who, where that was asked in
    /// the inbox as well.
    Answered(Verdict, Option<&'a str>),
    /// Its client is told what is asked, and has to come back for the rest.
    Parked,
    /// Its client has come back.
    Resumed(&'a Resumed<'a>),
}

/// What was decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It may be made.
    Allowed,
    /// It may be made once somebody says yes.
    Asks,
    /// It may not be made.
    Denied,
}

/// Where a message crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// From a client to us.
    FromClient,
    /// From us to a server.
    ToServer,
    /// From a server to us.
    FromServer,
    /// From us to a client.
    ToClient,
}

/// A message that crosses an edge.
#[derive(Debug)]
pub struct Passing<'a> {
    /// Which one.
    pub edge: Edge,
    /// The number of the call that it belongs to, where it belongs to one.
    pub call: Option<u64>,
    /// On whose behalf.
    pub principal: Option<&'a str>,
    /// The server, as far as it is known.
    pub server: Option<&'a str>,
    /// The number of the connection, on the server's side: ours and never used again.
    pub connection: Option<u64>,
    /// The request of ours that it came with, on the server's side, where what carries it
    /// says so.
    pub during: Option<u64>,
    /// The message, in pieces.
    pub pieces: &'a [Bytes],
}

/// All who watch.
#[derive(Default)]
pub struct Observers {
    /// The first of them, which are looked at without a lock.
    first: [OnceLock<Arc<dyn Observer>>; limits::OBSERVERS_AT_HAND],
    /// Those that are too many for that, if there are any.
    more: RwLock<Vec<Arc<dyn Observer>>>,
    has_more: AtomicBool,
    /// Whether there is anybody: every call looks.
    any: AtomicBool,
    /// How many of them want to see messages: every message looks.
    taps: AtomicUsize,
    /// Whether one of them wants to know what was decided.
    decisions: AtomicBool,
    /// Whether one of them wants details.
    details: AtomicBool,
    /// Whether one of them wants to know of traces: faces with headers look.
    traces: AtomicBool,
    /// Whether one of them lets no part of an answer leave before its end.
    holding: AtomicBool,
}

/// Those who follow one call: mostly one or two, or none.
type Following = SmallVec<[Box<dyn Follow>; 2]>;

impl Observers {
    /// Adds one, which watches what begins from now on.
    pub fn add(&self, observer: Arc<dyn Observer>) {
        if observer.wants_messages() {
            self.add_taps(true);
        }
        if observer.wants_decisions() {
            self.decisions.store(true, Ordering::Release);
        }
        if observer.wants_traces() {
            self.traces.store(true, Ordering::Release);
        }
        if observer.holds_answers() {
            self.holding.store(true, Ordering::Release);
        }
        if observer.wants_details() {
            self.details.store(true, Ordering::Release);
        }
        let mut more = self.more.write();
        let mut rest = Some(observer);
        for place in &self.first {
            match rest.take().map(|observer| place.set(observer)) {
                Some(Err(observer)) => rest = Some(observer),
                _ => break,
            }
        }
        if let Some(rest) = rest {
            more.push(rest);
            self.has_more.store(true, Ordering::Release);
        }
        self.any.store(true, Ordering::Release);
    }

    /// Does this with each of them.
    fn each(&self, mut see: impl FnMut(&dyn Observer)) {
        for observer in self.first.iter().map_while(OnceLock::get) {
            see(&**observer);
        }
        if self.has_more.load(Ordering::Acquire) {
            for observer in self.more.read().iter() {
                see(&**observer);
            }
        }
    }

    fn are_there(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    fn begin(&self, call: &Begin<'_>) -> Following {
        let mut all = Following::new();
        self.each(|one| {
            if let Some(follow) = one.begin(call) {
                all.push(follow);
            }
        });
        all
    }

    /// Whether somebody wants details.
    fn want_details(&self) -> bool {
        self.details.load(Ordering::Acquire)
    }

    /// Whether somebody wants to know what was decided.
    fn want_decisions(&self) -> bool {
        self.decisions.load(Ordering::Acquire)
    }

    /// Whether somebody wants to know which trace a request is a part of.
    pub(crate) fn want_traces(&self) -> bool {
        self.traces.load(Ordering::Acquire)
    }

    /// Whether answers may leave before their end: nobody sees them, or has to keep
    /// something first.
    pub(crate) fn let_answers_pass(&self) -> bool {
        !self.want_messages() && !self.holding.load(Ordering::Acquire)
    }

    /// Whether somebody wants to see messages.
    #[inline]
    pub(crate) fn want_messages(&self) -> bool {
        self.taps.load(Ordering::Acquire) > 0
    }

    /// One more wants to see messages, or one less.
    fn add_taps(&self, on: bool) {
        match on {
            true => self.taps.fetch_add(1, Ordering::AcqRel),
            false => self.taps.fetch_sub(1, Ordering::AcqRel),
        };
    }

    /// Shows a message as it crosses between us and a server.
    #[cold]
    pub(crate) fn show_raw(
        &self,
        edge: Edge,
        connection: &Connection,
        during: Option<u64>,
        call: Option<u64>,
        pieces: &[Bytes],
    ) {
        self.show(&Passing {
            edge,
            call,
            principal: connection.principal().map(|principal| &**principal),
            server: Some(connection.server_name()),
            connection: Some(connection.serial()),
            during,
            pieces,
        });
    }

    /// Tells what happens besides calls.
    pub(crate) fn note(&self, noted: &Noted<'_>) {
        self.each(|observer| observer.noted(noted));
    }

    /// Shows a message.
    pub(crate) fn show(&self, message: &Passing<'_>) {
        self.each(|observer| observer.message(message));
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut count = 0;
        self.each(|_| count += 1);
        f.debug_struct("Observers")
            .field("count", &count)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
