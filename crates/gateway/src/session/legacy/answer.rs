//! What each request of a session leads to: an answer of our own, or one of the
//! server's, with what happens on the way.

use super::{Answered, Session};
use crate::session::{
    Outlet, Weight,
    finder::{self, Taken},
    in_flight::GivenUp,
    lists, mcp_tasks,
    older::{self, Between},
    own_answer, rewrite,
    steps::{Step, Steps, to_the_end},
    told,
};
use std::{pin::pin, sync::Arc};
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
    ) -> Result<Answered, CallError> {
        let id = admitted.message.id().unwrap_or_else(|| Id::number(0));
        if self.answers(&admitted)
            && let Some(answer) = Box::pin(self.own(&mut admitted, &id, &*outlet)).await?
        {
            return Ok(Answered::Whole(answer));
        }
        self.relay(admitted, &id, outlet, given_up).await
    }

    /// Whether a request is for us, or may be.
    fn answers(&self, admitted: &Admitted) -> bool {
        let is_all = matches!(self.scope, Scope::All);
        match admitted.message.method() {
            Method::Ping
            | Method::Initialize
            | Method::Discover
            | Method::Listen
            | Method::SetLevel
            | Method::ResourcesSubscribe
            | Method::ResourcesUnsubscribe => true,
            Method::ToolsCall => finder::concerns(&self.scope, &admitted.message, &admitted.params),
            Method::TasksList => is_all,
            method => is_all && List::of(method).is_some(),
        }
    }

    /// Answers a request ourselves, and tells those who watch; nothing where it is for a
    /// server after all.
    async fn own(
        &self,
        admitted: &mut Admitted,
        id: &Id,
        outlet: &dyn Outlet,
    ) -> Result<Option<Payload>, CallError> {
        let watched = self.gateway.host().watch_own(admitted);
        let answer = self.own_answer(admitted, id, outlet).await;
        match answer {
            Ok(None) => {
                if let Some(watched) = watched {
                    watched.forget();
                }
                Ok(None)
            }
            Ok(Some(answer)) => {
                told(watched, Ok(answer.len())).await?;
                Ok(Some(answer))
            }
            Err(fault) => {
                told(watched, Err(&fault)).await?;
                Err(fault)
            }
        }
    }

    async fn own_answer(
        &self,
        admitted: &mut Admitted,
        id: &Id,
        outlet: &dyn Outlet,
    ) -> Result<Option<Payload>, CallError> {
        let Admitted {
            client,
            message,
            params,
            ..
        } = admitted;
        let empty = || Ok(Some(Message::response(id, "{}").payload()));
        let result = match message.method() {
            Method::ToolsCall => {
                return Ok(
                    match finder::take(&self.gateway, client, message, params).await? {
                        Taken::Answered(result) => Some(Message::response(id, &result).payload()),
                        Taken::No | Taken::Turned => None,
                    },
                );
            }
            Method::Ping => return empty(),
            Method::Initialize => {
                let text = "this session has been initialized already";
                return Err(CallError::refused(code::INVALID_REQUEST, text));
            }
            Method::SetLevel => {
                self.set_level(message, params).await?;
                return empty();
            }
            Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                self.subscribe(message, params).await?;
                return empty();
            }
            Method::TasksList => mcp_tasks::page(&self.gateway, &self.client, message).await?,
            method => match List::of(method) {
                Some(list) => self.listed(list, message, outlet).await?,
                None => {
                    let (method, revision) = (message.method_name(), self.client.revision);
                    let text = format!("{method} is not part of {revision}");
                    return Err(CallError::refused(code::METHOD_NOT_FOUND, text));
                }
            },
        };
        Ok(Some(own_answer(&self.client, id, &result).await?))
    }

    /// A page of what all servers have. What it is without is told beside it.
    async fn listed(
        &self,
        list: List,
        message: &Message,
        outlet: &dyn Outlet,
    ) -> Result<String, CallError> {
        let (gateway, client) = (&self.gateway, &self.client);
        let name = client.said_name().map(|name| &**name);
        let listed = lists::page(gateway, client, name, list, message).await?;
        if let Some(remark) = &listed.remark {
            self.to_client.tell_at(remark, outlet);
        }
        Ok(listed.result)
    }

    /// Takes a request to its server and brings back what comes.
    async fn relay(
        &self,
        admitted: Box<Admitted>,
        id: &Id,
        outlet: Arc<dyn Outlet>,
        mut given_up: GivenUp,
    ) -> Result<Answered, CallError> {
        let method = admitted.message.method();
        // Its server may take long to be there: what is given up before is not sent.
        let called = {
            let call = pin!(self.gateway.host().call(admitted));
            given_up.or(call).await
        };
        let called = called.map_err(|notice| {
            show_given_up(&*outlet, &notice);
            CallError::Cancelled
        });
        let exchange = match called? {
            Ok(exchange) => exchange,
            Err(fault) => {
                let kept = lists::kept(&self.gateway, &self.client, &self.scope, method, &fault);
                let kept = kept.map(|result| Message::response(id, &result).payload());
                return kept.map(Answered::Whole).ok_or(fault);
            }
        };
        let mut relayed = Relayed {
            session: self,
            exchange,
            outlet: &outlet,
            asked: Vec::new(),
        };
        match to_the_end(&mut relayed, &mut given_up, &*outlet).await {
            Ok(Outcome::Begun(begun)) => Ok(Answered::Begun(begun, id.clone())),
            Ok(Outcome::Failed(fault)) => Err(fault),
            Ok(Outcome::Reply(mut reply)) => {
                self.adapt(method, relayed.exchange.connection(), &mut reply)?;
                Ok(Answered::Whole(reply.payload(id)))
            }
            Err(notice) => {
                show_given_up(&*outlet, &notice);
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
        self.wanted.lock().level = Some(known as u8);
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
        let topic = (server.name().to_string(), uri.to_owned());
        if message.method() == Method::ResourcesSubscribe {
            connection.subscribe(&self.client, uri).await?;
            self.wanted.lock().subscriptions.insert(topic);
        } else {
            connection.unsubscribe(&self.client, uri).await?;
            self.wanted.lock().subscriptions.remove(&topic);
        }
        Ok(())
    }
}

/// Shows by what a client gave its request up, if anybody sees its messages.
fn show_given_up(outlet: &dyn Outlet, notice: &Message) {
    if let Some(shown) = outlet.shown() {
        shown.from_client(notice);
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
    type End = Outcome;

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
                    return Step::Done(outcome);
                }
            }
        }
    }
}
