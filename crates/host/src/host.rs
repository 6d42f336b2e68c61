//! All servers together.

use crate::{
    call::{self, Admitted},
    catalog::{Item, List, Merged, UriRoutes},
    client::{Client, ClientId},
    error::CallError,
    exchange::{Exchange, Notice},
    limits,
    permission::Guard,
    states::{State, StateEvents, States},
    upstream::{Server, ServerSpec, ServerState},
};
use futures_util::future::join_all;
use parking_lot::{Mutex, RwLock};
use std::{
    collections::HashMap,
    convert::Infallible,
    ops::Deref,
    sync::{Arc, Weak},
};
use switchboard_transport::Budget;
use switchboard_wire::{
    Era, Message,
    name::{Namer, Style},
};
use tokio::time::{Instant, sleep, timeout_at};

/// The servers, and what they are together.
#[derive(Debug)]
pub struct Host {
    /// Those of this moment. Readers take a copy of the pointer and no more.
    now: RwLock<Arc<Servers>>,
    style: Style,
    budget: Budget,
    guard: Arc<Guard>,
    /// What each principal sees, with the state of the catalogs it was made from.
    merged: Mutex<HashMap<View, (Stamp, Arc<Merged>)>>,
    /// Clients of all servers as one: they hear when servers come and go.
    clients: Mutex<HashMap<ClientId, Weak<Client>>>,
    states: Arc<States>,
}

/// Whose view of which list; nobody's is everything that there is.
type View = (Option<Arc<str>>, Era, List);

/// Which servers there were, and how often their lists had changed.
type Stamp = (u64, u64);

/// The servers of one moment, in the order they are configured, and who names
/// their things.
#[derive(Debug)]
pub struct Servers {
    list: Vec<Arc<Server>>,
    namer: Arc<Namer>,
    /// Counts changes of the set.
    number: u64,
}

impl Deref for Servers {
    type Target = [Arc<Server>];

    fn deref(&self) -> &[Arc<Server>] {
        &self.list
    }
}

impl Servers {
    fn new(list: Vec<Arc<Server>>, style: Style, number: u64) -> Arc<Self> {
        let namer = Arc::new(Namer::new(
            style,
            list.iter().map(|server| server.name().as_ref()),
        ));
        Arc::new(Self {
            list,
            namer,
            number,
        })
    }
}

impl Host {
    /// A host for these servers. Nothing is started until somebody needs it.
    pub fn new(specs: Vec<ServerSpec>, style: Style, budget: Budget) -> Arc<Self> {
        let servers: Vec<Arc<Server>> = specs
            .into_iter()
            .map(|spec| Server::new(spec, budget.clone()))
            .collect();
        let guard = Guard::new(servers.iter().map(|server| server.name().as_ref()));
        let host = Arc::new(Self {
            now: RwLock::new(Servers::new(servers, style, 0)),
            style,
            budget,
            guard: Arc::new(guard),
            merged: Mutex::default(),
            clients: Mutex::default(),
            states: Arc::default(),
        });
        for server in host.servers().iter() {
            server.report_to(&host);
            host.states.set(server.name(), State::Idle);
        }
        host
    }

    /// How all servers are doing: at first as it is now, then as it happens.
    ///
    /// ```
    /// use switchboard_host::{Host, State};
    /// # use switchboard_host::{ServerSpec, Target};
    /// # let end = |_| Ok(());
    /// # let specs = vec![ServerSpec::new("notes", Target::Linked(std::sync::Arc::new(end)))];
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    /// # runtime.block_on(async {
    /// let host = Host::new(specs, Default::default(), Default::default());
    /// let mut states = host.state_events();
    /// while let Some(event) = states.next().await {
    ///     println!("{} is {}", event.server, event.state); // notes is not-connected
    ///     # assert_eq!(event.state, State::Idle);
    ///     # break;
    /// }
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn state_events(&self) -> StateEvents {
        self.states.listen()
    }

    /// Notes what is configured and is no server: switched off, not approved,
    /// not usable. What was noted before and is neither is gone.
    pub fn set_aside(&self, others: impl IntoIterator<Item = (Arc<str>, State)>) {
        let servers = self.servers();
        let is_server = |name: &Arc<str>| servers.iter().any(|server| server.name() == name);
        let others: HashMap<Arc<str>, State> = others
            .into_iter()
            .filter(|(name, _)| !is_server(name))
            .collect();
        for name in self.states.names() {
            if !is_server(&name) && !others.contains_key(&name) {
                self.states.set(&name, State::Gone);
            }
        }
        for (name, state) in others {
            self.states.set(&name, state);
        }
    }

    /// A server says how it is doing. One that has been replaced says nothing more.
    pub(crate) fn server_is(&self, server: &Server, state: &ServerState) {
        if !server.is_retired() {
            self.states.set(server.name(), state.into());
        }
    }

