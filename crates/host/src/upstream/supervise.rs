//! Keeping connections alive: made in tasks of their own, made again when they
//! end while somebody listens, and handed on when a server's entry changes.

use super::{
    connecting::{too_slow, with_last_words},
    connection::{CLOSED_BY_US, Connection},
    server::{Key, Server, ServerState},
    slot::{ConnectError, Content, Slot},
};
use crate::{
    catalog::{List, Listing},
    client::Client,
    error::CallError,
    host::Host,
    limits,
};
use futures_util::future::join_all;
use std::sync::{Arc, Weak, atomic::Ordering};
use switchboard_tasks as tasks;
use tokio::time::{Instant, sleep_until, timeout};

impl Server {
    /// Whom it tells when a list that was owed is there.
    pub(crate) fn report_to(&self, host: &Arc<Host>) {
        let _ = self.host.set(Arc::downgrade(host));
    }

    /// Whether it is out of use for good.
    pub fn is_retired(&self) -> bool {
        self.retired.get().is_some()
    }

    /// Why nothing is started any more.
    fn why_over(&self) -> String {
        let why = self.retired.get().copied();
        why.unwrap_or_default().to_owned()
    }

    /// Ends all connections; who asks for one from now on is told why there is none.
    pub async fn retire(&self, why: &'static str) {
        let _ = self.retired.set(why);
        self.over.cancel();
        let slots: Vec<Arc<Slot>> = self.slots.lock().drain().map(|(_, slot)| slot).collect();
        let ready = slots.iter().filter_map(|slot| match slot.content() {
            Content::Ready(connection) => Some(connection),
            _ => None,
        });
        join_all(ready.map(async |connection| connection.close_because(why).await)).await;
        self.busy.close();
        let _ = timeout(limits::CLOSING, self.busy.wait()).await;
        self.write_down();
    }

