//! Everything that a yes would be said to, as lines: for a terminal, and for whoever
//! asks a running gateway. Nothing is left out, and everything is escaped. What deserves
//! a second look stands last, next to the question: an entry can be as long as its author likes.

use super::{Decision, Prompt, Store, apparent, contents::Manifest, replaced};
use crate::{
    entry::Entry,
    load::{Configured, Loaded, Standing},
};
use serde_json::Value;
use std::borrow::Cow;
use switchboard_local::{secret, visible};

/// How a warning begins.
pub const WARNING: &str = "  warning   ";

/// What becomes of values that look like secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// They are shown: of what a repository brings, where they are none.
    Shown,
    /// What is one by its name or its look is cut; all that decides what would run is shown.
    Hidden,
}

impl Secrets {
    /// The entry, or a part of it, as written.
    pub fn of(self, written: &Value) -> Value {
        match self {
            Self::Shown => written.clone(),
            Self::Hidden => apparent::apparent(written),
        }
    }
}

/// Whether somebody has yet to say yes to it, or has said no.
pub fn waits(server: &Configured) -> bool {
    let open = matches!(
        server.standing,
        Standing::PendingApproval | Standing::Rejected
    );
    server.entry.inside && open
}

struct Lines {
    all: Vec<String>,
    secrets: Secrets,
}

impl Lines {
    fn line(&mut self, label: &str, text: &str) {
        self.all
            .push(format!("  {label:<9} {}", visible::line(text)));
    }

    fn inner(&mut self, label: &str, text: &str) {
        self.all
            .push(format!("    {label:<9} {}", visible::line(text)));
    }

    fn warning(&mut self, text: &str) {
        self.all.push(format!("{WARNING}{}", visible::line(text)));
    }

    /// A value by its name.
    fn value<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        match self.secrets {
            Secrets::Shown => Cow::Borrowed(value),
            Secrets::Hidden => apparent::value(name, value),
        }
    }

    /// Any other text.
    fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.secrets {
            Secrets::Shown => Cow::Borrowed(text),
            Secrets::Hidden => secret::text(text),
        }
    }

    /// Words of a command line, one on each line, so that none hides in another.
    fn words(&mut self, words: &[String], label: &str, indent: usize) {
        let words: Vec<Cow<'_, str>> = match self.secrets {
            Secrets::Shown => words.iter().map(Cow::from).collect(),
            Secrets::Hidden => apparent::words(words.iter().map(String::as_str)),
        };
        for (i, word) in words.iter().enumerate() {
            let label = if i == 0 { label } else { "" };
            let text = visible::line(&format!("{word:?}"));
            self.all.push(format!("{:indent$}{label:<9} {text}", ""));
        }
    }

    /// One manifest of a built-in `tools`: what it does first, then all of it.
    fn manifest(&mut self, manifest: &Manifest) {
        self.line("manifest", &manifest.file.display().to_string());
        self.words(&manifest.argv, "runs", 4);
        if let Some(cwd) = &manifest.cwd {
            self.inner("works in", &format!("{cwd:?}"));
        }
        if !manifest.variables.is_empty() {
            self.inner("asks for", &manifest.variables.join(", "));
        }
        for step in &manifest.steps {
            self.inner("calls", step);
        }
        let whole = self.text(&manifest.text).into_owned();
        self.inner("whole", &whole);
    }
}

/// What there is to be shown of one entry, the digest last.
pub fn lines(
    loaded: &Loaded,
    entry: &Entry,
    prompt: &Prompt,
    store: &Store,
    secrets: Secrets,
) -> Vec<String> {
    let mut shown = Lines {
        all: vec![visible::line(&entry.name)],
        secrets,
    };
    shown.line("from", &prompt.place);
    what_runs(&mut shown, prompt);
    for (name, value) in &prompt.variables {
        let value = shown.value(name, value).into_owned();
        shown.line("variable", &format!("{name}={value:?}"));
    }
    for (name, value) in &prompt.headers {
        let value = shown.value(name, value).into_owned();
        shown.line("header", &format!("{name}: {value:?}"));
    }
    for read in &prompt.reads {
        let (variable, field, to) = (&read.variable, &read.field, &read.to);
        let text = format!("{variable} for {field}, which goes to {to}");
        shown.line("reads", &text);
    }
    for reach in &prompt.reaches {
        let text = match &reach.path {
            Some(path) => format!("{} (written {:?})", path.display(), reach.written),
            None => format!("{:?}", reach.written),
        };
        shown.line("uses", &text);
    }
    for one in &prompt.manifests {
        shown.manifest(one);
    }
    let written = secrets.of(&entry.written);
    shown.line("entry", &written.to_string());
    if written != entry.written {
        shown.warning("what looks like a secret is not shown here");
    }
    if let Some(own) = replaced(loaded, entry) {
        shown.warning(&format!(
            "it would take the place of your own server {:?} ({}, {}): {}",
            own.name,
            own.scope,
            own.place(),
            own.target()
        ));
    }
    for text in &prompt.warnings {
        shown.warning(text);
    }
    if let Decision::Changed(differences) = store.decision(&prompt.binding) {
        shown
            .all
            .push("  changed since you approved it:".to_owned());
        let text = |value: &Option<Value>| {
            let text = value.as_ref().map(|value| secrets.of(value).to_string());
            text.unwrap_or_else(|| "nothing".to_owned())
        };
        for difference in differences {
            let (before, after) = (text(&difference.before), text(&difference.after));
            let text = format!("{}: {before} -> {after}", difference.field);
            shown.all.push(format!("    {}", visible::line(&text)));
        }
    }
    shown.line("digest", &prompt.binding.hash());
    shown.all
}

/// The command, the address, and what else is run for it.
fn what_runs(shown: &mut Lines, prompt: &Prompt) {
    shown.words(&prompt.argv, "runs", 2);
    if !prompt.argv.is_empty() {
        let program = prompt.binding.program.as_ref();
        let program = program.map(|program| program.display().to_string());
        let unknown = "is not found, or depends on variables";
        shown.line("program", program.as_deref().unwrap_or(unknown));
    }
    if let Some(url) = &prompt.url {
        let url = match shown.secrets {
            Secrets::Shown => Cow::Borrowed(url.as_str()),
            Secrets::Hidden => secret::address(url),
        };
        shown.line("connects", &url);
    }
    for helper in &prompt.helpers {
        let helper = shown.text(helper).into_owned();
        shown.line("also runs", &helper);
    }
    if let Some(cwd) = &prompt.cwd {
        shown.line("works in", &format!("{cwd:?}"));
    }
}
