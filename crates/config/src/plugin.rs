//! Plugins: folders that bring servers along. Only those that the user has
//! installed; a folder that merely lies in a repository is not looked at.

use crate::{places::Places, safe_read};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// A plugin that is installed and switched on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installed {
    /// Its name, which its servers carry.
    pub name: String,
    /// Where it is.
    pub folder: PathBuf,
}

/// Those of Claude Code that are `enabled` (`name@marketplace`), and those in
/// our own folder.
pub(crate) fn installed(places: &Places, enabled: &[String]) -> Vec<Installed> {
    let mut found = Vec::new();
    let list = places.claude.join("plugins/installed_plugins.json");
    let list = json(&list).unwrap_or_default();
    for (id, records) in list["plugins"].as_object().into_iter().flatten() {
        if !enabled.contains(id) {
            continue;
        }
        // One record in older files, one for each scope in newer ones.
        let records = match records {
            Value::Array(records) => records.as_slice(),
            record => std::slice::from_ref(record),
        };
        let folder = records
            .iter()
            .find_map(|record| record["installPath"].as_str());
        if let Some(folder) = folder
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
        {
            found.push(named(folder, id.split('@').next().unwrap_or(id)));
        }
    }
    let own = std::fs::read_dir(places.config.join("plugins"))
        .into_iter()
        .flatten();
    let mut own: Vec<PathBuf> = own
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    own.sort();
    found.extend(own.into_iter().map(|folder| {
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        named(folder, &name)
    }));
    found
}

/// The files of a plugin that can hold servers.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if let Some(manifest) = manifest(folder) {
        match &json(&manifest).unwrap_or_default()["mcpServers"] {
            // Another file of the plugin's own.
            Value::String(file) => {
                let file = Path::new(file);
                let stays = file
                    .components()
                    .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
                files.extend(stays.then(|| folder.join(file)));
            }
            Value::Object(_) => files.push(manifest),
            _ => {}
        }
    }
    let plain = folder.join(".mcp.json");
    if plain.is_file()
        && !files
            .iter()
            .any(|file| file.canonicalize().ok() == plain.canonicalize().ok())
    {
        files.push(plain);
    }
    files
}

fn named(folder: PathBuf, otherwise: &str) -> Installed {
    let manifest = manifest(&folder)
        .and_then(|file| json(&file))
        .unwrap_or_default();
    let name = manifest["name"].as_str().unwrap_or(otherwise).to_owned();
    Installed { name, folder }
}

fn manifest(folder: &Path) -> Option<PathBuf> {
    let places = [".claude-plugin/plugin.json", "plugin.json"];
    places
        .map(|place| folder.join(place))
        .into_iter()
        .find(|file| file.is_file())
}

fn json(file: &Path) -> Option<Value> {
    let text = safe_read::read(file, None).ok()?;
    let source = crate::Source::File(file.to_owned());
    crate::read::with(&text, &source, |doc| doc.whole()).ok()
}
