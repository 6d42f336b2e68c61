//! The tools of an agent at one moment, in the forms of model APIs.

use super::{Agent, own_tools};
use bytes::Bytes;
use serde_json::{Value, json};
use std::{
    collections::{HashMap, HashSet},
    ops::Deref,
    sync::Arc,
};
use switchboard_host::catalog::List;
use switchboard_model::{
    LeftOut, ModelTool, model_tools,
    search::{self, Deferral, Index, Plan},
};

/// The tools of an agent at one moment, and what of them a model is shown.
#[derive(Clone, Debug)]
pub struct Toolset {
    inventory: Arc<Inventory>,
    /// Waiting ones that a search has found.
    found: HashSet<String>,
}

/// The tools of an agent at one moment.
#[derive(Debug)]
pub struct Inventory {
    /// All of the servers' tools that may be seen, and our own.
    pub tools: Vec<ModelTool>,
    /// Those that could not be read, and why.
    pub left_out: Vec<LeftOut>,
    /// Which of them wait to be searched for.
    pub plan: Plan,
    pub(super) index: Index,
    by_name: HashMap<String, usize>,
}

impl Deref for Toolset {
    type Target = Inventory;

    fn deref(&self) -> &Inventory {
        &self.inventory
    }
}

impl Toolset {
    /// The tool of this name.
    pub fn find(&self, name: &str) -> Option<&ModelTool> {
        self.tools.get(*self.by_name.get(name)?)
    }

    /// The tools that a model is shown: those that do not wait, and those that a search has found.
    pub fn shown(&self) -> impl Iterator<Item = &ModelTool> {
        self.tools
            .iter()
            .zip(&self.plan.deferred)
            .filter(|(tool, waits)| !**waits || self.found.contains(&tool.name))
            .map(|(tool, _)| tool)
    }

    /// The tools that wait to be searched for.
    pub fn waiting(&self) -> impl Iterator<Item = &ModelTool> {
        self.tools
            .iter()
            .zip(&self.plan.deferred)
            .filter(|(tool, waits)| **waits && !self.found.contains(&tool.name))
            .map(|(tool, _)| tool)
    }

    /// `tools` of a request to the Claude API.
    pub fn to_anthropic(&self) -> Vec<Value> {
        self.shown().map(|tool| tool.to_anthropic(false)).collect()
    }

    /// The same with every tool, the waiting ones marked for the API's own tool search.
    pub fn to_anthropic_deferred(&self) -> Vec<Value> {
        let all = self.tools.iter().zip(&self.plan.deferred);
        all.map(|(tool, waits)| tool.to_anthropic(*waits)).collect()
    }

    /// `tools` of a request to OpenAI's chat completions.
    pub fn to_openai(&self) -> Vec<Value> {
        self.shown().map(ModelTool::to_openai).collect()
    }

    /// `tools` of a request to OpenAI's responses.
    pub fn to_openai_responses(&self) -> Vec<Value> {
        self.shown().map(ModelTool::to_openai_responses).collect()
    }

    /// What the shown tools cost, estimated, by server.
    pub fn tokens(&self) -> HashMap<&str, usize> {
        let mut tokens: HashMap<&str, usize> = HashMap::new();
        for tool in self.shown() {
            *tokens.entry(tool.server.as_str()).or_default() += tool.tokens;
        }
        tokens
    }
}

impl Agent {
    /// The tools as far as they are known without asking.
    pub(super) fn known_tools(&self) -> Toolset {
        Toolset {
            inventory: self.inventory(),
            found: self.inner.found.lock().clone(),
        }
    }

    fn inventory(&self) -> Arc<Inventory> {
        // Sums of counters that only grow: the same number means the same lists.
        let versions = self
            .inner
            .groups
            .iter()
            .map(|group| group.host.list_version(&group.client));
        let version = versions.fold(0, u64::wrapping_add);
        if let Some((at, seen)) = &*self.inner.seen.lock()
            && *at == version
        {
            return seen.clone();
        }
        let inventory = Arc::new(self.take_stock());
        *self.inner.seen.lock() = Some((version, inventory.clone()));
        inventory
    }

    fn take_stock(&self) -> Inventory {
        let mut items: Vec<(&str, Bytes)> = Vec::new();
        let mut has_resources = false;
        for (group, server) in self.places() {
            let seen = group
                .host
                .guard()
                .visible(&group.client, server, List::Tools);
            items.extend(
                seen.into_iter()
                    .filter(|item| item.is_for_model())
                    .map(|item| (server.name().as_ref(), item.raw.clone())),
            );
            let connection = server.current(&group.client);
            has_resources |= connection.is_some_and(|connection| {
                connection
                    .hello()
                    .is_some_and(|hello| hello.declares("resources"))
            });
        }
        let names = self.places().map(|(_, server)| server.name().as_ref());
        let (mut tools, left_out) = model_tools(names, &items);
        let always = self.places().filter(|(_, server)| server.spec.always_load);
        for (_, server) in always {
            let theirs = tools
                .iter_mut()
                .filter(|tool| tool.server == **server.name());
            theirs.for_each(|tool| tool.always_load = true);
        }
        let setup = &self.inner.setup;
        let mut deferrals: Vec<Deferral> = tools.iter().map(Deferral::from).collect();
        let mut add = |definition: Value, hinted: bool| {
            // Ours are readable by construction.
            if let Ok(tool) = ModelTool::read(own_tools::SERVER, &definition.to_string().into()) {
                let deferral = Deferral {
                    tokens: tool.tokens,
                    always_load: !hinted,
                    hinted,
                };
                deferrals.push(deferral);
                tools.push(tool);
            }
        };
        if has_resources {
            add(own_tools::list_resources(), true);
            add(own_tools::read_resource(), true);
        }
        if setup.shaper.store.is_some() {
            add(switchboard_model::shape::read_result::definition(), false);
        }
        let mut plan = search::plan(setup.search, setup.window, &deferrals);
        // Searched over without itself.
        let index = Index::new(&tools);
        if plan.needs_search()
            && let Ok(tool) =
                ModelTool::read(own_tools::SERVER, &search::definition().to_string().into())
        {
            plan.deferred.push(false);
            plan.loaded_tokens += tool.tokens;
            tools.push(tool);
        }
        let by_name = tools
            .iter()
            .enumerate()
            .map(|(at, tool)| (tool.name.clone(), at))
            .collect();
        Inventory {
            tools,
            left_out,
            plan,
            index,
            by_name,
        }
    }

    /// The section of a system prompt that names what can be searched for; nothing where nothing waits.
    pub fn search_section(&self) -> Option<String> {
        let toolset = self.known_tools();
        let names: Vec<&str> = toolset.waiting().map(|tool| tool.name.as_str()).collect();
        (!names.is_empty()).then(|| {
            let list = json!(names).to_string();
            format!(
                "These tools are available and not loaded; {} loads them: {list}",
                search::NAME
            )
        })
    }
}
