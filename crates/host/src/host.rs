//! All servers together: who uses them, and how they are doing. The set itself is
//! in `host/servers.rs`, their lists as one in `host/lists.rs`.

mod fetch;
mod lists;
mod principals;
mod servers;
mod settled;
mod task_book;
mod upkeep;

pub use fetch::Late;
pub(crate) use servers::Servers;

use crate::{
    call::{self, Admitted, Scope},
    catalog::List,
    client::{Client, ClientId},
    desk::Desk,
    error::CallError,
    exchange::{Exchange, Notice},
    limits,
    observe::{MessageSwitch, Observer, Observers, Origin, Shown, Watched},
    permission::{Guard, Rules},
    states::{State, StateEvents, States},
    upstream::{Server, ServerSpec, ServerState, Target},
};
use futures_util::future::join_all;
use lists::{Routes, View, Viewed};
use parking_lot::{Mutex, RwLock};
pub use principals::Comers;
use principals::Principals;
use settled::Settled;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, OnceLock, Weak, atomic::AtomicBool},
};
use switchboard_transport::Budget;
use switchboard_wire::{Message, name::Style};
pub use task_book::TaskBook;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// The servers, and what they are together.
#[derive(Debug)]
pub struct Host {
    /// Those of this moment. Readers take a copy of the pointer and no more.
    now: RwLock<Arc<Servers>>,
    style: Style,
    budget: Budget,
    guard: Arc<Guard>,
    desk: Arc<Desk>,
    /// What each principal sees, with the state of the catalogs it was made from.
    merged: Mutex<HashMap<Viewed, View>>,
    /// Whose URIs are whose, as each principal sees it.
    routes: Mutex<Routes>,
    /// Which servers had nothing to be waited for, when they were last looked at.
    settled: Settled,
    /// Clients of all servers as one: they hear when servers come and go.
    clients: Mutex<HashMap<ClientId, Weak<Client>>>,
    states: Arc<States>,
    principals: Principals,
    observers: Arc<Observers>,
    /// Clients that are there although each of their requests comes for itself, by
    /// their identities.
    present: Mutex<HashSet<u64>>,
    /// Whether somebody looks after the servers.
    looked_after: AtomicBool,
    /// Servers that are out of use and still ending.
    leaving: TaskTracker,
    /// Where it is kept whose tasks are whose, if it is.
    task_book: OnceLock<Arc<dyn TaskBook>>,
}

