//! What all clients share: the options, the lists that change, the registries.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::changes::Changes;
use crate::lock;
use crate::session::Session;
use crate::tasks::Tasks;

/// HTTP sessions past this push out an old one.
const MAX_SESSIONS: usize = 1_024;

/// What the command line decided.
pub(crate) struct Options {
    pub(crate) legacy: bool,
    pub(crate) modern: bool,
    /// Items per page of a list; 0 for all.
    pub(crate) page_size: usize,
    pub(crate) always_stream: bool,
}

/// The one server of this process.
pub(crate) struct Server {
    pub(crate) options: Options,
    pub(crate) changes: Changes,
    pub(crate) tasks: Tasks,
    /// Whether the lists show their extra item; the trigger tools flip these.
    pub(crate) extra_tool: AtomicBool,
    pub(crate) extra_prompt: AtomicBool,
    pub(crate) extra_resource: AtomicBool,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
}

impl Server {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            options,
            changes: Changes::new(),
            tasks: Tasks::default(),
            extra_tool: AtomicBool::new(false),
            extra_prompt: AtomicBool::new(false),
            extra_resource: AtomicBool::new(false),
            sessions: Mutex::default(),
        }
    }

    /// Name and version, as both eras report them.
    pub(crate) fn info() -> Value {
        json!({ "name": "conformance-server", "version": env!("CARGO_PKG_VERSION") })
    }

    /// Guidance for models, as both eras report it.
    pub(crate) fn instructions() -> &'static str {
        "A fixture for protocol tests; its tools have no effect outside of it."
    }

    /// Keeps an HTTP session.
    pub(crate) fn add_session(&self, session: Arc<Session>) {
        let mut sessions = lock(&self.sessions);
        if sessions.len() >= MAX_SESSIONS
            && let Some(victim) = sessions.keys().next().cloned()
            && let Some(victim) = sessions.remove(&victim)
        {
            victim.close();
        }
        sessions.insert(session.id.clone(), session);
    }

    pub(crate) fn session(&self, id: &str) -> Option<Arc<Session>> {
        lock(&self.sessions).get(id).cloned()
    }

    /// Ends an HTTP session; false if there was none.
    pub(crate) fn end_session(&self, id: &str) -> bool {
        let ended = lock(&self.sessions).remove(id);
        if let Some(session) = &ended {
            session.close();
        }
        ended.is_some()
    }
}

/// An unguessable id.
pub(crate) fn random_id() -> String {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
