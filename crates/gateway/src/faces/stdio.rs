//! The gateway as a stdio server: one client, in whichever era it opens.

use crate::{
    gateway::Gateway,
    limits,
    session::{
        Outlet, Weight,
        legacy::Session,
        modern::{self, Begun, Request, Step},
    },
};
use bytes::Bytes;
use parking_lot::Mutex;
use std::{collections::HashMap, io, sync::Arc};
use switchboard_host::Scope;
use switchboard_transport::stdio::{LineWriter, Lines};
use switchboard_wire::{ErrorObject, Kind, Message, Method, Params, Payload, Received, code, limits::MESSAGE_BYTES};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::oneshot,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Whose requests these are: whoever started us.
const PRINCIPAL: &str = "local";

/// Serves our own standard streams until the input ends or `shutdown` fires.
pub async fn serve(gateway: Arc<Gateway>, shutdown: CancellationToken) -> io::Result<()> {
    serve_streams(gateway, tokio::io::stdin(), tokio::io::stdout(), shutdown).await
}

/// Serves any pair of streams in the same way.
pub async fn serve_streams(
    gateway: Arc<Gateway>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let writer = LineWriter::new(write);
    let face = Arc::new(Face {
        scope: gateway.stdio_scope(),
        gateway: gateway.clone(),
        outlet: Arc::new(Out(writer.clone())),
        session: Mutex::default(),
        in_flight: Mutex::default(),
        tasks: TaskTracker::new(),
        shutdown: shutdown.clone(),
    });
    let mut lines = Lines::new(read, MESSAGE_BYTES, gateway.host().budget().clone());
    let ended = loop {
        let line = tokio::select! {
            line = lines.next() => line,
            () = shutdown.cancelled() => break Ok(()),
        };
        match line {
            Ok(Some(line)) => face.line(line).await,
            Ok(None) => break Ok(()),
            Err(fault) => {
                face.send(ErrorObject::new(code::PARSE, fault.to_string()).response(None));
                break Err(io::Error::other(fault.to_string()));
            }
        }
    };
    // Calls in flight may still finish if we were asked to stop; a client that
    // closed its end is not there to read them.
    face.tasks.close();
    if shutdown.is_cancelled() {
        let _ = tokio::time::timeout(limits::DRAIN, face.tasks.wait()).await;
        let _ = tokio::time::timeout(limits::DRAIN, writer.drained()).await;
    }
    if let Some(session) = face.session.lock().take() {
        session.close();
    }
    writer.close();
    ended
}

struct Face {
    gateway: Arc<Gateway>,
    scope: Scope,
    outlet: Arc<dyn Outlet>,
    session: Mutex<Option<Arc<Session>>>,
    /// Modern requests that are not answered yet, by the client's id.
    in_flight: Mutex<HashMap<Bytes, oneshot::Sender<Message>>>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

struct Out(LineWriter);

impl Outlet for Out {
    fn send(&self, payload: Payload, weight: Weight) {
        // While the client does not read, what it can do without goes first.
        if weight == Weight::Notice && self.0.queued() > limits::STREAM_BYTES {
            return;
        }
        let _ = self.0.send(payload);
    }
}

impl Face {
    fn send(&self, payload: Payload) {
        self.outlet.send(payload, Weight::Reply);
    }

    async fn line(self: &Arc<Self>, line: Bytes) {
        match Received::parse(line) {
            Ok(Received::One(message)) => self.message(message).await,
            Ok(Received::Batch(batch)) => self.batch(batch).await,
            Err(fault) => self.send(fault.to_error().response(fault.id())),
        }
    }

    async fn message(self: &Arc<Self>, message: Message) {
        let params = match Params::of(&message) {
            Ok(params) => params,
            Err(error) if message.kind() == Kind::Request => {
                return self.send(error.response(message.id().as_ref()));
            }
            Err(_) => return,
        };
        let session = self.session.lock().clone();
        match (message.kind(), session) {
            (Kind::Request, _) if modern::is_modern(&params) => self.modern(message, params),
            (Kind::Request, None) if message.method() == Method::Initialize => self.initialize(message).await,
            (Kind::Request, Some(session)) => {
                let (outlet, face) = (self.outlet.clone(), self.clone());
                self.tasks.spawn(async move {
                    if let Some(answer) = session.request(message, outlet).await {
                        face.send(answer);
                    }
                });
            }
            (Kind::Notification, _) if self.give_up(&message) => {}
            (_, Some(session)) => session.receive(message, self.outlet.clone()),
            (Kind::Request, None) if message.method() == Method::Ping => {
                if let Some(id) = message.id() {
                    self.send(Message::response(&id, "{}").payload());
                }
            }
            (Kind::Request, None) => {
                let text = "send initialize first, or say in _meta which revision the request speaks";
                self.send(ErrorObject::new(code::INVALID_PARAMS, text).response(message.id().as_ref()));
            }
            (_, None) => {}
        }
    }

