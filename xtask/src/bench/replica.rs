//! `cargo xtask bench-instructions --replica`: what a call of a replica's own session costs,
//! beside a gateway that is alone. Time on the processor says it only to a few per cent.

use super::fleet;
use super::instructions::{Parts, Programs, stdio};
use crate::{paths, setup};
use anyhow::Result;
use serde_json::json;

/// Calls that are counted.
const CALLS: u64 = 1000;

/// Counts, and prints both.
pub fn run(built: Option<&str>) -> Result<()> {
    let profile = super::built(built, &["switchboard-cli", "switchboard-testkit"])?;
    let scratch = paths::scratch("replica")?;
    let programs = Programs::of(profile)?;
    let parts = Parts {
        program: &programs.gateway,
        load: &programs.load,
        entries: json!({"echo": stdio(&programs.server)}),
        path: "/mcp/echo",
        asks: Vec::new(),
        clients: 1,
        calls: CALLS,
        valgrind: &[],
    };
    println!("instructions for one small call (200 bytes, a legacy client, a server on stdio):");
    let alone = parts.each(&[], None)?.total;
    println!("  {alone:>8}          alone");
    let (url, _nats) = crate::cluster::nats(&setup::run()?.nats, &scratch)?;
    let member = fleet::membership(&programs.gateway, &scratch, &url, "r0")?;
    let member: Vec<&str> = member.iter().map(String::as_str).collect();
    let replica = parts.each(&member, None)?.total;
    let ratio = replica as f64 / alone as f64;
    println!("  {replica:>8}   {ratio:.3}  a replica, for its own session");
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}
