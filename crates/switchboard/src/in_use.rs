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

/// What the entries of `loaded` name.
#[derive(Default)]
pub(crate) struct Named {
    /// Files that they are filled in from and sign in with.
    pub(crate) read: Vec<PathBuf>,
    /// Files and folders that they are run from.
    pub(crate) run: Vec<PathBuf>,
}

/// What the servers of `loaded` are filled in from and run from, as far as their
/// entries name it. Each entry is filled in once: that reads files.
pub(crate) fn named(loaded: &Loaded, directory: &Path, lookup: Lookup<'_>) -> Named {
    let home = lookup("HOME").map(PathBuf::from);
    let mut named = Named::default();
    // Those of plugins that are switched on, whichever of their servers count.
    let given = loaded.servers.iter().flat_map(|server| &server.entry.given);
    let plugins = given.filter(|(name, _)| name == "CLAUDE_PLUGIN_ROOT");
    named.run.extend(plugins.map(|(_, folder)| folder.into()));
    for server in loaded.active() {
        let entry = filled_in(server, lookup);
        let files = entry.credential_files();
        named.read.extend(
            files.map(|(_, file)| match (file.strip_prefix("~/"), &home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => directory.join(file),
            }),
        );
        if named.run.len() >= limits::BOUND_FILES {
            continue;
        }
        // What a person approved as it is.
        let bound = entry.bound.iter().flat_map(|bound| bound.contents.keys());
        named.run.extend(bound.cloned());
        // One that starts in an empty directory runs nothing of this one.
        let directory = match server.starts_elsewhere() {
            true => Path::new("/nowhere"),
            false => directory,
        };
        let run = approval::run_by(&entry, directory, home.clone());
        named.run.extend(run);
    }
    named.run.sort();
    named.run.dedup();
    named
}

/// The entry with its variables filled in. Where one is missing, or a file, it does
/// not start as it is now, but may the next time.
fn filled_in(entry: &Entry, lookup: Lookup<'_>) -> Entry {
    match expand::expand(entry, lookup) {
        Ok(filled) => Entry::clone(&filled),
        Err(_) => entry.clone(),
    }
}
