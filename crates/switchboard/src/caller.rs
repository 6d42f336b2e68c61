//! Using servers from the program itself, without a client in front.
//!
//! A server may speak either era. The caller tries the handshake era first and
//! the modern one when the server has only that; nobody else has to know.

use bytes::Bytes;
use std::{sync::Arc, time::Duration};
use switchboard_host::{
    Admitted, CallError, Client, Connection, Exchange, Host, NoSink, Scope, Server, ServerState,
    Target,
    catalog::{Item, List, Listing},
    permission::{What, permitted},
};
use switchboard_transport::Undelivered;
use switchboard_wire::{Era, Id, Message, Method, Params, Revision, json, meta};
use tokio::time::timeout;

/// On whose behalf the program itself acts.
const PRINCIPAL: &str = "default";
/// The host's own limit says better what went wrong, so ours comes a little later.
const GRACE: Duration = Duration::from_millis(250);

/// Calls servers as the program itself. It declares no capability: what a
/// server asks back is refused at once.
#[derive(Debug)]
pub struct Caller {
    host: Arc<Host>,
    legacy: Arc<Client>,
    modern: Arc<Client>,
}

/// A server that answered, and as whom we speak to it.
#[derive(Clone, Debug)]
pub struct Met {
    /// The server.
    pub server: Arc<Server>,
    /// Our connection to it.
    pub connection: Arc<Connection>,
    client: Arc<Client>,
}

impl Caller {
    /// A caller with servers of its own: they are greeted with what it can do.
    pub fn new(host: Arc<Host>) -> Self {
        Self::with(host, |revision| {
            let info = client_info();
            let greeting = format!(
                "{{\"protocolVersion\":\"{revision}\",\"capabilities\":{{}},\"clientInfo\":{info}}}"
            );
            plain(revision).exclusive(Some(Bytes::from(greeting)))
        })
    }

    /// A caller that uses the copies that clients of a gateway use, so that
    /// they are warm when the first client comes.
    pub fn shared(host: Arc<Host>) -> Self {
        Self::with(host, plain)
    }

    fn with(host: Arc<Host>, client: impl Fn(Revision) -> Client) -> Self {
        Self {
            host,
            legacy: Arc::new(client(Revision::NEWEST_LEGACY)),
            modern: Arc::new(client(Revision::NEWEST)),
        }
    }

    /// Connects to a server in an era that it has, within its connect time-out.
    pub async fn meet(&self, server: &Arc<Server>) -> Result<Met, CallError> {
        let allowed = server.spec.timeouts.connect;
        match timeout(allowed + GRACE, self.try_eras(server)).await {
            Ok(met) => met,
            Err(_) => Err(CallError::NotConnected {
                server: server.name().to_string(),
                reason: format!("did not start within {allowed:?}"),
            }),
        }
    }

    async fn try_eras(&self, server: &Arc<Server>) -> Result<Met, CallError> {
        let met = |client: &Arc<Client>, connection| Met {
            server: server.clone(),
            connection,
            client: client.clone(),
        };
        if server.spec.era != Some(Era::Modern) {
            match server.connection(&self.legacy).await {
                Ok(connection) => return Ok(met(&self.legacy, connection)),
                Err(CallError::EraMismatch { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
        server
            .connection(&self.modern)
            .await
            .map(|connection| met(&self.modern, connection))
    }

    /// One of its lists, whole.
    pub async fn list(&self, met: &Met, list: List) -> Result<Arc<Listing>, CallError> {
        met.server
            .catalog(met.client.era())
            .get(list, &met.connection)
            .await
    }

    /// Its tools, as far as they may be seen.
    pub async fn tools(&self, met: &Met) -> Result<Vec<Item>, CallError> {
        let listing = self.list(met, List::Tools).await?;
        let may = |item: &&Item| permitted(PRINCIPAL, &met.server.spec, What::Tool(&item.key));
        Ok(listing.items.iter().filter(may).cloned().collect())
    }

    /// Calls a tool by the server's own name for it. `arguments` is the text of an object.
    pub async fn call(
        &self,
        met: &Met,
        tool: &str,
        arguments: &str,
    ) -> Result<Exchange, CallError> {
        let mut meta = vec![format!("\"{}\":1", meta::PROGRESS_TOKEN)];
        if met.client.era() == Era::Modern {
            meta.push(format!(
                "\"{}\":\"{}\"",
                meta::PROTOCOL_VERSION,
                met.client.revision
            ));
            meta.push(format!("\"{}\":{}", meta::CLIENT_INFO, client_info()));
            meta.push(format!("\"{}\":{{}}", meta::CLIENT_CAPABILITIES));
        }
        let name = json::quote(tool);
        let params = format!(
            "{{\"name\":{name},\"arguments\":{arguments},\"_meta\":{{{}}}}}",
            meta.join(",")
        );
        let message = Message::request(&Id::number(1), Method::ToolsCall, &params);
        let params = Params::of(&message)?;
        let (client, scope) = (met.client.clone(), Scope::One(met.server.clone()));
        self.host
            .call(Admitted {
                client,
                scope,
                message,
                params,
                headers: None,
            })
            .await
    }
}

impl Met {
    /// The era that the server speaks with us.
    pub fn era(&self) -> Era {
        self.connection.revision().era()
    }
}

/// Whether a server has asked us to sign in.
pub fn needs_auth(server: &Server) -> bool {
    *server.state().borrow() == ServerState::NeedsAuth
}

/// Whether a call ended because the server would not let us in.
pub fn was_refused(fault: &CallError) -> bool {
    matches!(
        fault,
        CallError::Undelivered {
            why: Undelivered::NeedsAuth { .. },
            ..
        }
    )
}

/// Whether somebody could sign in to it; else its entry says who we are.
pub fn can_sign_in(server: &Server) -> bool {
    match &server.spec.target {
        Target::Http(remote) | Target::Sse(remote) | Target::Ws(remote) => {
            remote.authorize.is_some()
        }
        _ => false,
    }
}

fn plain(revision: Revision) -> Client {
    Client::new(
        PRINCIPAL.into(),
        revision,
        Bytes::from_static(b"{}"),
        Arc::new(NoSink),
    )
}

fn client_info() -> String {
    format!(
        "{{\"name\":\"switchboard\",\"version\":\"{}\"}}",
        crate::VERSION
    )
}
