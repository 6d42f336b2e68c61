//! The one function that decides.

mod builder;
mod chain;

pub use builder::RulesBuilder;

use super::{
    Classifier, Decision, Effect, Leaning, Mode, Ruling, Spellings, Subject, What,
    classify::ByAnnotations,
    exists,
    remember::Answers,
    rule::{FOR_PROJECTS, Rule, Target},
};
use crate::{catalog::Annotations, upstream::ServerSpec};
use chain::Chain;
use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, OnceLock},
};
use switchboard_wire::name::{Namer, Style};

/// Everything that permission depends on, for one set of servers. Made anew
/// when settings change; the answers that were given go along.
#[derive(Clone)]
pub struct Rules {
    namer: Namer,
    rules: Vec<Rule>,
    by_server: HashMap<Arc<str>, Vec<usize>>,
    by_text: HashMap<String, Vec<usize>>,
    mode: Mode,
    modes: HashMap<String, Mode>,
    trusted: HashSet<String>,
    /// Servers whose word is our own.
    vouched: HashSet<String>,
    /// Servers that a project brings along, with the name that answers about
    /// them are kept under.
    from_projects: HashMap<String, String>,
    classifier: Arc<dyn Classifier>,
    answers: Arc<Answers>,
    made_of: Arc<str>,
    /// What decides where nothing but entries matters, by mode and kind.
    plainly: [OnceLock<Arc<str>>; PLAIN],
}

/// Two modes let everything through, and four kinds of things are told apart there.
// tidy: a count, no cap.
const PLAIN: usize = 2 * 4;

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("mode", &self.mode)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// On whose behalf.
    pub principal: &'a str,
    /// The mode of the face it came through, if that has one of its own.
    pub mode: Option<Mode>,
}

/// What is known of the thing that is asked for. All of it may be left out; what is missing never permits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// What the tool says of itself.
    pub annotations: Option<&'a Annotations>,
    /// The names of the same server's tools, so that a permission that could mean two means none.
    pub spellings: Option<&'a Spellings>,
    /// The canonical name, where names were given to all tools together.
    pub canonical: Option<&'a str>,
    /// The hash of its definition ([`crate::pins::Definition::hash`]): answers are bound to it.
    pub definition: Option<&'a str>,
    /// Why it waits for approval, if it does: it is not what was pinned.
    pub quarantined: Option<&'a str>,
    /// The text of a call's arguments.
    pub arguments: Option<&'a [u8]>,
}

impl Rules {
    /// No rules: everything is allowed, and whoever is connected asks its own user.
    pub fn everything_allowed() -> Self {
        let (rules, _) = Self::builder([], Mode::Client).build();
        rules
    }