impl Host {
    /// A host for these servers, under these rules: who wants none of them says so
    /// ([`Rules::everything_allowed`]). Nothing is started until somebody needs it.
    pub fn new(specs: Vec<ServerSpec>, rules: Rules, style: Style, budget: Budget) -> Arc<Self> {
        let servers: Vec<Arc<Server>> = specs
            .into_iter()
            .map(|spec| Server::new(spec, budget.clone()))
            .collect();
        let names = servers.iter().map(|server| server.name().as_ref());
        let guard = Guard::new(names, rules);
        let host = Arc::new(Self {
            now: RwLock::new(Servers::new(servers, style, 0)),
            style,
            budget,
            guard: Arc::new(guard),
            desk: Desk::new(),
            merged: Mutex::default(),
            routes: Mutex::default(),
            settled: Settled::default(),
            clients: Mutex::default(),
            states: Arc::default(),
            principals: Principals::default(),
            observers: Arc::default(),
            present: Mutex::default(),
            looked_after: AtomicBool::new(false),
            leaving: TaskTracker::new(),
            task_book: OnceLock::new(),
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
    /// use switchboard_host::{Host, State, permission::Rules};
    /// # use switchboard_host::{ServerSpec, Target};
    /// # let end = |_| Ok(());
    /// # let specs = vec![ServerSpec::new("notes", Target::Linked(std::sync::Arc::new(end)))];
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    /// # runtime.block_on(async {
    /// let rules = Rules::everything_allowed();
    /// let host = Host::new(specs, rules, Default::default(), Default::default());
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

    /// Tells clients of all servers as one to ask anew for everything.
    pub fn announce_all(&self) {
        self.announce(&List::ALL, Vec::new());
    }

    /// Machines that run servers have come, or offer others: those that failed are tried
    /// anew, and clients are told to ask for what they list.
    pub fn far_anew(&self) {
        let servers = self.servers();
        let far = servers
            .iter()
            .filter(|server| matches!(server.spec.target, Target::Far(_)));
        let mut any = false;
        for server in far {
            any |= server.try_anew();
        }
        if any {
            self.announce_all();
        }
    }

    /// Tells one principal's clients of all servers as one to ask anew for tools.
    pub fn announce_tools(&self, principal: &str) {
        self.announce_to(Some(principal), &[List::Tools], Vec::new());
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
        self.announce_to(None, lists, others);
    }

    /// The same where it is one principal's lists alone that are others now.
    pub(crate) fn announce_to(
        &self,
        principal: Option<&str>,
        lists: &[List],
        others: Vec<Arc<Client>>,
    ) {
        let mut clients = self.attached();
        clients.retain(|client| principal.is_none_or(|one| *one == *client.principal));
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

    /// What waits for a person.
    pub fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }

    /// Takes a request to its server.
    pub fn call(
        &self,
        admitted: impl Into<Box<Admitted>>,
    ) -> impl Future<Output = Result<Exchange, CallError>> {
        call::call(self, admitted.into(), Origin::Client)
    }

    /// Takes a request of the program's own to its server.
    pub fn call_own(
        &self,
        admitted: impl Into<Box<Admitted>>,
    ) -> impl Future<Output = Result<Exchange, CallError>> {
        call::call(self, admitted.into(), Origin::Own)
    }

    /// Takes a request to its server that is part of a call which is watched as a
    /// whole: by what [`Host::watch`] gives.
    pub fn call_within(
        &self,
        admitted: impl Into<Box<Admitted>>,
    ) -> impl Future<Output = Result<Exchange, CallError>> {
        call::counted(self, admitted.into(), None)
    }

    /// A call of the program's own begins that takes several requests; none where
    /// nobody watches it.
    pub fn watch(&self, admitted: &Admitted) -> Option<Box<Watched>> {
        Watched::begin(&self.observers, admitted, Origin::Own)
    }

    /// A client's request begins that is answered without a server; none where nobody
    /// watches it.
    pub fn watch_own(&self, admitted: &Admitted) -> Option<Box<Watched>> {
        Watched::begin(&self.observers, admitted, Origin::Client)
    }

    /// Lets somebody watch all calls that begin from now on.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.observers.add(observer);
    }

    /// What has messages shown, or no longer, to an observer that wants to see them at
    /// times.
    pub fn message_switch(&self) -> MessageSwitch {
        MessageSwitch::new(self.observers.clone())
    }

    /// A client's request has come: where its messages are shown, if anybody wants to see
    /// them. Whoever calls this shows all that crosses between it and its client.
    #[inline]
    pub fn shows(
        &self,
        principal: &Arc<str>,
        scope: &Scope,
        message: &Message,
    ) -> Option<Arc<Shown>> {
        if !self.observers.want_messages() {
            return None;
        }
        let server = match scope {
            Scope::One(server) => Some(server.name()),
            Scope::All => None,
        };
        let shown = Shown::new(&self.observers, principal, server);
        shown.from_client(message);
        Some(shown)
    }

    /// Whether somebody wants to know which trace a request is a part of, so that faces
    /// with headers look there.
    pub fn wants_traces(&self) -> bool {
        self.observers.want_traces()
    }

    pub(crate) fn observers(&self) -> &Arc<Observers> {
        &self.observers
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
        self.present.lock().remove(&client.identity);
        for server in self.servers().iter() {
            server.end_keyed(client);
        }
    }

    /// Ends all servers, side by side.
    pub async fn close(&self) {
        let servers = self.servers();
        join_all(servers.iter().map(|server| server.close())).await;
        self.leaving.close();
        let _ = timeout(limits::CLOSING, self.leaving.wait()).await;
    }
}
