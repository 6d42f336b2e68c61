//! What settings files say besides servers: approval lists, policy, what is
//! switched off. Each is kept with its file and line.

mod clear;
mod inbox;
mod observe;
mod permissions;
mod section;

pub use inbox::{AskAtWord, Inbox, Webhook, WebhookFault};
pub use observe::{
    AccessLog, Audit, AuditSync, LineFormat, MetricsSetting, Observe, OnAuditFailure, Traces,
    TracesProtocol,
};
pub(crate) use permissions::Writer;
pub use permissions::{PermissionRule, Permissions, Written};

use crate::{
    fault::Fault,
    policy::{self, Rule},
    read::Doc,
};
use serde_json::Value;

/// A name in a list, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The server.
    pub name: String,
    /// File and line.
    pub place: String,
}

/// The lists of one part of a file: of the whole file, or of one project in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    /// `enabledMcpjsonServers`.
    pub enabled: Vec<Named>,
    /// `disabledMcpjsonServers`: refused, where they come from a project's file.
    pub disabled: Vec<Named>,
    /// `disabledMcpServers`: switched off, wherever they come from.
    pub off: Vec<Named>,
    /// Where `enableAllProjectMcpServers` is true.
    pub enable_all: Option<String>,
    /// What cannot be understood.
    pub faults: Vec<Fault>,
}

/// What a file says about which servers may be used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    /// `allowedMcpServers`.
    pub allowed: Option<Vec<Rule>>,
    /// `deniedMcpServers`.
    pub denied: Vec<Rule>,
    /// `allowManagedMcpServersOnly`.
    pub managed_only: bool,
    /// Whether the file says anything of the kind.
    pub there: bool,
    /// Rules that cannot be understood.
    pub faults: Vec<Fault>,
}

impl Lists {
    /// Reads them at this path.
    pub(crate) fn read(doc: &Doc<'_>, path: &[&str], file: &str) -> Self {
        let at = |key: &'static str| -> Vec<&str> { path.iter().copied().chain([key]).collect() };
        let mut faults = doc.unclear(path, &LISTS);
        match path {
            [projects, project] => faults.extend(doc.doubled_key(&[projects], project)),
            _ => faults.extend(doc.unclear(path, &["projects"])),
        }
        let mut names = |key: &'static str| {
            let mut names = Vec::new();
            let hint = || Some(r#"write the names of servers: ["name"]"#.to_owned());
            let (whole, line) = match doc.value(&at(key)) {
                None | Some((Value::Null, _)) => return names,
                Some(found) => found,
            };
            let Some(items) = doc.items(&at(key)) else {
                let problem = format!("`{key}` must be a list, found {whole}");
                faults.push(doc.fault_at(line, problem, hint()));
                return names;
            };
            for (value, line) in items {
                match value {
                    Value::String(name) => names.push(Named {
                        name,
                        place: format!("{file}:{line}"),
                    }),
                    other => {
                        let problem = format!("a name in `{key}` must be text, found {other}");
                        faults.push(doc.fault_at(line, problem, hint()));
                    }
                }
            }
            names
        };
        let all = doc.value(&at("enableAllProjectMcpServers"));
        Self {
            enabled: names("enabledMcpjsonServers"),
            disabled: names("disabledMcpjsonServers"),
            off: names("disabledMcpServers"),
            enable_all: all
                .filter(|(value, _)| *value == Value::Bool(true))
                .map(|(_, line)| format!("{file}:{line}")),
            faults,
        }
    }
}

/// The keys of [`Lists`], and the servers that they are about.
const LISTS: [&str; 5] = [
    "mcpServers",
    "enabledMcpjsonServers",
    "disabledMcpjsonServers",
    "disabledMcpServers",
    "enableAllProjectMcpServers",
];

/// The keys of [`Rules`].
const RULES: [&str; 3] = [
    "allowedMcpServers",
    "deniedMcpServers",
    MANAGED_SERVERS_ONLY,
];

const MANAGED_SERVERS_ONLY: &str = "allowManagedMcpServersOnly";

impl Rules {
    /// Reads them.
    pub(crate) fn read(doc: &Doc<'_>, file: &str) -> Self {
        let mut rules = Self {
            faults: doc.unclear(&[], &RULES),
            ..Self::default()
        };
        let mut list = |key: &str| {
            let (whole, line) = doc.value(&[key])?;
            let Some(items) = doc.items(&[key]) else {
                let problem = format!("`{key}` must be a list, found {whole}");
                rules
                    .faults
                    .push(doc.fault_at(line, problem, Some(policy::WRITE.to_owned())));
                return None;
            };
            let mut list = Vec::new();
            for (value, line) in items {
                match Rule::read(&value, format!("{file}:{line}")) {
                    Ok(rule) => list.push(rule),
                    Err(problem) => {
                        let fault =
                            doc.fault_at(line, problem.to_string(), Some(policy::WRITE.to_owned()));
                        rules.faults.push(fault);
                    }
                }
            }
            Some(list)
        };
        let allowed = list("allowedMcpServers");
        let denied = list("deniedMcpServers").unwrap_or_default();
        rules.allowed = allowed;
        rules.denied = denied;
        let only = doc.value(&[MANAGED_SERVERS_ONLY]);
        if let Some((value, line)) = &only
            && !value.is_boolean()
        {
            let problem = format!("`{MANAGED_SERVERS_ONLY}` must be true or false, found {value}");
            let hint = "write it without quotes".to_owned();
            rules.faults.push(doc.fault_at(*line, problem, Some(hint)));
        }
        rules.there = rules.allowed.is_some() || doc.value(&["deniedMcpServers"]).is_some();
        rules.there |= only.is_some();
        // Whatever else it says, it was not meant to permit more.
        rules.managed_only = only.is_some_and(|(value, _)| value != Value::Bool(false));
        rules
    }
}
