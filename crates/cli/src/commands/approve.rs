//! `approve`, `reject` and `reset-project-choices`: servers that come from
//! inside a project. What would run is shown first, word for word.

mod tools;

use super::explain::missing;
use crate::{
    context::Context,
    failure::{Code, Failure},
    show::{out, safe, term},
};
use clap::Args;
use serde_json::Value;
use std::io::Write;
use switchboard::{
    config::{
        Configured, Loaded, Places, Standing,
        approval::{Binding, Decision, Prompt, Store, StoreError},
        explain,
        target::redacted,
    },
    host::pins::{Pins, PinsFault},
    permissions::pin_key,
};

/// Options of `approve`.
#[derive(Debug, Args)]
pub struct Options {
    /// The server, or all
    #[arg(value_name = "NAME|all", required_unless_present = "environment")]
    pub name: Option<String>,
    /// Variables that the administrator sets, instead of servers
    #[arg(long, conflicts_with = "name")]
    pub environment: bool,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// Options of `reject`.
#[derive(Debug, Args)]
pub struct RejectOptions {
    /// The server
    pub name: String,
}

/// Approves, after showing what.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let places = context.places()?;
    if options.environment {
        return environment(&context.quiet_load(), &places, options.yes);
    }
    let loaded = context.load_to_look();
    let name = options.name.as_deref().unwrap_or_default();
    let waits = |server: &&Configured| {
        server.entry.inside
            && matches!(
                server.standing,
                Standing::PendingApproval | Standing::Rejected
            )
    };
    let waiting: Vec<&Configured> = loaded
        .servers
        .iter()
        .filter(waits)
        .filter(|server| name == "all" || server.entry.name == name)
        .collect();
    if waiting.is_empty() {
        if name == "all" {
            out::line("Nothing waits for approval.")?;
            return Ok(Code::Done);
        }
        return match loaded.find(name) {
            None => Err(missing(&loaded, name)),
            Some(server)
                if server.standing == Standing::Active
                    && tools::approve(context, &loaded, name, options.yes)? =>
            {
                Ok(Code::Done)
            }
            Some(server) => {
                out::line(&format!(
                    "Nothing to approve: {} {}",
                    safe::line(name),
                    safe::line(&explain::reason(server))
                ))?;
                Ok(Code::Done)
            }
        };
    }
    let store = Store::read(&places.approvals()).map_err(|error| failed(&error))?;
    let mut decisions = Vec::new();
    let pins = Pins::open(places.data.join("pins"));
    for server in waiting {
        let prompt = Prompt::of(&server.entry, &places);
        show(server, &prompt, &store)?;
        if options.yes || ask(&server.entry.name, &server.entry.name)? {
            decisions.push((prompt.binding, true));
            // Another server than the one whose tools were pinned.
            forget(&pins, &pin_key(&server.entry)).map_err(|fault| {
                Failure::new(Code::Configuration, fault.to_string())
                    .hint("nothing was approved; put that right and try again")
            })?;
        }
    }
    Store::decide(&places.approvals(), &decisions).map_err(|error| failed(&error))?;
    for (binding, _) in &decisions {
        out::line(&format!("Approved {}", safe::line(&binding.name)))?;
    }
    Ok(Code::Done)
}

/// Approves what an administrator sets in our environment, after showing it.
fn environment(loaded: &Loaded, places: &Places, yes: bool) -> Result<Code, Failure> {
    let waiting = loaded.environment.waiting();
    if waiting.is_empty() {
        out::line("Nothing waits for approval.")?;
        return Ok(Code::Done);
    }
    for variable in waiting {
        let text = format!("{}={:?}", variable.name, variable.value);
        out::line(&safe::line(&text))?;
        out::line(&format!("  from      {}", safe::line(&variable.place)))?;
    }
    if !yes && !ask("these variables", "--environment")? {
        return Ok(Code::Done);
    }
    let kept = loaded.environment.accept(&places.approvals());
    kept.map_err(|error| failed(&error))?;
    for variable in waiting {
        out::line(&format!("Approved {}", safe::line(&variable.name)))?;
    }
    Ok(Code::Done)
}

fn forget(pins: &Pins, key: &str) -> Result<(), PinsFault> {
    if pins.has_pins(key)? {
        pins.forget(key)
    } else {
        Ok(())
    }
}

