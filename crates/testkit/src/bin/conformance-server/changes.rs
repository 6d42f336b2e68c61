//! Who hears of changes: modern `subscriptions/listen` requests by their
//! filters, legacy sessions by their nature.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::lock;
use crate::outlet::Outlet;
use crate::rpc::{RpcError, notification};
use crate::session::Session;

/// Open listeners past this are refused.
const MAX_LISTENERS: usize = 1_024;
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Something that clients may want to hear of.
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    /// The contents of the resource with this URI.
    Resource(String),
    /// A task of the tasks extension (modern only), as `tasks/get` shows it.
    Task(Value),
}

/// The registry of listeners.
pub(crate) struct Changes {
    listeners: Mutex<Vec<Listener>>,
    next_number: AtomicU64,
    sessions: Mutex<Vec<Weak<Session>>>,
    /// Counts up whenever all subscriptions are to end.
    closing: watch::Sender<u64>,
}

struct Listener {
    /// Tells listeners apart; JSON-RPC ids repeat from client to client.
    number: u64,
    /// The id of the `subscriptions/listen` request.
    id: Value,
    filter: Map<String, Value>,
    outlet: Outlet,
}

/// An open subscription; dropping it ends it.
pub(crate) struct Subscription<'a> {
    changes: &'a Changes,
    number: u64,
    closing: watch::Receiver<u64>,
}

impl Changes {
    pub(crate) fn new() -> Self {
        Self {
            listeners: Mutex::default(),
            next_number: AtomicU64::new(0),
            sessions: Mutex::default(),
            closing: watch::Sender::new(0),
        }
    }

    /// Adds a legacy session.
    pub(crate) fn add_session(&self, session: &Arc<Session>) {
        let mut sessions = lock(&self.sessions);
        sessions.retain(|session| session.upgrade().is_some_and(|s| !s.is_closed()));
        sessions.push(Arc::downgrade(session));
    }

    /// Acknowledges and opens a subscription. Both happen under one lock, so
    /// that no change overtakes the acknowledgement and none is missed after.
    pub(crate) fn subscribe(
        &self,
        id: &Value,
        requested: &Value,
        outlet: &Outlet,
    ) -> Result<Subscription<'_>, RpcError> {
        let filter = honoured(requested);
        let closing = self.closing.subscribe();
        let mut listeners = lock(&self.listeners);
        listeners.retain(|listener| !listener.outlet.is_closed());
        let acknowledgement = notification(
            "notifications/subscriptions/acknowledged",
            json!({ "_meta": { SUBSCRIPTION_ID: id }, "notifications": filter }),
        );
        if listeners.len() >= MAX_LISTENERS || !outlet.try_send(acknowledgement) {
            return Err(RpcError::internal("No room for another subscription"));
        }
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        listeners.push(Listener {
            number,
            id: id.clone(),
            filter,
            outlet: outlet.clone(),
        });
        Ok(Subscription {
            changes: self,
            number,
            closing,
        })
    }

    /// Tells everyone who wants to know.
    pub(crate) fn publish(&self, change: &Change) {
        for listener in lock(&self.listeners).iter() {
            if let Some((method, mut params)) = change.for_filter(&listener.filter) {
                params["_meta"] = json!({ SUBSCRIPTION_ID: listener.id });
                listener.outlet.try_send(notification(method, params));
            }
        }
        let sessions: Vec<_> = lock(&self.sessions)
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        for session in sessions {
            if let Some((method, params)) = change.for_session(&session) {
                session.push(notification(method, params));
            }
        }
    }

    /// Ends all subscriptions in the graceful way: with a response.
    pub(crate) async fn close_all(&self) {
        self.closing.send_modify(|count| *count += 1);
        // The transports need a moment to write the responses.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

impl Subscription<'_> {
    /// Waits until the server ends the subscription; returns its result.
    pub(crate) async fn closed(mut self, id: &Value) -> Value {
        let _ = self.closing.changed().await;
        json!({ "_meta": { SUBSCRIPTION_ID: id } })
    }
}

impl Drop for Subscription<'_> {
    fn drop(&mut self) {
        let number = self.number;
        lock(&self.changes.listeners).retain(|listener| listener.number != number);
    }
}

/// The part of a requested filter that we honour.
fn honoured(requested: &Value) -> Map<String, Value> {
    let mut filter = Map::new();
    for name in [
        "toolsListChanged",
        "promptsListChanged",
        "resourcesListChanged",
    ] {
        if requested[name] == true {
            filter.insert(name.to_owned(), true.into());
        }
    }
    for name in ["resourceSubscriptions", "taskIds"] {
        if let Some(list @ Value::Array(_)) = requested.get(name) {
            filter.insert(name.to_owned(), list.clone());
        }
    }
    filter
}

impl Change {
    fn for_filter(&self, filter: &Map<String, Value>) -> Option<(&'static str, Value)> {
        let wants = |name: &str| filter.contains_key(name);
        let lists = |name: &str, item: &Value| {
            let list = filter.get(name).and_then(Value::as_array);
            list.is_some_and(|list| list.contains(item))
        };
        let wanted = match self {
            Self::Tools => wants("toolsListChanged"),
            Self::Prompts => wants("promptsListChanged"),
            Self::Resources => wants("resourcesListChanged"),
            Self::Resource(uri) => lists("resourceSubscriptions", &json!(uri)),
            Self::Task(task) => lists("taskIds", &task["taskId"]),
        };
        wanted.then(|| self.message())
    }

    fn for_session(&self, session: &Session) -> Option<(&'static str, Value)> {
        let (method, params) = self.message();
        match self {
            Self::Task(_) => None,
            Self::Resource(uri) => session.is_subscribed(uri).then_some((method, params)),
            _ => Some((method, Value::Null)),
        }
    }

    fn message(&self) -> (&'static str, Value) {
        match self {
            Self::Tools => ("notifications/tools/list_changed", json!({})),
            Self::Prompts => ("notifications/prompts/list_changed", json!({})),
            Self::Resources => ("notifications/resources/list_changed", json!({})),
            Self::Resource(uri) => ("notifications/resources/updated", json!({ "uri": uri })),
            Self::Task(task) => ("notifications/tasks", task.clone()),
        }
    }
}
