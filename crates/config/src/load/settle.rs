//! What each entry counts for: switched off, approved, allowed, and who gives
//! way to whom.

use super::{Configured, Loaded, Request, Standing, gather::Gathered};
use crate::{
    approval::{
        self, Binding, Decision, Difference, Pin, Store, StoreError,
        contents::{Bound, Ground},
    },
    entry::{Entry, Scope, Transport},
    expand, inherit, itself,
    places::Places,
    policy::Verdict,
    settings::{Lists, Named},
    usage,
};
use std::{collections::HashMap, path::Path, sync::Arc};

/// Decides about all of them.
pub(super) fn settle(mut gathered: Gathered, request: &Request, loaded: &mut Loaded) {
    let entries = gathered.take();
    let mut store = Store::default();
    let mut applied = &*request.applied.approvals;
    if let Some(places) = &request.places
        && entries.iter().any(|entry| entry.inside)
    {
        match Store::read(&places.approvals()) {
            Ok(read) => store = read,
            Err(error) => {
                let hint = error.hint();
                let problem = match error {
                    StoreError::Unreadable { problem, .. } => problem,
                    StoreError::Edit(error) => error.to_string(),
                };
                let source = crate::Source::File(places.approvals());
                let fault = crate::Fault::whole(source, problem, hint);
                loaded.faults.push((Scope::Project, fault));
                // What was refused here is not known. Nor may a list approve it again for
                // the first time.
                applied = &[];
                gathered.everywhere.clear();
                gathered.here.clear();
            }
        }
    }
    let settling = Settling {
        gathered: &gathered,
        request,
        store: &store,
        applied,
    };
    loaded.switched_off = settling.all(|lists| &lists.off).cloned().collect();
    let denied = loaded.policy.denied_addresses();
    for mut entry in entries {
        if !entry.inside && entry.scope != Scope::Fleet {
            inherit::settle(&mut entry, gathered.inherit_env.as_ref());
        }
        usage::settle_idle(&mut entry, gathered.idle_timeout);
        entry.denied_addresses.clone_from(&denied);
        let configured = settling.settle_one(entry, loaded);
        loaded.servers.push(configured);
    }
    shadow(&mut loaded.servers);
    deduplicate(&mut loaded.servers);
}

struct Settling<'a> {
    gathered: &'a Gathered,
    request: &'a Request,
    store: &'a Store,
    /// What was approved for this machine and others.
    applied: &'a [Binding],
}

impl Settling<'_> {
    fn settle_one(&self, mut entry: Entry, loaded: &mut Loaded) -> Configured {
        let (mut standing, mut because) = self.trusted(&mut entry, loaded);
        if let Some(file) = &loaded.exclusive
            && entry.scope != Scope::Enterprise
        {
            standing = Standing::Denied(format!("{} allows no other servers", file.display()));
        } else if matches!(
            standing,
            Standing::Active | Standing::PendingApproval | Standing::Rejected
        ) {
            // What nobody has approved is judged as it is written.
            let env = |name: &str| loaded.environment.get(name);
            let filled = match standing {
                Standing::Active => expand::expand(&entry, &env).ok(),
                _ => None,
            };
            match loaded.policy.decide(filled.as_deref().unwrap_or(&entry)) {
                Verdict::Allowed(None) => {}
                Verdict::Allowed(Some(rule)) => {
                    because = because.or(Some(format!("allowed by {rule}")));
                }
                Verdict::Denied(rule) => standing = Standing::Denied(format!("denied by {rule}")),
                Verdict::NotAllowed(rule) => {
                    standing =
                        Standing::Denied(format!("not in the list of allowed servers ({rule})"));
                }
            }
        }
        Configured {
            entry,
            standing,
            because,
        }
    }

    /// Everything but policy.
    fn trusted(&self, entry: &mut Entry, loaded: &mut Loaded) -> (Standing, Option<String>) {
        if entry.disabled {
            return (
                Standing::Disabled,
                Some(format!("\"disabled\" in {}", entry.place())),
            );
        }
        if let Some(place) = loaded.switched_off(&entry.name) {
            return (Standing::Disabled, Some(place));
        }
        let own = self.request.own_program.as_deref();
        if itself::starts_switchboard(entry, own) || itself::is_our_address(entry) {
            return (Standing::Itself, None);
        }
        match &self.request.places {
            Some(places) if entry.inside => self.approved(entry, places, loaded),
            _ => (Standing::Active, None),
        }
    }

    fn approved(
        &self,
        entry: &mut Entry,
        places: &Places,
        loaded: &mut Loaded,
    ) -> (Standing, Option<String>) {
        if let Some(named) = self
            .all(|lists| &lists.disabled)
            .find(|named| named.name == entry.name)
        {
            return (
                Standing::Rejected,
                Some(format!("disabledMcpjsonServers in {}", named.place)),
            );
        }
        // Its files are read only where somebody has spoken of it: a repository
        // could name any number of large ones.
        let listed = self.listed(entry);
        let directory = approval::directory(entry);
        let applied = self.applied_to(entry, &directory);
        if !self.store.knows(&entry.name, &directory) && listed.is_none() && applied.is_none() {
            return (Standing::PendingApproval, None);
        }
        let binding = Binding::of(entry, places);
        let because = match self.store.decision(&binding) {
            Decision::Approved => "you approved it as it is".to_owned(),
            Decision::Rejected => return (Standing::Rejected, Some("you rejected it".to_owned())),
            _ if applied.is_some_and(|applied| applied.covers(&binding)) => {
                "approved as it is for all replicas of the cluster".to_owned()
            }
            Decision::Changed(differences) => {
                return (Standing::PendingApproval, Some(changed(&differences)));
            }
            Decision::Open => match listed.filter(|_| binding.obstacle().is_none()) {
                // A list approves what nobody has looked at, and somebody has looked at this.
                _ if applied.is_some() => {
                    let differences = applied.map(|it| it.differences(&binding));
                    let changed = changed(&differences.unwrap_or_default());
                    return (Standing::PendingApproval, Some(changed));
                }
                Some(place) => {
                    loaded.pins.push(binding.clone());
                    entry.pin = Some(Arc::new(Pin {
                        file: places.approvals(),
                        binding: binding.clone(),
                    }));
                    format!("approved by {place}")
                }
                None => {
                    let obstacle = binding.obstacle();
                    let because = obstacle.map(|why| format!("it cannot be approved: {why}"));
                    return (Standing::PendingApproval, because);
                }
            },
        };
        entry.program = binding.program;
        let bound = Bound::new(entry, Ground::of(entry, places), binding.contents);
        entry.bound = Some(Arc::new(bound));
        (Standing::Active, Some(because))
    }

    /// What was approved for this machine and others under this name there.
    fn applied_to(&self, entry: &Entry, directory: &Path) -> Option<&Binding> {
        let mut applied = self.applied.iter();
        applied.find(|it| it.name == entry.name && it.directory == directory)
    }

    /// The user's own list that approves it, the first time it is seen. A name
    /// that is meant for everywhere is good for one entry: another repository
    /// can call anything by the same name.
    fn listed(&self, entry: &Entry) -> Option<String> {
        let named = |lists: &Lists| {
            let found = lists
                .enabled
                .iter()
                .find(|named| named.name == entry.name)?;
            Some(format!("enabledMcpjsonServers in {}", found.place))
        };
        let all = |lists: &Lists| {
            let place = lists.enable_all.as_ref()?;
            Some(format!("enableAllProjectMcpServers in {place}"))
        };
        let here = || self.gathered.here.iter();
        let everywhere = || self.gathered.everywhere.iter();
        here()
            .find_map(named)
            .or_else(|| here().find_map(all))
            .or_else(|| everywhere().find_map(all))
            .or_else(|| {
                let pinned = self.store.elsewhere(entry).is_some();
                everywhere().find_map(named).filter(|_| !pinned)
            })
    }

    /// What any of the lists says: to forbid is everybody's right.
    fn all(&self, which: fn(&Lists) -> &Vec<Named>) -> impl Iterator<Item = &Named> {
        let lists = self
            .gathered
            .everywhere
            .iter()
            .chain(&self.gathered.here)
            .chain(&self.gathered.inside);
        lists.flat_map(which)
    }
}

