//! A request under way: what comes of it, one thing after the other, until its end.

use super::{Outlet, Weight, in_flight::GivenUp};
use std::pin::pin;
use switchboard_wire::{Message, Payload};

/// What comes next of a request.
#[derive(Debug)]
pub(crate) enum Step<E> {
    /// A notification for the client.
    Notice(Payload, Weight),
    /// The end.
    Done(E),
}

/// Something that comes step by step.
pub(crate) trait Steps: Send {
    /// How it ends.
    type End;

    /// What comes next. After [`Step::Done`] there is nothing.
    fn next(&mut self) -> impl Future<Output = Step<Self::End>> + Send;
}

impl<S: Steps> Steps for Box<S> {
    type End = S::End;

    fn next(&mut self) -> impl Future<Output = Step<Self::End>> + Send {
        (**self).next()
    }
}

/// Brings it to its end, unless the client gives it up first: then its words for
/// that. What comes before the end goes to `outlet`.
pub(crate) async fn to_the_end<S: Steps>(
    steps: &mut S,
    given_up: &mut GivenUp,
    outlet: &dyn Outlet,
) -> Result<S::End, Message> {
    loop {
        let step = {
            let next = pin!(steps.next());
            given_up.or(next).await?
        };
        match step {
            Step::Notice(notice, weight) => outlet.send(notice, weight),
            Step::Done(end) => return Ok(end),
        }
    }
}