    /// Takes over from a server that was configured differently: its clients
    /// and what they subscribed to.
    pub(crate) fn succeed(&self, before: &Self) {
        let slots: Vec<(Key, Arc<Slot>)> = before
            .slots
            .lock()
            .iter()
            .map(|(key, slot)| (key.clone(), slot.clone()))
            .collect();
        for (key, slot) in slots {
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
        let slots: Vec<(Key, Arc<Slot>)> = self.slots.lock().drain().collect();
        for (key, slot) in slots {
            let old = match slot.content() {
                Content::Ready(connection) => {
                    connection.close_because("it is being reconnected").await;
                    Some(connection)
                }
                Content::Failed { old, .. } => old,
                // Whoever is connecting now started late enough.
                Content::Empty | Content::Connecting => {
                    slot.pardon();
                    self.slots.lock().entry(key).or_insert(slot);
                    continue;
                }
            };
            self.note(ServerState::Idle);
            self.start_over(&key, old);
        }
    }

    /// Says how it is doing. As long as one of its connections works, it does.
    fn note(&self, state: ServerState) {
        let works = |slot: &Arc<Slot>| match slot.content() {
            Content::Ready(connection) => {
                connection.closed().is_none() && !connection.is_stand_in()
            }
            _ => false,
        };
        let lost = matches!(state, ServerState::Idle | ServerState::Failed(_));
        let state = if lost && self.slots.lock().values().any(works) {
            ServerState::Connected
        } else {
            state
        };
        self.state.send_if_modified(|now| {
            let changed = *now != state;
            *now = state;
            self.tell(now);
            changed
        });
    }

    /// Tells whoever listens to the states of all servers.
    fn tell(&self, state: &ServerState) {
        if let Some(host) = self.host.get().and_then(Weak::upgrade) {
            host.server_is(self, state);
        }
    }

    /// A connection in the place of an older one, if anybody is left to use it.
    fn start_over(&self, key: &Key, old: Option<Arc<Connection>>) {
        let Some(client) = old
            .as_ref()
            .and_then(|old| old.attached().into_iter().next())
        else {
            return;
        };
        let slot = self.slots.lock().entry(key.clone()).or_default().clone();
        if slot.claim(false) {
            self.spawn_connect(key, &slot, &client, old, 0);
        }
    }

    /// Makes the connection in a task of its own, so that a caller who gives up does not take it along.
    pub(super) fn spawn_connect(
        &self,
        key: &Key,
        slot: &Arc<Slot>,
        client: &Arc<Client>,
        old: Option<Arc<Connection>>,
        failures: u32,
    ) {
        let Some(server) = self.me.upgrade() else {
            return;
        };
        let (key, slot, client) = (key.clone(), slot.clone(), client.clone());
        self.state.send_if_modified(|state| {
            let changed = *state != ServerState::Connected && *state != ServerState::Pending;
            if changed {
                *state = ServerState::Pending;
                self.tell(state);
            }
            changed
        });
        self.pending.lock().get_or_insert_with(Instant::now);
        let busy = self.busy.token();
        let (me, claimed) = (server.clone(), slot.clone());
        let connecting = async move {
            let allowed = server.spec.timeouts.connect;
            let made = tokio::select! {
                made = timeout(allowed, server.connect(&key, &client)) => made,
                () = server.over.cancelled() => Ok(Err(ConnectError::Failed(server.why_over()))),
            };
            let result = match made {
                Ok(result) => result,
                Err(_) => {
                    let opened = server.opening.lock().upgrade();
                    let words = opened.map(|opened| opened.last_words()).unwrap_or_default();
                    let reason = too_slow(&server.spec.target, allowed);
                    Err(ConnectError::Failed(with_last_words(reason, &words)))
                }
            };
            let needs_auth = matches!(result, Err(ConnectError::NeedsAuth(_)));
            let result = match &server.spec.stand_in {
                Some(stand_in) if needs_auth => {
                    server.stands_in.store(true, Ordering::Release);
                    server.stand_in(&key, &client, stand_in).await
                }
                _ => {
                    if result.is_ok() {
                        server.stands_in.store(false, Ordering::Release);
                    }
                    result
                }
            };
            let result = result.map_err(|error| error.after(failures + 1, &server.spec.name));
            // It may have become superfluous while it was made.
            if let (Ok(connection), Some(why)) = (&result, server.retired.get()) {
                connection.close_because(why).await;
            }
            if let Ok(connection) = &result {
                if let Some(old) = &old {
                    let clients = old.attached();
                    for client in &clients {
                        connection.attach(client);
                    }
                    let there = clients.iter().filter(|client| !client.has_left());
                    let there = there.map(|client| client.id).collect();
                    connection.subscriptions.adopt(&old.subscriptions, &there);
                    connection.subscribe_again().await;
                    // What it lists may be different now.
                    let catalog = connection.catalogs.of(key.era);
                    let mut owed = connection.catalogs.owed.lock();
                    for list in List::ALL {
                        if catalog.known(list).is_some() && !owed.contains(&list) {
                            owed.push(list);
                        }
                    }
                }
                connection.catalogs.of(key.era).invalidate_all();
            }
            *server.pending.lock() = None;
            if let Err(error) = &result
                && !needs_auth
                && !server.is_retired()
                && *server.state.borrow() != ServerState::Failed(error.to_string())
            {
                tracing::info!(server = %server.spec.name, %error, "the server cannot be used");
            }
            server.note(match &result {
                _ if needs_auth => ServerState::NeedsAuth,
                Ok(_) => ServerState::Connected,
                Err(error) => ServerState::Failed(error.to_string()),
            });
            // Whoever was served by the one and now is by the other hears of it.
            let swapped = match (&result, &old) {
                (Ok(new), Some(old)) if new.is_stand_in() != old.is_stand_in() => Some(new.clone()),
                (Err(ConnectError::WrongEra(_)), Some(old))
                    if old.is_stand_in() != server.stands_in() =>
                {
                    Some(old.clone())
                }
                _ => None,
            };
            let wanted = Arc::downgrade(&client);
            drop(client);
            drop(busy);
            match result {
                Ok(connection) => {
                    slot.fill(Ok(connection.clone()), failures, old);
                    connection.detach_departed();
                    if let Some(swapped) = swapped {
                        swapped.announce_changes();
                    }
                    server.settle(connection.clone());
                    server.watch_over(&key, &slot, connection).await;
                }
                Err(error) => {
                    let catalogs = server.catalogs_of(&key.owner);
                    let lost = old.is_some() || !catalogs.owed.lock().is_empty();
                    let again = lost && !error.is_final();
                    slot.fill(Err(error), failures, old);
                    if let Some(swapped) = swapped {
                        swapped.announce_changes();
                    }
                    if again {
                        server.attempt_again(&key, &slot, &wanted).await;
                    }
                }
            }
        };
        tasks::spawn_or(tasks::Kind::Connecting, connecting, move || {
            me.broke_off(&claimed, failures);
        });
    }

    /// Tells whoever waits for a connection that the making of it broke off.
    fn broke_off(&self, slot: &Slot, failures: u32) {
        if !matches!(slot.content(), Content::Connecting) {
            return;
        }
        *self.pending.lock() = None;
        let why = CallError::broke_off().to_string();
        self.note(ServerState::Failed(why.clone()));
        slot.fill(Err(ConnectError::Failed(why)), failures, None);
    }

    /// When a connection ends while clients are attached to it, it is made again.
    async fn watch_over(&self, key: &Key, slot: &Arc<Slot>, connection: Arc<Connection>) {
        let why = connection.ended().await;
        if why == CLOSED_BY_US || self.is_retired() {
            return;
        }
        let signed_in = connection.is_stand_in();
        if signed_in {
            tracing::info!(server = %self.spec.name, "the server itself is asked again");
            self.stands_in.store(false, Ordering::Release);
            if let Some(guard) = self.guard() {
                guard.signed_in(self);
            }
            self.note(ServerState::Idle);
            self.forget_failures();
        } else {
            tracing::warn!(server = %self.spec.name, %why, "the connection ended");
            let why = with_last_words(why, &connection.last_words());
            self.note(ServerState::Failed(why));
        }
        let busy = self.busy.token();
        connection.close().await;
        drop(busy);
        let Some(client) = connection.attached().into_iter().next() else {
            return;
        };
        if slot.claim(signed_in) {
            self.spawn_connect(key, slot, &client, Some(connection), 0);
        } else {
            let wanted = Arc::downgrade(&client);
            drop(client);
            if let Content::Failed { error, .. } = slot.content() {
                self.note(ServerState::Failed(error.to_string()));
            }
            self.attempt_again(key, slot, &wanted).await;
        }
    }

    /// What could not be connected before is tried anew when it is next needed.
    fn forget_failures(&self) {
        let mut slots = self.slots.lock();
        slots.retain(|_, slot| !matches!(slot.content(), Content::Failed { .. }));
    }

    /// Tries once more when it is time, if anybody still wants it. After a row
    /// of failures nothing happens any more until somebody asks.
    async fn attempt_again(&self, key: &Key, slot: &Arc<Slot>, wanted: &Weak<Client>) {
        let Content::Failed {
            attempts,
            retry,
            old,
            ..
        } = slot.content()
        else {
            return;
        };
        if attempts >= limits::ATTEMPTS {
            tracing::warn!(server = %self.spec.name, attempts, "given up until somebody asks for it");
            return;
        }
        tokio::select! {
            () = sleep_until(Instant::from_std(retry)) => {}
            () = self.over.cancelled() => return,
        }
        let listening = old
            .as_ref()
            .and_then(|old| old.attached().into_iter().next());
        let Some(client) = listening.or_else(|| wanted.upgrade()) else {
            return;
        };
        let ours = self
            .slots
            .lock()
            .get(key)
            .is_some_and(|now| Arc::ptr_eq(now, slot));
        if ours && !self.is_retired() && slot.claim(false) {
            self.spawn_connect(key, slot, &client, old, attempts);
        }
    }

    /// Since when it has been starting, if it is.
    pub(crate) fn pending_since(&self) -> Option<Instant> {
        *self.pending.lock()
    }

    /// Whether these lists (or, where none is named, the server itself) are
    /// known to clients like this one without asking.
    pub(crate) fn is_known(&self, client: &Client, lists: &[List]) -> bool {
        if lists.is_empty() {
            return self.hello(client).is_some();
        }
        let catalogs = self.catalogs(client);
        let catalog = catalogs.of(self.era_for(client.era()));
        lists.iter().all(|list| catalog.known(*list).is_some())
    }

    /// Notes that clients were answered without what the server says now.
    pub(crate) fn owe(&self, client: &Client, lists: &[List]) {
        if !client.addressable {
            return;
        }
        let catalogs = self.catalogs(client);
        let mut owed = catalogs.owed.lock();
        for list in lists {
            if !owed.contains(list) {
                owed.push(*list);
            }
        }
    }

    /// Fetches what is owed, and tells clients about what turned out different.
    pub(crate) fn settle(&self, connection: Arc<Connection>) {
        let owed = std::mem::take(&mut *connection.catalogs.owed.lock());
        let (Some(server), Some(host)) = (self.me.upgrade(), self.host.get().cloned()) else {
            return;
        };
        if owed.is_empty() {
            return;
        }
        tasks::spawn(tasks::Kind::Errand, async move {
            let catalog = connection.catalog();
            let mut changed = Vec::new();
            for list in owed {
                let before = catalog.known(list);
                match catalog.get(list, &connection).await {
                    Ok(now) if same(before.as_deref(), &now) => {}
                    Ok(_) => changed.push(list),
                    Err(fault) => {
                        tracing::debug!(server = %server.name(), %fault, "its lists could not be fetched");
                    }
                }
            }
            if let Some(host) = host.upgrade().filter(|_| !changed.is_empty()) {
                let principal = connection.catalogs.principal.as_deref();
                host.announce_to(principal, &changed, connection.attached());
            }
        });
    }
}

/// Whether a list is what it was thought to be.
fn same(before: Option<&Listing>, now: &Listing) -> bool {
    before.map_or(now.items.is_empty(), |before| before.is_same(now))
}
