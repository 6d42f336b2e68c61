//! A future whose panic is an outcome. One layer with everything in it: a request's state is
//! large, and each combinator around it would be one more that it is moved into.

use crate::{
    Kind, kind,
    panics::{self, Panicked},
};
use pin_project_lite::pin_project;
use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

pin_project! {
    pub(crate) struct Caught<F, G> {
        #[pin]
        work: F,
        // What is made of the outcome, until there is one.
        then: Option<G>,
        kind: Kind,
        is_begun: bool,
    }
}

impl<F, G> Caught<F, G> {
    pub(crate) fn new(kind: Kind, work: F, then: G) -> Self {
        Self {
            work,
            then: Some(then),
            kind,
            is_begun: false,
        }
    }
}

impl<F, G, T> Future for Caught<F, G>
where
    F: Future,
    G: FnOnce(Result<F::Output, Panicked>) -> T,
{
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let me = self.project();
        let (kind, begins) = (*me.kind, !mem::replace(me.is_begun, true));
        let polled = catch_unwind(AssertUnwindSafe(|| {
            if begins {
                kind::panic_on_purpose(kind);
            }
            me.work.poll(context)
        }));
        let done = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(done)) => Ok(done),
            Err(what) => Err(panics::noted(kind, what)),
        };
        match me.then.take() {
            Some(then) => Poll::Ready(then(done)),
            // It has ended, and nobody may ask again.
            None => Poll::Pending,
        }
    }
}
