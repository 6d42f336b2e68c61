//! Where things are: the workspace, the build output, the cache of tools.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The workspace's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default()
}

/// The build directory in use, found from this program's own place in it, so
/// that any way of moving it (variable, configuration) is followed.
pub fn target() -> Result<PathBuf> {
    let exe = std::env::current_exe().context("where xtask itself is")?;
    let target = exe.parent().and_then(Path::parent);
    Ok(target.context("xtask is not in a target directory")?.into())
}

/// A program built in `profile` (`debug`, or a profile's own name).
pub fn program(profile: &str, name: &str) -> Result<PathBuf> {
    let path = target()?.join(profile).join(name);
    anyhow::ensure!(path.is_file(), "{} has not been built", path.display());
    Ok(path)
}

/// The directory that holds installed tools. It lies outside the workspace so
/// that it survives `cargo clean` and serves every clone.
pub fn cache() -> Result<PathBuf> {
    if let Some(dir) = set("SWITCHBOARD_DEV_CACHE") {
        return Ok(std::path::absolute(dir)?);
    }
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    let base = base.context("neither SWITCHBOARD_DEV_CACHE nor HOME is set")?;
    Ok(base.join("switchboard-dev"))
}

/// A new directory for the logs of one run. Runs at the same time do not meet.
pub fn scratch(name: &str) -> Result<PathBuf> {
    let dir = target()?
        .join("xtask")
        .join(format!("{name}-{}", std::process::id()));
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    std::fs::create_dir_all(&dir).with_context(|| format!("making {}", dir.display()))?;
    Ok(dir)
}

fn set(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}