fn changed(differences: &[Difference]) -> String {
    let fields: Vec<&str> = differences
        .iter()
        .map(|difference| difference.field.as_str())
        .collect();
    format!("changed since you approved it: {}", fields.join(", "))
}

/// Of entries with one name the highest scope counts, and in it the last. One
/// that may not be used takes nobody's place.
fn shadow(servers: &mut [Configured]) {
    let counts = |server: &Configured| {
        matches!(
            server.standing,
            Standing::Active | Standing::Disabled | Standing::Itself | Standing::Shadowed(_)
        )
    };
    // By name, since a file may hold thousands.
    let mut strongest: HashMap<String, (Scope, usize)> = HashMap::new();
    for (i, server) in servers.iter().enumerate().filter(|(_, one)| counts(one)) {
        let place = (server.entry.scope, i);
        let best = strongest.entry(server.entry.name.clone()).or_insert(place);
        *best = place.max(*best);
    }
    for i in 0..servers.len() {
        let me = &servers[i].entry;
        let Some(best) = strongest.get(&me.name) else {
            continue;
        };
        if *best > (me.scope, i) {
            let other = &servers[best.1].entry;
            servers[i].standing =
                Standing::Shadowed(format!("{} ({})", other.scope, other.place()));
        }
    }
}

/// A plugin or connector that brings a server which is there already gives way.
/// Two that the user configured with the same command both stay.
fn deduplicate(servers: &mut [Configured]) {
    let may_give_way =
        |server: &Configured| matches!(server.entry.scope, Scope::Connector | Scope::Plugin);
    if !servers.iter().any(may_give_way) {
        return;
    }
    let mut alike: HashMap<(bool, Vec<String>), Vec<usize>> = HashMap::new();
    for (i, server) in servers.iter().enumerate() {
        if let Some(signature) = signature(&server.entry) {
            alike.entry(signature).or_default().push(i);
        }
    }
    for i in 0..servers.len() {
        let me = &servers[i];
        if me.standing != Standing::Active || !may_give_way(me) {
            continue;
        }
        let Some(signature) = signature(&me.entry) else {
            continue;
        };
        let alike = alike.get(&signature).into_iter().flatten();
        let same = alike.map(|j| (*j, &servers[*j])).find(|(j, other)| {
            let stronger =
                other.entry.scope > me.entry.scope || other.entry.scope == me.entry.scope && *j < i;
            stronger && other.standing == Standing::Active
        });
        if let Some((_, other)) = same {
            let by = format!(
                "{:?} of {} ({})",
                other.entry.name,
                other.entry.scope,
                other.entry.place()
            );
            servers[i].standing = Standing::Duplicate(by);
        }
    }
}

/// What makes two entries the same server.
fn signature(entry: &Entry) -> Option<(bool, Vec<String>)> {
    match entry.transport {
        Transport::Stdio => {
            let words = entry.command.iter().chain(&entry.args).cloned();
            Some((true, words.collect()))
        }
        Transport::Builtin | Transport::Worker => None,
        _ => Some((
            false,
            vec![entry.url.as_deref()?.trim_end_matches('/').to_owned()],
        )),
    }
}
