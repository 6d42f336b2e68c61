//! The page with the last table.

use super::row::{self, Row};
use crate::paths;
use anyhow::{Context, Result};
use std::fs;

const PAGE: &str = "docs/design/peers.md";

const HEAD: &str = "\
# Real clients and servers

Written by `cargo xtask peers --write`. Each peer is installed from its registry by name
and version (`xtask/src/peers/servers.rs`, `xtask/src/peers/clients.rs`), listed and called.

- A server is asked directly and then through one gateway that has all of them: the same
  tools, and the same answer to one call, its errors included. Keys open nothing and
  nothing is reached over a network, so where every tool needs one only the list is
  compared, or a call that the server refuses.
- A client is pointed at a gateway over HTTP, or starts `switchboard serve` by itself
  (stdio); it has to see as many tools as our own smallest client, and to call one.
  Agents are driven by a scripted model on loopback, which asks for one call and then
  ends: what counts is what the model was shown and brought. One that asks its model
  before its servers have said what they have is run once more.
- *cold* is six common servers of which nothing is known yet, and a client that lists
  once: the first list has all of their tools.
- *proxy* is an entry of `npx` with nothing downloaded yet, behind a proxy of its user's.

Tools are *seen / there*. Times are seconds, rounded up, on whatever machine it was.
";

/// Writes the page.
pub fn write(rows: &[Row]) -> Result<()> {
    let of = |kind| rows.iter().filter(move |row| row.kind == kind);
    let mut text = HEAD.to_owned();
    for (kind, title) in [("server", "Servers"), ("client", "Clients")] {
        let (works, all) = (of(kind).filter(|row| row.works()).count(), of(kind).count());
        text += &format!(
            "\n## {title}\n\n{works} of {all} work.\n\n{}",
            row::table(of(kind), false)
        );
    }
    fs::write(paths::root().join(PAGE), text).context(PAGE)?;
    println!("written: {PAGE}");
    Ok(())
}
