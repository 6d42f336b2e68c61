//! The life of a server: how it is doing, its connections ended or handed on when
//! its entry changes, and what its clients are owed. How one connection is made and
//! made again is in `attempt.rs`.

use super::{
    connection::Connection,
    health::{Counts, ServerState},
    server::Server,
    slot::Content,
    slots::{Key, Owner},
};
use crate::{
    catalog::{List, Listing},
    client::Client,
    limits,
};
use futures_util::future::join_all;
use std::sync::{Arc, atomic::Ordering};
use switchboard_tasks as tasks;
use tokio::time::Instant;

impl Server {
    /// What became of its connections.
    pub fn counts(&self) -> Counts {
        let counted = &self.health().counts;
        let slots = self.slots().all();
        let (mut left_alone, mut waiting) = (0, 0);
        for (_, slot) in &slots {
            match slot.content() {
                Content::Failed { attempts, .. } if attempts >= limits::ATTEMPTS => left_alone += 1,
                Content::Ready(connection) => waiting += connection.calls().waiting(),
                _ => {}
            }
        }
        Counts {
            made: counted.made.load(Ordering::Relaxed),
            failed: counted.failed.load(Ordering::Relaxed),
            restarts: counted.restarts.load(Ordering::Relaxed),
            left_alone,
            waiting,
        }
    }

    /// How many clients use it, and how many calls of theirs are under way.
    pub fn in_use(&self) -> (usize, usize) {
        let connections = self.slots().connections();
        let calls = connections.iter().map(|one| one.calls().len()).sum();
        let clients = self.attached();
        let clients = clients.iter().filter(|client| !client.looks_after);
        (clients.count(), calls)
    }

    /// Who uses it: on whose behalf, and what each calls itself.
    pub fn users(&self) -> Vec<(Arc<str>, String)> {
        let clients = self.attached();
        let each = clients.iter();
        each.map(|client| (client.principal.clone(), client.name()))
            .collect()
    }

    /// The numbers of its processes, where it is a program.
    pub fn processes(&self) -> Vec<u32> {
        let connections = self.slots().connections();
        let working = connections.iter().filter(|one| !one.has_ended());
        working.filter_map(|connection| connection.pid()).collect()
    }

    /// Whether it is out of use for good.
    pub fn is_retired(&self) -> bool {
        self.retirement().why().is_some()
    }

    /// Ends all connections; who asks for one from now on is told why there is none.
    pub async fn retire(&self, why: &'static str) {
        self.retirement().begin(why);
        // First, since whoever ends us may not give us the time that servers take.
        self.write_down();
        let slots = self.slots().drain();
        let ready = slots.iter().filter_map(|(_, slot)| match slot.content() {
            Content::Ready(connection) => Some(connection),
            _ => None,
        });
        join_all(ready.map(async |connection| connection.close_because(why).await)).await;
        self.retirement().finish().await;
        self.write_down();
    }

    /// Takes over from a server that was configured differently: its clients
    /// and what they subscribed to.
    pub(crate) fn succeed(&self, before: &Self) {
        for (key, slot) in before.slots().all() {
            let old = match slot.content() {
                Content::Ready(old) => Some(old),
                Content::Failed { old, .. } => old,
                Content::Empty | Content::Connecting => None,
            };
            self.start_over(&key, old);
        }
    }

    /// Ends what there is and makes it anew, at once: for those who listen now,
    /// and for the rest when they ask.
    pub async fn reconnect(&self) {
        for (key, slot) in self.slots().drain() {
            let old = match slot.content() {
                Content::Ready(connection) => {
                    connection.close_because("it is being reconnected").await;
                    Some(connection)
                }
                Content::Failed { old, .. } => old,
                // Whoever is connecting now started late enough.
                Content::Empty | Content::Connecting => {
                    slot.pardon();
                    self.slots().put_back(key, slot);
                    continue;
                }
            };
            self.note(ServerState::Idle);
            self.start_over(&key, old);
        }
    }

    /// Tells whoever uses it to ask anew for what it lists, and asks for that itself, so that
    /// it is known while the server is away: for one that has just been made anew.
    pub async fn announce_lists(&self) {
        for connection in self.slots().connections() {
            if connection.has_ended() {
                continue;
            }
            connection.announce_changes();
            let hello = connection.hello();
            let has = |list: &List| {
                let capability = list.method().needs_capability();
                hello
                    .zip(capability)
                    .is_some_and(|(hello, it)| hello.declares(it))
            };
            for list in List::ALL.into_iter().filter(has) {
                if let Err(fault) = connection.catalog().get(list, &connection).await {
                    tracing::debug!(server = %self.name(), %fault, "its lists could not be fetched");
                }
            }
        }
    }

