//! `enable` and `disable`: a list in our own settings, so that no other
//! client's file is written.

use super::{add::failed, explain::missing};
use crate::{
    context::{Context, Say},
    failure::{Advice, Code, Failure},
    show::{out, safe, term},
};
use clap::Args;
use std::io::Write;
use switchboard::{
    builtin::ServerKind,
    config::{
        Standing,
        edit::{self, Target},
        explain,
    },
};

/// Options of both.
#[derive(Debug, Args)]
pub struct Options {
    /// The server, or all; without it there is a choice on a terminal
    #[arg(value_name = "NAME|all")]
    pub name: Option<String>,
}

/// Switches a server on or off, in this project.
pub fn run(context: &Context, options: &Options, on: bool) -> Result<Code, Failure> {
    let mut loaded = context.look(Say::Everything);
    // What `up` brings along is there without an entry.
    loaded.bring_along();
    let places = context.places()?;
    let mut all: Vec<&str> = Vec::new();
    for server in &loaded.servers {
        if !all.contains(&server.entry.name.as_str()) {
            all.push(&server.entry.name);
        }
    }
    let built_in = ServerKind::ALL.map(ServerKind::name);
    for name in built_in {
        if loaded.switched_off(name).is_some() && !all.contains(&name) {
            all.push(name);
        }
    }
    let names = match options.name.as_deref() {
        Some("all") => all,
        Some(name) if built_in.contains(&name) => vec![name],
        Some(name) if loaded.find(name).is_none() => return Err(missing(&loaded, name)),
        Some(name) => vec![name],
        None => {
            all.retain(|name| match loaded.find(name) {
                Some(server) if on => server.standing == Standing::Disabled,
                Some(server) => server.standing == Standing::Active,
                None => on,
            });
            pick(&all, on)?
        }
    };
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
    for mut gateway in context.options.gateways() {
        if let Err(error) = gateway.reload() {
            let address = &gateway.running.address;
            crate::context::warn(&format!(
                "the gateway at http://{address} goes on as it was: {error}"
            ));
        }
    }
    if on {
        // It may be off for another reason, which this command cannot take away.
        let now = context.look(Say::Everything);
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

/// Asks which of these servers are meant.
fn pick<'a>(names: &[&'a str], on: bool) -> Result<Vec<&'a str>, Failure> {
    let word = if on { "enable" } else { "disable" };
    if !term::can_ask() {
        let hint = format!("switchboard {word} NAME, or all");
        return Err(Failure::usage("which server?").hint(hint));
    }
    if names.is_empty() {
        let text = format!("there is no server to {word}");
        return Err(Failure::usage(text).hint("see switchboard list"));
    }
    let mut err = std::io::stderr().lock();
    for (i, name) in names.iter().enumerate() {
        let _ = writeln!(err, "{:>3}  {}", i + 1, safe::line(name));
    }
    let _ = write!(err, "Which? (numbers, all, or nothing) ");
    let _ = err.flush();
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    if read.is_err() || line.trim().is_empty() {
        return Err(Failure::new(Code::Interrupted, "nothing was chosen"));
    }
    chosen(&line, names).map_err(|advice| {
        Failure::usage(advice.to_string()).hint("answer with numbers from the list, or with all")
    })
}

/// The servers that an answer names, by their numbers.
fn chosen<'a>(line: &str, names: &[&'a str]) -> Result<Vec<&'a str>, Advice> {
    if line.trim() == "all" {
        return Ok(names.to_vec());
    }
    let words = line.split([' ', ',', '\n']).filter(|word| !word.is_empty());
    let mut found = Vec::new();
    for word in words {
        let number = word.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        let name = number.and_then(|number| names.get(number));
        let name =
            name.ok_or_else(|| format!("{word:?} is no number between 1 and {}", names.len()))?;
        if !found.contains(name) {
            found.push(*name);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_choose() {
        let names = ["a", "b", "c"];
        assert_eq!(chosen("2\n", &names).unwrap(), ["b"]);
        assert_eq!(chosen("3, 1 1\n", &names).unwrap(), ["c", "a"]);
        assert_eq!(chosen("all\n", &names).unwrap(), names);
        for wrong in ["0", "4", "x", "1 y"] {
            assert!(chosen(wrong, &names).is_err(), "{wrong}");
        }
    }
}
