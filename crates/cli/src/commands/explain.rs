//! `explain`: why a server or a tool is there, or is not.

use crate::{
    context::Context,
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
    config::{
        Loaded,
        explain::{self, Explained},
    },
    wire::name::normalize,
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
    let loaded = context.load();
    let (server, tool) = parts(&loaded, &options.name);
    let mut explained = explain::server(&loaded, &server);
    if let (Some(tool), Some(found)) = (&tool, loaded.find(&server)) {
        let lists = &found.entry.tools;
        let place = found.entry.place();
        let denied = lists.deny.iter().any(|pattern| pattern == tool);
        let left_out = lists
            .allow
            .as_ref()
            .is_some_and(|allow| !allow.contains(tool));
        let says = match (denied, left_out) {
            (true, _) => format!("tool {tool:?} is in tools.deny of {place}"),
            (_, true) if !has_wildcards(lists.allow.as_deref()) => {
                format!("tool {tool:?} is not in tools.allow of {place}")
            }
            _ => format!(
                "nothing in {place} hides tool {tool:?}; see switchboard tools --server {server}"
            ),
        };
        explained.summary = format!("{}\n{says}", explained.summary);
    }
    if options.json {
        let steps: Vec<_> = explained
            .steps
            .iter()
            .map(|step| json!({"scope": step.scope, "place": step.place, "says": step.says, "counts": step.counts}))
            .collect();
        out::line(&json!({"summary": explained.summary, "steps": steps}).to_string())?;
    } else {
        let paint = term::stdout();
        out::line(&paint.bold(&safe::lines(&explained.summary)))?;
        steps(&explained, paint)?;
    }
    if loaded.find(&server).is_none() {
        return Err(missing(&loaded, &server));
    }
    Ok(Code::Done)
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
    let names = loaded
        .servers
        .iter()
        .map(|server| server.entry.name.as_str());
    let hint =
        did_you_mean(&near(name, names)).unwrap_or_else(|| "see switchboard list".to_owned());
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

fn has_wildcards(allow: Option<&[String]>) -> bool {
    allow
        .into_iter()
        .flatten()
        .any(|pattern| pattern.contains('*'))
}
