//! Resources whose changes somebody at a page wants to hear of: subscribed to as a client
//! does it, and told to all who listen to the state.

use super::super::{Api, answer::No, asking::Ask, calls};
use crate::limits;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};
use switchboard_api::events::Event;
use switchboard_host::{Client, ClientSink, Input, NoSink, Notice, Server, permission::What};
use switchboard_local::secret;
use switchboard_wire::{Method, json};

/// What is subscribed to, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Watched(Mutex<VecDeque<One>>);

struct One {
    server: Arc<Server>,
    uri: String,
    client: Arc<Client>,
}

impl std::fmt::Debug for One {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("One").field(&self.uri).finish()
    }
}

/// Hears of changes, and tells of them.
struct Ear(Weak<Api>);

impl ClientSink for Ear {
    fn notice(&self, server: &Arc<str>, notice: Notice) {
        let Some(api) = self.0.upgrade() else { return };
        if notice.method != Method::ResourceUpdated {
            return;
        }
        let body = notice.message.body();
        let uri = json::field(body, "uri").ok().flatten();
        let Some(uri) = uri.and_then(|span| json::text(span.of(body))) else {
            return;
        };
        let (name, uri) = (server.to_string(), uri.into_owned());
        api.feed.tell(Event::Updated { name, uri }, None);
    }

    fn ask(&self, input: Input) {
        NoSink.ask(input);
    }
}

/// Begins to tell of a resource's changes, or ends that.
pub(super) async fn watch(
    api: &Arc<Api>,
    ask: &Ask,
    server: &Arc<Server>,
    uri: Option<&str>,
    begins: bool,
) -> Result<String, No> {
    let uri = uri.filter(|uri| !uri.is_empty() && uri.len() <= limits::API_URI);
    let uri = uri.ok_or_else(|| No::invalid("which resource?").field("/uri"))?;
    let known = api.watched.take(server, uri);
    if !begins {
        let known = known.ok_or_else(|| No::conflict("nobody hears of its changes here"))?;
        end(known).await;
        return Ok(format!("no longer told of {uri}"));
    }
    if let Some(known) = known {
        api.watched.0.lock().push_back(known);
        return Ok(format!("told of {uri} already"));
    }
    let ear = Arc::new(Ear(Arc::downgrade(api)));
    let client = Arc::new(calls::listening(&ask.who, ear));
    let failed =
        |fault: switchboard_host::CallError| No::conflict(secret::text(&fault.to_string()));
    let guard = api.host.guard();
    guard
        .check(&client, server, What::Resource(uri))
        .map_err(failed)?;
    let connection = server.connection(&client).await.map_err(failed)?;
    connection.subscribe(&client, uri).await.map_err(failed)?;
    let one = One {
        server: server.clone(),
        uri: uri.to_owned(),
        client,
    };
    let oldest = {
        let mut all = api.watched.0.lock();
        all.push_back(one);
        (all.len() > limits::API_WATCHED)
            .then(|| all.pop_front())
            .flatten()
    };
    if let Some(oldest) = oldest {
        end(oldest).await;
    }
    Ok(format!("told of changes of {uri}"))
}

impl Watched {
    fn take(&self, server: &Arc<Server>, uri: &str) -> Option<One> {
        let mut all = self.0.lock();
        let at = all
            .iter()
            .position(|one| Arc::ptr_eq(&one.server, server) && one.uri == uri)?;
        all.remove(at)
    }
}

/// A server that is not there any more has nothing to be told.
async fn end(one: One) {
    if let Ok(connection) = one.server.connection(&one.client).await {
        let _ = connection.unsubscribe(&one.client, &one.uri).await;
    }
}
