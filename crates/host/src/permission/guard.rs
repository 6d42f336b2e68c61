//! The rules as a host holds them: exchanged while it runs, and applied with
//! what is known of each server's tools.

mod allowed;

use super::{
    Answer, AnswersFault, Decision, Facts, Pinned, Rules, Ruling, Spellings, What, Who,
    version::Version,
};
use crate::{
    catalog::{Annotations, Item, List, Listing},
    client::Client,
    error::CallError,
    limits,
    pins::{Definition, Group, Kind},
    upstream::{Server, ServerSpec, Target},
};
use parking_lot::{Mutex, RwLock};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use switchboard_wire::{
    Era,
    name::{Namer, Style},
    reading::same_name,
};

/// Decides for one host.
#[derive(Debug)]
pub struct Guard {
    rules: RwLock<Arc<Rules>>,
    pub(super) pinned: RwLock<Option<Arc<Pinned>>>,
    /// Counts everything that can change a decision.
    pub(super) version: Version,
    /// Canonical names, in which rules are written.
    namer: RwLock<Arc<Namer>>,
    registers: Mutex<Registers>,
}

/// By server, principal and era.
type Registers = HashMap<(Arc<str>, Arc<str>, usize), Arc<Register>>;

/// What is known of one server's tools together.
#[derive(Debug)]
struct Register {
    listing: Arc<Listing>,
    version: u64,
    spellings: Spellings,
    canonical: HashMap<String, String>,
    /// Hashes of definitions, where an answer is bound to them.
    definitions: HashMap<String, String>,
    /// Tools that wait for somebody to say yes, with the reason.
    held: HashMap<String, String>,
}

