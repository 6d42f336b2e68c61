//! Variables in the texts of other clients, in our spelling: `${X}`, and
//! `${file:/path}` for what a file holds.

use super::Object;
use crate::clients::Spelling;
use serde_json::Value;
use std::path::Path;

/// Where a text comes from.
pub(super) struct Ground<'a> {
    pub(super) spelling: Spelling,
    /// What VS Code asks a person for.
    pub(super) inputs: Option<&'a Value>,
    /// The folder of the file, where relative paths begin.
    pub(super) folder: &'a Path,
    /// Whether a repository could have written it.
    pub(super) workspace: bool,
}

/// Puts the variables of all texts into our spelling; the fields in which that
/// changed something.
pub(super) fn translate(
    entry: &mut Object,
    ground: &Ground<'_>,
    notes: &mut Vec<String>,
) -> Vec<String> {
    let mut changed = Vec::new();
    for (key, value) in entry.iter_mut() {
        let mut did = false;
        each_string(value, &mut |text| {
            let new = ground.text(text, notes);
            did |= new != *text;
            *text = new;
        });
        if did {
            changed.push(key.clone());
        }
    }
    changed
}

/// What is a variable here and was plain text to a client that fills in none.
pub(super) fn plain_text(written: &Object, notes: &mut Vec<String>) {
    for (_, value) in written {
        each_string(&mut value.clone(), &mut |text| {
            for name in crate::expand::variables(text) {
                let note =
                    format!("${{{name}}} was plain text there, and is the variable {name} here");
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        });
    }
}

impl Ground<'_> {
    fn text(&self, text: &str, notes: &mut Vec<String>) -> String {
        let mut note = |note: String| {
            if !notes.contains(&note) {
                notes.push(note);
            }
        };
        if self.spelling == Spelling::None {
            return text.to_owned();
        }
        let mut text = text.replace("${env:", "${");
        match self.spelling {
            Spelling::Dollar => text = dollars(&text),
            Spelling::OpenCode => text = self.opencode(&text, &mut note),
            Spelling::Continue => text = continue_secrets(&text, &mut note),
            Spelling::Braces | Spelling::None => {}
        }
        text = self.inputs_of(text, &mut note);
        for about in foreign(&text) {
            note(about);
        }
        text
    }

    /// `${input:id}` asks a person there; here it is a variable, which the user is
    /// told to set. What was suggested to the person is its default.
    fn inputs_of(&self, mut text: String, note: &mut impl FnMut(String)) -> String {
        while let Some(at) = text.find("${input:") {
            let rest = &text[at + "${input:".len()..];
            let Some(end) = rest.find('}') else { break };
            let id = rest[..end].to_owned();
            let variable = variable_name(&id);
            let inputs = self.inputs.and_then(Value::as_array).into_iter().flatten();
            let input = inputs.into_iter().find(|input| input["id"] == id.as_str());
            let about = input
                .and_then(|input| input["description"].as_str())
                .map(|about| format!(" ({about})"))
                .unwrap_or_default();
            let default = input
                .filter(|input| input["password"] != true)
                .and_then(|input| input["default"].as_str())
                .filter(|default| !default.contains('}'));
            let (ours, to_do) = match default {
                Some(default) => (
                    format!("${{{variable}:-{default}}}"),
                    format!("{default:?} counts unless the variable {variable}{about} is set"),
                ),
                None => (
                    format!("${{{variable}}}"),
                    format!("set the variable {variable}{about}"),
                ),
            };
            note(format!("{to_do}: it was asked for as input {id:?}"));
            text = text.replace(&format!("${{input:{id}}}"), &ours);
        }
        text
    }

    /// `{env:X}` and `{file:path}`.
    fn opencode(&self, text: &str, note: &mut impl FnMut(String)) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let Some((inside, after)) = from[1..].split_once('}') else {
                out.push_str(from);
                return out;
            };
            if let Some(name) = inside.strip_prefix("env:").filter(|name| is_name(name)) {
                out.push_str(&format!("${{{name}}}"));
                rest = after;
            } else if let Some(path) = inside.strip_prefix("file:") {
                let path = match path.starts_with("~/") {
                    true => path.to_owned(),
                    false => self.folder.join(path).display().to_string(),
                };
                if self.workspace {
                    note(format!(
                        "what {path} holds is not read for a server that a repository brings: write it in its place"
                    ));
                }
                out.push_str(&format!("${{file:{path}}}"));
                rest = after;
            } else {
                out.push('{');
                rest = &from[1..];
            }
        }
        out.push_str(rest);
        out
    }
}

/// `$X` as `${X}`.
fn dollars(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at + 1);
        out.push_str(before);
        let end = from
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(from.len());
        let (name, after) = from.split_at(end);
        if is_name(name) {
            out.push_str(&format!("{{{name}}}"));
        } else {
            out.push_str(name);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// `${{ secrets.X }}` is kept by Continue; here it is a variable.
fn continue_secrets(text: &str, note: &mut impl FnMut(String)) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${{") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let Some((inside, after)) = from["${{".len()..].split_once("}}") else {
            break;
        };
        let name = inside.trim().rsplit('.').next().unwrap_or_default();
        let name = variable_name(name);
        note(format!(
            "set the variable {name}: Continue keeps it as a secret"
        ));
        out.push_str(&format!("${{{name}}}"));
        rest = after;
    }
    out.push_str(rest);
    out
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first = bytes.next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// What is to be said about the variables of editors in a text.
fn foreign(text: &str) -> Vec<String> {
    let inside = text.split("${").skip(1);
    let names = inside.filter_map(|rest| Some(rest.split_once('}')?.0));
    let note = |name: &str| match name {
        "workspaceFolder" => Some(
            "${workspaceFolder} is the folder that Switchboard is started in, or its repository"
                .to_owned(),
        ),
        name if name.starts_with("file:") && name.contains('/') => None,
        name if name.contains(':') && !name.contains(":-") || EDITORS.contains(&name) => Some(
            format!("${{{name}}} means something to the editor alone: write what it stands for"),
        ),
        _ => None,
    };
    names.filter_map(note).collect()
}

/// Variables that editors fill in and nobody else.
const EDITORS: [&str; 9] = [
    "/",
    "pathSeparator",
    "workspaceFolderBasename",
    "workspaceRoot",
    "cwd",
    "file",
    "fileDirname",
    "execPath",
    "defaultBuildTask",
];

/// A name that a variable can have.
pub(super) fn variable_name(id: &str) -> String {
    let upper = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    let name: String = id.chars().map(upper).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
        format!("INPUT_{name}")
    } else {
        name
    }
}

fn each_string(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_string(item, change)),
        Value::Object(object) => object
            .values_mut()
            .for_each(|item| each_string(item, change)),
        _ => {}
    }
}
