//! Resource subscriptions, counted: the first subscriber subscribes upstream,
//! the last one unsubscribes. A modern server has one `subscriptions/listen`
//! with all of them, replaced when they change.

use super::{connection::Connection, modern};
use crate::{
    client::{Client, ClientId},
    error::CallError,
    exchange::{Event, Exchange, Outcome},
    limits,
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};
use switchboard_wire::{Era, Kind, Message, Method, code, json};
use tokio::sync::Notify;

/// Who listens to what on one connection.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    state: Mutex<State>,
    /// Rung when the modern listen stream must be replaced.
    pub(super) changed: Notify,
    /// Rung when one has been acknowledged.
    acknowledged: Notify,
}

#[derive(Debug, Default)]
struct State {
    resources: BTreeMap<String, Listeners>,
    /// The filter that the server acknowledged last.
    honoured: Bytes,
    /// Whether the task that keeps the modern listen stream is running.
    listening: bool,
}

/// Who listens to one resource.
#[derive(Debug, Default)]
struct Listeners {
    clients: HashSet<ClientId>,
    /// Whether the server tells us of it. Locked while it is asked, so that
    /// what it is told last is what is wanted last.
    told: Arc<Told>,
}

type Told = tokio::sync::Mutex<bool>;

impl Subscriptions {
    pub(super) fn listeners(&self, uri: &str) -> HashSet<ClientId> {
        let state = self.state.lock();
        let listeners = state.resources.get(uri);
        listeners.map_or_else(HashSet::new, |listeners| listeners.clients.clone())
    }

    /// What anybody listens to.
    pub(super) fn uris(&self) -> Vec<String> {
        let state = self.state.lock();
        let wanted = state.resources.iter();
        wanted
            .filter(|(_, listeners)| !listeners.clients.is_empty())
            .map(|(uri, _)| uri.clone())
            .collect()
    }

    pub(super) fn honoured(&self) -> Bytes {
        self.state.lock().honoured.clone()
    }

    pub(super) fn acknowledged(&self, message: &Message) {
        let body = message.body_bytes();
        if let Ok(Some(span)) = json::field(&body, "notifications") {
            self.state.lock().honoured = body.slice(span.start..span.end);
        }
        self.acknowledged.notify_waiters();
    }

    fn add(&self, client: ClientId, uri: &str) -> Result<(), CallError> {
        let mut state = self.state.lock();
        let held = state
            .resources
            .values()
            .filter(|listeners| listeners.clients.contains(&client))
            .count();
        if held >= limits::SUBSCRIPTIONS {
            let text = format!(
                "a client can subscribe to at most {} resources",
                limits::SUBSCRIPTIONS
            );
            return Err(CallError::refused(code::INVALID_PARAMS, text));
        }
        let listeners = state.resources.entry(uri.to_owned()).or_default();
        listeners.clients.insert(client);
        Ok(())
    }

    /// Whether the client listened to it.
    fn remove(&self, client: ClientId, uri: &str) -> bool {
        let mut state = self.state.lock();
        let listeners = state.resources.get_mut(uri);
        listeners.is_some_and(|listeners| listeners.clients.remove(&client))
    }

    fn is_wanted(&self, uri: &str) -> bool {
        !self.listeners(uri).is_empty()
    }

    fn told(&self, uri: &str) -> Arc<Told> {
        let mut state = self.state.lock();
        let listeners = state.resources.entry(uri.to_owned()).or_default();
        listeners.told.clone()
    }

    /// Forgets a resource that nobody listens to and nobody is asking about.
    fn sweep(&self, uri: &str) {
        let mut state = self.state.lock();
        let idle = state.resources.get(uri).is_some_and(|listeners| {
            listeners.clients.is_empty() && Arc::strong_count(&listeners.told) == 1
        });
        if idle {
            state.resources.remove(uri);
        }
    }

    fn of_client(&self, client: ClientId) -> Vec<String> {
        let state = self.state.lock();
        state
            .resources
            .iter()
            .filter(|(_, listeners)| listeners.clients.contains(&client))
            .map(|(uri, _)| uri.clone())
            .collect()
    }