impl Guard {
    /// For these servers, by these rules.
    pub(crate) fn new<'a>(servers: impl IntoIterator<Item = &'a str>, rules: Rules) -> Self {
        Self {
            rules: RwLock::new(Arc::new(rules)),
            pinned: RwLock::default(),
            version: Version::default(),
            namer: RwLock::new(Arc::new(Namer::new(Style::Full, servers))),
            registers: Mutex::default(),
        }
    }

    /// Other servers from now on: canonical names are decided over all of them.
    pub(crate) fn set_servers<'a>(&self, servers: impl IntoIterator<Item = &'a str>) {
        *self.namer.write() = Arc::new(Namer::new(Style::Full, servers));
        self.registers.lock().clear();
        self.changed();
    }

    /// The rules that hold now.
    pub fn rules(&self) -> Arc<Rules> {
        self.rules.read().clone()
    }

    /// Other rules from now on. What was listed before is listed anew.
    pub fn set_rules(&self, rules: Rules) {
        *self.rules.write() = Arc::new(rules);
        self.changed();
    }

    /// Counts what can change a decision: the same number means the same decisions.
    pub fn version(&self) -> u64 {
        self.version.now()
    }

    /// Waits until decisions may come out otherwise than at this version.
    pub async fn outdates(&self, version: u64) {
        self.version.is_past(version).await;
    }

    /// Remembers what somebody answered.
    pub fn remember(&self, answer: Answer<'_>) -> Result<(), AnswersFault> {
        let rules = self.rules();
        let server = rules.answers_to(answer.server);
        let kept = rules.answers().remember(Answer { server, ..answer });
        self.changed();
        kept
    }

    /// What a client may do with this.
    pub fn decide(
        &self,
        client: &Client,
        server: &Server,
        what: What<'_>,
        arguments: Option<&[u8]>,
    ) -> Decision {
        let (rules, who) = (self.rules(), who(client));
        let what = asked_for(client, server, what);
        if what == What::SignIn
            && let Some(why) = server.no_sign_in()
        {
            let decision = rules.decide(who, &server.spec, what, &Facts::default());
            return decision.or_stricter(Decision::Held(why));
        }
        if self.is_plain(&rules, who, server) {
            return if super::exists(&server.spec, what) {
                Decision::Allow
            } else {
                Decision::Deny(LEFT_OUT.to_owned())
            };
        }
        let decide = |what: What<'_>| {
            self.with_facts(client, server, what, None, arguments, |facts| {
                rules.decide(who, &server.spec, what, facts)
            })
        };
        let mut decision = decide(what);
        let listed = spelt_otherwise(client, server, what);
        for name in &listed {
            decision = decision.or_stricter(decide(what.renamed(name)));
        }
        decision
    }

    /// The same with everything that was looked at.
    pub fn explain(&self, client: &Client, server: &Server, what: What<'_>) -> Ruling {
        self.explain_call(client, server, what, None)
    }

    /// The same for a call with these arguments.
    pub(crate) fn explain_call(
        &self,
        client: &Client,
        server: &Server,
        what: What<'_>,
        arguments: Option<&[u8]>,
    ) -> Ruling {
        let rules = self.rules();
        let what = asked_for(client, server, what);
        self.with_facts(client, server, what, None, arguments, |facts| {
            rules.explain(who(client), &server.spec, what, facts)
        })
    }

    /// Whether anything of a server may be reached at all.
    pub fn reaches(&self, client: &Client, server: &Server) -> bool {
        self.decide(client, server, What::Method, None).is_visible()
    }

    /// Refuses what may not be seen.
    pub fn check(&self, client: &Client, server: &Server, what: What<'_>) -> Result<(), CallError> {
        match self.decide(client, server, what, None) {
            Decision::Deny(reason) => Err(not_permitted(&server.spec, what, reason)),
            Decision::Held(reason) => Err(held(&server.spec, what, reason)),
            Decision::Allow | Decision::Ask(_) => Ok(()),
        }
    }

    /// Whether a list shows an item. `raw` is the item as the server wrote it.
    pub fn shows(
        &self,
        client: &Client,
        server: &Server,
        list: List,
        key: &str,
        raw: &[u8],
    ) -> bool {
        let what = asked_for(client, server, What::listed(list, key));
        if what == What::SignIn && !server.lets_sign_in() {
            return false;
        }
        let (rules, who) = (self.rules(), who(client));
        if self.is_plain(&rules, who, server) {
            return super::exists(&server.spec, what);
        }
        self.with_facts(client, server, what, Some(raw), None, |facts| {
            rules.permitted(who, &server.spec, what, facts)
        })
    }

    /// Whether everything that a server lists may be seen, so that its lists need no look.
    pub fn hides_nothing(&self, client: &Client, server: &Server) -> bool {
        !server.spec.tool_filter.hides_anything()
            && !server.hides_sign_in(client)
            && self.is_plain(&self.rules(), who(client), server)
    }

    /// What is known of one of a server's lists, as far as `client` may see it.
    /// Tools whose header annotations break the rules do not exist over modern HTTP.
    pub fn visible(&self, client: &Client, server: &Server, list: List) -> Vec<Arc<Item>> {
        let listing = server.listing(client, list);
        let eras = [client.era(), server.era_for(client)];
        let mirrors =
            eras.contains(&Era::Modern) && matches!(server.spec.target, Target::Http { .. });
        let items = listing.iter().flat_map(|listing| &listing.items);
        let seen = items.filter(|item| {
            !(mirrors && item.mirrored.is_err())
                && self.shows(client, server, list, &item.key, &item.raw)
        });
        seen.cloned().collect()
    }

    /// Whether a decision about this server's tools needs their definitions as they are now.
    pub(crate) fn needs_definitions(&self, client: &Client, server: &Server) -> bool {
        !self.is_plain(&self.rules(), who(client), server)
    }

    /// Whether the answer to a question about this is worth keeping.
    pub(crate) fn asks_every_time(&self, client: &Client, server: &Server, what: What<'_>) -> bool {
        let rules = self.rules();
        self.with_facts(client, server, what, None, None, |facts| {
            rules.asks_every_time(&server.spec, what, facts)
        })
    }

    /// The hash that a remembered answer is bound to.
    pub(crate) fn definition(
        &self,
        client: &Client,
        server: &Server,
        tool: &str,
    ) -> Option<String> {
        let listing = server.listing(client, List::Tools)?;
        Definition::of(&listing.find(tool)?.raw).map(|definition| definition.hash)
    }

    /// The canonical name of a tool.
    pub fn canonical(&self, client: &Client, server: &Server, tool: &str) -> String {
        let register = self.register(client, server);
        let known = register.and_then(|register| register.canonical.get(tool).cloned());
        known.unwrap_or_else(|| self.namer.read().assign(&[(server.name(), tool)]).remove(0))
    }

    /// What a tool says of itself, as far as its server has been asked.
    pub fn annotations(&self, client: &Client, server: &Server, tool: &str) -> Annotations {
        let listing = server.listing(client, List::Tools);
        let item = listing.as_ref().and_then(|listing| listing.find(tool));
        item.map_or_else(Annotations::default, |item| Annotations::of_item(&item.raw))
    }

    /// Whether nothing but the server's own entry can matter: the common case, decided without looking at definitions.
    fn is_plain(&self, rules: &Rules, who: Who<'_>, server: &Server) -> bool {
        !server.held().has_something() && rules.is_plain(who)
    }

    fn with_facts<T>(
        &self,
        client: &Client,
        server: &Server,
        what: What<'_>,
        raw: Option<&[u8]>,
        arguments: Option<&[u8]>,
        decide: impl FnOnce(&Facts<'_>) -> T,
    ) -> T {
        let tool = match what {
            What::Tool(tool) => tool,
            What::Prompt(prompt) if server.held().has_something() => {
                let quarantined = self.held_prompt(client, server, prompt, raw);
                return decide(&Facts {
                    quarantined: quarantined.as_deref(),
                    ..Facts::default()
                });
            }
            _ => return decide(&Facts::default()),
        };
        let register = self.register(client, server);
        let item = register
            .as_ref()
            .and_then(|register| register.listing.find(tool));
        let raw = raw.or(item.map(|item| item.raw.as_ref()));
        let hints = raw.map(Annotations::of_item);
        let quarantined = self.quarantine(client, server, tool, register.as_deref(), raw);
        let register = register.as_ref();
        let found = |map: fn(&Register) -> &HashMap<String, String>| {
            register.and_then(|register| map(register).get(tool).map(String::as_str))
        };
        decide(&Facts {
            annotations: hints.as_ref(),
            spellings: register.map(|register| &register.spellings),
            canonical: found(|register| &register.canonical),
            definition: found(|register| &register.definitions),
            quarantined: quarantined.as_deref(),
            arguments,
        })
    }

    /// Why a tool must not be used as it is now, if so.
    fn quarantine(
        &self,
        client: &Client,
        server: &Server,
        tool: &str,
        register: Option<&Register>,
        raw: Option<&[u8]>,
    ) -> Option<String> {
        if !server.held().has_something() {
            return None;
        }
        if let Some(why) = register.and_then(|register| register.held.get(tool)) {
            return Some(why.clone());
        }
        let known = register.and_then(|register| register.listing.find(tool));
        if known.is_some_and(|item| raw.is_none_or(|raw| item.raw == raw)) {
            return None;
        }
        // A page of a list may hold what the catalog does not know yet.
        self.objection(client, server, Kind::Tools, tool, raw?)
    }

    /// The same of a prompt.
    fn held_prompt(
        &self,
        client: &Client,
        server: &Server,
        prompt: &str,
        raw: Option<&[u8]>,
    ) -> Option<String> {
        if let Some(raw) = raw {
            return self.objection(client, server, Kind::Prompts, prompt, raw);
        }
        let listing = server.listing(client, List::Prompts)?;
        let named = same_name(prompt);
        let same = listing
            .items
            .iter()
            .filter(|item| item.key == prompt || same_name(&item.key) == named);
        let groups = Group::all(
            Kind::Prompts,
            same.map(|item| (item.key.as_str(), item.raw.as_ref())),
        );
        let held = self.objection_to(client, server, Kind::Prompts, &groups);
        held.into_iter().next().map(|(_, why)| why)
    }

    /// What is known of a server's tools together; `None` while nothing is listed.
    fn register(&self, client: &Client, server: &Server) -> Option<Arc<Register>> {
        let listing = server.listing(client, List::Tools)?;
        Some(self.register_of(client, server, listing))
    }

    fn register_of(
        &self,
        client: &Client,
        server: &Server,
        listing: Arc<Listing>,
    ) -> Arc<Register> {
        // Owners are told lists of their own. What is kept holds its list, so that
        // no other can come to stand where it does.
        let place = Arc::as_ptr(&listing) as usize;
        let key = (server.name().clone(), client.principal.clone(), place);
        let version = self.version_for(server);
        if let Some(register) = self.registers.lock().get(&key)
            && register.version == version
            && Arc::ptr_eq(&register.listing, &listing)
        {
            return register.clone();
        }
        let register = Arc::new(self.make_register(client, server, listing, version));
        let mut registers = self.registers.lock();
        if registers.len() >= limits::REGISTERS {
            registers.clear();
        }
        registers.insert(key, register.clone());
        register
    }

    fn make_register(
        &self,
        client: &Client,
        server: &Server,
        listing: Arc<Listing>,
        version: u64,
    ) -> Register {
        let names = || listing.items.iter().map(|item| item.key.as_str());
        let pairs: Vec<(&str, &str)> = names().map(|name| (server.name().as_ref(), name)).collect();
        let canonical = names()
            .map(str::to_owned)
            .zip(self.namer.read().assign(&pairs))
            .collect();
        // A tool that is listed twice is still one.
        let spellings = Spellings::new(names().collect::<HashSet<&str>>());
        let mut register = Register {
            version,
            spellings,
            canonical,
            definitions: HashMap::new(),
            held: HashMap::new(),
            listing,
        };
        let rules = self.rules();
        if rules.answers().has_any(rules.answers_to(server.name())) {
            let definitions = register
                .listing
                .items
                .iter()
                .filter(|item| !server.is_sign_in(client, &item.key))
                .filter_map(|item| Definition::of(&item.raw));
            let hashes = definitions.map(|definition| (definition.name, definition.hash));
            register.definitions = hashes.collect();
        }
        if server.held().has_something() {
            register.held = self.held_tools(client, server, &register.listing);
        }
        register
    }

    pub(super) fn changed(&self) {
        self.version.next();
    }
}

