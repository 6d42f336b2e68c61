//! Servers as an agent uses them: tools ready for a model API, `tool_use` in,
//! `tool_result` out.
//!
//! An [`Agent`] starts its servers when they are needed, shows their tools in
//! the form of a model API ([`Agent::tools`]), calls them
//! ([`Agent::call`]), asks its [`Operator`] where rules or servers want an
//! answer, and brings results into a size that a model can read. [`builder`]
//! says how; the crate `switchboard` shows a whole loop.
//!
//! [`builder`]: Agent::builder

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod build;
mod call;
mod caller;
mod dialogue;
mod events;
mod instructions;
mod limits;
mod operator;
mod own_tools;
mod prompts;
mod resources;
pub mod skills;
mod sub;
mod toolset;

pub use build::{AgentBuilder, BuildFault};
pub use caller::Caller;
pub use dialogue::Dialogue;
pub use events::AgentEvent;
pub use operator::{Form, Nobody, Offers, Operator, Question, call_to_end};
pub use prompts::{PromptCommand, PromptFault};
pub use sub::{SubAgent, SubFault};
pub use toolset::{Inventory, Toolset};

use events::Watchers;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::Arc,
};
use switchboard_host::{
    CallError, Client, Host, Server,
    catalog::List,
    permission::{Effect, Mode, Origin},
};
use switchboard_model::{Validators, search, shape::Shaper};
use tokio::sync::broadcast;

/// Servers as one agent uses them. Cheap to clone; all clones are the same agent.
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

struct Inner {
    groups: Vec<Group>,
    operator: Arc<dyn Operator>,
    setup: Setup,
    validators: Validators,
    /// The tools as they were last seen, with the state of the lists.
    seen: Mutex<Option<(u64, Arc<Inventory>)>>,
    /// Tools that a search found: they are shown from then on.
    found: Mutex<HashSet<String>>,
    events: broadcast::Sender<AgentEvent>,
    /// The instructions that were told last, by server.
    told: Mutex<BTreeMap<String, String>>,
    _watchers: Watchers,
}

/// Some servers of one host, and as whom the agent speaks to them.
#[derive(Clone)]
struct Group {
    host: Arc<Host>,
    client: Arc<Client>,
    servers: Vec<Arc<Server>>,
    queues: Queues,
    /// Whether the host ends with the agent.
    own: bool,
}

/// One queue for each server: calls that may change something go one after the other.
type Queues = Arc<Mutex<HashMap<Arc<str>, Arc<tokio::sync::Mutex<()>>>>>;

/// What a sub-agent inherits.
#[derive(Clone)]
struct Setup {
    mode: Option<Mode>,
    rules: Vec<(Effect, String, Origin)>,
    trusted: Vec<String>,
    shaper: Shaper,
    /// The model's context window, in tokens.
    window: usize,
    search: search::Mode,
}

impl Agent {
    /// Starts to describe an agent.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }

    /// Connects to all servers, side by side, and says what became of each.
    /// Not needed: whatever uses a server connects to it.
    pub async fn connect(&self) -> Vec<(Arc<str>, Result<(), CallError>)> {
        let each = self.places().map(|(group, server)| async move {
            let connected = server.connection(&group.client).await.map(drop);
            (server.name().clone(), connected)
        });
        join_all(each).await
    }

    /// The tools of all servers as they are now. Servers that have not
    /// answered yet are waited for, but not for long.
    pub async fn tools(&self) -> Toolset {
        self.refresh(&[List::Tools]).await;
        self.known_tools()
    }

    /// What happens from now on: servers that come and go, calls that start and end.
    pub fn events(&self) -> broadcast::Receiver<AgentEvent> {
        self.inner.events.subscribe()
    }

    /// The servers' names.
    pub fn servers(&self) -> Vec<Arc<str>> {
        self.places()
            .map(|(_, server)| server.name().clone())
            .collect()
    }

    /// Ends the servers that this agent started itself. Those that it shares go on.
    pub async fn close(&self) {
        let own = self.inner.groups.iter().filter(|group| group.own);
        join_all(own.map(|group| group.host.close())).await;
    }

    fn places(&self) -> impl Iterator<Item = (&Group, &Arc<Server>)> {
        self.inner
            .groups
            .iter()
            .flat_map(|group| group.servers.iter().map(move |server| (group, server)))
    }

    fn place(&self, server: &str) -> Option<(&Group, &Arc<Server>)> {
        self.places()
            .find(|(_, known)| known.name().as_ref() == server)
    }

    async fn refresh(&self, lists: &[List]) {
        let each = self.inner.groups.iter().map(|group| {
            group
                .host
                .refresh_some(&group.servers, &group.client, lists, true)
        });
        join_all(each).await;
    }

    fn tell(&self, event: AgentEvent) {
        // Nobody has to listen.
        let _ = self.inner.events.send(event);
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("servers", &self.servers())
            .finish_non_exhaustive()
    }
}
