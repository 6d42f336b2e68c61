//! `remove`: a server is taken out of the file that it is in.

use super::add::{Kept, Scope, failed};
use crate::{
    context::Context,
    failure::{Code, Failure},
    near::{did_you_mean, near},
    show::out,
};
use clap::Args;
use switchboard::config::{Configured, Places, edit};

/// Options of `remove`.
#[derive(Debug, Args)]
pub struct Options {
    /// The server
    pub name: String,
    /// Only from this scope
    #[arg(short, long)]
    pub scope: Option<Scope>,
}

/// Removes.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let name = &options.name;
    let places = context.places()?;
    let loaded = context.load();
    let named: Vec<&Configured> = loaded
        .servers
        .iter()
        .filter(|server| server.entry.name == *name)
        .collect();
    if named.is_empty() {
        let names = loaded
            .servers
            .iter()
            .map(|server| server.entry.name.as_str());
        let hint =
            did_you_mean(&near(name, names)).unwrap_or_else(|| "see switchboard list".to_owned());
        return Err(Failure::usage(format!("there is no server {name:?}")).hint(hint));
    }
    let scopes: Vec<Scope> = [Scope::Local, Scope::Project, Scope::User]
        .into_iter()
        .filter(|scope| options.scope.is_none_or(|wanted| wanted == *scope))
        .filter(|scope| named.iter().any(|server| is_in(server, *scope, &places)))
        .collect();
    match scopes.as_slice() {
        [scope] => {
            let kept = Kept::of(*scope, &places);
            let path: Vec<&str> = kept.path.iter().map(String::as_str).collect();
            edit::remove(&kept.target, &path, name).map_err(|error| failed(&error))?;
            out::line(&format!(
                "Removed server {name} from {} scope",
                scope.of_config()
            ))?;
            out::line(&format!("File changed: {}", kept.target.file().display()))?;
            Ok(Code::Done)
        }
        [] => {
            let places: Vec<String> = named
                .iter()
                .map(|server| format!("{} ({})", server.entry.scope, server.entry.place()))
                .collect();
            let text = format!(
                "server {name:?} is in no file that switchboard writes: {}",
                places.join(", ")
            );
            Err(Failure::new(Code::Configuration, text)
                .hint(format!("switch it off: switchboard disable {name}")))
        }
        several => {
            let commands: Vec<String> = several
                .iter()
                .map(|scope| format!("switchboard remove {name} -s {}", scope.of_config()))
                .collect();
            let text = format!("server {name:?} is in several scopes");
            Err(Failure::usage(text).hint(format!("say which: {}", commands.join(", or "))))
        }
    }
}

/// Whether the entry is in the file that we keep the scope in.
fn is_in(server: &Configured, scope: Scope, places: &Places) -> bool {
    let kept = Kept::of(scope, places);
    server.entry.scope == scope.of_config()
        && server.entry.source.file() == Some(kept.target.file())
}
