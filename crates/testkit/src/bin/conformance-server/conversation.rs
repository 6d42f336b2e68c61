//! A client on one two-way channel: stdio, or the HTTP+SSE transport of
//! 2024-11-05. The era is decided message by message.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::in_flight::InFlight;
use crate::outlet::Outlet;
use crate::revision::MODERN;
use crate::rpc::{Message, Request, RpcError, response};
use crate::server::Server;
use crate::session::Session;
use crate::{legacy, lock, modern};

/// The client and what it has begun.
pub(crate) struct Conversation {
    server: Arc<Server>,
    queue: mpsc::Sender<Value>,
    speaks_modern: bool,
    /// Modern requests; the legacy session has its own.
    in_flight: Arc<InFlight>,
    session: Mutex<Option<Arc<Session>>>,
}

impl Conversation {
    /// A client of stdio, which may speak both eras.
    pub(crate) fn new(server: Arc<Server>, queue: mpsc::Sender<Value>) -> Self {
        let speaks_modern = server.options.modern;
        Self {
            server,
            queue,
            speaks_modern,
            in_flight: Arc::default(),
            session: Mutex::default(),
        }
    }

    /// A client of a transport that the modern era does not have.
    pub(crate) fn legacy_only(server: Arc<Server>, queue: mpsc::Sender<Value>) -> Self {
        Self {
            speaks_modern: false,
            ..Self::new(server, queue)
        }
    }

    /// Takes in one message or batch. What takes time is done elsewhere; this
    /// waits only where the client does not read what we send.
    pub(crate) async fn take(&self, value: Value) {
        match value {
            Value::Array(batch) => self.take_batch(batch).await,
            value => match Message::read(value) {
                Ok(Message::Request(request)) => self.take_request(request).await,
                Ok(other) => self.take_other(other),
                Err((id, error)) => self.send(response(&id, Err(error))).await,
            },
        }
    }

    /// Answers what could not even be parsed.
    pub(crate) async fn refuse(&self, error: RpcError) {
        self.send(response(&Value::Null, Err(error))).await;
    }

    /// Drops all that is still being worked on: the client is gone.
    pub(crate) fn close(&self) {
        self.in_flight.cancel_all();
        if let Some(session) = self.session() {
            session.close();
        }
    }

    async fn send(&self, message: Value) {
        let _ = self.queue.send(message).await;
    }

    fn session(&self) -> Option<Arc<Session>> {
        lock(&self.session).clone()
    }

    async fn take_request(&self, request: Request) {
        let is_modern = modern::version_of(&request.params).is_some()
            || request.method == "server/discover"
            || !self.server.options.legacy;
        if self.speaks_modern && is_modern {
            self.take_modern(request).await;
        } else if request.method == "initialize" {
            let outcome = self.initialize(&request.params);
            self.send(response(&request.id, outcome)).await;
        } else {
            match self.session() {
                Some(session) => self.take_legacy(session, request).await,
                None => {
                    let error = not_initialized(&request.method);
                    self.send(response(&request.id, Err(error))).await;
                }
            }
        }
    }

    fn initialize(&self, params: &Value) -> Result<Value, RpcError> {
        if !params["protocolVersion"].is_string() {
            return Err(RpcError::invalid_params("protocolVersion must be a string"));
        }
        let session = Arc::new(Session::begin(String::new(), params, self.outlet()));
        let result = legacy::initialize_result(&session);
        self.server.changes.add_session(&session);
        if let Some(previous) = lock(&self.session).replace(session) {
            previous.close();
        }
        Ok(result)
    }

    async fn take_modern(&self, request: Request) {
        if request.method == "initialize" && modern::version_of(&request.params).is_none() {
            let error = initialize_refused(&request.params);
            return self.send(response(&request.id, Err(error))).await;
        }
        if let Err(error) = modern::check_envelope(&request.params) {
            return self.send(response(&request.id, Err(error))).await;
        }
        let (server, outlet) = (Arc::clone(&self.server), self.outlet());
        let (in_flight, id) = (Arc::clone(&self.in_flight), request.id.clone());
        let work = async move { modern::answer(server, &request, outlet).await };
        self.spawn(in_flight, id, work).await;
    }

