//! Why a server is there, or is not: the chain of decisions, as data.

use crate::{
    entry::Entry,
    fault::Source,
    load::{Configured, Loaded, Outcome, Standing},
};
use switchboard_local::secret;

impl Entry {
    /// File and line, as an editor takes them; what no file has comes from elsewhere.
    pub fn place(&self) -> String {
        match self.comes_with() {
            Some(what) => what.to_owned(),
            None => format!("{}:{}", self.source, self.line),
        }
    }

    /// What it comes with, where nobody wrote it: the program, or a gateway that runs.
    pub fn comes_with(&self) -> Option<&'static str> {
        match self.source {
            Source::Ours if self.transport.is_remote() => Some("the gateway that runs"),
            Source::Ours => Some("Switchboard"),
            _ => None,
        }
    }
}

/// One link of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which scope.
    pub scope: &'static str,
    /// File and line.
    pub place: String,
    /// What is there.
    pub says: String,
    /// Whether this is what counts in the end.
    pub counts: bool,
}

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// In one sentence.
    pub summary: String,
    /// From the highest scope to the lowest.
    pub steps: Vec<Step>,
}

/// Explains a server. `None` of the entries: the files that were looked at.
pub fn server(loaded: &Loaded, name: &str) -> Explained {
    let named: Vec<&Configured> = loaded
        .servers
        .iter()
        .filter(|server| server.entry.name == name)
        .collect();
    let winner = loaded.find(name);
    let mut steps: Vec<Step> = named
        .iter()
        .map(|server| Step {
            scope: server.entry.scope.as_str(),
            place: server.entry.place(),
            says: format!("{}: {}", server.entry.target(), reason(server)),
            counts: server.standing == Standing::Active,
        })
        .collect();
    let summary = match winner {
        Some(server) if server.standing == Standing::Active && server.entry.faults.is_empty() => {
            match server.entry.comes_with() {
                Some(what) => format!("{name} is used: it comes with {what}"),
                None => format!("{name} is used, as {} has it", server.entry.place()),
            }
        }
        Some(server) if server.standing == Standing::Active => {
            format!(
                "{name} is configured in {} and cannot work: {}",
                server.entry.place(),
                faults(server)
            )
        }
        Some(server) => format!("{name} is not used: {}", reason(server)),
        None => format!("there is no server {name}"),
    };
    if named.is_empty() {
        steps = loaded
            .looked
            .iter()
            .map(|looked| Step {
                scope: looked.scope.as_str(),
                place: looked.file.display().to_string(),
                says: match &looked.outcome {
                    Outcome::Absent => "there is no such file".to_owned(),
                    Outcome::Read => "does not have it".to_owned(),
                    Outcome::Skipped(why) => format!("is skipped: {why}"),
                },
                counts: false,
            })
            .collect();
    }
    Explained { summary, steps }
}

/// What an entry counts for, in words.
pub fn reason(server: &Configured) -> String {
    let because = server.because.as_deref();
    let with = |text: &str| match because {
        Some(because) => format!("{text} ({because})"),
        None => text.to_owned(),
    };
    match &server.standing {
        Standing::Active if !server.entry.faults.is_empty() => faults(server),
        Standing::Active => match server.entry.comes_with() {
            Some(what) => with(&format!("comes with {what}")),
            None => with("counts"),
        },
        Standing::PendingApproval => {
            let waits = with("comes from inside the project and waits for your approval");
            match server.entry.faults.is_empty() {
                true => waits,
                false => format!("{waits}; as it is, it could not work: {}", faults(server)),
            }
        }
        Standing::Rejected => with("comes from inside the project and was rejected"),
        Standing::Disabled => with("switched off"),
        Standing::Denied(rule) => format!("policy does not permit it: {rule}"),
        Standing::Itself => "leads to Switchboard itself, so it is left out".to_owned(),
        Standing::Shadowed(by) => format!("gives way to the entry of the same name in {by}"),
        Standing::Duplicate(by) => format!("is the same server as {by}, which counts instead"),
    }
}

fn faults(server: &Configured) -> String {
    let texts: Vec<String> = server
        .entry
        .faults
        .iter()
        .map(ToString::to_string)
        .collect();
    secret::text(&texts.join("; ")).into_owned()
}

#[cfg(test)]
mod tests;
