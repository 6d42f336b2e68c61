//! `enable` and `disable`: a list in our own settings, so that no other
//! client's file is written.

use super::{add::failed, explain::missing};
use crate::{
    context::Context,
    failure::{Code, Failure},
    show::{out, safe},
};
use clap::Args;
use switchboard::config::{
    Standing,
    edit::{self, Target},
    explain,
};

/// Options of both.
#[derive(Debug, Args)]
pub struct Options {
    /// The server, or all
    #[arg(value_name = "NAME|all")]
    pub name: String,
}

/// Switches a server on or off, in this project.
pub fn run(context: &Context, options: &Options, on: bool) -> Result<Code, Failure> {
    let loaded = context.load();
    let places = context.places()?;
    let mut names: Vec<&str> = loaded
        .servers
        .iter()
        .map(|server| server.entry.name.as_str())
        .collect();
    names.dedup();
    if options.name != "all" {
        if loaded.find(&options.name).is_none() {
            return Err(missing(&loaded, &options.name));
        }
        names = vec![&options.name];
    }
    let project = places.project().display().to_string();
    let path = ["projects", &project, "disabledMcpServers"];
    let target = Target::private(&places.settings());
    for name in &names {
        let changed = edit::mark(&target, &path, name, !on).map_err(|error| failed(&error))?;
        let word = match (on, changed) {
            (true, true) => "switched on",
            (false, true) => "switched off",
            (true, false) => "was not switched off here",
            (false, false) => "is switched off already",
        };
        out::line(&format!("{} {word}", safe::line(name)))?;
    }
    // Those that run see the file themselves in a second; this is at once.
    for mut gateway in context.gateways() {
        if let Err(error) = gateway.reload() {
            let address = &gateway.running.address;
            crate::context::warn(&format!(
                "the gateway at http://{address} goes on as it was: {error}"
            ));
        }
    }
    if on {
        // It may be off for another reason, which this command cannot take away.
        let now = context.load();
        for name in names {
            if let Some(server) = now
                .find(name)
                .filter(|server| server.standing != Standing::Active)
            {
                crate::context::warn(&format!(
                    "{name} is still not used: {}",
                    explain::reason(server)
                ));
            }
        }
    }
    Ok(Code::Done)
}
