//! The link itself: what is said, what is under way, how it ends.

use super::{
    Authorize, Driving, HttpOptions, HttpTarget,
    fetch::{Wanted, fetch},
    flights::Flights,
    gate::{Gate, is_initialized},
    headers::{Speaking, Spoken, without_body},
    pool::Pool,
    post, stream,
};
use crate::{
    budget::Budget,
    dial::{Dialer, origin},
    limits,
    link::{About, Closed, Outgoing, Receive, SendError},
};
use http::{Uri, uri::PathAndQuery};
use parking_lot::Mutex;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use switchboard_tasks as tasks;
use switchboard_wire::{Era, Method, Payload, Revision};
use tokio::{task::AbortHandle, time::timeout};
use tracing::Instrument;

/// The link to a server over streamable HTTP. Cheap to clone; when the last
/// clone goes, everything under way is stopped.
#[derive(Clone)]
pub struct HttpLink(Arc<Owner>);

/// What the handles share. Tasks hold [`Shared`] only, so that they do not keep
/// themselves alive.
struct Owner(Arc<Shared>);

/// What the link's tasks share.
pub(super) struct Shared {
    pub(super) url: Uri,
    /// The path to ask for; a permanent redirect moves it.
    path: Mutex<Uri>,
    pub(super) authorize: Option<Arc<dyn Authorize>>,
    pub(super) options: HttpOptions,
    pub(super) budget: Budget,
    pub(super) receive: Arc<dyn Receive>,
    pub(super) pool: Pool,
    pub(super) gate: Gate,
    speaking: Mutex<Speaking>,
    pub(super) flights: Arc<Flights>,
    stream: Mutex<Stream>,
    pub(super) closed: AtomicBool,
    /// Whether the server let in what was last asked.
    pub(super) let_in: AtomicBool,
}

#[derive(Default)]
struct Stream {
    task: Option<AbortHandle>,
    /// The server has no such stream.
    refused: bool,
}

impl HttpLink {
    /// A link to `target`. Connects when there is something to send.
    pub fn new(
        target: HttpTarget,
        options: HttpOptions,
        budget: Budget,
        receive: Arc<dyn Receive>,
    ) -> Self {
        let shared = Shared::new(target, options, budget, receive);
        Self(Arc::new(Owner(Arc::new(shared))))
    }

    /// Says which revision is spoken from now on. `initialize` itself never says one.
    pub fn speak(&self, revision: Revision) {
        self.shared().speak(revision);
    }

    /// The session that the answer to `initialize` named.
    pub fn session(&self) -> Option<String> {
        self.shared().speaking.lock().session()
    }

    /// Forgets the session, and ends the stream that belonged to it.
    pub fn forget_session(&self) {
        self.shared().speaking.lock().set_session(None);
        if let Some(task) = self.shared().stream.lock().task.take() {
            task.abort();
        }
    }

    /// Opens the stream for what the server says outside of any request, and
    /// keeps it open. Requests sent after this wait a moment until it is. Does
    /// nothing where there is one, where the server said that it has none, and
    /// in the modern era.
    pub fn open_stream(&self) {
        let shared = self.shared();
        if shared.closed.load(Ordering::Relaxed) || shared.era() == Some(Era::Modern) {
            return;
        }
        let mut stream = shared.stream.lock();
        if !stream.refused && stream.task.as_ref().is_none_or(AbortHandle::is_finished) {
            let listening = stream::listen(shared.clone(), shared.gate.shut());
            stream.task =
                Some(tasks::spawn(tasks::Kind::Reader, listening.in_current_span()).abort_handle());
        }
    }

    /// Sends a message. Never waits.
    pub fn send(&self, out: Outgoing) -> Result<(), SendError> {
        let shared = self.shared();
        let (request, gate) = match out.about {
            About::Request { id, .. } => (Some(id), None),
            About::Notification if is_initialized(&out.payload) => (None, Some(shared.gate.shut())),
            _ => (None, None),
        };
        let (size, most) = (out.payload.len(), shared.options.in_flight);
        let (flights, receive) = (&shared.flights, &shared.receive);
        flights.launch(request, size, most, receive, |flight| {
            post::run(shared.clone(), flight, out, gate)
        })
    }

