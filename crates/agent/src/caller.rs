//! As whom a program uses servers itself, without a client in front.

use crate::{dialogue::Dialogue, operator::Nobody};
use bytes::Bytes;
use std::{fmt, sync::Arc};
use switchboard_host::{CallError, Client, ClientSink, Host, NoSink, Server};
use switchboard_wire::Revision;

/// On whose behalf the program itself acts.
const PRINCIPAL: &str = "default";
/// What a caller declares that has a person behind it.
const ANSWERS: &str = r#"{"elicitation":{"form":{},"url":{}}}"#;
const NOTHING: &str = "{}";

/// Whoever uses the servers of a host as the program itself; with each it has a
/// [`Dialogue`]. Unless somebody [answers](Self::answering) it declares no capability:
/// what a server asks back is refused at once.
#[derive(Clone)]
pub struct Caller {
    host: Arc<Host>,
    client: Arc<Client>,
}

impl Caller {
    /// A caller with servers of its own: they are greeted with what it can do.
    pub fn new(host: Arc<Host>) -> Self {
        let client = own(NOTHING, &our_info());
        Self::with(host, client)
    }

    /// A caller with servers of its own and a person behind it, who answers what
    /// servers ask and says whether a call may go ahead.
    pub fn answering(host: Arc<Host>) -> Self {
        let client = own(ANSWERS, &our_info()).deciding(true);
        Self::with(host, client)
    }

    /// A caller that uses the copies that clients of a gateway use, on behalf of this
    /// principal, so that they are warm when the first client comes.
    pub fn shared_as(host: Arc<Host>, principal: &str) -> Self {
        Self::with(
            host,
            client(principal, NOTHING, Arc::new(NoSink)).looking_after(),
        )
    }

    /// The same for the first principal, who hears what servers tell of themselves.
    pub fn hearing(host: Arc<Host>, sink: &Arc<dyn ClientSink>) -> Self {
        Self::with(
            host,
            client(PRINCIPAL, NOTHING, sink.clone()).looking_after(),
        )
    }

    fn with(host: Arc<Host>, client: Client) -> Self {
        let client = Arc::new(client);
        Self { host, client }
    }

    /// A dialogue with a server. Nothing is started yet.
    pub fn to(&self, server: &Arc<Server>) -> Dialogue {
        let (host, client) = (self.host.clone(), self.client.clone());
        Dialogue::new(host, client, server.clone(), Arc::new(Nobody))
    }

    /// A dialogue with a server that is connected, within its connect time-out.
    pub async fn meet(&self, server: &Arc<Server>) -> Result<Dialogue, CallError> {
        let dialogue = self.to(server);
        dialogue.meet().await?;
        Ok(dialogue)
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").finish_non_exhaustive()
    }
}

/// A client with servers of its own, which are greeted as it says. Both are JSON text.
pub(crate) fn own(capabilities: &str, info: &str) -> Client {
    let revision = Revision::NEWEST_LEGACY;
    let greeting = format!(
        "{{\"protocolVersion\":\"{revision}\",\"capabilities\":{capabilities},\"clientInfo\":{info}}}"
    );
    let client = client(PRINCIPAL, capabilities, Arc::new(NoSink));
    client.exclusive(Some(Bytes::from(greeting)))
}

fn client(principal: &str, capabilities: &str, sink: Arc<dyn ClientSink>) -> Client {
    Client::new(
        principal.into(),
        Revision::NEWEST_LEGACY,
        Bytes::from(capabilities.to_owned()),
        sink,
    )
}

fn our_info() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("{{\"name\":\"switchboard\",\"version\":\"{version}\"}}")
}
