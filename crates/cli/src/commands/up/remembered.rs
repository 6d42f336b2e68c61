//! What `up` served last, kept so that `serve --gateway` can start the same set where
//! no gateway runs: the directory, and what was said on the command line.

use super::Options;
use crate::{
    args::Global,
    commands::{
        cluster::Membership, inbox::AskOptions, tool_list::ToolOptions, watching::WatchOptions,
    },
    context::Context,
    failure::Failure,
    limits,
};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};
use switchboard::{Dirs, local::private};

/// One set of servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Remembered {
    pub directory: PathBuf,
    /// Files that `--mcp-config` named. JSON that was typed may hold a secret, and is
    /// not written down.
    pub mcp_config: Vec<String>,
    pub strict: bool,
    pub root: Vec<PathBuf>,
    pub allow_protected: Vec<PathBuf>,
    pub read_only: bool,
    pub enable_shell: bool,
    pub no_builtins: bool,
    pub tools: Vec<String>,
    pub allow_origin: Vec<String>,
    pub no_api_edit: bool,
    pub watch: WatchOptions,
    pub ask: AskOptions,
    pub cluster: Membership,
}

impl Remembered {
    /// What this run of `up` serves.
    pub fn of(global: &Global, options: &Options, directory: &Path) -> Self {
        let absolute = |path: &PathBuf| directory.join(path);
        let is_file = |config: &&String| !config.trim_start().starts_with('{');
        let files = global.mcp_config.iter().filter(is_file).map(|file| {
            let file = directory.join(file);
            file.display().to_string()
        });
        Self {
            directory: directory.to_owned(),
            mcp_config: files.collect(),
            strict: global.strict_mcp_config,
            root: options.root.iter().map(absolute).collect(),
            allow_protected: options.allow_protected.iter().map(absolute).collect(),
            read_only: options.read_only,
            enable_shell: options.enable_shell,
            no_builtins: options.no_builtins,
            tools: options.tools.words(),
            allow_origin: options.allow_origin.clone(),
            no_api_edit: options.no_api_edit,
            watch: options.watch.clone(),
            ask: options.ask.clone(),
            cluster: options.cluster.clone(),
        }
    }

    /// What is said on a command line that serves the same, the rest as in `context`.
    pub fn context(&self, context: &Context) -> Result<Context, Failure> {
        Context::new(Global {
            directory: Some(self.directory.clone()),
            mcp_config: self.mcp_config.clone(),
            strict_mcp_config: self.strict,
            ..context.global.clone()
        })
    }

    /// Writes it down, for its owner alone.
    pub fn keep(&self, dirs: &Dirs) -> io::Result<()> {
        private::folder(&dirs.state)?;
        let text = serde_json::to_string(self).map_err(io::Error::other)?;
        private::write(&file(dirs), text.as_bytes())
    }

    /// The last one, if there is one that nobody else can have written.
    pub fn last(dirs: &Dirs) -> io::Result<Option<Self>> {
        let file = file(dirs);
        let found = match fs::symlink_metadata(&file) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let is_ours = found.uid() == rustix::process::geteuid().as_raw();
        if !found.is_file()
            || !is_ours
            || found.mode() & 0o077 != 0
            || found.len() > limits::REMEMBERED
        {
            return Err(io::Error::other("others could have written it"));
        }
        let text = fs::read_to_string(&file)?;
        Ok(Some(serde_json::from_str(&text).map_err(io::Error::other)?))
    }

    /// The options that `up` would have.
    pub fn options(&self) -> Options {
        Options {
            port: None,
            root: self.root.clone(),
            allow_protected: self.allow_protected.clone(),
            read_only: self.read_only,
            enable_shell: self.enable_shell,
            no_builtins: self.no_builtins,
            write: None,
            replace: false,
            allow_origin: self.allow_origin.clone(),
            tools: ToolOptions::of_words(&self.tools),
            open: false,
            show_token: false,
            plain: true,
            no_api_edit: self.no_api_edit,
            watch: self.watch.clone(),
            ask: self.ask.clone(),
            cluster: self.cluster.clone(),
        }
    }
}

/// Where it is kept.
pub fn file(dirs: &Dirs) -> PathBuf {
    dirs.state.join("up.json")
}
