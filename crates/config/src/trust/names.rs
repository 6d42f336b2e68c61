//! What an entry names of the folder that we are in. Started elsewhere, such a
//! server would miss it; started here, it would run it.

use crate::{
    entry::{Entry, Transport},
    places::Places,
};
use std::path::Path;

/// The field that names something in the folder, and how. The entry is expanded.
pub(super) fn in_folder(entry: &Entry, places: &Places) -> Option<(String, String)> {
    let here = |text: &str| is_here(text, &places.directory);
    if let Some(helper) = &entry.headers_helper {
        let word = words(helper).find(|word| here(word))?;
        return Some(("headersHelper".to_owned(), word.to_owned()));
    }
    if entry.cwd.is_some() {
        return None;
    }
    if let Some(folder) = &entry.builtin_options.folder {
        let named = !folder.starts_with("~/") && places.is_inside(&places.directory.join(folder));
        return named.then(|| ("folder".to_owned(), folder.clone()));
    }
    if entry.transport != Transport::Stdio {
        return None;
    }
    // A bare name is looked for on PATH, not here.
    let command = entry.command.as_deref().filter(|text| text.contains('/'));
    let in_tree = |text: &&str| Path::new(text).is_absolute() && places.is_inside(Path::new(text));
    if let Some(command) = command.filter(|text| here(text) || in_tree(text)) {
        return Some(("command".to_owned(), command.to_owned()));
    }
    let mut args = entry.args.iter().enumerate();
    args.find_map(|(i, arg)| {
        let value = arg.strip_prefix('-').and_then(|_| arg.split_once('='));
        let text = value.map_or(arg.as_str(), |(_, value)| value);
        here(text).then(|| (format!("args[{i}]"), text.to_owned()))
    })
}

/// Whether it is a relative path of something that is there.
fn is_here(text: &str, directory: &Path) -> bool {
    !text.is_empty()
        && Path::new(text).is_relative()
        && std::fs::symlink_metadata(directory.join(text)).is_ok()
}

/// The words of a line for the shell, near enough: what only looks like a word
/// of it is none that is there.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "\"'`;|&()<>=$".contains(c);
    line.split(ends).filter(|word| !word.is_empty())
}
