//! Turns of clients on a connection where a question could not be told apart:
//! for a while after that one client's calls are in flight at a time, so that
//! whatever the server asks can only be that client's. Nobody waits long for a
//! turn, and a turn does not last while a person is asked.

use crate::{client::Client, limits};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{sync::oneshot, time::Instant};

/// Whether clients of a server have to take turns. They need not any more when
/// the server has asked nothing for a while.
#[derive(Debug, Default)]
pub(super) struct NeedsTurns {
    now: AtomicBool,
    /// When the server last asked something.
    last: Mutex<Option<Instant>>,
}

impl NeedsTurns {
    /// Whether they have to now.
    pub(super) fn are_needed(&self) -> bool {
        // The clock is looked at only where it matters.
        self.now.load(Ordering::Acquire) && self.are_needed_at(Instant::now())
    }

    fn are_needed_at(&self, now: Instant) -> bool {
        let quiet = |last: Instant| now.duration_since(last) >= limits::TURNS_QUIET;
        if self.last.lock().is_some_and(quiet) {
            self.now.store(false, Ordering::Release);
            return false;
        }
        true
    }

    /// A question could not be told apart. Says whether that is news.
    pub(super) fn arise(&self) -> bool {
        let news = !self.are_needed();
        *self.last.lock() = Some(Instant::now());
        self.now.store(true, Ordering::Release);
        news
    }

    /// The server asks something.
    pub(super) fn asked(&self) {
        if self.now.load(Ordering::Acquire) {
            *self.last.lock() = Some(Instant::now());
        }
    }
}

/// Whose turn it is.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    holder: Option<Holder>,
    waiting: VecDeque<(Who, oneshot::Sender<Turn>)>,
}

/// A client, by its identity and by the name it gives itself.
#[derive(Clone, Debug)]
struct Who {
    identity: u64,
    name: String,
}

/// Who has calls in flight, and how many.
#[derive(Debug)]
struct Holder {
    /// Nobody in particular where they are several clients' calls that left
    /// before turns were taken.
    client: Option<Who>,
    calls: usize,
    since: Instant,
}

impl Holder {
    fn new(client: Option<Who>, calls: usize) -> Self {
        Self {
            client,
            calls,
            since: Instant::now(),
        }
    }

    fn is(&self, identity: u64) -> bool {
        self.client
            .as_ref()
            .is_some_and(|who| who.identity == identity)
    }
}

/// One call's share of its client's turn; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Turn(Option<Arc<Turns>>);

/// A call that has, or waits for, its turn.
#[derive(Debug)]
pub(super) enum Place {
    /// Now.
    Now(Turn),
    /// Later: the turn comes by this.
    Later(oneshot::Receiver<Turn>),
    /// Not at all: too many wait.
    Full,
}

impl Turns {
    /// A place for a call of this client's. An `urgent` one joins a turn of its
    /// own client's although others wait: a question is open there, and the call
    /// may be what the answer depends on.
    pub(super) fn take(self: &Arc<Self>, client: &Client, urgent: bool) -> Place {
        let mut state = self.0.lock();
        let may_join = urgent || state.waiting.is_empty();
        let is_full = state.waiting.len() >= limits::TURNS_WAITING;
        let who = || Who {
            identity: client.identity,
            name: client.name(),
        };
        match &mut state.holder {
            None => state.holder = Some(Holder::new(Some(who()), 1)),
            Some(holder) if holder.is(client.identity) && may_join => holder.calls += 1,
            Some(_) if is_full => return Place::Full,
            Some(_) => {
                let (grant, granted) = oneshot::channel();
                state.waiting.push_back((who(), grant));
                return Place::Later(granted);
            }
        }
        Place::Now(Turn(Some(self.clone())))
    }

    /// How many calls wait.
    pub(super) fn waiting(&self) -> usize {
        self.0.lock().waiting.len()
    }

    /// Whose turn it is, for those who wait.
    pub(super) fn whose(&self) -> String {
        match &self.0.lock().holder {
            Some(Holder {
                client: Some(who),
                calls,
                since,
            }) => format!(
                "client {:?} (its turn began {} s ago, its calls in flight: {calls})",
                who.name,
                since.elapsed().as_secs()
            ),
            Some(holder) => format!(
                "the {} calls that were in flight when that came out",
                holder.calls
            ),
            None => "nobody by now".into(),
        }
    }

    /// A share for a call that left before turns were taken: the first turn
    /// begins when all such calls have ended.
    pub(super) fn include(self: &Arc<Self>) -> Turn {
        let mut state = self.0.lock();
        let holder = state.holder.get_or_insert_with(|| Holder::new(None, 0));
        holder.calls += 1;
        Turn(Some(self.clone()))
    }