    /// Sends a request, for whoever waits for its answer to drive. Anything else is sent
    /// as by [`send`](Self::send).
    pub fn begin(&self, out: Outgoing) -> Result<Option<Driving>, SendError> {
        let About::Request { id, .. } = out.about else {
            return self.send(out).map(|()| None);
        };
        let shared = self.shared();
        let (size, most) = (out.payload.len(), shared.options.in_flight);
        let (flights, receive) = (&shared.flights, &shared.receive);
        let driving = flights.begin(id, size, most, receive, |flight| {
            post::run(shared.clone(), flight, out, None)
        });
        driving.map(Some)
    }

    /// Stops waiting for a request's answer and closes the connection it would
    /// come on. Nothing is reported for it any more.
    pub fn abandon(&self, request: u64) {
        self.shared().flights.abandon(request);
    }

    /// Ends the session, where there is one, and everything under way.
    pub async fn close(&self) {
        let shared = self.shared();
        if shared.closed.swap(true, Ordering::Relaxed) {
            return;
        }
        shared.stop_stream();
        shared.flights.close(limits::LAST_WORDS).await;
        let spoken = shared.spoken(None);
        if spoken.session {
            let _ = timeout(limits::SESSION_DELETE, end_session(shared, &spoken)).await;
        }
        shared.pool.clear();
        shared.receive.closed(Closed::ByUs);
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.0.0
    }
}

async fn end_session(shared: &Shared, spoken: &Spoken) {
    let headers = without_body(&spoken.headers);
    let wanted = Wanted {
        method: http::Method::DELETE,
        headers: &headers,
        more: &[],
        payload: &Payload::default(),
    };
    // 405 says that clients may not end sessions; nothing else can be done about any answer.
    if let Err(why) = fetch(shared, wanted).await {
        tracing::debug!(%why, "the session could not be ended");
    }
}

impl Shared {
    pub(super) fn new(
        target: HttpTarget,
        options: HttpOptions,
        budget: Budget,
        receive: Arc<dyn Receive>,
    ) -> Self {
        let path = target
            .url
            .path_and_query()
            .cloned()
            .unwrap_or_else(|| PathAndQuery::from_static("/"));
        let dialer = Dialer::new(&target.url, target.via.clone(), options.connect_timeout);
        Self {
            path: Mutex::new(Uri::from(path)),
            pool: Pool::new(dialer, &options),
            speaking: Mutex::new(Speaking::new(&target)),
            url: target.url,
            authorize: target.authorize,
            options,
            budget,
            receive,
            gate: Gate::default(),
            flights: Arc::default(),
            stream: Mutex::default(),
            closed: AtomicBool::new(false),
            let_in: AtomicBool::new(false),
        }
    }

    pub(super) fn path(&self) -> Uri {
        self.path.lock().clone()
    }

    pub(super) fn set_path(&self, path: Uri) {
        *self.path.lock() = path;
    }

    pub(super) fn spoken(&self, method: Option<Method>) -> Spoken {
        self.speaking.lock().spoken(method)
    }

    pub(super) fn speak(&self, revision: Revision) {
        self.speaking.lock().speak(revision);
    }

    pub(super) fn era(&self) -> Option<Era> {
        self.speaking.lock().era()
    }

    pub(super) fn set_session(&self, session: Option<&http::HeaderValue>) {
        self.speaking.lock().set_session(session);
    }

    /// The server has no stream of its own: it is not asked again.
    pub(super) fn refuse_stream(&self) {
        self.stream.lock().refused = true;
    }

    fn stop_stream(&self) {
        if let Some(task) = self.stream.lock().task.take() {
            task.abort();
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.stop_stream();
        self.0.flights.stop();
        self.0.pool.clear();
    }
}

impl fmt::Debug for HttpLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpLink")
            .field("origin", &origin(&self.shared().url))
            .finish_non_exhaustive()
    }
}
