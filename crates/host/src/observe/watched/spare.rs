//! Places of watched calls, used again: one is wanted for each call and given back at its
//! end, and where many are under way the allocator has to look for it.

use super::Watched;
use crate::limits;
use std::cell::RefCell;

/// It is the boxes that are used again, and nobody moves what is in them.
type Places = RefCell<Vec<Box<Watched>>>;

thread_local! {
    /// Those that nobody has, of this thread.
    static SPARE: Places = const { RefCell::new(Vec::new()) };
}

/// A place with this in it.
pub(super) fn placed(watched: Watched) -> Box<Watched> {
    let spare = SPARE.try_with(|spare| spare.borrow_mut().pop());
    match spare {
        Ok(Some(mut place)) => {
            *place = watched;
            place
        }
        _ => Box::new(watched),
    }
}

/// One that is over. What it held is let go.
pub(super) fn keep(mut place: Box<Watched>) {
    place.clear();
    // A thread that ends keeps nothing.
    let _ = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.len() < limits::WATCHED_SPARE {
            spare.push(place);
        }
    });
}
