//! What a client would send, made by the program itself.

use super::Client;
use crate::{
    call::{Admitted, Scope},
    error::CallError,
    observe::Trace,
};
use std::sync::Arc;
use switchboard_wire::{Edits, Era, Id, Message, Method, Params, code, json, meta};

impl Client {
    /// A request of this client's, with what a modern one must say about its
    /// sender. `params` is the text of an object.
    pub fn request(&self, method: Method, params: &str) -> Result<Message, CallError> {
        let bad = |fault: String| CallError::refused(code::INVALID_PARAMS, fault);
        // By itself as well: what closes and opens again is none.
        json::check(params.as_bytes()).map_err(|fault| bad(fault.to_string()))?;
        let message = Message::request_of(&Id::number(1), method, params);
        let message = message.map_err(|fault| bad(fault.to_string()))?;
        if self.era() == Era::Legacy {
            return Ok(message);
        }
        let at = Params::of(&message)?;
        let mut edits = Edits::new();
        let capabilities = String::from_utf8_lossy(&self.capabilities);
        let revision = json::quote(self.revision.as_str());
        for (place, key, value) in [
            (
                at.protocol_version,
                meta::PROTOCOL_VERSION,
                revision.as_str(),
            ),
            (at.client_info, meta::CLIENT_INFO, &self.info()),
            (
                at.client_capabilities,
                meta::CLIENT_CAPABILITIES,
                &capabilities,
            ),
        ] {
            at.set_meta(&message, &mut edits, place, key, value);
        }
        Message::parse(message.edited(&edits).into_bytes()).map_err(|fault| bad(fault.to_string()))
    }
}

impl Admitted {
    /// A request that the program itself makes, as this client would. `params` is the
    /// text of an object.
    pub fn own(
        client: &Arc<Client>,
        scope: Scope,
        method: Method,
        params: &str,
    ) -> Result<Self, CallError> {
        let message = client.request(method, params)?;
        Ok(Self {
            client: client.clone(),
            scope,
            params: Params::of(&message)?,
            message,
            headers: None,
            trace: Trace::default(),
            passes_on: false,
        })
    }
}