    /// Takes over who listened on a connection that has ended, and is still there.
    pub(super) fn adopt(&self, old: &Self, there: &HashSet<ClientId>) {
        let mut state = self.state.lock();
        for (uri, listeners) in &old.state.lock().resources {
            let clients = &listeners.clients & there;
            if !clients.is_empty() {
                let now = state.resources.entry(uri.clone()).or_default();
                now.clients.extend(clients);
            }
        }
    }
}

impl Connection {
    /// Subscribes a client to a resource; the server's own error if it refuses.
    pub async fn subscribe(self: &Arc<Self>, client: &Client, uri: &str) -> Result<(), CallError> {
        self.subscriptions.add(client.id, uri)?;
        // It may have gone while it was being connected.
        if client.has_left() {
            self.subscriptions.remove(client.id, uri);
        }
        let done = self.reconcile(uri).await;
        if done.is_err() {
            self.subscriptions.remove(client.id, uri);
            self.subscriptions.sweep(uri);
        }
        done
    }

    /// Ends a client's subscription to a resource.
    pub async fn unsubscribe(
        self: &Arc<Self>,
        client: &Client,
        uri: &str,
    ) -> Result<(), CallError> {
        if !self.subscriptions.remove(client.id, uri) {
            return Ok(());
        }
        self.reconcile(uri).await
    }

    /// Ends all subscriptions of a client that went away.
    pub(super) fn unsubscribe_all(self: &Arc<Self>, client: ClientId) {
        let uris = self.subscriptions.of_client(client);
        for uri in &uris {
            self.subscriptions.remove(client, uri);
        }
        if uris.is_empty() || self.closed().is_some() {
            return;
        }
        let connection = self.clone();
        tokio::spawn(async move {
            for uri in uris {
                let _ = connection.reconcile(&uri).await;
            }
        });
    }

    /// Makes the server tell us of a resource if anybody listens to it, and stop
    /// if nobody does. In a task of its own: whoever gives up waiting must not
    /// leave it undone.
    async fn reconcile(self: &Arc<Self>, uri: &str) -> Result<(), CallError> {
        let (connection, uri) = (self.clone(), uri.to_owned());
        let done = tokio::spawn(async move {
            let done = connection.tell_of(&uri).await;
            connection.subscriptions.sweep(&uri);
            done
        });
        match done.await {
            Ok(done) => done,
            Err(_) => Err(CallError::refused(code::INTERNAL, "it was interrupted")),
        }
    }

    async fn tell_of(self: &Arc<Self>, uri: &str) -> Result<(), CallError> {
        if self.revision().era() == Era::Modern {
            // One stream has them all; it is replaced.
            if self.subscriptions.is_wanted(uri) {
                self.listen_again().await;
            } else {
                self.subscriptions.changed.notify_one();
            }
            return Ok(());
        }
        let told = self.subscriptions.told(uri);
        let mut told = told.lock().await;
        // Looked at only now: others may have come and gone while we waited.
        let wanted = self.subscriptions.is_wanted(uri);
        if wanted == *told {
            return Ok(());
        }
        let method = match wanted {
            true => Method::ResourcesSubscribe,
            false => Method::ResourcesUnsubscribe,
        };
        // What a server that could not be asked tells us of is not known; nobody
        // hears of what nobody listens to.
        *told = false;
        self.legacy_subscribe(method, uri).await?;
        *told = wanted;
        Ok(())
    }

    async fn legacy_subscribe(
        self: &Arc<Self>,
        method: Method,
        uri: &str,
    ) -> Result<(), CallError> {
        let params = format!("{{\"uri\":{}}}", json::quote(uri));
        match self
            .ask(method, &params, self.spec.timeouts.request)?
            .outcome()
            .await
        {
            Outcome::Reply(reply) if reply.message.kind() == Kind::Error => {
                let code = reply.message.error_code().unwrap_or(code::INTERNAL);
                Err(CallError::refused(
                    code,
                    reply.message.error_text().unwrap_or_default(),
                ))
            }
            Outcome::Reply(_) => Ok(()),
            Outcome::Failed(fault) => Err(fault),
        }
    }

