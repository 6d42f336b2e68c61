//! What the control token opens, and what clients may know of themselves: how the
//! gateway is doing, and what it can be told to do. Who asks is found out here; what
//! they may do and the answers come from whoever assembled the gateway.

use crate::{admission::Admission, gateway::Counts};
use bytes::Bytes;
use futures_util::Stream;
use http::{Method, StatusCode};
use std::{fmt, io, pin::Pin, sync::Arc};
use tokio_util::sync::CancellationToken;

/// Answers under `/api/`.
pub trait Control: Send + Sync {
    /// Whether this may be asked at all, before its body is read: what is refused here
    /// costs nobody anything. How many bytes that body may have.
    ///
    /// # Errors
    /// The answer, where it may not.
    fn may_ask(&self, _asked: &Asked) -> Result<usize, Box<Controlled>> {
        Ok(crate::limits::API_BODY)
    }

    /// Answers a request.
    fn answer(&self, asked: Asked) -> Answering<'_>;

    /// Whose session a bearer opens, if it opens one: they are told apart in constant time.
    fn session(&self, _bearer: &[u8]) -> Option<ControlSession> {
        None
    }

    /// The page that Prometheus reads, in the form that `Accept` asks for; `None` where
    /// nothing is counted. `here` is what the gateway itself counts.
    fn metrics<'a>(&'a self, _accept: Option<&'a str>, _here: Counts) -> Writing<'a> {
        Box::pin(async { None })
    }

    /// How many servers must be there, and how many of them are.
    fn readiness(&self) -> Readiness {
        Readiness::default()
    }
}

/// A request under `/api/`.
#[derive(Debug)]
pub struct Asked {
    /// The verb.
    pub verb: Method,
    /// What follows `/api/`.
    pub path: String,
    /// What follows `?`.
    pub query: String,
    /// The body; nothing until it was found that this may be asked.
    pub body: Bytes,
    /// Who asks.
    pub who: Asker,
    /// What the gateway counts itself.
    pub here: Counts,
    /// The page that asks, as a browser says (`Origin`); it is one that we take.
    pub origin: Option<String>,
    /// Where we are asked (`Host`).
    pub host: Option<String>,
}

/// Who asks for something under `/api/`.
#[derive(Clone, Debug)]
pub enum Asker {
    /// Somebody who shows nothing.
    Nobody,
    /// A client. Where everybody may come in, that can be anybody.
    Client(Admission),
    /// Whoever holds the control token.
    Control,
    /// Whoever opened a session with a single-use code.
    Session(ControlSession),
}

/// A session that was opened with a single-use code.
#[derive(Clone, Debug)]
pub struct ControlSession {
    /// What tells it from others; not what opens it.
    pub id: Arc<str>,
    /// Ends with it, and with it all that is open for it.
    pub ended: CancellationToken,
}

/// A page on its way.
pub type Writing<'a> = Pin<Box<dyn Future<Output = Option<Written>> + Send + 'a>>;

/// A page of text.
#[derive(Clone, Debug)]
pub struct Written {
    /// What kind of text it is.
    pub content_type: &'static str,
    /// The text.
    pub text: String,
}

/// How many servers must be there, and how many of them are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// Those that must be.
    pub required: usize,
    /// Those of them that are.
    pub there: usize,
}

/// An answer on its way.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Controlled> + Send + 'a>>;

/// An answer.
#[derive(Debug)]
pub struct Controlled {
    /// The HTTP status.
    pub status: StatusCode,
    /// What it says.
    pub said: Said,
}

impl Controlled {
    /// JSON.
    pub fn json(status: StatusCode, json: String) -> Self {
        Self {
            status,
            said: Said::Page(Written {
                content_type: "application/json",
                text: json,
            }),
        }
    }
}

/// What an answer says.
pub enum Said {
    /// A page of text: JSON, mostly.
    Page(Written),
    /// Events as they come. Each item is whole events, as they are on the wire.
    Events(EventBytes),
    /// A page that is too long to be made at once.
    Pieces(Pieces),
}

/// A page of text, piece by piece. One that is not whole ends with an error.
pub struct Pieces {
    /// What kind of text it is.
    pub content_type: &'static str,
    /// The pieces.
    pub pieces: Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>,
}

/// Events as they come.
pub type EventBytes = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

impl fmt::Debug for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page(page) => f.debug_tuple("Page").field(page).finish(),
            Self::Events(_) => f.write_str("Events"),
            Self::Pieces(_) => f.write_str("Pieces"),
        }
    }
}

/// The control token, and what it opens.
#[derive(Clone)]
pub struct ControlAccess {
    /// The secret.
    pub token: String,
    /// Who answers.
    pub control: Arc<dyn Control>,
}

impl fmt::Debug for ControlAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ControlAccess")
    }
}
