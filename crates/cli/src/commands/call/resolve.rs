//! From a name as typed to a tool or prompt: canonical, short or bare.

use crate::{
    commands::tools::{one, unreachable},
    failure::{Code, Failure},
    limits,
    near::{did_you_mean, near},
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::sync::Arc;
use switchboard::{
    Caller, Dialogue, Governed, Pools, Settings,
    host::{
        Server,
        catalog::{Item, List},
        permission::{Decision, What},
        pins::Kind,
    },
};
use tokio::time::{Instant, sleep_until};

/// A tool or prompt and the server that has it.
#[derive(Clone, Debug)]
pub struct Found {
    pub met: Dialogue,
    pub item: Arc<Item>,
    pub canonical: String,
    /// Why it may not be used, if so.
    hidden: Option<String>,
}

/// Finds a tool or prompt. A name that says its server asks only that one.
pub async fn find(
    governed: &Governed,
    settings: &Settings,
    caller: &Caller,
    list: List,
    name: &str,
) -> Result<Found, Failure> {
    let named = named_servers(governed, name);
    let servers = if named.is_empty() {
        if let Some(failure) = unusable_server(governed, name) {
            return Err(failure);
        }
        governed.host().servers().to_vec()
    } else {
        named
    };
    let (all, failures) = fetch(governed, settings, caller, &servers, (list, name)).await;
    let mut exact: Vec<&Found> = all.iter().filter(|found| found.is_called(name)).collect();
    if exact.len() > 1 && exact.iter().any(|found| found.canonical == name) {
        exact.retain(|found| found.canonical == name);
    }
    // What may not be used is in nobody's way.
    if exact.iter().any(|found| found.hidden.is_none()) {
        exact.retain(|found| found.hidden.is_none());
    }
    match exact.as_slice() {
        [
            Found {
                canonical,
                hidden: Some(why),
                ..
            },
            ..,
        ] => Err(not_permitted(list, canonical, why)),
        [only] => Ok((*only).clone()),
        [] => {
            if let ([_], Some(failure)) = (servers.as_slice(), failures.first()) {
                return Err(failure.clone());
            }
            if let Some(failure) = waiting(governed, &servers, list, name) {
                return Err(failure);
            }
            if let Some(failure) = denied(governed, &all, list, name) {
                return Err(failure);
            }
            for failure in &failures {
                failure.show(false);
            }
            let names: Vec<&str> = all
                .iter()
                .filter(|found| found.hidden.is_none())
                .map(|found| found.canonical.as_str())
                .collect();
            Err(unknown(governed, list, name, &names))
        }
        several => {
            let names: Vec<&str> = several
                .iter()
                .map(|found| found.canonical.as_str())
                .collect();
            let text = format!("several servers have a {} {name:?}", word(list));
            Err(Failure::usage(text).hint(format!("say which: {}", names.join(", "))))
        }
    }
}

/// The failure that a name is which a running gateway does not list, since it
/// waits for approval.
fn waiting(
    governed: &Governed,
    servers: &[Arc<Server>],
    list: List,
    name: &str,
) -> Option<Failure> {
    let kind = match list {
        List::Tools => Kind::Tools,
        List::Prompts => Kind::Prompts,
        List::Resources | List::Templates => return None,
    };
    let namer = governed.host().namer();
    servers.iter().find_map(|server| {
        let news = governed.host().guard().news(server).ok()?;
        let change = news.waiting.iter().find(|change| {
            let canonical = namer.assign(&[(server.name(), &change.name)]).remove(0);
            change.kind == kind && is_called(name, &canonical, server.name(), &change.name)
        })?;
        let text = format!(
            "{} of server {:?} is not permitted: it waits for approval: {}",
            change.called(),
            server.name(),
            change.summary()
        );
        let hint = format!("look at it: switchboard approve {}", server.name());
        Some(Failure::new(Code::NotPermitted, text).hint(hint))
    })
}

fn not_permitted(list: List, canonical: &str, why: &str) -> Failure {
    let text = format!("{} {canonical} is not permitted: {why}", word(list));
    let hint = format!("see switchboard explain {canonical}");
    Failure::new(Code::NotPermitted, text).hint(hint)
}

/// The failure that a name is which a running gateway does not list, since a rule is
/// against it.
fn denied(governed: &Governed, all: &[Found], list: List, name: &str) -> Option<Failure> {
    let rest = name.strip_prefix("mcp__").unwrap_or(name);
    let namer = governed.host().namer();
    all.iter().find_map(|found| {
        let server = found.met.server().name();
        let own = rest.strip_prefix(namer.prefix(server)?)?;
        let own = own.strip_prefix("__").filter(|own| !own.is_empty())?;
        // What the entry leaves out is not there at all.
        if list == List::Tools && !found.met.server().spec.tool_filter.has(own) {
            return None;
        }
        let why = hidden(&found.met, What::listed(list, own))?;
        let canonical = namer.assign(&[(server, own)]).remove(0);
        Some(not_permitted(list, &canonical, &why))
    })
}

/// The failure that an unknown name is.
pub fn unknown(governed: &Governed, list: List, name: &str, names: &[&str]) -> Failure {
    if let Some(failure) = unusable_server(governed, name) {
        return failure;
    }
    let hint = did_you_mean(&near(name, names.iter().copied()));
    let word = word(list);
    Failure::usage(format!("there is no {word} {name:?}")).hint(hint.unwrap_or_else(|| {
        if governed.members().is_empty() {
            "no servers are configured; add one: switchboard add NAME -- COMMAND".to_owned()
        } else {
            format!("see switchboard {word}s")
        }
    }))
}

/// What an item of a list is called.
fn word(list: List) -> &'static str {
    match list {
        List::Tools => "tool",
        List::Prompts => "prompt",
        List::Resources | List::Templates => "resource",
    }
}

