//! Everything that a yes would be said to, on the screen. Nothing that comes
//! from inside a repository is left out or redacted, and everything is escaped.
//! What deserves a second look stands last, next to the question: an entry can
//! be as long as its author likes.

use crate::{
    failure::Failure,
    show::{out, pages, safe, term},
};
use serde_json::Value;
use switchboard::config::{
    Configured, Loaded,
    approval::{Decision, Prompt, Store, contents::Manifest, replaced},
};

/// How a warning begins.
const WARNING: &str = "  warning   ";

/// All that is shown of one server: lines, escaped.
pub(super) struct Shown(Vec<String>);

impl Shown {
    /// Writes it all.
    pub(super) fn print(&self) -> Result<(), Failure> {
        let mut lines = self.0.iter().enumerate();
        lines.try_for_each(|(i, line)| out::line(&painted(i, line)))
    }

    /// The same for somebody who is then asked, a page at a time. Whether they
    /// saw it to its end.
    pub(super) fn page(&self) -> bool {
        let width = term::width();
        let mut rows = Vec::new();
        for (i, line) in self.0.iter().enumerate() {
            // What goes on in the next row does not begin where labels do.
            let label = line
                .char_indices()
                .nth(WARNING.len())
                .map_or(line.len(), |(at, _)| at);
            let (label, text) = line.split_at(label);
            let parts = pages::wrapped(text, width.saturating_sub(WARNING.len()));
            rows.extend(parts.iter().enumerate().map(|(part, text)| match part {
                0 => painted(i, &format!("{label}{text}")),
                _ => format!("{:1$}{text}", "", WARNING.len()),
            }));
        }
        let mut input = std::io::stdin().lock();
        pages::show(&rows, "", &mut input, &mut std::io::stdout().lock())
    }

    fn line(&mut self, label: &str, text: &str) {
        self.0.push(format!("  {label:<9} {}", safe::line(text)));
    }

    fn inner(&mut self, label: &str, text: &str) {
        self.0.push(format!("    {label:<9} {}", safe::line(text)));
    }

    fn warning(&mut self, text: &str) {
        self.0.push(format!("{WARNING}{}", safe::line(text)));
    }

    /// Words of a command line, one on each line, so that none hides in another.
    fn words(&mut self, words: &[String], label: &str, indent: usize) {
        for (i, word) in words.iter().enumerate() {
            let label = if i == 0 { label } else { "" };
            let text = safe::line(&format!("{word:?}"));
            self.0.push(format!("{:indent$}{label:<9} {text}", ""));
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
        self.inner("whole", &manifest.text);
    }
}

/// The first line is a title, and what warns is seen to.
fn painted(i: usize, line: &str) -> String {
    let paint = term::stdout();
    match line.strip_prefix(WARNING) {
        Some(text) => format!("  {} {text}", paint.yellow("warning  ")),
        None if i == 0 => paint.bold(line),
        None => line.to_owned(),
    }
}

/// What there is to be shown of one server.
pub(super) fn prompt(
    loaded: &Loaded,
    server: &Configured,
    prompt: &Prompt,
    store: &Store,
) -> Shown {
    let entry = &server.entry;
    let mut shown = Shown(vec![safe::line(&entry.name)]);
    shown.line("from", &prompt.place);
    shown.words(&prompt.argv, "runs", 2);
    if !prompt.argv.is_empty() {
        let program = prompt.binding.program.as_ref();
        let program = program.map(|program| program.display().to_string());
        let unknown = "is not found, or depends on variables";
        shown.line("program", program.as_deref().unwrap_or(unknown));
    }
    if let Some(url) = &prompt.url {
        shown.line("connects", url);
    }
    for helper in &prompt.helpers {
        shown.line("also runs", helper);
    }
    if let Some(cwd) = &prompt.cwd {
        shown.line("works in", &format!("{cwd:?}"));
    }
    for (name, value) in &prompt.variables {
        shown.line("variable", &format!("{name}={value:?}"));
    }
    for (name, value) in &prompt.headers {
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
    shown.line("entry", &entry.written.to_string());
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
        shown.0.push("  changed since you approved it:".to_owned());
        let text = |value: &Option<Value>| {
            let text = value.as_ref().map(Value::to_string);
            text.unwrap_or_else(|| "nothing".to_owned())
        };
        for difference in differences {
            let (before, after) = (text(&difference.before), text(&difference.after));
            let text = format!("{}: {before} -> {after}", difference.field);
            shown.0.push(format!("    {}", safe::line(&text)));
        }
    }
    shown.line("digest", &prompt.binding.hash());
    shown
}

/// The digest that approves what was shown where there is no terminal.
pub(super) fn digest(digest: &str) -> Result<(), Failure> {
    out::line(&format!("  {:<9} {}", "digest", safe::line(digest)))
}
