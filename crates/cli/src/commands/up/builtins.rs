//! The servers that come with the program.

use super::Options;
use crate::{
    context::Context,
    failure::{Code, Failure},
};
use std::path::Path;
use switchboard::{
    builtin::ServerKind,
    config::{Configured, Loaded, Places, Standing, policy::Verdict},
    roster::builtin_entry,
};

/// Where manifests are looked for, below our own configuration.
const MANIFESTS: &str = "tools";

/// Adds the built-in servers, unless something else has their name or nothing
/// else may be used.
pub fn add(
    loaded: &mut Loaded,
    context: &Context,
    options: &Options,
    places: &Places,
) -> Result<(), Failure> {
    if loaded.exclusive.is_some() || context.global.strict_mcp_config {
        return Ok(());
    }
    if let Some(root) = options.root.iter().find(|root| !root.is_dir()) {
        let text = format!("--root {}: there is no such directory", root.display());
        return Err(Failure::usage(text));
    }
    let manifests = places.config.join(MANIFESTS);
    let roots = options.root.iter().map(|root| text(root));
    let roots = roots.collect::<Result<Vec<String>, Failure>>()?;
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
        let mut entry = builtin_entry(kind.name());
        let own = &mut entry.builtin_options;
        own.enabled = true;
        match kind {
            ServerKind::Files => {
                own.read_only = options.read_only;
                own.roots.clone_from(&roots);
            }
            ServerKind::Shell => own.roots.clone_from(&roots),
            ServerKind::Tools => own.folder = Some(text(&manifests)?),
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
    Ok(())
}

/// An entry holds text, whose variables would be filled in.
fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().filter(|text| !text.contains("${"));
    text.map(str::to_owned).ok_or_else(|| {
        let text = format!("{} has a name that cannot be used here", path.display());
        Failure::new(Code::Usage, text).hint("it must be UTF-8 and without ${")
    })
}
