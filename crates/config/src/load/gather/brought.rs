//! Servers that the user did not write: those of plugins, and the list of
//! connectors that an account brings along.

use super::{Reading, Writer, restrict};
use crate::{
    connectors::{Cache, Connectors},
    entry::{Entry, Scope},
    plugin,
    read::Doc,
};
use std::path::Path;

impl Reading<'_> {
    pub(super) fn plugins(&mut self) {
        for installed in plugin::installed(self.places, &self.gathered.plugins) {
            for file in plugin::files(&installed.folder) {
                let writer = self.writer(&file);
                let before = self.gathered.entries.len();
                self.read(Scope::Plugin, &file, |doc, this| {
                    let bare = doc.value(&["mcpServers"]).is_none() && file.ends_with(".mcp.json");
                    let path: &[&str] = if bare { &[] } else { &["mcpServers"] };
                    this.servers(doc, path, Scope::Plugin, writer);
                });
                for (_, entry) in &mut self.gathered.entries[before..] {
                    entry.name = format!("plugin:{}:{}", installed.name, entry.name);
                    restrict(entry);
                    let root = installed.folder.display().to_string();
                    entry.given.push(("CLAUDE_PLUGIN_ROOT".to_owned(), root));
                }
            }
        }
    }

    /// Where connectors are fetched from is for the user and the administrator
    /// to say; what the administrator says stays.
    pub(super) fn connectors_address(&mut self, doc: &Doc<'_>, file: &Path, writer: Writer) {
        let scope = match writer {
            Writer::Administrator => Scope::Enterprise,
            Writer::User => Scope::User,
            Writer::Repository => return,
        };
        match Connectors::read(doc, &file.display().to_string()) {
            Ok(Some(found)) if writer == Writer::Administrator => {
                self.loaded.connectors = Some(found);
            }
            Ok(Some(found)) => {
                self.loaded.connectors.get_or_insert(found);
            }
            Ok(None) => {}
            Err(fault) => self.fault(scope, *fault),
        }
    }

    /// The list of connectors as it was last fetched, if that was from the
    /// address that counts now.
    pub(super) fn connectors(&mut self) {
        let Some(connectors) = self.loaded.connectors.clone() else {
            return;
        };
        let file = Cache::new(&self.places.cache).list();
        if self.writer(&file) == Writer::Repository {
            return;
        }
        let before = self.gathered.entries.len();
        self.read(Scope::Connector, &file, |doc, this| {
            let from = doc.value(&["from"]).map(|(from, _)| from);
            if from.is_some_and(|from| from == connectors.url.as_str()) {
                this.servers(doc, &["mcpServers"], Scope::Connector, Writer::User);
            }
        });
        let fetched = self.gathered.entries[before..].iter_mut();
        let entries: Vec<Entry> = fetched
            .map(|(_, entry)| {
                restrict(entry);
                entry.public_only = connectors.names_public_servers_only();
                entry.clone()
            })
            .collect();
        if let Some(fault) = connectors.refusal(&entries) {
            self.gathered.entries.truncate(before);
            self.fault(Scope::Connector, fault);
        }
    }
}
