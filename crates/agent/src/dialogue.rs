//! One server, spoken to by the program itself: without a client in front, in
//! whichever era the server has (the bridge sees to that).

use crate::operator::{Operator, call_to_end};
use bytes::Bytes;
use std::{fmt, sync::Arc};
use switchboard_host::{
    Admitted, CallError, Client, Connection, Hello, Host, Reply, Scope, Server,
    catalog::{Item, List, Listing},
    permission::{Ruling, What},
};
use switchboard_wire::{ErrorObject, Kind, Message, Method, code, json, meta};
use tokio::time::timeout;

/// One server as the embedding program speaks to it: under the server's own
/// names, with an operator who answers what it asks.
#[derive(Clone)]
pub struct Dialogue {
    host: Arc<Host>,
    client: Arc<Client>,
    server: Arc<Server>,
    operator: Arc<dyn Operator>,
}

impl Dialogue {
    /// Speaks to `server` as `client`. Nothing is started yet.
    pub fn new(
        host: Arc<Host>,
        client: Arc<Client>,
        server: Arc<Server>,
        operator: Arc<dyn Operator>,
    ) -> Self {
        Self {
            host,
            client,
            server,
            operator,
        }
    }

    /// The same dialogue with another operator.
    pub fn with_operator(&self, operator: Arc<dyn Operator>) -> Self {
        Self {
            operator,
            ..self.clone()
        }
    }

    /// The server.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// The connection, made if there is none.
    pub async fn connect(&self) -> Result<Arc<Connection>, CallError> {
        self.server.connection(&self.client).await
    }

    /// The same, within the time that the server has for it.
    pub(crate) async fn meet(&self) -> Result<Arc<Connection>, CallError> {
        let allowed = self.server.spec.timeouts.connect;
        match timeout(allowed + crate::limits::GRACE, self.connect()).await {
            Ok(met) => met,
            Err(_) => Err(CallError::NotConnected {
                server: self.server.name().to_string(),
                reason: format!("did not start within {allowed:?}"),
            }),
        }
    }

    /// One of the server's lists, whole, whoever may see what of it.
    pub async fn listing(&self, list: List) -> Result<Arc<Listing>, CallError> {
        let connection = self.connect().await?;
        connection.catalog().get(list, &connection).await
    }

    /// One of the server's lists, as far as it may be seen.
    pub async fn items(&self, list: List) -> Result<Vec<Arc<Item>>, CallError> {
        self.listing(list).await?;
        Ok(self.host.guard().visible(&self.client, &self.server, list))
    }

    /// The same as far as it is known without asking.
    pub fn known_items(&self, list: List) -> Option<Vec<Arc<Item>>> {
        self.server.listing(&self.client, list)?;
        Some(self.host.guard().visible(&self.client, &self.server, list))
    }

    /// One of the server's lists as far as it is known, whoever may see what of it.
    pub fn known_listing(&self, list: List) -> Option<Arc<Listing>> {
        self.server.listing(&self.client, list)
    }

    /// What the server says about itself: now, or when it was last met.
    pub fn hello(&self) -> Option<Hello> {
        self.server.hello(&self.client)
    }

    /// The same of a server that may be used at all.
    pub async fn list(&self, list: List) -> Result<Vec<Arc<Item>>, CallError> {
        let guard = self.host.guard();
        guard.check(&self.client, &self.server, What::Method)?;
        self.items(list).await
    }

    /// Why something may not be used, if so, with everything that was looked at. Starts
    /// nothing.
    pub fn explain(&self, what: What<'_>) -> Ruling {
        self.host.guard().explain(&self.client, &self.server, what)
    }

    /// The canonical name of a tool of the server's.
    pub fn canonical(&self, tool: &str) -> String {
        self.host
            .guard()
            .canonical(&self.client, &self.server, tool)
    }

    /// Whether anything of what the server lists was pinned.
    pub fn is_pinned(&self) -> bool {
        self.host.guard().knows(&self.client, &self.server)
    }

    /// What of the server waits for approval, and what is not what it was.
    pub fn about_pins(&self) -> Vec<String> {
        self.host.guard().about_pins(&self.server)
    }

    /// Calls a tool; `arguments` is the text of an object. Gives the text of the result.
    pub async fn call_tool(&self, name: &str, arguments: &str) -> Result<Bytes, CallError> {
        let params = format!(
            "{{\"name\":{},\"arguments\":{arguments}}}",
            json::quote(name)
        );
        self.request(Method::ToolsCall, &params).await
    }

    /// Makes a request; `params` is the text of an object. Gives the text of
    /// the result; the server's own error is [`CallError::Refused`].
    pub async fn request(&self, method: Method, params: &str) -> Result<Bytes, CallError> {
        let reply = self.send(method, params, self.operator.as_ref()).await?;
        match reply.message.kind() {
            Kind::Error => Err(CallError::Refused(error(&reply.message))),
            _ => Ok(reply.message.body_bytes()),
        }
    }

    /// Makes a request and gives the answer as it came; whoever answers the server's
    /// questions hears of its progress as well. `members` is the text of what the
    /// parameters have.
    pub async fn follow(
        &self,
        method: Method,
        members: &str,
        operator: &dyn Operator,
    ) -> Result<Reply, CallError> {
        let token = meta::PROGRESS_TOKEN;
        let params = format!("{{{members},\"_meta\":{{\"{token}\":1}}}}");
        self.send(method, &params, operator).await
    }

    /// Calls a tool in that way.
    pub async fn follow_tool(
        &self,
        name: &str,
        arguments: &str,
        operator: &dyn Operator,
    ) -> Result<Reply, CallError> {
        let members = format!("\"name\":{},\"arguments\":{arguments}", json::quote(name));
        self.follow(Method::ToolsCall, &members, operator).await
    }

    async fn send(
        &self,
        method: Method,
        params: &str,
        operator: &dyn Operator,
    ) -> Result<Reply, CallError> {
        let scope = Scope::One(self.server.clone());
        let admitted = Admitted::own(&self.client, scope, method, params)?;
        call_to_end(&self.host, admitted, operator).await
    }
}

/// The error that a server answered with.
fn error(message: &Message) -> ErrorObject {
    let body = message.body();
    let data = json::field(body, "data").ok().flatten();
    ErrorObject {
        code: message.error_code().unwrap_or(code::INTERNAL),
        message: message.error_text().unwrap_or_default(),
        data: data.and_then(|span| serde_json::from_slice(span.of(body)).ok()),
    }
}

impl fmt::Debug for Dialogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialogue")
            .field("server", self.server.name())
            .finish_non_exhaustive()
    }
}
