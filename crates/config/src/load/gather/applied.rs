//! Settings that are in no file.

use super::{
    Gathered, Reading, Writer,
    rules::{File, Rank},
};
use crate::{
    entry::Scope,
    load::{Document, Loaded},
    places::Places,
};
use std::path::Path;

/// What is read when a gateway starts, before anybody can tell it what holds, or is about
/// one machine. Nobody is to believe that it counts.
const OWN: [&[&str]; 5] = [
    &["observe"],
    &["connectors"],
    &["projects"],
    &["approvals", "notify"],
    &["approvals", "webhook"],
];

/// Settings that are in no file. Somebody has said that they hold here: they are read
/// whatever else is.
pub(in crate::load) fn applied(
    places: &Places,
    documents: &[Document],
    gathered: &mut Gathered,
    loaded: &mut Loaded,
) {
    let mut reading = Reading {
        places,
        gathered,
        loaded,
        owner: None,
        rules_only: false,
    };
    for document in documents {
        let file = Path::new(&document.place);
        let ruled = File::ours(file, Rank::Applied, false);
        reading.text_with_rules(&ruled, &document.text, |doc, this| {
            this.servers(doc, &["mcpServers"], Scope::User, Writer::User);
            this.lists(doc, file, &[], Writer::User);
            this.rules(doc, file, Writer::User);
            this.sign_in(doc, file, Writer::User);
            for path in OWN {
                if let Some((_, line)) = doc.value(path) {
                    let problem = format!("`{}` cannot be applied to others", path.join("."));
                    let hint = "write it into the settings of each machine".to_owned();
                    this.fault(Scope::User, doc.fault_at(line, problem, Some(hint)));
                }
            }
            if doc.value(&["inheritEnv"]).is_some() {
                this.inherit_env(doc);
            }
            if doc.value(&["idleTimeout"]).is_some() {
                this.idle_timeout(doc);
            }
        });
    }
}
