//! Rules in the making.

use super::Rules;
use crate::permission::{
    Classifier, Effect, Mode, Origin, RuleFault, remember::Answers, rule::Rule,
};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// What [`Rules`] are made of.
pub struct RulesBuilder {
    pub(super) rules: Rules,
    pub(super) servers: Vec<Arc<str>>,
    pub(super) faults: Vec<RuleFault>,
}

impl RulesBuilder {
    /// Adds a rule. One that is not taken is reported by [`build`](Self::build).
    pub fn rule(mut self, effect: Effect, text: &str, origin: Origin) -> Self {
        match Rule::new(effect, text, origin, &self.rules.namer, &self.servers) {
            Ok(rule) => self.rules.rules.push(rule),
            Err(fault) => self.faults.push(fault),
        }
        self
    }

    /// The mode of one principal, whatever the face says.
    pub fn mode_of(mut self, principal: impl Into<String>, mode: Mode) -> Self {
        self.rules.modes.insert(principal.into(), mode);
        self
    }

    /// These servers come from a project: what the user permits a server of their
    /// own does not count for them. With each the name that answers about it are
    /// kept under.
    pub fn from_projects(mut self, servers: HashMap<String, String>) -> Self {
        self.rules.from_projects = servers;
        self
    }

    /// What this server says of its tools is our own word, whoever configured it.
    pub fn vouch(mut self, server: impl Into<String>) -> Self {
        self.rules.vouched.insert(server.into());
        self
    }

    /// What this server says of its tools counts. With `project:` before its name
    /// it is the project's server of that name, else the user's own.
    pub fn trust(mut self, server: impl Into<String>) -> Self {
        self.rules.trusted.insert(server.into());
        self
    }

    /// Who decides in mode `auto`.
    pub fn classifier(mut self, classifier: Arc<dyn Classifier>) -> Self {
        self.rules.classifier = classifier;
        self
    }

    /// Where answers are remembered.
    pub fn answers(mut self, answers: Arc<Answers>) -> Self {
        self.rules.answers = answers;
        self
    }

    /// Says what the rules are made of ([`Rules::made_of`]).
    pub fn made_of(mut self, text: impl Into<Arc<str>>) -> Self {
        self.rules.made_of = text.into();
        self
    }

    /// The rules, and those texts that were not taken.
    pub fn build(self) -> (Rules, Vec<RuleFault>) {
        let mut rules = self.rules;
        for (at, rule) in rules.rules.iter().enumerate() {
            let servers: HashSet<&Arc<str>> = rule.servers().collect();
            for server in servers {
                rules.by_server.entry(server.clone()).or_default().push(at);
            }
            rules.by_text.entry(rule.name.clone()).or_default().push(at);
        }
        (rules, self.faults)
    }
}
