//! What a person must see before saying yes. Values only; whoever shows them
//! escapes what a terminal would obey.

use super::{
    Binding,
    contents::{Content, Found, Ground, Manifest, is_code_address},
    reach::{self, Reach},
};
use crate::{
    entry::{Entry, Transport},
    expand::variables,
    launchers::{
        Kind, gives_code, kind, leaves_its_directory_alone, takes_code_from_its_directory,
    },
    load::{Loaded, Standing},
    places::Places,
    program_variables::changes_programs,
};
use serde_json::Value;
use std::path::PathBuf;

/// All that an approval is about. Nothing of it is redacted: it is the
/// repository's text, and whoever hides something hides it there.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// What it would be bound to.
    pub binding: Binding,
    /// File and line.
    pub place: String,
    /// The program and its arguments, word for word.
    pub argv: Vec<String>,
    /// Where it would start, as written.
    pub cwd: Option<String>,
    /// The address, as written.
    pub url: Option<String>,
    /// The variables that it sets, as written.
    pub variables: Vec<(String, String)>,
    /// The headers that it sends, as written.
    pub headers: Vec<(String, String)>,
    /// Other programs that it would run, such as a headers helper.
    pub helpers: Vec<String>,
    /// The variables that it would read.
    pub reads: Vec<Reads>,
    /// The directories that a built-in server would use.
    pub reaches: Vec<Reach>,
    /// The manifests of a built-in `tools`.
    pub manifests: Vec<Manifest>,
    /// What of it the repository itself brings along.
    pub from_the_repository: Vec<PathBuf>,
    /// What deserves a second look, a sentence each.
    pub warnings: Vec<String>,
}

/// A variable that an entry would read, and where its value would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reads {
    /// The variable.
    pub variable: String,
    /// The field, such as `url` or `env.TOKEN`.
    pub field: String,
    /// Who would get it: a host, or the program.
    pub to: String,
}

impl Prompt {
    /// Finds out what there is to be shown. Nothing is expanded, and no program run.
    pub fn of(entry: &Entry, places: &Places) -> Self {
        let ground = Ground::of(entry, places);
        let found = Found::of(entry, &ground);
        let local = entry.transport == Transport::Stdio;
        let command = entry.command.iter().filter(|_| local);
        let from_the_repository = found.contents.keys().cloned().collect();
        let warnings = warnings(entry, &found, &ground);
        Self {
            place: entry.place(),
            argv: command
                .chain(entry.args.iter().filter(|_| local))
                .cloned()
                .collect(),
            cwd: entry.cwd.clone(),
            url: entry.url.clone().filter(|_| !local),
            variables: entry.env.clone(),
            headers: entry.headers.clone(),
            helpers: entry.headers_helper.iter().cloned().collect(),
            reads: reads(entry),
            reaches: reach::of(entry, &ground),
            manifests: found.manifests,
            from_the_repository,
            warnings,
            binding: Binding::with(entry, places, found.contents),
        }
    }
}

/// The entry of the user's own whose name an entry from inside a project would
/// take, if it were approved.
pub fn replaced<'a>(loaded: &'a Loaded, entry: &Entry) -> Option<&'a Entry> {
    let own = |(_, server): &(usize, &crate::Configured)| {
        server.entry.name == entry.name && !server.entry.inside
    };
    let mut all = loaded.servers.iter().enumerate();
    let at = all.position(|(_, server)| {
        server.entry.inside
            && server.entry.name == entry.name
            && server.entry.place() == entry.place()
    })?;
    let mut all = loaded.servers.iter().enumerate().filter(own);
    let loses = all.find(|(i, server)| {
        matches!(server.standing, Standing::Active | Standing::Shadowed(_))
            && (server.entry.scope, *i) < (entry.scope, at)
    })?;
    Some(&loses.1.entry)
}

/// Every variable, and where it would go.
fn reads(entry: &Entry) -> Vec<Reads> {
    let to = match entry.transport {
        Transport::Stdio => entry.command.clone().unwrap_or_default(),
        Transport::Builtin => format!("the built-in server {}", entry.builtin_name()),
        Transport::Worker => format!("a worker's server {}", entry.worker_server()),
        _ => entry.url.clone().unwrap_or_default(),
    };
    let mut reads = Vec::new();
    fields("", &entry.written, &mut |field, text| {
        reads.extend(variables(text).into_iter().map(|variable| Reads {
            variable: variable.to_owned(),
            field: field.to_owned(),
            to: to.clone(),
        }));
    });
    reads
}

