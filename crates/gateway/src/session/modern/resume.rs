//! A modern request that comes back with answers, and the ticket for what waits
//! for them.

use super::{Begun, Request, address, asker, pages, relayed::relay};
use crate::{
    gateway::Gateway,
    session::parked::{self, Waiting},
};
use std::sync::Arc;
use switchboard_host::{
    CallError,
    bridge::request::to_legacy,
    observe::{Resumed, Shown},
};
use switchboard_wire::{Id, Params, code, json as text};

/// Goes on with a call that was parked, if the request carries a ticket for one.
pub(super) async fn resume(
    gateway: &Arc<Gateway>,
    request: &Request,
    id: &Id,
    shown: &mut Option<Arc<Shown>>,
) -> Result<Option<Begun>, CallError> {
    let (message, params) = (&request.message, &request.params);
    // One that is no text (a lone surrogate, say) cannot be ours: the server judges it.
    let state = params
        .request_state
        .and_then(|span| text::text(span.of(message.raw())));
    let Some(state) = state else { return Ok(None) };
    let address = address(&request.scope);
    match gateway.lot().take(
        &state,
        request.admission.principal(),
        &address,
        message,
        params,
    )? {
        None => Ok(None),
        Some(Waiting::Call {
            mut relayed,
            questions,
        }) => {
            *shown = relayed.request.trace.shown.clone();
            if let Some(shown) = shown {
                shown.from_client(message);
            }
            if let Some(exchange) = &mut relayed.exchange {
                exchange.resumed(&Resumed {
                    message,
                    params,
                    carried: request.trace.carried.as_deref(),
                });
                exchange.still_allowed()?;
            }
            let open = parked::answer(questions, message, params);
            relayed.id = id.clone();
            *relayed.request = request.clone();
            relayed.request.trace.shown.clone_from(shown);
            if let Some(exchange) = &mut relayed.exchange {
                exchange.set_progress_token(Params::bytes(message, params.progress_token));
            }
            if open.is_empty() {
                return Ok(Some(Begun::Exchange(relayed)));
            }
            relayed.park(open).map(|answer| Some(Begun::Answer(answer)))
        }
        Some(Waiting::Visit { requests, visits }) => {
            let visited = Visited { requests, visits };
            visited.go_on(gateway, request, id, shown).await.map(Some)
        }
    }
}

/// A request that waits until pages were visited.
struct Visited {
    requests: Vec<(String, String)>,
    visits: u32,
}

impl Visited {
    /// Sends it again, if they were.
    async fn go_on(
        self,
        gateway: &Arc<Gateway>,
        request: &Request,
        id: &Id,
        shown: &mut Option<Arc<Shown>>,
    ) -> Result<Begun, CallError> {
        let Self {
            mut requests,
            visits,
        } = self;
        let (message, params) = (&request.message, &request.params);
        let mut request = request.clone();
        *shown = request.shows(gateway);
        let request = &request;
        let responses = params
            .input_responses
            .map(|span| span.of(message.raw()))
            .unwrap_or_default();
        for (key, _) in &requests {
            if pages::visited(responses, key) == Some(false) {
                return Err(CallError::refused(
                    code::INVALID_REQUEST,
                    "the page that the server asked for was not visited",
                ));
            }
        }
        requests.retain(|(key, _)| pages::visited(responses, key).is_none());
        if !requests.is_empty() {
            let answer = pages::ask_to_visit(gateway, request, requests, visits, id)?;
            return Ok(Begun::Answer(answer));
        }
        let client = asker(gateway, request)?;
        // The same request, without what only this round was for.
        let again = to_legacy(message);
        let again = Request {
            params: Params::of(&again)?,
            message: again,
            ..request.clone()
        };
        let mut relayed = relay(gateway, client, Box::new(again), id.clone(), visits).await?;
        // A further ticket is bound to what the client sends.
        *relayed.request = request.clone();
        Ok(Begun::Exchange(Box::new(relayed)))
    }
}
