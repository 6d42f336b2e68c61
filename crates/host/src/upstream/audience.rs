//! Who hears what on a connection: the clients that are attached to it, the log
//! levels they want, what they listen to, and whose a task or a page is.

use super::{
    levels::Levels,
    mcp_tasks::TaskOwners,
    owners::{Identity, Owned, Owners},
    subscriptions::{Subscriptions, Topic},
};
use crate::{
    client::{Client, ClientId},
    exchange::Notice,
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};
use switchboard_wire::json;

/// Those who hear of what happens on one connection.
#[derive(Debug)]
pub(super) struct Audience {
    clients: Mutex<HashMap<ClientId, Weak<Client>>>,
    levels: Levels,
    subscriptions: Subscriptions,
    /// Whose the server's tasks and pages are, on this and other connections.
    owned: Arc<Owned>,
}

impl Audience {
    pub(super) fn new(owned: Arc<Owned>) -> Self {
        Self {
            clients: Mutex::default(),
            levels: Levels::default(),
            subscriptions: Subscriptions::default(),
            owned,
        }
    }

    /// Which log levels they want.
    pub(super) fn levels(&self) -> &Levels {
        &self.levels
    }

    /// What they listen to.
    pub(super) fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// Whose the server's tasks are.
    pub(super) fn tasks(&self) -> &TaskOwners {
        &self.owned.tasks
    }

    /// Whose the pages are that the server sent clients to.
    fn pages(&self) -> &Owners {
        &self.owned.pages
    }

    /// Adds a client. Says whether it is new.
    pub(super) fn add(&self, client: &Arc<Client>) -> bool {
        let mut clients = self.clients.lock();
        clients.insert(client.id, Arc::downgrade(client)).is_none()
    }

    pub(super) fn remove(&self, client: ClientId) {
        self.clients.lock().remove(&client);
    }

    pub(super) fn has(&self, client: ClientId) -> bool {
        self.clients.lock().contains_key(&client)
    }

    /// All that are there.
    pub(super) fn attached(&self) -> Vec<Arc<Client>> {
        let clients = self.clients.lock();
        clients.values().filter_map(Weak::upgrade).collect()
    }

    /// Those that went away without a word.
    pub(super) fn departed(&self) -> Vec<ClientId> {
        let has_gone = |client: &Weak<Client>| client.upgrade().is_none_or(|at| at.has_left());
        let clients = self.clients.lock();
        let gone = clients.iter().filter(|(_, client)| has_gone(client));
        gone.map(|(id, _)| *id).collect()
    }

    /// Tells everybody.
    pub(super) fn tell_all(&self, server: &Arc<str>, notice: &Notice) {
        self.tell_those(server, notice, |_| true);
    }

    /// Tells those who listen to this.
    pub(super) fn tell_listeners(&self, server: &Arc<str>, topic: &Topic, notice: &Notice) {
        let listeners = self.subscriptions.listeners(topic);
        self.tell_those(server, notice, |client| listeners.contains(&client.id));
    }

    /// Tells whoever a thing belongs to.
    pub(super) fn tell_owner(&self, server: &Arc<str>, owner: &Identity, notice: &Notice) {
        self.tell_those(server, notice, |client| owner.lets(client));
    }

    /// Tells the client that was sent to a page that it is done. Says whether
    /// anybody was.
    pub(super) fn tell_of_page(&self, server: &Arc<str>, page: &str, notice: &Notice) -> bool {
        let Some(owner) = self.pages().owner(page) else {
            return false;
        };
        self.tell_those(server, notice, |client| owner.is(client));
        true
    }

    fn tell_those(&self, server: &Arc<str>, notice: &Notice, hears: impl Fn(&Client) -> bool) {
        for client in self.attached().iter().filter(|client| hears(client)) {
            client.sink().notice(server, notice.clone());
        }
    }

    /// Notes whose pages these are that an error sends its client to.
    pub(super) fn note_pages(&self, error: &[u8], owner: &Client) {
        let Some(data) = json::field(error, "data").ok().flatten() else {
            return;
        };
        let data = data.of(error);
        let Some(list) = json::field(data, "elicitations").ok().flatten() else {
            return;
        };
        let list = list.of(data);
        for page in json::elements(list) {
            self.note_page(page.of(list), owner);
        }
    }

    /// Notes whose page this elicitation is about.
    pub(super) fn note_page(&self, elicitation: &[u8], owner: &Client) {
        let id = json::field(elicitation, "elicitationId").ok().flatten();
        if let Some(id) = id.and_then(|span| json::text(span.of(elicitation))) {
            self.pages().note(&id, Identity::of(owner));
        }
    }
}