fn warnings(entry: &Entry, found: &Found, ground: &Ground) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(odd) = entry.name.chars().find(|c| !c.is_ascii()) {
        all.push(format!(
            "its name has letters that can look like others: {}",
            odd.escape_unicode()
        ));
    }
    for (name, _) in entry.env.iter().filter(|(name, _)| changes_programs(name)) {
        all.push(format!(
            "it sets {name}, which changes what runs or what that loads, whatever the command says"
        ));
    }
    if let Some(cwd) = &entry.cwd {
        all.push(format!(
            "it works in {cwd:?}: programs take settings and code from the directory they work in"
        ));
    }
    all.extend(foreign_code(entry, found));
    if entry.transport == Transport::Builtin && entry.builtin_name() == "shell" {
        all.push("it runs any command that a client sends".to_owned());
    }
    let reaches = reach::of(entry, ground);
    all.extend(reaches.iter().filter_map(|one| reach::warning(entry, one)));
    for (path, content) in &found.contents {
        let path = path.display();
        all.push(match content {
            Content::Bytes(_) => format!(
                "{path} is inside the repository: it is approved as it is now, and what it loads in turn is not looked at"
            ),
            Content::Leads(to) => format!(
                "{path} is inside the repository, and leads to {}",
                to.display()
            ),
            Content::Unbound(why) => format!("{path} cannot be approved: {why}"),
        });
    }
    for path in &found.data {
        all.push(format!(
            "{} is inside the repository and taken for data: it may change without a question",
            path.display()
        ));
    }
    for manifest in &found.manifests {
        if !manifest.variables.is_empty() && ground.holds(&manifest.file) {
            all.push(format!(
                "{} asks for {}; it does not get them, since the repository brings it along",
                manifest.file.display(),
                manifest.variables.join(", ")
            ));
        }
    }
    all
}

/// Code that no approval binds: what a program finds where it works, and what is
/// written into a word.
fn foreign_code(entry: &Entry, found: &Found) -> Vec<String> {
    let mut all = Vec::new();
    let command = entry
        .command
        .iter()
        .filter(|_| entry.transport == Transport::Stdio);
    let own = command.filter_map(|command| taking_code(command, &entry.args));
    // A helper is a text for the shell.
    let helper = entry
        .headers_helper
        .iter()
        .map(|_| Taking::Does("headersHelper"));
    all.extend(own.chain(helper).map(|program| program.warning()));
    for manifest in &found.manifests {
        let program = manifest.argv.split_first();
        let program = program.and_then(|(program, args)| taking_code(program, args));
        if let Some(program) = program {
            all.push(format!(
                "{}: {}",
                manifest.file.display(),
                program.warning()
            ));
        }
    }
    let words = entry
        .args
        .iter()
        .chain(found.manifests.iter().flat_map(|one| &one.argv));
    for word in words.filter(|word| is_code_address(word)) {
        all.push(format!(
            "{word:?} is code in itself; what that loads is no part of this approval"
        ));
    }
    all
}

/// A program that runs what it finds where it works, or that is not known to leave
/// that alone.
enum Taking<'a> {
    Does(&'a str),
    May(&'a str),
}

impl Taking<'_> {
    fn warning(&self) -> String {
        let (program, takes) = match self {
            Self::Does(program) => (program, "takes"),
            Self::May(program) => (program, "may take"),
        };
        format!(
            "{program} {takes} code and settings from the directory it works in; what is there is no part of this approval"
        )
    }
}

/// The program of a command line that runs what it finds where it works: a
/// launcher, whatever is wrapped around it, or anything that runs other
/// programs by words which nobody but itself understands. Of a program that is not
/// known, nobody can say that it does not.
fn taking_code<'a>(command: &'a str, args: &'a [String]) -> Option<Taking<'a>> {
    if takes_code_from_its_directory(command) {
        return Some(Taking::Does(command));
    }
    let wrapped = || args.iter().map(String::as_str);
    let gets_code = || {
        args.iter()
            .any(|word| gives_code(word) || word.starts_with("-m"))
    };
    match kind(command) {
        Some(Kind::Wrapper) => wrapped()
            .find(|word| takes_code_from_its_directory(word))
            .or_else(|| wrapped().find(|word| kind(word).is_some()))
            .or(Some(command))
            .map(Taking::Does),
        Some(Kind::Shell) => Some(Taking::Does(command)),
        Some(Kind::Interpreter) if gets_code() => Some(Taking::Does(command)),
        _ => (!leaves_its_directory_alone(command, args)).then_some(Taking::May(command)),
    }
}

/// Every string of an entry, with its field.
fn fields(field: &str, value: &Value, see: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => see(field, text),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                fields(&format!("{field}[{i}]"), item, see);
            }
        }
        Value::Object(object) => {
            for (key, item) in object {
                let field = if field.is_empty() {
                    key.clone()
                } else {
                    format!("{field}.{key}")
                };
                fields(&field, item, see);
            }
        }
        _ => {}
    }
}
