//! Asking a gateway that runs, from a command or a screen of the same user.

use crate::{
    limits,
    pipeline::Options,
    running::{self, Running},
    tokens::{self, TokenError},
};
use bytes::{Bytes, BytesMut};
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde::{Serialize, de::DeserializeOwned};
use std::{io, net::SocketAddr, path::PathBuf, time::Duration};
use switchboard_api::{PREFIX, Refused, events::Event};
use switchboard_tasks as tasks;
use switchboard_transport::http::sse::Decoder;
use tokio::{net::TcpStream, time::timeout};
use tokio_util::task::AbortOnDropHandle;

/// A gateway that runs, and what opens it.
#[derive(Clone)]
pub struct Client {
    /// Where it is.
    pub running: Running,
    bearer: String,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("running", &self.running)
            .finish_non_exhaustive()
    }
}

/// Why a gateway did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// None runs.
    #[error("no gateway runs; to start one: switchboard up")]
    None,
    /// Nothing would let us in.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// It said no.
    #[error("{}", .1.error)]
    Refused(StatusCode, Box<Refused>),
    /// It is frozen, or has no room left.
    #[error("the gateway does not answer in time")]
    Silent,
    /// It cannot be reached, or broke off.
    #[error("the gateway cannot be asked: {0}")]
    Broken(#[from] io::Error),
    /// It is none of ours, or too different.
    #[error("the gateway does not answer as it should: {0}")]
    Unfit(String),
}

impl ClientError {
    /// The word for a refusal, where it is one.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(_, refused) => Some(&refused.code),
            _ => None,
        }
    }

    fn unfit(fault: impl std::fmt::Display) -> Self {
        Self::Unfit(fault.to_string())
    }
}

/// A connection on which one request was made. It ends with this.
struct Answered {
    response: Response<Incoming>,
    connection: AbortOnDropHandle<()>,
}

impl Client {
    /// The user's gateway: one that was started in this directory if there is one, then
    /// the one that `up` started, then the newest.
    ///
    /// # Errors
    /// Where none runs, or its token cannot be read.
    pub fn find(options: &Options) -> Result<Self, ClientError> {
        let dirs = options.dirs().map_err(ClientError::unfit)?;
        let mut running = running::all(&dirs).running;
        running.sort_by_key(|one| (one.directory != options.directory, !one.by_up));
        let running = running.first().ok_or(ClientError::None)?;
        Self::of(running)
    }

    /// This gateway, with its control token.
    ///
    /// # Errors
    /// Where the token cannot be read.
    pub fn of(running: &Running) -> Result<Self, ClientError> {
        Ok(Self {
            running: running.clone(),
            bearer: tokens::of_running(&running.control_token, running)?.secret,
        })
    }

    /// One in this very process, of which there is no note.
    pub(crate) fn at(address: SocketAddr, directory: PathBuf, bearer: String) -> Self {
        let running = Running {
            address: address.to_string(),
            pid: i32::try_from(std::process::id()).unwrap_or_default(),
            names: String::new(),
            client_token: None,
            control_token: PathBuf::new(),
            directory,
            version: crate::VERSION.to_owned(),
            by_up: false,
        };
        Self { running, bearer }
    }

    /// The same gateway, asked by whoever holds this bearer.
    #[must_use]
    pub fn with_bearer(&self, bearer: impl Into<String>) -> Self {
        Self {
            running: self.running.clone(),
            bearer: bearer.into(),
        }
    }

