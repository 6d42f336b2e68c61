//! Starting cargo from inside `cargo run`.

use crate::paths;
use std::process::Command;

/// `cargo ARGS` in the workspace. `cargo run` describes xtask itself in the
/// environment; passing that on would make build scripts that watch those
/// variables run again each time.
pub fn cargo<const N: usize>(args: [&str; N]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(paths::root());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// The same with the whole program, as it is shipped and tested, where what is built
/// has it: by itself cargo leaves out what a first start does not need.
pub fn whole<const N: usize>(args: [&str; N]) -> Command {
    let mut command = cargo(args);
    command.args(FULL);
    command
}

/// What makes the program whole.
pub const FULL: [&str; 2] = ["--features", "switchboard-cli/full"];

/// Whether `cargo NAME` is installed.
pub fn has(name: &str) -> bool {
    let mut command = cargo([name, "--version"]);
    command.output().is_ok_and(|output| output.status.success())
}
