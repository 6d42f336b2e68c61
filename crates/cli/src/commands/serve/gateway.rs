//! `serve --gateway`: what the running gateway has, from whatever directory a client
//! starts it in. Where none runs, the set that `up` had last, for this client alone.

use super::relay;
use crate::{
    commands::up,
    context::{Context, Say, warn},
    failure::{Code, Failure},
    life,
};
use serde_json::json;
use std::path::{Path, PathBuf};
use switchboard::{
    Behind, Fronted,
    config::{Configured, Scope, Standing},
};

/// Serves until stdin ends or a signal comes.
pub fn run(context: &Context) -> Result<Code, Failure> {
    if !context.global.mcp_config.is_empty() || context.global.strict_mcp_config {
        let text = "--gateway has what the running gateway has, so --mcp-config says nothing";
        return Err(Failure::usage(text).hint("leave one of them out"));
    }
    let here = Here::look(context);
    let told = |started_in: &Path| here.not_served(started_in);
    let make = || own(context, &here);
    let behind = Behind {
        options: &context.options,
        any: Some(&told),
        make: &make,
    };
    if relay(&behind, behind.candidates(None))? {
        return Ok(Code::Done);
    }
    tracing::info!("no gateway runs, so servers are started for this client alone");
    let made = make()?;
    life::long(async |stop| {
        made.stdio(stop).await?;
        Ok(Code::Done)
    })?
}

/// The same set with servers of this client's own.
fn own(context: &Context, here: &Here) -> Result<Fronted, Failure> {
    let (made, directory) = up::again(context)?;
    if let Some(text) = here.not_served(&directory) {
        warn(&text);
        let announcement = made.governed().announcement();
        let both = match announcement.get() {
            Some(before) => format!("{before}\n{text}"),
            None => text,
        };
        announcement.set(Some(both));
    }
    Ok(made)
}

/// What the directory has of its own in which the client started us.
struct Here {
    /// The repository, or the directory itself.
    tree: PathBuf,
    is_repository: bool,
    /// Servers that only this directory has.
    servers: Vec<String>,
}

impl Here {
    fn look(context: &Context) -> Self {
        let look = context.look(Say::Nothing);
        let is_here = |server: &&Configured| {
            matches!(server.entry.scope, Scope::Project | Scope::Local)
                && matches!(
                    server.standing,
                    Standing::Active | Standing::PendingApproval
                )
        };
        let servers = look.servers.iter().filter(is_here);
        let servers = servers.map(|server| server.entry.name.clone()).collect();
        let places = context.options.places();
        let tree = places.as_ref().and_then(|places| places.tree());
        Self {
            is_repository: tree.is_some(),
            tree: tree.unwrap_or(&context.options.directory).to_owned(),
            servers,
        }
    }

    /// What is to be said of them, where the gateway was started elsewhere.
    fn not_served(&self, started_in: &Path) -> Option<String> {
        let is_same = match self.is_repository {
            true => started_in.starts_with(&self.tree),
            false => started_in == self.tree,
        };
        if is_same || self.servers.is_empty() {
            return None;
        }
        let names: Vec<String> = self
            .servers
            .iter()
            .map(|name| format!("{name:?}"))
            .collect();
        let (what, verb) = match names.len() {
            1 => ("server", "is"),
            _ => ("servers", "are"),
        };
        let program = std::env::current_exe().unwrap_or_else(|_| "switchboard".into());
        let entry = json!({"command": program, "args": ["serve"]});
        Some(format!(
            "the {what} {} of {} {verb} not served: this is the gateway of {}, whose servers, rules and trust hold. \
             The entry for a client that is to have them there: {entry}",
            names.join(", "),
            self.tree.display(),
            started_in.display(),
        ))
    }
}