    /// Rules for these servers. There is no default mode: whoever builds them must choose.
    pub fn builder<'a>(servers: impl IntoIterator<Item = &'a str>, mode: Mode) -> RulesBuilder {
        let servers: Vec<Arc<str>> = servers.into_iter().map(Arc::from).collect();
        let namer = Namer::new(Style::Full, servers.iter().map(AsRef::as_ref));
        RulesBuilder {
            rules: Self {
                namer,
                rules: Vec::new(),
                by_server: HashMap::new(),
                by_text: HashMap::new(),
                mode,
                modes: HashMap::new(),
                trusted: HashSet::new(),
                vouched: HashSet::new(),
                from_projects: HashMap::new(),
                classifier: Arc::new(ByAnnotations),
                answers: Arc::default(),
                made_of: Arc::from(""),
                plainly: Default::default(),
            },
            servers,
            faults: Vec::new(),
        }
    }

    /// What may happen.
    pub fn decide(
        &self,
        who: Who<'_>,
        server: &ServerSpec,
        what: What<'_>,
        facts: &Facts<'_>,
    ) -> Decision {
        self.walk(who, server, what, facts, &mut Chain(None))
    }

    /// Whether lists, searches and completions show it. A request for what they do not show ends as if it were not there.
    pub fn permitted(
        &self,
        who: Who<'_>,
        server: &ServerSpec,
        what: What<'_>,
        facts: &Facts<'_>,
    ) -> bool {
        self.decide(who, server, what, facts).is_visible()
    }

    /// What may happen, and everything that was looked at.
    pub fn explain(
        &self,
        who: Who<'_>,
        server: &ServerSpec,
        what: What<'_>,
        facts: &Facts<'_>,
    ) -> Ruling {
        let mut reasons = Vec::new();
        let decision = self.walk(who, server, what, facts, &mut Chain(Some(&mut reasons)));
        if let Some(last) = reasons.last_mut() {
            last.decisive = true;
        }
        Ruling { decision, reasons }
    }

    /// Whether nothing but the servers' entries matters to whoever asks.
    pub(super) fn is_plain(&self, who: Who<'_>) -> bool {
        self.rules.is_empty()
            && matches!(self.mode_for(who), Mode::Client | Mode::Bypass)
            && self.answers.is_empty()
    }

    /// What a call that may be made is allowed by, where nothing but entries matters:
    /// it is the same for all calls of a kind, and every recorded call asks.
    pub(super) fn plainly_allowed_by(
        &self,
        who: Who<'_>,
        server: &ServerSpec,
        what: What<'_>,
    ) -> Arc<str> {
        let kind = match what {
            What::Tool(_) => 0,
            What::Prompt(_) | What::Resource(_) => 1,
            What::Method | What::Task(_) | What::SignIn => 2,
            What::UnknownMethod => 3,
        };
        let mode = usize::from(self.mode_for(who) == Mode::Bypass);
        let by = || self.explain(who, server, what, &Facts::default()).by();
        self.plainly[4 * mode + kind].get_or_init(by).clone()
    }

    /// Whether a rule wants the question asked every time, so that no answer is remembered.
    pub(super) fn asks_every_time(
        &self,
        server: &ServerSpec,
        what: What<'_>,
        facts: &Facts<'_>,
    ) -> bool {
        self.rule(Effect::Ask, server, what, facts).is_some()
    }

    /// Whether decisions differ between principals: then what one sees must not be cached for another.
    pub fn differ_by_principal(&self) -> bool {
        !self.modes.is_empty() || !self.answers.is_empty()
    }

    /// The answers that were given.
    pub fn answers(&self) -> &Arc<Answers> {
        &self.answers
    }

    /// What these rules were made of, in whatever words their maker has for it:
    /// the same words from the same maker mean the same decisions.
    pub fn made_of(&self) -> &Arc<str> {
        &self.made_of
    }

    /// The mode that holds for somebody: their own, else the face's, else the general one.
    pub fn mode_for(&self, who: Who<'_>) -> Mode {
        self.modes
            .get(who.principal)
            .copied()
            .or(who.mode)
            .unwrap_or(self.mode)
    }

    /// Whether what this server says of its tools counts.
    pub fn trusts(&self, server: &str) -> bool {
        let named = match self.is_from_project(server) {
            true => self.trusted.contains(&format!("{FOR_PROJECTS}{server}")),
            false => self.trusted.contains(server),
        };
        named || self.vouched.contains(server)
    }

    /// Whether a project brings this server along.
    pub fn is_from_project(&self, server: &str) -> bool {
        self.from_projects.contains_key(server)
    }

    /// The name that answers about a server are kept under: what was said of the
    /// user's own is nothing that was said of a project's.
    pub(super) fn answers_to<'a>(&'a self, server: &'a str) -> &'a str {
        self.from_projects
            .get(server)
            .map_or(server, String::as_str)
    }

    /// The steps, in order. The first that decides, decides.
    fn walk(
        &self,
        who: Who<'_>,
        server: &ServerSpec,
        what: What<'_>,
        facts: &Facts<'_>,
        chain: &mut Chain<'_>,
    ) -> Decision {
        if !exists(server, what) {
            return chain.deny(
                "the server's entry",
                "its list of tools leaves this one out".to_owned(),
            );
        }
        chain.pass("the server's entry", || "lets it exist".to_owned());
        if let Some(rule) = self.rule(Effect::Deny, server, what, facts) {
            return chain.deny("deny rules", named(rule));
        }
        chain.pass("deny rules", || "none is about it".to_owned());
        match what {
            What::Method | What::Task(_) | What::SignIn => {
                return chain.allow("kind", "it names no tool of the server".to_owned());
            }
            What::UnknownMethod => return self.unknown_method(who, chain),
            What::Tool(_) | What::Prompt(_) | What::Resource(_) => {}
        }
        if let Some(reason) = facts.quarantined {
            return chain.hold("pinned definition", reason.to_owned());
        }
        let mode = self.mode_for(who);
        let hints = facts.annotations.cloned().unwrap_or_default();
        let is_tool = matches!(what, What::Tool(_));
        if mode == Mode::ReadOnly && is_tool && !hints.says_read_only() {
            return chain.deny(
                "mode read-only",
                "it does not say that it changes nothing".to_owned(),
            );
        }
        if let Some(rule) = self.rule(Effect::Ask, server, what, facts) {
            return chain.ask("ask rules", named(rule));
        }
        chain.pass("ask rules", || "none is about it".to_owned());
        if let What::Tool(tool) = what {
            let about = self.answers_to(&server.name);
            match self
                .answers
                .find(who.principal, about, tool, facts.definition)
            {
                Some(true) => {
                    return chain.allow("remembered answers", "it was allowed before".to_owned());
                }
                Some(false) => {
                    return chain.deny("remembered answers", "it was refused before".to_owned());
                }
                None => chain.pass("remembered answers", || "none".to_owned()),
            }
        }
        if let Some(rule) = self.rule(Effect::Allow, server, what, facts) {
            return chain.allow("allow rules", named(rule));
        }
        chain.pass("allow rules", || self.no_allow_rule(server, what, facts));
        match what {
            What::Tool(tool) => self.by_mode(mode, who, server, tool, &hints, facts, chain),
            _ => chain.allow("kind", "prompts and resources are read, not run".to_owned()),
        }
    }

    /// A method that nobody here knows may change anything, so it passes only
    /// where tools would pass without a question.
    fn unknown_method(&self, who: Who<'_>, chain: &mut Chain<'_>) -> Decision {
        let mode = self.mode_for(who);
        if mode.lets_unknown_methods_through() {
            return chain.allow(
                "mode",
                format!("mode {mode} lets methods through that Switchboard does not know"),
            );
        }
        chain.deny(
            "mode",
            format!(
                "Switchboard does not know this method, and mode {mode} does not let such methods through; the modes {} and {} do",
                Mode::Client,
                Mode::Bypass
            ),
        )
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the last step of `walk`, split off to fit a screen"
    )]
    fn by_mode(
        &self,
        mode: Mode,
        who: Who<'_>,
        server: &ServerSpec,
        tool: &str,
        hints: &Annotations,
        facts: &Facts<'_>,
        chain: &mut Chain<'_>,
    ) -> Decision {
        let trusted = self.trusts(&server.name);
        match mode {
            Mode::Bypass => {
                chain.allow("mode bypassPermissions", "everything is allowed".to_owned())
            }
            Mode::Client => chain.allow(
                "mode client",
                "the connected client asks its own user".to_owned(),
            ),
            Mode::Default => chain.ask("mode default", "no rule allows it".to_owned()),
            Mode::ReadOnly if trusted => chain.allow(
                "mode read-only",
                "a trusted server says that it changes nothing".to_owned(),
            ),
            Mode::ReadOnly => chain.ask(
                "mode read-only",
                "it says that it changes nothing, but its server is not trusted".to_owned(),
            ),
            Mode::Auto => {
                let subject = Subject {
                    principal: who.principal,
                    server: &server.name,
                    trusted,
                    tool,
                    annotations: hints,
                    arguments: facts.arguments,
                };
                match self.classifier.classify(&subject) {
                    Leaning::Allow(reason) => chain.allow("mode auto", reason),
                    Leaning::Ask(reason) => chain.ask("mode auto", reason),
                }
            }
        }
    }

    /// Why no rule allows it, for whoever wrote one.
    fn no_allow_rule(&self, server: &ServerSpec, what: What<'_>, facts: &Facts<'_>) -> String {
        let from_project = self.is_from_project(&server.name);
        let elses = from_project
            .then(|| self.rule_for(false, Effect::Allow, server, what, facts))
            .flatten();
        match elses {
            Some(rule) => format!(
                "{} is about your own server of that name, and this one is the project's; for that write \"{FOR_PROJECTS}{}\"",
                named(rule),
                rule.name
            ),
            None => "none is about it, or not about it alone".to_owned(),
        }
    }

    /// The first rule with this effect that is about this.
    fn rule(
        &self,
        effect: Effect,
        server: &ServerSpec,
        what: What<'_>,
        facts: &Facts<'_>,
    ) -> Option<&Rule> {
        let from_project = self.is_from_project(&server.name);
        self.rule_for(from_project, effect, server, what, facts)
    }

    fn rule_for(
        &self,
        from_project: bool,
        effect: Effect,
        server: &ServerSpec,
        what: What<'_>,
        facts: &Facts<'_>,
    ) -> Option<&Rule> {
        if self.rules.is_empty() {
            return None;
        }
        let name = match what {
            What::Tool(name) | What::Prompt(name) => Some(name),
            What::Resource(_)
            | What::Task(_)
            | What::Method
            | What::UnknownMethod
            | What::SignIn => None,
        };
        let given = || name.map(|name| self.namer.assign(&[(&server.name, name)]).remove(0));
        let computed = if facts.canonical.is_none() {
            given()
        } else {
            None
        };
        let canonical = facts.canonical.or(computed.as_deref());
        let target = Target {
            server: &server.name,
            name,
            canonical,
            spellings: facts.spellings,
        };
        let by_server = self.by_server.get(&server.name).into_iter().flatten();
        let by_text = canonical
            .and_then(|canonical| self.by_text.get(canonical))
            .into_iter()
            .flatten();
        let candidates = by_server.chain(by_text).map(|at| &self.rules[*at]);
        candidates
            .filter(|rule| rule.effect == effect && rule.counts_for(from_project))
            .find(|rule| rule.covers(&target))
    }
}

fn named(rule: &Rule) -> String {
    format!(
        "{} rule {:?} in {}",
        rule.effect.as_str(),
        rule.text,
        rule.origin.place
    )
}

#[cfg(test)]
mod tests;
