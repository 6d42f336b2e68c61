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
use switchboard_host::{Host, Server, ServerSpec};
use switchboard_transport::Budget;
use switchboard_wire::name::Style;

/// The servers of one run of the program.
#[derive(Debug)]
pub struct Roster {
    /// Those that can be used. Nothing is started until somebody needs it.
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
        let mut specs = Vec::new();
        // First what each entry is, then the host, then who is who in it.
        let prepared: Vec<_> = loaded
            .servers
            .into_iter()
            .map(|configured| {
                let why =
                    (configured.standing != Standing::Active).then(|| explain::reason(&configured));
                let mut authority = None;
                let status = match configured.standing {
                    Standing::Active => {
                        match spec(
                            &configured.entry,
                            with.settings,
                            with.access,
                            with.lookup,
                            &late,
                        ) {
                            Ok(prepared) => {
                                specs.push(prepared.spec);
                                authority = prepared.authority;
                                None
                            }
                            Err(faults) => Some(Status::Faulty(faults)),
                        }
                    }
                    standing => Some(Status::Unused(standing)),
                };
                (configured.entry, status, why, authority)
            })
            .collect();
        let through = lead(&mut specs, gateways);
        let host = Host::new(specs, style, Budget::default());
        let _ = late.set(Arc::downgrade(&host));
        let now = host.servers();
        let mut servers = now.iter();
        let members = prepared
            .into_iter()
            .filter_map(|(entry, status, why, authority)| {
                let status = status.or_else(|| servers.next().cloned().map(Status::Server))?;
                Some(Member {
                    entry,
                    status,
                    why,
                    authority,
                })
            })
            .collect();
        Self {
            host,
            members,
            through,
        }
    }

    /// Changes the servers of a host to what was loaded since; `govern` gives
    /// them their rules before anybody can reach them. Whether the servers
    /// changed, and what is worth a warning.
    pub fn reload<E>(
        host: &Arc<Host>,
        loaded: Loaded,
        with: &With<'_>,
        govern: impl FnOnce(&Self) -> Result<Vec<String>, E>,
    ) -> Result<(bool, Vec<String>), E> {
        let late = LateHost::default();
        let _ = late.set(Arc::downgrade(host));
        let (mut specs, mut entries, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        for configured in loaded.servers {
            if configured.standing != Standing::Active {
                continue;
            }
            let entry = configured.entry;
            match spec(&entry, with.settings, with.access, with.lookup, &late) {
                Ok(prepared) => {
                    specs.push(prepared.spec);
                    entries.push((entry, prepared.authority));
                }
                Err(faults) => warnings.extend(faults.iter().map(ToString::to_string)),
            }
        }
        let changed = host.replace_after(specs, |servers| {
            let members = entries.into_iter().zip(servers);
            let members = members.map(|((entry, authority), server)| Member {
                entry,
                status: Status::Server(server.clone()),
                why: None,
                authority,
            });
            let roster = Self {
                host: host.clone(),
                members: members.collect(),
                through: HashMap::new(),
            };
            warnings.extend(govern(&roster)?);
            Ok(())
        })?;
        Ok((changed, warnings))
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
