//! Host use: one server, spoken to by the program that embeds the host.

use crate::operator::{Operator, call_to_end};
use bytes::Bytes;
use std::{fmt, sync::Arc};
use switchboard_host::{
    CallError, Host,
    call::{Admitted, Scope},
    catalog::{Item, List},
    client::Client,
    permission::What,
    upstream::{Connection, Server},
};
use switchboard_wire::{ErrorObject, Kind, Message, Method, Params, code, json};

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

    /// One of the server's lists, whole, as far as it may be seen and used.
    pub async fn list(&self, list: List) -> Result<Vec<Item>, CallError> {
        let method = What::Method;
        self.host
            .guard()
            .check(&self.client, &self.server, method)?;
        let connection = self.connect().await?;
        connection.catalog().get(list, &connection).await?;
        Ok(self.host.guard().visible(&self.client, &self.server, list))
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
        let message = self.client.request(method, params)?;
        let params = Params::of(&message)?;
        let scope = Scope::One(self.server.clone());
        let admitted = Admitted {
            client: self.client.clone(),
            scope,
            message,
            params,
            headers: None,
        };
        let reply = call_to_end(&self.host, admitted, self.operator.as_ref()).await?;
        match reply.message.kind() {
            Kind::Error => Err(CallError::Refused(error(&reply.message))),
            _ => Ok(reply.message.body_bytes()),
        }
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
