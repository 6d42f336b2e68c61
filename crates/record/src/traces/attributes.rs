//! What spans say, in the words of OpenTelemetry's conventions for MCP and for
//! generative AI, and in ours where those have none. Never what was asked with or
//! answered, and never an error's text.

use crate::limits;
use opentelemetry::KeyValue;
use std::borrow::Cow;
use switchboard_host::observe::{Begin, Departing, Origin};
use switchboard_local::{secret, visible};
use switchboard_wire::{Message, Method};

/// What a request is about, the same in each of its spans.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// What the client asks for.
    method: Method,
    /// The attribute that names it, and the name.
    named: Option<(&'static str, String)>,
}

impl Subject {
    pub(super) fn of(call: &Begin<'_>) -> Self {
        let method = call.method;
        let key = match method {
            Method::ToolsCall => Some("gen_ai.tool.name"),
            Method::PromptsGet => Some("gen_ai.prompt.name"),
            Method::ResourcesRead => Some("mcp.resource.uri"),
            _ => None,
        };
        let named = key.zip(call.name.map(|name| short(&secret::text(name))));
        Self { method, named }
    }

    /// The name of a method. One that we do not know can be anything.
    fn method_name(method: Method) -> &'static str {
        match method {
            Method::Other => "_OTHER",
            known => known.as_str(),
        }
    }

    /// The name of a span for a request of this method. Addresses are too many to be
    /// a part of it.
    pub(super) fn span_name(&self, method: Method) -> Cow<'static, str> {
        match &self.named {
            Some((key, name)) if method == self.method && *key != "mcp.resource.uri" => {
                format!("{} {name}", method.as_str()).into()
            }
            _ => Self::method_name(method).into(),
        }
    }

    /// What it says of itself in a span for a request of this method.
    fn attributes(&self, method: Method) -> Vec<KeyValue> {
        let mut all = vec![KeyValue::new("mcp.method.name", Self::method_name(method))];
        if let Some((key, name)) = self.named.as_ref().filter(|_| method == self.method) {
            all.push(KeyValue::new(*key, name.clone()));
            if method == Method::ToolsCall {
                all.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
            }
        }
        all
    }

    /// What is said of a client's request.
    pub(super) fn of_client(&self, call: &Begin<'_>) -> Vec<KeyValue> {
        let client = call.client;
        let mut all = self.attributes(self.method);
        let mut add = |key: &'static str, value: String| all.push(KeyValue::new(key, value));
        add("mcp.protocol.version", client.revision.to_string());
        // Who has greeted us has a session.
        if client.greeting.is_some() {
            add("mcp.session.id", client.id.to_string());
        }
        if let Some(name) = call.client_name() {
            add("switchboard.client.name", short(&name));
        }
        add("switchboard.principal", client.principal.to_string());
        add("switchboard.call.number", call.number.to_string());
        if let Some(server) = call.server {
            add("mcp.server.name", server.to_string());
        }
        let carrier = match (call.origin, client.address) {
            (Origin::Own, _) => "inproc",
            (Origin::Client, Some(_)) => "tcp",
            (Origin::Client, None) => "pipe",
        };
        add("network.transport", carrier.into());
        all
    }

    /// What is said of a request to a server.
    pub(super) fn of_server(&self, request: &Departing<'_>) -> Vec<KeyValue> {
        let mut all = self.attributes(request.method);
        all.extend([
            KeyValue::new("mcp.server.name", request.server.to_string()),
            KeyValue::new("mcp.protocol.version", request.revision.to_string()),
            KeyValue::new("jsonrpc.request.id", request.number.to_string()),
            KeyValue::new("network.transport", request.carrier),
        ]);
        all
    }
}

/// The id of a request.
pub(super) fn id(message: &Message) -> Option<KeyValue> {
    let id = message.id()?.as_text();
    Some(KeyValue::new("jsonrpc.request.id", short(&id)))
}

/// A text of somebody else's, in one line that is not long.
fn short(text: &str) -> String {
    visible::line(text)
        .chars()
        .take(limits::TRACE_NAME)
        .collect()
}
