//! The way back from the browser: a listener on loopback that takes one answer,
//! the one to our question, and the checks on that answer.

use crate::{
    error::{SignInError, shown},
    limits,
};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    collections::HashSet,
    convert::Infallible,
    io,
    net::{Ipv4Addr, Ipv6Addr},
    sync::Arc,
};
use subtle::ConstantTimeEq;
use switchboard_tasks as tasks;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
    task::JoinSet,
};
use url::Url;

const PATH: &str = "/callback";

/// What an answer must say to be ours.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// Where the browser was told to come back to.
    pub(crate) redirect_uri: Url,
    /// Proves that the answer is to our question.
    pub(crate) state: String,
    /// Who should have answered.
    pub(crate) issuer: Option<String>,
    /// Whether that server promises to say who it is.
    pub(crate) says_issuer: bool,
}

impl Expected {
    /// Whether a query carries our state: then it is meant for us, good or bad.
    fn is_ours(&self, url: &Url) -> bool {
        let mut states = url.query_pairs().filter(|(name, _)| name == "state");
        match (states.next(), states.next()) {
            (Some((_, state)), None) => state.as_bytes().ct_eq(self.state.as_bytes()).into(),
            _ => false,
        }
    }

    /// Checks an address that the browser came back to. Nothing that the server
    /// says in it counts before it is known to be the right server.
    pub(crate) fn check(&self, url: &Url) -> Result<(), SignInError> {
        let place = |url: &Url| (url.origin(), url.path().to_owned());
        if place(url) != place(&self.redirect_uri) {
            return Err(SignInError::Callback(format!(
                "it is not for {}",
                self.redirect_uri
            )));
        }
        let mut seen = HashSet::new();
        let pairs: Vec<_> = url.query_pairs().into_owned().collect();
        if let Some((twice, _)) = pairs.iter().find(|(name, _)| !seen.insert(name.as_str())) {
            return Err(SignInError::Callback(format!(
                "it says {} twice",
                shown(twice)
            )));
        }
        let of = |wanted: &str| {
            let found = pairs.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.as_str())
        };
        if !self.is_ours(url) {
            return Err(SignInError::Callback(
                "its state is not the one that was sent; start again".into(),
            ));
        }
        self.check_issuer(of("iss"))?;
        if let Some(error) = of("error") {
            return Err(SignInError::Denied {
                error: shown(error),
                description: of("error_description").map(shown),
            });
        }
        match of("code") {
            Some(code) if !code.is_empty() => Ok(()),
            _ => Err(SignInError::Callback("it holds no code".into())),
        }
    }

    fn check_issuer(&self, received: Option<&str>) -> Result<(), SignInError> {
        let expected = self.issuer.as_deref();
        match (expected, received) {
            (Some(expected), Some(received)) if expected == received => Ok(()),
            (_, None) if !self.says_issuer => Ok(()),
            (expected, received) => Err(SignInError::Issuer {
                expected: shown(expected.unwrap_or("an issuer that was announced")),
                received: received.map_or_else(|| "nobody".into(), shown),
            }),
        }
    }
}

/// A listener for one sign-in.
pub(crate) struct Listener {
    sockets: Vec<TcpListener>,
    redirect_uri: Url,
}

impl Listener {
    /// Listens on `port`, or on a free one. A configured port is written
    /// `localhost`, as clients are registered with it; a free one as the address,
    /// which no other name service can divert.
    pub(crate) async fn bind(
        port: Option<u16>,
        preferred: Option<u16>,
    ) -> Result<Self, SignInError> {
        let named = port.is_some();
        let first = match (port, preferred) {
            (Some(port), _) => TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await,
            (None, Some(last)) => match TcpListener::bind((Ipv4Addr::LOCALHOST, last)).await {
                Ok(socket) => Ok(socket),
                Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await,
            },
            (None, None) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await,
        };
        let busy = |fault: io::Error| match port {
            Some(port) => {
                SignInError::Settings(format!("the callback port {port} cannot be used: {fault}"))
            }
            None => SignInError::Settings(format!("no port for the callback: {fault}")),
        };
        let first = first.map_err(busy)?;
        let port = first.local_addr().map_err(busy)?.port();
        let mut sockets = vec![first];
        if named {
            // `localhost` may mean either.
            sockets.extend(TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await);
        }
        Ok(Self {
            sockets,
            redirect_uri: redirect_uri(named, port)?,
        })
    }

