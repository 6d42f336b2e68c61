//! Resource subscriptions, counted: the first subscriber subscribes upstream,
//! the last one unsubscribes. A modern server has one `subscriptions/listen`
//! with all of them, replaced when they change.

use super::{connection::Connection, modern};
use crate::{
    client::ClientId,
    error::CallError,
    exchange::{Event, Exchange, Outcome},
    limits,
};
use bytes::Bytes;
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
    resources: BTreeMap<String, HashSet<ClientId>>,
    /// The filter that the server acknowledged last.
    honoured: Bytes,
    /// Whether the task that keeps the modern listen stream is running.
    listening: bool,
}

impl Subscriptions {
    pub(super) fn listeners(&self, uri: &str) -> HashSet<ClientId> {
        self.state
            .lock()
            .resources
            .get(uri)
            .cloned()
            .unwrap_or_default()
    }

    pub(super) fn uris(&self) -> Vec<String> {
        self.state.lock().resources.keys().cloned().collect()
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

    /// True if `client` is the first for `uri`.
    fn add(&self, client: ClientId, uri: &str) -> Result<bool, CallError> {
        let mut state = self.state.lock();
        let held = state
            .resources
            .values()
            .filter(|clients| clients.contains(&client))
            .count();
        if held >= limits::SUBSCRIPTIONS {
            let text = format!(
                "a client can subscribe to at most {} resources",
                limits::SUBSCRIPTIONS
            );
            return Err(CallError::refused(code::INVALID_PARAMS, text));
        }
        let clients = state.resources.entry(uri.to_owned()).or_default();
        let first = clients.is_empty();
        clients.insert(client);
        Ok(first)
    }

    /// True if `client` was the last for `uri`.
    fn remove(&self, client: ClientId, uri: &str) -> bool {
        let mut state = self.state.lock();
        let Some(clients) = state.resources.get_mut(uri) else {
            return false;
        };
        let last = clients.remove(&client) && clients.is_empty();
        if last {
            state.resources.remove(uri);
        }
        last
    }

    fn of_client(&self, client: ClientId) -> Vec<String> {
        let state = self.state.lock();
        state
            .resources
            .iter()
            .filter(|(_, clients)| clients.contains(&client))
            .map(|(uri, _)| uri.clone())
            .collect()
    }

    /// Takes over who listened on a connection that has ended.
    pub(super) fn adopt(&self, old: &Self) {
        let resources = old.state.lock().resources.clone();
        self.state.lock().resources = resources;
    }
}

impl Connection {
    /// Subscribes a client to a resource; the server's own error if it refuses.
    pub async fn subscribe(self: &Arc<Self>, client: ClientId, uri: &str) -> Result<(), CallError> {
        if !self.subscriptions.add(client, uri)? {
            return Ok(());
        }
        let done = match self.revision().era() {
            Era::Legacy => self.legacy_subscribe(Method::ResourcesSubscribe, uri).await,
            Era::Modern => {
                self.listen_again().await;
                Ok(())
            }
        };
        if done.is_err() {
            self.subscriptions.remove(client, uri);
        }
        done
    }

    /// Ends a client's subscription to a resource.
    pub async fn unsubscribe(
        self: &Arc<Self>,
        client: ClientId,
        uri: &str,
    ) -> Result<(), CallError> {
        if !self.subscriptions.remove(client, uri) {
            return Ok(());
        }
        match self.revision().era() {
            Era::Legacy => {
                self.legacy_subscribe(Method::ResourcesUnsubscribe, uri)
                    .await
            }
            Era::Modern => {
                self.subscriptions.changed.notify_one();
                Ok(())
            }
        }
    }

    /// Ends all subscriptions of a client that went away.
    pub(super) fn unsubscribe_all(self: &Arc<Self>, client: ClientId) {
        let uris = self.subscriptions.of_client(client);
        if uris.is_empty() || self.closed().is_some() {
            return;
        }
        let connection = self.clone();
        tokio::spawn(async move {
            for uri in uris {
                let _ = connection.unsubscribe(client, &uri).await;
            }
        });
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
        for uri in self.subscriptions.uris() {
            if let Err(fault) = self
                .legacy_subscribe(Method::ResourcesSubscribe, &uri)
                .await
            {
                tracing::warn!(server = %self.spec.name, %uri, %fault, "a subscription could not be renewed");
            }
        }
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