/// The servers whose prefix the name begins with. `a__b` can be a server, or a
/// tool of the server `a`, so there can be two.
fn named_servers(governed: &Governed, name: &str) -> Vec<Arc<Server>> {
    let rest = name.strip_prefix("mcp__").unwrap_or(name);
    let namer = governed.host().namer();
    let begins = |server: &&Arc<Server>| {
        namer.prefix(server.name()).is_some_and(|prefix| {
            rest.strip_prefix(prefix)
                .is_some_and(|tail| tail.starts_with("__"))
        })
    };
    governed
        .host()
        .servers()
        .iter()
        .filter(begins)
        .cloned()
        .collect()
}

/// Why the server that the name begins with cannot be used, if that is so.
fn unusable_server(governed: &Governed, name: &str) -> Option<Failure> {
    let rest = name.strip_prefix("mcp__").unwrap_or(name);
    let (server, _) = rest.split_once("__")?;
    let member = governed.members().iter().find(|member| {
        member.entry.name == server
            || switchboard::wire::name::normalize(&member.entry.name) == server
    })?;
    one(governed, &member.entry.name).err()
}

impl Found {
    /// Whether this is what the user calls it: canonical, short or bare, and
    /// with either spelling of `-` and `_`.
    fn is_called(&self, name: &str) -> bool {
        is_called(
            name,
            &self.canonical,
            self.met.server().name(),
            &self.item.key,
        )
    }
}

fn is_called(name: &str, canonical: &str, server: &str, own: &str) -> bool {
    let same = |other: &str| spelling(other) == spelling(name);
    let short = canonical.strip_prefix("mcp__").unwrap_or(canonical);
    let plain = format!("{server}__{own}");
    same(canonical) || same(short) || same(&plain) || same(own)
}

fn spelling(name: &str) -> String {
    name.replace('-', "_")
}

/// The tools of these servers. Once one has the tool the others get little time.
async fn fetch(
    governed: &Governed,
    settings: &Settings,
    caller: &Caller,
    servers: &[Arc<Server>],
    (list, name): (List, &str),
) -> (Vec<Found>, Vec<Failure>) {
    let pools = Pools::new(settings);
    let mut asked: FuturesUnordered<_> = servers
        .iter()
        .map(|server| ask(caller, &pools, server, list))
        .collect();
    let (mut all, mut failures) = (Vec::new(), Vec::new());
    let mut until = None;
    loop {
        let answer = tokio::select! {
            answer = asked.next() => answer,
            () = async { sleep_until(until.unwrap_or_else(Instant::now)).await }, if until.is_some() => None,
        };
        match answer {
            None => break,
            Some(Err(failure)) => failures.push(failure),
            Some(Ok((met, items))) => {
                let pairs: Vec<(&str, &str)> = items
                    .iter()
                    .map(|item| (met.server().name().as_ref(), item.key.as_str()))
                    .collect();
                let names = governed.host().namer().assign(&pairs);
                let found = items.iter().zip(names);
                all.extend(found.map(|(item, canonical)| Found {
                    met: met.clone(),
                    item: item.clone(),
                    canonical,
                    hidden: hidden(&met, What::listed(list, &item.key)),
                }));
                if until.is_none() && all.iter().any(|found: &Found| found.is_called(name)) {
                    until = Some(Instant::now() + limits::OTHER_SERVERS);
                }
            }
        }
    }
    // In the order of the configuration, not of the answers.
    let place = |found: &Found| {
        servers
            .iter()
            .position(|server| Arc::ptr_eq(server, found.met.server()))
    };
    all.sort_by_key(place);
    (all, failures)
}

async fn ask(
    caller: &Caller,
    pools: &Pools,
    server: &Arc<Server>,
    list: List,
) -> Result<(Dialogue, Vec<Arc<Item>>), Failure> {
    let remote = server.spec.target.is_remote();
    let met = pools
        .run(remote, caller.meet(server))
        .await
        .map_err(|fault| unreachable(server, &fault))?;
    let listing = met
        .listing(list)
        .await
        .map_err(|fault| unreachable(server, &fault))?;
    let mut items = listing.items.clone();
    if list == List::Tools {
        // What the entry leaves out is not there at all.
        items.retain(|item| server.spec.tool_filter.has(&item.key));
    }
    Ok((met, items))
}

/// Why it may not be used, if so.
fn hidden(met: &Dialogue, what: What<'_>) -> Option<String> {
    match met.explain(what).decision {
        Decision::Deny(why) | Decision::Held(why) => Some(why),
        Decision::Allow | Decision::Ask(_) => None,
    }
}