    pub(crate) fn redirect_uri(&self) -> &Url {
        &self.redirect_uri
    }

    /// Waits for the browser. What does not carry our state is turned away and
    /// waited past: nobody else can end or take over a sign-in.
    pub(crate) async fn wait(self, expected: Expected) -> Result<Url, SignInError> {
        let (came, mut arrivals) = mpsc::channel(1);
        let door = Arc::new(Door {
            expected,
            came,
            room: Semaphore::new(limits::CALLBACK_CONNECTIONS),
        });
        let mut listeners = JoinSet::new();
        for socket in self.sockets {
            let listening = door.clone().listen(socket);
            #[expect(clippy::disallowed_methods, reason = "its panics are watched")]
            listeners.spawn(tasks::watched(tasks::Kind::SignIn, listening));
        }
        let arrived = arrivals.recv().await;
        // The page that says so is still on its way to the browser.
        tokio::time::sleep(limits::LAST_PAGE).await;
        listeners.abort_all();
        arrived.ok_or_else(|| SignInError::Callback("the listener ended".into()))
    }
}

/// The address to come back to where there is no listener.
pub(crate) fn redirect_uri(named: bool, port: u16) -> Result<Url, SignInError> {
    let host = if named { "localhost" } else { "127.0.0.1" };
    Url::parse(&format!("http://{host}:{port}{PATH}"))
        .map_err(|fault| SignInError::Settings(fault.to_string()))
}

struct Door {
    expected: Expected,
    came: mpsc::Sender<Url>,
    room: Semaphore,
}

impl Door {
    async fn listen(self: Arc<Self>, socket: TcpListener) {
        loop {
            let Ok((stream, _)) = socket.accept().await else {
                tokio::time::sleep(limits::ACCEPT_PAUSE).await;
                continue;
            };
            tasks::spawn(tasks::Kind::SignIn, self.clone().serve(stream));
        }
    }

    async fn serve(self: Arc<Self>, stream: TcpStream) {
        let Ok(_place) = self.room.try_acquire() else {
            return;
        };
        let service = service_fn(|request: Request<Incoming>| {
            let answer = self.answer(&request);
            async move { Ok::<_, Infallible>(answer) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits::CALLBACK_HEAD)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        let _ = tokio::time::timeout(limits::CALLBACK_CONNECTION, connection).await;
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if request.uri().path() != PATH {
            return page(StatusCode::NOT_FOUND, "There is nothing here.");
        }
        if request.method() != Method::GET {
            return page(StatusCode::METHOD_NOT_ALLOWED, "There is nothing here.");
        }
        let mut url = self.expected.redirect_uri.clone();
        url.set_query(request.uri().query());
        if !self.expected.is_ours(&url) {
            return page(
                StatusCode::BAD_REQUEST,
                "This is not the answer to a sign-in that is under way.",
            );
        }
        let good = self.expected.check(&url).is_ok();
        if self.came.try_send(url).is_err() {
            return page(StatusCode::GONE, "This sign-in has already been answered.");
        }
        if good {
            page(
                StatusCode::OK,
                "You may close this window and return to Switchboard.",
            )
        } else {
            page(
                StatusCode::OK,
                "The sign-in did not work. Switchboard says why.",
            )
        }
    }
}

/// A page that repeats nothing of what came, and leaves nothing behind.
fn page(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let body =
        format!("<!doctype html><meta charset=\"utf-8\"><title>Switchboard</title><p>{text}</p>\n");
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'"),
        (header::CONNECTION, "close"),
    ] {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}