    /// Says how it is doing. As long as one of its connections works, it does.
    pub(super) fn note(&self, state: ServerState) {
        let lost = matches!(
            state,
            ServerState::Idle | ServerState::Asleep | ServerState::Failed(_)
        );
        self.note_unless(state, lost && self.slots().working(None) > 0);
    }

    /// The same for what became of an attempt to connect: that one owner was not let
    /// in says nothing about others whose connections work.
    pub(super) fn note_for(&self, owner: &Owner, state: ServerState) {
        match state {
            ServerState::NeedsAuth => {
                self.note_unless(state, self.slots().working(Some(owner)) > 0);
            }
            other => self.note(other),
        }
    }

    fn note_unless(&self, state: ServerState, works: bool) {
        let state = if works { ServerState::Connected } else { state };
        self.health().set(state, |now| self.tell(now));
    }

    /// Tells whoever listens to the states of all servers.
    pub(super) fn tell(&self, state: &ServerState) {
        if let Some(host) = self.host() {
            host.server_is(self, state);
        }
    }

    /// What stood in the way may be over: it is tried anew as soon as somebody asks. Whether
    /// it had failed.
    pub(crate) fn try_anew(&self) -> bool {
        let has_failed = matches!(*self.state().borrow(), ServerState::Failed(_));
        if has_failed {
            self.note(ServerState::Idle);
        }
        self.slots().forget_failures();
        has_failed
    }

    /// A connection in the place of an older one, if anybody is left to use it.
    pub(super) fn start_over(&self, key: &Key, old: Option<Arc<Connection>>) {
        let Some(client) = old
            .as_ref()
            .and_then(|old| old.attached().into_iter().next())
        else {
            return;
        };
        let slot = self.slots().place(key);
        if slot.claim(false) {
            self.spawn_connect(key, &slot, &client, old, 0);
        }
    }

    /// Somebody has signed in: the server itself is asked again.
    pub(super) fn signed_in(&self) {
        tracing::info!(server = %self.spec.name, "the server itself is asked again");
        self.stand_ins().end();
        if let Some(guard) = self.guard() {
            guard.signed_in(self);
        }
        self.note(ServerState::Idle);
        self.slots().forget_failures();
    }

    /// Whether it is being started.
    pub fn is_starting(&self) -> bool {
        self.pending_since().is_some()
    }

    /// Since when it has been starting, if it is.
    pub(crate) fn pending_since(&self) -> Option<Instant> {
        self.health().starting_since()
    }

    /// Whether these lists (or, where none is named, the server itself) are
    /// known to clients like this one without asking.
    pub(crate) fn is_known(&self, client: &Client, lists: &[List]) -> bool {
        if lists.is_empty() {
            return self.hello(client).is_some();
        }
        let catalogs = self.catalogs(client);
        let catalog = catalogs.of(self.era_for(client));
        lists.iter().all(|list| catalog.known(*list).is_some())
    }

    /// Notes that clients were answered without what the server says now.
    pub(crate) fn note_stale(&self, client: &Client, lists: &[List]) {
        let catalogs = self.catalogs(client);
        let mut stale = catalogs.stale.lock();
        for list in lists {
            if !stale.contains(list) {
                stale.push(*list);
            }
        }
    }

    /// Fetches what is stale, and tells clients about what turned out different.
    pub(crate) fn refresh_stale(&self, connection: Arc<Connection>) {
        let stale = std::mem::take(&mut *connection.catalogs().stale.lock());
        let host = self.host().map(|host| Arc::downgrade(&host));
        let (Some(server), Some(host)) = (self.weak().upgrade(), host) else {
            return;
        };
        if stale.is_empty() {
            return;
        }
        tasks::spawn(tasks::Kind::Background, async move {
            let catalog = connection.catalog();
            let mut changed = Vec::new();
            for list in stale {
                let before = catalog.known(list);
                let now = catalog.get(list, &connection).await;
                if now.is_ok() {
                    connection.catalogs().answered();
                }
                match now {
                    Ok(now) if same(before.as_deref(), &now) => {}
                    Ok(_) => changed.push(list),
                    Err(fault) => {
                        tracing::debug!(server = %server.name(), %fault, "its lists could not be fetched");
                    }
                }
            }
            if let Some(host) = host.upgrade().filter(|_| !changed.is_empty()) {
                let principal = connection.catalogs().principal.as_deref();
                host.announce_to(principal, &changed, connection.attached());
            }
        });
    }
}

/// Whether a list is what it was thought to be.
fn same(before: Option<&Listing>, now: &Listing) -> bool {
    before.map_or(now.items.is_empty(), |before| before.is_same(now))
}
