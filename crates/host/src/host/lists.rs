//! Lists over all servers: what is known of them, what each principal sees, and
//! asking for what is not known.

use super::{
    Host, Late, Servers,
    fetch::Fetch,
    settled::{For, Seen},
};
use crate::{
    catalog::{Freshness, List, Made, Merged, Merging, Said, UriRoutes, changes},
    client::Client,
    error::CallError,
    limits,
    pins::Kind,
    upstream::Server,
};
use futures_util::future::join_all;
use std::{collections::HashMap, sync::Arc, time::Duration};
use switchboard_wire::Era;
use tokio::time::{Instant, timeout_at};

/// Whose view of which list, and whether it is what they may see or everything
/// that there is.
pub(super) type Viewed = (Whose, bool, Era, List);

/// Whose view it is: a principal's, or one client's where that has copies of its own.
pub(super) type Whose = (Arc<str>, Option<u64>);

/// A list that was merged.
#[derive(Debug)]
pub(super) struct View {
    /// Which servers there were.
    servers: u64,
    /// Which servers there were, which rules, and how much had changed of anything, when
    /// that was last looked at: while that is the same no server needs a look.
    seen: (u64, u64, u64),
    merged: Arc<Merged>,
}

/// Whose URIs are whose, as one principal sees it, with the state that it was made of.
pub(super) type Routes = HashMap<(Whose, Era), ((u64, u64, u64), Arc<UriRoutes>)>;

impl Host {
    /// A list over all servers, as far as it is known without asking.
    pub fn known(&self, client: &Client, list: List) -> Arc<Merged> {
        self.view(false, client, list)
    }

    /// The same with what is hidden from the client, to tell it from what is not there.
    pub(crate) fn everything(&self, client: &Client, list: List) -> Arc<Merged> {
        self.view(true, client, list)
    }

    fn view(&self, all: bool, client: &Client, list: List) -> Arc<Merged> {
        let now = self.servers();
        // Before anything is looked at: what changes meanwhile is looked at once more.
        let seen = self.seen(&now);
        let viewed: Viewed = (whose(&now, client), all, client.era(), list);
        if let Some(view) = self.merged.lock().get(&viewed)
            && view.seen == seen
        {
            return view.merged.clone();
        }
        let made = |server: &Arc<Server>| -> Made {
            (server.generation(client), self.guard.version_for(server))
        };
        let before = self.merged.lock().get(&viewed).and_then(|view| {
            let same = view.servers == now.number;
            same.then(|| view.merged.clone())
        });
        if let Some(before) = before.as_ref().filter(|before| before.is_of(made)) {
            self.keep_view(viewed, now.number, seen, before);
            return before.clone();
        }
        let routes =
            matches!(list, List::Resources | List::Templates).then(|| self.known_routes(client));
        let merging = Merging {
            list,
            servers: now.iter().map(|server| (server, made(server))).collect(),
            namer: &now.namer,
            routes: routes.as_deref(),
            before: before.as_deref(),
        };
        let merged = Arc::new(merging.merged(|server| match all {
            true => {
                let listing = server.listing(client, list);
                listing.map_or_else(Vec::new, |listing| listing.items.clone())
            }
            false => self.guard.visible(client, server, list),
        }));
        self.keep_view(viewed, now.number, seen, &merged);
        merged
    }

    /// The state of all that a merged list depends on, as numbers.
    fn seen(&self, servers: &Servers) -> (u64, u64, u64) {
        (servers.number, self.guard.version(), changes())
    }

    fn keep_view(&self, viewed: Viewed, servers: u64, seen: (u64, u64, u64), merged: &Arc<Merged>) {
        let mut cache = self.merged.lock();
        if cache.len() >= limits::MERGED_VIEWS && !cache.contains_key(&viewed) {
            cache.clear();
        }
        let merged = merged.clone();
        let view = View {
            servers,
            seen,
            merged,
        };
        cache.insert(viewed, view);
    }

    /// A list over all servers. Servers that have not answered yet are waited for, but not for long.
    /// What is older than its server allows is fetched anew.
    pub async fn merged(&self, client: &Arc<Client>, list: List) -> Arc<Merged> {
        self.merged_within(client, list, limits::FIRST_LIST).await.0
    }

    /// The same, where servers of which no list is known are waited for this long;
    /// with those that it is without since they were not there in time.
    pub async fn merged_within(
        &self,
        client: &Arc<Client>,
        list: List,
        wait: Duration,
    ) -> (Arc<Merged>, Vec<Late>) {
        let fetch = Fetch {
            client,
            lists: &[list],
            fresh: true,
            wait,
        };
        let late = fetch.all(self).await;
        (self.known(client, list), late)
    }

