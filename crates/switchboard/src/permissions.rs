//! From what settings say to the rules that a host holds.

use crate::{
    identity,
    roster::{Member, Prepared, Status, ViaGateway},
};
use std::{collections::HashMap, path::Path, sync::Arc};
use switchboard_config::{self as config, Entry, Permissions, Scope, Source, Transport};
use switchboard_host::{
    Host, ServerSpec,
    permission::{Answers, Effect, Mode, Origin, Pinned, RuleFault, Rules},
    pins::{Keeping, Pinning, Signed},
};

/// Who is behind the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Clients of a gateway, who ask their own users.
    Gateway,
    /// Whoever typed the command: typing it is consent, save where a rule asks or denies.
    Command,
    /// A model, which nobody watches: somebody is asked about all that no rule is about.
    Agent,
}

/// The principals that are whoever runs the program: at the program's own tools and
/// terminal, at a client that starts it, with the token that is made by itself, and
/// where no token is asked for.
const USER: [&str; 3] = ["default", "local", "anonymous"];

/// Settings that cannot be followed. Going on without them would permit what they forbid.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unfollowable(String);

/// What a host is held to.
#[derive(Clone, Copy)]
pub(crate) struct Governance<'a> {
    /// What the settings say.
    pub(crate) permissions: &'a Permissions,
    /// Who is behind the calls.
    pub(crate) purpose: Purpose,
    /// What the command line says.
    pub(crate) mode: Option<Mode>,
    /// Where answers and pins are kept.
    pub(crate) data: Option<&'a Path>,
    /// What definitions are to be, if somebody is followed who says so.
    pub(crate) signed: Option<&'a Signed>,
}

/// What else there is to do once a host has its rules.
pub(crate) struct Pins {
    /// How the definitions of each server are pinned.
    keepings: HashMap<String, Keeping>,
    warnings: Vec<String>,
}

impl Governance<'_> {
    /// The rules for these servers; those in `through` are another gateway's.
    pub(crate) fn rules(
        &self,
        prepared: &[Prepared],
        via: &HashMap<String, ViaGateway>,
    ) -> Result<(Rules, Pins), Unfollowable> {
        let permissions = self.permissions;
        let mode = self.mode()?;
        let servers = || prepared.iter().filter_map(Prepared::server);
        let names = servers().map(|(_, spec)| spec.name.as_ref());
        let mut builder = Rules::builder(names, mode);
        builder = builder.made_of(identity::of_rules(permissions, mode));
        for rule in permissions.rules.iter().filter(|rule| rule.is_for_us()) {
            let effect = match rule.list {
                "allow" => Effect::Allow,
                "ask" => Effect::Ask,
                _ => Effect::Deny,
            };
            let place = rule.rule.place.as_str();
            let origin = if rule.inside {
                Origin::project(place)
            } else {
                Origin::user(place)
            };
            builder = builder.rule(effect, &rule.rule.text, origin);
        }
        if self.purpose == Purpose::Gateway {
            for (principal, mode) in &permissions.modes {
                builder = builder.mode_of(principal.as_str(), parse(&mode.text, &mode.place)?);
            }
        }
        for (entry, spec) in servers() {
            if spec.is_vouched_for {
                builder = builder.vouch(entry.name.as_str());
            }
        }
        builder = builder.from_projects(from_projects(servers()));
        for server in &permissions.trusted {
            builder = builder.trust(server.text.as_str());
        }
        // An answer that lasts is a rule of whoever gave it.
        if let Some(data) = self.data.filter(|_| !permissions.managed_only) {
            let answers = Answers::open(data).map_err(|fault| Unfollowable(fault.to_string()))?;
            builder = builder.answers(Arc::new(answers));
        }
        let (rules, faults) = builder.build();
        // What a repository would like to allow is nothing that the user did wrong.
        let told = |fault: &&RuleFault| !matches!(fault, RuleFault::FromProject { .. });
        let warnings = faults.iter().filter(told).map(ToString::to_string);
        let pins = Pins {
            keepings: keepings(servers(), via, permissions, self.signed),
            warnings: warnings.collect(),
        };
        Ok((rules, pins))
    }

    fn mode(&self) -> Result<Mode, Unfollowable> {
        let written = match &self.permissions.mode {
            Some(written) => Some(parse(&written.text, &written.place)?),
            None => None,
        };
        Ok(match (self.purpose, self.mode.or(written)) {
            (Purpose::Gateway, mode) => mode.unwrap_or(Mode::Client),
            (Purpose::Command, Some(Mode::ReadOnly)) => Mode::ReadOnly,
            (Purpose::Command, _) => Mode::Bypass,
            // There is no client with a user of its own.
            (Purpose::Agent, None | Some(Mode::Client)) => Mode::Default,
            (Purpose::Agent, Some(mode)) => mode,
        })
    }

    /// Has a host hold the definitions of its servers to what was pinned. Returns
    /// what is worth a warning.
    pub(crate) fn pin(&self, host: &Host, members: &[Member], pins: Pins) -> Vec<String> {
        let servers = || {
            members.iter().filter_map(|member| match &member.status {
                Status::Server(server) => Some(server),
                Status::Faulty(_) | Status::Unused(_) => None,
            })
        };
        let guard = host.guard();
        if let Some(data) = self.data {
            let kept = guard.pins_in(&data.join("pins"));
            if let Some(signed) = self.signed {
                kept.follow(signed.clone());
            }
            let pinned = Pinned {
                pins: kept,
                servers: pins.keepings,
                user: USER.iter().map(|name| Arc::from(*name)).collect(),
            };
            guard.set_pins(pinned, servers());
        }
        let mut warnings = pins.warnings;
        // The host itself may be in the middle of changing its servers.
        warnings.extend(servers().filter_map(|server| guard.pins_fault(server)));
        warnings
    }
}