    /// Asks for what is at a path below `/api/v1/`, with its query.
    ///
    /// # Errors
    /// What it said, or why it said nothing.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.ask(Method::GET, path, Bytes::new()).await
    }

    /// Sends something there.
    ///
    /// # Errors
    /// What it said, or why it said nothing.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(ClientError::unfit)?;
        self.ask(Method::POST, path, body.into()).await
    }

    /// Sends something there that is answered when a tool is done, which may take as long as
    /// a call may.
    ///
    /// # Errors
    /// What it said, or why it said nothing.
    pub async fn call<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(ClientError::unfit)?;
        let sent = self.send_within(limits::API_CALL, Method::POST, path, body.into());
        let text = received(sent.await?).await?;
        serde_json::from_slice(&text).map_err(ClientError::unfit)
    }

    /// Ends what is there.
    ///
    /// # Errors
    /// What it said, or why it said nothing.
    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.ask(Method::DELETE, path, Bytes::new()).await
    }

    /// The text of what it says to a request of this verb; `is_call` where that comes when a
    /// tool is done, which may take as long as a call may.
    ///
    /// # Errors
    /// What it said, or why it said nothing.
    pub async fn text(
        &self,
        verb: &str,
        path: &str,
        body: String,
        is_call: bool,
    ) -> Result<Bytes, ClientError> {
        let verb = Method::from_bytes(verb.as_bytes()).map_err(ClientError::unfit)?;
        if !is_call {
            return self.asked(verb, path, body.into()).await;
        }
        let sent = self.send_within(limits::API_CALL, verb, path, body.into());
        received(sent.await?).await
    }

    /// A page that may be long, piece by piece.
    ///
    /// # Errors
    /// What it said, or why it said nothing.
    pub async fn pieces(&self, path: &str) -> Result<Pieces, ClientError> {
        let answered = self.send(Method::GET, path, Bytes::new()).await?;
        if answered.response.status() != StatusCode::OK {
            return Err(refused(answered.response).await);
        }
        Ok(Pieces {
            body: answered.response.into_body(),
            _connection: answered.connection,
        })
    }

    /// What changes from now on; `query` is what follows `events?`.
    ///
    /// # Errors
    /// What it said, or why it said nothing.
    pub async fn events(&self, query: &str) -> Result<Events, ClientError> {
        let path = format!("events?{query}");
        let answered = self.send(Method::GET, &path, Bytes::new()).await?;
        let Answered {
            response,
            connection,
        } = answered;
        if response.status() != StatusCode::OK {
            return Err(refused(response).await);
        }
        Ok(Events {
            body: response.into_body(),
            decoder: Decoder::new(limits::API_EVENT_BYTES),
            _connection: connection,
        })
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        verb: Method,
        path: &str,
        body: Bytes,
    ) -> Result<T, ClientError> {
        let text = self.asked(verb, path, body).await?;
        serde_json::from_slice(&text).map_err(ClientError::unfit)
    }

    async fn asked(&self, verb: Method, path: &str, body: Bytes) -> Result<Bytes, ClientError> {
        received(self.send(verb, path, body).await?).await
    }

    /// One request on a connection of its own.
    async fn send(&self, verb: Method, path: &str, body: Bytes) -> Result<Answered, ClientError> {
        // What looks into messages takes its time, as what has to ask servers does.
        let is_known = !path.contains('/') && !path.contains("filter=");
        let patience = match verb == Method::GET && is_known {
            true => limits::API_PROMPT,
            false => limits::API_ANSWER,
        };
        self.send_within(patience, verb, path, body).await
    }

    async fn send_within(
        &self,
        patience: Duration,
        verb: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Answered, ClientError> {
        let address = &self.running.address;
        let connecting = timeout(limits::PROMPT, TcpStream::connect(address));
        let stream = connecting.await.map_err(|_| ClientError::Silent)??;
        let shaking = hyper::client::conn::http1::handshake(TokioIo::new(stream));
        let (mut sender, connection) = shaking.await.map_err(ClientError::unfit)?;
        let connection = tasks::spawn(tasks::Kind::Background, async move {
            let _ = connection.await;
        });
        let connection = AbortOnDropHandle::new(connection);
        let request = Request::builder()
            .method(verb)
            .uri(format!("{PREFIX}{path}"))
            .header(header::HOST, address)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.bearer))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(ClientError::unfit)?;
        let answer = timeout(patience, sender.send_request(request)).await;
        let response = answer
            .map_err(|_| ClientError::Silent)?
            .map_err(io::Error::other)?;
        Ok(Answered {
            response,
            connection,
        })
    }
}

/// All that it said.
async fn received(answered: Answered) -> Result<Bytes, ClientError> {
    if answered.response.status() != StatusCode::OK {
        return Err(refused(answered.response).await);
    }
    whole(answered.response).await
}

/// What it said no with.
async fn refused(response: Response<Incoming>) -> ClientError {
    let status = response.status();
    let text = match whole(response).await {
        Ok(text) => text,
        Err(fault) => return fault,
    };
    let refused = serde_json::from_slice(&text).unwrap_or_else(|_| Refused {
        error: match String::from_utf8_lossy(&text).trim() {
            "" => format!("HTTP {status}"),
            text => format!("HTTP {status}: {text}"),
        },
        ..Refused::default()
    });
    ClientError::Refused(status, Box::new(refused))
}

async fn whole(response: Response<Incoming>) -> Result<Bytes, ClientError> {
    let mut body = response.into_body();
    let mut all = BytesMut::new();
    while let Some(piece) = next_piece(&mut body).await? {
        all.extend_from_slice(&piece);
        if all.len() > limits::CONTROL_ANSWER_BYTES {
            return Err(ClientError::unfit("its answer is too long"));
        }
    }
    Ok(all.freeze())
}

/// The next of what it says; nothing where that was all.
async fn next_piece(body: &mut Incoming) -> Result<Option<Bytes>, ClientError> {
    loop {
        let frame = timeout(limits::API_ANSWER, body.frame()).await;
        let Some(frame) = frame.map_err(|_| ClientError::Silent)? else {
            return Ok(None);
        };
        if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
            return Ok(Some(data));
        }
    }
}

/// A page that may be long, as it comes.
pub struct Pieces {
    body: Incoming,
    _connection: AbortOnDropHandle<()>,
}

impl std::fmt::Debug for Pieces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pieces")
    }
}

impl Pieces {
    /// The next piece; nothing where that was all.
    ///
    /// # Errors
    /// Why there is nothing more, and the page is not whole.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        next_piece(&mut self.body).await
    }
}

/// What changes at a gateway, as it tells it.
pub struct Events {
    body: Incoming,
    decoder: Decoder,
    _connection: AbortOnDropHandle<()>,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Events")
    }
}

impl Events {
    /// The next event with its number; nothing where the gateway ended the stream. What
    /// we do not know is passed over.
    ///
    /// # Errors
    /// Why there is nothing more.
    pub async fn next(&mut self) -> Result<Option<(u64, Event)>, ClientError> {
        loop {
            while let Some(event) = self.decoder.next().map_err(ClientError::unfit)? {
                let id = event.id.as_deref().and_then(|id| id.parse().ok());
                if let (Some(id), Ok(event)) = (id, serde_json::from_slice(&event.data)) {
                    return Ok(Some((id, event)));
                }
            }
            let frame = timeout(SILENCE, self.body.frame()).await;
            let Some(frame) = frame.map_err(|_| ClientError::Silent)? else {
                return Ok(None);
            };
            if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
                self.decoder.feed(data);
            }
        }
    }
}

/// A gateway that says nothing for so long is not there any more: a quiet one says that
/// it is alive.
const SILENCE: Duration = limits::API_SILENCE;
