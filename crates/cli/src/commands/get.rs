//! `get`: one server in full.

use super::explain::{missing, steps};
use crate::{
    context::Context,
    failure::{Code, Failure},
    show::{out, safe, term},
};
use clap::Args;
use serde_json::json;
use switchboard::config::{explain, target::redacted};

/// Options of `get`.
#[derive(Debug, Args)]
pub struct Options {
    /// The server
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Show passwords, tokens and keys, too
    #[arg(long)]
    pub show_secrets: bool,
}

/// Shows.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let loaded = context.load();
    let name = &options.name;
    let Some(server) = loaded.find(name) else {
        return Err(missing(&loaded, name));
    };
    let entry = &server.entry;
    let written = if options.show_secrets {
        entry.written.clone()
    } else {
        redacted(&entry.written)
    };
    let reason = explain::reason(server);
    if options.json {
        let shown = json!({
            "name": name,
            "scope": entry.scope.as_str(),
            "file": entry.source.file().map(|file| file.display().to_string()),
            "line": entry.line,
            "transport": entry.transport.as_str(),
            "entry": written,
            "reason": reason,
        });
        out::line(&shown.to_string())?;
        return Ok(Code::Done);
    }
    let paint = term::stdout();
    out::line(&paint.bold(&safe::line(name)))?;
    out::line(&format!("  scope   {}", entry.scope))?;
    out::line(&format!("  from    {}", safe::line(&entry.place())))?;
    out::line(&format!("  state   {}", safe::lines(&reason)))?;
    let text = serde_json::to_string_pretty(&written).unwrap_or_default();
    for line in text.lines() {
        out::line(&format!("  {}", safe::line(line)))?;
    }
    let explained = explain::server(&loaded, name);
    if explained.steps.len() > 1 {
        out::line("  entries of this name:")?;
        steps(&explained, paint)?;
    }
    Ok(Code::Done)
}
