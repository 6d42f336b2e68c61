//! The commit that was tried.

use crate::paths;
use anyhow::{Result, bail};
use std::process::Command;

/// Its name. The page on which rounds are added up does not count: it changes with each.
pub fn commit(page: &str) -> Result<String> {
    let mut git = Command::new("git");
    git.current_dir(paths::root());
    let said = git.args(["describe", "--always"]).output()?;
    if !said.status.success() {
        bail!("git does not say which commit this is");
    }
    let commit = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    let mut git = Command::new("git");
    git.current_dir(paths::root());
    let page = format!(":!{page}");
    let same = git.args(["diff", "--quiet", "HEAD", "--", ".", &page]);
    Ok(match same.status()?.success() {
        true => commit,
        false => format!("{commit}-dirty"),
    })
}
