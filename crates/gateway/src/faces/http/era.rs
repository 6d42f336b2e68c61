//! Telling a request of the handshake era from one of the stateless era.

use super::{
    handshake_era::{SESSION, VERSION},
    reply::{self, Refusal},
};
use crate::session::modern;
use http::{HeaderMap, StatusCode};
use switchboard_wire::{Era, Message, Method, Params, Revision};

/// A message whose era is known.
pub(super) struct Spoken {
    pub era: Era,
    pub params: Params,
}

impl Spoken {
    /// Reads a message's parameters, which say it.
    pub(super) fn of(headers: &HeaderMap, message: &Message) -> Result<Self, Refusal> {
        let params = Params::of(message).map_err(|error| {
            let id = message.id();
            Box::new(reply::error(StatusCode::BAD_REQUEST, &error, id.as_ref()))
        })?;
        let era = match !message.is_reply() && is_stateless(headers, message, &params) {
            true => Era::Modern,
            false => Era::Legacy,
        };
        Ok(Self { era, params })
    }
}

/// A request is stateless if its body says so; a header alone says so too, unless
/// it names a revision of the other era or the body can only be of that.
fn is_stateless(headers: &HeaderMap, message: &Message, params: &Params) -> bool {
    if modern::is_modern(params) {
        return true;
    }
    let version = headers.get(&VERSION).and_then(|value| value.to_str().ok());
    let revision = version.and_then(Revision::parse);
    match (version, revision) {
        (None, _) => message.method() == Method::Discover || message.method() == Method::Listen,
        (Some(_), Some(revision)) => revision.era() == Era::Modern,
        (Some(_), None) => {
            !headers.contains_key(&SESSION) && message.method() != Method::Initialize
        }
    }
}
