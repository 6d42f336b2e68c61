//! A call that is held at a breakpoint before it leaves, and how it goes on from there: it is
//! found its server and decided anew, as it is then, so that what a person has changed is
//! permitted like any other.

use super::{Admitted, Noting, Permitted, send};
use crate::{
    bridge::{object_with, request::with_params},
    client::Client,
    desk::{Coming, Held, Point, patience},
    error::CallError,
    exchange::Exchange,
    observe::{Passed, Watched},
    upstream::{Connection, Server},
};
use bytes::Bytes;
use std::{future::Future, pin::Pin, sync::Arc, time::Duration};
use switchboard_wire::{Edits, Message, Method, Params};

/// A call that is held.
#[derive(Debug)]
pub(crate) struct Stopped {
    admitted: Box<Admitted>,
    server: Arc<Server>,
    /// How long it may take once it goes on.
    timeout: Duration,
    pub(crate) held: Arc<Held>,
}

/// What was held, on its way: what it became, and what was decided about it.
pub(crate) type Onward =
    Pin<Box<dyn Future<Output = (Result<Exchange, CallError>, Passed)> + Send>>;

/// How long something of this client's is held, where it has so much time left.
pub(crate) fn held_for(client: &Client, left: Duration) -> Duration {
    patience::of(client).min(left)
}

/// Whether a call by this method can be held. What only asks which things there are is not:
/// a client that lists nothing does nothing.
pub(crate) fn can_be_held(method: Method) -> bool {
    matches!(
        method,
        Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead
    )
}

impl Permitted {
    /// What is held of it before it leaves, if somebody wants that.
    #[cold]
    pub(super) fn stops(&self, watched: (u64, Duration), by: &Connection) -> Option<Arc<Held>> {
        let (client, method) = (self.client(), self.message().method());
        if !can_be_held(method) {
            return None;
        }
        let hit = client.desk()?.holds(&Coming {
            call: watched.0,
            point: Point::Call,
            server: self.server.name(),
            name: self.named.text(),
            era: by.revision().era(),
            message: self.message(),
            has_failed: false,
            took: watched.1,
            at_server: Duration::ZERO,
        })?;
        let can_change = method != Method::ResourcesRead;
        let text = match self.arguments() {
            Some(arguments) => Bytes::copy_from_slice(arguments),
            None if can_change => Bytes::from_static(b"{}"),
            None => Bytes::new(),
        };
        Some(Arc::new(Held {
            point: Point::Call,
            method,
            name: self.named.text().map(Held::short),
            why: hit.why,
            text,
            is_error: false,
            can_change,
            until: held_for(client, self.timeout),
        }))
    }

    /// The same as a call that is held.
    pub(super) fn stopped(self, held: Arc<Held>) -> Stopped {
        Stopped {
            admitted: self.admitted,
            server: self.server,
            timeout: self.timeout,
            held,
        }
    }
}

impl Stopped {
    /// The server's configured name.
    pub(crate) fn server(&self) -> &Arc<str> {
        self.server.name()
    }

    /// How long it may take once it goes on.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// With other arguments.
    pub(crate) fn with_arguments(mut self, arguments: &[u8]) -> Result<Self, CallError> {
        let Admitted {
            message, params, ..
        } = &*self.admitted;
        let message = match params.arguments {
            Some(span) => {
                let mut edits = Edits::new();
                edits.replace(span, Bytes::copy_from_slice(arguments));
                Message::parse(message.edited(&edits).into_bytes())
                    .map_err(|fault| CallError::Refused(fault.to_error()))?
            }
            None => {
                let arguments = String::from_utf8_lossy(arguments);
                let set = [("arguments", &*arguments)];
                with_params(message, &object_with(message.body(), &[], &set))
            }
        };
        self.admitted.params = Params::of(&message)?;
        self.admitted.message = message;
        // They repeat what the client has said, and not this.
        self.admitted.headers = None;
        Ok(self)
    }

    /// Lets it go.
    pub(crate) fn onward(self) -> Onward {
        Box::pin(async move {
            let mut passed = Passed::untimed();
            let Some(host) = self.server.host() else {
                let (server, reason) = (
                    self.server.name().to_string(),
                    "the gateway is stopping".into(),
                );
                return (Err(CallError::NotConnected { server, reason }), passed);
            };
            let sent = send(&host, self.admitted, Noting::Again(&mut passed)).await;
            (sent, passed)
        })
    }
}

impl<'a> Noting<'a> {
    /// Where phases are noted, and as what its call may be held.
    pub(super) fn phases(self) -> (Option<&'a mut Passed>, Option<(u64, Duration)>) {
        match self {
            Self::Nowhere => (None, None),
            Self::Again(passed) => (Some(passed), None),
            Self::Watched(watched, may_be_held) => {
                let held_as = may_be_held.then(|| (watched.number(), watched.so_far().0));
                (Some(Watched::phases(watched)), held_as)
            }
        }
    }
}
