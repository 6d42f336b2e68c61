//! The manifests of a built-in `tools`: what they run, as they say it.

use super::{Content, Search, hash, open};
use crate::limits;
use serde_json::Value;
use std::{
    io::Read,
    path::{Path, PathBuf},
};

/// One manifest, as far as somebody who approves it must see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The file.
    pub file: PathBuf,
    /// The program and its arguments, word for word.
    pub argv: Vec<String>,
    /// Where it runs, relative to the folder.
    pub cwd: Option<String>,
    /// The variables of ours that it asks for.
    pub variables: Vec<String>,
    /// The calls to other servers that it makes, each in JSON.
    pub steps: Vec<String>,
    /// All of it: JSON on one line, or the text where it is none.
    pub text: String,
}

impl Manifest {
    /// Reads what there is to be shown; what a manifest has to look like is not
    /// decided here.
    pub(super) fn read(file: PathBuf, bytes: &[u8]) -> Self {
        let value: Option<Value> = serde_json::from_slice(bytes).ok();
        let strings = |key: &str| {
            let list = value.as_ref().and_then(|value| value[key].as_array());
            let texts = list.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        let steps = value.as_ref().and_then(|value| value["steps"].as_array());
        let cwd = value.as_ref().and_then(|value| value["cwd"].as_str());
        Self {
            file,
            argv: strings("command"),
            cwd: cwd.map(str::to_owned),
            variables: strings("env"),
            steps: steps.into_iter().flatten().map(Value::to_string).collect(),
            text: match &value {
                Some(value) => value.to_string(),
                None => String::from_utf8_lossy(bytes).into_owned(),
            },
        }
    }
}

impl Search<'_> {
    /// Binds every manifest of a folder, wherever that is, and what they run of
    /// the repository's.
    pub(super) fn folder(&mut self, folder: &Path, workplace: &Path) {
        let files = match files(folder) {
            Ok(files) => files,
            // One that is not there has nothing to run.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => return self.unbound(folder, error.to_string()),
        };
        for file in files {
            if self.found.manifests.len() == limits::BOUND_MANIFESTS {
                let why = format!("there are more than {} manifests", limits::BOUND_MANIFESTS);
                return self.unbound(&file, why);
            }
            let mut bytes = Vec::new();
            let read = open(&file).and_then(|open| {
                open.take(limits::MANIFEST_BYTES + 1)
                    .read_to_end(&mut bytes)
            });
            match read {
                Ok(count) if count as u64 > limits::MANIFEST_BYTES => self.unbound(
                    &file,
                    format!("it has more than {} bytes", limits::MANIFEST_BYTES),
                ),
                Ok(_) => {
                    let content = Content::Bytes(hash(&bytes));
                    self.found.contents.insert(file.clone(), content);
                    let manifest = Manifest::read(file, &bytes);
                    self.runs(&manifest, workplace);
                    self.found.manifests.push(manifest);
                }
                Err(error) => self.unbound(&file, error.to_string()),
            }
        }
    }

    /// Binds what a manifest runs.
    pub(super) fn runs(&mut self, manifest: &Manifest, workplace: &Path) {
        let Some((program, args)) = manifest.argv.split_first() else {
            return;
        };
        let folder = manifest.file.parent().unwrap_or(&manifest.file);
        // A path is relative to the manifest, words to where it runs.
        let program_path = folder.join(program).display().to_string();
        let program = match program.contains('/') {
            true => &program_path,
            false => program,
        };
        let base = match &manifest.cwd {
            Some(cwd) => folder.join(cwd),
            None => workplace.to_owned(),
        };
        self.argv(&base, program, args, &[]);
    }
}

/// The manifests of a folder, by name.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let folder = folder.canonicalize()?;
    let mut files = Vec::new();
    for entry in folder.read_dir()? {
        let name = entry?.file_name();
        let text = name.to_string_lossy();
        let is_manifest = text.ends_with(".tool.json") || text.ends_with(".flow.json");
        if is_manifest && !text.starts_with('.') {
            files.push(folder.join(&name));
        }
        if files.len() > limits::BOUND_MANIFESTS {
            break;
        }
    }
    files.sort();
    Ok(files)
}
