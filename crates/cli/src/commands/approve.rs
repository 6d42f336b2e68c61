//! `approve`, `reject` and `reset-project-choices`: servers that come from
//! inside a project. What would run is shown first, word for word.

mod answer;
mod show;
mod tools;

use super::explain::missing;
use crate::{
    context::{Context, Say},
    failure::{Code, Failure},
    show::{out, safe},
};
use answer::{Answer, Subject};
use clap::Args;
use switchboard::{
    Look,
    config::{
        Configured, Loaded, Places, Standing,
        approval::{Binding, Prompt, Store, StoreError, digest_of, shown::waits},
        explain,
    },
    host::pins::Pins,
    pin_key,
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
    /// Do not ask; only on a terminal
    #[arg(short, long, conflicts_with_all = ["show", "digest"])]
    pub yes: bool,
    /// Show it and its digest, and change nothing
    #[arg(long, conflicts_with = "digest")]
    pub show: bool,
    /// Approve exactly what --show printed with this digest, without a terminal
    #[arg(long, value_name = "DIGEST")]
    pub digest: Option<String>,
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
    let answer = Answer::of(options);
    if options.environment {
        return environment(&context.look(Say::Nothing), &places, &answer);
    }
    let loaded = context.look(Say::Everything);
    let name = options.name.as_deref().unwrap_or_default();
    if name == "all" && options.digest.is_some() {
        let text = "a digest is of one server, and all of them were named";
        return Err(Failure::usage(text).hint("switchboard approve NAME --digest DIGEST"));
    }
    let waiting: Vec<&Configured> = loaded
        .servers
        .iter()
        .filter(|server| waits(server))
        .filter(|server| name == "all" || server.entry.name == name)
        .collect();
    if waiting.is_empty() {
        return nothing_waits(context, &loaded, name, &answer);
    }
    let store = Store::read(&places.approvals()).map_err(|error| failed(&error))?;
    let mut decisions = Vec::new();
    let pins = Pins::open(places.data.join("pins"));
    let prompts: Vec<_> = waiting
        .into_iter()
        .map(|server| (server, Prompt::of(&server.entry, &places)))
        .collect();
    for (server, prompt) in &prompts {
        let digest = prompt.binding.hash();
        let shown = show::prompt(&loaded, server, prompt, &store);
        if answer.will_ask() {
            if !shown.page() {
                continue;
            }
        } else {
            shown.print()?;
        }
        let subject = Subject {
            what: &server.entry.name,
            argument: &server.entry.name,
            digest: &digest,
        };
        // Two files may have a server of one name; the digest says which is meant.
        let another = prompts.len() > 1 && answer.is_for_another(&digest);
        if another
            && prompts
                .iter()
                .any(|(_, one)| answer.is_for(&one.binding.hash()))
        {
            continue;
        }
        if !answer.is_yes(&subject)? {
            continue;
        }
        if let Some(why) = prompt.binding.obstacle() {
            return Err(Failure::new(Code::NotPermitted, why)
                .hint("what cannot be bound cannot be approved; nothing was approved"));
        }
        decisions.push((prompt.binding.clone(), true));
        // Another server than the one whose tools were pinned.
        pins.forget(&pin_key(&server.entry)).map_err(|fault| {
            Failure::new(Code::Configuration, fault.to_string())
                .hint("nothing was approved; put that right and try again")
        })?;
    }
    if decisions.is_empty() {
        return Ok(Code::Done);
    }
    Store::decide(&places.approvals(), &decisions).map_err(|error| failed(&error))?;
    for (binding, _) in &decisions {
        out::line(&format!("Approved {}", safe::line(&binding.name)))?;
    }
    Ok(Code::Done)
}

/// No entry waits: tools may.
fn nothing_waits(
    context: &Context,
    loaded: &Look,
    name: &str,
    answer: &Answer,
) -> Result<Code, Failure> {
    if name == "all" {
        if !tools::approve_all(context, loaded, answer)? {
            out::line("Nothing waits for approval.")?;
        }
        return Ok(Code::Done);
    }
    match loaded.find(name) {
        None => Err(missing(loaded, name)),
        Some(server)
            if server.standing == Standing::Active
                && tools::approve(context, loaded, name, answer)? =>
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
    }
}

/// Approves what an administrator sets in our environment, after showing it.
fn environment(loaded: &Loaded, places: &Places, answer: &Answer) -> Result<Code, Failure> {
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
    let pairs = waiting.iter().flat_map(|one| [&one.name, &one.value]);
    let digest = digest_of(pairs.map(String::as_bytes));
    show::digest(&digest)?;
    let subject = Subject {
        what: "these variables",
        argument: "--environment",
        digest: &digest,
    };
    if !answer.is_yes(&subject)? {
        return Ok(Code::Done);
    }
    let kept = loaded.environment.accept(&places.approvals());
    kept.map_err(|error| failed(&error))?;
    for variable in waiting {
        out::line(&format!("Approved {}", safe::line(&variable.name)))?;
    }
    Ok(Code::Done)
}

/// Rejects.
pub fn reject(context: &Context, options: &RejectOptions) -> Result<Code, Failure> {
    let places = context.places()?;
    let loaded = context.look(Say::Everything);
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
        "Forgot {} about servers of this project.",
        if count == 1 {
            "1 decision".to_owned()
        } else {
            format!("{count} decisions")
        }
    ))?;
    Ok(Code::Done)
}

fn failed(error: &StoreError) -> Failure {
    Failure::new(Code::Configuration, error.to_string()).hint(error.hint())
}
