//! `cargo xtask bench-instructions --wide`: what a page of all servers' tools and a call
//! among them cost, by how many servers there are. Each has 50 tools, so that from 20
//! servers on a page is full and shows as much.

use super::instructions::{Parts, Programs};
use super::subjects::upstream_with;
use crate::{paths, table::Table};
use anyhow::Result;
use serde_json::{Map, Value, json};

/// Tools of a server, and how many of them do nothing but be listed.
const TOOLS: usize = 50;
const MORE_TOOLS: &str = "36";
/// Tools on a full page (`host/src/limits.rs`).
const PAGE: usize = 1000;
const PAGES: u64 = 20;
const CALLS: u64 = 400;

/// Counts, and prints a row for each number of servers.
pub fn run(built: Option<&str>, servers: &[usize]) -> Result<()> {
    let profile = super::built(built, &["switchboard-cli", "switchboard-testkit"])?;
    let programs = Programs::of(profile)?;
    let scratch = paths::scratch("wide")?;
    let upstream = upstream_with(&programs.server, &scratch, &["--more-tools", MORE_TOOLS])?;
    let mut table = Table::new([
        "servers",
        "tools",
        "a page",
        "for each tool on it",
        "÷ first",
        "a call",
        "÷ first",
    ]);
    let mut first: Option<(f64, f64)> = None;
    for &count in servers {
        let entry = json!({"type": "http", "url": upstream.url});
        let named = (0..count).map(|n| (format!("s{n:04}"), entry.clone()));
        let entries = Value::Object(named.collect::<Map<String, Value>>());
        let tools = (count * TOOLS).to_string();
        let parts = |asks: Vec<&'static str>, calls: u64| Parts {
            program: &programs.gateway,
            load: &programs.load,
            entries: entries.clone(),
            path: "/mcp",
            asks,
            clients: 1,
            calls,
            valgrind: &[],
        };
        let mut page = parts(vec!["--list", "--tools"], PAGES);
        page.asks.push(&tools);
        let mut call = parts(vec!["--tool", "s0000__payload", "--tools"], CALLS);
        call.asks.push(&tools);
        let page = page.each(&[], None)?.total as f64;
        let each = page / (count * TOOLS).min(PAGE) as f64;
        let call = call.each(&[], None)?.total as f64;
        let (first_each, first_call) = *first.get_or_insert((each, call));
        table.row([
            count.to_string(),
            tools,
            format!("{page:.0}"),
            format!("{each:.0}"),
            format!("{:.2}", each / first_each),
            format!("{call:.0}"),
            format!("{:.2}", call / first_call),
        ]);
        eprintln!("{count} servers: a page {page:.0}, a call {call:.0}");
    }
    println!("instructions of the gateway ({profile}), counted by callgrind:");
    println!("\n{}", table.render());
    drop(upstream);
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}
