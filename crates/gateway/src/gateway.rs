//! What all faces share.

use crate::{
    announcement::Announcement,
    cluster::Cluster,
    control::ControlAccess,
    kept::Keeping,
    limits,
    pages::{Pages, SharedPages},
    session::{
        finder::{Finder, ToolLists},
        parked::Lot,
    },
    visitors::Visitors,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};
use switchboard_host::{Host, Scope};
use switchboard_model::{Validators, limits::PATIENT_VALIDATION};

/// The downstream side as a whole.
#[derive(Debug)]
pub struct Gateway {
    host: Arc<Host>,
    options: GatewayOptions,
    lot: Arc<Lot>,
    validators: Validators,
    finder: Finder,
    /// Connections over the network that are open.
    pub(crate) connections: AtomicUsize,
    /// Requests that showed no token, or a wrong one.
    pub(crate) refused: AtomicU64,
}

/// What a gateway counts itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections over the network that are open.
    pub connections: usize,
    /// Calls that wait until their client comes back with answers.
    pub parked: usize,
    /// Requests that showed no token, or a wrong one.
    pub refused: u64,
}

/// How the gateway presents itself.
#[derive(Clone, Debug, Default)]
pub struct GatewayOptions {
    /// The version it tells clients.
    pub version: String,
    /// The one server that clients use under its own names unless they name another.
    pub single: Option<Arc<str>>,
    /// How long a call waits for its modern client's answers; ten minutes unless said otherwise.
    pub parked_for: Option<Duration>,
    /// What the control token opens, if anything.
    pub control: Option<ControlAccess>,
    /// What clients are told when they come in.
    pub announcement: Announcement,
    /// What clients of all servers as one are shown of the tools.
    pub tools: ToolLists,
    /// Where it is noted who is there.
    pub visitors: Visitors,
    /// Whether what a server listed last is told while it is away.
    pub keeps_lists: bool,
    /// What is shown to a browser, if anything.
    pub pages: Option<SharedPages>,
    /// Where sessions are kept that outlive this process, if they do.
    pub keeping: Option<Keeping>,
    /// The other replicas, if it is one of several.
    pub cluster: Option<Arc<Cluster>>,
}

impl Gateway {
    /// A gateway in front of `host`.
    pub fn new(host: Arc<Host>, options: GatewayOptions) -> Arc<Self> {
        let patience = options.parked_for.unwrap_or(limits::PARKED_FOR);
        let lot = Lot::new(patience, options.cluster.clone());
        let finder = Finder::new(options.tools.clone());
        if let Some(keeping) = &options.keeping {
            host.keep_tasks(Arc::new(keeping.clone()));
        }
        Arc::new(Self {
            host,
            options,
            lot,
            validators: Validators::new(PATIENT_VALIDATION),
            finder,
            connections: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
        })
    }

    /// What it counts itself, as it is now.
    pub fn counts(&self) -> Counts {
        Counts {
            connections: self.connections.load(Ordering::Relaxed),
            parked: self.lot.len(),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// The servers.
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// Where calls wait for their modern clients.
    pub(crate) fn lot(&self) -> &Arc<Lot> {
        &self.lot
    }

    /// What checks arguments where a face does that for its clients.
    pub(crate) fn validators(&self) -> &Validators {
        &self.validators
    }

    /// Tools that are searched for instead of listed.
    pub(crate) fn finder(&self) -> &Finder {
        &self.finder
    }

    /// Whether what a server listed last is told while it is away.
    pub(crate) fn keeps_lists(&self) -> bool {
        self.options.keeps_lists
    }

    /// Where sessions are kept that outlive this process.
    pub(crate) fn keeping(&self) -> Option<&Keeping> {
        self.options.keeping.as_ref()
    }

    /// The other replicas, if it is one of several.
    pub(crate) fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.options.cluster.as_ref()
    }

    /// The version it tells clients.
    pub fn version(&self) -> &str {
        if self.options.version.is_empty() {
            env!("CARGO_PKG_VERSION")
        } else {
            &self.options.version
        }
    }

    /// What a client that comes in now is told.
    pub(crate) fn announcement(&self) -> Option<Arc<str>> {
        self.options.announcement.get()
    }

    /// Who is there.
    pub(crate) fn visitors(&self) -> &Visitors {
        &self.options.visitors
    }

    /// Whether there is anything to show to a browser.
    pub fn has_pages(&self) -> bool {
        self.options.pages.is_some()
    }

    /// What is shown to a browser.
    pub(crate) fn pages(&self) -> Option<&dyn Pages> {
        self.options.pages.as_ref().map(|pages| &*pages.0)
    }

    /// What the control token opens.
    pub(crate) fn control(&self) -> Option<&ControlAccess> {
        self.options.control.as_ref()
    }

    /// Whom a client addresses that names no server.
    pub fn default_scope(&self) -> Scope {
        let single = self
            .options
            .single
            .as_ref()
            .and_then(|name| self.host.server(name));
        single.map_or(Scope::All, Scope::One)
    }
}
