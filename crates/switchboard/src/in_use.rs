//! What the servers of one run are run from: scripts, folders of manifests and
//! plugins. A client of `files` that could change them would run what it wrote.

#[cfg(not(feature = "builtin"))]
#[path = "absent/in_use.rs"]
mod absent;

#[cfg(not(feature = "builtin"))]
pub use absent::InUse;
#[cfg(feature = "builtin")]
pub use switchboard_builtin::InUse;

use std::path::{Path, PathBuf};
use switchboard_config::{
    Entry, Loaded, approval,
    expand::{self, Lookup},
    limits,
};

/// The files and folders that the servers of `loaded` are run from, as far as
/// their entries name them.
pub(crate) fn run_from(loaded: &Loaded, directory: &Path, lookup: Lookup<'_>) -> Vec<PathBuf> {
    // Those of plugins that are switched on, whichever of their servers count.
    let given = loaded.servers.iter().flat_map(|server| &server.entry.given);
    let plugins = given.filter(|(name, _)| name == "CLAUDE_PLUGIN_ROOT");
    let mut found: Vec<PathBuf> = plugins.map(|(_, folder)| folder.into()).collect();
    for server in loaded.active() {
        let entry = filled_in(server, lookup);
        // What a person approved as it is.
        let bound = entry.bound.iter().flat_map(|bound| bound.contents.keys());
        found.extend(bound.cloned());
        let home = lookup("HOME").map(PathBuf::from);
        // One that starts in an empty directory runs nothing of this one.
        let directory = match server.starts_elsewhere() {
            true => Path::new("/nowhere"),
            false => directory,
        };
        found.extend(approval::run_by(&entry, directory, home));
        if found.len() >= limits::BOUND_FILES {
            break;
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The files that the servers of `loaded` are filled in from and sign in with.
pub(crate) fn filled_in_from(
    loaded: &Loaded,
    directory: &Path,
    lookup: Lookup<'_>,
) -> Vec<PathBuf> {
    let home = lookup("HOME").map(PathBuf::from);
    let entries = loaded.active().flat_map(|entry| {
        let entry = filled_in(entry, lookup);
        let files = entry.credential_files();
        let files = files.map(|(_, file)| match (file.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => directory.join(file),
        });
        files.collect::<Vec<PathBuf>>()
    });
    entries.collect()
}

/// The entry with its variables filled in. Where one is missing, or a file, it does
/// not start as it is now, but may the next time.
fn filled_in(entry: &Entry, lookup: Lookup<'_>) -> Entry {
    match expand::expand(entry, lookup) {
        Ok(filled) => Entry::clone(&filled),
        Err(_) => entry.clone(),
    }
}
