//! A client in the same process: one end of a linked pair.

use super::{
    backlog::Backlog,
    conversation::{ClientTerms, Conversation},
};
use crate::{admission::Admission, gateway::Gateway};
use std::sync::Arc;
use switchboard_host::Scope;
use switchboard_transport::in_process::End;
use tokio_util::sync::CancellationToken;

/// Serves the client at the other end until it goes or `shutdown` fires.
/// `server` addresses one server under its own names, otherwise all as one.
pub async fn serve(
    gateway: Arc<Gateway>,
    end: End,
    principal: Arc<str>,
    server: Option<&str>,
    shutdown: CancellationToken,
) {
    let End {
        sender,
        mut receiver,
    } = end;
    let one = server.and_then(|name| gateway.host().server(name));
    gateway.host().serves(&principal);
    let terms = ClientTerms {
        scope: one.map_or(Scope::All, Scope::One),
        admission: Admission::served(principal, shutdown.clone(), gateway.host().budget()),
        own_servers: false,
        shared_credential: false,
        modern: true,
        announcement: gateway.announcement(),
    };
    let outlet = Backlog::of(sender, terms.admission.share());
    let client = Conversation::new(gateway, terms, outlet);
    loop {
        let bytes = tokio::select! {
            bytes = receiver.next() => bytes,
            () = shutdown.cancelled() => break,
        };
        match bytes {
            Some(bytes) => client.bytes(bytes).await,
            None => break,
        }
    }
    if shutdown.is_cancelled() {
        client.drain().await;
    }
    client.end();
}
