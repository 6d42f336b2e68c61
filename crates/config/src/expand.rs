//! `${VAR}` and `${VAR:-default}` in every string of an entry.
//!
//! One pass: what a variable holds is put in as it is and never looked at
//! again, so that a value cannot pull in other variables. A variable that is
//! set to nothing gives nothing, not the default. `$VAR` and `${VAR-x}` mean
//! nothing special. `${env:VAR}` is the same as `${VAR}`; `${userHome}` and
//! `${workspaceFolder}` are known to entries whose place says what they are.

use crate::{entry::Entry, fault::Fault};
use std::ops::Deref;

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
            .or_else(|| lookup(name))
    };
    let mut faults = Vec::new();
    let mut fill = |field: &str, text: &mut String| {
        match substitute(text, lookup) {
            Ok(filled) => *text = filled,
            Err(missing) => faults.extend(missing.iter().map(|name| {
                let mut fault =
                    entry.fault(field, format!("the environment variable {name} is not set"));
                fault.hint = Some(format!("set it, or give a default: ${{{name}:-…}}"));
                fault
            })),
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
    if faults.is_empty() {
        Ok(Expanded(out))
    } else {
        Err(faults)
    }
}

/// The fields that hold one text.
fn texts(out: &mut Entry) -> [(&'static str, &mut Option<String>); 18] {
    [
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

/// The text with its variables filled in, or the names of those that are missing.
pub fn substitute(text: &str, lookup: Lookup<'_>) -> Result<String, Vec<String>> {
    let mut out = String::with_capacity(text.len());
    let mut missing = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        let Some((reference, after)) = reference(&rest[at..]) else {
            out.push_str("${");
            rest = &rest[at + 2..];
            continue;
        };
        match (lookup(reference.name), reference.default) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => out.push_str(default),
            (None, None) => missing.push(reference.name.to_owned()),
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
