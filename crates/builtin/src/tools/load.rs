//! Reading a folder of manifests.

use super::{
    approval::{Reason, Trust},
    command::{Command, CommandError},
    flow::{Flow, FlowError},
    manifest::{FlowManifest, ToolManifest},
    workplace::Workplace,
};
use crate::{
    answer::{Check, SchemaError},
    limits, text,
};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs::{Metadata, OpenOptions},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

/// A manifest that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFault {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

/// What is wrong with a manifest.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    #[error("is no file of at most {} bytes", limits::MANIFEST_BYTES)]
    NoFile,
    #[error("{0}")]
    NotApproved(Reason),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Flow(#[from] FlowError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("`name` must have 1 to 64 letters, digits, `_`, `-` or `.`")]
    Name,
    #[error("`description` is empty: a model chooses by it")]
    Description,
    #[error("`inputSchema` must have \"type\": \"object\"")]
    NoObject,
    #[error("`inputSchema`: {0}")]
    InputSchema(SchemaError),
}

/// What others can change is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Untrusted {
    #[error("belongs to someone else")]
    Owner,
    #[error("can be written by everybody")]
    Writable,
}

/// The tools of a folder.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) tools: BTreeMap<String, Loaded>,
    pub(super) faults: Vec<ManifestFault>,
    /// What the folder looked like.
    pub(super) stamp: Stamp,
    /// How often the folder has changed.
    pub(super) generation: u64,
}

/// What tells one state of a folder from another.
pub(super) type Stamp = Vec<(PathBuf, u64, u64, i64, i64, u32)>;

/// One tool.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) file: PathBuf,
    /// The manifest as it was read.
    pub(super) bytes: Vec<u8>,
    pub(super) tool: Tool,
    pub(super) check: Check,
    pub(super) action: Action,
}

/// What a tool does.
#[derive(Debug)]
pub(super) enum Action {
    Command(Command),
    Flow(Flow),
}

impl Set {
    /// Reads the folder. An error only where that cannot be read at all.
    pub(super) fn read(folder: &Path, workplace: &Workplace, trust: &Trust) -> io::Result<Self> {
        let mut set = Self {
            tools: BTreeMap::new(),
            faults: Vec::new(),
            stamp: stamp(folder)?,
            generation: 0,
        };
        for (index, (file, ..)) in set.stamp.clone().into_iter().enumerate() {
            if index == limits::MANIFESTS {
                set.fault(
                    file,
                    format!("is one more than {} manifests", limits::MANIFESTS),
                );
                break;
            }
            match read_one(&file, folder, workplace, trust) {
                Ok(loaded) => set.add(loaded),
                Err(problem) => set.fault(file, problem.to_string()),
            }
        }
        Ok(set)
    }

    /// What a folder holds that cannot be read any more.
    pub(super) fn unusable(folder: &Path, fault: &io::Error) -> Self {
        let mut set = Self {
            tools: BTreeMap::new(),
            faults: Vec::new(),
            stamp: Vec::new(),
            generation: 0,
        };
        set.fault(folder.to_path_buf(), fault.to_string());
        set
    }

    /// Logs what is wrong: once for every state of the folder.
    pub(super) fn warn(&self) {
        for fault in &self.faults {
            let problem = &fault.problem;
            tracing::warn!(file = %fault.file.display(), problem, "a manifest is left out");
        }
    }

    fn add(&mut self, loaded: Loaded) {
        let name = loaded.tool.name.to_string();
        match self.tools.get(&name) {
            Some(first) => {
                let problem = format!("{} has a tool {name} already", first.file.display());
                self.fault(loaded.file, problem);
            }
            None => drop(self.tools.insert(name, loaded)),
        }
    }

    fn fault(&mut self, file: PathBuf, problem: String) {
        let problem = text::line(&problem);
        self.faults.push(ManifestFault { file, problem });
    }
}

