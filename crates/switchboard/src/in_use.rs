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
    Entry, Loaded, Transport,
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
        let Ok(entry) = expand::expand(server, lookup) else {
            continue;
        };
        let ground = Ground {
            base: match &entry.cwd {
                Some(cwd) => directory.join(cwd),
                None => directory.to_owned(),
            },
            home: lookup("HOME").map(PathBuf::from),
        };
        ground.add(&entry, &mut found);
        if found.len() >= limits::BOUND_FILES {
            break;
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The files that the servers of `loaded` sign in with.
pub(crate) fn signed_in_with(
    loaded: &Loaded,
    directory: &Path,
    lookup: Lookup<'_>,
) -> Vec<PathBuf> {
    let entries = loaded.active().filter_map(|entry| {
        let entry = expand::expand(entry, lookup).ok()?;
        Some(directory.join(entry.oauth.assertion_file.as_ref()?))
    });
    entries.collect()
}

/// Where the words of an entry begin.
struct Ground {
    base: PathBuf,
    home: Option<PathBuf>,
}

impl Ground {
    fn add(&self, entry: &Entry, found: &mut Vec<PathBuf>) {
        // What a person approved as it is.
        let bound = entry.bound.iter().flat_map(|bound| bound.contents.keys());
        found.extend(bound.cloned());
        match entry.transport {
            Transport::Stdio => {
                let command = entry.command.as_deref().unwrap_or_default();
                // A bare name is found by PATH, which is another matter.
                if command.contains('/') {
                    found.push(self.path(command));
                }
                let words = entry.args.iter().filter(|word| is_code(word));
                found.extend(
                    words
                        .map(|word| self.path(word))
                        .filter(|path| path.is_file()),
                );
            }
            Transport::Builtin => {
                let folder = entry.builtin_options.folder.as_ref();
                found.extend(folder.map(|folder| self.path(folder)));
            }
            _ => {}
        }
        let helper = entry.headers_helper.as_deref().unwrap_or_default();
        let words = helper.split_whitespace().filter(|word| word.contains('/'));
        found.extend(
            words
                .map(|word| self.path(word))
                .filter(|path| path.is_file()),
        );
    }

    fn path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.base.join(text),
        }
    }
}

/// Whether a word names a file of code, by its ending: data that a server works
/// on is no such file.
fn is_code(word: &str) -> bool {
    const ENDINGS: [&str; 17] = [
        "js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx", "py", "pyz", "rb", "pl", "php",
        "lua", "sh", "jar", "wasm",
    ];
    let ending = Path::new(word)
        .extension()
        .and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}
