//! Definitions of tools, pinned when they are approved.
//!
//! A server can change what a tool says or takes after a person agreed to it.
//! The hash of its text, schema and annotations is kept; a tool that no longer
//! matches is quarantined, and shown as a difference, until it is approved again.

mod definition;
mod diff;
pub(crate) mod file;

pub use definition::Definition;
pub use file::FileFault as PinsFault;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use switchboard_wire::name::normalize;

/// Which servers' tools are pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pinning {
    /// None.
    Off,
    /// Those of servers from a project, and all that were approved by a pin.
    #[default]
    Approved,
    /// All.
    All,
}

impl Pinning {
    /// Whether it holds for a server.
    pub fn holds(self, from_project: bool, has_pins: bool) -> bool {
        match self {
            Self::Off => false,
            Self::Approved => from_project || has_pins,
            Self::All => true,
        }
    }
}

/// The pins of all servers, one file each in one directory.
#[derive(Debug)]
pub struct Pins {
    dir: PathBuf,
    known: Mutex<HashMap<String, Arc<ServerPins>>>,
}

/// What was approved of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ServerPins {
    /// Its configured name, for whoever opens the file.
    server: String,
    /// By the server's own names.
    tools: BTreeMap<String, Pin>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pin {
    hash: String,
    /// Seconds since 1970.
    approved: u64,
    /// The definition, where it is not too large, to show what changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<String>,
}

/// How a tool compares with its pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was never approved by a pin.
    New,
    /// It is what was approved.
    Same,
    /// It is not: it must not be used before it is approved again.
    Changed(Change),
}

/// A tool that changed after it was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The server's configured name.
    pub server: String,
    /// The server's own name for the tool.
    pub tool: String,
    /// The difference, for a person: `-` before, `+` now. Harmless on a terminal.
    pub diff: String,
}

impl Change {
    /// One line, for a refusal or a list.
    pub fn summary(&self) -> String {
        let tool = crate::shape::visible::line(&self.tool);
        format!("the definition of {tool:?} changed after it was approved")
    }
}

impl Pins {
    /// The pins in this directory, which is made when the first is written.
    pub fn open(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            known: Mutex::default(),
        }
    }

    /// Whether anything of this server was approved by a pin.
    pub fn has_pins(&self, server: &str) -> Result<bool, PinsFault> {
        Ok(!self.of(server)?.tools.is_empty())
    }

    /// Compares a tool with its pin. A file that cannot be read is an error,
    /// not an empty one: the caller quarantines the server's tools.
    pub fn status(&self, server: &str, definition: &Definition) -> Result<Status, PinsFault> {
        let pins = self.of(server)?;
        let Some(pin) = pins.tools.get(&definition.tool) else {
            return Ok(Status::New);
        };
        if pin.hash == definition.hash {
            return Ok(Status::Same);
        }
        let diff = match &pin.definition {
            Some(before) => diff::diff(before, &definition.text),
            None => "(what was approved is too large to be shown)".to_owned(),
        };
        Ok(Status::Changed(Change {
            server: server.to_owned(),
            tool: definition.tool.clone(),
            diff,
        }))
    }

    /// Approves these definitions as they are now.
    pub fn approve(&self, server: &str, definitions: &[Definition]) -> Result<(), PinsFault> {
        let approved = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        self.change(server, |pins| {
            for definition in definitions {
                let pin = Pin {
                    hash: definition.hash.clone(),
                    approved,
                    definition: definition.kept(),
                };
                pins.tools.insert(definition.tool.clone(), pin);
            }
        })
    }

    /// Forgets what was approved of a server.
    pub fn forget(&self, server: &str) -> Result<(), PinsFault> {
        self.change(server, |pins| pins.tools.clear())
    }

    /// Reads files again, which another program may have written.
    pub fn reload(&self) {
        self.known.lock().clear();
    }

    fn of(&self, server: &str) -> Result<Arc<ServerPins>, PinsFault> {
        if let Some(pins) = self.known.lock().get(server) {
            return Ok(pins.clone());
        }
        let pins: Arc<ServerPins> = Arc::new(file::read(&self.path(server))?.unwrap_or_default());
        self.known.lock().insert(server.to_owned(), pins.clone());
        Ok(pins)
    }

    fn change(&self, server: &str, change: impl FnOnce(&mut ServerPins)) -> Result<(), PinsFault> {
        let mut written = None;
        file::change(&self.path(server), |pins: &mut ServerPins| {
            pins.server = server.to_owned();
            change(pins);
            written = Some(Arc::new(pins.clone()));
        })?;
        if let Some(pins) = written {
            self.known.lock().insert(server.to_owned(), pins);
        }
        Ok(())
    }

    /// A file name that tells servers apart whose safe names are the same.
    fn path(&self, server: &str) -> PathBuf {
        let mut safe = normalize(server);
        safe.truncate(60);
        self.dir.join(format!(
            "{safe}-{}.json",
            &definition::hash(server.as_bytes())[..12]
        ))
    }
}

#[cfg(test)]
mod tests;
