//! Memory of what follows calls, used again: each call wants some, and where many are under
//! way the allocator has to look for it.

use crate::limits;
use std::{cell::RefCell, thread::LocalKey};
use switchboard_host::{
    CallError, Input,
    observe::{End, Follow, Happened, Keeping, Part},
};

/// What follows a call as long as it lasts.
pub(crate) trait Follows: Send + Sized + 'static {
    /// Where each thread keeps what nobody has.
    fn spare() -> &'static LocalKey<Spare<Self>>;

    fn refuses(&self) -> Option<CallError> {
        None
    }

    fn event(&mut self, event: &Happened<'_>);

    fn asks(&mut self, _input: &Input) -> Option<Box<dyn Part>> {
        None
    }

    /// Its call is over. What this gives back is waited for before anybody is told.
    fn end(&mut self, end: &End<'_>) -> Option<Keeping>;
}

/// Those that nobody has.
pub(crate) type Spare<T> = RefCell<Vec<Box<Again<T>>>>;

/// A place for one.
pub(crate) struct Again<T>(Option<T>);

/// One that follows a call, in a place that another may have had.
pub(crate) fn follow<T: Follows>(one: T) -> Box<dyn Follow> {
    let spare = T::spare().try_with(|spare| spare.borrow_mut().pop());
    match spare {
        Ok(Some(mut place)) => {
            place.0 = Some(one);
            place
        }
        _ => Box::new(Again(Some(one))),
    }
}

impl<T: Follows> Follow for Again<T> {
    fn refuses(&self) -> Option<CallError> {
        self.0.as_ref()?.refuses()
    }

    fn event(&mut self, event: &Happened<'_>) {
        if let Some(one) = &mut self.0 {
            one.event(event);
        }
    }

    fn asks(&mut self, input: &Input) -> Option<Box<dyn Part>> {
        self.0.as_mut()?.asks(input)
    }

    fn end(self: Box<Self>, end: &End<'_>) {
        drop(self.end_kept(end));
    }

    fn end_kept(mut self: Box<Self>, end: &End<'_>) -> Option<Keeping> {
        let kept = self.0.as_mut().and_then(|one| one.end(end));
        self.0 = None;
        // A thread that ends keeps nothing.
        let _ = T::spare().try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < limits::FOLLOW_SPARE {
                spare.push(self);
            }
        });
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::Arc,
        time::{Duration, Instant},
    };
    use switchboard_host::observe::Ending;

    struct Holds(#[expect(dead_code, reason = "it is counted, not read")] Arc<()>);

    thread_local! {
        static SPARE: Spare<Holds> = const { Spare::new(Vec::new()) };
    }

    impl Follows for Holds {
        fn spare() -> &'static LocalKey<Spare<Self>> {
            &SPARE
        }

        fn event(&mut self, _event: &Happened<'_>) {}

        fn end(&mut self, _end: &End<'_>) -> Option<Keeping> {
            None
        }
    }

    #[test]
    fn a_place_is_used_again_and_holds_nothing_meanwhile() {
        let held = Arc::new(());
        let end = End {
            ending: Ending::GivenUp,
            fault: None,
            took: Duration::ZERO,
            when: Instant::now(),
            at_server: Duration::ZERO,
            waited: Duration::ZERO,
            bytes_in: 0,
            bytes_out: 0,
        };
        let many = limits::FOLLOW_SPARE + 5;
        for _ in 0..3 {
            let all: Vec<_> = (0..many).map(|_| follow(Holds(held.clone()))).collect();
            assert_eq!(Arc::strong_count(&held), 1 + many);
            assert!(SPARE.with_borrow(|spare| spare.is_empty()));
            for one in all {
                one.end(&end);
            }
            assert_eq!(Arc::strong_count(&held), 1);
            let kept = SPARE.with_borrow(|spare| spare.len());
            assert_eq!(kept, limits::FOLLOW_SPARE);
        }
        // One that is given up has no end.
        drop(follow(Holds(held.clone())));
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
