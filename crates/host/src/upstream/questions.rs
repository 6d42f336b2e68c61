//! Questions of a server's on a connection: those that are open at a client, and
//! those that a client could not be asked.

use crate::{client::ClientId, limits};
use parking_lot::Mutex;
use std::collections::HashMap;
use switchboard_wire::Id;
use tokio_util::sync::CancellationToken;

/// The questions of one connection.
#[derive(Debug, Default)]
pub(super) struct Questions {
    /// Those that are open at a client, by the server's id for them.
    open: Mutex<HashMap<Id, CancellationToken>>,
    /// What was asked of clients (modern ones) that had not declared it.
    undeclared: Mutex<HashMap<ClientId, Vec<&'static str>>>,
}

impl Questions {
    /// Notes one that a client is asked now; `withdrawn` takes it back. Says
    /// whether there is room for it.
    pub(super) fn open(&self, id: Id, withdrawn: CancellationToken) -> bool {
        let mut open = self.open.lock();
        let has_room = open.len() < limits::OPEN_INPUTS;
        if has_room {
            open.insert(id, withdrawn);
        }
        has_room
    }

    /// Whether one is open.
    pub(super) fn are_open(&self) -> bool {
        !self.open.lock().is_empty()
    }

    /// One is answered.
    pub(super) fn answered(&self, id: &Id) {
        self.open.lock().remove(id);
    }

    /// The server takes one back, by the text of its id.
    pub(super) fn withdraw(&self, id: &[u8]) {
        let mut open = self.open.lock();
        let found = open.keys().find(|open| open.token().as_ref() == id);
        if let Some(question) = found.cloned().and_then(|id| open.remove(&id)) {
            question.cancel();
        }
    }

    /// Takes all back: the connection has ended.
    pub(super) fn withdraw_all(&self) {
        for (_, question) in self.open.lock().drain() {
            question.cancel();
        }
    }

    /// A client was to be asked for something that it had not declared.
    pub(super) fn note_undeclared(&self, client: ClientId, capability: &'static str) {
        let mut undeclared = self.undeclared.lock();
        undeclared.entry(client).or_default().push(capability);
    }

    /// What that was, once.
    pub(super) fn take_undeclared(&self, client: ClientId) -> Vec<&'static str> {
        self.undeclared.lock().remove(&client).unwrap_or_default()
    }
}
