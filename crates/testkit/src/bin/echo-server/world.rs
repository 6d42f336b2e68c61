//! What outlives a request: sessions, counters, subscriptions.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::Eras;
use crate::fast::Payloads;

/// The newest revision of the modern era, and the only one so far.
pub const MODERN: &str = "2026-07-28";
/// The revisions of the legacy era, newest first.
pub const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Severities in order.
pub const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// How a request is spoken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Era {
    Legacy,
    Modern,
}

/// The server.
pub struct World {
    pub eras: Eras,
    pub random_delay: u64,
    pub name: String,
    pub count: AtomicU64,
    pub cancelled: AtomicU64,
    /// Calls that would notice if they were.
    pub sleeping: AtomicU64,
    /// How often `change_list` was called: each adds a tool.
    pub generation: AtomicU64,
    /// Whether `progress` is said to change something.
    pub writes: AtomicBool,
    pub payloads: Payloads,
    pub sessions: Mutex<HashMap<String, Arc<Session>>>,
    pub listeners: Mutex<Vec<Listener>>,
}

/// One `subscriptions/listen` of a modern client.
pub struct Listener {
    /// The id of its request, as written.
    pub id: Vec<u8>,
    pub filter: Value,
    pub out: Out,
}

/// A legacy session, a stdio connection, or one modern HTTP request.
#[derive(Default)]
pub struct Session {
    /// What the client declared in `initialize`.
    pub capabilities: Mutex<Value>,
    pub level: AtomicU8,
    pub subscribed: Mutex<HashSet<String>>,
    /// Calls in flight by their id as written, for `notifications/cancelled`.
    pub in_flight: Mutex<HashMap<Vec<u8>, CancellationToken>>,
    next_request: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    standing: Mutex<Standing>,
}

/// Where messages outside any call go, and those that wait for such a place.
#[derive(Default)]
struct Standing {
    out: Option<Out>,
    kept: VecDeque<String>,
}

/// A place that takes whole messages.
#[derive(Clone)]
pub enum Out {
    Stdout(Arc<Mutex<File>>),
    Stream(UnboundedSender<Bytes>),
    Nowhere,
}

impl Out {
    /// Sends one message; says whether anyone can still receive it.
    pub fn send(&self, message: String) -> bool {
        match self {
            Self::Stdout(file) => {
                let mut line = message.into_bytes();
                line.push(b'\n');
                lock(file).write_all(&line).is_ok()
            }
            Self::Stream(sender) => sender.send(Bytes::from(message)).is_ok(),
            Self::Nowhere => false,
        }
    }

    /// Whether both are the same stream.
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stdout(_), Self::Stdout(_)) => true,
            (Self::Stream(a), Self::Stream(b)) => a.same_channel(b),
            _ => false,
        }
    }
}

impl World {
    pub fn new(eras: Eras, random_delay: u64, name: String) -> Self {
        Self {
            eras,
            random_delay,
            name,
            count: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
            sleeping: AtomicU64::new(0),
            generation: AtomicU64::new(0),
            writes: AtomicBool::new(false),
            payloads: Payloads::default(),
            sessions: Mutex::default(),
            listeners: Mutex::default(),
        }
    }

    /// Tells every session and every listener that asked.
    pub fn tools_changed(&self) {
        let method = "notifications/tools/list_changed";
        for session in lock(&self.sessions).values() {
            session.notify(format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#));
        }
        self.tell_listeners(method, "", |f| f["toolsListChanged"] == true);
    }

    /// Tells those who subscribed to a resource.
    pub fn resource_updated(&self, uri: &str) {
        let method = "notifications/resources/updated";
        let quoted = Value::from(uri);
        for session in lock(&self.sessions).values() {
            if lock(&session.subscribed).contains(uri) {
                session.notify(format!(
                    r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"uri":{quoted}}}}}"#
                ));
            }
        }
        self.tell_listeners(method, &format!(r#","uri":{quoted}"#), |f| {
            f["resourceSubscriptions"]
                .as_array()
                .is_some_and(|uris| uris.contains(&quoted))
        });
    }

    fn tell_listeners(&self, method: &str, more: &str, wanted: impl Fn(&Value) -> bool) {
        lock(&self.listeners).retain(|listener| {
            if !wanted(&listener.filter) {
                return true;
            }
            let id = String::from_utf8_lossy(&listener.id);
            listener.out.send(format!(
                r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}{more}}}}}"#
            ))
        });
    }
}

impl Session {
    /// Sends a notification that belongs to no call. Without a stream a few are
    /// kept, since a client opens its stream after its handshake.
    pub fn notify(&self, message: String) {
        let mut standing = lock(&self.standing);
        let message = match &standing.out {
            Some(out) if out.send(message.clone()) => return,
            _ => message,
        };
        standing.out = None;
        if standing.kept.len() < 64 {
            standing.kept.push_back(message);
        }
    }

    /// Sets where such notifications go from now on.
    pub fn stand(&self, out: Out) {
        let mut standing = lock(&self.standing);
        for message in standing.kept.drain(..) {
            out.send(message);
        }
        standing.out = Some(out);
    }

    /// Sends a request to the client on the stream of a call, and gives where
    /// its response (the whole message) will arrive.
    pub fn ask(&self, out: &Out, method: &str, params: &Value) -> oneshot::Receiver<Value> {
        let id = self.next_request.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, receiver) = oneshot::channel();
        lock(&self.waiting).insert(id, sender);
        out.send(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
        receiver
    }

    /// Takes a response of the client.
    pub fn answered(&self, message: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(message) else {
            return;
        };
        let Some(id) = message["id"].as_u64() else {
            return;
        };
        if let Some(sender) = lock(&self.waiting).remove(&id) {
            let _ = sender.send(message);
        }
    }

    /// Cancels the call with this id, if it is still in flight.
    pub fn cancel(&self, id: &[u8]) {
        if let Some(token) = lock(&self.in_flight).get(id) {
            token.cancel();
        }
    }
}

/// Locks, and goes on after a panic elsewhere.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
