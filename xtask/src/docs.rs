//! `cargo xtask docs`: writes `docs/reference`, and what appears when the
//! commands of the guide are typed. The same tests compare them otherwise.

use crate::cargo::whole;
use anyhow::{Context, Result, ensure};

/// Runs the tests that know the pages, and has them write.
pub fn run() -> Result<()> {
    let mut command = whole(["nextest", "run", "-p", "switchboard-cli"]);
    command
        .args([
            "--test",
            "it",
            "--no-fail-fast",
            "screens::reference",
            "screens::docs",
        ])
        .env("SWITCHBOARD_WRITE_DOCS", "1");
    let status = command.status().context("cargo nextest")?;
    ensure!(status.success(), "some pages could not be written");
    println!("docs: written; look at the difference before you commit it");
    Ok(())
}
