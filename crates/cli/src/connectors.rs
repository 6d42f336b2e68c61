//! The list of connectors beside a command that does not wait for it.

use crate::{context::Context, limits};
use parking_lot::Mutex;
use std::sync::Arc;
use switchboard::{Background, Fetching};

/// A fetch that may be under way.
#[derive(Clone, Debug, Default)]
pub struct Late(Arc<Mutex<Option<Background>>>);

impl Late {
    /// Begins, if it is time.
    pub fn begin(&self, fetching: Option<&Fetching>) {
        let mut mine = self.0.lock();
        if mine.is_none() {
            *mine = fetching.and_then(Background::begin);
        }
    }

    /// The command has done its work: a list that is nearly there is kept for
    /// the next one.
    pub fn finish(&self) {
        if let Some(background) = self.0.lock().take() {
            background.wait(limits::LAST_CONNECTORS);
        }
    }
}

/// Whether a list arrived that was not there when `list` began. What is wrong
/// with connectors is said by the way.
pub fn arrived(context: &Context, fetching: Option<&Fetching>, known: bool) -> bool {
    let Some(fetching) = fetching else {
        return false;
    };
    let background = context.late.0.lock().take();
    let limit = if known {
        limits::LAST_CONNECTORS
    } else {
        limits::FIRST_CONNECTORS
    };
    let changed = match background.map(|background| background.wait(limit)) {
        Some(Some(fetched)) => fetched.unwrap_or_default(),
        Some(None) => {
            let text = "the list of connectors has not arrived yet; what is shown is the last one";
            crate::context::warn(text);
            false
        }
        None => false,
    };
    if let Some(problem) = fetching.state().and_then(|state| state.problem) {
        crate::context::warn(&format!("connectors: {problem}"));
    }
    changed
}
