//! The servers that come with the program.

use super::Options;
use crate::{
    commands::builtin,
    context::Context,
    failure::{Code, Failure},
    show::term,
};
use std::path::Path;
use switchboard::{
    builtin::ServerKind,
    builtin_entry,
    config::{Configured, Loaded, Places, Standing, Verdict},
};

/// Where manifests are looked for, below our own configuration.
const MANIFESTS: &str = "tools";

/// How adding them went.
pub struct Added {
    /// `files` is not there, because nobody said which directory it may use.
    pub lacks_files: bool,
}

/// Adds the built-in servers, unless something else has their name or nothing
/// else may be used. `files` and `shell` work in the directory that was named,
/// or in the working directory; but nobody hands out their home by being there.
pub fn add(
    loaded: &mut Loaded,
    context: &Context,
    options: &Options,
    places: &Places,
) -> Result<Added, Failure> {
    let mut lacks_files = false;
    if loaded.exclusive.is_some() || context.global.strict_mcp_config {
        return Ok(Added { lacks_files });
    }
    if let Some(root) = options.root.iter().find(|root| !root.is_dir()) {
        let text = format!("--root {}: there is no such directory", root.display());
        return Err(Failure::usage(text));
    }
    let manifests = places.config.join(MANIFESTS);
    let roots = options.root.iter().map(|root| text(root));
    let roots = roots.collect::<Result<Vec<String>, Failure>>()?;
    let mut around = options.root.clone();
    if around.is_empty() {
        around.push(places.directory.clone());
    }
    let lifted = builtin::lifted(&options.allow_protected, &around)?;
    let lifted = lifted.iter().map(|path| text(path));
    let lifted = lifted.collect::<Result<Vec<String>, Failure>>()?;
    let mut added = Vec::new();
    for kind in ServerKind::ALL {
        let wanted = match kind {
            ServerKind::Shell => options.enable_shell,
            ServerKind::Tools => manifests.is_dir(),
            _ => kind.is_on_by_default(),
        };
        if !wanted || loaded.find(kind.name()).is_some() {
            continue;
        }
        if kind == ServerKind::Files && roots.is_empty() && is_everything(places) {
            if term::can_ask() {
                let hint = "say switchboard up --root DIR; --root with the whole directory, if you mean it";
                return Err(Failure::usage(too_much(places)).hint(hint));
            }
            lacks_files = true;
            continue;
        }
        let mut entry = builtin_entry(kind.name());
        let own = &mut entry.builtin_options;
        own.enabled = true;
        match kind {
            ServerKind::Files => {
                own.read_only = options.read_only;
                own.roots.clone_from(&roots);
                own.allow_protected.clone_from(&lifted);
            }
            ServerKind::Shell => own.roots.clone_from(&roots),
            ServerKind::Tools => {
                own.roots.clone_from(&roots);
                own.folder = Some(text(&manifests)?);
            }
            ServerKind::System | ServerKind::Memory => {}
        }
        if let Some(place) = loaded.switched_off(kind.name()) {
            let mut off = Configured::new(entry, Standing::Disabled);
            off.because = Some(place);
            added.push(off);
            continue;
        }
        let standing = match loaded.policy.decide(&entry) {
            Verdict::Allowed(_) => Standing::Active,
            Verdict::Denied(rule) => Standing::Denied(format!("denied by {rule}")),
            // Not asked for by anybody, so it is not worth a word.
            Verdict::NotAllowed(_) => continue,
        };
        added.push(Configured::new(entry, standing));
    }
    loaded.servers.splice(0..0, added);
    Ok(Added { lacks_files })
}

/// Whether the working directory is the home directory, or holds it.
fn is_everything(places: &Places) -> bool {
    let home = places.home.as_deref();
    places.directory == Path::new("/")
        || home.is_some_and(|home| home.starts_with(&places.directory))
}

fn too_much(places: &Places) -> String {
    let here = places.directory.display();
    format!("this is {here}, and the server files would have all that is in it")
}

/// What is said where `files` is left out.
pub fn why_no_files(places: &Places) -> String {
    format!(
        "{}, so it is left out: --root DIR names the directory that it may use.",
        too_much(places)
    )
}

/// An entry holds text, whose variables would be filled in.
fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().filter(|text| !text.contains("${"));
    text.map(str::to_owned).ok_or_else(|| {
        let text = format!("{} has a name that cannot be used here", path.display());
        Failure::new(Code::Usage, text).hint("it must be UTF-8 and without ${")
    })
}
