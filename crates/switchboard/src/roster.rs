//! Everything that is configured, and what became of it: a server, a fault, or
//! a reason to leave it alone.

pub use crate::attached::ViaGateway;
use crate::{
    access::Authority,
    attached::{self, Attached},
    permissions::{Governance, Unfollowable},
    spec::{LateHost, With, spec},
};
use std::{collections::HashMap, convert::Infallible, sync::Arc};
use switchboard_config::{Entry, Fault, Loaded, Scope, Source, Standing, Transport, explain};
use switchboard_host::{Host, Server, ServerSpec, State};
use switchboard_transport::Budget;
use switchboard_wire::name::Style;

/// The servers of one run of the program, and the host that has them.
#[derive(Debug)]
pub(crate) struct Roster {
    /// Those that can be used. Nothing is started until somebody needs it. Its
    /// [`state_events`](Host::state_events) tell of the others as well.
    pub(crate) host: Arc<Host>,
    /// All of them, in the order they are configured.
    pub(crate) members: Vec<Member>,
    /// Those that a running gateway has, by name.
    pub(crate) via: HashMap<String, ViaGateway>,
    /// What is worth a warning.
    pub(crate) warnings: Vec<String>,
}

/// One entry and what became of it.
#[derive(Clone, Debug)]
pub struct Member {
    /// As it is written.
    pub entry: Entry,
    /// What became of it.
    pub status: Status,
    /// The same in words, where it is not used.
    pub why: Option<String>,
    /// How we sign in there, if we would.
    pub authority: Option<Authority>,
}

/// What became of an entry.
#[derive(Clone, Debug)]
pub enum Status {
    /// A server that can be used.
    Server(Arc<Server>),
    /// It cannot work as it is written.
    Faulty(Vec<Fault>),
    /// It is not used; why.
    Unused(Standing),
}

/// What reading the configuration again has changed.
#[derive(Debug)]
pub(crate) struct Reloaded {
    /// Whether the servers changed.
    pub(crate) changed: bool,
    /// What is worth a warning.
    pub(crate) warnings: Vec<String>,
    /// All that is configured now.
    pub(crate) members: Vec<Member>,
}

impl Roster {
    /// Makes servers of what was loaded, under rules from the first moment on.
    /// Servers that one of these gateways has are reached through it.
    pub(crate) fn new(
        loaded: Loaded,
        with: &With<'_>,
        governance: &Governance<'_>,
        style: Style,
        gateways: &mut [Attached],
    ) -> Result<Self, Unfollowable> {
        let late = LateHost::default();
        let mut prepared = prepare(loaded, with, &late);
        let via = attached::lead(
            &mut prepared,
            with.directory,
            governance.permissions,
            gateways,
        );
        let (rules, pins) = governance.rules(&prepared, &via)?;
        let (specs, drafts) = split(prepared);
        let host = Host::new(specs, rules, style, Budget::default());
        let _ = late.set(Arc::downgrade(&host));
        let members = assemble(drafts, &host.servers());
        let warnings = governance.pin(&host, &members, pins);
        host.set_aside(unused_states(&members));
        Ok(Self {
            host,
            members,
            via,
            warnings,
        })
    }

    /// Changes the servers of a host, and the rules for them, to what was loaded
    /// since. The rules are there before anybody can reach the servers; where
    /// they cannot be followed nothing changes.
    pub(crate) fn reload(
        host: &Arc<Host>,
        loaded: Loaded,
        with: &With<'_>,
        governance: &Governance<'_>,
    ) -> Result<Reloaded, Unfollowable> {
        let late = LateHost::default();
        let _ = late.set(Arc::downgrade(host));
        let prepared = prepare(loaded, with, &late);
        let (rules, pins) = governance.rules(&prepared, &HashMap::new())?;
        let mut warnings: Vec<String> = prepared
            .iter()
            .flat_map(Prepared::faults)
            .map(ToString::to_string)
            .collect();
        let (specs, drafts) = split(prepared);
        let mut members = Vec::new();
        let changed = host.replace_after(specs, |servers| {
            host.guard().set_rules(rules);
            members = assemble(drafts, servers);
            warnings.extend(governance.pin(host, &members, pins));
            Ok::<(), Infallible>(())
        });
        host.set_aside(unused_states(&members));
        Ok(Reloaded {
            changed: changed.unwrap_or_default(),
            warnings,
            members,
        })
    }
}

/// A server that stays as it was keeps its way in: what is signed in there is signed in to
/// by that one.
pub(crate) fn keep_ways(members: &mut [Member], before: &[Member]) {
    for member in members {
        let Status::Server(server) = &member.status else {
            continue;
        };
        let same = before.iter().find(|old| match &old.status {
            Status::Server(old) => Arc::ptr_eq(old, server),
            _ => false,
        });
        if let Some(same) = same {
            member.authority.clone_from(&same.authority);
        }
    }
}

/// An entry, before there is a host.
pub(crate) struct Prepared {
    entry: Entry,
    became: Became,
    why: Option<String>,
    authority: Option<Authority>,
}

/// What became of it so far.
enum Became {
    /// It will be a server.
    Spec(Box<ServerSpec>),
    /// It will be none.
    Settled(Status),
}

impl Prepared {
    /// The entry and what it will be, if it will be a server.
    pub(crate) fn server(&self) -> Option<(&Entry, &ServerSpec)> {
        match &self.became {
            Became::Spec(spec) => Some((&self.entry, spec)),
            Became::Settled(_) => None,
        }
    }

