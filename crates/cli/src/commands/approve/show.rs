//! Everything that a yes would be said to, on the screen. Nothing that comes
//! from inside a repository is left out or redacted, and everything is escaped.

use crate::{
    failure::Failure,
    show::{out, safe, term},
};
use serde_json::Value;
use switchboard::config::{
    Configured, Loaded,
    approval::{Decision, Prompt, Store, contents::Manifest, replaced},
};

/// Shows one server.
pub(super) fn prompt(
    loaded: &Loaded,
    server: &Configured,
    prompt: &Prompt,
    store: &Store,
) -> Result<(), Failure> {
    let entry = &server.entry;
    out::line(&term::stdout().bold(&safe::line(&entry.name)))?;
    line("from", &prompt.place)?;
    if let Some(own) = replaced(loaded, entry) {
        let text = format!(
            "it would take the place of your own server {:?} ({}, {}): {}",
            own.name,
            own.scope,
            own.place(),
            own.target()
        );
        warning(&text)?;
    }
    words(&prompt.argv, "runs", 2)?;
    if !prompt.argv.is_empty() {
        let program = prompt.binding.program.as_ref();
        let program = program.map(|program| program.display().to_string());
        let unknown = "is not found, or depends on variables";
        line("program", program.as_deref().unwrap_or(unknown))?;
    }
    if let Some(url) = &prompt.url {
        line("connects", url)?;
    }
    for helper in &prompt.helpers {
        line("also runs", helper)?;
    }
    if let Some(cwd) = &prompt.cwd {
        line("works in", &format!("{cwd:?}"))?;
    }
    for (name, value) in &prompt.variables {
        line("variable", &format!("{name}={value:?}"))?;
    }
    for (name, value) in &prompt.headers {
        line("header", &format!("{name}: {value:?}"))?;
    }
    for read in &prompt.reads {
        let (variable, field, to) = (&read.variable, &read.field, &read.to);
        line(
            "reads",
            &format!("{variable} for {field}, which goes to {to}"),
        )?;
    }
    for one in &prompt.manifests {
        manifest(one)?;
    }
    for text in &prompt.warnings {
        warning(text)?;
    }
    line("entry", &entry.written.to_string())?;
    if let Decision::Changed(differences) = store.decision(&prompt.binding) {
        out::line("  changed since you approved it:")?;
        let text = |value: &Option<Value>| {
            let text = value.as_ref().map(Value::to_string);
            text.unwrap_or_else(|| "nothing".to_owned())
        };
        for difference in differences {
            let (before, after) = (text(&difference.before), text(&difference.after));
            let text = format!("{}: {before} -> {after}", difference.field);
            out::line(&format!("    {}", safe::line(&text)))?;
        }
    }
    digest(&prompt.binding.hash())
}

/// Shows one manifest of a built-in `tools`: what it does first, then all of it.
fn manifest(manifest: &Manifest) -> Result<(), Failure> {
    line("manifest", &manifest.file.display().to_string())?;
    words(&manifest.argv, "runs", 4)?;
    if let Some(cwd) = &manifest.cwd {
        inner("works in", &format!("{cwd:?}"))?;
    }
    if !manifest.variables.is_empty() {
        inner("asks for", &manifest.variables.join(", "))?;
    }
    for step in &manifest.steps {
        inner("calls", step)?;
    }
    inner("whole", &manifest.text)
}

/// The digest that approves what was shown where there is no terminal.
pub(super) fn digest(digest: &str) -> Result<(), Failure> {
    line("digest", digest)
}

/// Words of a command line, one on each line, so that none hides in another.
fn words(words: &[String], label: &str, indent: usize) -> Result<(), Failure> {
    for (i, word) in words.iter().enumerate() {
        let label = if i == 0 { label } else { "" };
        let text = safe::line(&format!("{word:?}"));
        out::line(&format!("{:indent$}{label:<9} {text}", ""))?;
    }
    Ok(())
}

fn line(label: &str, text: &str) -> Result<(), Failure> {
    out::line(&format!("  {label:<9} {}", safe::line(text)))
}

fn inner(label: &str, text: &str) -> Result<(), Failure> {
    out::line(&format!("    {label:<9} {}", safe::line(text)))
}

fn warning(text: &str) -> Result<(), Failure> {
    let label = term::stdout().yellow("warning  ");
    out::line(&format!("  {label} {}", safe::line(text)))
}
