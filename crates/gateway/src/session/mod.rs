//! What a client expects, by era: [`legacy`] sessions with their handshake and
//! questions, [`modern`] requests that stand alone. Neither knows what carries
//! its messages; they speak through an [`Outlet`].

pub(crate) mod finder;
pub(crate) mod hello;
pub(crate) mod in_flight;
pub(crate) mod legacy;
pub(crate) mod lists;
mod mcp_tasks;
pub(crate) mod modern;
mod older;
pub(crate) mod parked;
mod patience;
mod rewrite;
pub(crate) mod seal;
mod showing;
pub(crate) mod steps;
pub(crate) mod watch;

use crate::gateway::Gateway;
use std::sync::Arc;
use switchboard_host::{
    CallError, Client, Notice,
    observe::{Shown, Watched},
    permission::What,
};
use switchboard_wire::{Id, Message, Method, Payload, code, json};

/// Whether a client may be told this by a server: a rule may have come since it
/// began to listen. That a list is another one is always told: so a client learns
/// what it sees no longer.
fn may_hear(gateway: &Gateway, client: &Client, server: &str, notice: &Notice) -> bool {
    if notice.method.is_list_change() {
        return true;
    }
    let host = gateway.host();
    let servers = host.servers();
    let Some(server) = servers.named(server) else {
        return false;
    };
    let body = notice.message.body();
    let uri = match notice.method {
        Method::ResourceUpdated => json::field(body, "uri").ok().flatten(),
        _ => None,
    };
    let uri = uri.and_then(|span| json::text(span.of(body)));
    let what = uri.as_deref().map_or(What::Method, What::Resource);
    host.guard().check(client, server, what).is_ok()
}

/// An answer of our own, counted for whom it is, as soon as there is room for it:
/// a list can be large, and its client need not read it.
pub(crate) async fn own_answer(
    client: &Client,
    id: &Id,
    result: &str,
) -> Result<Payload, CallError> {
    let answer = Message::response(id, result);
    let Some(share) = client.share() else {
        return Ok(answer.payload());
    };
    if !share.has_room() {
        let room = Box::pin(share.room()).await;
        room.map_err(|full| CallError::refused(code::INTERNAL, full.to_string()))?;
    }
    Ok(answer.kept(|bytes| share.keep(bytes)).payload())
}

/// Tells those who watch how a request ended that we answered ourselves.
pub(crate) async fn told(
    watched: Option<Box<Watched>>,
    answer: Result<usize, &CallError>,
) -> Result<(), CallError> {
    match watched.and_then(|watched| watched.answered_by_us(answer)) {
        Some(keeping) => keeping.await,
        None => Ok(()),
    }
}

/// Where the messages for one client, or for one of its requests, go.
pub(crate) trait Outlet: Send + Sync {
    /// Sends a message. Must not block; what cannot be kept is dropped by weight.
    fn send(&self, payload: Payload, weight: Weight);

    /// Whether a message of this weight has a use here.
    fn takes(&self, _weight: Weight) -> bool {
        true
    }

    /// Whether the client would see a question put to it here.
    fn takes_questions(&self) -> bool {
        true
    }

    /// Whether somebody reads it just now.
    fn is_heard(&self) -> bool {
        true
    }

    /// Where messages of the request are shown, if they are.
    fn shown(&self) -> Option<&Arc<Shown>> {
        None
    }
}

/// What must not be lost, and what may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// How far a request is: the first to give way.
    Progress,
    /// Another notification.
    Notice,
    /// A question that somebody waits for.
    Question,
    /// The answer to a request.
    Reply,
}

impl Weight {
    /// The weight of a notification.
    fn of(method: Method) -> Self {
        match method {
            Method::Progress => Self::Progress,
            _ => Self::Notice,
        }
    }
}
