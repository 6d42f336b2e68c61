//! A server's own `requestState` where several principals share one credential:
//! bound to the one it was given to, since the server cannot tell them apart.

use super::{Request, address};
use crate::{gateway::Gateway, session::seal::Binding};
use switchboard_host::{CallError, Reply};
use switchboard_wire::{Edits, Message, Params, json as text};

/// Binds a server's state to the principal that it was given to.
pub(super) fn wrap(gateway: &Gateway, request: &Request, reply: &mut Reply) {
    let Some(body) = reply.message.body_span() else {
        return;
    };
    let raw = reply.message.raw().clone();
    if let Ok(Some(span)) = text::field(body.of(&raw), "requestState") {
        let span = span.shifted(body.start);
        let wrapped = gateway.lot().wrap(span.of(&raw), &binding(request));
        reply.edits.replace(span, text::quote(&wrapped));
    }
}

/// Gives a server back the state that we had wrapped for this principal.
pub(super) fn unwrap(
    gateway: &Gateway,
    mut request: Box<Request>,
) -> Result<Box<Request>, CallError> {
    let Some(span) = request
        .params
        .request_state
        .filter(|_| request.shared_credential)
    else {
        return Ok(request);
    };
    let state = Params::text(&request.message, Some(span), "requestState")?.unwrap_or_default();
    let token = gateway.lot().unwrap(&state, &binding(&request))?;
    let mut edits = Edits::new();
    edits.replace(span, token);
    let bytes = request.message.edited(&edits).into_bytes();
    request.message =
        Message::parse(bytes).map_err(|fault| CallError::Refused(fault.to_error()))?;
    request.params = Params::of(&request.message)?;
    Ok(request)
}

/// Whose it is, and for what.
fn binding(request: &Request) -> Binding {
    Binding::of(
        request.admission.principal(),
        &address(&request.scope),
        &request.message,
        &request.params,
    )
}
