//! The one way in which tasks are started.
//!
//! A task that panics is a fault of ours, and it must cost one request and
//! nothing else: it is logged with where it happened, it counts ([`panics`]),
//! and whoever waits for the task is told. For that each task says of what
//! [`Kind`] it is, and has a last word ([`spawn_or`]) where somebody would wait
//! for it in vain.
//!
//! `tokio::spawn` and its relatives are not to be used elsewhere; clippy says so.

mod caught;
mod kind;
mod panics;

pub use kind::Kind;
pub use panics::{Panicked, count as panics, last as last_panic, watch as watch_panics};

use caught::Caught;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use tokio::{runtime::Handle, task::JoinHandle};
use tokio_util::task::TaskTracker;

/// Starts a task. One that panics is reported, and its handle says so.
pub fn spawn<F>(kind: Kind, work: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    tokio::spawn(watched(kind, work))
}

/// The same in this runtime.
pub fn spawn_on<F>(runtime: &Handle, kind: Kind, work: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    runtime.spawn(watched(kind, work))
}

/// The same among others that are waited for together.
pub fn spawn_in<F>(tracker: &TaskTracker, kind: Kind, work: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    tracker.spawn(watched(kind, work))
}

/// Starts a task. If it panics, `last_word` is said instead of what it would
/// have done: whoever waits for it must not wait for ever.
pub fn spawn_or<F>(kind: Kind, work: F, last_word: impl FnOnce() + Send + 'static) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(or(kind, work, last_word))
}

/// The same among others that are waited for together.
pub fn spawn_in_or<F>(
    tracker: &TaskTracker,
    kind: Kind,
    work: F,
    last_word: impl FnOnce() + Send + 'static,
) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    tracker.spawn(or(kind, work, last_word))
}

/// Runs work that waits for the disk, or computes for long, on a thread of its own.
pub fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    tokio::task::spawn_blocking(move || {
        match catch_unwind(AssertUnwindSafe(|| {
            kind::panic_on_purpose(Kind::Blocking);
            work()
        })) {
            Ok(done) => done,
            Err(what) => resume_unwind(panics::noted(Kind::Blocking, what).into_inner()),
        }
    })
}

/// Starts a task that never ends by itself; one that panics is started again.
pub fn keep<F>(kind: Kind, make: impl Fn() -> F + Send + 'static) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(async move {
        while caught(kind, make()).await.is_err() {
            tokio::time::sleep(PAUSE).await;
        }
    })
}

/// How long a task that is kept rests after a panic.
// tidy: the one time of this crate
const PAUSE: std::time::Duration = std::time::Duration::from_millis(200);

/// A future whose panic is its outcome.
pub fn caught<F: Future>(
    kind: Kind,
    work: F,
) -> impl Future<Output = Result<F::Output, Panicked>> + use<F> {
    caught_then(kind, work, |done| done)
}

/// The same, and what is made of its outcome.
pub fn caught_then<F: Future, T, G: FnOnce(Result<F::Output, Panicked>) -> T>(
    kind: Kind,
    work: F,
    then: G,
) -> impl Future<Output = T> + use<F, T, G> {
    Caught::new(kind, work, then)
}

/// Something done at once, whose panic is its outcome.
pub fn caught_now<T>(kind: Kind, work: impl FnOnce() -> T) -> Result<T, Panicked> {
    let done = catch_unwind(AssertUnwindSafe(|| {
        kind::panic_on_purpose(kind);
        work()
    }));
    done.map_err(|what| panics::noted(kind, what))
}

/// A future for a set of tasks that reports panics to whoever joins it.
pub fn watched<F: Future>(kind: Kind, work: F) -> impl Future<Output = F::Output> + use<F> {
    caught_then(kind, work, |done| match done {
        Ok(done) => done,
        Err(panicked) => resume_unwind(panicked.into_inner()),
    })
}

fn or<F: Future<Output = ()>, L: FnOnce()>(
    kind: Kind,
    work: F,
    last_word: L,
) -> impl Future<Output = ()> + use<F, L> {
    caught_then(kind, work, |done| {
        if done.is_err() {
            last_word();
        }
    })
}

#[cfg(test)]
mod tests;
