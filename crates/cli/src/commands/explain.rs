//! `explain`: why a server or a tool is there, or is not. A gateway that runs and has the very
//! same server is asked what it decides.

pub mod limits;
mod sharing;
mod there;
mod tool;

use crate::{
    context::{Context, Say},
    failure::{Code, Failure},
    near::{did_you_mean, near},
    show::{
        out, safe,
        term::{self, Paint},
    },
};
use clap::Args;
use serde_json::json;
use switchboard::{
    Look,
    config::{
        Configured, Entry, Loaded, Standing,
        explain::{self, Explained},
    },
    host::ToolFilter,
    wire::name::{Namer, Style, normalize},
};

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct Options {
    /// A server, or a tool such as mcp__server__tool
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Explains.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let loaded = known(context, &options.name);
    // Nothing is started while it cannot be told what is forbidden.
    let unusable = loaded.unusable().filter(|_| loaded.is_lawless());
    let (server, tool) = parts(&loaded, &options.name);
    let mut explained = explain::server(&loaded, &server);
    let active = loaded
        .find(&server)
        .is_some_and(|found| found.standing == Standing::Active && found.entry.faults.is_empty());
    let about = match &tool {
        Some(tool) if active && unusable.is_none() => {
            Some(tool::look(context, &loaded, &server, tool)?)
        }
        _ => None,
    };
    let mut notes = match active && unusable.is_none() {
        true => sharing::notes(context, &loaded, &server).unwrap_or_default(),
        false => Vec::new(),
    };
    let found = loaded.find(&server);
    notes.extend(found.and_then(|found| limits::note(&found.entry)));
    let mut elsewhere = loaded.elsewhere();
    elsewhere.retain(|entry| entry.name == server);
    notes.extend(loaded.folder.sentence(&elsewhere));
    let first = match (&about, &tool) {
        (Some(about), _) => Some(about.summary()),
        // Its server comes to nothing, which is said next.
        (None, Some(_)) => Some(format!("{} cannot be used", options.name)),
        (None, None) => None,
    };
    if let Some(first) = first {
        explained.summary = format!("{first}\n{}", explained.summary);
    }
    if let Some(renamed) = active.then(|| renamed(&loaded, &server)).flatten() {
        explained.summary = format!("{}\n{renamed}", explained.summary);
    }
    if let (Some(tool), Some(found)) = (&tool, loaded.find(&server))
        && let Some(why) = left_out(&found.entry, tool)
    {
        explained.summary = format!("{}\n{why}", explained.summary);
    }
    let advice = loaded.find(&server).and_then(advice);
    if options.json {
        let steps: Vec<_> = explained
            .steps
            .iter()
            .map(|step| json!({"scope": step.scope, "place": step.place, "says": step.says, "counts": step.counts}))
            .collect();
        let about = about.as_ref().map(tool::About::json);
        let whole = json!({"summary": explained.summary, "steps": steps, "tool": about, "advice": advice, "notes": notes});
        out::json(whole.to_string().as_bytes())?;
    } else {
        let paint = term::stdout();
        out::line(&paint.bold(&safe::lines(&explained.summary)))?;
        if let Some(about) = &about {
            about.show(paint)?;
        }
        steps(&explained, paint)?;
        for note in &notes {
            out::line(&safe::line(note))?;
        }
        if let Some(advice) = &advice {
            out::line(&format!("{} {}", paint.bold("do:"), safe::line(advice)))?;
        }
    }
    if loaded.find(&server).is_none() {
        let hint =
            "see switchboard list; a tool is named with its server, such as mcp__server__tool";
        return Err(unknown(&loaded, &server, hint));
    }
    if let Some(failure) = unusable {
        return Err(failure.into());
    }
    match about.as_ref().and_then(tool::About::missing) {
        Some(failure) => Err(failure),
        None => Ok(Code::Done),
    }
}

