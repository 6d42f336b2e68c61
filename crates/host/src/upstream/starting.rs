//! For whom a server's process is started, so that it can be told which trace that is
//! a part of.

use crate::observe::{Leaving, Trace};
use parking_lot::Mutex;
use std::{borrow::Cow, fmt, sync::Arc};
use switchboard_process::ServerCommand;

/// The call that waits for a server, where anybody follows one. Of several that wait it
/// is the last that came.
#[derive(Default)]
pub(super) struct Starting(Mutex<Option<Arc<dyn Leaving>>>);

/// A call that waits; until this is dropped.
#[derive(Debug)]
pub(crate) struct StartedFor<'a> {
    starting: &'a Starting,
}

impl Starting {
    /// Notes that a call waits, if anybody follows it.
    pub(super) fn wait(&self, trace: &Trace) -> Option<StartedFor<'_>> {
        let followed = trace.leaving.as_ref()?;
        *self.0.lock() = Some(followed.clone());
        Some(StartedFor { starting: self })
    }

    /// The command, with what it is told about the trace. What its entry says of that
    /// itself counts more.
    pub(super) fn told<'a>(
        &self,
        server: &Arc<str>,
        command: &'a ServerCommand,
    ) -> Cow<'a, ServerCommand> {
        let Some(followed) = self.0.lock().clone() else {
            return Cow::Borrowed(command);
        };
        let mut told = command.clone();
        for (name, text) in followed.starting(server).texts() {
            let name = name.to_ascii_uppercase().into();
            if !told.env.iter().any(|(other, _)| *other == name) {
                told.env.push((name, text.into()));
            }
        }
        Cow::Owned(told)
    }
}

impl Drop for StartedFor<'_> {
    fn drop(&mut self) {
        *self.starting.0.lock() = None;
    }
}

impl fmt::Debug for Starting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Starting").finish_non_exhaustive()
    }
}