    /// Subscribes again to everything a client listens to, after a reconnect.
    pub(super) async fn subscribe_again(self: &Arc<Self>) {
        if self.revision().era() == Era::Modern {
            if !self.attached().is_empty() {
                self.listen_again().await;
            }
            return;
        }
        let renewed = stream::iter(self.subscriptions.uris()).for_each_concurrent(
            limits::SUBSCRIBING,
            |uri| async move {
                if let Err(fault) = self.reconcile(&uri).await {
                    tracing::warn!(server = %self.spec.name, %uri, %fault, "a subscription could not be renewed");
                }
            },
        );
        // A server that takes its time over them is not kept from its clients.
        let _ = tokio::time::timeout(self.spec.timeouts.request, renewed).await;
    }

    /// What a server lets us watch: a modern one said so when it acknowledged,
    /// a legacy one in its capabilities.
    pub fn acknowledged(&self) -> Bytes {
        if self.revision().era() == Era::Modern {
            return self.subscriptions.honoured();
        }
        let capabilities = self
            .hello()
            .map(|hello| hello.capabilities())
            .unwrap_or_default();
        let changes = |name: &'static str, what: &'static str| {
            let value = json::field(&capabilities, name)
                .ok()
                .flatten()
                .map(|span| span.of(&capabilities));
            let flag = value.and_then(|value| Some(json::field(value, what).ok()??.of(value)));
            flag == Some(b"true")
        };
        let uris: Vec<String> = self
            .subscriptions
            .uris()
            .iter()
            .map(|uri| json::quote(uri))
            .collect();
        Bytes::from(format!(
            "{{\"toolsListChanged\":{},\"promptsListChanged\":{},\"resourcesListChanged\":{},\
             \"resourceSubscriptions\":[{}]}}",
            changes("tools", "listChanged"),
            changes("prompts", "listChanged"),
            changes("resources", "listChanged"),
            uris.join(",")
        ))
    }

    /// Starts the listen stream of a modern server if it is not there, and waits a moment for its acknowledgement.
    pub async fn listen_again(self: &Arc<Self>) {
        if self.revision().era() == Era::Legacy {
            return;
        }
        let acknowledged = self.subscriptions.acknowledged.notified();
        let start = !std::mem::replace(&mut self.subscriptions.state.lock().listening, true);
        if start {
            tokio::spawn(listen(self.clone()));
        } else {
            self.subscriptions.changed.notify_one();
        }
        let _ = tokio::time::timeout(Duration::from_millis(300), acknowledged).await;
    }
}

/// Keeps one listen stream with the union of what clients want. The new one is
/// acknowledged before the old one is closed, so that nothing falls between.
async fn listen(connection: Arc<Connection>) {
    let mut current: Option<Exchange> = None;
    loop {
        let acknowledged = connection.subscriptions.acknowledged.notified();
        let resources: Vec<String> = connection
            .subscriptions
            .uris()
            .iter()
            .map(|uri| json::quote(uri))
            .collect();
        let params = format!(
            "{{\"_meta\":{},\"notifications\":{{\"toolsListChanged\":true,\"promptsListChanged\":true,\
             \"resourcesListChanged\":true,\"resourceSubscriptions\":[{}]}}}}",
            modern::own_meta(),
            resources.join(",")
        );
        let Ok(next) = connection.ask(
            Method::Listen,
            &params,
            Duration::from_secs(365 * 24 * 3600),
        ) else {
            break;
        };
        if current.is_some() {
            let _ = tokio::time::timeout(Duration::from_secs(5), acknowledged).await;
        }
        // Dropping the old exchange cancels it upstream.
        let stream = current.insert(next);
        let mut pause = Duration::from_secs(1);
        let over = loop {
            tokio::select! {
                event = stream.next() => match event {
                    Event::Outcome(Outcome::Reply(reply)) => break reply.message.kind() == Kind::Error,
                    Event::Outcome(Outcome::Failed(_)) => break connection.closed().is_some(),
                    Event::Input(input) => input.refuse_unsupported(),
                    Event::Notice(_) => {}
                },
                () = connection.subscriptions.changed.notified() => {
                    pause = Duration::ZERO;
                    break false;
                }
                _ = connection.ended() => break true,
            }
        };
        if over {
            break;
        }
        // A server that ends the stream by itself must not be asked in a tight loop.
        tokio::time::sleep(pause).await;
    }
    connection.subscriptions.state.lock().listening = false;
}
