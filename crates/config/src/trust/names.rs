//! What an entry names of the folder that we are in. Started elsewhere, such a
//! server would miss it; started here, it would run it.

use crate::{
    approval::contents::pieces,
    entry::{Entry, Transport},
    launchers::gives_code,
    places::Places,
    program_variables::changes_programs,
};
use std::path::{Path, PathBuf};

/// The field that names something in the folder, and how. The entry is expanded.
pub(super) fn in_folder(entry: &Entry, places: &Places) -> Option<(String, String)> {
    let scout = Scout {
        places,
        elsewhere: entry.cwd.as_ref().map(|cwd| places.directory.join(cwd)),
    };
    if let Some(helper) = &entry.headers_helper {
        let named = scout.named_in(helper);
        let here = || pieces(helper).into_iter().find(|word| scout.is_here(word));
        if let Some(named) = named.or_else(here) {
            return Some(("headersHelper".to_owned(), named));
        }
    }
    if let Some(folder) = &entry.builtin_options.folder
        && scout.leads_inside(folder)
    {
        return Some(("folder".to_owned(), folder.clone()));
    }
    // Where it says that it works in the folder, it would take code from there.
    if let Some(cwd) = &entry.cwd
        && places.is_inside(&places.directory.join(cwd))
    {
        return Some(("cwd".to_owned(), cwd.clone()));
    }
    // Whoever wrote the folder would say which server is trusted, and who we are.
    let mut files = entry.credential_files();
    if let Some((field, file)) = files.find(|(_, file)| scout.leads_inside(file)) {
        return Some((field.to_owned(), file.to_owned()));
    }
    if entry.transport != Transport::Stdio {
        return None;
    }
    // A bare name is looked for on PATH, not here.
    let command = entry.command.as_deref().filter(|text| text.contains('/'));
    if let Some(command) = command.filter(|text| scout.is_here(text) || scout.leads_inside(text)) {
        return Some(("command".to_owned(), command.to_owned()));
    }
    let mut args = entry.args.iter().enumerate();
    let arg = args.find_map(|(i, arg)| {
        let value = arg.strip_prefix('-').and_then(|_| arg.split_once('='));
        let text = value.map_or(arg.as_str(), |(_, value)| value);
        let here = scout.is_here(text).then(|| text.to_owned());
        Some((format!("args[{i}]"), here.or_else(|| scout.named_in(arg))?))
    });
    arg.or_else(|| scout.variable(entry))
}

/// Looks at words from where a server would start.
struct Scout<'a> {
    places: &'a Places,
    /// Where an entry says that it works; otherwise in an empty directory.
    elsewhere: Option<PathBuf>,
}

impl Scout<'_> {
    /// Whether it is a relative path of something that is here. Where the entry
    /// works somewhere else, that is not meant.
    fn is_here(&self, text: &str) -> bool {
        self.elsewhere.is_none()
            && !text.is_empty()
            && Path::new(text).is_relative()
            && std::fs::symlink_metadata(self.places.directory.join(text)).is_ok()
    }

    /// Whether a path leads into the folder from wherever it begins.
    fn leads_inside(&self, text: &str) -> bool {
        let base = self.elsewhere.as_ref().unwrap_or(&self.places.directory);
        let path = match (text.strip_prefix("~/"), &self.places.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(text),
        };
        !text.is_empty() && self.places.is_inside(&path)
    }

    /// The part of a word that leads into the folder wherever the server is
    /// started.
    fn named_in(&self, word: &str) -> Option<String> {
        pieces(word).into_iter().find(|part| {
            let is_whole = part.starts_with('/') || part.starts_with("~/");
            (is_whole || self.elsewhere.is_some()) && self.leads_inside(part)
        })
    }

    /// A variable that makes programs take code from the folder. A search path
    /// is cleaned before anything starts.
    fn variable(&self, entry: &Entry) -> Option<(String, String)> {
        let has_code = entry.args.iter().any(|word| gives_code(word));
        entry.env.iter().find_map(|(name, value)| {
            let counts = name != "PATH" && (has_code || changes_programs(name));
            let named = self.named_in(value).filter(|_| counts)?;
            Some((format!("env.{name}"), named))
        })
    }
}
