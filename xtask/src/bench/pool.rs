//! `cargo xtask bench-pool`: what a request to an HTTP server costs in our pool and
//! in hyper-util's, side by side. Measured from inside `transport`, because the
//! pool is nobody else's business; this starts it.

use crate::cargo::cargo;
use crate::steps::status;
use anyhow::Result;

/// Builds it optimised, and prints the table.
pub fn run() -> Result<()> {
    let mut command = cargo([
        "test",
        "--profile",
        "dist",
        "-p",
        "switchboard-transport",
        "--lib",
    ]);
    command.args([
        "--",
        "--ignored",
        "--nocapture",
        "in_this_pool_and_in_hyper",
    ]);
    status(command)
}
