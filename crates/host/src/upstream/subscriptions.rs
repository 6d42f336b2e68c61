//! Who listens to what, counted: the first subscriber subscribes upstream, the
//! last one unsubscribes. A modern server has one `subscriptions/listen` with all
//! of them (`listen.rs`), replaced when they change.

use super::connection::Connection;
use crate::{
    client::{Client, ClientId},
    error::CallError,
    exchange::Outcome,
    limits,
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};
use switchboard_tasks as tasks;
use switchboard_wire::{Era, Kind, Message, Method, code, json};
use tokio::sync::Notify;

/// Something that a client can listen to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Changes of the resource at this URI.
    Resource(String),
    /// How this task is doing, by the server's own id (modern era).
    Task(String),
}

impl Topic {
    /// The address or id.
    fn name(&self) -> &str {
        match self {
            Self::Resource(name) | Self::Task(name) => name,
        }
    }
}

/// Who listens to what on one connection.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    state: Mutex<State>,
    /// Rung when the modern listen stream must be replaced.
    pub(super) changed: Notify,
    /// Rung when one has been acknowledged, or refused.
    pub(super) settled: Notify,
}

#[derive(Debug, Default)]
struct State {
    topics: BTreeMap<Topic, Listeners>,
    /// The filter that the server acknowledged last.
    honoured: Bytes,
    /// Whether the task that keeps the modern listen stream is running.
    listening: bool,
}

/// Who listens to one thing.
#[derive(Debug, Default)]
struct Listeners {
    clients: HashSet<ClientId>,
    /// Whether the server tells us of it. Locked while it is asked, so that
    /// what it is told last is what is wanted last.
    told: Arc<Told>,
}

type Told = tokio::sync::Mutex<bool>;

impl Subscriptions {
    pub(super) fn listeners(&self, topic: &Topic) -> HashSet<ClientId> {
        let state = self.state.lock();
        let listeners = state.topics.get(topic);
        listeners.map_or_else(HashSet::new, |listeners| listeners.clients.clone())
    }

    /// What anybody listens to.
    pub(super) fn topics(&self) -> Vec<Topic> {
        let state = self.state.lock();
        let wanted = state.topics.iter();
        wanted
            .filter(|(_, listeners)| !listeners.clients.is_empty())
            .map(|(topic, _)| topic.clone())
            .collect()
    }

    fn uris(&self) -> Vec<String> {
        let uri = |topic| match topic {
            Topic::Resource(uri) => Some(uri),
            Topic::Task(_) => None,
        };
        self.topics().into_iter().filter_map(uri).collect()
    }

    /// Notes that the listen stream is kept, or not. What was noted before.
    pub(super) fn set_listening(&self, listening: bool) -> bool {
        std::mem::replace(&mut self.state.lock().listening, listening)
    }

    /// Forgets what the server would not hear of.
    pub(super) fn retract(&self, refused: &[Topic]) {
        let mut state = self.state.lock();
        for topic in refused {
            state.topics.remove(topic);
        }
    }

    pub(super) fn honoured(&self) -> Bytes {
        self.state.lock().honoured.clone()
    }

    pub(super) fn acknowledged(&self, message: &Message) {
        let body = message.body_bytes();
        if let Ok(Some(span)) = json::field(&body, "notifications") {
            self.state.lock().honoured = body.slice(span.start..span.end);
        }
        self.settled.notify_waiters();
    }

    /// Notes that the server tells of nothing, and is not asked to.
    pub(super) fn has_no_news(&self) {
        self.state.lock().honoured = Bytes::from_static(b"{}");
        self.settled.notify_waiters();
    }

    /// Adds all of these for a client, or none.
    fn add(&self, client: ClientId, topics: &[Topic]) -> Result<(), CallError> {
        if topics
            .iter()
            .any(|topic| topic.name().len() > limits::SUBSCRIBED_BYTES)
        {
            let text = format!(
                "what is subscribed to can have a name of {} bytes at most",
                limits::SUBSCRIBED_BYTES
            );
            return Err(CallError::refused(code::INVALID_PARAMS, text));
        }
        let mut state = self.state.lock();
        let has = |topic: &Topic| {
            let listeners = state.topics.get(topic);
            listeners.is_some_and(|listeners| listeners.clients.contains(&client))
        };
        let held = state.topics.keys().filter(|topic| has(topic)).count();
        let more = topics.iter().filter(|topic| !has(topic)).count();
        if held + more > limits::SUBSCRIPTIONS {
            let text = format!(
                "a client can subscribe to at most {} resources and tasks of a server",
                limits::SUBSCRIPTIONS
            );
            return Err(CallError::refused(code::INVALID_PARAMS, text));
        }
        for topic in topics {
            let listeners = state.topics.entry(topic.clone()).or_default();
            listeners.clients.insert(client);
        }
        Ok(())
    }

    /// Whether the client listened to it.
    fn remove(&self, client: ClientId, topic: &Topic) -> bool {
        let mut state = self.state.lock();
        let listeners = state.topics.get_mut(topic);
        listeners.is_some_and(|listeners| listeners.clients.remove(&client))
    }

    fn is_wanted(&self, topic: &Topic) -> bool {
        !self.listeners(topic).is_empty()
    }

    fn told(&self, topic: &Topic) -> Arc<Told> {
        let mut state = self.state.lock();
        let listeners = state.topics.entry(topic.clone()).or_default();
        listeners.told.clone()
    }

    /// Forgets what nobody listens to and nobody is asking about. What the server
    /// still tells of is not forgotten: whoever listened last is about to see to it.
    fn sweep(&self, topic: &Topic) {
        let mut state = self.state.lock();
        let idle = state.topics.get(topic).is_some_and(|listeners| {
            listeners.clients.is_empty()
                && Arc::strong_count(&listeners.told) == 1
                && listeners.told.try_lock().is_ok_and(|told| !*told)
        });
        if idle {
            state.topics.remove(topic);
        }
    }

