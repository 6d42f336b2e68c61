//! Servers that somebody has signed for this machine and others like it.

use super::{Gathered, restrict};
use crate::{
    entry::{Entry, Scope, Transport, WorkerOptions},
    fault::Source,
    load::{Hired, HiredServer, Loaded},
    read,
};
use serde_json::json;

/// What they are called where something about them is said.
const PLACE: &str = "cluster";

/// Reads them. Whoever signed them may say what is started, and nothing that is for the user
/// of this machine to say.
pub(in crate::load) fn hired(hired: &Hired, gathered: &mut Gathered, loaded: &mut Loaded) {
    for server in &*hired.servers {
        let source = Source::Address(PLACE.to_owned());
        let text = json!({"mcpServers": {(server.name.as_str()): server.runs}}).to_string();
        match read(&text, &source, Scope::Fleet) {
            Ok(mut entries) => {
                for entry in &mut entries {
                    entry.variables = Some(hired.variables.clone());
                    restrict(entry);
                    check(entry, server);
                }
                gathered.add(Scope::Fleet, entries);
            }
            Err(fault) => loaded.faults.push((Scope::Fleet, *fault)),
        }
    }
}

/// The same that is looked at before it is signed: another version of the program may have
/// been the one that did.
fn check(entry: &mut Entry, server: &HiredServer) {
    let keys = server.runs.as_object().into_iter().flatten();
    let keys = keys.map(|(key, _)| key.as_str());
    let more = keys.filter(|key| !WorkerOptions::RUNS.contains(key));
    for key in more {
        let fault = entry.fault(key, "is not possible here");
        entry.faults.push(fault);
    }
    if entry.transport != Transport::Stdio {
        let fault = entry.fault("type", "must be stdio");
        entry.faults.push(fault);
    }
}