fn parse(text: &str, place: &str) -> Result<Mode, Unfollowable> {
    text.parse::<Mode>()
        .map_err(|fault| Unfollowable(format!("{place}: {fault}")))
}

/// How the definitions of each server are pinned.
fn keepings<'a>(
    servers: impl Iterator<Item = (&'a Entry, &'a ServerSpec)>,
    via: &HashMap<String, ViaGateway>,
    permissions: &Permissions,
    signed: Option<&Signed>,
) -> HashMap<String, Keeping> {
    let keeping = |(entry, _): (&Entry, &ServerSpec)| {
        let key = pin_key(entry);
        let is_signed = signed.is_some_and(|signed| signed.contains_key(&key));
        let pinning = match pinning(entry, permissions) {
            Pinning::Off if !is_signed => Pinning::Off,
            // Its gateway sees to it.
            _ if via.contains_key(&entry.name) => Pinning::Elsewhere,
            _ if is_signed => Pinning::Hold,
            pinning => pinning,
        };
        (entry.name.clone(), Keeping { key, pinning })
    };
    servers.map(keeping).collect()
}

/// Servers from inside a project, by name, with the key of their pins.
fn from_projects<'a>(
    servers: impl Iterator<Item = (&'a Entry, &'a ServerSpec)>,
) -> HashMap<String, String> {
    servers
        .filter(|(entry, _)| entry.inside)
        .map(|(entry, _)| (entry.name.clone(), pin_key(entry)))
        .collect()
}

/// What a server is called where its definitions are pinned: two projects may use
/// one name for different servers, and what was typed is nothing that is kept.
pub fn pin_key(entry: &Entry) -> String {
    match entry.scope {
        _ if entry.inside => format!("{} in {}", entry.name, entry.source),
        Scope::Dynamic => format!("{} of --mcp-config", entry.name),
        Scope::Fleet => format!("{} of the cluster", entry.name),
        _ => entry.name.clone(),
    }
}

/// What becomes of a server's definitions that are not what they were.
fn pinning(entry: &Entry, permissions: &Permissions) -> Pinning {
    // What comes with the program is our own word.
    if entry.transport == Transport::Builtin || entry.source == Source::Ours {
        return Pinning::Off;
    }
    let all = permissions.pinning.as_ref().and_then(|pins| pins.pinning);
    let typed = entry.scope == Scope::Dynamic;
    match entry.pins {
        Some(config::Pinning::Hold) => Pinning::Hold,
        Some(config::Pinning::Tell) => Pinning::Tell,
        Some(config::Pinning::Off) => Pinning::Off,
        None => match all {
            Some(config::Pinning::Off) => Pinning::Off,
            _ if typed => Pinning::Unkept,
            Some(config::Pinning::Hold) => Pinning::Hold,
            Some(config::Pinning::Tell) => Pinning::Tell,
            None if entry.inside => Pinning::Hold,
            // Whoever signed it may change it, and replicas see to what it lists.
            None if entry.scope == Scope::Fleet => Pinning::Off,
            None => Pinning::Own,
        },
    }
}
