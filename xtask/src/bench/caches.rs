//! `cargo xtask bench-instructions --caches`: what a small call costs as clients become more, in
//! instructions and in what was not in the caches, as callgrind simulates them.
//!
//! Where instructions stay and misses grow, it is memory that more clients cost.

use super::callgrind::texts;
use super::instructions::{Parts, Programs, counted, stdio};
use super::nginx;
use super::subjects::upstream;
use super::window::Window;
use crate::{paths, table::Table};
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::{collections::BTreeMap, path::Path, process::Command};

/// Calls that are counted, of all clients together.
const CALLS: u64 = 2560;
/// How many clients call at once.
const CLIENTS: [u64; 3] = [1, 16, 256];

/// Counts, and prints a table.
pub fn run(built: Option<&str>) -> Result<()> {
    let profile = super::built(built, &["switchboard-cli", "switchboard-testkit"])?;
    let scratch = paths::scratch("caches")?;
    let programs = Programs::of(profile)?;
    let http = upstream(&programs.server, &scratch)?;
    let ways = [
        ("nginx", json!(null)),
        ("to stdio", stdio(&programs.server)),
        ("to HTTP", json!({"type": "http", "url": http.url})),
    ];
    let heads = ["", "clients", "instructions", "code", "data", "memory"];
    let mut table = Table::new(heads);
    for (way, entry) in ways {
        for clients in CLIENTS {
            let keep = scratch.join(format!("{way}-{clients}"));
            std::fs::create_dir_all(&keep)?;
            let is_nginx = entry.is_null();
            let parts = Parts {
                program: &programs.gateway,
                load: &programs.load,
                entries: json!({"echo": entry}),
                path: if is_nginx { "" } else { "/mcp/echo" },
                // As it is where calls are not fifty times as slow: an answer that takes long
                // would come as events.
                asks: vec!["--json"],
                clients,
                calls: CALLS,
                valgrind: &["--cache-sim=yes"],
            };
            match is_nginx {
                true => nginx(&parts, &http.url, &keep)?,
                false => drop(parts.each(&[], Some(&keep))?),
            }
            let events = Events::of(&keep)?;
            let each = |names: &[&str]| format!("{:.0}", events.sum(names) / CALLS as f64);
            table.row([
                way.to_owned(),
                clients.to_string(),
                each(&["Ir"]),
                each(&["I1mr"]),
                each(&["D1mr", "D1mw"]),
                each(&["ILmr", "DLmr", "DLmw"]),
            ]);
        }
    }
    println!("for one call of 200 bytes: instructions, and what was not in the first cache (code,");
    println!("data) or in the last (memory):\n\n{}", table.render());
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

/// The same of nginx, as one process.
fn nginx(parts: &Parts<'_>, upstream: &str, keep: &Path) -> Result<()> {
    let window = Window::new(keep.parent().unwrap_or(keep));
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "-q"])
        .args(window.options())
        .args(parts.valgrind)
        .arg(format!("--callgrind-out-file={}/counts", keep.display()))
        .args(["nginx", "-g", "master_process off;"]);
    let (mut nginx, url) = nginx::started(command, upstream, None, keep)?;
    counted(parts, &window, nginx.id(), &url, None)?;
    kill_process(Pid::from_child(nginx.child()), Signal::TERM)?;
    nginx.child().wait()?;
    // Only what was counted is left.
    std::fs::remove_dir_all(keep.join("nginx"))?;
    Ok(())
}

/// Sums of what callgrind counted, by its names for them.
struct Events(BTreeMap<String, f64>);

impl Events {
    /// Over the files of a folder, one for each process.
    fn of(folder: &Path) -> Result<Self> {
        let mut sums = BTreeMap::new();
        for text in texts(folder)? {
            let line = |key: &str| text.lines().rev().find_map(|line| line.strip_prefix(key));
            let names = line("events: ").context("callgrind named no events")?;
            let totals = line("totals: ").context("callgrind wrote no sum")?;
            for (name, total) in names.split_whitespace().zip(totals.split_whitespace()) {
                let total: f64 = total.parse().context("callgrind's sum")?;
                *sums.entry(name.to_owned()).or_default() += total;
            }
        }
        Ok(Self(sums))
    }

    fn sum(&self, names: &[&str]) -> f64 {
        names.iter().filter_map(|name| self.0.get(*name)).sum()
    }
}