    fn give_back(self: &Arc<Self>) {
        let mut state = self.0.lock();
        if let Some(holder) = &mut state.holder {
            holder.calls -= 1;
            if holder.calls > 0 {
                return;
            }
        }
        state.holder = None;
        // The next in line, and those of the same client right behind it.
        while let Some((who, _)) = state.waiting.front() {
            let theirs = |holder: &Holder| holder.is(who.identity);
            if !state.holder.as_ref().is_none_or(theirs) {
                break;
            }
            let Some((who, grant)) = state.waiting.pop_front() else {
                break;
            };
            match grant.send(Turn(Some(self.clone()))) {
                Ok(()) => {
                    let holder = state
                        .holder
                        .get_or_insert_with(|| Holder::new(Some(who), 0));
                    holder.calls += 1;
                }
                // It gave up waiting, and has nothing to give back.
                Err(mut unwanted) => drop(unwanted.0.take()),
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(identity: u64) -> Client {
        let (revision, nobody) = (switchboard_wire::Revision::NEWEST_LEGACY, crate::NoSink);
        let mut client = Client::new("p".into(), revision, "{}".into(), Arc::new(nobody));
        client.identity = identity;
        client
    }

    trait Takes {
        fn takes(&self, identity: u64, urgent: bool) -> Place;
    }

    impl Takes for Arc<Turns> {
        fn takes(&self, identity: u64, urgent: bool) -> Place {
            self.take(&client(identity), urgent)
        }
    }

    fn now(place: Place) -> Turn {
        match place {
            Place::Now(turn) => turn,
            _ => panic!("it has to wait"),
        }
    }

    fn later(place: Place) -> oneshot::Receiver<Turn> {
        match place {
            Place::Later(granted) => granted,
            _ => panic!("it does not wait"),
        }
    }

    #[test]
    fn one_client_at_a_time_in_the_order_they_came() {
        let turns = Arc::new(Turns::default());
        let first = now(turns.takes(1, false));
        let second = now(turns.takes(1, false));
        let mut of_two = later(turns.takes(2, false));
        // Who has the turn does not keep it by calling on and on.
        let mut again = later(turns.takes(1, false));
        // But what an open question may depend on is let through.
        let urgent = now(turns.takes(1, true));
        drop(first);
        drop(urgent);
        assert!(of_two.try_recv().is_err(), "one call is still in flight");
        drop(second);
        let two = of_two.try_recv().unwrap();
        assert!(again.try_recv().is_err());
        drop(two);
        drop(again.try_recv().unwrap());
        drop(now(turns.takes(3, false)));
    }

    #[test]
    fn who_gives_up_waiting_holds_nobody_up() {
        let turns = Arc::new(Turns::default());
        let first = now(turns.takes(1, false));
        let (gone, mut waits) = (later(turns.takes(2, false)), later(turns.takes(3, false)));
        drop(gone);
        drop(first);
        let third = waits.try_recv().unwrap();
        // A turn that was granted and never looked at comes back as well.
        let granted = later(turns.takes(4, false));
        drop(third);
        drop(granted);
        drop(now(turns.takes(5, false)));
    }

    #[test]
    fn what_left_before_ends_first() {
        let turns = Arc::new(Turns::default());
        let early = [turns.include(), turns.include()];
        let mut waits = later(turns.takes(1, false));
        let [one, two] = early;
        drop(one);
        assert!(waits.try_recv().is_err());
        drop(two);
        assert!(waits.try_recv().is_ok());
    }

    #[test]
    fn so_many_wait_and_no_more() {
        let turns = Arc::new(Turns::default());
        let first = now(turns.takes(1, false));
        let waiting: Vec<_> = (0..limits::TURNS_WAITING)
            .map(|_| later(turns.takes(2, false)))
            .collect();
        assert!(matches!(turns.takes(3, false), Place::Full));
        assert!(turns.whose().contains("client"), "{}", turns.whose());
        drop((first, waiting));
        drop(now(turns.takes(3, false)));
    }

    #[test]
    fn the_need_is_forgotten_after_a_quiet_while() {
        let needs = NeedsTurns::default();
        assert!(!needs.are_needed());
        assert!(needs.arise());
        assert!(!needs.arise(), "it is no news any more");
        let asked = Instant::now() + limits::TURNS_QUIET / 2;
        *needs.last.lock() = Some(asked);
        assert!(needs.are_needed_at(asked + limits::TURNS_QUIET * 3 / 4));
        assert!(needs.are_needed());
        assert!(!needs.are_needed_at(asked + limits::TURNS_QUIET));
        assert!(!needs.are_needed(), "and it is forgotten for good");
        assert!(needs.arise(), "until it is news again");
    }
}