    /// Every server, in the order they are configured now.
    pub fn servers(&self) -> Arc<Servers> {
        self.now.read().clone()
    }

    /// The server that a name or path segment stands for.
    pub fn server(&self, segment: &str) -> Option<Arc<Server>> {
        let now = self.servers();
        let name = now.namer.server(segment)?;
        now.iter()
            .find(|server| server.name().as_ref() == name)
            .cloned()
    }

    /// Who names things now.
    pub fn namer(&self) -> Arc<Namer> {
        self.now.read().namer.clone()
    }

    /// Changes the set of servers. Those that stay what they were
    /// ([`ServerSpec::identity`]) are not touched, the others are ended; one
    /// that comes instead of another takes over who listened to it. Clients are
    /// told. Whether anything changed.
    pub fn replace(self: &Arc<Self>, specs: Vec<ServerSpec>) -> bool {
        let changed = self.replace_after(specs, |_| Ok::<(), Infallible>(()));
        changed.unwrap_or_default()
    }

    /// The same; `first` sees the servers before anybody can reach them, so that
    /// the rules for them are there first. If it fails nothing changes.
    pub fn replace_after<E>(
        self: &Arc<Self>,
        specs: Vec<ServerSpec>,
        first: impl FnOnce(&[Arc<Server>]) -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut fresh = Vec::new();
        let (old, new) = {
            let mut now = self.now.write();
            let old = now.clone();
            let list: Vec<Arc<Server>> = specs
                .into_iter()
                .map(|spec| {
                    let before = old.iter().find(|server| *server.name() == spec.name);
                    if let Some(same) = before.filter(|server| server.spec.is_same(&spec)) {
                        return same.clone();
                    }
                    let server = Server::new(spec, self.budget.clone());
                    server.report_to(self);
                    fresh.push((server.clone(), before.cloned()));
                    server
                })
                .collect();
            let same = list.len() == old.len()
                && list.iter().zip(old.iter()).all(|(a, b)| Arc::ptr_eq(a, b));
            first(&list)?;
            if same {
                return Ok(false);
            }
            self.guard
                .set_servers(list.iter().map(|server| server.name().as_ref()));
            *now = Servers::new(list, self.style, old.number + 1);
            (old, now.clone())
        };
        for (server, before) in fresh {
            self.states.set(server.name(), State::Idle);
            if let Some(before) = before {
                server.succeed(&before);
            }
            for client in self.attached() {
                let server = server.clone();
                tokio::spawn(async move {
                    let _ = server.connection(&client).await;
                });
            }
        }
        let gone = |server: &&Arc<Server>| !new.iter().any(|kept| Arc::ptr_eq(kept, server));
        for server in old.iter().filter(gone) {
            let why = if new.iter().any(|other| other.name() == server.name()) {
                "its configuration has changed"
            } else {
                "it is not configured any more"
            };
            if !new.iter().any(|other| other.name() == server.name()) {
                self.states.set(server.name(), State::Gone);
            }
            let server = server.clone();
            tokio::spawn(async move { server.retire(why).await });
        }
        self.announce_all();
        Ok(true)
    }

    /// Tells clients of all servers as one to ask anew for everything.
    pub fn announce_all(&self) {
        self.announce(&List::ALL, Vec::new());
    }

    /// The server that took the place of one that was configured before; the
    /// same one where nothing did.
    pub fn current(&self, server: &Arc<Server>) -> Arc<Server> {
        if !server.is_retired() {
            return server.clone();
        }
        let now = self.servers();
        now.iter()
            .find(|other| other.name() == server.name())
            .unwrap_or(server)
            .clone()
    }

    /// Adds a client of all servers as one: it hears when they come and go.
    pub fn attach(&self, client: &Arc<Client>) {
        if client.addressable {
            let mut clients = self.clients.lock();
            if clients.len() >= limits::CLIENTS {
                clients.retain(|_, client| client.strong_count() > 0);
            }
            clients.insert(client.id, Arc::downgrade(client));
        }
    }