/// What is configured, with what comes with a gateway that runs where a name is of that.
fn known(context: &Context, name: &str) -> Look {
    let mut loaded = context.look(Say::Problems);
    if loaded.find(&parts(&loaded, name).0).is_none() {
        loaded.bring_along();
    }
    loaded
}

/// How to get a server into use that is not, where the user can.
fn advice(server: &Configured) -> Option<String> {
    let name = &server.entry.name;
    match server.standing {
        Standing::PendingApproval => Some(format!(
            "look at it and approve it: switchboard approve {name}"
        )),
        Standing::Rejected => Some(format!(
            "look at it again and approve it: switchboard approve {name}"
        )),
        Standing::Disabled => Some(format!(
            "switch it on: switchboard enable {name}, or where it says so above"
        )),
        _ => None,
    }
}

/// What the tools of a server begin with, where that is not its name as it is written.
fn renamed(loaded: &Loaded, server: &str) -> Option<String> {
    let namer = Namer::new(
        Style::Full,
        loaded.active().map(|entry| entry.name.as_str()),
    );
    let prefix = namer.prefix(server).filter(|prefix| *prefix != server)?;
    let why = if prefix == normalize(server) {
        "names of tools have only letters, digits, - and _"
    } else {
        "the name is too long, or another server's would be the same"
    };
    Some(format!("its tools are called mcp__{prefix}__…: {why}"))
}

/// The links of the chain, one on each line.
pub fn steps(explained: &Explained, paint: Paint) -> Result<(), Failure> {
    for step in &explained.steps {
        let mark = if step.counts { ">" } else { " " };
        let line = format!("{mark} {:<10}  {}", step.scope, safe::line(&step.place));
        out::line(&if step.counts { line } else { paint.dim(&line) })?;
        out::line(&format!("    {}", safe::line(&step.says)))?;
    }
    Ok(())
}

/// The failure that an unknown server is.
pub fn missing(loaded: &Loaded, name: &str) -> Failure {
    unknown(loaded, name, "see switchboard list")
}

fn unknown(loaded: &Loaded, name: &str, otherwise: &str) -> Failure {
    let names = loaded
        .servers
        .iter()
        .map(|server| server.entry.name.as_str());
    let hint = did_you_mean(&near(name, names)).unwrap_or_else(|| otherwise.to_owned());
    Failure::usage(format!("there is no server {name:?}")).hint(hint)
}

/// The server that a name means, and the tool, if it is a tool's.
fn parts(loaded: &Loaded, name: &str) -> (String, Option<String>) {
    let rest = name.strip_prefix("mcp__").unwrap_or(name);
    if loaded.find(name).is_some() {
        return (name.to_owned(), None);
    }
    let mut known = loaded.servers.iter().map(|server| &server.entry.name);
    let begins = |server: &&String| {
        rest.strip_prefix(&format!("{}__", normalize(server)))
            .is_some()
    };
    match (known.find(begins), rest.split_once("__")) {
        (Some(server), _) => {
            let tool = &rest[normalize(server).len() + 2..];
            (server.clone(), Some(tool.to_owned()))
        }
        (None, Some((server, tool))) => (server.to_owned(), Some(tool.to_owned())),
        (None, None) => (name.to_owned(), None),
    }
}

/// Why the entry's own lists leave a tool out, if they do. A `*` in them stands for anything.
fn left_out(entry: &Entry, tool: &str) -> Option<String> {
    let one = |list: &[String]| ToolFilter {
        allow: Some(list.to_vec()),
        deny: Vec::new(),
    };
    let place = entry.place();
    let lists = &entry.tools;
    if one(&lists.deny).has(tool) {
        return Some(format!("tool {tool:?} is in tools.deny of {place}"));
    }
    let missing = lists
        .allow
        .as_ref()
        .is_some_and(|allow| !one(allow).has(tool));
    missing.then(|| format!("tool {tool:?} is not in tools.allow of {place}"))
}
