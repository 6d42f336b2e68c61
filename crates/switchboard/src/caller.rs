//! Using servers from the program itself, without a client in front.
//!
//! A server may speak either era. The caller tries the handshake era first and
//! the modern one when the server has only that; nobody else has to know.

use bytes::Bytes;
use std::{sync::Arc, time::Duration};
use switchboard_agent::{Operator, call_to_end};
use switchboard_host::{
    Admitted, CallError, Client, ClientSink, Connection, Host, NoSink, Reply, Scope, Server,
    ServerState, Target,
    catalog::{Item, List, Listing},
    permission::{Ruling, What},
};
use switchboard_transport::Undelivered;
use switchboard_wire::{Era, Id, Message, Method, Params, Revision, json, meta};
use tokio::time::timeout;

/// On whose behalf the program itself acts.
const PRINCIPAL: &str = "default";
/// What a caller declares that has a person behind it.
const ANSWERS: &str = r#"{"elicitation":{"form":{},"url":{}}}"#;
/// The host's own limit says better what went wrong, so ours comes a little later.
const GRACE: Duration = Duration::from_millis(250);

/// Calls servers as the program itself. Unless somebody [answers](Self::answering)
/// it declares no capability: what a server asks back is refused at once.
#[derive(Debug)]
pub struct Caller {
    host: Arc<Host>,
    voices: Voices,
}

/// As whom we speak, in each era.
#[derive(Clone, Debug)]
pub(crate) struct Voices {
    legacy: Arc<Client>,
    modern: Arc<Client>,
}

impl Voices {
    fn of(client: impl Fn(Revision) -> Client) -> Self {
        Self {
            legacy: Arc::new(client(Revision::NEWEST_LEGACY)),
            modern: Arc::new(client(Revision::NEWEST)),
        }
    }
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
            plain(PRINCIPAL, revision).exclusive(Some(Bytes::from(greeting)))
        })
    }

    /// A caller with servers of its own and a person behind it, who answers what
    /// servers ask and says whether a call may go ahead.
    pub fn answering(host: Arc<Host>) -> Self {
        Self::with(host, |revision| {
            let info = client_info();
            let greeting = format!(
                "{{\"protocolVersion\":\"{revision}\",\"capabilities\":{ANSWERS},\"clientInfo\":{info}}}"
            );
            let client = Client::new(
                PRINCIPAL.into(),
                revision,
                Bytes::from_static(ANSWERS.as_bytes()),
                Arc::new(NoSink),
            );
            client.deciding(true).exclusive(Some(Bytes::from(greeting)))
        })
    }

    /// A caller that uses the copies that clients of a gateway use, so that
    /// they are warm when the first client comes.
    pub fn shared(host: Arc<Host>) -> Self {
        Self::shared_as(host, PRINCIPAL)
    }

    /// What waits for approval of a server, and what is not what it was.
    pub fn about_pins(&self, server: &Server) -> Vec<String> {
        self.host.guard().about_pins(server)
    }

    /// The same on behalf of another principal.
    pub fn shared_as(host: Arc<Host>, principal: &str) -> Self {
        Self::with(host, |revision| plain(principal, revision))
    }

    /// The same for the first principal, who hears what servers tell of themselves.
    pub fn hearing(host: Arc<Host>, sink: &Arc<dyn ClientSink>) -> Self {
        Self::with(host, |revision| {
            let nothing = Bytes::from_static(b"{}");
            Client::new(PRINCIPAL.into(), revision, nothing, sink.clone())
        })
    }

    fn with(host: Arc<Host>, client: impl Fn(Revision) -> Client) -> Self {
        Self {
            host,
            voices: Voices::of(client),
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
            match server.connection(&self.voices.legacy).await {
                Ok(connection) => return Ok(met(&self.voices.legacy, connection)),
                Err(CallError::EraMismatch { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
        server
            .connection(&self.voices.modern)
            .await
            .map(|connection| met(&self.voices.modern, connection))
    }

    /// One of its lists, whole.
    pub async fn list(&self, met: &Met, list: List) -> Result<Arc<Listing>, CallError> {
        met.connection.catalog().get(list, &met.connection).await
    }

    /// Its tools, as far as they may be seen.
    pub async fn tools(&self, met: &Met) -> Result<Vec<Item>, CallError> {
        self.list(met, List::Tools).await?;
        Ok(self
            .host
            .guard()
            .visible(&met.client, &met.server, List::Tools))
    }

    /// Its prompts, resources or templates, as far as they may be seen.
    pub async fn items(&self, met: &Met, list: List) -> Result<Vec<Item>, CallError> {
        self.list(met, list).await?;
        Ok(self.host.guard().visible(&met.client, &met.server, list))
    }

    /// Why something may not be used, if so, with everything that was looked at.
    pub fn explain(&self, met: &Met, what: What<'_>) -> Ruling {
        self.host.guard().explain(&met.client, &met.server, what)
    }

    /// The same for a server that nobody has met.
    pub fn explain_unmet(&self, server: &Server, what: What<'_>) -> Ruling {
        self.host.guard().explain(&self.voices.legacy, server, what)
    }

    /// Calls a tool by the server's own name for it, and follows the call to
    /// its end. `arguments` is the text of an object.
    pub async fn call(
        &self,
        met: &Met,
        tool: &str,
        arguments: &str,
        operator: &dyn Operator,
    ) -> Result<Reply, CallError> {
        let members = format!("\"name\":{},\"arguments\":{arguments}", json::quote(tool));
        let call = self.request(met, Method::ToolsCall, &members, operator);
        call.await
    }

    /// Makes any request; `members` is the text of its parameters' members.
    pub async fn request(
        &self,
        met: &Met,
        method: Method,
        members: &str,
        operator: &dyn Operator,
    ) -> Result<Reply, CallError> {
        let mut meta = vec![format!("\"{}\":1", meta::PROGRESS_TOKEN)];
        if met.client.era() == Era::Modern {
            let capabilities = String::from_utf8_lossy(&met.client.capabilities);
            meta.push(format!(
                "\"{}\":\"{}\"",
                meta::PROTOCOL_VERSION,
                met.client.revision
            ));
            meta.push(format!("\"{}\":{}", meta::CLIENT_INFO, client_info()));
            meta.push(format!("\"{}\":{capabilities}", meta::CLIENT_CAPABILITIES));
        }
        let params = format!("{{{members},\"_meta\":{{{}}}}}", meta.join(","));
        let message = Message::request(&Id::number(1), method, &params);
        let params = Params::of(&message)?;
        let (client, scope) = (met.client.clone(), Scope::One(met.server.clone()));
        let admitted = Admitted {
            client,
            scope,
            message,
            params,
            headers: None,
        };
        call_to_end(&self.host, admitted, operator).await
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

/// What to do about a server that wants a sign-in.
pub fn sign_in_hint(server: &Server) -> String {
    if can_sign_in(server) {
        format!("switchboard login {}", server.name())
    } else {
        "it refuses the token in the entry's \"headers\"".to_owned()
    }
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

fn plain(principal: &str, revision: Revision) -> Client {
    Client::new(
        principal.into(),
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
