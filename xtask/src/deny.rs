//! `cargo xtask deny`: licences, bans and sources of all dependencies.

use crate::cargo::{cargo, has};
use anyhow::{Context, Result, ensure};

/// Installs cargo-deny where it is absent (minutes), then checks.
pub fn run() -> Result<()> {
    if !has("deny") {
        println!("deny: building cargo-deny from source; this takes some minutes");
        let status = cargo(["install", "cargo-deny", "--locked"]).status();
        ensure!(
            status.context("cargo install")?.success(),
            "cargo-deny could not be installed"
        );
    }
    ensure!(check()?, "cargo deny found something");
    Ok(())
}

/// Checks; the advisory database is left out, since fetching it needs more of
/// the network than the package registries.
pub fn check() -> Result<bool> {
    let mut command = cargo(["deny", "check", "licenses", "bans", "sources"]);
    Ok(command.status().context("cargo deny")?.success())
}
