//! Everything that is configured, and what became of it: a server, a fault, or
//! a reason to leave it alone.

use crate::{
    access::Access,
    settings::Settings,
    spec::{LateHost, spec},
};
use std::sync::Arc;
use switchboard_auth::Authority;
use switchboard_config::{
    Entry, Fault, Loaded, Scope, Source, Standing, Transport, expand::Lookup, explain,
};
use switchboard_host::{Host, Server};
use switchboard_transport::Budget;
use switchboard_wire::name::Style;

/// The servers of one run of the program.
#[derive(Debug)]
pub struct Roster {
    /// Those that can be used. Nothing is started until somebody needs it.
    pub host: Arc<Host>,
    /// All of them, in the order they are configured.
    pub members: Vec<Member>,
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
                        match spec(&configured.entry, settings, access, lookup, &late) {
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
        let host = Host::new(specs, style, Budget::default());
        let _ = late.set(Arc::downgrade(&host));
        let mut servers = host.servers().iter();
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
        Self { host, members }
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

/// The entry of a server that comes with Switchboard.
pub fn builtin_entry(name: &str) -> Entry {
    let mut entry = Entry::at(name, Scope::Dynamic, Source::Ours, 1);
    entry.transport = Transport::Builtin;
    entry
}
