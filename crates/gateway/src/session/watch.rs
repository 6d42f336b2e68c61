//! `subscriptions/listen`: a stream of the changes that a client asked for.

use super::{modern::Request, rewrite};
use crate::{gateway::Gateway, limits};
use bytes::Bytes;
use std::{fmt, sync::Arc};
use switchboard_host::{
    CallError, Client, ClientSink, Host, Input, NoSink, Notice, Scope, call::route_uri,
    permission::What,
};
use switchboard_wire::{Edits, Id, Message, Method, Params, Payload, Revision, code, json, meta};
use tokio::{sync::mpsc, time::timeout};

/// One open `subscriptions/listen`.
pub struct Listen {
    host: Arc<Host>,
    client: Arc<Client>,
    id: Id,
    acknowledgement: Option<Payload>,
    notices: mpsc::Receiver<Payload>,
}

/// What the client asked to hear of.
#[derive(Clone, Debug, Default)]
struct Filter {
    tools: bool,
    prompts: bool,
    resources: bool,
    updates: Vec<String>,
}

struct Sink {
    gateway: Arc<Gateway>,
    /// Stands for the client where its view of the catalog matters.
    viewer: Client,
    aggregate: bool,
    filter: Filter,
    id: Id,
    out: mpsc::Sender<Payload>,
}

impl Listen {
    /// Makes sure that the servers will tell us, then acknowledges.
    pub async fn open(gateway: &Arc<Gateway>, request: &Request) -> Result<Self, CallError> {
        let (scope, message) = (&request.scope, &request.message);
        let principal = request.principal.clone();
        let id = message.id().unwrap_or_else(|| Id::number(0));
        let filter = Filter::of(message)?;
        let (out, notices) = mpsc::channel(limits::STREAM_EVENTS);
        let aggregate = matches!(scope, Scope::All);
        let none = Bytes::from_static(b"{}");
        let viewer = Client::new(
            principal.clone(),
            Revision::NEWEST,
            none.clone(),
            Arc::new(NoSink),
        );
        let sink = Sink {
            gateway: gateway.clone(),
            viewer,
            aggregate,
            filter: filter.clone(),
            id: id.clone(),
            out,
        };
        let client = Client::new(principal, Revision::NEWEST, none, Arc::new(sink));
        let client = Arc::new(client.known_by(request.key.as_deref()));
        let host = gateway.host().clone();
        let mut listen = Self {
            host: host.clone(),
            client: client.clone(),
            id,
            acknowledgement: None,
            notices,
        };

        let honoured = match scope {
            Scope::One(server) => {
                host.guard().check(&client, server, What::Method)?;
                let connection = server.connection(&client).await?;
                for uri in &filter.updates {
                    connection.subscribe(&client, uri).await?;
                }
                connection.listen_again().await;
                filter.limited_to(&connection.acknowledged())
            }
            Scope::All => {
                host.attach(&client);
                let servers = host.servers();
                let reached = servers
                    .iter()
                    .filter(|server| host.guard().reaches(&client, server));
                let each = reached.map(|server| {
                    let client = client.clone();
                    async move {
                        if let Ok(connection) = server.connection(&client).await {
                            connection.listen_again().await;
                        }
                    }
                });
                let _ = timeout(limits::LISTEN_ACK, futures_util::future::join_all(each)).await;
                for uri in &filter.updates {
                    let (server, plain) = route_uri(&host, &client, Some(uri)).await?;
                    host.guard()
                        .check(&client, &server, What::Resource(&plain))?;
                    server
                        .connection(&client)
                        .await?
                        .subscribe(&client, &plain)
                        .await?;
                }
                filter
            }
        };
        let params = format!(
            "{{\"_meta\":{{\"{}\":{}}},\"notifications\":{}}}",
            meta::SUBSCRIPTION_ID,
            String::from_utf8_lossy(listen.id.token()),
            honoured.to_json()
        );
        listen.acknowledgement =
            Some(Message::notification(Method::SubscriptionAcknowledged, &params).payload());
        Ok(listen)
    }

    /// The next message: the acknowledgement first.
    pub async fn next(&mut self) -> Payload {
        if let Some(acknowledgement) = self.acknowledgement.take() {
            return acknowledgement;
        }
        match self.notices.recv().await {
            Some(notice) => notice,
            None => std::future::pending().await,
        }
    }