    /// The handshake. Nothing else is read meanwhile: what follows belongs to the session it makes.
    async fn initialize(self: &Arc<Self>, message: Message) {
        let opened = Session::open(
            self.gateway.clone(),
            self.scope.clone(),
            PRINCIPAL.into(),
            &message,
            self.outlet.clone(),
            true,
        );
        match opened.await {
            Ok((session, answer)) => {
                *self.session.lock() = Some(session);
                self.send(answer);
            }
            Err(fault) => self.send(fault.to_error().response(message.id().as_ref())),
        }
    }

    fn modern(self: &Arc<Self>, message: Message, params: Params) {
        let Some(id) = message.id() else { return };
        if let Err(error) = modern::check(&message, &params) {
            return self.send(error.response(Some(&id)));
        }
        let (given_up, cancel) = oneshot::channel();
        {
            let mut in_flight = self.in_flight.lock();
            if in_flight.len() >= limits::IN_FLIGHT || in_flight.contains_key(id.token()) {
                drop(in_flight);
                let error = ErrorObject::new(code::INVALID_REQUEST, "too many requests, or this id is already in use");
                return self.send(error.response(Some(&id)));
            }
            in_flight.insert(id.token().clone(), given_up);
        }
        let request =
            Request {
            scope: self.scope.clone(),
            principal: PRINCIPAL.into(),
            message,
            params,
            headers: None,
            shared_credential: false,
        };
        let face = self.clone();
        self.tasks.spawn(async move {
            face.run(request, cancel).await;
            face.in_flight.lock().remove(id.token());
        });
    }

    async fn run(&self, request: Request, mut cancel: oneshot::Receiver<Message>) {
        let begun = tokio::select! {
            begun = modern::begin(&self.gateway, request) => begun,
            Ok(_) = &mut cancel => return,
        };
        match begun {
            Begun::Answer(answer) => self.send(answer.payload),
            Begun::Exchange(mut exchange) => loop {
                tokio::select! {
                    biased;
                    step = exchange.next() => match step {
                        Step::Notice(payload) => self.outlet.send(payload, Weight::Notice),
                        Step::Done(answer) => return self.send(answer.payload),
                    },
                    Ok(notice) = &mut cancel => return exchange.cancel_as(&notice),
                }
            },
            Begun::Listen(mut listen) => loop {
                tokio::select! {
                    payload = listen.next() => self.outlet.send(payload, Weight::Notice),
                    () = self.shutdown.cancelled() => return self.send(listen.farewell()),
                    Ok(_) = &mut cancel => return,
                }
            },
        }
    }

    /// Whether a notification gives up a modern request of this client's.
    fn give_up(&self, message: &Message) -> bool {
        if message.method() != Method::Cancelled {
            return false;
        }
        let given_up = modern::cancelled_id(message).and_then(|id| self.in_flight.lock().remove(&id));
        given_up.is_some_and(|given_up| given_up.send(message.clone()).is_ok())
    }

    /// Several messages at once, where the session's revision has that: all answers in one array.
    async fn batch(self: &Arc<Self>, batch: Vec<Result<Message, switchboard_wire::ParseError>>) {
        let session = self.session.lock().clone();
        let Some(session) = session.filter(|session| session.client().revision.has_batches()) else {
            let error = ErrorObject::new(code::INVALID_REQUEST, "batches are not part of this protocol revision");
            return self.send(error.response(None));
        };
        let (face, outlet) = (self.clone(), self.outlet.clone());
        self.tasks.spawn(async move {
            if let Some(answers) = session.batch(batch, outlet).await {
                face.send(answers);
            }
        });
    }
}
