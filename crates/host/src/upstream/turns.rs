//! Turns of clients on a connection where a question could not be told apart:
//! from then on one client's calls are in flight at a time, so that whatever
//! the server asks can only be that client's.

use parking_lot::Mutex;
use std::{collections::VecDeque, sync::Arc};
use tokio::sync::oneshot;

/// Whose turn it is.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    holder: Option<Holder>,
    waiting: VecDeque<(u64, oneshot::Sender<Turn>)>,
}

/// Who has calls in flight, and how many.
#[derive(Debug)]
struct Holder {
    /// By identity; nobody's where they are several clients' calls that left
    /// before turns were taken.
    client: Option<u64>,
    calls: usize,
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
}

impl Turns {
    /// A place for a call of this client's. An `urgent` one joins a turn of its
    /// own client's although others wait: a question is open there, and the call
    /// may be what the answer depends on.
    pub(super) fn take(self: &Arc<Self>, client: u64, urgent: bool) -> Place {
        let mut state = self.0.lock();
        let may_join = urgent || state.waiting.is_empty();
        match &mut state.holder {
            None => {
                let client = Some(client);
                state.holder = Some(Holder { client, calls: 1 });
            }
            Some(holder) if holder.client == Some(client) && may_join => holder.calls += 1,
            Some(_) => {
                let (grant, granted) = oneshot::channel();
                state.waiting.push_back((client, grant));
                return Place::Later(granted);
            }
        }
        Place::Now(Turn(Some(self.clone())))
    }

    /// A share for a call that left before turns were taken: the first turn
    /// begins when all such calls have ended.
    pub(super) fn include(self: &Arc<Self>) -> Turn {
        let mut state = self.0.lock();
        let holder = state.holder.get_or_insert(Holder {
            client: None,
            calls: 0,
        });
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
        while let Some((client, _)) = state.waiting.front() {
            let next = Some(*client);
            if state.holder.as_ref().is_some_and(|now| now.client != next) {
                break;
            }
            let Some((_, grant)) = state.waiting.pop_front() else {
                break;
            };
            match grant.send(Turn(Some(self.clone()))) {
                Ok(()) => {
                    let holder = state.holder.get_or_insert(Holder {
                        client: next,
                        calls: 0,
                    });
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

    fn now(place: Place) -> Turn {
        match place {
            Place::Now(turn) => turn,
            Place::Later(_) => panic!("it has to wait"),
        }
    }

    fn later(place: Place) -> oneshot::Receiver<Turn> {
        match place {
            Place::Later(granted) => granted,
            Place::Now(_) => panic!("it does not wait"),
        }
    }

    #[test]
    fn one_client_at_a_time_in_the_order_they_came() {
        let turns = Arc::new(Turns::default());
        let first = now(turns.take(1, false));
        let second = now(turns.take(1, false));
        let mut of_two = later(turns.take(2, false));
        // Who has the turn does not keep it by calling on and on.
        let mut again = later(turns.take(1, false));
        // But what an open question may depend on is let through.
        let urgent = now(turns.take(1, true));
        drop(first);
        drop(urgent);
        assert!(of_two.try_recv().is_err(), "one call is still in flight");
        drop(second);
        let two = of_two.try_recv().unwrap();
        assert!(again.try_recv().is_err());
        drop(two);
        drop(again.try_recv().unwrap());
        drop(now(turns.take(3, false)));
    }

    #[test]
    fn who_gives_up_waiting_holds_nobody_up() {
        let turns = Arc::new(Turns::default());
        let first = now(turns.take(1, false));
        let (gone, mut waits) = (later(turns.take(2, false)), later(turns.take(3, false)));
        drop(gone);
        drop(first);
        let third = waits.try_recv().unwrap();
        // A turn that was granted and never looked at comes back as well.
        let granted = later(turns.take(4, false));
        drop(third);
        drop(granted);
        drop(now(turns.take(5, false)));
    }

    #[test]
    fn what_left_before_ends_first() {
        let turns = Arc::new(Turns::default());
        let early = [turns.include(), turns.include()];
        let mut waits = later(turns.take(1, false));
        let [one, two] = early;
        drop(one);
        assert!(waits.try_recv().is_err());
        drop(two);
        assert!(waits.try_recv().is_ok());
    }
}