    /// How long a merged list is good for, and for whom.
    pub fn freshness(&self, client: &Arc<Client>, list: List) -> Freshness {
        let servers = self.servers();
        let seen = Seen::now(&servers, &self.guard);
        let fetch = Fetch {
            client,
            lists: &[list],
            fresh: true,
            wait: Duration::ZERO,
        };
        let whom = For::of(&fetch, &servers);
        if let Some(said) = whom.as_ref().and_then(|whom| self.settled.said(whom, seen)) {
            return said.now();
        }
        let said = Said::of_all(self, client, list);
        if let Some(whom) = whom {
            self.settled.note_said(&whom, seen, said);
        }
        said.now()
    }

    /// Waits for the server that a name speaks of, where its list is not known yet: as
    /// long as its start may take, and with the reason where it cannot be had. Whether
    /// there is something new to be found.
    pub(crate) async fn meet(
        &self,
        client: &Arc<Client>,
        list: List,
        outward: &str,
    ) -> Result<bool, CallError> {
        let server = self.namer().speaks_of(outward).map(str::to_owned);
        let server = server.and_then(|server| self.server(&server));
        let Some(server) = server.filter(|server| {
            self.guard.reaches(client, server) && !server.is_known(client, &[list])
        }) else {
            return Ok(false);
        };
        let connection = server.connection(client).await?;
        connection.catalog().get(list, &connection).await?;
        Ok(true)
    }

    /// Whose URIs are whose.
    pub async fn uri_routes(&self, client: &Arc<Client>) -> Arc<UriRoutes> {
        self.refresh(client, &[List::Resources, List::Templates])
            .await;
        self.known_routes(client)
    }

    /// The same, as far as it is known without asking.
    pub fn known_routes(&self, client: &Client) -> Arc<UriRoutes> {
        let now = self.servers();
        let seen = self.seen(&now);
        let whose = whose(&now, client);
        if let Some(known) = self.routes.lock().get(&(whose.clone(), client.era()))
            && known.0 == seen
        {
            return known.1.clone();
        }
        let pages = self.known(client, List::Tools).pages.clone();
        let mut routes = UriRoutes::of_pages(pages);
        for server in now.iter() {
            for list in [List::Resources, List::Templates] {
                routes.add(
                    server.name(),
                    &self.guard.visible(client, server, list),
                    list == List::Templates,
                );
            }
        }
        let routes = Arc::new(routes);
        let mut kept = self.routes.lock();
        if kept.len() >= limits::MERGED_VIEWS {
            kept.clear();
        }
        kept.insert((whose, client.era()), (seen, routes.clone()));
        routes
    }

    /// Connects to every server and fetches what is not known, side by side.
    /// One slow or broken server delays the others by a few seconds at most,
    /// and one of which something is known from before by nothing: it corrects
    /// itself when it answers, and clients are told.
    pub async fn refresh(&self, client: &Arc<Client>, lists: &[List]) {
        let fetch = Fetch {
            client,
            lists,
            fresh: false,
            wait: wait_for(lists),
        };
        fetch.all(self).await;
    }

    /// Has servers that are connected now, and of which something is pinned, say
    /// what they have, so that it can be told what of it is not what it was.
    pub async fn compare_pinned(&self, client: &Arc<Client>) {
        let deadline = Instant::now() + limits::KNOWN_LIST;
        let servers = self.servers();
        let known = servers.iter().filter_map(|server| {
            let connection = server.current(client)?;
            let new = !connection.is_judged(Kind::Tools) && self.guard.knows(client, server);
            new.then_some(connection)
        });
        let each = known.map(async |connection| {
            let tools = connection.catalog().get(List::Tools, &connection);
            let _ = timeout_at(deadline, tools).await;
        });
        join_all(each).await;
    }

    /// The same for some of the servers; `fresh` asks anew for what is older
    /// than its server allows.
    pub async fn refresh_some(
        &self,
        servers: &[Arc<Server>],
        client: &Arc<Client>,
        lists: &[List],
        fresh: bool,
    ) {
        let fetch = Fetch {
            client,
            lists,
            fresh,
            wait: wait_for(lists),
        };
        fetch.some(&self.guard, servers).await;
    }

    /// Counts changes of what a client may see: the same number means the same lists.
    pub fn list_version(&self, client: &Client) -> u64 {
        let servers = self.servers();
        let generations = servers.iter().map(|server| server.generation(client));
        let sum: u64 = generations.sum();
        let lists = sum.wrapping_add(self.guard.version());
        lists.wrapping_add(servers.number << 32)
    }
}

/// How long lists are waited for. Who only wants to know who servers are does not wait
/// for long.
fn wait_for(lists: &[List]) -> Duration {
    match lists.is_empty() {
        true => limits::KNOWN_LIST,
        false => limits::FIRST_LIST,
    }
}

/// Whose view a client has: its principal's, or its own where a server may have a
/// copy for it alone.
fn whose(servers: &Servers, client: &Client) -> Whose {
    let alone = client.exclusive || servers.has_copies;
    (client.principal.clone(), alone.then_some(client.identity))
}
