//! From a description to an agent.

use super::{Agent, Group, Inner, Setup, events};
use crate::{
    caller, limits,
    operator::{Nobody, Operator},
};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::{collections::HashSet, io, path::PathBuf, sync::Arc};
use switchboard_host::{
    Client, Host, ServerSpec,
    permission::{Answers, AnswersFault, Effect, Mode, Origin, RuleFault, Rules},
};
use switchboard_model::{
    Validators, search,
    shape::{Options, Shaper, Store},
};
use switchboard_transport::Budget;
use switchboard_wire::name::Style;
use tokio::sync::broadcast;

/// What an [`Agent`] is made of.
#[derive(Default)]
pub struct AgentBuilder {
    servers: Vec<ServerSpec>,
    host: Option<Arc<Host>>,
    mode: Option<Mode>,
    operator: Option<Arc<dyn Operator>>,
    rules: Vec<(Effect, String, Origin)>,
    trusted: Vec<String>,
    answers: Option<PathBuf>,
    results: Option<PathBuf>,
    window: Option<usize>,
    search: search::Mode,
    limits: Options,
    name: Option<(String, String)>,
}

/// Why an agent cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BuildFault {
    /// Nobody said who decides about calls.
    #[error(
        "an agent needs an operator or a permission mode: without either nobody decides about calls"
    )]
    NobodyDecides,
    /// Two servers of one name.
    #[error("there are two servers named {0:?}")]
    TwoOfOneName(String),
    /// A rule that means nothing.
    #[error("{0}")]
    Rule(#[from] RuleFault),
    /// Remembered answers that cannot be read.
    #[error("{0}")]
    Answers(#[from] AnswersFault),
    /// A directory for large results that cannot be used.
    #[error("large results cannot be kept in {path}: {fault}")]
    Results {
        /// Where.
        path: String,
        /// Why.
        fault: io::Error,
    },
}

impl AgentBuilder {
    /// Adds a server. It is started when it is first needed.
    pub fn server(mut self, server: ServerSpec) -> Self {
        self.servers.push(server);
        self
    }

    /// Uses the servers of a host that exists, with the rules that it has.
    pub fn over(mut self, host: Arc<Host>) -> Self {
        self.host = Some(host);
        self
    }

    /// Who answers what rules and servers ask.
    pub fn operator(mut self, operator: Arc<dyn Operator>) -> Self {
        self.operator = Some(operator);
        self
    }

    /// Who decides about tools that no rule is about. With an operator and
    /// without this, it is asked about each ([`Mode::Default`]).
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// These tools (`mcp__server__tool`, `mcp__server__*`) are called without a question.
    pub fn allow(self, rule: impl Into<String>) -> Self {
        self.rule(Effect::Allow, rule)
    }

    /// These tools are asked about every time.
    pub fn ask(self, rule: impl Into<String>) -> Self {
        self.rule(Effect::Ask, rule)
    }

    /// These tools are neither shown nor called.
    pub fn deny(self, rule: impl Into<String>) -> Self {
        self.rule(Effect::Deny, rule)
    }

    fn rule(mut self, effect: Effect, rule: impl Into<String>) -> Self {
        let origin = Origin::user("the agent's builder");
        self.rules.push((effect, rule.into(), origin));
        self
    }

    /// What this server says of its own tools counts.
    pub fn trust(mut self, server: impl Into<String>) -> Self {
        self.trusted.push(server.into());
        self
    }

    /// Answers that are meant to last are kept in this directory.
    pub fn remember_in(mut self, dir: impl Into<PathBuf>) -> Self {
        self.answers = Some(dir.into());
        self
    }

    /// Results that are too large for a model are kept in this directory, and
    /// the model gets a tool to read them in parts.
    pub fn keep_results_in(mut self, dir: impl Into<PathBuf>) -> Self {
        self.results = Some(dir.into());
        self
    }

    /// The model's context window in tokens; 200,000 unless told otherwise.
    pub fn context_window(mut self, tokens: usize) -> Self {
        self.window = Some(tokens);
        self
    }

    /// When tools wait to be searched for: the meaning of `ENABLE_TOOL_SEARCH`.
    pub fn tool_search(mut self, mode: search::Mode) -> Self {
        self.search = mode;
        self
    }

    /// How large results may be.
    pub fn result_limits(mut self, limits: Options) -> Self {
        self.limits = limits;
        self
    }

    /// Who servers are told that they speak to.
    pub fn client_info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.name = Some((name.into(), version.into()));
        self
    }

    /// The agent. Nothing is started yet.
    pub fn build(self) -> Result<Agent, BuildFault> {
        let mode = match (self.mode, &self.operator, &self.host) {
            (Some(mode), _, _) => Some(mode),
            (None, Some(_), None) => Some(Mode::Default),
            (None, _, Some(_)) => None,
            (None, None, None) => return Err(BuildFault::NobodyDecides),
        };
        let operator = self.operator.unwrap_or_else(|| Arc::new(Nobody));
        let mut shaper = Shaper {
            store: None,
            options: self.limits,
        };
        if let Some(dir) = self.results {
            let path = dir.display().to_string();
            let store = Store::open(dir).map_err(|fault| BuildFault::Results { path, fault })?;
            shaper.store = Some(store);
        }
        let setup = Setup {
            mode,
            rules: self.rules,
            trusted: self.trusted,
            shaper,
            window: self.window.unwrap_or(limits::CONTEXT_WINDOW),
            search: self.search,
        };
        let client = client(operator.as_ref(), self.name);
        let mut groups = Vec::new();
        if let Some(host) = self.host {
            groups.push(Group {
                servers: host.servers().to_vec(),
                host,
                client: client.clone(),
                queues: Arc::default(),
                own: false,
            });
        }
        if !self.servers.is_empty() || groups.is_empty() {
            let answers = match self.answers {
                Some(dir) => Arc::new(Answers::open(dir)?),
                None => Arc::default(),
            };
            groups.push(setup.group(self.servers, client, answers)?);
        }
        let mut names = HashSet::new();
        for server in groups.iter().flat_map(|group| &group.servers) {
            if !names.insert(server.name().clone()) {
                return Err(BuildFault::TwoOfOneName(server.name().to_string()));
            }
        }
        Ok(Agent::assemble(groups, operator, setup))
    }
}