/// Rejects.
pub fn reject(context: &Context, options: &RejectOptions) -> Result<Code, Failure> {
    let places = context.places()?;
    let loaded = context.load_to_look();
    let inside: Vec<_> = loaded
        .servers
        .iter()
        .filter(|server| server.entry.inside && server.entry.name == options.name)
        .map(|server| (Binding::of(&server.entry, &places), false))
        .collect();
    if inside.is_empty() {
        let failure = match loaded.find(&options.name) {
            None => missing(&loaded, &options.name),
            Some(_) => Failure::usage(format!(
                "server {:?} does not come from inside a project",
                options.name
            ))
            .hint(format!(
                "switch it off: switchboard disable {}",
                options.name
            )),
        };
        return Err(failure);
    }
    Store::decide(&places.approvals(), &inside).map_err(|error| failed(&error))?;
    out::line(&format!("Rejected {}", safe::line(&options.name)))?;
    Ok(Code::Done)
}

/// Forgets what was decided about the servers of this project.
pub fn reset(context: &Context) -> Result<Code, Failure> {
    let places = context.places()?;
    let folders: Vec<_> = places
        .project_folders()
        .iter()
        .map(|folder| folder.to_path_buf())
        .collect();
    let count = Store::forget(&places.approvals(), &folders).map_err(|error| failed(&error))?;
    out::line(&format!(
        "Forgot {count} decisions about servers of this project."
    ))?;
    Ok(Code::Done)
}

fn failed(error: &StoreError) -> Failure {
    Failure::new(Code::Configuration, error.to_string()).hint(error.hint())
}

/// Everything that a yes would be said to.
fn show(server: &Configured, prompt: &Prompt, store: &Store) -> Result<(), Failure> {
    let paint = term::stdout();
    let line = |label: &str, text: &str| out::line(&format!("  {label:<9} {}", safe::line(text)));
    out::line(&paint.bold(&safe::line(&server.entry.name)))?;
    line("from", &prompt.place)?;
    for (i, word) in prompt.argv.iter().enumerate() {
        line(if i == 0 { "runs" } else { "" }, &format!("{word:?}"))?;
    }
    if !prompt.argv.is_empty() {
        let program = prompt
            .binding
            .program
            .as_ref()
            .map(|program| program.display().to_string());
        line(
            "program",
            program
                .as_deref()
                .unwrap_or("is not found, or depends on variables"),
        )?;
    }
    if let Some(url) = &prompt.url {
        line("connects", url)?;
    }
    for helper in &prompt.helpers {
        line("also runs", helper)?;
    }
    for read in &prompt.reads {
        line(
            "reads",
            &format!(
                "{} for {}, which goes to {}",
                read.variable, read.field, read.to
            ),
        )?;
    }
    for path in &prompt.from_the_repository {
        let text = format!(
            "{} is inside the repository: whoever can change the repository can change it",
            path.display()
        );
        out::line(&format!(
            "  {} {}",
            paint.yellow("warning  "),
            safe::line(&text)
        ))?;
    }
    let rest = serde_json::to_string(&redacted(&server.entry.written)).unwrap_or_default();
    line("entry", &rest)?;
    if let Decision::Changed(differences) = store.decision(&prompt.binding) {
        out::line("  changed since you approved it:")?;
        let text = |value: &Option<Value>| {
            value
                .as_ref()
                .map_or_else(|| "nothing".to_owned(), Value::to_string)
        };
        for difference in differences {
            let (before, after) = (text(&difference.before), text(&difference.after));
            out::line(&format!(
                "    {}: {} -> {}",
                safe::line(&difference.field),
                safe::line(&before),
                safe::line(&after)
            ))?;
        }
    }
    Ok(())
}

fn ask(name: &str, argument: &str) -> Result<bool, Failure> {
    if !term::can_ask() {
        let text = "nobody can be asked: there is no terminal";
        return Err(Failure::new(Code::NotPermitted, text).hint(format!(
            "look at the above, then: switchboard approve {argument} --yes"
        )));
    }
    let _ = write!(
        std::io::stderr().lock(),
        "Approve {}? [y/N] ",
        safe::line(name)
    );
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.map_err(|error| Failure::new(Code::Interrupted, error.to_string()))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
