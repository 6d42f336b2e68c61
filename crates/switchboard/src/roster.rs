//! Everything that is configured, and what became of it: a server, a fault, or
//! a reason to leave it alone.

use crate::{
    access::Access,
    attached::Attached,
    settings::Settings,
    spec::{LateHost, spec},
};
use std::{collections::HashMap, sync::Arc};
use switchboard_auth::Authority;
use switchboard_config::{
    Entry, Fault, Loaded, Scope, Source, Standing, Transport, expand::Lookup, explain,
};
use switchboard_host::{Host, Server, ServerSpec, State};
use switchboard_transport::Budget;
use switchboard_wire::name::Style;

/// The servers of one run of the program.
#[derive(Debug)]
pub struct Roster {
    /// Those that can be used. Nothing is started until somebody needs it. Its
    /// [`state_events`](Host::state_events) tell of the others as well.
    pub host: Arc<Host>,
    /// All of them, in the order they are configured.
    pub members: Vec<Member>,
    /// Those that a running gateway has, by name.
    pub through: HashMap<String, Through>,
}

/// A server that is reached through a running gateway.
#[derive(Clone, Debug)]
pub struct Through {
    /// Which gateway.
    pub gateway: Arc<Attached>,
    /// Where in it.
    pub segment: String,
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
pub struct Reloaded {
    /// Whether the servers changed.
    pub changed: bool,
    /// What is worth a warning.
    pub warnings: Vec<String>,
    /// All that is configured now.
    pub members: Vec<Member>,
}

/// What servers are made with, besides their entries.
#[derive(Clone, Copy)]
pub struct With<'a> {
    /// Times and numbers.
    pub settings: &'a Settings,
    /// How we sign in; without it nobody does anywhere.
    pub access: Option<&'a Access>,
    /// Gives environment variables.
    pub lookup: Lookup<'a>,
}

impl Roster {
    /// Makes servers of what was loaded. `lookup` gives environment variables;
    /// without `access` nobody signs in anywhere.
    pub fn new(
        loaded: Loaded,
        settings: &Settings,
        access: Option<&Access>,
        style: Style,
        lookup: Lookup<'_>,
    ) -> Self {
        let with = With {
            settings,
            access,
            lookup,
        };
        Self::led(loaded, &with, style, &mut [])
    }

    /// The same; servers that one of these gateways has are reached through it.
    pub fn led(loaded: Loaded, with: &With<'_>, style: Style, gateways: &mut [Attached]) -> Self {
        let late = LateHost::default();
        let (mut specs, prepared) = prepare(loaded, with, &late);
        let through = lead(&mut specs, gateways);
        let host = Host::new(specs, style, Budget::default());
        let _ = late.set(Arc::downgrade(&host));
        let members = assemble(prepared, &host.servers());
        host.set_aside(aside(&members));
        Self {
            host,
            members,
            through,
        }
    }

    /// Changes the servers of a host to what was loaded since; `govern` gives
    /// them their rules before anybody can reach them, and says what is worth a
    /// warning.
    pub fn reload<E>(
        host: &Arc<Host>,
        loaded: Loaded,
        with: &With<'_>,
        govern: impl FnOnce(&Self) -> Result<Vec<String>, E>,
    ) -> Result<Reloaded, E> {
        let late = LateHost::default();
        let _ = late.set(Arc::downgrade(host));
        let (specs, prepared) = prepare(loaded, with, &late);
        let (mut warnings, mut members) = (Vec::new(), Vec::new());
        for (_, status, ..) in &prepared {
            if let Some(Status::Faulty(faults)) = status {
                warnings.extend(faults.iter().map(ToString::to_string));
            }
        }
        let changed = host.replace_after(specs, |servers| {
            let roster = Self {
                host: host.clone(),
                members: assemble(prepared, servers),
                through: HashMap::new(),
            };
            warnings.extend(govern(&roster)?);
            members = roster.members;
            Ok(())
        })?;
        host.set_aside(aside(&members));
        Ok(Reloaded {
            changed,
            warnings,
            members,
        })
    }