impl Setup {
    /// A host of our own for these servers, under these rules.
    pub(super) fn group(
        &self,
        servers: Vec<ServerSpec>,
        client: Arc<Client>,
        answers: Arc<Answers>,
    ) -> Result<Group, BuildFault> {
        let names = servers.iter().map(|server| server.name.as_ref());
        let mut rules = Rules::builder(names, self.mode.unwrap_or(Mode::Default)).answers(answers);
        for (effect, text, origin) in &self.rules {
            rules = rules.rule(*effect, text, origin.clone());
        }
        for server in &self.trusted {
            rules = rules.trust(server);
        }
        let (rules, faults) = rules.build();
        if let Some(fault) = faults.into_iter().next() {
            return Err(fault.into());
        }
        let host = Host::new(servers, rules, Style::Full, Budget::default());
        Ok(Group {
            servers: host.servers().to_vec(),
            host,
            client,
            queues: Arc::default(),
            own: true,
        })
    }
}

impl Agent {
    pub(super) fn assemble(groups: Vec<Group>, operator: Arc<dyn Operator>, setup: Setup) -> Self {
        let (events, _) = broadcast::channel(limits::AGENT_EVENTS);
        let watchers = events::watch(&groups, &events);
        Self {
            inner: Arc::new(Inner {
                groups,
                operator,
                setup,
                validators: Validators::new(limits::PATIENT_VALIDATION),
                seen: Mutex::default(),
                found: Mutex::default(),
                events,
                told: Mutex::default(),
                _watchers: watchers,
            }),
        }
    }
}

/// As whom the agent speaks: it declares what its operator can answer.
fn client(operator: &dyn Operator, name: Option<(String, String)>) -> Arc<Client> {
    let offers = operator.offers();
    let mut capabilities = Map::new();
    if offers.elicitation {
        let modes = json!({ "form": {}, "url": {} });
        capabilities.insert("elicitation".to_owned(), modes);
    }
    if offers.sampling {
        capabilities.insert("sampling".to_owned(), json!({}));
    }
    if offers.roots {
        capabilities.insert("roots".to_owned(), json!({}));
    }
    let capabilities = Value::Object(capabilities);
    let (name, version) = name.unwrap_or_else(|| {
        (
            "switchboard".to_owned(),
            env!("CARGO_PKG_VERSION").to_owned(),
        )
    });
    let info = json!({ "name": name, "version": version });
    let client = caller::own(&capabilities.to_string(), &info.to_string());
    Arc::new(client.deciding(true))
}
