//! What each request of a session leads to: an answer of our own, or one of the
//! server's, with what happens on the way.

use super::Session;
use crate::session::{
    Outlet, Weight,
    finder::{self, Taken},
    in_flight::GivenUp,
    lists, mcp_tasks,
    older::{self, Between},
    own_answer, rewrite,
    steps::{Step, Steps, to_the_end},
};
use std::sync::Arc;
use switchboard_host::{
    Admitted, CallError, Connection, Event, Exchange, LOG_LEVELS, Outcome, Reply, Scope,
    catalog::List, permission::What, route_uri,
};
use switchboard_wire::{Id, Message, Method, Params, Payload, code};

impl Session {
    // What is rare in it is boxed, since every request has room for all of it.
    pub(super) async fn answer(
        &self,
        mut admitted: Box<Admitted>,
        outlet: Arc<dyn Outlet>,
        given_up: GivenUp,
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
                let result =
                    Box::pin(mcp_tasks::page(&self.gateway, &self.client, message)).await?;
                own_answer(&self.client, &id, &result).await
            }
            method => match (List::of(method), &self.scope) {
                (Some(list), Scope::All) => {
                    let (gateway, client) = (&self.gateway, &self.client);
                    let name = self.name.as_deref();
                    let listed = lists::page(gateway, client, name, list, message);
                    let listed = Box::pin(listed).await?;
                    if let Some(remark) = &listed.remark {
                        self.to_client.tell_at(remark, &*outlet);
                    }
                    own_answer(&self.client, &id, &listed.result).await
                }
                _ => self.relay(admitted, &id, outlet, given_up).await,
            },
        }
    }

    /// Takes a request to its server and brings back what comes.
    async fn relay(
        &self,
        admitted: Box<Admitted>,
        id: &Id,
        outlet: Arc<dyn Outlet>,
        mut given_up: GivenUp,
    ) -> Result<Payload, CallError> {
        let method = admitted.message.method();
        // Its server may take long to be there: what is given up before is not sent.
        let called = given_up.or(self.gateway.host().call(admitted)).await;
        let mut relayed = Relayed {
            session: self,
            exchange: called.map_err(|_| CallError::Cancelled)??,
            outlet: &outlet,
            asked: Vec::new(),
        };
        match to_the_end(&mut relayed, &mut given_up, &*outlet).await {
            Ok(reply) => {
                let mut reply = reply?;
                self.adapt(method, relayed.exchange.connection(), &mut reply)?;
                Ok(reply.payload(id))
            }
            Err(notice) => {
                relayed.exchange.cancel_as(&notice);
                Err(CallError::Cancelled)
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
        self.to_client.set_level(known as u8);
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

/// A request of a session at its server. What the server asks meanwhile is put to
/// the client, and answered while the request goes on.
struct Relayed<'a> {
    session: &'a Session,
    exchange: Exchange,
    outlet: &'a Arc<dyn Outlet>,
    /// The questions that it has led to.
    asked: Vec<u64>,
}

impl Steps for Relayed<'_> {
    type End = Result<Reply, CallError>;

    async fn next(&mut self) -> Step<Self::End> {
        let to_client = &self.session.to_client;
        loop {
            match self.exchange.next().await {
                Event::Notice(notice) if to_client.wants(&notice) => {
                    let server = self.exchange.connection().server_name();
                    let weight = Weight::of(notice.method);
                    return Step::Notice(to_client.addressed(server, notice), weight);
                }
                Event::Notice(_) => {}
                Event::Input(input) => self.asked.extend(to_client.put(input, self.outlet.clone())),
                Event::Outcome(outcome) => {
                    to_client.withdraw(&self.asked, self.outlet);
                    return Step::Done(match outcome {
                        Outcome::Reply(reply) => Ok(reply),
                        Outcome::Failed(fault) => Err(fault),
                    });
                }
            }
        }
    }
}