    /// What says that we end the stream, not an accident.
    pub fn farewell(&self) -> Payload {
        let id = String::from_utf8_lossy(self.id.token());
        let result = format!(
            "{{\"resultType\":\"complete\",\"_meta\":{{\"{}\":{id}}}}}",
            meta::SUBSCRIPTION_ID
        );
        Message::response(&self.id, &result).payload()
    }
}

impl Drop for Listen {
    fn drop(&mut self) {
        self.host.detach(&self.client);
    }
}

impl fmt::Debug for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listen")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

impl Filter {
    fn of(message: &Message) -> Result<Self, CallError> {
        let body = message.body();
        let wrong = |what: &str| {
            CallError::refused(code::INVALID_PARAMS, format!("Invalid params: {what}"))
        };
        let notifications =
            json::field(body, "notifications").map_err(|fault| wrong(&fault.to_string()))?;
        let filter = notifications
            .ok_or_else(|| wrong("\"notifications\" is missing"))?
            .of(body);
        Self::parse(filter).ok_or_else(|| wrong("\"notifications\" is not a filter"))
    }

    fn parse(raw: &[u8]) -> Option<Self> {
        let fields = [
            "toolsListChanged",
            "promptsListChanged",
            "resourcesListChanged",
            "resourceSubscriptions",
        ];
        let [tools, prompts, resources, updates] = json::fields(raw, fields).ok()?;
        let on = |span: Option<json::Span>| span.is_some_and(|span| span.of(raw) == b"true");
        let mut uris = Vec::new();
        if let Some(span) = updates {
            let array = span.of(raw);
            for element in json::elements(array) {
                uris.push(json::text(element.of(array))?.into_owned());
            }
        }
        Some(Self {
            tools: on(tools),
            prompts: on(prompts),
            resources: on(resources),
            updates: uris,
        })
    }

    /// The part of this that a server agreed to.
    fn limited_to(mut self, acknowledged: &Bytes) -> Self {
        if let Some(theirs) = Self::parse(acknowledged) {
            self.tools &= theirs.tools;
            self.prompts &= theirs.prompts;
            self.resources &= theirs.resources;
            self.updates.retain(|uri| theirs.updates.contains(uri));
        }
        self
    }

    fn to_json(&self) -> String {
        let mut parts = Vec::new();
        for (on, name) in [
            (self.tools, "toolsListChanged"),
            (self.prompts, "promptsListChanged"),
            (self.resources, "resourcesListChanged"),
        ] {
            if on {
                parts.push(format!("\"{name}\":true"));
            }
        }
        if !self.updates.is_empty() {
            let uris: Vec<String> = self.updates.iter().map(|uri| json::quote(uri)).collect();
            parts.push(format!("\"resourceSubscriptions\":[{}]", uris.join(",")));
        }
        format!("{{{}}}", parts.join(","))
    }

    fn wants(&self, method: Method) -> bool {
        match method {
            Method::ToolsListChanged => self.tools,
            Method::PromptsListChanged => self.prompts,
            Method::ResourcesListChanged => self.resources,
            // The connection knows who subscribed to what.
            Method::ResourceUpdated => true,
            _ => false,
        }
    }
}

impl ClientSink for Sink {
    fn notice(&self, server: &Arc<str>, notice: Notice) {
        if !self.filter.wants(notice.method) {
            return;
        }
        let message = &notice.message;
        let Ok(params) = Params::of(message) else {
            return;
        };
        let mut edits = Edits::new();
        let id = String::from_utf8_lossy(self.id.token());
        params.set_meta(
            message,
            &mut edits,
            params.subscription_id,
            meta::SUBSCRIPTION_ID,
            &id,
        );
        if self.aggregate {
            rewrite::notice_edits(
                &self.gateway,
                &self.viewer,
                server,
                message,
                &params,
                &mut edits,
            );
        }
        // A reader that stopped reading loses notices, not the stream.
        let _ = self.out.try_send(message.edited(&edits));
    }

    fn ask(&self, input: Input) {
        input.refuse_unsupported();
    }
}
