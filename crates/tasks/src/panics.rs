//! What is known of panics: how many there were, and where the last one was.

use crate::Kind;
use parking_lot::Mutex;
use std::{
    any::Any,
    fmt, panic,
    sync::{
        Once,
        atomic::{AtomicU64, Ordering},
    },
};

static COUNT: AtomicU64 = AtomicU64::new(0);
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// A task panicked; it has been reported.
pub struct Panicked(Box<dyn Any + Send>);

impl Panicked {
    pub(crate) fn into_inner(self) -> Box<dyn Any + Send> {
        self.0
    }
}

impl fmt::Debug for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Panicked")
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("something broke inside Switchboard; this is a bug, and its log says where")
    }
}

impl std::error::Error for Panicked {}

/// How many panics this process has survived, wherever they were, since
/// [`watch`] was called.
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// Where the last of them was, and what it said.
pub fn last() -> Option<String> {
    LAST.lock().clone()
}

/// From now on every panic of this process counts, and is one line in the log
/// with where it happened. For programs: a library leaves the hook alone.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        let traced = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
        panic::set_hook(Box::new(move |panic| {
            let at = panic
                .location()
                .map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
            let said = said(panic.payload());
            COUNT.fetch_add(1, Ordering::Relaxed);
            *LAST.lock() = Some(format!("{at}: {said}"));
            tracing::error!(%at, said, "a bug in Switchboard: something panicked");
            if traced {
                before(panic);
            }
        }));
    });
}

/// Says in the log what kind of task it was that ended.
pub(crate) fn noted(kind: Kind, what: Box<dyn Any + Send>) -> Panicked {
    tracing::error!(task = %kind, said = said(&*what), "a task panicked; what depends on it ends with an error");
    Panicked(what)
}

fn said(what: &(dyn Any + Send)) -> &str {
    what.downcast_ref::<&str>()
        .copied()
        .or_else(|| what.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}