    async fn take_legacy(&self, session: Arc<Session>, request: Request) {
        let (server, outlet) = (Arc::clone(&self.server), self.outlet());
        let (in_flight, id) = (Arc::clone(&session.in_flight), request.id.clone());
        let work = async move { legacy::answer(server, session, &request, outlet).await };
        self.spawn(in_flight, id, work).await;
    }

    fn outlet(&self) -> Outlet {
        Outlet::Queue(self.queue.clone())
    }

    /// Works on a request in a task of its own, which a cancellation can find.
    async fn spawn(
        &self,
        in_flight: Arc<InFlight>,
        id: Value,
        work: impl Future<Output = Result<Value, RpcError>> + Send + 'static,
    ) {
        if !in_flight.reserve(&id) {
            let error = RpcError::invalid_request("This id, or all places, are in use");
            return self.send(response(&id, Err(error))).await;
        }
        let queue = self.queue.clone();
        let (reserved, request_id) = (Arc::clone(&in_flight), id.clone());
        let task = tokio::spawn(async move {
            let outcome = work.await;
            // From here on it is too late to cancel.
            reserved.release(&request_id);
            let _ = queue.send(response(&request_id, outcome)).await;
        });
        in_flight.set_handle(&id, task.abort_handle());
    }

    async fn take_batch(&self, batch: Vec<Value>) {
        let session = self
            .session()
            .filter(|session| session.revision.has_batches());
        let Some(session) = session.filter(|_| !batch.is_empty()) else {
            let error = RpcError::invalid_request("No batches in this conversation");
            return self.refuse(error).await;
        };
        let mut requests = Vec::new();
        let mut responses = Vec::new();
        for value in batch {
            match Message::read(value) {
                Ok(Message::Request(request)) => requests.push(request),
                Ok(other) => self.take_other(other),
                Err((id, error)) => responses.push(response(&id, Err(error))),
            }
        }
        let (server, queue) = (Arc::clone(&self.server), self.queue.clone());
        tokio::spawn(async move {
            for request in requests {
                let outlet = Outlet::Queue(queue.clone());
                let (server, session) = (Arc::clone(&server), Arc::clone(&session));
                let outcome = legacy::answer(server, session, &request, outlet).await;
                responses.push(response(&request.id, outcome));
            }
            if !responses.is_empty() {
                let _ = queue.send(responses.into()).await;
            }
        });
    }

    fn take_other(&self, message: Message) {
        let session = self.session();
        match message {
            Message::Notification { method, params } => {
                if method == "notifications/cancelled"
                    && let Some(id) = params.get("requestId")
                {
                    self.in_flight.cancel(id);
                }
                if let Some(session) = session {
                    legacy::notified(&session, &method, &params);
                }
            }
            Message::Response { id, outcome } => {
                if let Some(session) = session {
                    session.answer(&id, outcome);
                }
            }
            Message::Request(_) => {}
        }
    }
}

fn not_initialized(method: &str) -> RpcError {
    // Legacy servers commonly know no `server/discover` and say just that.
    if method == "server/discover" {
        return RpcError::method_not_found(method);
    }
    RpcError::invalid_request("The conversation has not been initialized")
}

/// The only diagnostic that a legacy client will see of a modern-only server,
/// hence the versions in it.
pub(crate) fn initialize_refused(params: &Value) -> RpcError {
    let requested = params["protocolVersion"].as_str().unwrap_or_default();
    let mut error = RpcError::unsupported_version(requested);
    error.message = format!("This server supports only {MODERN}, without initialize");
    error.data = Some(json!({ "supported": [MODERN], "requested": requested }));
    error
}