/// What the folder looks like now: its manifests, by name.
pub(super) fn stamp(folder: &Path) -> io::Result<Stamp> {
    trusted(&folder.metadata()?).map_err(|why| io::Error::other(format!("the folder {why}")))?;
    let mut found = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let is_manifest = name.ends_with(".tool.json") || name.ends_with(".flow.json");
        if !is_manifest || name.starts_with('.') {
            continue;
        }
        // One more shows that there are too many.
        if found.len() > limits::MANIFESTS {
            break;
        }
        // One that vanishes meanwhile, or a link to nothing, still shows in the faults.
        let stamp = path.metadata().map_or((0, 0, 0, 0, 0), |found| {
            (
                found.ino(),
                found.size(),
                found.mtime(),
                found.mtime_nsec(),
                found.mode(),
            )
        });
        found.push((path, stamp.0, stamp.1, stamp.2, stamp.3, stamp.4));
    }
    found.sort();
    Ok(found)
}

/// What runs programs must be the user's own, and nobody else's to change.
fn trusted(found: &Metadata) -> Result<(), Untrusted> {
    let owner = found.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(Untrusted::Owner);
    }
    match found.mode() & 0o002 {
        0 => Ok(()),
        _ => Err(Untrusted::Writable),
    }
}

fn read_one(
    path: &Path,
    folder: &Path,
    workplace: &Workplace,
    trust: &Trust,
) -> Result<Loaded, Problem> {
    // A pipe is not waited for: it is no file.
    let waits_for_nothing = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(waits_for_nothing.bits().cast_signed())
        .open(path)?;
    let found = file.metadata()?;
    trusted(&found)?;
    if !found.is_file() || found.len() > limits::MANIFEST_BYTES {
        return Err(Problem::NoFile);
    }
    let mut bytes = Vec::new();
    file.take(limits::MANIFEST_BYTES).read_to_end(&mut bytes)?;
    let offered = trust.may_be_offered(path, &bytes);
    offered.map_err(Problem::NotApproved)?;
    let is_flow = path.to_string_lossy().ends_with(".flow.json");
    let (head, action) = if is_flow {
        let manifest: FlowManifest = serde_json::from_slice(&bytes)?;
        let flow = Flow::new(&manifest)?;
        let FlowManifest {
            name,
            title,
            description,
            input_schema,
            annotations,
            ..
        } = manifest;
        let head = Head {
            name,
            title,
            description,
            input_schema,
            annotations,
            output_schema: None,
        };
        (head, Action::Flow(flow))
    } else {
        let manifest: ToolManifest = serde_json::from_slice(&bytes)?;
        let mut command = Command::new(&manifest, folder, workplace)?;
        if trust.withholds_variables {
            command.without_variables();
        }
        let ToolManifest {
            name,
            title,
            description,
            input_schema,
            annotations,
            output_schema,
            ..
        } = manifest;
        let head = Head {
            name,
            title,
            description,
            input_schema,
            annotations,
            output_schema,
        };
        (head, Action::Command(command))
    };
    let check = head.check()?;
    Ok(Loaded {
        file: path.to_path_buf(),
        bytes,
        tool: head.tool(),
        check,
        action,
    })
}

/// What a client sees of a manifest.
struct Head {
    name: String,
    title: Option<String>,
    description: String,
    input_schema: JsonObject,
    annotations: Option<ToolAnnotations>,
    output_schema: Option<JsonObject>,
}

impl Head {
    fn check(&self) -> Result<Check, Problem> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(is_name) {
            return Err(Problem::Name);
        }
        if self.description.trim().is_empty() {
            return Err(Problem::Description);
        }
        if self.input_schema.get("type") != Some(&Value::from("object")) {
            return Err(Problem::NoObject);
        }
        Check::new(&self.input_schema).map_err(Problem::InputSchema)
    }

    fn tool(self) -> Tool {
        let mut tool = Tool::new(self.name, self.description, Arc::new(self.input_schema));
        tool.title = self.title;
        tool.annotations = self.annotations;
        tool.output_schema = self.output_schema.map(Arc::new);
        tool
    }
}
