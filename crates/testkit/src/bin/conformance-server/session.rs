//! A legacy conversation: what `initialize` agreed on and what has happened
//! since. Over HTTP it has a session id and streams, over stdio neither.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::asks::Ask;
use crate::event_stream::EventStream;
use crate::in_flight::InFlight;
use crate::lock;
use crate::log_level::LogLevel;
use crate::outlet::Outlet;
use crate::revision::Revision;
use crate::rpc::{RpcError, notification, request};

/// How long we wait for a client's answer; people are slow.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
/// Streams kept for resumption; the oldest go first.
const MAX_STREAMS: usize = 256;
/// Resources that one session may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 1_024;

type Answer = Result<Value, RpcError>;

/// One client's conversation.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) revision: Revision,
    /// What the client declared.
    pub(crate) capabilities: Value,
    pub(crate) in_flight: Arc<InFlight>,
    /// Messages that belong to no request go here.
    push: Outlet,
    log_level: Mutex<LogLevel>,
    subscriptions: Mutex<HashSet<String>>,
    /// By id: the question's key, or the key with a number where that is in use.
    open_asks: Mutex<HashMap<String, oneshot::Sender<Answer>>>,
    next_number: AtomicU64,
    streams: Mutex<VecDeque<Arc<EventStream>>>,
    /// Whether the client has been sent to an address by an error (-32042).
    pub(crate) was_sent_to_url: AtomicBool,
}

impl Session {
    /// Begins the conversation that `params` (of `initialize`) asks for.
    pub(crate) fn begin(id: String, params: &Value, push: Outlet) -> Self {
        let revision = params["protocolVersion"]
            .as_str()
            .and_then(Revision::parse)
            .unwrap_or(Revision::NEWEST);
        Self {
            id,
            revision,
            capabilities: params["capabilities"].clone(),
            in_flight: Arc::default(),
            push,
            log_level: Mutex::new(LogLevel::INFO),
            subscriptions: Mutex::default(),
            open_asks: Mutex::default(),
            next_number: AtomicU64::new(1),
            streams: Mutex::default(),
            was_sent_to_url: AtomicBool::new(false),
        }
    }

    /// Sends a message that belongs to no request.
    pub(crate) fn push(&self, message: Value) {
        self.push.try_send(message);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.push.is_closed()
    }

    pub(crate) fn log_level(&self) -> LogLevel {
        *lock(&self.log_level)
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        *lock(&self.log_level) = level;
    }

    pub(crate) fn subscribe(&self, uri: &str) -> Result<(), RpcError> {
        let mut subscriptions = lock(&self.subscriptions);
        if subscriptions.len() >= MAX_SUBSCRIPTIONS {
            return Err(RpcError::internal("Too many subscriptions"));
        }
        subscriptions.insert(uri.to_owned());
        Ok(())
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        lock(&self.subscriptions).remove(uri);
    }

    pub(crate) fn is_subscribed(&self, uri: &str) -> bool {
        lock(&self.subscriptions).contains(uri)
    }

    /// Asks the client on the stream of the request that needs the answer.
    pub(crate) async fn ask(&self, outlet: &Outlet, ask: &Ask) -> Answer {
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut open = lock(&self.open_asks);
            let mut id = ask.key.clone();
            if open.contains_key(&id) {
                let number = self.next_number.fetch_add(1, Ordering::Relaxed);
                id = format!("{id}-{number}");
            }
            open.insert(id.clone(), answer);
            id
        };
        let mut open = OpenAsk {
            session: self,
            outlet,
            id: id.clone(),
            answered: false,
        };
        outlet
            .send(request(&id, ask.method, ask.params.clone()))
            .await;
        match timeout(ANSWER_TIMEOUT, answered).await {
            Ok(Ok(answer)) => {
                open.answered = true;
                answer
            }
            _ => Err(RpcError::internal("The client did not answer")),
        }
    }

    /// Takes in a client's answer; one to no open question is ignored.
    pub(crate) fn answer(&self, id: &Value, outcome: Answer) {
        let asked = id.as_str().and_then(|id| lock(&self.open_asks).remove(id));
        if let Some(asked) = asked {
            let _ = asked.send(outcome);
        }
    }

    /// Opens the stream of a POST.
    pub(crate) fn open_stream(&self) -> Arc<EventStream> {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let stream = Arc::new(EventStream::new(format!("post{number}")));
        let mut streams = lock(&self.streams);
        streams.push_back(Arc::clone(&stream));
        if streams.len() > MAX_STREAMS {
            streams.pop_front();
        }
        stream
    }

    /// The stream for messages that belong to no request (HTTP).
    pub(crate) fn standalone_stream(&self) -> Option<&Arc<EventStream>> {
        match &self.push {
            Outlet::Stream(stream) => Some(stream),
            Outlet::Queue(_) => None,
        }
    }

    /// Finds what an event id points to: its stream and the event's number.
    pub(crate) fn find_event(&self, event_id: &str) -> Option<(Arc<EventStream>, u64)> {
        let (name, number) = event_id.rsplit_once('_')?;
        let number = number.parse().ok()?;
        let standalone = self
            .standalone_stream()
            .filter(|stream| stream.name == name);
        let stream = standalone.cloned().or_else(|| {
            let streams = lock(&self.streams);
            streams.iter().find(|stream| stream.name == name).cloned()
        })?;
        Some((stream, number))
    }

    /// Ends everything (DELETE, or a new `initialize` over stdio).
    pub(crate) fn close(&self) {
        self.in_flight.cancel_all();
        lock(&self.open_asks).clear();
        for stream in lock(&self.streams).drain(..) {
            stream.end();
        }
        if let Outlet::Stream(stream) = &self.push {
            stream.end();
        }
    }
}

/// A question without an answer yet. Dropped (the call was cancelled, or the
/// answer took too long), it withdraws the question.
struct OpenAsk<'a> {
    session: &'a Session,
    outlet: &'a Outlet,
    id: String,
    answered: bool,
}

impl Drop for OpenAsk<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        lock(&self.session.open_asks).remove(&self.id);
        let params = json!({ "requestId": self.id, "reason": "No longer needed" });
        self.outlet
            .try_send(notification("notifications/cancelled", params));
    }
}
