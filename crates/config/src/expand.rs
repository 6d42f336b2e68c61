//! `${VAR}` and `${VAR:-default}` in every string of an entry.
//!
//! One pass: what a variable holds is put in as it is and never looked at
//! again, so that a value cannot pull in other variables. A variable that is
//! set to nothing gives nothing, not the default. `$VAR` and `${VAR-x}` mean
//! nothing special. `${env:VAR}` is the same as `${VAR}`; `${userHome}` and
//! `${workspaceFolder}` are known to entries whose place says what they are.
//! `${file:/path}` is what a file holds, in entries of the user's own.

use crate::{entry::Entry, env_file, fault::Fault, limits, safe_read};
use std::{
    ops::Deref,
    path::{Path, PathBuf},
};

/// Where variables come from.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// An entry whose variables are filled in. Only [`expand`] makes one, so that
/// nothing is started, reached or signed in to as it is merely written.
#[derive(Clone, Debug)]
pub struct Expanded(Entry);

impl Deref for Expanded {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.0
    }
}

/// The entry with its variables filled in, or everything that is missing.
pub fn expand(entry: &Entry, lookup: Lookup<'_>) -> Result<Expanded, Vec<Fault>> {
    let mut out = entry.clone();
    let lookup: Lookup<'_> = &|name| {
        let given = entry.given.iter().find(|(given, _)| given == name);
        given
            .map(|(_, value)| value.clone())
            .or_else(|| may_hold(entry, name).then(|| lookup(name))?)
    };
    let mut faults = Vec::new();
    let mut filled_from = Vec::new();
    let mut fill = |field: &str, text: &mut String| {
        let mut file = |path: &str| {
            let path = own_path(entry, path);
            let held = held(entry, &path);
            filled_from.push(path.display().to_string());
            held
        };
        match fill_in(text, lookup, Some(&mut file)) {
            Ok(filled) => *text = filled,
            Err(missing) => {
                faults.extend(missing.iter().map(|missing| missing.fault(entry, field)));
            }
        }
        // Neither a path nor an argument nor a header can hold it.
        if text.contains('\0') {
            let mut fault = entry.fault(field, "contains a NUL character");
            fault.hint = Some("write it without".to_owned());
            faults.push(fault);
        }
    };
    for (field, text) in texts(&mut out) {
        if let Some(text) = text {
            fill(field, text);
        }
    }
    for (i, text) in out.args.iter_mut().enumerate() {
        fill(&format!("args[{i}]"), text);
    }
    for (i, text) in out.oauth.scopes.iter_mut().flatten().enumerate() {
        fill(&format!("oauth.scopes[{i}]"), text);
    }
    for (i, text) in out.roots.iter_mut().enumerate() {
        fill(&format!("roots[{i}]"), text);
    }
    for (i, text) in out.builtin_options.allow_protected.iter_mut().enumerate() {
        fill(&format!("allowProtected[{i}]"), text);
    }
    for (i, text) in out.builtin_options.roots.iter_mut().enumerate() {
        fill(&format!("roots[{i}]"), text);
    }
    for (table, pairs) in [("env", &mut out.env), ("headers", &mut out.headers)] {
        for (name, text) in pairs {
            fill(&format!("{table}.{name}"), text);
        }
    }
    // The shell that runs it fills in its variables. Were it done here, what a
    // variable holds would be read as a command, and shown as an argument.
    if let Some(helper) = &entry.headers_helper {
        fill("headersHelper", &mut helper.clone());
    }
    out.filled_from = filled_from;
    faults.extend(add_variables(entry, &mut out).err().map(|fault| *fault));
    // What these hold is shown to whom the entry names.
    for (field, file) in [
        ("oauth.assertionFile", &out.oauth.assertion_file),
        ("oauth.privateKey", &out.oauth.private_key),
    ] {
        if file.is_some() && !entry.may_read_files() {
            faults.push(entry.fault(field, "counts in files of your own only"));
        }
    }
    if faults.is_empty() {
        Ok(Expanded(out))
    } else {
        Err(faults)
    }
}

