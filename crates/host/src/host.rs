//! All servers together.

use crate::{
    call::{self, Admitted},
    catalog::{Item, List, Merged, UriRoutes},
    client::Client,
    error::CallError,
    exchange::Exchange,
    limits,
    permission::Guard,
    upstream::{Server, ServerSpec},
};
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc};
use switchboard_transport::Budget;
use switchboard_wire::{
    Era,
    name::{Namer, Style},
};
use tokio::time::{Instant, timeout_at};

/// The servers, and what they are together.
#[derive(Debug)]
pub struct Host {
    servers: Vec<Arc<Server>>,
    namer: Namer,
    budget: Budget,
    guard: Arc<Guard>,
    /// What each principal sees, with the state of the catalogs it was made from.
    merged: Mutex<HashMap<View, (u64, Arc<Merged>)>>,
}

/// Whose view of which list; nobody's is everything that there is.
type View = (Option<Arc<str>>, Era, List);

impl Host {
    /// A host for these servers. Nothing is started until somebody needs it.
    pub fn new(specs: Vec<ServerSpec>, style: Style, budget: Budget) -> Arc<Self> {
        let servers: Vec<Arc<Server>> = specs
            .into_iter()
            .map(|spec| Server::new(spec, budget.clone()))
            .collect();
        let namer = Namer::new(style, servers.iter().map(|server| server.name().as_ref()));
        let guard = Guard::new(servers.iter().map(|server| server.name().as_ref()));
        Arc::new(Self {
            servers,
            namer,
            budget,
            guard: Arc::new(guard),
            merged: Mutex::default(),
        })
    }

    /// Every server, in the order they were configured.
    pub fn servers(&self) -> &[Arc<Server>] {
        &self.servers
    }

    /// The server that a name or path segment stands for.
    pub fn server(&self, segment: &str) -> Option<Arc<Server>> {
        let name = self.namer.server(segment)?;
        self.servers
            .iter()
            .find(|server| server.name().as_ref() == name)
            .cloned()
    }

    /// Who names things.
    pub fn namer(&self) -> &Namer {
        &self.namer
    }

    /// What large messages in memory are counted against.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Who decides what may be seen and reached.
    pub fn guard(&self) -> &Arc<Guard> {
        &self.guard
    }

    /// Takes a request to its server.
    pub async fn call(&self, admitted: Admitted) -> Result<Exchange, CallError> {
        call::call(self, admitted).await
    }

    /// A list over all servers, as far as it is known without asking.
    pub fn known(&self, client: &Client, list: List) -> Arc<Merged> {
        self.view(Some(client.principal.clone()), client, list)
    }

    /// The same with what is hidden from the client, to tell it from what is not there.
    pub(crate) fn everything(&self, client: &Client, list: List) -> Arc<Merged> {
        self.view(None, client, list)
    }

    fn view(&self, whose: Option<Arc<str>>, client: &Client, list: List) -> Arc<Merged> {
        let era = client.era();
        let stamp = self.stamp(era);
        let all = whose.is_none();
        let view: View = (whose, era, list);
        if let Some((at, merged)) = self.merged.lock().get(&view)
            && *at == stamp
        {
            return merged.clone();
        }
        let lists: Vec<(Arc<Server>, Vec<Item>)> = self
            .servers
            .iter()
            .map(|server| {
                let items = if all {
                    let known = server.catalog(server.era_for(era)).known(list);
                    known
                        .map(|listing| listing.items.clone())
                        .unwrap_or_default()
                } else {
                    self.guard.visible(client, server, list)
                };
                (server.clone(), items)
            })
            .collect();
        let routes =
            matches!(list, List::Resources | List::Templates).then(|| self.known_routes(client));
        let merged = Arc::new(Merged::new(list, &lists, &self.namer, routes.as_ref()));
        let mut cache = self.merged.lock();
        if cache.len() >= limits::MERGED_VIEWS {
            cache.clear();
        }
        cache.insert(view, (stamp, merged.clone()));
        merged
    }

    /// A list over all servers. Servers that have not answered yet are waited for, but not for long.
    pub async fn merged(&self, client: &Arc<Client>, list: List) -> Arc<Merged> {
        self.refresh(client, &[list]).await;
        self.known(client, list)
    }

    /// Whose URIs are whose.
    pub async fn uri_routes(&self, client: &Arc<Client>) -> UriRoutes {
        self.refresh(client, &[List::Resources, List::Templates])
            .await;
        self.known_routes(client)
    }

    /// The same, as far as it is known without asking.
    pub fn known_routes(&self, client: &Client) -> UriRoutes {
        let mut routes = UriRoutes::default();
        for server in &self.servers {
            for list in [List::Resources, List::Templates] {
                routes.add(
                    server.name(),
                    &self.guard.visible(client, server, list),
                    list == List::Templates,
                );
            }
        }
        routes
    }

    /// Connects to every server and fetches what is not known, side by side.
    /// One slow or broken server delays the others by a few seconds at most.
    pub async fn refresh(&self, client: &Arc<Client>, lists: &[List]) {
        self.refresh_some(&self.servers, client, lists).await;
    }

    /// The same for some of the servers.
    pub(crate) async fn refresh_some(
        &self,
        servers: &[Arc<Server>],
        client: &Arc<Client>,
        lists: &[List],
    ) {
        let deadline = Instant::now() + limits::FIRST_LIST;
        let reached = servers
            .iter()
            .filter(|server| self.guard.reaches(client, server));
        let each = reached.map(|server| async move {
            let fetch = async {
                let connection = server.connection(client).await?;
                for list in lists {
                    server.catalog(connection.revision().era()).get(*list, &connection).await?;
                }
                Ok::<(), CallError>(())
            };
            match timeout_at(deadline, fetch).await {
                Ok(Err(fault @ (CallError::Unreadable { .. } | CallError::TimedOut(_)))) => {
                    tracing::warn!(server = %server.name(), %fault, "its lists could not be fetched and are left out");
                }
                Ok(Err(fault)) => tracing::debug!(server = %server.name(), %fault, "its lists could not be fetched"),
                Ok(Ok(())) | Err(_) => {}
            }
        });
        join_all(each).await;
    }

    /// Forgets a client that went away.
    pub fn detach(&self, client: &Client) {
        for server in &self.servers {
            server.detach(client);
        }
    }

    /// Ends all servers, side by side.
    pub async fn close(&self) {
        join_all(self.servers.iter().map(|server| server.close())).await;
    }

    /// Counts changes of what a client may see: the same number means the same lists.
    pub(crate) fn list_version(&self, client: &Client) -> u64 {
        self.stamp(client.era())
    }

    fn stamp(&self, era: Era) -> u64 {
        self.servers
            .iter()
            .map(|server| server.catalog(server.era_for(era)).generation())
            .sum::<u64>()
            .wrapping_add(self.guard.version())
    }
}