/// Why the entry's own lists leave something out.
const LEFT_OUT: &str = "the server's entry leaves it out";

/// The error for what may not be reached.
pub(crate) fn not_permitted(spec: &ServerSpec, what: What<'_>, reason: String) -> CallError {
    if !super::exists(spec, what) {
        let name = what.name().unwrap_or_default();
        let text = format!("Unknown tool: {name}");
        return CallError::refused(switchboard_wire::code::INVALID_PARAMS, text);
    }
    CallError::NotPermitted {
        what: what.of_server(&spec.name),
        reason,
    }
}

/// The error for what waits for somebody to say yes: whoever asks is told so, and
/// what to do about it.
pub(crate) fn held(spec: &ServerSpec, what: What<'_>, reason: String) -> CallError {
    CallError::NotAllowed {
        what: what.of_server(&spec.name),
        reason,
    }
}

/// The names that a server lists and could take for this one, which it does not
/// list: what restricts those restricts this one, whatever it allows.
fn spelt_otherwise(client: &Client, server: &Server, what: What<'_>) -> Vec<String> {
    let (list, asked) = match what {
        What::Tool(name) => (List::Tools, name),
        What::Prompt(name) => (List::Prompts, name),
        _ => return Vec::new(),
    };
    let Some(listing) = server.listing(client, list) else {
        return Vec::new();
    };
    if listing.find(asked).is_some() {
        return Vec::new();
    }
    let asked = same_name(asked);
    // Under the name of a server as well, as models and settings write it.
    let is_that = |key: &str| {
        let key = same_name(key);
        let before = asked.strip_suffix(&*key);
        before.is_some_and(|before| before.is_empty() || before.ends_with("__"))
    };
    let like = listing.items.iter().filter(|item| is_that(&item.key));
    like.map(|item| item.key.clone()).collect()
}

/// The tool that signs in stands for the server itself: no rule about tools is about it.
fn asked_for<'a>(client: &Client, server: &Server, what: What<'a>) -> What<'a> {
    match what {
        What::Tool(name) if server.is_sign_in(client, name) => What::SignIn,
        other => other,
    }
}

fn who(client: &Client) -> Who<'_> {
    Who {
        principal: &client.principal,
        mode: None,
    }
}
