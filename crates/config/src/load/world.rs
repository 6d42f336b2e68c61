//! For tests: a home, a repository and an administrator in a temporary folder.

use super::*;
use serde_json::{Value, json};
use std::fs;

pub(crate) struct World {
    dir: tempfile::TempDir,
    pub(crate) places: Places,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["home/repo/.git", "home/repo/sub", "etc"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let home = root.join("home");
        let lookup = |name: &str| match name {
            "HOME" => Some(home.clone().into_os_string()),
            "PATH" => Some("/usr/bin:/bin".into()),
            _ => None,
        };
        let at = |name: &str| home.join(name).join("switchboard");
        let mut places = Places::find(
            &home.join("repo/sub"),
            &at(".config"),
            &at(".local/share"),
            &at(".cache"),
            lookup,
        );
        places.managed = vec![root.join("etc")];
        places.managed_owner = safe_read::me();
        Self { dir, places }
    }

    /// Writes a file; `REPO` in its keys stands for the repository.
    pub(crate) fn write(&self, path: &str, value: &Value) -> PathBuf {
        let file = self.path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let repo = self.path("home/repo").display().to_string();
        fs::write(&file, value.to_string().replace("REPO", &repo)).unwrap();
        file
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn load(&self) -> Loaded {
        load(&self.request(&[]))
    }

    pub(crate) fn request(&self, mcp_config: &[&str]) -> Request {
        Request {
            mcp_config: mcp_config.iter().map(ToString::to_string).collect(),
            directory: self.places.directory.clone(),
            places: Some(self.places.clone()),
            ..Request::default()
        }
    }

    /// Says yes to all that waits.
    pub(crate) fn approve(&self) {
        let loaded = self.load();
        let waiting = loaded
            .servers
            .iter()
            .filter(|server| server.standing == Standing::PendingApproval);
        let yes: Vec<_> = waiting
            .map(|server| (Binding::of(&server.entry, &self.places), true))
            .collect();
        crate::approval::Store::decide(&self.places.approvals(), &yes).unwrap();
    }
}

/// A file with one server, whose command says where it comes from.
pub(crate) fn one(name: &str, command: &str) -> Value {
    json!({"mcpServers": {name: {"command": command}}})
}

/// Name, scope, command and standing of each entry, on a line each.
pub(crate) fn lines(loaded: &Loaded) -> Vec<String> {
    let each = loaded.servers.iter().map(|server| {
        let standing = match &server.standing {
            Standing::Shadowed(_) => "Shadowed".to_owned(),
            Standing::Denied(_) => "Denied".to_owned(),
            Standing::Duplicate(_) => "Duplicate".to_owned(),
            other => format!("{other:?}"),
        };
        let command = server.entry.command.as_deref().unwrap_or_default();
        format!(
            "{} {} {command} {standing}",
            server.entry.name, server.entry.scope
        )
    });
    each.collect()
}