    fn attached(&self) -> Vec<Arc<Client>> {
        self.clients
            .lock()
            .values()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// Tells clients of all servers as one, and these others, that lists are
    /// not what they were.
    pub(crate) fn announce(&self, lists: &[List], others: Vec<Arc<Client>>) {
        let mut clients = self.attached();
        clients.extend(others);
        clients.sort_by_key(|client| client.id);
        clients.dedup_by_key(|client| client.id);
        let mut told = Vec::new();
        for list in lists {
            let method = list.change();
            if told.contains(&method) {
                continue;
            }
            told.push(method);
            let message = Message::notification(method, "{}");
            let ours: Arc<str> = "switchboard".into();
            for client in &clients {
                let notice = Notice {
                    method,
                    payload: message.payload(),
                    message: message.clone(),
                };
                client.sink().notice(&ours, notice);
            }
        }
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
        let now = self.servers();
        let stamp = self.stamp_of(&now, era);
        let all = whose.is_none();
        let view: View = (whose, era, list);
        if let Some((at, merged)) = self.merged.lock().get(&view)
            && *at == stamp
        {
            return merged.clone();
        }
        let lists: Vec<(Arc<Server>, Vec<Item>)> = now
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
        let merged = Arc::new(Merged::new(list, &lists, &now.namer, routes.as_ref()));
        let mut cache = self.merged.lock();
        if cache.len() >= limits::MERGED_VIEWS {
            cache.clear();
        }
        cache.insert(view, (stamp, merged.clone()));
        merged
    }

    /// A list over all servers. Servers that have not answered yet are waited for, but not for long.
    /// What is older than its server allows is fetched anew.
    pub async fn merged(&self, client: &Arc<Client>, list: List) -> Arc<Merged> {
        self.refresh_some(&self.servers(), client, &[list], true)
            .await;
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
        for server in self.servers().iter() {
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
    /// One slow or broken server delays the others by a few seconds at most,
    /// and one of which something is known from before by nothing: it corrects
    /// itself when it answers, and clients are told.
    pub async fn refresh(&self, client: &Arc<Client>, lists: &[List]) {
        self.refresh_some(&self.servers(), client, lists, false)
            .await;
    }

    /// The same for some of the servers; `fresh` asks anew for what is older
    /// than its server allows.
    pub(crate) async fn refresh_some(
        &self,
        servers: &[Arc<Server>],
        client: &Arc<Client>,
        lists: &[List],
        fresh: bool,
    ) {
        let deadline = Instant::now() + limits::FIRST_LIST;
        let reached = servers
            .iter()
            .filter(|server| self.guard.reaches(client, server));
        let each = reached.map(|server| refresh(server, client, lists, fresh, deadline));
        join_all(each).await;
    }

    /// Forgets a client that went away.
    pub fn detach(&self, client: &Client) {
        // First, so that what is being connected for it just now is not kept.
        client.leave();
        self.clients.lock().remove(&client.id);
        for server in self.servers().iter() {
            server.detach(client);
        }
    }

    /// Ends what a modern client with a key had for itself, where it is known to
    /// have gone.
    pub fn release(&self, client: &Client) {
        for server in self.servers().iter() {
            server.end_keyed(client);
        }
    }

    /// Ends all servers, side by side.
    pub async fn close(&self) {
        let servers = self.servers();
        join_all(servers.iter().map(|server| server.close())).await;
    }

    /// Counts changes of what a client may see: the same number means the same lists.
    pub(crate) fn list_version(&self, client: &Client) -> u64 {
        let (set, lists) = self.stamp_of(&self.servers(), client.era());
        lists.wrapping_add(set << 32)
    }

    fn stamp_of(&self, servers: &Servers, era: Era) -> Stamp {
        let generations = servers
            .iter()
            .map(|server| server.catalog(server.era_for(era)).generation());
        let sum: u64 = generations.sum();
        (servers.number, sum.wrapping_add(self.guard.version()))
    }
}

/// Brings one server's lists up to date, if it can be reached by then.
async fn refresh(
    server: &Arc<Server>,
    client: &Arc<Client>,
    lists: &[List],
    fresh: bool,
    deadline: Instant,
) {
    if server.is_known(client, lists) && server.current(client).is_none() {
        server.owe(client, lists);
        let (server, client) = (server.clone(), client.clone());
        // Starting many processes takes all there is of a small machine, and the
        // answer is known: it goes out first.
        tokio::spawn(async move {
            sleep(limits::KNOWN_PAUSE).await;
            if !client.has_left() {
                let _ = server.connection(&client).await;
            }
        });
        return;
    }
    // One that has kept others waiting keeps nobody waiting again.
    let deadline = match server.pending_since() {
        Some(since) => deadline.min(since + limits::FIRST_LIST),
        None => deadline,
    };
    let fetch = async {
        let connection = server.connection(client).await?;
        for list in lists {
            let catalog = server.catalog(connection.revision().era());
            match fresh {
                true => catalog.fresh(*list, &connection).await?,
                false => catalog.get(*list, &connection).await?,
            };
        }
        Ok::<(), CallError>(())
    };
    match timeout_at(deadline, fetch).await {
        Ok(Err(fault @ (CallError::Unreadable { .. } | CallError::TimedOut(_)))) => {
            tracing::warn!(server = %server.name(), %fault, "its lists could not be fetched and are left out");
        }
        Ok(Err(fault)) => {
            tracing::debug!(server = %server.name(), %fault, "its lists could not be fetched");
            server.owe(client, lists);
        }
        Err(_) => {
            server.owe(client, lists);
            // It may have come in the very moment.
            if let Some(connection) = server.current(client) {
                server.settle(connection);
            }
        }
        Ok(Ok(())) => {}
    }
}
