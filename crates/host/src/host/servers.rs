//! The set of servers: who is in it, by which name, and changing it while clients
//! are there.

use super::Host;
use crate::{
    states::State,
    upstream::{Isolation, Server, ServerSpec},
};
use std::{collections::HashMap, convert::Infallible, ops::Deref, sync::Arc};
use switchboard_tasks as tasks;
use switchboard_wire::name::{Namer, Style};

/// The servers of one moment, in the order they are configured, and who names
/// their things.
#[derive(Debug)]
pub struct Servers {
    list: Vec<Arc<Server>>,
    pub(super) namer: Arc<Namer>,
    /// Counts changes of the set.
    pub(super) number: u64,
    /// Where each is in the list.
    by_name: HashMap<Arc<str>, usize>,
    /// Whether one of them may have a copy for one client alone.
    pub(super) has_copies: bool,
}

impl Deref for Servers {
    type Target = [Arc<Server>];

    fn deref(&self) -> &[Arc<Server>] {
        &self.list
    }
}

impl Servers {
    pub(super) fn new(list: Vec<Arc<Server>>, style: Style, number: u64) -> Arc<Self> {
        let namer = Arc::new(Namer::new(
            style,
            list.iter().map(|server| server.name().as_ref()),
        ));
        let places = list.iter().enumerate();
        let by_name = places.map(|(at, server)| (server.name().clone(), at));
        Arc::new(Self {
            by_name: by_name.collect(),
            has_copies: list
                .iter()
                .any(|server| server.spec.isolation == Isolation::Session),
            list,
            namer,
            number,
        })
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Option<&Arc<Server>> {
        self.list.get(*self.by_name.get(name)?)
    }
}

impl Host {
    /// Every server, in the order they are configured now.
    pub fn servers(&self) -> Arc<Servers> {
        self.now.read().clone()
    }

    /// The server that a name or path segment stands for.
    pub fn server(&self, segment: &str) -> Option<Arc<Server>> {
        let now = self.servers();
        let name = now.namer.server(segment)?;
        now.named(name).cloned()
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
                tasks::spawn(tasks::Kind::Background, async move {
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
            tasks::spawn_in(&self.leaving, tasks::Kind::Background, async move {
                server.retire(why).await;
            });
        }
        self.announce_all();
        Ok(true)
    }

    /// The server that took the place of one that was configured before; the
    /// same one where nothing did.
    pub fn current(&self, server: &Arc<Server>) -> Arc<Server> {
        if !server.is_retired() {
            return server.clone();
        }
        let now = self.servers();
        now.named(server.name()).unwrap_or(server).clone()
    }
}