    /// The members that count, whether or not they work: what names are decided over.
    pub fn counting(&self) -> impl Iterator<Item = &Member> {
        self.members
            .iter()
            .filter(|member| !matches!(member.status, Status::Unused(_)))
    }

    /// The member of this name that is in use, or would be.
    pub fn find(&self, name: &str) -> Option<&Member> {
        let named = || {
            self.members
                .iter()
                .filter(|member| member.entry.name == name)
        };
        let used = |member: &&Member| !matches!(member.status, Status::Unused(_));
        let given_way =
            |member: &&Member| matches!(member.status, Status::Unused(Standing::Shadowed(_)));
        named()
            .find(used)
            .or_else(|| named().find(|member| !given_way(member)))
    }
}

/// What became of an entry, so far: nothing yet where it will be a server.
type Prepared = (Entry, Option<Status>, Option<String>, Option<Authority>);

/// What each entry is, before there is a host.
fn prepare(loaded: Loaded, with: &With<'_>, late: &LateHost) -> (Vec<ServerSpec>, Vec<Prepared>) {
    let mut specs = Vec::new();
    let folder = loaded.folder;
    let prepared = loaded.servers.into_iter().map(|configured| {
        let why = (configured.standing != Standing::Active).then(|| explain::reason(&configured));
        let entry = configured.entry;
        let (status, authority) = match configured.standing {
            Standing::Active => match spec(&entry, with, &folder, late) {
                Ok(prepared) => {
                    specs.push(prepared.spec);
                    (None, prepared.authority)
                }
                Err(faults) => (Some(Status::Faulty(faults)), None),
            },
            standing => (Some(Status::Unused(standing)), None),
        };
        (entry, status, why, authority)
    });
    let prepared = prepared.collect();
    (specs, prepared)
}

/// Who is who among the servers, which are in the order of their entries.
fn assemble(prepared: Vec<Prepared>, servers: &[Arc<Server>]) -> Vec<Member> {
    let mut servers = servers.iter();
    let member = |(entry, status, why, authority): Prepared| {
        let status = status.or_else(|| servers.next().cloned().map(Status::Server))?;
        Some(Member {
            entry,
            status,
            why,
            authority,
        })
    };
    prepared.into_iter().filter_map(member).collect()
}

/// What is configured and is no server, for whoever follows the host's states.
fn aside(members: &[Member]) -> Vec<(Arc<str>, State)> {
    let state = |member: &Member| {
        let why = || member.why.clone().unwrap_or_default();
        Some(match &member.status {
            Status::Server(_) => return None,
            Status::Faulty(faults) => {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                State::Failed(faults.join("; "))
            }
            // Another of its name is there, or counts for it.
            Status::Unused(Standing::Shadowed(_) | Standing::Duplicate(_)) => return None,
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

/// Leads the servers through the first gateway that has each. A gateway that
/// was started here and knows some of them differently reads its files first.
fn lead(specs: &mut [ServerSpec], gateways: &mut [Attached]) -> HashMap<String, Through> {
    let here = std::env::current_dir().unwrap_or_default();
    let mut through = HashMap::new();
    for gateway in gateways {
        let behind = specs.iter().any(|spec| gateway.find(spec).is_none());
        if behind && gateway.running.directory == here && gateway.reload().is_err() {
            continue;
        }
        let shared = Arc::new(gateway.clone());
        for spec in specs.iter_mut() {
            let Some(segment) = shared.find(spec).map(|known| known.segment.clone()) else {
                continue;
            };
            if !through.contains_key(&*spec.name) && shared.lead(spec) {
                let gateway = shared.clone();
                through.insert(spec.name.to_string(), Through { gateway, segment });
            }
        }
    }
    through
}

/// The entry of a server that comes with Switchboard.
pub fn builtin_entry(name: &str) -> Entry {
    let mut entry = Entry::at(name, Scope::Dynamic, Source::Ours, 1);
    entry.transport = Transport::Builtin;
    entry
}