/// Whether what a variable of this machine holds may get into this entry.
fn may_hold(entry: &Entry, variable: &str) -> bool {
    let names = entry.variables.as_deref();
    names.is_none_or(|names| names.iter().any(|name| name == variable))
}

/// Adds the variables of an entry's file of them; those that it sets itself stay.
fn add_variables(entry: &Entry, out: &mut Entry) -> Result<(), Box<Fault>> {
    let Some(file) = out.env_file.clone() else {
        return Ok(());
    };
    if !entry.may_read_files() {
        let fault = entry.fault("envFile", "counts in files of your own only");
        return Err(Box::new(fault));
    }
    let path = own_path(entry, &file);
    out.env_file = Some(path.display().to_string());
    let more = env_file::read(&path).map_err(|error| {
        let mut fault = entry.fault("envFile", format!("{}: {error}", path.display()));
        fault.hint = Some("put that right, or leave envFile out".to_owned());
        Box::new(fault)
    })?;
    for (name, value) in more {
        if !out.env.iter().any(|(known, _)| *known == name) {
            out.env.push((name, value));
        }
    }
    Ok(())
}

/// The fields that hold one text.
fn texts(out: &mut Entry) -> [(&'static str, &mut Option<String>); 19] {
    [
        ("envFile", &mut out.env_file),
        ("command", &mut out.command),
        ("cwd", &mut out.cwd),
        ("url", &mut out.url),
        ("tls.ca", &mut out.tls.ca),
        ("tls.cert", &mut out.tls.cert),
        ("tls.key", &mut out.tls.key),
        ("authToken", &mut out.auth_token),
        ("lockFolder", &mut out.lock_folder),
        ("oauth.clientId", &mut out.oauth.client_id),
        ("oauth.clientSecret", &mut out.oauth.client_secret),
        ("oauth.issuer", &mut out.oauth.issuer),
        (
            "oauth.clientMetadataUrl",
            &mut out.oauth.client_metadata_url,
        ),
        (
            "oauth.authServerMetadataUrl",
            &mut out.oauth.auth_server_metadata_url,
        ),
        ("oauth.privateKey", &mut out.oauth.private_key),
        ("oauth.signingAlgorithm", &mut out.oauth.signing_algorithm),
        ("oauth.assertionFile", &mut out.oauth.assertion_file),
        ("data", &mut out.builtin_options.data),
        ("folder", &mut out.builtin_options.folder),
    ]
}

/// A path of the user's own, which may begin in the home, or else where we are.
fn own_path(entry: &Entry, path: &str) -> PathBuf {
    let given = |wanted: &str| {
        let given = entry.given.iter().find(|(name, _)| name == wanted);
        given
            .map(|(_, value)| PathBuf::from(value))
            .unwrap_or_default()
    };
    match path.strip_prefix("~/") {
        Some(rest) => given("userHome").join(rest),
        None => given("workspaceFolder").join(path),
    }
}

/// What a file holds, without the line break at its end.
fn held(entry: &Entry, path: &Path) -> Result<String, FileFault> {
    match entry.may_read_files() {
        true => held_by(path),
        false => Err(FileFault::NotOwn),
    }
}

fn held_by(path: &Path) -> Result<String, FileFault> {
    let text = safe_read::read(path, None)?;
    if text.len() > limits::FILE_VALUE_BYTES {
        return Err(FileFault::Large);
    }
    Ok(text.trim().to_owned())
}

/// Why `${file:path}` is not filled in.
#[derive(Debug, thiserror::Error)]
enum FileFault {
    #[error("files are read for servers of your own files only")]
    NotOwn,
    #[error("{0}")]
    Distrust(#[from] safe_read::Distrust),
    #[error("it has more than {} bytes", limits::FILE_VALUE_BYTES)]
    Large,
}

/// What a text wants and does not get.
enum Missing {
    Variable(String),
    File(String, FileFault),
}

impl Missing {
    /// What is wrong, and what to do about it.
    fn said(&self) -> (String, String) {
        match self {
            Self::Variable(name) => (
                format!("the environment variable {name} is not set"),
                format!("set it, or give a default: ${{{name}:-…}}"),
            ),
            Self::File(path, why) => (
                format!("${{file:{path}}}: {why}"),
                "put that right, or write a variable in its place".to_owned(),
            ),
        }
    }

    fn fault(&self, entry: &Entry, field: &str) -> Fault {
        let (problem, hint) = match self {
            Self::Variable(name) if !may_hold(entry, name) => (
                format!("the variable {name} of this machine is not for servers of the cluster"),
                format!("say --hire-env {name} on the worker, or give a default: ${{{name}:-…}}"),
            ),
            _ => self.said(),
        };
        let mut fault = entry.fault(field, problem);
        fault.hint = Some(hint);
        fault
    }
}

/// Why a text of settings cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotFilled(String);

/// A text of settings that are nobody else's, with its variables and files filled in.
pub(crate) fn own_text(text: &str, lookup: Lookup<'_>, home: &Path) -> Result<String, NotFilled> {
    let mut file = |path: &str| match path.strip_prefix("~/") {
        Some(rest) => held_by(&home.join(rest)),
        None => held_by(Path::new(path)),
    };
    fill_in(text, lookup, Some(&mut file)).map_err(|missing| {
        let each = missing.iter().map(|missing| missing.said().0);
        NotFilled(each.collect::<Vec<_>>().join("; "))
    })
}

type Files<'a> = &'a mut dyn FnMut(&str) -> Result<String, FileFault>;

/// The text with its variables filled in, or the names of those that are missing.
/// Files are not read.
pub fn substitute(text: &str, lookup: Lookup<'_>) -> Result<String, Vec<String>> {
    let names = |missing: Vec<Missing>| {
        let names = missing.into_iter().filter_map(|missing| match missing {
            Missing::Variable(name) => Some(name),
            Missing::File(..) => None,
        });
        names.collect()
    };
    fill_in(text, lookup, None).map_err(names)
}

fn fill_in(
    text: &str,
    lookup: Lookup<'_>,
    mut files: Option<Files<'_>>,
) -> Result<String, Vec<Missing>> {
    let mut out = String::with_capacity(text.len());
    let mut missing = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        if let Some(files) = &mut files
            && let Some((path, after)) = file_reference(&rest[at..])
        {
            match files(path) {
                Ok(held) => out.push_str(&held),
                Err(why) => missing.push(Missing::File(path.to_owned(), why)),
            }
            rest = after;
            continue;
        }
        let Some((reference, after)) = reference(&rest[at..]) else {
            out.push_str("${");
            rest = &rest[at + 2..];
            continue;
        };
        match (lookup(reference.name), reference.default) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => out.push_str(default),
            (None, None) => missing.push(Missing::Variable(reference.name.to_owned())),
        }
        rest = after;
    }
    out.push_str(rest);
    if missing.is_empty() {
        Ok(out)
    } else {
        Err(missing)
    }
}

/// The path of `${file:path}` at the start of `text`, and what follows it.
fn file_reference(text: &str) -> Option<(&str, &str)> {
    let (path, after) = text.strip_prefix("${file:")?.split_once('}')?;
    let whole = path.starts_with('/') || path.starts_with("~/");
    whole.then_some((path, after))
}

/// The variables that a text would read, without reading them.
pub fn variables(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        match reference(&rest[at..]) {
            Some((reference, after)) => {
                names.push(reference.name);
                rest = after;
            }
            None => rest = &rest[at + 2..],
        }
    }
    names
}

struct Reference<'a> {
    name: &'a str,
    default: Option<&'a str>,
}

/// Reads a reference at the start of `text`, and what follows it.
fn reference(text: &str) -> Option<(Reference<'_>, &str)> {
    let (inside, after) = text.strip_prefix("${")?.split_once('}')?;
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    // As Cursor and VS Code write it.
    let name = name.strip_prefix("env:").unwrap_or(name);
    let mut bytes = name.bytes();
    let first = bytes.next()?;
    let is_name = (first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((Reference { name, default }, after))
}

#[cfg(test)]
mod tests;
