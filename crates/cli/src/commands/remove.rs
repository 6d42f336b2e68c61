//! `remove`: a server is taken out of the file that it is in.

use super::add::{Kept, Scope, failed};
use crate::{
    context::{self, Context, Say},
    failure::{Code, Failure},
    life,
    near::{did_you_mean, near},
    show::out,
};
use clap::Args;
use switchboard::{
    Look,
    config::{Configured, Places, Standing, edit},
    host::pins::Pins,
    pin_key,
};

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
    let loaded = context.look(Say::Everything);
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
    let mut scopes: Vec<Scope> = [Scope::Local, Scope::Project, Scope::User]
        .into_iter()
        .filter(|scope| named.iter().any(|server| is_in(server, *scope, &places)))
        .collect();
    if let Some(wanted) = options.scope.filter(|_| !scopes.is_empty()) {
        if !scopes.contains(&wanted) {
            let text = format!("server {name:?} is not in {} scope", wanted.of_config());
            return Err(Failure::usage(text).hint(commands(name, &scopes)));
        }
        scopes = vec![wanted];
    }
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
            forget(context, &loaded, name)?;
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
            let text = format!("server {name:?} is in several scopes");
            Err(Failure::usage(text).hint(format!("say which: {}", commands(name, several))))
        }
    }
}

/// How to remove it from each of these scopes.
fn commands(name: &str, scopes: &[Scope]) -> String {
    let each = scopes
        .iter()
        .map(|scope| format!("switchboard remove {name} -s {}", scope.of_config()));
    each.collect::<Vec<String>>().join(", or ")
}

/// Whether the entry is in the file that we keep the scope in.
fn is_in(server: &Configured, scope: Scope, places: &Places) -> bool {
    let kept = Kept::of(scope, places);
    server.entry.scope == scope.of_config()
        && server.entry.source.file() == Some(kept.target.file())
}

/// Forgets the sign-in to a server that is there no more. One that could not be
/// used has none.
fn forget(context: &Context, before: &Look, name: &str) -> Result<(), Failure> {
    let Some(server) = before.find(name) else {
        return Ok(());
    };
    let remains = context.look(Say::Everything).find(name).is_some();
    if !remains && let Ok(places) = context.places() {
        // The next of this name is another server.
        let pins = Pins::open(places.data.join("pins"));
        if let Err(fault) = pins.forget(&pin_key(&server.entry)) {
            context::warn(&fault.to_string());
        }
    }
    if remains || server.standing != Standing::Active || !server.entry.transport.is_remote() {
        return Ok(());
    }
    let Ok(entry) = context::expanded(before, &server.entry) else {
        return Ok(());
    };
    let access = context::access(before, None)?;
    let Ok(authority) = access.authority(&entry) else {
        return Ok(());
    };
    match life::short(async |_| (authority.fingerprint().await, authority.forget().await))? {
        (_, Err(fault)) => context::warn(&format!("its sign-in could not be removed: {fault}")),
        (Some(_), Ok(())) => out::line("Forgot the sign-in to it.")?,
        (None, Ok(())) => {}
    }
    Ok(())
}