    fn of_client(&self, client: ClientId) -> Vec<Topic> {
        let state = self.state.lock();
        state
            .topics
            .iter()
            .filter(|(_, listeners)| listeners.clients.contains(&client))
            .map(|(topic, _)| topic.clone())
            .collect()
    }

    /// Takes over who listened on a connection that has ended, and is still there.
    pub(super) fn adopt(&self, old: &Self, there: &HashSet<ClientId>) {
        let mut state = self.state.lock();
        for (topic, listeners) in &old.state.lock().topics {
            let clients = &listeners.clients & there;
            if !clients.is_empty() {
                let now = state.topics.entry(topic.clone()).or_default();
                now.clients.extend(clients);
            }
        }
    }
}

impl Connection {
    fn subscriptions(&self) -> &Subscriptions {
        self.audience().subscriptions()
    }

    /// Subscribes a client to all of these, and makes sure that the server tells
    /// of its lists; the server's own error if it refuses, or ours if it did not
    /// declare that it tells of any.
    pub async fn watch(
        self: &Arc<Self>,
        client: &Client,
        topics: &[Topic],
    ) -> Result<(), CallError> {
        for topic in topics {
            self.tells_of(topic)?;
        }
        self.subscriptions().add(client.id, topics)?;
        // It may have gone while it was being connected.
        let has_left = client.has_left();
        let done = match has_left {
            true => Ok(()),
            false => self.reconcile(topics.to_vec()).await,
        };
        if has_left || done.is_err() {
            for topic in topics {
                self.subscriptions().remove(client.id, topic);
            }
            // Others may have counted on it, and some may have been told already.
            let _ = self.reconcile(topics.to_vec()).await;
        }
        done
    }

    /// Subscribes a client to a resource; the server's own error if it refuses.
    pub async fn subscribe(self: &Arc<Self>, client: &Client, uri: &str) -> Result<(), CallError> {
        self.watch(client, &[Topic::Resource(uri.to_owned())]).await
    }

    /// Ends a client's subscription to a resource.
    pub async fn unsubscribe(
        self: &Arc<Self>,
        client: &Client,
        uri: &str,
    ) -> Result<(), CallError> {
        let topic = Topic::Resource(uri.to_owned());
        if !self.subscriptions().remove(client.id, &topic) {
            return Ok(());
        }
        self.reconcile(vec![topic]).await
    }

    /// Ends all subscriptions of a client that went away.
    pub(super) fn unsubscribe_all(self: &Arc<Self>, client: ClientId) {
        let topics = self.subscriptions().of_client(client);
        for topic in &topics {
            self.subscriptions().remove(client, topic);
        }
        if topics.is_empty() || self.has_ended() {
            return;
        }
        let connection = self.clone();
        tasks::spawn(tasks::Kind::Background, async move {
            let _ = connection.reconcile(topics).await;
        });
    }

    /// Makes the server tell us of what anybody listens to, and stop where nobody
    /// does. In a task of its own: whoever gives up waiting must not leave it undone.
    async fn reconcile(self: &Arc<Self>, topics: Vec<Topic>) -> Result<(), CallError> {
        let connection = self.clone();
        let done = tasks::spawn(tasks::Kind::Background, async move {
            let done = connection.tell_of(&topics).await;
            for topic in &topics {
                connection.subscriptions().sweep(topic);
            }
            done
        });
        match done.await {
            Ok(done) => done,
            Err(_) => Err(CallError::broke_off()),
        }
    }

    async fn tell_of(self: &Arc<Self>, topics: &[Topic]) -> Result<(), CallError> {
        if self.revision().era() == Era::Modern {
            // One stream has them all; it is replaced, once.
            let mut gone = topics
                .iter()
                .map(|topic| !self.subscriptions().is_wanted(topic));
            match topics.is_empty() || gone.any(|gone| !gone) {
                true => self.listen_again().await,
                false => self.subscriptions().changed.notify_one(),
            }
            return Ok(());
        }
        for topic in topics {
            // The handshake era tells of tasks without being asked.
            if let Topic::Resource(uri) = topic {
                self.tell_of_resource(topic, uri).await?;
            }
        }
        Ok(())
    }

    async fn tell_of_resource(self: &Arc<Self>, topic: &Topic, uri: &str) -> Result<(), CallError> {
        let told = self.subscriptions().told(topic);
        let mut told = told.lock().await;
        // Looked at only now: others may have come and gone while we waited.
        let wanted = self.subscriptions().is_wanted(topic);
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
            .ask(method, &params, self.spec().timeouts.request)?
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
            Outcome::Begun(_) => Err(CallError::broke_off()),
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
        let renewed = stream::iter(self.subscriptions().topics()).for_each_concurrent(
            limits::SUBSCRIBING,
            |topic| async move {
                if let Err(fault) = self.reconcile(vec![topic.clone()]).await {
                    tracing::warn!(server = %self.server_name(), ?topic, %fault, "a subscription could not be renewed");
                }
            },
        );
        // A server that takes its time over them is not kept from its clients.
        let _ = tokio::time::timeout(self.spec().timeouts.request, renewed).await;
    }

    /// What a server lets us watch: a modern one said so when it acknowledged,
    /// a legacy one in its capabilities.
    pub fn acknowledged(&self) -> Bytes {
        if self.revision().era() == Era::Modern {
            return self.subscriptions().honoured();
        }
        let capabilities = self
            .hello()
            .map(super::hello::Hello::capabilities)
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
            .subscriptions()
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
}

#[cfg(test)]
mod tests;
