//! How something is started that must get nothing from the folder we are in,
//! because that is not trusted.

use crate::settings::Settings;
use std::{ffi::OsString, path::PathBuf};
use switchboard_config::{expand::Lookup, trust::Folder};
use switchboard_process::{ServerCommand, Start, path_outside};

/// Keeps Python from looking for modules where it is started.
pub(crate) const SAFE_PATH: &str = "PYTHONSAFEPATH";

/// What a repository could have written, and where there is room elsewhere.
#[derive(Clone, Debug)]
pub struct Apart {
    pub(crate) tree: Option<PathBuf>,
    pub(crate) rooms: Option<PathBuf>,
    /// The search path for programs.
    path: OsString,
}

impl Apart {
    pub(crate) fn new(settings: &Settings, folder: &Folder, lookup: Lookup<'_>) -> Self {
        Self {
            tree: folder.tree.clone(),
            rooms: settings.rooms.clone(),
            path: lookup("PATH").unwrap_or_default().into(),
        }
    }

    /// Has a process start in an empty directory, or where none can be made in
    /// the root directory, where only root can put anything.
    pub(crate) fn apply(&self, command: &mut ServerCommand) {
        command.tree.clone_from(&self.tree);
        match &self.rooms {
            Some(rooms) => command.start = Start::Elsewhere(rooms.clone()),
            None => {
                command.start = Start::Apart;
                command.cwd = Some("/".into());
            }
        }
        if !command.env.iter().any(|(name, _)| name == SAFE_PATH) {
            command.env.push((SAFE_PATH.into(), "1".into()));
        }
    }
    /// The search path for programs, without what a repository could have written.
    pub fn search_path(&self) -> OsString {
        path_outside(&self.path, self.tree.as_deref())
    }
}
