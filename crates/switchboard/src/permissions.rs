//! From what settings say to the rules that a host holds.

use crate::{
    identity,
    roster::{Member, Roster, Status},
};
use std::{collections::HashMap, path::Path, sync::Arc};
use switchboard_config::{self as config, Entry, Scope, Source, Transport, settings::Permissions};
use switchboard_host::{
    permission::{Answers, Effect, Mode, Origin, Pinned, RuleFault, Rules},
    pins::{Keeping, Pinning},
};

/// Who is behind the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Clients of a gateway, who ask their own users.
    Gateway,
    /// Whoever typed the command: typing it is consent, save where a rule asks or denies.
    Command,
}

/// Settings that cannot be followed. Going on without them would permit what they forbid.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unfollowable(String);

impl Roster {
    /// Gives the host the rules. `data` is where answers and pins are kept;
    /// `mode` is what the command line says. Returns what is worth a warning.
    pub fn govern(
        &self,
        permissions: &Permissions,
        purpose: Purpose,
        mode: Option<Mode>,
        data: Option<&Path>,
    ) -> Result<Vec<String>, Unfollowable> {
        let parse = |text: &str, place: &str| {
            text.parse::<Mode>()
                .map_err(|fault| Unfollowable(format!("{place}: {fault}")))
        };
        let written = match &permissions.mode {
            Some(written) => Some(parse(&written.text, &written.place)?),
            None => None,
        };
        let mode = match (purpose, mode.or(written)) {
            (Purpose::Gateway, mode) => mode.unwrap_or(Mode::Client),
            (Purpose::Command, Some(Mode::ReadOnly)) => Mode::ReadOnly,
            (Purpose::Command, _) => Mode::Bypass,
        };
        let names = self
            .members
            .iter()
            .filter_map(|member| match &member.status {
                Status::Server(server) => Some(server.name().as_ref()),
                Status::Faulty(_) | Status::Unused(_) => None,
            });
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
        if purpose == Purpose::Gateway {
            for (principal, mode) in &permissions.modes {
                builder = builder.mode_of(principal.as_str(), parse(&mode.text, &mode.place)?);
            }
        }
        for member in &self.members {
            if let Status::Server(server) = &member.status
                && server.spec.is_vouched_for
            {
                builder = builder.vouch(member.entry.name.as_str());
            }
        }
        builder = builder.from_projects(self.project_servers());
        for server in &permissions.trusted {
            builder = builder.trust(server.text.as_str());
        }
        // An answer that lasts is a rule of whoever gave it.
        if let Some(data) = data.filter(|_| !permissions.managed_only) {
            let answers = Answers::open(data).map_err(|fault| Unfollowable(fault.to_string()))?;
            builder = builder.answers(Arc::new(answers));
        }
        let (rules, faults) = builder.build();
        self.host.guard().set_rules(rules);
        if let Some(data) = data {
            let pinned = Pinned {
                pins: self.host.guard().pins_in(&data.join("pins")),
                servers: self.keepings(permissions),
            };
            let servers = self
                .members
                .iter()
                .filter_map(|member| match &member.status {
                    Status::Server(server) => Some(server),
                    Status::Faulty(_) | Status::Unused(_) => None,
                });
            self.host.guard().set_pins(pinned, servers);
        }
        // What a repository would like to allow is nothing that the user did wrong.
        let told = |fault: &RuleFault| !matches!(fault, RuleFault::FromProject { .. });
        let told = faults.iter().filter(|fault| told(fault));
        let mut warnings: Vec<String> = told.map(ToString::to_string).collect();
        for member in &self.members {
            // The host itself may be in the middle of changing its servers.
            if let Status::Server(server) = &member.status {
                warnings.extend(self.host.guard().pins_fault(server));
            }
        }
        Ok(warnings)
    }

    /// How the definitions of each server are pinned.
    fn keepings(&self, permissions: &Permissions) -> HashMap<String, Keeping> {
        let servers = self.members.iter();
        let servers = servers.filter(|member| matches!(member.status, Status::Server(_)));
        let keeping = |member: &Member| {
            let entry = &member.entry;
            let pinning = match pinning(entry, permissions) {
                Pinning::Off => Pinning::Off,
                // Its gateway sees to it.
                _ if self.through.contains_key(&entry.name) => Pinning::Elsewhere,
                pinning => pinning,
            };
            let key = pin_key(entry);
            (entry.name.clone(), Keeping { key, pinning })
        };
        servers.map(keeping).collect()
    }

    /// Servers from inside a project, by name, with the key of their pins.
    fn project_servers(&self) -> HashMap<String, String> {
        let inside = self
            .members
            .iter()
            .filter(|member| member.entry.inside && matches!(member.status, Status::Server(_)));
        inside
            .map(|member| (member.entry.name.clone(), pin_key(&member.entry)))
            .collect()
    }
}

/// What a server is called where its definitions are pinned: two projects may use
/// one name for different servers, and what was typed is nothing that is kept.
pub fn pin_key(entry: &Entry) -> String {
    match entry.scope {
        _ if entry.inside => format!("{} in {}", entry.name, entry.source),
        Scope::Dynamic => format!("{} of --mcp-config", entry.name),
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
            None => Pinning::Own,
        },
    }
}