    /// The server that it will be.
    #[cfg_attr(
        not(feature = "gateway"),
        allow(dead_code, reason = "gateways change it")
    )]
    pub(crate) fn spec(&mut self) -> Option<&mut ServerSpec> {
        match &mut self.became {
            Became::Spec(spec) => Some(spec),
            Became::Settled(_) => None,
        }
    }

    fn faults(&self) -> &[Fault] {
        match &self.became {
            Became::Settled(Status::Faulty(faults)) => faults,
            _ => &[],
        }
    }
}

/// What each entry is, before there is a host.
fn prepare(loaded: Loaded, with: &With<'_>, late: &LateHost) -> Vec<Prepared> {
    let folder = loaded.folder;
    let prepared = loaded.servers.into_iter().map(|configured| {
        let why = (configured.standing != Standing::Active).then(|| explain::reason(&configured));
        let entry = configured.entry;
        let (became, authority) = match configured.standing {
            Standing::Active => match spec(&entry, with, &folder, late) {
                Ok(made) => (Became::Spec(Box::new(made.spec)), made.authority),
                Err(faults) => (Became::Settled(Status::Faulty(faults)), None),
            },
            standing => (Became::Settled(Status::Unused(standing)), None),
        };
        Prepared {
            entry,
            became,
            why,
            authority,
        }
    });
    prepared.collect()
}

/// What an entry comes to, without anything that could be started.
#[derive(Clone, Debug)]
pub struct Preview {
    /// As it is written.
    pub entry: Entry,
    /// Whether it is used.
    pub standing: Standing,
    /// Why it cannot work as it is written, if it cannot.
    pub faults: Vec<Fault>,
    /// The standing in words, where it is not used.
    pub why: Option<String>,
}

impl From<&Member> for Preview {
    fn from(member: &Member) -> Self {
        let (standing, faults) = match &member.status {
            Status::Server(_) => (Standing::Active, Vec::new()),
            Status::Faulty(faults) => (Standing::Active, faults.clone()),
            Status::Unused(standing) => (standing.clone(), Vec::new()),
        };
        Self {
            entry: member.entry.clone(),
            standing,
            faults,
            why: member.why.clone(),
        }
    }
}

/// What each entry would come to.
pub(crate) fn preview(loaded: Loaded, with: &With<'_>) -> Vec<Preview> {
    let prepared = prepare(loaded, with, &LateHost::default());
    let preview = |prepared: Prepared| Preview {
        faults: prepared.faults().to_vec(),
        standing: match prepared.became {
            Became::Settled(Status::Unused(standing)) => standing,
            Became::Spec(_) | Became::Settled(_) => Standing::Active,
        },
        entry: prepared.entry,
        why: prepared.why,
    };
    prepared.into_iter().map(preview).collect()
}

/// A member whose server is not there yet: nothing is settled of one that will be.
struct Draft {
    entry: Entry,
    settled: Option<Status>,
    why: Option<String>,
    authority: Option<Authority>,
}

fn split(prepared: Vec<Prepared>) -> (Vec<ServerSpec>, Vec<Draft>) {
    let mut specs = Vec::new();
    let drafts = prepared.into_iter().map(|prepared| Draft {
        settled: match prepared.became {
            Became::Spec(spec) => {
                specs.push(*spec);
                None
            }
            Became::Settled(status) => Some(status),
        },
        entry: prepared.entry,
        why: prepared.why,
        authority: prepared.authority,
    });
    let drafts = drafts.collect();
    (specs, drafts)
}

/// Who is who among the servers. One entry of each name counts, so that the name
/// says it.
fn assemble(drafts: Vec<Draft>, servers: &[Arc<Server>]) -> Vec<Member> {
    let servers: HashMap<&str, &Arc<Server>> = servers
        .iter()
        .map(|server| (&**server.name(), server))
        .collect();
    let member = |draft: Draft| {
        let server = || servers.get(draft.entry.name.as_str());
        let status = match draft.settled {
            Some(status) => status,
            None => Status::Server((*server()?).clone()),
        };
        Some(Member {
            entry: draft.entry,
            status,
            why: draft.why,
            authority: draft.authority,
        })
    };
    drafts.into_iter().filter_map(member).collect()
}

/// What is configured and is no server, for whoever follows the host's states.
fn unused_states(members: &[Member]) -> Vec<(Arc<str>, State)> {
    let state = |member: &Member| {
        let why = || member.why.clone().unwrap_or_default();
        Some(match &member.status {
            Status::Faulty(faults) => {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                State::Failed(faults.join("; "))
            }
            // A server, or another of its name is there, or counts for it.
            Status::Server(_) | Status::Unused(Standing::Shadowed(_) | Standing::Duplicate(_)) => {
                return None;
            }
            Status::Unused(Standing::Disabled) => State::Disabled,
            Status::Unused(Standing::PendingApproval) => State::PendingApproval,
            Status::Unused(_) => State::Unused(why()),
        })
    };
    let named = members
        .iter()
        .filter_map(|member| Some((member.entry.name.as_str().into(), state(member)?)));
    named.collect()
}

/// The entry of a server that comes with Switchboard.
pub fn builtin_entry(name: &str) -> Entry {
    let mut entry = Entry::at(name, Scope::Dynamic, Source::Ours, 1);
    entry.transport = Transport::Builtin;
    entry
}
