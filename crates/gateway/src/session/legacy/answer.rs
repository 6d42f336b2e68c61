//! What each request of a session leads to: an answer of our own, or one of the
//! server's, with what happens on the way.

use super::Session;
use crate::session::{
    Outlet, Weight,
    finder::{self, Taken},
    lists,
    older::{self, Between},
    own_answer, rewrite, tasks,
};
use std::sync::Arc;
use switchboard_host::{
    Admitted, CallError, Connection, Event, Outcome, Reply, Scope, call::route_uri, catalog::List,
    client::LOG_LEVELS, permission::What,
};
use switchboard_wire::{Id, Message, Method, Params, Payload, code};
use tokio::sync::oneshot;

impl Session {
    // What is rare in it is boxed, since every request has room for all of it.
    pub(super) async fn answer(
        &self,
        mut admitted: Box<Admitted>,
        outlet: Arc<dyn Outlet>,
        cancel: oneshot::Receiver<Message>,
    ) -> Result<Payload, CallError> {
        let id = admitted.message.id().unwrap_or_else(|| Id::number(0));
        if finder::concerns(&self.scope, &admitted.message, &admitted.params) {
            let Admitted {
                client,
                message,
                params,
                ..
            } = &mut *admitted;
            let taken = finder::take(&self.gateway, client, message, params);
            if let Taken::Answered(result) = Box::pin(taken).await? {
                return Ok(Message::response(&id, &result).payload());
            }
        }
        let message = &admitted.message;
        let empty = || Ok(Message::response(&id, "{}").payload());
        match message.method() {
            Method::Ping => empty(),
            Method::Initialize => Err(CallError::refused(
                code::INVALID_REQUEST,
                "this session has been initialized already",
            )),
            Method::Discover | Method::Listen => {
                let text = format!(
                    "{} is not part of {}",
                    message.method_name(),
                    self.client.revision
                );
                Err(CallError::refused(code::METHOD_NOT_FOUND, text))
            }
            Method::SetLevel => {
                Box::pin(self.set_level(message, &admitted.params)).await?;
                empty()
            }
            Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                Box::pin(self.subscribe(message, &admitted.params)).await?;
                empty()
            }
            Method::TasksList if matches!(self.scope, Scope::All) => {
                let result = Box::pin(tasks::page(&self.gateway, &self.client, message)).await?;
                own_answer(&self.client, &id, &result).await
            }
            method => match (List::of(method), &self.scope) {
                (Some(list), Scope::All) => {
                    let listed = lists::page(&self.gateway, &self.client, list, message);
                    let result = Box::pin(listed).await?;
                    own_answer(&self.client, &id, &result).await
                }
                _ => self.relay(admitted, &id, outlet, cancel).await,
            },
        }
    }

    /// Takes a request to its server and brings back what comes.
    async fn relay(
        &self,
        admitted: Box<Admitted>,
        id: &Id,
        outlet: Arc<dyn Outlet>,
        mut cancel: oneshot::Receiver<Message>,
    ) -> Result<Payload, CallError> {
        let method = admitted.message.method();
        let mut exchange = self.gateway.host().call(admitted).await?;
        let mut asked = Vec::new();
        loop {
            let event = tokio::select! {
                biased;
                event = exchange.next() => event,
                Ok(notice) = &mut cancel => {
                    exchange.cancel_as(&notice);
                    return Err(CallError::Cancelled);
                }
            };
            match event {
                Event::Notice(notice) => {
                    if self.desk.wants(&notice) {
                        let server = exchange.connection().server_name();
                        let weight = Weight::of(notice.method);
                        outlet.send(self.desk.addressed(server, notice), weight);
                    }
                }
                Event::Input(input) => asked.extend(self.desk.put(input, outlet.clone())),
                Event::Outcome(Outcome::Reply(mut reply)) => {
                    self.desk.withdraw(&asked, &outlet);
                    self.adapt(method, exchange.connection(), &mut reply)?;
                    return Ok(reply.payload(id));
                }
                Event::Outcome(Outcome::Failed(fault)) => {
                    self.desk.withdraw(&asked, &outlet);
                    return Err(fault);
                }
            }
        }
    }

    /// A server's answer as this client gets it.
    fn adapt(
        &self,
        method: Method,
        connection: &Arc<Connection>,
        reply: &mut Reply,
    ) -> Result<(), CallError> {
        let (gateway, client) = (&self.gateway, &self.client);
        let between = Between {
            client: client.revision,
            connection: connection.revision(),
        };
        match &self.scope {
            Scope::All => {
                let server = connection.server_name();
                let outward = |uri: &str| rewrite::outward(gateway, client, server, uri);
                let done = older::reply(&between, method, reply, outward);
                rewrite::reply(gateway, client, server, method, reply, &done);
            }
            Scope::One(server) => {
                older::reply(&between, method, reply, str::to_owned);
                lists::hide(gateway, server, client, method, connection, reply)?;
            }
        }
        Ok(())
    }

    async fn set_level(&self, message: &Message, params: &Params) -> Result<(), CallError> {
        let level = Params::text(message, params.level, "level")?;
        let known = level
            .as_deref()
            .and_then(|level| LOG_LEVELS.iter().position(|known| *known == level));
        let Some(known) = known else {
            let text = format!("\"level\" must be one of {}", LOG_LEVELS.join(", "));
            return Err(CallError::refused(code::INVALID_PARAMS, text));
        };
        let guard = self.gateway.host().guard();
        let servers = match &self.scope {
            Scope::One(server) => {
                guard.check(&self.client, server, What::Method)?;
                vec![server.clone()]
            }
            Scope::All => {
                let mut servers = self.gateway.host().servers().to_vec();
                servers.retain(|server| guard.reaches(&self.client, server));
                servers
            }
        };
        self.client.set_log_level(known as u8);
        self.desk.set_level(known as u8);
        for server in servers {
            if let Some(connection) = server.current(&self.client) {
                connection.set_level(self.client.id, known as u8).await?;
            }
        }
        Ok(())
    }

    async fn subscribe(&self, message: &Message, params: &Params) -> Result<(), CallError> {
        let (named, _) = params.named(message)?;
        let (server, named) = match (&self.scope, named) {
            (Scope::All, named) => {
                let uri = named.text().unwrap_or_default();
                let (server, own) = route_uri(self.gateway.host(), &self.client, uri).await?;
                (server, named.renamed(own))
            }
            (Scope::One(server), named) => (server.clone(), named),
        };
        let guard = self.gateway.host().guard();
        guard.check(&self.client, &server, What::from(&named))?;
        let uri = named.text().unwrap_or_default();
        let connection = server.connection(&self.client).await?;
        if message.method() == Method::ResourcesSubscribe {
            connection.subscribe(&self.client, uri).await
        } else {
            connection.unsubscribe(&self.client, uri).await
        }
    }
}
